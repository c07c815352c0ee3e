"""Files of OpenSim Moco."""
