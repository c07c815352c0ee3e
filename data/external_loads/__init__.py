"""OpenSim's ExternalLoads, .xml: read and written."""
