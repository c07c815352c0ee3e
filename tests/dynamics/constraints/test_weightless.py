"""Bodies without mass whose motion constraints determine, though the mass matrix is singular."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat import kernels
from myoquat.dynamics import bias_force, composite, simulate
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, CoordinateCoupler, PointLoop, assemble
from myoquat.dynamics.udwadia_kalaba import kkt
from myoquat.joints import ArticulatedSystem, Body, EulerJoint, FloatingJoint, ModelError, RevoluteJoint, SphericalJoint
from myoquat.joints.functions import Linear
from myoquat.muscle import Model
from tests.bodies import on_hinge

SOLID = {"mass": 1.0, "center_of_mass": (0.0, 0.02, -0.5), "inertia": (0.1, 0.12, 0.05, 0.01, 0.0, 0.0)}
ARM = on_hinge("arm", "y", **SOLID)
PIN = Body("pin", "arm", RevoluteJoint((0.0, 1.0, 0.0)), (0.0, 0.0, -1.0), damping=0.3)
FOLLOWS = (CoordinateCoupler("pin.angle", "arm.angle", Linear(-2.0, 0.1)),)
# a chest that floats without mass, under a collar bone whose angles follow the arm's, as in MOBL_ARMS_41
CHEST = ArticulatedSystem(
    (
        Body("chest", "ground", FloatingJoint()),
        Body("clavicle", "chest", EulerJoint("YZX"), **SOLID),
        Body("arm", "clavicle", SphericalJoint(), (0.0, 0.3, 0.0), **SOLID),
        on_hinge("fore", "y", parent="arm", position=(0.0, 0.0, -0.4), **SOLID),
    )
)
LED = tuple(
    CoordinateCoupler(f"clavicle.{suffix}", "fore.angle", Linear(slope, 0.1))
    for suffix, slope in zip(CHEST.bodies[1].joint.coordinate_suffixes, (0.3, -0.2, 0.4), strict=True)
)
METHODS = [
    {"method": "rk4"},
    {"method": "lie_rk4"},
    {"method": "rk4", "stabilization": "baumgarte"},
    {"rtol": 1e-9},
]


@pytest.mark.parametrize("options", METHODS)
def test_a_leaf_without_mass_follows_and_changes_nothing(options):
    """Only its damping is felt: 0.3 * (2 u)^2 W are 1.2 N m s / rad at the arm."""
    given = {"duration": 0.3, "step": 1e-3, "output_step": 0.1, **options}
    held = simulate(ArticulatedSystem((ARM, PIN)), [0.5, -0.9], [1.0, -2.0], constraints=FOLLOWS, **given)
    alone = simulate(ArticulatedSystem((replace(ARM, damping=1.2),)), [0.5], [1.0], **given)
    np.testing.assert_allclose(held.q[:, 0], alone.q[:, 0], atol=1e-6 if "stabilization" in options else 1e-9)
    np.testing.assert_allclose(held.q[:, 1], 0.1 - 2 * held.q[:, 0], atol=1e-6 if "stabilization" in options else 1e-12)
    np.testing.assert_allclose(held.acceleration[:, 0], alone.acceleration[:, 0], atol=1e-5)


def test_the_motion_is_that_of_the_saddle_point(rng):
    """Of a singular mass matrix: [[M, A^T], [A, 0]] is regular, and needs no mass of the chest."""
    held = ConstraintArrays(Constraints(CHEST, LED))
    q = assemble(Model(CHEST, constraints=LED), CHEST.random(20, rng))
    u = rng.normal(size=(20, CHEST.nu))
    A, b, tau = held.jacobian(q, 0.0), held.bias(q, u, 0.0), rng.normal(size=u.shape)
    expected = kkt(composite.mass(CHEST, q), tau - bias_force(CHEST, q, u), A, b)
    found = held.motion(q, u, tau, 0.0)
    scale = np.abs(expected.acceleration).max()
    np.testing.assert_allclose(found.acceleration, expected.acceleration, atol=1e-9 * scale)
    formula = lambda q, u, tau: held.constraints.acceleration(q, u, np.zeros(()), tau)  # noqa: E731
    kernel = kernels.compile(formula, {"q": CHEST.nq, "u": CHEST.nu, "tau": CHEST.nu}, ["udot", "multipliers"])
    udot, multipliers = kernel(q, u, tau)
    np.testing.assert_allclose(udot, expected.acceleration, atol=1e-9 * scale)
    force = (np.swapaxes(A, -1, -2) @ multipliers[..., None])[..., 0]
    np.testing.assert_allclose(force, expected.force, atol=1e-9 * np.abs(expected.force).max())


def test_it_is_the_limit_of_small_masses(rng):
    q = assemble(Model(CHEST, constraints=LED), CHEST.random(1, rng))[0]
    u, tau = rng.normal(size=(2, CHEST.nu))
    heavy = [CHEST.with_body("chest", mass=m, inertia=(m, m, m, 0.0, 0.0, 0.0)) for m in (0.0, 1e-3, 1e-4)]
    found = [ConstraintArrays(Constraints(system, LED)).motion(q, u, tau, 0.0).acceleration for system in heavy]
    missed = [np.abs(other - found[0]).max() for other in found[1:]]
    assert missed[0] / missed[1] == pytest.approx(10, rel=0.2)


def test_undetermined_velocities_raise_an_error_that_names_them():
    lost = ArticulatedSystem((ARM, replace(PIN, damping=0.0), Body("tip", "pin", RevoluteJoint((1.0, 0.0, 0.0)))))
    with pytest.raises(
        ModelError, match=r"singular at this pose: 'tip.speed' can move.*without mass and inertia: pin, tip"
    ):
        simulate(lost, [0.5, -0.9, 0.0], constraints=FOLLOWS, duration=0.1)
    with pytest.raises(
        ModelError, match=r"velocity 'pin.speed' moves nothing.*simulate takes constraints that determine"
    ):
        simulate(ArticulatedSystem((ARM, PIN)), duration=0.1)


@pytest.mark.parametrize("solver", [{"rtol": 1e-9}, {"step": 1e-3}])
def test_a_body_without_mass_may_be_led_twice(solver):
    system, start = ArticulatedSystem((ARM, PIN)), [0.5, -0.9]
    twice = (*FOLLOWS, replace(FOLLOWS[0], name="again"))
    way, once = (simulate(system, start, constraints=c, duration=0.1, **solver) for c in (twice, FOLLOWS))
    np.testing.assert_allclose(way.q[-1], once.q[-1], atol=1e-9)


def test_error_at_gimbal_lock_names_the_remedy():
    """A chest without mass, the second of its angles at a right angle, held at a point of the ground."""
    bodies = (Body("chest", "ground", EulerJoint("XYZ")), *CHEST.bodies[1:])
    system = replace(CHEST, bodies=bodies)
    held = (*LED, PointLoop("fore", "ground", (0.0, 0.0, -0.4), (0.1, 0.3, -0.8), name="hand"))
    q = np.zeros(system.nq)
    q[1], q[6] = np.pi / 2, 1.0
    with pytest.raises(ModelError, match=r"'chest.*' can move together.*with_rotations\('quaternion'\)"):
        simulate(system, q, constraints=held, duration=0.1, project_start=True)
