"""Expressions, and forces that are expressions or functions: what OpenSim makes of them, files, bad input."""

import json
import math
import re

import numpy as np
import pytest

from myoquat.analysis.motion import inverse_dynamics_of_motion
from myoquat.data import Motion, load_model
from myoquat.data.reports import UnsupportedWarning
from myoquat.dynamics import forward_dynamics, simulate
from myoquat.joints import ArticulatedSystem, Body, ModelError
from myoquat.joints.functions import Constant, Linear, Polynomial, SimmSpline
from myoquat.joints.types import RevoluteJoint
from myoquat.kernels.symbolic.arrays import formula
from myoquat.muscle import Model, Muscle, PathPoint, limit_torques, muscle_torques
from myoquat.muscle.expressions import FUNCTIONS, evaluate
from myoquat.muscle.forces import (
    BushingExpressions,
    BushingFunctions,
    CoordinateExpression,
    PointExpression,
    PrescribedForce,
)
from myoquat.muscle.laws import Blankevoort1991
from tests.data.osim.two_bodies import OPENSIM, SYSTEM

PLACED = ("ground", "B", (0.1, 0.5, 0.0), (0.02, -0.1, 0.03), (0.1, -0.2, 0.3), (0.2, 0.1, -0.1))
DAMPED = (0.5, 0.3, 0.2), (4.0, 3.0, 2.0)
SPLINE = SimmSpline((-2.0, -0.5, 0.0, 0.7, 2.0), (-30.0, -5.0, 0.0, 4.0, 40.0))
FORCES = {
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
MODEL = Model(SYSTEM, (LIGAMENT,), forces=tuple(FORCES.values()), name="soft")


@pytest.mark.peers
def test_opensim_moves_alike(tmp_path, rng, in_opensim):
    """All types in one model, the ligament slack, in its toe and beyond: 1e-9 of the greatest acceleration."""
    MODEL.save(tmp_path / "soft.osim", strict=True)
    model = load_model(tmp_path / "soft.osim", strict=True)
    q, u = rng.uniform(-0.6, 0.6, (200, 5)), rng.uniform(-2, 2, (200, 5))
    answer = np.array(in_opensim(OPENSIM, str(tmp_path / "soft.osim"), json.dumps([q.tolist(), u.tolist()])))
    tau = limit_torques(model, q, u) + muscle_torques(model, q, u, np.zeros(1))
    udot = forward_dynamics(model, q, u, tau)
    np.testing.assert_allclose(udot, answer, atol=1e-9 * np.abs(answer).max())


@pytest.mark.parametrize("case", FORCES)
def test_on_every_type_of_number(scalar, rng, case):
    x, rate = rng.uniform(0.1, 0.6, (2, 6)), rng.uniform(-1, 1, (2, 6))
    force = FORCES[case]
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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1+2*3^2", 19.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("2^3^2", 512.0),
        ("2^-x*8", 2.0),
        ("-x*-x", 4.0),
        ("1-2-3", -4.0),
        ("8/4/2", 1.0),
        ("(1+x)*3", 9.0),
        (" 1.5e1 + .5E-1 ", 15.05),
        ("min(x,y)+max(x,y)", -1.0),
        ("step(x)+step(y)+delta(0)+delta(x)", 2.0),
        ("square(y)+cube(x)+recip(x)+abs(y)", 9 + 8 + 0.5 + 3),
        ("sec(x)*cos(x)+csc(x)*sin(x)+cot(x)*tan(x)", 3.0),
        ("asin(sin(1))+acos(cos(1))+atan(tan(1))", 3.0),
        ("log(exp(x))+sqrt(x*x)", 4.0),
        ("cosh(x)^2-sinh(x)^2-tanh(0)", 1.0),
    ],
)
def test_the_grammar_is_leptons(text, value):
    assert evaluate(text, {"x": np.array(2.0), "y": np.array(-3.0)}) == pytest.approx(value, rel=1e-12)


def test_random_expressions_are_what_python_makes_of_them(rng):
    """Sums, products, powers and signs, as Python reads them with ** for ^."""
    for _ in range(200):
        parts = [str(rng.choice(["x", "-x", "(x", f"{rng.uniform(0.1, 3):.3f}"])) for _ in range(6)]
        text = "".join(part + str(rng.choice(list("+-*/"))) for part in parts) + "1.5^x"
        text += ")" * text.count("(")
        tree = compile(re.sub(r"\^", "**", text), "test", "eval")
        assert evaluate(text, {"x": np.array(1.7)}) == pytest.approx(eval(tree, {"x": 1.7}), rel=1e-12)


@pytest.mark.parametrize("suffix", ["toml", "osim"])
def test_forces_come_back_equal(tmp_path, suffix):
    MODEL.save(tmp_path / f"soft.{suffix}", strict=True)
    back = load_model(tmp_path / f"soft.{suffix}", strict=True)
    assert back.muscles == MODEL.muscles
    assert back.forces[:2] == MODEL.forces[:2]
    for ours, theirs in zip(MODEL.forces[2:], back.forces[2:], strict=True):
        for key, value in vars(ours).items():
            if key.endswith("_angles"):
                np.testing.assert_allclose(getattr(theirs, key), value, atol=1e-15)
            else:
                assert getattr(theirs, key) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2*speed", "unknown name 'speed'; known: q, qdot; functions: sqrt"),
        ("erf(q)", "the function 'erf' is unknown"),
        ("__import__(q)", "the function '__import__' is unknown"),
        ("q.real", "'.' is not expected there"),
        ("q[0]", r"'\[' is not expected there"),
        ("2*", "invalid syntax"),
        ("(q", "was never closed"),
        ("q)", "unmatched"),
        ("min(q)", "min takes 2 arguments, not 1"),
        ("sin(q,q)", "sin takes 1 argument, not 2"),
        ("q;q=2", "';' is not expected there"),
        ("", "invalid syntax"),
        ("+q", "signs that are not expected there"),
        ("(" * 5000 + "q" + ")" * 5000, "more than 4000 characters"),
        ("q**2", "invalid syntax"),
        ("1_5*q", "invalid syntax"),
        ("min(*q, q)", "signs that are not expected there"),
        ("q if q", "'if' is not expected there"),
        ("(" * 500 + "q" + ")" * 500, "nested more than 60 deep"),
        ("-" * 500 + "q", "nested more than 60 deep"),
        ("2" + "^2" * 500, "nested more than 60 deep"),
    ],
)
def test_what_is_no_expression_raises_a_named_error(text, message):
    with pytest.raises(ModelError, match=message) as caught:
        Model(SYSTEM, forces=(CoordinateExpression("f", "a1", text),))
    assert "force 'f'" in str(caught.value)


