"""The tasks of the library, by name."""

import importlib

from myoquat.environments.task import Task

__all__ = ["library_tasks", "load_task"]

_TASKS = {
    "elbow_pose": "myosuite",
    "elbow_pose_fixed": "myosuite",
    "finger_pose": "myosuite",
    "finger_pose_fixed": "myosuite",
    "finger_reach": "myosuite",
    "finger_reach_fixed": "myosuite",
    "hand_pose": "myosuite",
    "hand_pose_fixed": "myosuite",
    "hand_reach": "myosuite",
    "hand_reach_fixed": "myosuite",
    "leg_stand": "myosuite",
    "shoulder_reach": "shoulder",
}  # name -> module of this folder that has a function of this name


def library_tasks() -> tuple[str, ...]:
    """The names that `load_task` takes.

    >>> from myoquat.environments import library_tasks
    >>> "elbow_pose" in library_tasks()
    True
    """
    return tuple(_TASKS)


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
    if name not in _TASKS:
        raise ValueError(f"task {name!r} is not in the library; there are: {', '.join(_TASKS)}")
    module = importlib.import_module(f"myoquat.environments.tasks.{_TASKS[name]}")
    found: Task = getattr(module, name)()
    return found
