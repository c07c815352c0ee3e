"""Each type of constraint in a moving simulation, against an independent solution."""

import warnings

import casadi
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from myoquat import kernels
from myoquat.analysis.studies import Study
from myoquat.dynamics import simulate
from myoquat.dynamics.constraints import (
    ConstraintArrays,
    Constraints,
    CoordinateCoupler,
    Distance,
    Locked,
    ParallelAxes,
    PointLoop,
    PolynomialCoupler,
    PositionFormula,
    Prescribed,
    Rolling,
    VelocityFormula,
    Weld,
    assemble,
    equations,
)
from myoquat.dynamics.udwadia_kalaba import working
from myoquat.joints import ArticulatedSystem, ModelError, quaternion_from_euler, rotation_matrix
from myoquat.joints.errors import ConstraintWarning
from myoquat.joints.functions import Linear, Polynomial
from myoquat.joints.multibody.body import Body
from myoquat.joints.types import FixedJoint, FloatingJoint, PrismaticJoint, RevoluteJoint, SphericalJoint
from myoquat.joints.vectors import joined, matvec, vecmat
from myoquat.kernels import Outcome
from myoquat.kernels.tracing.trace import trace
from myoquat.muscle import Model
from tests.bodies import afloat, on_hinge, on_slide
from tests.differences import differences

INERTIA = (0.2, 0.3, 0.12, 0.01, 0.0, 0.02)
COM = (0.1, 0.0, -0.5)


def body(name, parent, joint, **changes):
    return Body(name, parent, joint, **{"mass": 2.0, "center_of_mass": COM, "inertia": INERTIA} | changes)


def free(count=1):
    return ArticulatedSystem(tuple(body(f"b{i}", "ground", FloatingJoint()) for i in range(count)))


START = np.array([0.8, 0.6, 0.0, 0.0])
SPIN = np.array([1.0, -0.5, 0.7])


def hanging():
    """A ball pendulum, its state in minimal coordinates."""
    return ArticulatedSystem((body("b0", "ground", SphericalJoint()),))


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({"step": 1e-3}, 1e-9),
        ({"step": 1e-3, "method": "lie_rk4"}, 1e-9),
        ({"rtol": 1e-10}, 1e-8),
        ({"step": 1e-3, "stabilization": "baumgarte"}, 1e-6),
        ({"step": 1e-3, "method": "semi_implicit_euler"}, 2e-2),
    ],
)
def test_a_free_body_held_at_a_point_is_a_ball_pendulum(options, bound):
    reference = simulate(hanging(), START, SPIN, 1.0, rtol=1e-12, output_step=0.25)
    q0, u0 = np.r_[0.0, 0.0, 0.0, START], np.r_[0.0, 0.0, 0.0, SPIN]
    way = simulate(free(), q0, u0, 1.0, constraints=[PointLoop("b0", "ground")], output_step=0.25, **options)
    np.testing.assert_allclose(way.q[:, 3:], reference.q, atol=bound)
    np.testing.assert_allclose(way.u[:, 3:], reference.u, atol=10 * bound)
    assert np.abs(way.constraint_drift).max() < (1e-14 if options.get("stabilization") is None else 1e-6)


@pytest.mark.parametrize("axes", ["xyz", "zx"])
def test_rows_of_a_point_loop_are_the_derivative_of_its_residual(axes, rng):
    """By differences along the velocities."""
    joints = (FloatingJoint(velocity_frame="parent"), SphericalJoint(), RevoluteJoint((0.0, 0.6, 0.8)))
    names = ("first", "second", "third")
    system = ArticulatedSystem(tuple(map(body, names, ("ground", "first", "first"), joints)))
    loop = PointLoop("second", "third", (0.1, -0.2, 0.3), (0.4, 0.1, -0.2), axes=axes)
    q, time = system.random(1, rng)[0], np.zeros(())
    A = loop.position_jacobian(system, q, time)
    slopes = differences(lambda v: loop.position(system, system.integrate(q, v), time), np.zeros(system.nu))
    np.testing.assert_allclose(A, slopes, atol=1e-9)


