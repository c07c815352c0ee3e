"""Contact: what OpenSim makes of it, files, exact solutions, energy."""

import math
from dataclasses import replace

import casadi
import numpy as np
import pytest
from scipy.integrate import quad, simpson
from scipy.optimize import brentq

from myoquat.data import Motion, load_forces, load_model
from myoquat.data.motions import load_table
from myoquat.data.reports import UnsupportedWarning
from myoquat.dynamics import external_force, ground_reactions, simulate, wrench_at
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.types import EulerJoint
from myoquat.muscle import Model, limit_torques
from myoquat.muscle.contact import Touch
from myoquat.muscle.forces import (
    ContactEllipsoid,
    ContactHalfSpace,
    ContactMaterial,
    ContactSphere,
    HuntCrossley,
    SmoothSphereHalfSpace,
)
from tests.bodies import on_slide
from tests.data.osim.two_bodies import body, check_accelerations, comes_back
from tests.data.tables import rejected

CENTER = (0.02, -0.05, 0.01)


def slide(name, parent, axis):
    return on_slide(name, axis, name, parent, mass=0.1, inertia=0.01, joint_name=f"{name}_joint")


SYSTEM = ArticulatedSystem(
    (
        slide("x", "ground", (1.0, 0.0, 0.0)),
        slide("y", "x", (0.0, 1.0, 0.0)),
        body("foot", "y", EulerJoint("XYZ"), (0.0, 0.0, 0.0), ("a1", "a2", "a3"), CENTER),
        body("toes", "foot", EulerJoint("XYZ"), (0.2, 0.0, 0.0), ("b1", "b2", "b3"), CENTER),
    ),
    gravity=(0.0, -9.80665, 0.0),
)
UP = np.array([0.1, 1.0, -0.05]) / np.linalg.norm([0.1, 1.0, -0.05])
FLOOR = ContactHalfSpace("floor", "ground", (0.1, 0.02, 0.0), tuple(UP.tolist()))
HEEL = ContactSphere("heel", "foot", (-0.05, -0.02, 0.01), 0.06)
BALL = ContactSphere("ball", "toes", (0.05, -0.03, -0.01), 0.05)
WALL = ContactSphere("wall", "ground", (0.33, 0.1, 0.0), 0.15)
EGG = ContactEllipsoid("egg", "toes", (0.02, -0.01, 0.0), (0.8, 0.6, 0.0, 0.0), (0.09, 0.04, 0.06))
SOFT, HARD = (3e5, 0.3, 0.9, 0.6, 0.2), (2e6, 0.1, 0.7, 0.5, 0.1)
FORCES = {
    "pressed": HuntCrossley("pressed", (ContactMaterial((FLOOR,), *HARD), ContactMaterial((HEEL, BALL), *SOFT)), 0.1),
    "balls": HuntCrossley("balls", (ContactMaterial((BALL, WALL), *SOFT),), 0.05),
    "egg": HuntCrossley("eggs", (ContactMaterial((EGG, FLOOR), *SOFT),), 0.05),
    "smooth": SmoothSphereHalfSpace("smooth", HEEL, FLOOR, *HARD, 0.1),
    "undamped": SmoothSphereHalfSpace("plain", BALL, FLOOR, 1e6, 0.0, 0.5, 0.4, 0.0, 0.1, 1e-4, 200.0, 30.0),
}  # fmt: skip
MODEL = Model(SYSTEM, forces=tuple(FORCES.values()), name="standing")


def states(rng, count):
    q = rng.uniform(-0.4, 0.4, (count, 8))
    q[:, 1] = rng.uniform(0.0, 0.12, count)
    return q, rng.uniform(-0.5, 0.5, (count, 8))


@pytest.mark.peers
def test_opensim_moves_alike(tmp_path, rng, in_opensim):
    """All types in one model at 200 states, at some of which most pairs are in contact."""
    model = comes_back(MODEL, tmp_path)
    q, u = states(rng, 200)
    check_accelerations(in_opensim, tmp_path, model, q, u, limit_torques(model, q, u))


