"""The library of tasks by name: those of MyoSuite 3.0 on its own models (package `myo-sim`), and the package's own.

The tasks of MyoSuite are `myoElbowPose1D6M`, `myoFingerPose`, `myoFingerReach`, `myoHandPose` and `myoHandReach`, each
random or fixed, and `myoLegStandRandom`. Observations, actions, rewards, thresholds and ranges are those of MyoSuite
3.0.0 (https://github.com/MyoHub/myosuite, `myosuite/envs/myo/tasks/basic`, Apache-2.0). The steps are this package's,
contacts between fingers are left out, and joints stop at their ranges by forces.
"""

import importlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, MissingExtraError
from myoquat.data import load_model
from myoquat.joints.kinematics import point_position
from myoquat.joints.quaternion import normalize, quaternion_multiply
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.model import Model

from .stepping import with_joint_stops
from .tasks import PoseTask, ReachTask, ShoulderReach, StandTask, Task

TIPS = ("THtip_r", "IFtip_r", "MFtip_r", "RFtip_r", "LFtip_r")
HAND_TARGETS = np.array(
    [(-0.165, -0.537, 1.495), (-0.151, -0.547, 1.455), (-0.146, -0.547, 1.447), (-0.148, -0.543, 1.445),
     (-0.148, -0.528, 1.434)]
)  # fmt: skip
HAND_BELOW = np.array([(0.020, 0.040, 0.040), *[(0.040, 0.020, 0.010)] * 4])
HAND_ABOVE = np.array([(0.040, 0.020, 0.040), *[(0.040, 0.020, 0.010)] * 4])
HAND_POSE = (
    0, 0, 0, 0.0824475, -0.0904, -0.681555, -0.514888, 0, -0.013964, -0.0458132, 0, 0.67553, -0.020944, 0.76979,
    0.65982, 0, 0, 0, 0, 0.479155, -0.099484, 0.95831, 0,
)  # fmt: skip
# The least and greatest angle of each joint in the ten signs of `ASL_qpos`.
SIGNS_LOW = (
    0, 0, 0, -0.147495, 0.0248, -0.7854, -1.309, 0.366605, -0.006982, 0.128305, 0.111722, 0.39275, 0, 0.18852, 0.117825,
    0.306345, -0.204204, 0, 0.06284, 0.21994, -0.2618, 0.18852, 0.01571,
)  # fmt: skip
SIGNS_HIGH = (
    0, 0, 0, 0.28272, 0.6392, 0.01569, -0.0262045, 1.30045, 0.010473, 1.45492, 0.998897, 1.48459, 0, 1.45318, 1.44532,
    1.571, -0.010472, 1.52387, 1.45318, 1.48459, -0.068068, 1.571, 1.571,
)  # fmt: skip
HAND_ROOT = (-0.02525155, 0.07146933, 1.39249298), (0.52167746, 0.46981366, -0.47875126, -0.52718591)  # [m], quaternion
LEG = (0.161153, -0.0279385, -0.041886, 0.00247908, 0.00101098, 0.461137, 0.0275069, 0.136817, 0.334, -0.00117055,
       -0.000125295, -0.0302192, 0.0395202, -0.194029)  # fmt: skip
LEGS_ROOT = (0.0, 0.0, 0.92), (0.707388, 0.0, 0.0, -0.706825)  # [m], quaternion
LEGS_TURN = 1.57  # [rad] about z, from the root that MyoSuite observes to that of the legs
LEGS_STEP = 0.001
HAND_M = (0.0, -0.3, 0.0)  # of `shoulder_reach`, in the axes of the forearm
STEP = 0.002
ELBOW_CONTROLS = (0.001, 1.0)  # range to which MuJoCo clamps the elbow's controls
WORKSPACE_POSES, WORKSPACE_SEED = 20_000, 0


@cache
def myosuite_model(name: str, contact: bool = False) -> Model:
    """A model of `myo-sim` with MuJoCo's wrapping and muscles in the order of its actuators, joints stopped."""
    try:
        library: Any = importlib.import_module("myo_sim")
        importlib.import_module("mujoco")
    except ModuleNotFoundError as error:
        install = "python -m pip install 'myo-sim==0.2.4' mujoco"
        raise MissingExtraError(f"{error.name} is not installed; this installs MyoSuite's models: {install}") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is left out is said in the guide
        engine = _hand(library) if name == "myohand" else library.load(name)[0]
        if contact:
            _level(engine)
        model = load_model(engine, wrapping="mujoco", contact=contact)
    tendons = [engine.tendon(int(engine.actuator_trnid[i, 0])).name for i in range(engine.nu)]
    by_name = {muscle.name: muscle for muscle in model.muscles}
    ordered = replace(model, muscles=tuple(by_name[tendon] for tendon in tendons))
    return with_joint_stops(ordered, STEP)


def _hand(library: Any) -> Any:
    """The hand of the tasks: that of the arm, its root as in MyoSuite (`_calibrate_compose_hand_root`
    of `myosuite/core/model_recipes.py`)."""
    spec = library.FRAGMENT_SPEC_BUILDERS["myohand"]()
    root = spec.body("myoarm_r_root")
    root.pos, root.quat = HAND_ROOT
    return spec.compile()


def _level(engine: Any) -> None:
    """Let the legs stand on the floor at height 0, as in the task, instead of on a pedestal."""
    for i in range(engine.ngeom):
        if engine.geom_bodyid[i] == 0 and engine.geom(i).name != "floor":
            engine.geom_contype[i] = engine.geom_conaffinity[i] = 0
    engine.geom_pos[engine.geom("floor").id] = 0.0