def test_parallel_axes_and_a_point_make_a_hinge():
    """About y, which is kept parallel to itself: a plane pendulum."""
    hinge = ArticulatedSystem((body("b0", "ground", RevoluteJoint((0.0, 1.0, 0.0))),))
    reference = simulate(hinge, [0.4], [1.5], 1.0, rtol=1e-12, output_step=0.25)
    held = [PointLoop("b0", "ground"), ParallelAxes("ground", "b0", (0.0, 1.0, 0.0), (0.0, 1.0, 0.0))]
    Q = np.array([np.cos(0.2), 0.0, np.sin(0.2), 0.0])
    way = simulate(free(), np.r_[0, 0, 0, Q], np.r_[0, 0, 0, 0, 1.5, 0], 1.0, constraints=held, output_step=0.25)
    np.testing.assert_allclose(2 * np.arctan2(way.q[:, 5], way.q[:, 3]), reference.q[:, 0], atol=1e-9)


def test_a_weld_makes_one_body_of_two():
    """Two free bodies welded at an angle move like one with both masses."""
    angles = (0.3, -0.2, 0.5)
    pair = free(2)
    held = [Weld("b0", "b1", (0.1, 0.2, 0.3), (0.0, 0.0, -0.1), angles)]
    start = np.r_[0, 0, 0, START, 0.05, 0.1, 0.2, 1, 0, 0, 0]
    way = simulate(pair, start, np.r_[0.3, 0, 0, SPIN, 0, 0, 0, 0, 0, 0], 0.5, rtol=1e-10, constraints=held,
                   output_step=0.1, project_start=True)  # fmt: skip
    from_first = ArticulatedSystem((pair.bodies[0], *_welded(angles)))
    reference = simulate(from_first, way.q[0, :7], way.u[0, :6], 0.5, rtol=1e-11, output_step=0.1)
    np.testing.assert_allclose(way.q[:, :7], reference.q, atol=1e-8)
    assert np.abs(way.constraint_drift).max() < 1e-13


def _welded(angles):
    """b1 fixed to b0 so that its point (0, 0, -.1) meets b0's (.1, .2, .3)."""
    from_angles = rotation_matrix(quaternion_from_euler(np.array(angles), "XYZ"))
    position = np.array([0.1, 0.2, 0.3]) - from_angles @ np.array([0.0, 0.0, -0.1])
    Q = quaternion_from_euler(np.array(angles), "XYZ")
    yield body("b1", "b0", FixedJoint(), position=tuple(position.tolist()), orientation=tuple(Q.tolist()))


def test_a_rod_between_two_slides():
    """An ellipse trammel: x = d sin(a), y = d cos(a) with masses on both ends."""
    d, g = 0.8, 9.81
    system = ArticulatedSystem(
        (
            on_slide("x"),
            on_slide("z", "z", mass=2.0),
        )
    )

    def motion(t, s):  # L = (m1 cos^2 + m2 sin^2) d^2 adot^2 / 2 - m2 g d cos(a)
        a, w = s
        I = d * d * (np.cos(a) ** 2 + 2 * np.sin(a) ** 2)
        return [w, (2 * g * d * np.sin(a) - d * d * np.sin(a) * np.cos(a) * w * w) / I]

    a0, w0 = 0.5, 1.0
    times = np.linspace(0, 1, 5)
    exact = solve_ivp(motion, (0, 1), [a0, w0], rtol=1e-11, atol=1e-11, t_eval=times).y
    q0, u0 = d * np.array([np.sin(a0), np.cos(a0)]), d * w0 * np.array([np.cos(a0), -np.sin(a0)])
    way = simulate(system, q0, u0, 1.0, constraints=[Distance("x", "z", distance=d)], output_step=0.25)
    np.testing.assert_allclose(way.q, d * np.stack([np.sin(exact[0]), np.cos(exact[0])], axis=-1), atol=1e-9)


