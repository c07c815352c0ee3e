"""OpenSim, in processes of its own: its CasADi and ours do not share one."""
