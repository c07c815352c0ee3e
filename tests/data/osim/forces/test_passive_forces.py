"""Passive forces: what OpenSim makes of them, files, and what they do in a simulation."""

from dataclasses import dataclass

import numpy as np
import pytest

from myoquat.analysis.motion import scale_model
from myoquat.analysis.recruitment import joint_loads, static_optimization
from myoquat.data import Motion
from myoquat.dynamics.constraints import ParallelAxes, PointLoop
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.functions import Constant, Linear, Polynomial, SimmSpline
from myoquat.kernels.symbolic.arrays import formula
from myoquat.muscle import CubicExponentialMuscle, Model, Muscle, PathPoint, limit_torques, muscle_torques
from myoquat.muscle.acting import Instant, torques
from myoquat.muscle.forces import (
    Bushing,
    BushingExpressions,
    BushingFunctions,
    CoordinateExpression,
    CoordinateSpring,
    PassiveForce,
    PointExpression,
    PointSpring,
    PrescribedForce,
)
from myoquat.muscle.laws import Blankevoort1991, PathSpring
from tests.bodies import on_slide
from tests.data.osim.two_bodies import OPENSIM, SYSTEM, check_accelerations, comes_back
from tests.data.tables import rejected, reported


@dataclass(frozen=True)
class Unplaced(PassiveForce):
    """A force of a user that says what it does to velocities, not to bodies."""

    def torque(self, system, q, u, t=None):
        return -1.0 * u

    def check(self, system):
        pass


SPRINGS = {
    "coordinate": CoordinateSpring("stay", "a2", 12.0, 0.1, 0.7),
    "points": PointSpring("strap", "B", "ground", (0.02, -0.3, 0.1), (0.3, 0.2, -0.1), 250.0, 0.4),
    "bushing": Bushing("foam", "ground", "B", (0.1, 0.5, 0.0), (0.02, -0.1, 0.03), (0.1, -0.2, 0.3), (0.2, 0.1, -0.1),
                       (10.0, 20.0, 15.0), (300.0, 200.0, 150.0), (0.5, 0.3, 0.2), (4.0, 3.0, 2.0)),
}  # fmt: skip


PLACED = ("ground", "B", (0.1, 0.5, 0.0), (0.02, -0.1, 0.03), (0.1, -0.2, 0.3), (0.2, 0.1, -0.1))
DAMPED = (0.5, 0.3, 0.2), (4.0, 3.0, 2.0)
SPLINE = SimmSpline((-2.0, -0.5, 0.0, 0.7, 2.0), (-30.0, -5.0, 0.0, 4.0, 40.0))
EXPRESSIONS = {
    "coordinate": CoordinateExpression("hold", "a2", "-12*(q-0.1)^3-0.7*qdot*exp(-q^2)+2*sin(3*q)"),
    "points": PointExpression(
        "pull", "B", "ground", (0.02, -0.3, 0.1), (0.3, 0.2, -0.1), "250*max(d-0.4,0)+3*tanh(ddot)"
    ),
    "bushing": BushingExpressions(
        "soft", *PLACED, ("10*theta_x+2*theta_y*delta_z", "20*theta_y^3", "15*sin(theta_z)"),
        ("300*delta_x", "200*delta_y*abs(delta_y)", "150*delta_z-5*theta_x"), *DAMPED,
    ),
    "functions": BushingFunctions(
        "curved", *PLACED, (Linear(10.0, 0.5), SPLINE, Polynomial((0.0, 3.0, 1.0))),
        (Linear(300.0, 0.0), Linear(200.0, 1.0), Polynomial((1.0, 50.0))), *DAMPED,
    ),
}  # fmt: skip
PATH = (PathPoint("ground", (0.1, 1.0, 0.0)), PathPoint("B", (0.03, -0.2, 0.0)))
LIGAMENT = Muscle("band", PATH, Blankevoort1991(900.0, 0.55, 0.05, 4.0))
CORD = Muscle("cord", (*PATH[:1], PathPoint("B", (-0.1, -0.3, 0.1))), PathSpring(300.0, 0.3, dissipation=3.0))
PUSHED = (Linear(20.0, 1.0), SPLINE, Constant(2.0)), (Constant(0.1), Linear(0.5, 0.0), Constant(0.0))
SHOVED = (Linear(5.0, 0.0),) * 3, (Constant(0.2), Linear(0.3, 0.1), Constant(0.1))
PUSHES = (
    PrescribedForce("push", "B", *PUSHED, (Constant(0.5), Linear(-1.0, 0.2), Polynomial((0.0, 1.0, 2.0)))),
    PrescribedForce("shove", "A", *SHOVED, in_world=False, point_in_world=True),
)
MODEL = Model(SYSTEM, (LIGAMENT, CORD), forces=(*SPRINGS.values(), *EXPRESSIONS.values(), *PUSHES), name="soft")
AT_TIMES = OPENSIM.replace(
    "for q, u in zip(*arguments[1]):", "for k, (q, u) in enumerate(zip(*arguments[1])):\n    state.setTime(0.01 * k)"
)


