"""The comparisons, in the order in which they run: each name and the module whose function `run()` it calls."""

NAMES = {
    "paths": "benchmarks.paths",  # lengths and Jacobians of a muscle model
    "chains": "benchmarks.chains",  # forward and inverse dynamics and the mass matrix against the number of bodies
    "trees": "benchmarks.own.trees",  # no timing: the theorems of mechanics on 1,000 random trees
    "threads": "benchmarks.own.threads",  # two threads against one
    "cold": "benchmarks.own.cold",  # import, build, compile
    "first": "benchmarks.opensim.first",  # the wait before the first number of real models, in new processes
    "derivatives": "benchmarks.own.derivatives",  # of an interval of direct collocation: build, evaluate
    "elementary": "benchmarks.own.elementary",  # sin, exp, ...: errors and nanoseconds
    "simulation": "benchmarks.mujoco.simulation",  # a Runge-Kutta step of a muscle model
    "myosuite": "benchmarks.mujoco.myosuite",  # MyoSuite's models: agreement, first results, steps; package myo-sim
    "environments": "benchmarks.mujoco.environments",  # environment steps beside MyoSuite, where it is installed
    "rigid_bodies": "benchmarks.own.rigid_bodies",  # no timing: errors against exact solutions, methods, formulations
    "integrators": "benchmarks.own.integrators",  # no timing: norm and energy of every method over many steps
    "osim": "benchmarks.opensim.osim",  # model files: agreement and speed; MYOQUAT_OPENSIM_MODELS names a folder
    "collection": "benchmarks.opensim.collection",  # no timing to a peer: a row per model of the folder and its folders
    "consistency": "benchmarks.opensim.consistency",  # no timing: moment arms against slopes of lengths, here and there
    "osim_motion": "benchmarks.opensim.osim_motion",  # model files in motion, muscles with all their states
    "shoulder": "benchmarks.opensim.shoulder",  # a second of a constrained shoulder; MYOQUAT_SHOULDER names its folder
    "sweeps": "benchmarks.wrapping.sweeps",  # real models over their ranges: time, slopes, jumps; both variables above
    "fits": "benchmarks.own.fits",  # fitted paths: errors, times; MYOQUAT_SHOULDER, MYOQUAT_MOCO_WALK name folders
    "bits": "benchmarks.own.bits",  # no timing: digests of results, to compare two commits; both variables above
    "certificate": "benchmarks.wrapping.certificate",  # no timing: paths past 10,000 random surfaces against shooting
    "symmetries": "benchmarks.wrapping.symmetries",  # no timing: paths and their reversed, mirrored, scaled copies
    "constraints": "benchmarks.own.constraints",  # the forms of Udwadia and Kalaba: cost, instability, contradictions
    "closed_loops": "benchmarks.own.closed_loops",  # benchmark mechanisms: reference positions, energy, violation, time
    "trials": "benchmarks.opensim.trials",  # recorded trials beside OpenSim's solver; MYOQUAT_TRIALS names a folder
    "recorded": "benchmarks.own.recorded",  # markers to poses, memory of long trials; MYOQUAT_GAIT names a folder
    "residuals": "benchmarks.opensim.residuals",  # residual reduction beside RRATool; MYOQUAT_RRA names its setups
    "kalman": "benchmarks.kalman",  # no timing to a peer: filter of markers and sensors; MYOQUAT_IMU names a folder
    "redundancy": "benchmarks.own.redundancy",  # beside Clarabel; MYOQUAT_SHOULDER, MYOQUAT_WALK name folders of trials
    "robustness": "benchmarks.own.robustness",  # the abduction on thousands of models; MYOQUAT_SHOULDER as above
    "posteriors": "benchmarks.posteriors",  # no timing to a peer: coverage of bands on EMG-driven moments
    "control": "benchmarks.control.problems",  # CasADi alone, Moco (MYOQUAT_MOCO, MYOQUAT_MOCO_INVERSE), gimbal lock
    "walks": "benchmarks.control.walks",  # Moco's four other published walks; MYOQUAT_MOCO_WALK names a folder
    "viewer": "benchmarks.own.viewer",  # first picture and pictures a second in a headless Chromium
    "studies": "benchmarks.own.studies",  # 100,000 simulations with varied muscles, stored
}
