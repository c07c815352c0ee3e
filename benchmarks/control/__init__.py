"""Optimal control beside CasADi alone and OpenSim Moco."""
