"""OpenSim's model files, .osim, as OpenSim 4 saves them: read into models, and written from them."""
