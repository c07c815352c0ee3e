"""Tasks of the library by their ids in Gymnasium."""

import subprocess
import sys
import tomllib
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from myoquat.core.environment_ids import TASKS
from myoquat.environments import Environment, VectorEnvironment, library_tasks, load_task

NAME = "myoquat/shoulder_reach"


def test_make_gives_the_environment_of_the_task():
    env, own = gymnasium.make(NAME), Environment(load_task("shoulder_reach"))
    assert isinstance(env.unwrapped, Environment)
    (observation, _), (expected, _) = env.reset(seed=3), own.reset(seed=3)
    np.testing.assert_array_equal(observation, expected)
    action = np.zeros(env.action_space.shape, dtype=np.float32)
    np.testing.assert_array_equal(env.step(action)[0], own.step(action)[0])


def test_make_vec_gives_many_states():
    envs = gymnasium.make_vec(NAME, num_envs=3, vectorization_mode="vector_entry_point")
    assert isinstance(envs.unwrapped, VectorEnvironment)
    assert envs.reset(seed=0)[0].shape[0] == 3


def test_all_tasks_have_ids():
    assert tuple(TASKS) == library_tasks()
    assert {f"myoquat/{name}" for name in TASKS} <= {*gymnasium.registry}
    with pytest.raises(gymnasium.error.NameNotFound, match="juggling"):
        gymnasium.make("myoquat/juggling")


def test_the_entry_point_imports_nothing_else_of_the_package():
    """Gymnasium calls it at every import."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    module, _, function = project["project"]["entry-points"]["gymnasium.envs"]["myoquat"].partition(":")
    code = (
        f"import sys, {module} as ids; ids.{function}(); import gymnasium; assert {NAME!r} in gymnasium.registry\n"
        "assert not any(name.startswith(('myoquat.kernels', 'myoquat.environments')) for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