@pytest.mark.peers
def test_opensim_moves_alike(tmp_path, rng, in_opensim):
    """All types in one model, at 200 states and as many times, the ligament slack, in its toe and beyond, the cord
    so fast that it pushes."""
    model = comes_back(MODEL, tmp_path)
    q, u = rng.uniform(-0.6, 0.6, (200, 5)), rng.uniform(-2, 2, (200, 5))
    tau = limit_torques(model, q, u, 0.01 * np.arange(200)) + muscle_torques(model, q, u, np.zeros(2))
    check_accelerations(in_opensim, tmp_path, model, q, u, tau, AT_TIMES)


def test_a_bushing_between_bodies_that_only_slide_has_constant_angles():
    """Numbers without a batch beside positions with one."""
    body = on_slide("cart")
    foam = Bushing("foam", "ground", "cart", translational_stiffness=(50.0, 1.0, 1.0))
    model = Model(ArticulatedSystem((body,)), forces=(foam,))
    q = np.linspace(-0.2, 0.2, 5)[:, None]
    np.testing.assert_allclose(torques(model, Instant(q, 0 * q)), -50.0 * q, rtol=1e-14)


@pytest.mark.parametrize("case", EXPRESSIONS)
def test_on_every_type_of_number(scalar, rng, case):
    x, rate = rng.uniform(0.1, 0.6, (2, 6)), rng.uniform(-1, 1, (2, 6))
    force = EXPRESSIONS[case]
    if case in ("coordinate", "points"):
        x, rate = x[:, :1], rate[:, :1]
    found = scalar(formula(x=x.shape[1:], rate=x.shape[1:])(lambda x, rate: force.force(x, rate)), x, rate)
    np.testing.assert_allclose(found, force.force(x, rate), rtol=1e-13)


def test_the_ligament_on_every_type_of_number(scalar):
    """Its toe k e^2 / (2 e_t), its line k (e - e_t / 2), no push, no damping while it shortens."""
    law = LIGAMENT.law
    strain = np.array([[-0.1], [0.02], [0.2], [0.02], [0.2]])
    speed = np.array([[1.0], [-1.0], [-1.0], [1.1], [1.1]])
    pull = formula(l=(1,), v=(1,))(lambda l, v: law.force(l, v, np.zeros(())))
    force = scalar(pull, 0.55 * (1 + strain), speed)
    wanted = np.array([0, 900 * 0.0004 / 0.1, 900 * 0.175, 3.6 + 8, 157.5 + 8])
    np.testing.assert_allclose(force[:, 0], wanted, rtol=1e-12, atol=1e-12)


test_an_expression_in_a_file_is_refused_with_its_line = rejected(
    MODEL, "soft.osim", ("sin(theta_z)", "sin(theta)", "force 'soft': .* unknown name 'theta'; known: theta_x")
)


def test_a_force_over_time_asks_for_the_time():
    with pytest.raises(ValueError, match="force 'push' depends on the time"):
        limit_torques(MODEL, np.zeros(5), np.zeros(5))


test_a_force_of_unknown_functions_is_left_out = reported(
    Model(SYSTEM, forces=PUSHES), "pushed.osim", ("SimmSpline", "Wave", r"1 PrescribedForce \(force\), line \d+"),
    holds=lambda model: model.forces == PUSHES[1:],
)  # fmt: skip


def test_static_optimization_leaves_them_their_part(rng):
    path = (PathPoint("ground", (0.1, 0.1, 0.0)), PathPoint("B", (0.03, -0.2, 0.0)))
    plain = Model(SYSTEM, (Muscle("m", path, CubicExponentialMuscle(500.0, 0.5)),))
    sprung = Model(SYSTEM, plain.muscles, forces=(SPRINGS["coordinate"],))
    q, u, torque = rng.uniform(-0.3, 0.3, 5), rng.uniform(-1, 1, 5), rng.normal(size=5)
    own = limit_torques(sprung, q, u)
    assert own[1] == pytest.approx(-12.0 * (q[1] - 0.1) - 0.7 * u[1])
    found = static_optimization(sprung, q, u, torque + own).activation
    np.testing.assert_allclose(found, static_optimization(plain, q, u, torque).activation, atol=1e-12)


def test_what_cannot_be_scaled_or_loaded_yet_raises_a_named_error():
    pull = PointExpression("pull", "A", "ground", (0.0, 0.1, 0.0), expression="-20*d")
    with pytest.raises(ModelError, match=r"force 'pull': what scaling makes of its lengths"):
        scale_model(Model(SYSTEM, forces=(pull,)), factors={"A": 1.1})
    level = ParallelAxes("A", "B", name="level")
    with pytest.raises(ModelError, match=r"parallel axes 'level': what scaling makes of its lengths"):
        scale_model(Model(SYSTEM, constraints=(level,)), factors={"A": 1.1})
    pinned = Model(SYSTEM, constraints=(PointLoop("A", "ground", (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)),))
    bigger = scale_model(pinned, factors={"A": (1.1, 1.0, 2.0)}).constraints[0]
    assert (bigger.first_point, bigger.second_point) == (pytest.approx((0.11, 0.2, 0.6)), (0.3, 0.2, 0.1))
    motion = Motion(SYSTEM, np.zeros(1), np.zeros((1, 5)), np.zeros((1, 5)), np.zeros((1, 5)))
    with pytest.raises(ModelError, match="it does not say on which bodies it acts"):
        joint_loads(Model(SYSTEM, forces=(Unplaced("pull"),)), motion)
