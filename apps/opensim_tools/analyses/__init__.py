"""Analyses of OpenSim's AnalyzeTool, a module each: from a motion to the tables that they write."""
