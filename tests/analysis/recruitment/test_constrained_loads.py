"""Loads of joints under constraints and springs between bodies.

The references are OpenSim's reactions of the same motion, and simulations. `tests/pairs` compares loads under all
features with the recursion that `tests/dynamics/test_reactions.py` holds to Newton and Euler at every body.
"""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion import differentiate, inverse_dynamics_of_motion
from myoquat.analysis.recruitment import consistent_derivatives, consistent_motion, joint_loads
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.data import Motion, load_model
from myoquat.dynamics import external_force
from myoquat.dynamics.constraints import (
    ConstraintArrays,
    Constraints,
    CoordinateCoupler,
    Locked,
    PointLoop,
    Rolling,
    assemble,
    constraints_of,
)
from myoquat.joints import Angles, ArticulatedSystem
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Linear
from myoquat.joints.types import RevoluteJoint, SphericalJoint
from myoquat.muscle import Model, limit_torques
from myoquat.muscle.coordinates import Coordinate, Coupler
from tests.analysis.recruitment.chains import CHAINS, SYSTEM, free_to_move, moving
from tests.analysis.recruitment.reactions import of_opensim
from tests.bodies import afloat, at_rest, on_hinge, on_slide


def test_forward_the_model_moves_as_its_constraints_let_it(rng):
    """Without accelerations they are those of the constrained equations, and nothing is missing. Given again, they lead
    to the same forces, and so do accelerations that these forces do not cause."""
    motion, tensions = moving(rng)
    loose = replace(CHAINS, coordinates=(), couplers=())
    free = joint_loads(loose, replace(motion, udot=None), tensions)
    held = ConstraintArrays(Constraints(loose.system, constraints_of(loose)))
    J = external_force(loose, motion.q, free.applied)
    tau = J + limit_torques(loose, motion.q, motion.u)
    np.testing.assert_allclose(
        free.motion.udot, held.motion(motion.q, motion.u, tau, motion.time).acceleration, atol=1e-7
    )
    scale = np.abs(free.wrench).max()
    assert free.residual.abs().max().max() < 1e-9 * scale
    again = joint_loads(loose, free.motion, tensions)
    np.testing.assert_allclose(again.wrench, free.wrench, atol=1e-9 * scale)
    other = joint_loads(
        loose, consistent_motion(loose, replace(motion, udot=rng.normal(size=motion.u.shape))), tensions
    )
    np.testing.assert_allclose(other.constraints.multipliers, free.constraints.multipliers, atol=1e-8 * scale)


@pytest.mark.parametrize("geared", [False, True])
def test_all_loads_of_the_library_s_shoulder_are_determined(geared):
    """In quaternions, held by two points on the ribs and a ligament. Both bodies of a constraint feel its force. The
    elbow may follow an angle of the humerus that is in its lock in the neutral pose. The world is called thorax."""
    ball = replace(load_model("thoracoscapular"), muscles=())
    if geared:
        Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
        angles = Angles(("plane", "elevation", "turn"), (Y, Z, Y))
        named = ball.system.with_body("humerus", joint=SphericalJoint(angles=angles))
        bent = named.with_body("forearm", joint=RevoluteJoint(Z), coordinate_names=("elbow",))
        gear = Coupler("gear", "elbow", "elevation", Linear(0.4))
        ball = Model(bent, start_q=(*ball.start_q, 0.0), couplers=(gear,), constraints=ball.constraints)
    aside = ball.system.integrate(ball.start, np.full(ball.system.nu, 0.1))
    found = joint_loads(ball, at_rest(ball, [0.0], assemble(ball, aside)))
    assert found.undetermined == ()
    np.testing.assert_array_equal(found.of("humerus").force, found.of("humerus", frame=ball.system.ground).force)
    ribs, blade = (found.constraints.of(found.constraints.names[0], on=body).force for body in ("thorax", "scapula"))
    np.testing.assert_allclose(ribs, -blade, atol=1e-12)
    assert np.abs(ribs).max() > 0.1


# ---- redundant constraints ---------------------------------------------------------------------------------


