"""Parameters as unknowns: numbers that made a motion are found again from it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

import myoquat as mq
from myoquat.analysis.control import (
    Duration,
    Effort,
    Equations,
    Ipopt,
    OwnEndGoal,
    Problem,
    TrackCoordinates,
    TrackPose,
)
from myoquat.data import Motion
from myoquat.dynamics.constraints import CoordinateCoupler
from myoquat.joints.functions import Linear
from myoquat.muscle.actuators import IntegratingCoordinateActuator
from tests.bodies import at_rest, on_hinge, on_slide

SPRING, DAMPING = 4.0, 0.3
TIME = np.linspace(0.0, 2.0, 101)


def oscillation():
    """x of xddot + 0.3 xdot + 4 x = 0 from (1, 0)."""
    matrix = np.array([[0.0, 1.0], [-SPRING, -DAMPING]])
    return np.array([(expm(t * matrix) @ [1.0, 0.0])[:1] for t in TIME])


def oscillator(**options):
    rates = Equations(("x", "v"), (), lambda point: (point["v"], -point["k"] * point["x"] - point["c"] * point["v"]))
    goal = TrackCoordinates(("x",), TIME, oscillation())
    bounds = {"k": (0.1, 20.0), "c": (0.0, 5.0)}
    return Problem(rates, 2.0, (goal,), 20, "gauss", initial={"x": 1, "v": 0}, parameters=bounds, **options)


def test_constants_of_equations_are_found_from_their_solution():
    solution = oscillator().solve({"k": 10.0}, Ipopt(tolerance=1e-12))
    assert solution.success
    assert solution.parameters["k"] == pytest.approx(SPRING, rel=1e-6)
    assert solution["c"] == pytest.approx(DAMPING, rel=1e-6)
    assert solution.simulate().largest < 1e-6
    again = oscillator().solve(solution)
    assert again.iterations < solution.iterations
    with pytest.raises(ValueError, match="'k' is a parameter; its bounds are given as `parameters`"):
        oscillator(bounds={"k": (0, 1)})


def test_masses_of_a_pendulum_are_found_from_its_motion_and_a_torque():
    """Inertia and mass of a rod on a hinge from its motion under a known torque."""

    def rod(mass):
        return on_hinge("rod", "y", "angle", mass=mass, center_of_mass=(0.0, 0, -0.5), inertia=(0.02, 0.02, 0.002))

    true, wrong = (mq.ArticulatedSystem((rod(mass),)) for mass in (3.0, 1.0))
    way = mq.simulate(true, [0.0], [0.0], 0.5, step=1e-3, output_step=0.02, torque=np.array([4.0]))
    recorded = Motion(wrong, way.time, way.q)
    problem = Problem(
        wrong, 0.5, (TrackPose(recorded),), 10, torques=("angle_dot",), initial={"angle": 0, "angle_dot": 0},
        bounds={"angle_dot.torque": (4.0, 4.0)}, parameters={"bodies.rod.mass": (0.1, 10.0)},
    )  # fmt: skip
    solution = problem.solve(solver=Ipopt(tolerance=1e-12))
    assert solution.parameters["bodies.rod.mass"] == pytest.approx(3.0, rel=1e-5)
    assert solution.model.bodies[0].mass == solution.parameters["bodies.rod.mass"]
    assert solution.simulate().largest < 1e-5


def test_a_parameter_counts_in_goals_by_its_name():
    """The stiffest spring that costs its square: least (k - 3)^2, whatever the motion."""
    rates = Equations(("x",), (), lambda point: (-point["k"] * point["x"],))
    cost = OwnEndGoal(lambda first, last, duration: (first["k"] - 3.0) ** 2, name="stiffness")
    solution = Problem(rates, 1.0, (cost,), 8, initial={"x": 1.0}, parameters={"k": (0.0, 10.0)}).solve()
    assert solution["k"] == pytest.approx(3.0)
    assert solution["x"][-1] == pytest.approx(np.exp(-3.0), rel=1e-3)


def test_parameters_are_checked_before_the_solver_starts():
    held = CoordinateCoupler("b.angle", "a.angle", Linear(2.0))
    coupled = mq.Model(mq.ArticulatedSystem(tuple(on_hinge(name) for name in "ab")), constraints=(held,))
    still = at_rest(coupled, [0.0, 1.0])
    arm, recorded = mq.load_model("two_link"), "cannot vary where the motion is recorded"
    for model, name, bounds, motion, words in (
        (arm, "muscles.m1.max_isometric_forces", (1, 2), None, "max_isometric_force"),
        (arm, "bodies.A.mass", (6.0, 7.0), None, "is 5, outside its bounds 6 to 7"),
        (arm, "bodies.A.mass", (7.0, 6.0), None, "contradict"),
        (coupled, "constraints.0.function.factor", (0.0, 9.0), still, recorded),
        (coupled, "bodies.a.position.x", (0.0, 9.0), still, recorded),
    ):
        with pytest.raises(ValueError, match=words):
            Problem(model, 1.0, (Effort(),), 5, prescribed=motion, parameters={name: bounds})


def test_activation_of_an_actuator_stays_within_bounds_that_are_unknown():
    """A mass of 1 kg moves by 0.1 m in the least time: a constant force of 3 N times the greatest activation. Without
    bounds the activation would start at any value."""
    sled = on_slide("sled", "x", "x")
    servo = IntegratingCoordinateActuator(
        "servo", "x", optimal_force=3.0, lower=-20.0, upper=20.0, least_activation=0.1, greatest_activation=0.3
    )
    model = mq.Model(mq.ArticulatedSystem((sled,)), actuators=(servo,))
    options = {"initial": {"x": 0.0, "x_dot": 0.0}, "final": {"x": 0.1}}
    for greatest, unknown in ((0.3, {}), (0.6, {"actuators.servo.greatest_activation": (0.3, 0.6)})):
        found = Problem(model, (0.05, 2.0), (Duration(),), 10, "trapezoid", parameters=unknown, **options).solve()
        assert found.success
        assert found.time[-1] == pytest.approx(np.sqrt(2 * 0.1 / (3.0 * greatest)), rel=1e-4)


def test_parameters_of_a_guess_count_by_their_names():
    """A solution of other parameters starts the search: those of the same name, the others at their own start."""
    both = oscillator()
    turned = replace(both, parameters=dict(reversed(both.parameters.items())))
    solution = both.solve({"k": 10.0}, Ipopt(tolerance=1e-12))
    posed = turned.posed(solution)
    started = dict(zip(turned.plant.parameter_names, posed.discretization.sites(posed.x).parameters, strict=True))
    assert started == pytest.approx(solution.parameters)