def test_gears_and_a_nonlinear_coupler():
    """q2 = f(q1): the motion is that of one coordinate with inertia I1 + I2 f'^2 [Lagrange]."""
    system = ArticulatedSystem(
        (
            on_hinge("a", "z", "a", inertia=(1, 1, 0.5), stiffness=2.0),
            on_hinge("b", "z", "b", inertia=(1, 1, 0.2)),
        ),
        gravity=(0.0, 0.0, 0.0),
    )
    for function in (Linear(3.0, 0.1), Polynomial((0.1, 1.0, 0.5))):

        def motion(t, s, f=function):
            df, ddf = f.slope(s[0]), f.curvature(s[0])
            return [s[1], -(2.0 * s[0] + 0.2 * df * ddf * s[1] ** 2) / (0.5 + 0.2 * df * df)]

        times = np.linspace(0, 2, 5)
        exact = solve_ivp(motion, (0, 2), [0.6, 0.0], rtol=1e-11, atol=1e-11, t_eval=times).y
        held = [CoordinateCoupler("b", "a", function)]
        way = simulate(system, [0.6, float(function.value(0.6))], [0, 0], 2.0, constraints=held, output_step=0.5)
        np.testing.assert_allclose(way.q[:, 0], exact[0], atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [{"rtol": 1e-10}, {"step": 1e-3, "stabilization": "baumgarte"}, {"step": 1e-4, "method": "semi_implicit_euler"}],
)
def test_a_pendulum_on_a_shaken_cart(options):
    """x = A sin(w t): phi'' = -(m l (g sin phi + x'' cos phi)) / J about the pivot."""
    A, w, J, ml = 0.2, 3.0, 0.3 + 2.0 * 0.25, 1.0
    system = ArticulatedSystem(
        (
            on_slide("cart", "x", "x"),
            body("bob", "cart", RevoluteJoint((0.0, -1.0, 0.0)), center_of_mass=(0.0, 0.0, -0.5)),
        )
    )

    def motion(t, s):
        return [s[1], -ml * (9.81 * np.sin(s[0]) - A * w * w * np.sin(w * t) * np.cos(s[0])) / J]

    exact = solve_ivp(motion, (0, 1), [0.3, 0.0], rtol=1e-11, atol=1e-11, t_eval=np.linspace(0, 1, 5)).y
    held = [Prescribed("x", lambda t: A * np.sin(w * t))]
    way = simulate(system, [0.0, 0.3], [A * w, 0.0], 1.0, constraints=held, output_step=0.25, **options)
    np.testing.assert_allclose(way.q[:, 1], exact[0], atol=1e-3 if "method" in options else 1e-7)
    np.testing.assert_allclose(way.q[:, 0], A * np.sin(w * way.time), atol=1e-7)


@pytest.mark.parametrize("method", ["rk4", "lie_rk4", "semi_implicit_euler"])
def test_projection_of_fixed_steps_follows_the_time(method):
    held = [Prescribed("b0.x", lambda t: np.sin(t))]
    way = simulate(free(), u0=np.r_[1, 0, 0, 0, 0, 0], duration=0.2, step=1e-2, method=method, constraints=held)
    np.testing.assert_allclose(way.q[:, 0], np.sin(way.time), atol=1e-12)


def homogeneous_ball(m, r):
    I = 0.4 * m * r * r
    return ArticulatedSystem((afloat("ball", mass=m, inertia=I),))


