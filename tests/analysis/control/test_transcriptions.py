"""Transcriptions on the group: measured orders, exact derivatives, unit quaternions, invariance of the description."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import (
    TRANSCRIPTIONS,
    Effort,
    Gauss,
    Ipopt,
    MultipleShooting,
    OwnGoal,
    PathConstraint,
    Problem,
    Radau,
    TrackPose,
)
from myoquat.data import Motion
from myoquat.joints import quaternion_exp, quaternion_multiply
from tests.bodies import afloat, on_hinge, on_slide

A, C, OMEGA, V = 1.0, 1.8, np.array([1.0, 0.5, 2.0]), np.array([1.0, -2.0, 3.0])


def top(velocity_frame="child"):
    body = afloat("top", inertia=(A, A, C))
    return mq.ArticulatedSystem((body,), gravity=(0.0, 0.0, 0.0), velocity_frame=velocity_frame)


def free_motion(t):
    """The place of a free symmetric top, and its Q: a turn about its angular momentum, then one about its own axis
    [L. D. Landau, E. M. Lifshitz, Mechanics, section 33]."""
    momentum = np.array([A, A, C]) * OMEGA
    Q = quaternion_multiply(quaternion_exp(t * momentum / A), quaternion_exp([0, 0, t * OMEGA[2] * (1 - C / A)]))
    return np.concatenate([t * V, Q])


ORDERS = {
    "midpoint": (8, 16), "trapezoid": (8, 16), "hermite_simpson": (8, 16), Gauss(2): (6, 12), Radau(2): (8, 16),
    "radau": (4, 8), "shooting": (8, 16),
}  # fmt: skip


@pytest.mark.parametrize(("method", "frame"), [*((method, "child") for method in ORDERS), ("radau", "parent")])
def test_measured_order_on_a_tumbling_body(method, frame):
    """Of the pose at the end of a free motion, which the transcription determines alone. Its centre of mass flies along
    a line, whatever the frame of its velocities, and simulated forward the motion reproduces itself."""
    errors, ends = [], {"q": [0.0, 0, 0, 1, 0, 0, 0], "u": [*V, *OMEGA]}
    for intervals in ORDERS[method]:
        problem = Problem(top(frame), 1.0, (), intervals, method, initial=ends)
        solution = problem.solve(solver=Ipopt(tolerance=1e-12, constraint_tolerance=1e-12))
        assert solution.success
        assert solution.norm_error < 1e-12
        errors.append(np.linalg.norm(solution.statement.plant.displacement(free_motion(1.0), solution.q[-1])))
    stated = TRANSCRIPTIONS[method].order if isinstance(method, str) else method.order
    assert np.log2(errors[0] / errors[1]) == pytest.approx(stated, abs=0.5)
    assert np.abs(solution.simulate().q[-1, :3] - V).max() < 1e-6


def two_link_problem(method, intervals=3, duration=0.3):
    model = mq.load_model("two_link")
    way = mq.simulate(model, duration=duration, step=duration / 60, output_step=duration / 12)
    motion = Motion(model, way.time, way.q)
    goals = TrackPose(motion, weight=10.0), Effort(weight=0.01)
    return Problem(model, duration, goals, intervals, method, initial={"q": way.q[0], "u": way.u[0]})


@pytest.mark.parametrize("method", ["midpoint", "hermite_simpson"])
def test_derivatives_of_the_program_agree_with_differences(method, rng):
    posed = two_link_problem(method).posed()
    found, program = posed.discretization, posed.discretization.program
    x = posed.x + 0.05 * rng.normal(size=found.size)
    direction, multipliers = rng.normal(size=found.size), rng.normal(size=program.rows)
    h = 1e-6
    ahead, behind = x + h * direction, x - h * direction
    slope = (program.objective(ahead) - program.objective(behind)) / (2 * h)
    assert program.gradient(x) @ direction == pytest.approx(slope, rel=1e-6, abs=1e-8)
    change = (program.constraints(ahead) - program.constraints(behind)) / (2 * h)
    assert np.allclose(jacobian(program, x) @ direction, change, rtol=1e-6, atol=1e-6)

    def gradient(x):
        return 0.5 * program.gradient(x) + jacobian(program, x).T @ multipliers

    bent = (gradient(ahead) - gradient(behind)) / (2 * h)
    assert np.allclose(hessian(program, x, 0.5, multipliers) @ direction, bent, rtol=1e-5, atol=1e-5)


def dense(pattern, values, shape):
    matrix = np.zeros(shape)
    matrix[pattern.rows, np.repeat(np.arange(shape[1]), np.diff(pattern.columns))] = values
    return matrix


def jacobian(program, x):
    return dense(program.jacobian_pattern, program.jacobian(x), (program.rows, program.size))


def hessian(program, x, factor, multipliers):
    values = program.hessian(x, factor, multipliers)
    upper = dense(program.hessian_pattern, values, (program.size, program.size))
    return upper + np.triu(upper, 1).T


def test_multiple_shooting_agrees_with_collocation():
    """A rod on a hinge that is lifted with a bounded speed: goals, path constraints and controls by both."""
    rod = on_hinge("rod", "y", "angle", center_of_mass=(0, 0, -0.5), inertia=0.001)
    speed = PathConstraint("speed", lambda point: point["angle_dot"], -10.0, 2.0)
    ends = {"initial": {"angle": 0.0, "angle_dot": 0.0}, "final": {"angle": 1.2, "angle_dot": 0.0}}
    system = mq.ArticulatedSystem((rod,))
    problem = Problem(system, 1.0, (Effort(),), 20, "midpoint", torques=("angle_dot",), constraints=(speed,), **ends)
    found = [replace(problem, transcription=method).solve() for method in ("shooting", "midpoint")]
    assert all(solution.success for solution in found)
    assert found[0].objective == pytest.approx(found[1].objective, rel=0.03)
    assert found[0]["angle_dot"].max() == pytest.approx(2.0, abs=0.05)
    assert found[0].simulate().largest < 5e-4
    with pytest.raises(ValueError, match="steps must be between 1 and 20"):
        MultipleShooting(0)
    rows = replace(problem, intervals=2, transcription=MultipleShooting(2)).posed().discretization.program
    times = [t for name, t in zip(rows.names, rows.fractions, strict=True) if name == speed.title]
    assert times == [0.0, 0.25, 0.5, 0.75]  # of the start of every step


@pytest.mark.parametrize("method", [Gauss(3), Gauss(4), Radau(3)])
def test_linear_controls_are_the_best_piecewise_linear_ones(method):
    """A cart of 2 kg whose force shall be 10 t^2: a quadratic program in the forces at the five nodes."""
    slider = on_slide("cart", "x", "x", mass=2.0)
    ends = {"initial": {"x": 0.0, "x_dot": 0.0}, "final": {"x": 1.0, "x_dot": 0.5}}
    goal = OwnGoal(lambda point: (point["x_dot.torque"] - 10 * point.t**2) ** 2)
    posed = Problem(mq.ArticulatedSystem((slider,)), 1.0, (goal,), 4, method, torques=("x_dot",), **ends)
    found = replace(posed, transcription=replace(method, linear_controls=True)).solve()
    t, w = np.polynomial.legendre.leggauss(4)
    t, w = np.ravel(np.arange(4)[:, None] / 4 + (t + 1) / 8), np.tile(w / 8, 4)
    hats = np.array([np.interp(t, found.time, row) for row in np.eye(5)])
    A = np.stack([hats @ w, hats @ (w * (1 - t))])  # momentum, and twice the way
    system = np.block([[hats * w @ hats.T, A.T], [A, np.zeros((2, 2))]])
    force = np.linalg.solve(system, [*(hats @ (w * 10 * t**2)), 2 * 0.5, 2 * 1.0])[:5]
    np.testing.assert_allclose(found.controls_at(found.time)[:, 0], force, atol=1e-6)
    assert found.objective == pytest.approx(w @ (force @ hats - 10 * t**2) ** 2, rel=1e-8)
    assert posed.solve().objective < found.objective - 1e-3  # polynomials that may jump are closer
