"""The comparisons, in the order in which they run: each is a file of this folder with a function `run()`."""

__all__ = ["NAMES"]

NAMES = (
    "paths",  # lengths and Jacobians of a muscle model
    "chains",  # forward and inverse dynamics and the mass matrix against the number of bodies
    "trees",  # no timing: the theorems of mechanics on 1,000 random trees
    "threads",  # two threads against one
    "cold",  # import, build, compile
    "elementary",  # sin, exp, ...: errors and nanoseconds
    "simulation",  # a Runge-Kutta step of a muscle model
    "rigid_bodies",  # no timing: errors against exact solutions, every method, both formulations
    "integrators",  # no timing: norm and energy of every method over many steps
    "osim",  # model files: agreement and speed; MYOQUAT_OPENSIM_MODELS names a folder
    "consistency",  # no timing: moment arms against the slopes of lengths at 100,000 poses, here and in OpenSim
    "osim_motion",  # model files in motion, muscles with all their states
    "constraints",  # the forms of Udwadia and Kalaba: cost, instability points, contradictions
    "closed_loops",  # benchmark mechanisms: reference positions, energy, violation, time
    "studies",  # 100,000 simulations with varied muscles, stored
)