def test_a_ball_rolls_down_an_incline():
    """A homogeneous ball: acceleration 5/7 g sin(slope), and its contact point at rest."""
    slope, r = 0.3, 0.2
    n = (np.sin(slope), 0.0, np.cos(slope))
    ball = homogeneous_ball(3.0, r)
    q0, u0 = np.r_[r * np.array(n), 1, 0, 0, 0], np.zeros(6)
    way = simulate(ball, q0, u0, 1.0, constraints=[Rolling("ball", r, normal=n)], rtol=1e-9, output_step=0.25)
    along = way.q[:, :3] @ np.array([np.cos(slope), 0.0, -np.sin(slope)])
    np.testing.assert_allclose(along, 5 / 14 * 9.81 * np.sin(slope) * way.time**2, atol=1e-8)
    np.testing.assert_allclose(way.q[:, :3] @ np.array(n), r, atol=1e-13)


def test_a_rolling_ball_on_a_turntable_circles():
    """On a plane that turns at W the centre circles at 2/7 W [W. Weckesser, Am. J. Phys. 65, 1997]."""
    r, W = 0.1, 2.0
    ball = homogeneous_ball(1.0, r)

    def slip(system, q, u, t):
        R = rotation_matrix(q[..., 3:])
        v, omega = (R @ u[..., :3, None])[..., 0], (R @ u[..., 3:, None])[..., 0]
        x, y = q[..., 0], q[..., 1]
        rim = np.stack(
            [v[..., 0] - r * omega[..., 1] + W * y, v[..., 1] + r * omega[..., 0] - W * x, v[..., 2]], axis=-1
        )
        return rim

    start, velocity = np.array([0.3, 0.0]), np.array([0.0, 0.4])
    # v_x = r w_y - W y, v_y = -r w_x + W x
    omega = np.array([(W * start[0] - velocity[1]) / r, (velocity[0] + W * start[1]) / r, 0.0])
    way = simulate(ball, np.r_[start, r, 1, 0, 0, 0], np.r_[velocity, 0, omega], 2.0,
                   constraints=[VelocityFormula(slip)], rtol=1e-10, output_step=0.25)  # fmt: skip
    w = 2 / 7 * W
    centre = start + np.array([-velocity[1], velocity[0]]) / w
    turn = np.stack([np.cos(w * way.time), np.sin(w * way.time)], axis=-1)
    d = start - centre
    exact = centre + np.stack([d[0] * turn[:, 0] - d[1] * turn[:, 1], d[0] * turn[:, 1] + d[1] * turn[:, 0]], axis=-1)
    np.testing.assert_allclose(way.q[:, :2], exact, atol=1e-7)


SLOPES = (1.0, 1.0 + 1e-5)  # of couplers: one, and one that is nearly the same


def pendulums():
    part = {"mass": 1.0, "center_of_mass": (0.3, 0, -0.3), "inertia": (0.1, 0.1, 0.1, 0, 0, 0)}
    return ArticulatedSystem(tuple(on_hinge(name, "y", **part) for name in "ab"))


def scaled_difference(system, q, t):
    return 1e6 * (q[..., :1] - q[..., 1:])