def four_bar(axes):
    """A four-bar in the plane, its loop closed at the rocker, and a pendulum on the crank."""

    def bar(name, parent, length, at=(0.0, 0.0, 0.0)):
        inertia = (1e-4, length**2 / 12, length**2 / 12)
        return on_hinge(name, "z", None, parent, at, center_of_mass=(length / 2, 0, 0.02), inertia=inertia)

    bodies = (bar("crank", "ground", 0.3), bar("coupler", "crank", 0.8, (0.3, 0, 0)),
              bar("rocker", "ground", 0.6, (0.7, 0.1, 0.0)), bar("bob", "crank", 0.2, (0.1, 0.0, 0.1)))  # fmt: skip
    loop = PointLoop("coupler", "rocker", (0.8, 0, 0), (0.6, 0, 0), axes=axes, name="pin")
    return Model(ArticulatedSystem(bodies, gravity=(0, -9.81, 0)), constraints=(loop,))


def test_joints_that_redundant_constraints_leave_determined_are_reported_others_are_not(rng):
    """The third row of the pin says nothing in the plane: what crosses the plane in the loop is open, and only that."""
    plain, double = four_bar("xy"), four_bar("xyz")
    q = assemble(plain, np.tile([0.5, 0.2, 2.0, 0.3], (4, 1)) + rng.uniform(-0.1, 0.1, (4, 4)))
    motion = consistent_motion(plain, Motion(plain, 0.1 * np.arange(4), q, *rng.normal(size=(2, 4, 4))))
    expected, found = joint_loads(plain, motion), joint_loads(double, replace(motion, system=double.system))
    assert expected.undetermined == ()
    assert found.undetermined == ("crank", "coupler", "rocker")
    assert repr(found) == "<JointLoads 4 joints, 4 frames; not determined: crank, coupler, rocker>"
    np.testing.assert_allclose(found.of("bob").force, expected.of("bob").force, atol=1e-10)
    np.testing.assert_allclose(found.of("bob").moment, expected.of("bob").moment, atol=1e-10)
    assert np.isnan(found.of("crank").force).all()
    assert found.constraints.undetermined == ("pin",)
    np.testing.assert_allclose(found.constraints.multipliers[:, :2], expected.constraints.multipliers, atol=1e-9)
    assert np.isnan(found.constraints.multipliers[:, 2]).all()
    np.testing.assert_allclose(found.residual, expected.residual, atol=1e-9)


# ---- inverse dynamics --------------------------------------------------------------------------------------


def test_motors_and_constraints_share_what_a_motion_needs(rng):
    """Motors on the free velocities with the constraints' forces are inverse dynamics; driven forward, they give the
    motion."""
    motion, _ = moving(rng)
    names, C = free_velocities(CHAINS, motion.q)
    found = inverse_dynamics_of_motion(CHAINS, motion, motors=names)
    plain = inverse_dynamics_of_motion(CHAINS, motion)
    assert plain.constraints is None
    rest = [k for k, name in enumerate(SYSTEM.velocity_names) if name not in names]
    scale = np.abs(plain.torque).max()
    assert np.abs(found.torque[:, rest]).max() < 1e-9 * scale
    projected = [np.einsum("tij,ti->tj", C, x.torque) for x in (found, plain)]
    np.testing.assert_allclose(*projected, atol=1e-9 * scale)
    forward = joint_loads(CHAINS, replace(motion, udot=None), torque=found.torque)
    np.testing.assert_allclose(forward.motion.udot, motion.udot, atol=1e-6)
    np.testing.assert_allclose(found.constraints.multipliers, forward.constraints.multipliers, atol=1e-8 * scale)
    with pytest.raises(ValueError, match=r"motors a1, .*: at frame 0 they push against the constraints"):
        inverse_dynamics_of_motion(CHAINS, motion, motors=SYSTEM.coordinate_names[:9])
    with pytest.raises(ValueError, match="no velocity 'wrist'"):
        inverse_dynamics_of_motion(CHAINS, motion, motors=["wrist"])


# ---- OpenSim -----------------------------------------------------------------------------------------------


@pytest.mark.peers
def test_equal_to_opensim(rng, tmp_path, in_opensim):
    """Its reactions beside a point constraint, a coupler, a lock, a spring and a bushing, with tensions overridden."""
    motion, tensions = moving(rng, 4)
    udot, joints, expected = of_opensim(in_opensim, tmp_path / "arm.osim", CHAINS, motion, tensions)
    forward = joint_loads(CHAINS, replace(motion, udot=None), tensions)
    np.testing.assert_allclose(forward.motion.udot, udot, rtol=1e-7, atol=1e-6)
    for k, joint in enumerate(joints):
        load = forward.of(joint)
        np.testing.assert_allclose(np.hstack([load.force, load.moment]), expected[:, k, 0], rtol=1e-7, atol=1e-6)


