"""The tasks of the library as environments of Gymnasium: `gymnasium.make("myoquat/elbow_pose")`.

Gymnasium calls `register_environments` when it is imported, by the entry point in the group "gymnasium.envs". So this
module imports nothing else of the package: an environment's own code is imported when one is made.
"""

from myoquat.core.lazy_imports import Library

__all__ = ["TASKS", "register_environments"]

TASKS = {
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
    "shoulder_reach": "tasks",
}  # name -> module of `myoquat.environments` that has a function of this name

registration = Library("gymnasium.envs.registration")


def register_environments() -> None:
    """Give Gymnasium the ids "myoquat/<task>" of all tasks, for `make` and `make_vec`."""
    for name in TASKS:
        if f"myoquat/{name}" not in registration.registry:
            registration.register(
                f"myoquat/{name}",
                entry_point="myoquat.environments.vector:library_environment",
                vector_entry_point="myoquat.environments.vector:library_vector_environment",
                kwargs={"task": name},
            )
