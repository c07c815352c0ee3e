"""Refinement of meshes: measured errors are those against exact solutions, and intervals are short where needed."""

import numpy as np
import pytest

from myoquat.analysis.control import Equations, Ipopt, OwnGoal, Problem, Refinement

RATE = 60.0
TIGHT = Ipopt(tolerance=1e-11, constraint_tolerance=1e-11)


def layer(intervals=4):
    """xdot = -60 (x - 1) from 0: x = 1 - exp(-60 t), all of it in the first tenth of a second."""
    decay = Equations(("x",), (), lambda point: (RATE * (1.0 - point["x"]),))
    nothing = OwnGoal(lambda point: 0.0 * point["x"], name="nothing")
    return Problem(decay, 1.0, (nothing,), intervals, initial={"x": 0.0})


def exact(t):
    return 1.0 - np.exp(-RATE * t)


def test_measured_errors_are_those_against_the_exact_solution():
    solution = layer(12).solve(solver=TIGHT)
    x, h = solution["x"], np.diff(solution.time)
    ends = 1.0 - (1.0 - x[:-1]) * np.exp(-RATE * h)  # exact from the state at the start of every interval
    assert np.allclose(solution.interval_errors(), np.abs(ends - x[1:]) / (1 + x.max()), atol=1e-8)


def test_intervals_are_divided_where_the_motion_is_fast():
    found = layer().solve(solver=TIGHT, refine=Refinement(1e-7))
    assert found.meshes[-1].largest <= 1e-7
    assert np.abs(found["x"] - exact(found.time)).max() < 1e-6
    mesh = found.meshes[-1].mesh
    assert np.diff(mesh)[mesh[:-1] >= 0.75].min() > 10 * np.diff(mesh).min()
    even = layer(len(mesh) - 1).solve(solver=TIGHT)
    assert np.abs(even["x"] - exact(even.time)).max() > 100 * np.abs(found["x"] - exact(found.time)).max()
    k = np.argmax(found.meshes[-1].errors)
    words = f"greatest error of an interval {found.meshes[-1].largest:.2g}, from {mesh[k]:.3g} to {mesh[k + 1]:.3g} of"
    assert f"Mesh of {len(mesh) - 1} intervals: {words}" in found.explain()


def test_a_refinement_is_checked():
    with pytest.raises(ValueError, match="positive tolerance"):
        Refinement(0.0)
    with pytest.raises(TypeError, match="refine"):
        layer().solve(refine=1e-4)
    stuck = layer().solve(solver=Ipopt(max_iterations=0), refine=Refinement(1e-7))
    assert not stuck.success
    assert not stuck.meshes
