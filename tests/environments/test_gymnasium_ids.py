"""Tasks of the library by their ids in Gymnasium."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

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
    assert {f"myoquat/{name}" for name in library_tasks()} <= {*gymnasium.registry}
    with pytest.raises(gymnasium.error.NameNotFound, match="juggling"):
        gymnasium.make("myoquat/juggling")


def test_ids_are_known_in_a_new_process():
    """Gymnasium 1.0 and later know no entry points: the name of the package before an id imports it, as an import does,
    and from then on the id is known alone."""
    known = f"gymnasium.make('myoquat.environments:{NAME}'), gymnasium.spec({NAME!r})"
    unknown = f"import gymnasium\nassert {NAME!r} not in gymnasium.registry\n"
    subprocess.run([sys.executable, "-c", f"{unknown}{known}"], check=True)