@pytest.mark.parametrize("order", [(0, 1), (0, 1, 2), (2, 1, 0), (1, 0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("solver", [{"step": 5e-3}, {"rtol": 1e-6}])
def test_couplers_hold_in_every_order_scale_and_number(order, solver):
    """a = b and a = (1 + 1e-5) b leave no motion, whatever other rows repeat one of them."""
    rows = [CoordinateCoupler("a.angle", "b.angle", Linear(slope)) for slope in SLOPES]
    rows.append(PositionFormula(scaled_difference))
    way = simulate(pendulums(), [0.0, 0.0], [0.0, 0.0], 0.1, constraints=[rows[k] for k in order], **solver)
    assert np.abs(way.q).max() < 1e-14


def geared(massless):
    """A tree of hinges and sliders q0 ... q7, and a hinge that carries no mass."""
    joints = RevoluteJoint((0, 1, 0)), PrismaticJoint((1, 0, 0)), RevoluteJoint((1, 0, 0))
    parents = "ground", "b0", "b1", "b1", "b3", "b4", "b0", "b6"
    bodies = [body(f"b{i}", parent, joints[i % 3], coordinate_names=(f"q{i}",)) for i, parent in enumerate(parents)]
    pin = [on_hinge("pin", "z", "pin", "b5", mass=0.0)]
    return ArticulatedSystem((*bodies, *pin[: int(massless)]))


DOUBLE = Linear(2.0)
PRODUCT = PolynomialCoupler("q7", ("q2", "q5"), (0.3, 1.0, -0.5), ((0, 0), (1, 1), (2, 0)))
DRIVEN = CoordinateCoupler("q4", "q1", DOUBLE), PRODUCT


class Halved(CoordinateCoupler):
    """The same with another row."""

    def position(self, system, q, t):
        return 0.5 * super().position(system, q, t)


PIN = CoordinateCoupler("pin", "q5", DOUBLE)
ROD = Distance("b3", "ground", (0.1, 0, 0), (0, 0.2, 0.3), distance=1.0)


@pytest.mark.parametrize("library", ["kernel", "CasADi"])
@pytest.mark.parametrize(
    "added",
    [
        (Halved("q6", "q4", Linear(-1.5)), CoordinateCoupler("q0", "q7")),  # chains
        (ROD,),
        (ROD, DRIVEN[0]),  # twice
        (CoordinateCoupler("q1", "q4", Linear(0.5)),),  # each drives the other
        (CoordinateCoupler("q1", "q4", Linear(0.7)),),  # and both stand still
        (Locked("q1"), Locked("q5"), Locked("q4")),  # a driver, and what it drives
        tuple(Locked(f"q{i}") for i in range(7)),  # nothing moves
        (PIN,),
        (PIN, ROD, Locked("pin")),
    ],
)
def test_eliminated_velocities_move_as_all_rows_want(added, library, rng, monkeypatch):
    """Beside the least motions of Udwadia and Kalaba, at states near the constraints."""
    monkeypatch.setattr(equations, "MIN_ELIMINATED_ROWS", 1)
    constraints = (*DRIVEN, *added)
    system = geared(PIN in added)
    held, nu, at = Constraints(system, constraints, redundant=True), system.nu, np.zeros(())

    def formula(q, u, tau):
        udot, multipliers = held.acceleration(q, u, at, tau)
        return joined([udot, vecmat(multipliers, held.jacobian(q, at)), *held.nearest(q, u, at, 1)])

    q = assemble(system, 0.3 * rng.normal(size=(4, nu)), constraints)
    u, tau = rng.normal(size=(2, 4, nu))
    if library == "kernel":
        found = kernels.compile(formula, {"q": nu, "u": nu, "tau": nu}, ["x"])(q, u, tau)
    else:
        given = [kernels.symbols_casadi(name, (nu,)) for name in ("q", "u", "tau")]
        program = casadi.Function(
            "f", [*map(kernels.as_casadi_vector, given)], [kernels.as_casadi_vector(formula(*given))]
        )
        found = np.array([program(*row) for row in zip(q, u, tau, strict=True)]).reshape(4, -1)
    udot, force, still, held_u = np.split(found, 4, axis=-1)
    arrays = ConstraintArrays(held)
    expected, A, M = arrays.motion(q, u, tau, 0.0), arrays.jacobian(q, 0.0), arrays.metric(q, 0.0)
    scale = np.abs(tau).max()
    np.testing.assert_allclose(udot, expected.acceleration, atol=1e-9 * np.abs(expected.acceleration).max())
    np.testing.assert_allclose(force, expected.force, atol=1e-9 * np.abs(expected.force).max() + 1e-9 * scale)
    np.testing.assert_allclose(still, q, atol=1e-9)
    nearest = working(M, matvec(M, u), A, 0.0 * A[..., 0])
    np.testing.assert_allclose(held_u, nearest.acceleration, atol=1e-9)


def test_code_of_many_couplers_is_short():
    """Of 40 rows in a chain of 60 joints; pivots over all of them are millions of operations."""
    parts = [body(f"b{i}", f"b{i - 1}" if i else "ground", PrismaticJoint((1, 0, 0))) for i in range(60)]
    system = ArticulatedSystem(tuple(parts))
    rows = [CoordinateCoupler(f"b{i + 1 + i // 2}.position", f"b{i // 2 * 3}.position") for i in range(40)]
    held = Constraints(system, rows, redundant=True)

    def formula(q, u, tau):
        return held.acceleration(q, u, np.zeros(()), tau)[0]

    whole = trace(formula, {"q": 60, "u": 60, "tau": 60})
    assert whole.tape.operations + sum(call.formula.tape.operations for call in whole.inner) < 20_000


def test_constraints_that_contradict_each_other_warn():
    """a = b and a = b + b^2 agree at zero, but ask for accelerations that differ by 2 b'^2: each misses half."""
    with pytest.warns(ConstraintWarning, match=r"contradict each other at 0 s: .*(line|curve).* by 0\.25") as said:
        simulate(pendulums(), [0.0, 0.0], [0.5, 0.5], 0.02, constraints=contradicting(), step=5e-3)
    assert len(said) == 1
    model = Model(pendulums(), constraints=tuple(contradicting()), start_u=(0.5, 0.5))
    study = Study(model, {"bodies.a.mass": [1.0, 2.0]}, design="grid", duration=0.02, step=5e-3)
    with pytest.warns(ConstraintWarning, match="contradict each other at 0 s"):
        study.run(progress=False)


@pytest.mark.parametrize("method", ["dop853", "rk45", "radau"])
def test_methods_with_error_control_stop_where_constraints_contradict_each_other(method):
    """Without the stop, steps over 0.02 s were as short as 1e-11 s for an error of 1e-6."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        way = simulate(pendulums(), [0.0, 0.0], [0.5, 0.5], 0.02, constraints=contradicting(), rtol=1e-6, method=method)
    assert (way.code, way.stopped) == (Outcome.CONTRADICTION, 0.0)
    assert [w.category.__name__ for w in said] == ["ConstraintWarning", "SimulationWarning"]


def contradicting():
    """a = b and a = b + b^2."""
    functions = (("line", Linear(1.0)), ("curve", Polynomial((0.0, 1.0, 1.0))))
    return [CoordinateCoupler("a.angle", "b.angle", f, name=n) for n, f in functions]


def test_starts_off_the_constraints_are_refused_or_moved():
    held = [PointLoop("b0", "ground")]
    with pytest.raises(ValueError, match=r"position row 0 is off by 0\.1, .*project_start=True"):
        simulate(free(), np.r_[0.1, 0, 0, START], constraints=held)
    with pytest.raises(ValueError, match=r"velocity row \d is off by"):
        simulate(free(), np.r_[0, 0, 0, START], np.r_[0, 0.2, 0, SPIN], constraints=held)
    way = simulate(free(), np.r_[0.1, 0, 0, START], np.r_[0, 0.2, 0, SPIN], 0.01, constraints=held, project_start=True)
    assert np.abs(way.constraint_drift).max() < 1e-13


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constraints(free(), [PointLoop("b0", "b9")]), "body 'b9' does not exist"),
        (lambda: Constraints(free(), [CoordinateCoupler("x", "b0.x")]), "coordinate 'x' does not exist"),
        (lambda: Distance("b0", "ground", distance=0.0), "a distance must be positive"),
        (
            lambda: simulate(free(), constraints=[PointLoop("b0", "ground")], method="variational"),
            "takes no con",
        ),
    ],
)
def test_constraints_that_cannot_be(make, message):
    with pytest.raises((ModelError, ValueError), match=message):
        make()
