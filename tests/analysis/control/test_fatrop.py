"""fatrop: stages state the same program, and the optimum is that of IPOPT."""

import numpy as np
import pytest

from myoquat.analysis.control import (
    BoundaryConstraint,
    ControlRates,
    Duration,
    Equations,
    Fatrop,
    Ipopt,
    OwnGoal,
    PathConstraint,
    Periodic,
    Phases,
    Problem,
    Status,
)
from myoquat.analysis.control.solvers import fatrop
from myoquat.analysis.control.solvers.stages import StagedProgram
from myoquat.core.lazy_imports import MissingExtraError

CART = Equations(("x", "v"), ("force",), lambda point: (point["v"], point["force"]))
REST = {"x": 0.0, "v": 0.0}, {"x": 1.0, "v": 0.0}
EFFORT = OwnGoal(lambda point: point["force"] ** 2, name="effort")
TIGHT = Fatrop(tolerance=1e-10), Ipopt(tolerance=1e-10)


def fastest(transcription="midpoint", **given):
    bounds = {"force": (-1.0, 1.0)}
    return Problem(CART, (0.1, 10.0), (Duration(),), 6, transcription, initial=REST[0], bounds=bounds, **given)


def rotor(**given):
    """A pendulum with an unknown damping, whose motion repeats."""
    swing = Equations(
        ("angle", "rate"), ("torque",),
        lambda point: (point["rate"], point["torque"] - np.sin(point["angle"]) - point["damping"] * point["rate"]),
    )  # fmt: skip
    follow = OwnGoal(lambda point: (point["angle"] - 0.2 * np.cos(point.t)) ** 2 + 0.1 * point["torque"] ** 2)
    return Problem(swing, 2.0, (follow,), 5, parameters={"damping": (0.1, 1.0)}, periodic=Periodic(), **given)


@pytest.mark.parametrize("transcription", ["midpoint", "trapezoid", "hermite_simpson", "radau", "shooting"])
def test_stages_state_the_same_program(transcription):
    """Objective, constraints and both derivatives of the stages are those of the program where copies agree."""
    posed = rotor(transcription=transcription).posed()
    program, rng = posed.discretization.program, np.random.default_rng(0)
    staged = StagedProgram(program, posed.discretization.positions, posed.bounds, posed.limits)
    x, multipliers = rng.normal(size=program.size), rng.normal(size=staged.rows)
    lifted = staged.start(x)
    assert np.isclose(staged.program.objective(lifted), program.objective(x))
    rows = staged.constraints(lifted)
    assert np.allclose(rows[staged.row_home], program.constraints(x))
    assert np.allclose(np.delete(rows, staged.row_home), 0.0)
    step = 1e-6 * rng.normal(size=staged.size)
    pattern, hessian = staged.jacobian_pattern, staged.hessian_pattern

    def pulled(at):
        values = np.zeros(len(pattern.rows))
        staged.jacobian(at, values)
        columns = np.repeat(np.arange(staged.size), np.diff(pattern.columns))
        slope = np.bincount(columns, weights=values * multipliers[pattern.rows], minlength=staged.size)
        return slope + staged.program.gradient(at)

    change = multipliers @ (staged.constraints(lifted + step) - staged.constraints(lifted - step))
    change += staged.program.objective(lifted + step) - staged.program.objective(lifted - step)
    assert np.isclose(change, 2 * step @ pulled(lifted), rtol=1e-6, atol=1e-12)
    values = np.zeros(len(hessian.rows))
    staged.hessian(lifted, 1.0, multipliers, values)
    columns = np.repeat(np.arange(staged.size), np.diff(hessian.columns))
    curved = np.bincount(hessian.rows, weights=values * step[columns], minlength=staged.size)
    assert np.allclose(2 * curved, pulled(lifted + step) - pulled(lifted - step), rtol=1e-5, atol=1e-10)


def test_its_optima_are_those_of_ipopt():
    """Free durations, parameters, periodic motions, path and boundary constraints."""
    slow = PathConstraint("speed", lambda point: point["v"], upper=0.6)
    twice = BoundaryConstraint("ends", lambda first, last, duration: last["x"] - first["x"] - 1.0)
    problems = fastest(final=REST[1], constraints=(slow,)), fastest(constraints=(twice,)), rotor()
    for problem in problems:
        here, there = (problem.solve(solver=solver) for solver in TIGHT)
        assert here.success
        assert np.isclose(here.objective, there.objective, rtol=1e-7)
        assert here.kkt_error < 1e-6
        assert here.violation < 1e-8


def test_it_stops_where_asked():
    seen = []
    solution = fastest(final=REST[1]).solve(solver=Fatrop(), watch=lambda p: seen.append(p.violation) or len(seen) == 3)
    assert (solution.status, len(seen)) == (Status.INTERRUPTED, 3)
    assert fastest(final=REST[1]).solve(solver=Fatrop(max_iterations=1)).status is Status.ITERATIONS


def test_what_it_does_not_take():
    changes = Problem(CART, 1.0, (EFFORT, ControlRates()), 4, "midpoint", initial=REST[0], final=REST[1])
    with pytest.raises(ValueError, match="fatrop takes no goal or constraint of times that are further apart"):
        changes.solve(solver=Fatrop())
    part = Problem(CART, 1.0, (EFFORT,), 2)
    with pytest.raises(TypeError, match="solver"):
        Phases((part, part)).solve(solver=Fatrop())
    with pytest.raises(ValueError, match="barrier"):
        Fatrop(barrier=0.0)
    with pytest.raises(ValueError, match="tolerance"):
        Fatrop(tolerance=0.0)


def test_a_build_without_it_is_named(monkeypatch):
    monkeypatch.setattr(fatrop.casadi, "has_nlpsol", lambda name: False)
    with pytest.raises(MissingExtraError, match="no fatrop"):
        fastest(final=REST[1]).solve(solver=Fatrop())