def test_an_expression_in_a_file_is_refused_with_its_line(tmp_path):
    path = tmp_path / "soft.osim"
    MODEL.save(path)
    path.write_text(path.read_text().replace("sin(theta_z)", "sin(theta)"))
    line = path.read_text()[: path.read_text().index('name="soft"', 200)].count("\n") + 1
    with pytest.raises(ModelError, match=rf"soft.osim:{line}: force 'soft': .* unknown name 'theta'; known: theta_x"):
        load_model(path)


def test_every_function_is_known():
    """All of Lepton's but erf and erfc."""
    assert len(FUNCTIONS) == 23
    assert all(math.isfinite(float(evaluate(f"{name}({'0.5' + ',0.4' * (n - 1)})", {"x": np.array(0.0)})))
               for name, (n, _) in FUNCTIONS.items())  # fmt: skip


# ---- forces over time --------------------------------------------------------------------------------------

PUSHED = (Linear(20.0, 1.0), SPLINE, Constant(2.0)), (Constant(0.1), Linear(0.5, 0.0), Constant(0.0))
SHOVED = (Linear(5.0, 0.0),) * 3, (Constant(0.2), Linear(0.3, 0.1), Constant(0.1))
PUSHES = (
    PrescribedForce("push", "B", *PUSHED, (Constant(0.5), Linear(-1.0, 0.2), Polynomial((0.0, 1.0, 2.0)))),
    PrescribedForce("shove", "A", *SHOVED, in_world=False, point_in_world=True),
)
AT_TIMES = OPENSIM.replace("for q, u in zip(*json", "for k, (q, u) in enumerate(zip(*json").replace(
    "loads(arguments[1])):", "loads(arguments[1]))):\n    state.setTime(0.01 * k)"
)


@pytest.mark.peers
def test_opensim_pushes_alike(tmp_path, rng, in_opensim):
    """Forces over time at 200 states, each at a time of its own: 1e-9 of the greatest acceleration."""
    Model(SYSTEM, forces=PUSHES, name="pushed").save(tmp_path / "pushed.osim", strict=True)
    model = load_model(tmp_path / "pushed.osim", strict=True)
    assert model.forces == PUSHES
    model.save(tmp_path / "pushed.toml")
    assert load_model(tmp_path / "pushed.toml").forces == PUSHES
    q, u = rng.uniform(-0.6, 0.6, (200, 5)), rng.uniform(-2, 2, (200, 5))
    answer = np.array(in_opensim(AT_TIMES, str(tmp_path / "pushed.osim"), json.dumps([q.tolist(), u.tolist()])))
    udot = forward_dynamics(model, q, u, limit_torques(model, q, u, 0.01 * np.arange(200)))
    np.testing.assert_allclose(udot, answer, atol=1e-9 * np.abs(answer).max())


@pytest.mark.parametrize("options", [{"step": 1e-3}, {"rtol": 1e-9}, {"step": 1e-3, "method": "variational"}])
def test_a_force_over_time_moves_as_a_torque_over_time(options):
    """A torque 3 t about the only axis, from time 0 on; found again in what the motion needs; refused without time."""
    wheel = Body("wheel", "ground", RevoluteJoint((0.0, 0.0, 1.0)), mass=1.0, inertia=(1.0, 1.0, 2.0, 0.0, 0.0, 0.0))
    torques = (Constant(0.0), Constant(0.0), Linear(3.0, 0.0))
    model = Model(ArticulatedSystem((wheel,)), forces=(PrescribedForce("motor", "wheel", torques=torques),))
    motion = simulate(model, [0.0], [0.0], duration=0.5, **options)
    assert motion.q[-1, 0] == pytest.approx(3 * 0.5**3 / 12, rel=1e-5)
    np.testing.assert_allclose(motion.torques[:, 0], 3 * motion.time, rtol=1e-12)
    moved = Motion(model.system, motion.time, motion.q, motion.u, motion.acceleration)
    np.testing.assert_allclose(inverse_dynamics_of_motion(model, moved).torque, 0, atol=1e-12)
    with pytest.raises(ValueError, match="force 'motor' depends on the time"):
        limit_torques(model, [0.0], [0.0])


def test_a_force_of_unknown_functions_is_left_out(tmp_path):
    path = tmp_path / "pushed.osim"
    Model(SYSTEM, forces=PUSHES, name="pushed").save(path)
    path.write_text(path.read_text().replace("SimmSpline", "Wave"))
    with pytest.warns(UnsupportedWarning, match=r"1 PrescribedForce \(force\), line \d+"):
        model = load_model(path)
    assert model.forces == PUSHES[1:]
