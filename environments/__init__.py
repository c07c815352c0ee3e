"""Environments for learning: a model as a `gymnasium.vector.VectorEnv`, many states side by side in compiled steps, and
as a single `gymnasium.Env`. Needs the extra `learning`."""

from myoquat.core import missing_extra

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise missing_extra(error) from None

from .library import library_tasks, load_task
from .stepping import with_joint_stops
from .tasks import PointsTask, PoseTask, ReachTask, Situation, StandTask, Start, Task
from .vector import Environment, VectorEnvironment

for _name in library_tasks():
    gymnasium.register(
        f"myoquat/{_name}",
        entry_point="myoquat.environments.vector:Environment",
        vector_entry_point="myoquat.environments.vector:VectorEnvironment",
        kwargs={"task": _name},
    )

__all__ = [
    "Environment",
    "PointsTask",
    "PoseTask",
    "ReachTask",
    "Situation",
    "StandTask",
    "Start",
    "Task",
    "VectorEnvironment",
    "library_tasks",
    "load_task",
    "with_joint_stops",
]
