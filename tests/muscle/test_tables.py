"""Lengths and Jacobians by tables of equivalent segments against the formulas of each muscle on its own."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from myoquat import kernels
from myoquat.data import load_model
from myoquat.joints import ArticulatedSystem, Body, SphericalJoint, random_system
from myoquat.joints.crossovers import MinRows
from myoquat.muscle import (
    Model,
    Muscle,
    PathPoint,
    muscle_forces,
    muscle_wrenches,
    path_jacobian,
    path_lengths,
    unit_wrenches,
)
from myoquat.muscle.argument_validation import eliminated_components
from myoquat.muscle.laws import PathSpring
from myoquat.muscle.segments import tables
from myoquat.muscle.segments.lengths import carried_bodies
from tests.bodies import afloat, on_ball

LEG = Path(__file__).parent.parent / "data" / "small_leg.osim"


@pytest.fixture(params=["leg", "leg in quaternions", "two_link", "floating", "every joint"])
def model(request):
    """Fixed, conditional and moving points, wrapping surfaces, Euler angles, quaternions, a floating base, every type
    of joint."""
    if request.param == "every joint":
        return _between_all()
    if request.param == "two_link":
        return load_model("two_link")
    return (
        load_model(LEG, rotations="quaternion" if "quaternions" in request.param else "file")
        if ("leg" in request.param)
        else _floating()
    )


def _floating():
    bodies = (
        afloat("trunk", inertia=1),
        on_ball("arm", parent="trunk", position=(0.0, 0.1, 0.2), inertia=1),
    )
    a, b = PathPoint("trunk", (0.1, 0.0, 0.1)), PathPoint("arm", (0.0, 0.02, -0.3))
    muscles = (Muscle("a", (a, b)), Muscle("b", (PathPoint("ground", (0.0, 1.0, 0.0)), a, b)))
    return Model(ArticulatedSystem(bodies), muscles)


def _between_all():
    """A tree of every type of joint with a muscle between any two bodies, and one along each body."""
    system = random_system(10, np.random.default_rng(6239))
    points = np.random.default_rng(4).normal(size=(11, 2, 3))
    ends = [[PathPoint(name, tuple(x)) for x in xs]
            for name, xs in zip((system.ground, *system.body_names), points, strict=True)]  # fmt: skip
    muscles = tuple(Muscle(f"{a}-{b}", (ends[a][0], ends[b][1])) for a in range(11) for b in range(a, 11))
    return Model(system, muscles)


@pytest.fixture
def q(model):
    return model.system.random(50, np.random.default_rng(8))


def _kernel(formula, model, *options, cache=None):
    inputs = {"q": model.system.nq}
    if "constrained" in options:
        inputs["eliminated"] = len(model.system.quaternion_slices())
    return kernels.compile(partial(formula, model.system, model.paths, *options), inputs, cache=cache)


def test_lengths_agree(model, q):
    kernel = _kernel(tables.table_lengths, model)
    np.testing.assert_allclose(kernel(q), path_lengths(model, q, backend="numpy"), rtol=0, atol=1e-14)


@pytest.mark.parametrize("wrt", ["velocity", "coordinates", "constrained"])
def test_jacobians_agree(model, q, wrt):
    kernel = _kernel(tables.table_jacobian, model, wrt)
    given = {} if wrt != "constrained" else {"eliminated": eliminated_components(model.system, q, "largest")}
    found = kernel(q, *(k.astype(float) for k in given.values()))
    np.testing.assert_allclose(found, path_jacobian(model, q, wrt, **given, backend="numpy"), rtol=1e-12, atol=1e-13)


def test_wrenches_agree_with_derivatives_of_the_lengths(model, q):
    """On every body with all that it carries, whose wrenches act at the origins of these bodies."""
    tensions = np.random.default_rng(1).uniform(size=(len(q), len(model.paths)))
    wrenches, poses = muscle_wrenches(model, q, tensions), model.system.poses(q)
    for body in model.system.body_names:
        expected, origin = np.einsum("...ij,...i", unit_wrenches(model, q, body), tensions), poses[body][1]
        for name in carried_bodies(model.system, body):
            f, n = np.split(wrenches[:, model.system.body_names.index(name)], 2, axis=-1)
            expected = expected - np.concatenate([f, n + np.cross(poses[name][1] - origin, f)], axis=-1)
        np.testing.assert_allclose(expected, 0.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("extension", ["polynomial", "normalized", "homogeneous"])
def test_components_of_quaternions_agree_however_rotations_continue(extension):
    """Off the unit sphere, where R(Q) strains all that the joints carry, also what is above no moving joint."""
    joint = SphericalJoint(extension=extension)
    shin = on_ball("shin", parent="thigh", position=(0.0, 0.1, -0.4), inertia=1)
    bodies = (Body("thigh", "ground", joint, (0.3, 0.0, 0.2), mass=1.0, inertia=(1, 1, 1, 0, 0, 0)), shin)
    points = [PathPoint(*at) for at in (("ground", (0.1, 0.2, 0.3)), ("thigh", (0.0, 0.1, 0.0)),
                                        ("shin", (0.1, 0.0, -0.2)), ("shin", (0.0, 0.1, -0.3)))]  # fmt: skip
    model = Model(ArticulatedSystem(bodies), tuple(Muscle(f"m{k}", tuple(points[k:])) for k in range(3)))
    q = model.system.random(20, np.random.default_rng(3))
    kernel = _kernel(tables.table_jacobian, model, "coordinates")
    np.testing.assert_allclose(kernel(q), path_jacobian(model, q, "quaternion", backend="numpy"), rtol=0, atol=1e-13)


def test_a_model_far_from_the_origin_loses_no_digits():
    model = _floating()
    q = model.system.random(20, np.random.default_rng(2))
    inner = replace(model, muscles=model.muscles[:1])
    kernel = _kernel(tables.table_jacobian, inner, "velocity")
    near = kernel(q)
    far = q.copy()
    where = model.system.coordinate_names.index(next(n for n in model.system.coordinate_names if n.endswith("x")))
    far[:, where : where + 3] += 2.0**20
    np.testing.assert_allclose(kernel(far), near, rtol=0, atol=1e-13)


def _strands(count):
    """A muscle from place to place on the upper arm, so many times."""
    model = load_model("two_link")
    upper = model.system.body_names[0]
    heights = np.linspace(-0.3, -0.1, count)
    muscles = tuple(
        Muscle(f"strand{k}", (PathPoint("ground", (0.1, 0.0, 0.0)), PathPoint(upper, (0.0, 0.05, z))))
        for k, z in enumerate(heights)
    )
    return Model(model.system, muscles)


def test_many_muscles_are_evaluated_by_tables():
    model = _strands(MinRows.PATHS)
    assert tables.tables_pay(model.paths)
    assert not tables.tables_pay(_strands(MinRows.PATHS - 1).paths)
    q = model.system.random(5, np.random.default_rng(3))
    np.testing.assert_allclose(path_lengths(model, q), path_lengths(model, q, backend="numpy"), rtol=0, atol=1e-14)
    for wrt in ("velocity", "coordinates", "quaternion", "constrained"):
        expected = path_jacobian(model, q, wrt, backend="numpy")
        np.testing.assert_allclose(path_jacobian(model, q, wrt), expected, rtol=0, atol=1e-13)


def test_paths_within_one_body_keep_their_length():
    model = _strands(1)
    upper = model.system.body_names[0]
    points = [PathPoint(upper, (0.0, 0.0, z)) for z in (0.0, 0.3, 0.1)]
    inside = Model(model.system, (Muscle("inside", tuple(points)),))
    q = model.system.random(3, np.random.default_rng(4))
    lengths = _kernel(tables.table_lengths, inside)
    jacobian = _kernel(tables.table_jacobian, inside, "velocity")
    np.testing.assert_allclose(lengths(q), 0.5, rtol=1e-15)
    assert not jacobian(q).any()


def test_code_does_not_grow_with_the_muscles():
    def lines(count):
        kernel = _kernel(tables.table_jacobian, _strands(count), "velocity", cache="off")
        return sum("@" not in line[:1] for line in kernel.ir.splitlines())  # constants are one line each

    assert lines(400) == lines(100)


def test_paths_of_a_model_without_bodies():
    """By segments and by charts of no joint."""
    points = PathPoint("ground", (0.0, 0.0, 0.0)), PathPoint("ground", (0.0, 0.0, 1.0))
    muscles = tuple(Muscle(f"m{i}", points, PathSpring(1.0, 0.5)) for i in range(MinRows.SEGMENTS))
    model = Model(ArticulatedSystem(()), muscles)
    np.testing.assert_array_equal(muscle_forces(model, [], [], np.zeros(len(muscles))), 0.5)
    assert path_jacobian(model, [], "constrained").shape == (len(muscles), 0)