def ranges(model: Model) -> tuple[Array, Array]:
    """Lowest and highest coordinates (nq,)."""
    found = {c.name: c.range for c in model.coordinates}
    low, high = np.array([found[name] for name in model.system.coordinate_names], dtype=float).T
    return low, high


def _elbow(low: float, high: float) -> Task:
    model = myosuite_model("myoelbow")
    start_low, start_high = ranges(model)
    return PoseTask(
        model, STEP, excitation_range=ELBOW_CONTROLS, low=(low,), high=(high,), start_low=start_low,
        start_high=start_high, threshold=0.175,
    )  # fmt: skip


def _finger_pose(low: tuple[float, ...], high: tuple[float, ...]) -> Task:
    return PoseTask(myosuite_model("myofinger"), STEP, low=low, high=high)


def _finger_reach() -> Task:
    """Targets are positions of the tip at random poses that lie in MyoSuite's box."""
    model = myosuite_model("myofinger")
    low, high = ranges(model)
    poses = low + (high - low) * np.random.default_rng(WORKSPACE_SEED).random((WORKSPACE_POSES, len(low)))
    tip = next(marker for marker in model.markers if marker.name == "IFtip")
    reached = point_position(model, poses, tip.body, tip.position)
    inside = ((reached >= (0.1, -0.1, 0.1)) & (reached <= (0.27, 0.1, 0.3))).all(axis=-1)
    return ReachTask(model, STEP, points=("IFtip",), targets=reached[inside][:, None])


def _finger_reach_fixed() -> Task:
    target = [(0.2, 0.05, 0.20)]
    return ReachTask(myosuite_model("myofinger"), STEP, points=("IFtip",), low=target, high=target)


def _hand_pose(low: tuple[float, ...], high: tuple[float, ...], start: tuple[Any, Any] = (None, None)) -> Task:
    return PoseTask(
        myosuite_model("myohand"), STEP, low=low, high=high, start_low=start[0], start_high=start[1], threshold=0.7
    )


def _hand_reach(below: ArrayLike, above: ArrayLike, far: float) -> Task:
    low, high = np.subtract(HAND_TARGETS, below), np.add(HAND_TARGETS, above)
    return ReachTask(myosuite_model("myohand"), STEP, points=TIPS, low=low, high=high, far=far)


def _leg_stand() -> Task:
    """The first keyframe of `myolegs_with_torso.xml`, whose legs are turned in the root."""
    half = LEGS_TURN / 2
    turn = np.array([np.cos(half), 0.0, 0.0, np.sin(half)])
    root = normalize(quaternion_multiply(np.array(LEGS_ROOT[1]), turn))
    back = tuple(map(float, turn * [1.0, -1.0, -1.0, -1.0]))
    return StandTask(
        myosuite_model("myolegs", contact=True), LEGS_STEP, pose=(*LEGS_ROOT[0], *root, *LEG, *LEG), spread=0.2,
        points=("pelvis",), target_low=(-0.05, -0.05, 0.0), target_high=(0.05, 0.05, 0.0), turn=back,  # type: ignore[arg-type]
    )  # fmt: skip


def _shoulder_reach() -> Task:
    """Reach with the hand of the library's `thoracoscapular`."""
    model = load_model("thoracoscapular")
    assert isinstance(model, Model)
    return ShoulderReach(model, points=(Marker("hand", "forearm", HAND_M),), far=1.5)


TASKS: dict[str, Callable[[], Task]] = {  # a task is one row
    "elbow_pose": lambda: _elbow(0.0, 2.27),  # myoElbowPose1D6MRandom-v0
    "elbow_pose_fixed": lambda: _elbow(2.0, 2.0),  # myoElbowPose1D6MFixed-v0
    "finger_pose": lambda: _finger_pose((-0.2, -0.4, 0.1, 0.1), (0.2, 1.0, 1.0, 1.0)),  # myoFingerPoseRandom-v0
    "finger_pose_fixed": lambda: _finger_pose((0, 0, 0.75, 0.75), (0, 0, 0.75, 0.75)),  # myoFingerPoseFixed-v0
    "finger_reach": _finger_reach,  # myoFingerReachRandom-v0
    "finger_reach_fixed": _finger_reach_fixed,  # myoFingerReachFixed-v0
    "hand_pose": lambda: _hand_pose(SIGNS_LOW, SIGNS_HIGH, ranges(myosuite_model("myohand"))),  # myoHandPoseRandom-v0
    "hand_pose_fixed": lambda: _hand_pose(HAND_POSE, HAND_POSE),  # myoHandPoseFixed-v0
    "hand_reach": lambda: _hand_reach(HAND_BELOW, HAND_ABOVE, 0.075),  # myoHandReachRandom-v0
    "hand_reach_fixed": lambda: _hand_reach(0.0, 0.0, 0.044),  # myoHandReachFixed-v0
    "leg_stand": _leg_stand,  # myoLegStandRandom-v0
    "shoulder_reach": _shoulder_reach,
}


def library_tasks() -> tuple[str, ...]:
    """The names that `load_task` takes.

    >>> from myoquat.environments import library_tasks
    >>> "elbow_pose" in library_tasks()
    True
    """
    return tuple(TASKS)


def load_task(name: str) -> Task:
    """A task of the library. Those of MyoSuite need its models: the packages `myo-sim` and `mujoco`.

    Raises ValueError for a name that is not in the library, TypeError for what is no text.

    >>> from myoquat.environments import load_task
    >>> try:
    ...     load_task("juggling")
    ... except ValueError as error:
    ...     print(str(error)[:36])
    task 'juggling' is not in the librar
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a task, not {type(name).__name__}")
    if name not in TASKS:
        raise ValueError(f"task {name!r} is not in the library; there are: {', '.join(TASKS)}")
    return TASKS[name]()
