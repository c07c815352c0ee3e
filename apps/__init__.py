"""What a user starts: the command line, OpenSim's tools, the viewer and the explorer."""
