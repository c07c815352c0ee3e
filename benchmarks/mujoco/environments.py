"""Environment steps beside MyoSuite's own environments of the same observations and rewards, with the same actions.

MyoSuite (package `myosuite`) is measured where it is installed; its rows are left out elsewhere. Its environments run
one by one, and as Gymnasium's vector environments: one after the other in a process, and in a process each. Times are
those of the wall on all cores of the machine, and of processors for the routes of a single process. The last row is the
greatest difference of coordinates and speeds of one episode from MyoSuite's.
"""

import statistics
import warnings
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

from myoquat.environments import VectorEnvironment, load_task

TASKS = {"elbow_pose": "myoElbowPose1D6MRandom-v0", "hand_reach": "myoHandReachRandom-v0"}
STATES = (64, 256, 1024)
THEIR_STATES = 16
ACTIONS, REPEATS = 50, 5
COMPARED_ACTIONS = 30

Step = Callable[[], None]


def run() -> list[dict[str, Any]]:
    """Rows of microseconds for a step of one environment, and of differences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [row for name, theirs in TASKS.items() for row in _rows(name, theirs)]


def _rows(name: str, theirs: str) -> list[dict[str, Any]]:
    task, routes, apart = load_task(name), {}, np.nan
    for n in STATES:
        routes[f"myoquat, {n} states"] = _stepped(VectorEnvironment(task, n), n)
    peers = _peers(theirs)
    routes |= peers
    wall: dict[str, list[float]] = {route: [] for route in routes}
    own: dict[str, list[float]] = {route: [] for route in routes}
    for repeat in range(REPEATS + 1):
        for route, (step, n) in routes.items():
            began, began_own = perf_counter(), process_time()
            step()
            taken, taken_own = perf_counter() - began, process_time() - began_own
            if repeat:
                wall[route].append(1e6 * taken / (ACTIONS * n))
                own[route].append(1e6 * taken_own / (ACTIONS * n))
    if peers:
        apart = _apart(task, theirs)
    best = min((statistics.median(wall[route]) for route in peers if "vector" in route), default=np.nan)
    single = statistics.median(own["MyoSuite"]) if peers else np.nan
    work = "a step of an environment, us, random actions"
    rows = [
        {"work": work, "task": name, "route": route, "wall": statistics.median(wall[route]),
         "ratio to their best vector environment": best / statistics.median(wall[route]),
         "processor": np.nan if "processes" in route else statistics.median(own[route]),
         "ratio of processor times to one environment": single / statistics.median(own[route])}
        for route in routes
    ]  # fmt: skip
    return [
        *rows,
        {"work": f"difference of observations within {COMPARED_ACTIONS} actions", "task": name, "difference": apart},
    ]


def _stepped(envs: Any, n: int) -> tuple[Step, int]:
    """What steps n environments, and n."""
    envs.reset(seed=0)
    shape = (ACTIONS, *(envs.action_space.shape or ()))
    chosen = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)

    def step() -> None:
        for actions in chosen:
            envs.step(actions)

    return step, n


def _peers(name: str) -> dict[str, tuple[Step, int]]:
    try:
        import gymnasium  # noqa: PLC0415
        import myosuite  # noqa: F401, PLC0415
    except ModuleNotFoundError:
        return {}
    made = {
        "MyoSuite, vector environment in one process": ("sync", THEIR_STATES),
        "MyoSuite, vector environment of processes": ("async", THEIR_STATES),
    }
    found = {"MyoSuite": _stepped(gymnasium.make_vec(name, 1, vectorization_mode="sync"), 1)}
    for route, (mode, n) in made.items():
        found[route] = _stepped(gymnasium.make_vec(name, n, vectorization_mode=mode), n)
    return found


def _apart(task: Any, name: str) -> float:
    """The greatest difference of coordinates and speeds, in single precision, over one episode's actions."""
    import gymnasium  # noqa: PLC0415

    theirs, ours = gymnasium.make(name), VectorEnvironment(task, 1)
    theirs.reset(seed=0)
    ours.reset(seed=0)
    size = task.model.system.nq + task.model.system.nu
    greatest = 0.0
    for action in np.random.default_rng(1).uniform(-1, 1, (COMPARED_ACTIONS, *theirs.action_space.shape)):
        seen, *_ = theirs.step(action.astype(np.float32))
        mine, *_ = ours.step(action[None])
        greatest = max(greatest, float(np.abs(mine[0, :size] - seen[:size]).max()))
    return greatest
