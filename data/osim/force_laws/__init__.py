"""Force laws of OpenSim's muscles."""