# ---- input -------------------------------------------------------------------------------------------------


def test_what_is_not_known_is_named(rng):
    motion, tensions = moving(rng)
    ball = afloat("ball", inertia=0.1)
    rolls = Model(ArticulatedSystem((ball,)), constraints=(Rolling("ball", 0.5),))
    still = at_rest(rolls, [0.0], [0, 0, 0.5, 1.0, 0, 0, 0])
    with pytest.raises(ModelError, match="it holds velocities"):
        joint_loads(rolls, still)
    found = joint_loads(CHAINS, motion, tensions)
    with pytest.raises(ValueError, match="no constraint between bodies 'pim'"):
        found.constraints.of("pim", on="B")
    with pytest.raises(ValueError, match="no body 'G'"):
        found.constraints.of("pin", on="G")
    ground, table = found.constraints.of("pin", on="B"), found.constraints.to_dataframe()
    assert list(table.columns)[::9] == ["pin_on_B_in_ground_fx", "pin_on_C_in_ground_fx"]
    np.testing.assert_array_equal(table["pin_on_B_in_ground_fx"], ground.force[:, 0])


# ---- motions on the constraints ----------------------------------------------------------------------------


def test_derivatives_of_a_consistent_motion_belong_to_its_poses():
    """Rates are those of the moved poses, exact on the constraints; independent coordinates keep theirs where only
    couplers hold."""
    time = np.linspace(0.0, 1.0, 101)
    waves = free_to_move(np.sin(np.outer(time, np.linspace(1.0, 3.0, 12)) + np.arange(12)))
    q = assemble(CHAINS, SYSTEM.neutral()) + 0.05 * waves
    found = consistent_derivatives(CHAINS, Motion(CHAINS, time, q))
    held = ConstraintArrays(Constraints(SYSTEM, constraints_of(CHAINS)))
    assert np.abs(held.position(found.q, time)).max() < 1e-10
    assert np.abs(held.rate(found.q, found.u, time)).max() < 1e-12
    plain = differentiate(Motion(CHAINS, time, found.q))
    np.testing.assert_allclose(found.u[3:-3], plain.u[3:-3], atol=1e-5)
    np.testing.assert_allclose(found.udot[3:-3], plain.udot[3:-3], atol=1e-3)
    geared = replace(CHAINS, constraints=(CoordinateCoupler("c2", "a1", Linear(0.5)),))
    rates = free_to_move(np.random.default_rng(0).normal(size=(2, 101, 12)))
    kept = consistent_motion(geared, Motion(CHAINS, time, q, *rates))
    independent = [k for k, n in enumerate(SYSTEM.coordinate_names) if n not in ("c2", "e")]
    for name, given in (("q", q), ("u", rates[0]), ("udot", rates[1])):
        np.testing.assert_array_equal(getattr(kept, name)[:, independent], given[:, independent])


def test_redundant_constraints_of_coordinates_leave_no_joint_open():
    """They act within joints: two masses on a rail, coupled twice, carry their weight."""
    bodies = tuple(on_slide(name, mass=2.0) for name in ("a", "b"))
    couple = CoordinateCoupler("b.position", "a.position")
    model = Model(ArticulatedSystem(bodies), constraints=(couple, couple))
    found = joint_loads(model, at_rest(model, [0.0]))
    assert found.undetermined == ()
    np.testing.assert_allclose(found.wrench[0, :, :3], [[0, 0, 2 * 9.81]] * 2, atol=1e-12)


def test_a_lock_among_the_constraints_is_that_of_its_coordinate():
    bob = on_hinge("bob", "y", "x", mass=2.0, center_of_mass=(0.5, 0, 0))
    swing = at_rest(ArticulatedSystem((bob,)), [0.0], [0.3])
    for held in ({"constraints": (Locked("x"),)}, {"coordinates": (Coordinate("x", locked=True),)}):
        load = joint_loads(Model(swing.system, **held), swing).of("bob", frame="bob")
        moment = 2 * 9.81 * 0.5 * np.cos(0.3)  # of the weight about the hinge
        np.testing.assert_allclose(load.force[0], 2 * 9.81 * np.array([-np.sin(0.3), 0, np.cos(0.3)]), atol=1e-12)
        np.testing.assert_allclose(load.moment[0], [0, -moment, 0], atol=1e-12)
