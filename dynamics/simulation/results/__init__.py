"""Trajectories: what a simulation returns, its quantities, tables, figures and files."""
