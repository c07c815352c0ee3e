"""Several forces along one path: it is evaluated once, and they are as along paths of their own."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.muscle import Muscle, MusclePath, Parameters, PathPoint, WrapSphere, parameter_names
from myoquat.muscle.laws import PathActuator, PathFriction, PathSpring
from myoquat.muscle.path import different_paths

ARM = mq.load_model("two_link")
PATH = MusclePath(ARM.muscles[0].path.points, (WrapSphere(body="A", position=(0.0, 0.0, -0.5), radius=0.2),))
ALONG = (
    Muscle("motor", PATH, PathActuator(20.0)),
    Muscle("spring", PATH, PathSpring(100.0, 1.0)),
    Muscle("friction", PATH, PathFriction(2.0, 0.001)),
)


def _moved(path, by):
    return MusclePath(tuple(replace(point, position=tuple(x + by for x in point.position)) for point in path.points))


def _model(copies):
    others = tuple(Muscle(f"{m.name}_{k}", _moved(m.path, 0.01 * k), m.law) for k in range(copies) for m in ARM.muscles)
    return replace(ARM, muscles=(*others, *ALONG), groups=(), start_u=None)


@pytest.mark.parametrize("copies", [0, 3, 10])  # by Jacobians, by segments, and by tables
def test_forces_along_one_path_pull_as_along_equal_paths_of_their_own(copies):
    model = _model(copies)
    q, u, rng = model.start, np.arange(1.0, 7.0) / 7, np.random.default_rng(0)
    count = len(model.muscles)
    a, tension = rng.random(count), rng.random(count)
    alone = replace(model, muscles=model.muscles[: 1 - len(ALONG) or None])
    assert different_paths(model.paths)[1][-3:] == [count - 3] * 3
    for evaluated in (mq.path_lengths, mq.path_jacobian, mq.muscle.path_flags):
        found, own = evaluated(model, q), evaluated(alone, q)
        np.testing.assert_allclose(found[: len(own)], own, atol=1e-14)
        np.testing.assert_allclose(found[-2:], np.stack([own[-1]] * 2), atol=1e-14)
    J, pulls = mq.path_jacobian(model, q), np.append(tension[: count - 3], tension[-3:].sum())
    np.testing.assert_allclose(mq.muscle_torques(model, q, u, a), -J.T @ mq.muscle_forces(model, q, u, a), atol=1e-12)
    wrenches = mq.muscle.muscle_wrenches
    np.testing.assert_allclose(wrenches(model, q, tension), wrenches(alone, q, pulls), atol=1e-12)


def test_a_number_of_a_path_has_one_name_and_moves_it_for_all_forces():
    model = _model(0)
    names = [name for name in parameter_names(model) if ".path." in name]
    assert "muscles.motor.path.1.position.x" in names
    assert not [name for name in names if not name.startswith("muscles.motor.")]
    for name in ("muscles.spring.insertion.position.x", "muscles.friction.path.1.position.0"):
        varied = Parameters.of(model, [name])
        assert varied.names == ("muscles.motor.path.1.position.x",)
        assert [path.points[1].position[0] for path in varied.bind([0.3]).paths] == [0.3] * 3


def test_points_make_a_path():
    points = PathPoint("ground", (0.0, 0.0, 1.0)), PathPoint("A", (0.0, 0.0, 0.1))
    assert Muscle("m", points) == Muscle("m", list(points)) == Muscle("m", MusclePath(points))
    path = MusclePath(points)
    assert (*path, len(path), path[-1]) == (*points, 2, points[1])
