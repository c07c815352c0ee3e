"""The XML document of an .osim file: text, version and names, as OpenSim resolves them."""