@pytest.mark.parametrize("case", FORCES)
def test_on_every_type_of_number(scalar, rng, case):
    slides = (
        slide("x", "ground", (1.0, 0.0, 0.0)),
        slide("foot", "x", (0.0, 1.0, 0.0)),
        slide("toes", "foot", (0, 0, 1.0)),
    )
    model = Model(ArticulatedSystem(slides), forces=(FORCES[case],))
    q, u = rng.uniform(0.0, 0.02, (2, 3)), rng.uniform(-1, 1, (2, 3))
    tau = scalar(lambda q, u: limit_torques(model, q, u), q, u)
    np.testing.assert_allclose(tau, limit_torques(model, q, u, backend="numpy"), rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("case", FORCES)
def test_derivatives_are_finite_at_rest_and_apart(case):
    """d tau / d(q, u) where nothing touches, and where a body rests on another: no NaN of a root of zero."""
    model = Model(SYSTEM, forces=(FORCES[case],))
    q, u = casadi.SX.sym("q", 8), casadi.SX.sym("u", 8)
    tau = limit_torques(model, casadi.array(q).reshape(8), casadi.array(u).reshape(8)).reshape(-1).to_casadi()
    slope = casadi.Function("slope", [q, u], [casadi.jacobian(tau, casadi.vertcat(q, u))])
    for height in (0.0, 3.0):
        at = np.zeros(8)
        at[1] = height
        assert np.isfinite(np.array(slope(at, np.zeros(8)))).all()


# ---- exact solutions ---------------------------------------------------------------------------------------

RADIUS, MODULUS, MASS = 0.1, 1e6, 2.0
STIFFNESS = 4 / 3 * MODULUS / 2**1.5 * math.sqrt(RADIUS)  # [N/m^1.5], of two alike


def ball(gravity, axes="y", **friction):
    """A ball that slides along axes over the floor."""
    parts = [slide(axis, "ground" if axis == axes[0] else axes[0], tuple(map(float, np.eye(3)["xyz".index(axis)])))
             for axis in axes]  # fmt: skip
    parts = [replace(part, mass=MASS if part.name == axes[-1] else 0.0, inertia=(0.0,) * 6) for part in parts]
    round_one, floor = ContactSphere("round", axes[-1], radius=RADIUS), ContactHalfSpace("floor", "ground")
    force = HuntCrossley("contact", (ContactMaterial((round_one, floor), MODULUS, **friction),), 0.05)
    return Model(ArticulatedSystem(tuple(parts), gravity=gravity), forces=(force,))


def test_a_ball_bounces_as_hertz_says():
    """Dropped from h it is back at h, at rest, after two falls and two times from touch to the deepest point."""
    h, g = 0.05, 9.81
    start = math.sqrt(2 * g * h)
    square = lambda x: start**2 + 2 * g * x - 0.8 * STIFFNESS / MASS * x**2.5  # noqa: E731
    deepest = brentq(square, 1e-4, 0.05, xtol=1e-16)
    down = quad(lambda s: 2 * s / math.sqrt(square(deepest - s * s)), 0, math.sqrt(deepest), epsabs=1e-13)[0]
    period = 2 * (start / g + down)
    motion = simulate(ball((0.0, -g, 0.0)), [RADIUS + h], duration=period, rtol=1e-12, output_step=period / 2)
    np.testing.assert_allclose(motion.q[:, 0], [RADIUS + h, RADIUS - deepest, RADIUS + h], atol=1e-9)
    np.testing.assert_allclose(motion.u[1:, 0], 0, atol=1e-7)


def test_a_ball_rebounds_slower_as_hunt_and_crossley_say():
    """m v dv / (1 + a v) = -K x^(3/2) dx, a = 3/2 c, has a first integral in v: the same at touch and at departure."""
    a, v = 1.5 * 0.4, 2.0
    motion = simulate(ball((0.0, 0.0, 0.0), dissipation=0.4), [RADIUS], [-v], duration=0.05, rtol=1e-12)
    left = motion.u[-1, 0]
    integral = lambda v: v / a - math.log(1 + a * v) / a**2  # noqa: E731
    assert integral(v) == pytest.approx(integral(-left), rel=1e-9)
    assert 0.5 * v < left < v


def test_a_block_slides_and_creeps_to_rest():
    """With mu_s = mu_d = mu: udot = -mu g until the speed v_t, then u = v_t exp(-mu g t / v_t)."""
    g, mu, v = 9.81, 0.5, 1.0
    model = ball((0.0, -g, 0.0), "xy", static_friction=mu, dynamic_friction=mu)
    depth = (MASS * g / STIFFNESS) ** (2 / 3)
    motion = simulate(model, [0.0, RADIUS - depth], [v, 0.0], duration=(v - 0.05) / (mu * g), rtol=1e-11)
    assert motion.u[-1, 0] == pytest.approx(0.05, rel=1e-8)
    assert motion.q[-1, 0] == pytest.approx((v**2 - 0.05**2) / (2 * mu * g), rel=1e-8)
    rest = simulate(model, motion.q[-1], motion.u[-1], duration=0.02, rtol=1e-11)
    assert rest.u[-1, 0] == pytest.approx(0.05 * math.exp(-mu * g * 0.02 / 0.05), rel=1e-7)


def test_energy_goes_where_dissipation_and_friction_take_it():
    """Kinetic, potential and Hertz's energy fall by the integral of 3/2 c f_H v^2 + mu f / s s^2: 1e-8 of it all."""
    model = ball(
        (0.0, -9.81, 0.0), "xy", dissipation=0.5, static_friction=0.8, dynamic_friction=0.4, viscous_friction=0.1
    )
    motion = simulate(model, [0.0, RADIUS - 4e-3], [1.5, -0.3], duration=0.02, rtol=1e-12, output_step=2e-5)
    system, force = model.system, model.forces[0]
    x, v = RADIUS - motion.q[:, 1], -motion.u[:, 1]
    assert (x > 0).all()
    hertz, slip = STIFFNESS * x**1.5, motion.u[:, 0]
    f = hertz * (1 + 0.75 * v)
    mu = 0.4 + 0.8 / (1 + (slip / 0.05) ** 2) + 0.1 * slip
    lost = simpson(0.75 * hertz * v**2 + mu * f * slip, x=motion.time)
    np.testing.assert_allclose(force.energy(system, motion.q), 0.4 * STIFFNESS * x**2.5, rtol=1e-12)
    assert motion.energy[0] - motion.energy[-1] == pytest.approx(lost, abs=1e-8 * motion.energy[0])


# ---- ground reactions --------------------------------------------------------------------------------------


def test_ground_reactions_are_the_wrenches_on_the_bodies(tmp_path, rng):
    """As external wrenches they are the generalized forces of the contacts with the ground; files keep them."""
    model = Model(SYSTEM, forces=(FORCES["pressed"], FORCES["smooth"]))
    q, u = states(rng, 6)
    motion = Motion(SYSTEM, np.arange(6.0), q, u)
    found = ground_reactions(model, motion)
    assert found.bodies == ("foot", "toes")
    tau = np.zeros((6, 8))
    for k, name in enumerate(found.bodies):
        _, p = SYSTEM.poses(q)[name]
        arm = found.point[:, k] - p
        f_ext = wrench_at(SYSTEM, q, name, found.force[:, k], found.torque[:, k] + np.cross(arm, found.force[:, k]))
        tau += external_force(SYSTEM, q, f_ext)
    np.testing.assert_allclose(tau, limit_torques(model, q, u), atol=1e-9 * np.abs(tau).max())
    assert (found.force @ UP >= 0).all()
    found.save(tmp_path / "grf.xml")
    back = load_forces(tmp_path / "grf.xml")
    assert back.bodies == found.bodies
    np.testing.assert_array_equal(back.force, found.force)
    np.testing.assert_array_equal(back.torque, found.torque)
    found.save(tmp_path / "grf.sto")
    assert list(load_table(tmp_path / "grf.sto").columns[:4]) == [
        *(f"foot_ground_force_v{axis}" for axis in "xyz"), "foot_ground_force_px",
    ]  # fmt: skip


def test_ground_reactions_need_contact_and_one_run():
    with pytest.raises(ValueError, match="no contact between a body and the ground"):
        ground_reactions(Model(SYSTEM), Motion(SYSTEM, np.zeros(1), np.zeros((1, 8)), np.zeros((1, 8))))
    with pytest.raises(ValueError, match="one run, with velocities"):
        ground_reactions(MODEL, Motion(SYSTEM, np.zeros(1), np.zeros((1, 8))))


# ---- bad input ---------------------------------------------------------------------------------------------


test_what_cannot_be_in_a_file_is_refused_with_its_line = rejected(
    MODEL, "standing.osim",
    ("<radius>0.06</radius>", "<radius>-0.06</radius>", "surface 'heel': radius must be positive"),
    ("<stiffness>2000000.0</stiffness>", "<stiffness>0</stiffness>", "stiffness must be positive"),
    ("/contactgeometryset/heel", "/contactgeometryset/hand", "there is no contact geometry 'hand'"),
    ("/contactgeometryset/heel", "/contactgeometryset/floor", "<socket_sphere> must name a ContactSphere"),
    times=1,
)  # fmt: skip


def test_surfaces_that_are_not_supported_are_left_out_with_their_lines(tmp_path):
    path = tmp_path / "standing.osim"
    MODEL.save(path)
    path.write_text(path.read_text().replace("ContactEllipsoid", "ContactMesh"))
    with pytest.warns(UnsupportedWarning, match=r"1 HuntCrossleyForce \(force\), line \d+; 1 ContactMesh") as caught:
        model = load_model(path)
    assert len(caught) == 1
    assert [force.name for force in model.forces] == ["pressed", "balls", "smooth", "plain"]
    two = SmoothSphereHalfSpace("other", replace(HEEL, radius=0.2), FLOOR)
    with pytest.raises(ModelError, match="two surfaces have the name 'heel'"):
        Model(SYSTEM, forces=(FORCES["smooth"], two)).save(tmp_path / "two.osim")


def test_rounded_friction_has_no_corner(tmp_path):
    """At the transition velocity it is 1 / sqrt(2) of OpenSim's, at ten times that it is equal to 0.5 %."""
    sharp = replace(FORCES["undamped"], viscous_friction=0.0, dynamic_friction=0.5)
    rounded = replace(sharp, rounded_friction=True)
    place = Touch(np.array(0.01), np.zeros(3), np.array([0.0, 1.0, 0.0]), 0.1)
    for slip, ratio in ((0.1, np.sqrt(0.5)), (1.0, 1 / np.sqrt(1.01))):
        square = slip**2 - sharp.constant_contact_force
        forces = [force.pressed(0, place, np.zeros(()), square)[1] for force in (rounded, sharp)]
        assert forces[0] / forces[1] == pytest.approx(ratio)
    with pytest.raises(ModelError, match="SmoothSphereHalfSpaceForce cannot have rounded_friction"):
        replace(MODEL, forces=(rounded,)).save(tmp_path / "rounded.osim")
