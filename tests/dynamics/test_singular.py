"""Bodies without mass, singular mass matrices and arrays that do not fit."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.dynamics import (
    bias_force,
    forward_dynamics,
    inverse_dynamics,
    inverse_mass_matrix,
    kinetic_energy,
    mass_matrix,
    simulate,
    wrench_at,
)
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, Distance
from myoquat.joints import (
    Angles,
    ArticulatedSystem,
    Axis,
    Body,
    CustomJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    GimbalJoint,
    ModelError,
    RevoluteJoint,
)
from myoquat.joints.locks import check_locks, near_locks
from tests.bodies import on_ball, on_hinge

SOLID = {"mass": 1.0, "center_of_mass": (0.0, 0.0, -0.5), "inertia": (0.1, 0.1, 0.02, 0.0, 0.0, 0.0)}
DYNAMICS = {
    "mass_matrix": lambda s: mass_matrix(s, s.neutral()),
    "inverse_mass_matrix": lambda s: inverse_mass_matrix(s, s.neutral()),
    "forward_dynamics": lambda s: forward_dynamics(s, s.neutral(), np.zeros(s.nu), np.zeros(s.nu)),
    "inverse_dynamics": lambda s: inverse_dynamics(s, s.neutral(), np.zeros(s.nu), np.zeros(s.nu)),
}


@pytest.mark.parametrize("function", DYNAMICS)
def test_a_moving_leaf_without_mass(function):
    system = ArticulatedSystem((on_ball("arm", **SOLID), Body("pin", "arm", RevoluteJoint())))
    with pytest.raises(ModelError, match=r"body 'pin': the mass matrix is singular.*'pin.speed'.*without mass.*pin"):
        DYNAMICS[function](system)


@pytest.mark.parametrize("function", DYNAMICS)
def test_a_floating_base_without_mass(function):
    system = ArticulatedSystem((Body("base", "ground", FloatingJoint()), Body("arm", "base", RevoluteJoint(), **SOLID)))
    with pytest.raises(ModelError, match=r"the mass matrix is singular.*without mass and inertia: base"):
        DYNAMICS[function](system)


def test_massless_bodies_are_legal_where_the_mass_matrix_is_regular():
    """A universal joint made of two hinges; a massless base that carries enough; a massless weld."""
    cross = on_hinge("cross", "x", mass=0.0)
    arm = on_hinge("arm", "y", parent="cross", **SOLID)
    tip = Body("tip", "arm", FixedJoint(), position=(0.0, 0.0, -1.0))
    _inverts(ArticulatedSystem((cross, arm, tip)))
    base = Body("base", "ground", FloatingJoint())
    _inverts(ArticulatedSystem((base, Body("trunk", "base", FixedJoint(), **SOLID))))
    _inverts(ArticulatedSystem((Body("pin", "ground", RevoluteJoint(), rotor_inertia=0.1),)))


def _inverts(system):
    rng = np.random.default_rng(0)
    q, u, udot = system.random(1, rng)[0], *rng.normal(size=(2, system.nu))
    tau = inverse_dynamics(system, q, u, udot)
    for method in ("aba", "crba"):
        np.testing.assert_allclose(forward_dynamics(system, q, u, tau, method=method), udot, rtol=1e-9)


def test_a_point_mass_on_a_ball_joint_has_a_singular_matrix_that_can_be_looked_at():
    system = ArticulatedSystem((on_ball("bob", center_of_mass=(0.0, 0.0, -1.0)),))
    np.testing.assert_allclose(mass_matrix(system, system.neutral()), np.diag([1.0, 1.0, 0.0]))
    for function in ("forward_dynamics", "inverse_mass_matrix"):
        with pytest.raises(ModelError, match=r"singular: velocity 'bob.omega_z'"):
            DYNAMICS[function](system)


def test_energies_ask_for_no_mass():
    system = ArticulatedSystem((Body("pin", "ground", RevoluteJoint()),))
    assert kinetic_energy(system, [0.3], [1.0]) == 0.0
    np.testing.assert_array_equal(bias_force(system, [0.3], [1.0]), [0.0])


AXES = ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.8, 0.6))  # the third is not orthogonal
TURNS = CustomJoint(("a", "b", "c"), (Axis(AXES[0], 0), Axis(AXES[1], 1), Axis(AXES[2], 2)))
GIMBAL = GimbalJoint(Angles(("a", "b", "c"), AXES))


@pytest.mark.parametrize("joint", [GIMBAL, TURNS], ids=["gimbal", "custom"])
def test_angles_about_any_axes_lock(joint):
    """Where the second rotation turns the third axis onto the first."""
    body = Body("arm", "ground", joint, coordinate_names=("a", "b", "c"), **SOLID)
    system, still = ArticulatedSystem((body,)), np.zeros(3)
    second = np.arctan2(0.6, 0.8)
    locked, near = np.array([0.1, second, 0.2]), np.array([0.1, second + 1e-9, 0.2])
    assert np.linalg.svd(joint.subspace(locked)[0])[1][-1] < 1e-15
    for function in (lambda s, q: forward_dynamics(s, q, still, still), inverse_mass_matrix):
        with pytest.raises(ValueError, match=r"body 'arm': the angles a, b, c are in gimbal lock at pose \[1\]"):
            function(system, np.array([near, locked]))
    assert np.isfinite(forward_dynamics(system, near, still, still)).all()
    rotor = replace(system, bodies=(replace(body, rotor_inertia=0.1),))
    assert np.isfinite(forward_dynamics(rotor, locked, still, still)).all()
    with pytest.raises(ValueError, match="the start: body 'arm': the angles a, b, c are in gimbal lock"):
        simulate(system, locked, duration=0.01)
    assert near_locks(system, near) == "the angles a, b, c of body 'arm' are 1e-09 rad from their gimbal lock"
    assert near_locks(system, np.array([0.1, second + 0.1, 0.2])) == near_locks(rotor, near) == ""


SCALED = GimbalJoint(Angles(("a", "b", "c"), AXES, factors=(1.0, -2.0, 1.0), offsets=(0.0, 0.3, 0.0)))


@pytest.mark.parametrize("turns", [0, 5, -1000])
@pytest.mark.parametrize(
    ("joint", "second"),
    [(EulerJoint("YZY"), 0.0), (EulerJoint("XYZ"), np.pi / 2), (SCALED, (np.arctan2(0.6, 0.8) - 0.3) / -2)],
    ids=["proper", "Tait-Bryan", "scaled"],
)
def test_one_locked_pose_of_many_is_found(joint, second, turns):
    system = ArticulatedSystem((Body("arm", "ground", joint, coordinate_names=("a", "b", "c"), **SOLID),))
    q = np.random.default_rng(3).uniform(-9.0, 9.0, (500, 3))
    check_locks(system, q, "these")
    q[123, 1] = second + turns * np.pi / (2.0 if joint is SCALED else 1.0)
    with pytest.raises(ValueError, match=r"gimbal lock at pose \[123\]"):
        check_locks(system, q, "these")


def test_arrays_that_do_not_fit():
    system = ArticulatedSystem((on_ball("arm", **SOLID),))
    q, u = system.neutral(), np.zeros(3)
    with pytest.raises(ValueError, match=r"tau has shape \(2,\); expected \(\.\.\., 3\)"):
        forward_dynamics(system, q, u, [0.0, 0.0])
    with pytest.raises(ValueError, match=r"f_ext has shape \(6,\); expected \(\.\.\., 1, 6\).*arm"):
        forward_dynamics(system, q, u, u, np.zeros(6))
    with pytest.raises(ValueError, match=r"f_ext\[0, 2\] is nan"):
        inverse_dynamics(system, q, u, u, [[0, 0, np.nan, 0, 0, 0]])
    with pytest.raises(ValueError, match="it must be 1"):
        mass_matrix(system, 2 * q)
    with pytest.raises(ValueError, match="method is one of aba, crba"):
        forward_dynamics(system, q, u, u, method="lu")
    with pytest.raises(ValueError, match="force has shape"):
        wrench_at(system, q, "arm", [1.0, 2.0])
    with pytest.raises(ValueError, match=r"shape|broadcast"):
        inverse_dynamics(system, np.stack([q, q]), np.zeros((3, 3)), u)
    with pytest.raises(TypeError, match="a Model or an ArticulatedSystem"):
        mass_matrix("arm", q)


def test_a_pose_in_which_axes_without_mass_between_them_coincide_is_named():
    """Two hinges about one axis, of which the bodies between have no mass: regular where the axes differ."""
    tilt = on_hinge("tilt", "z", "first", mass=0.0)
    turn = on_hinge("turn", "x", "middle", "tilt", mass=0.0)
    arm = on_hinge("arm", "z", "last", "turn", **SOLID)
    system = ArticulatedSystem((tilt, turn, arm))
    held = ConstraintArrays(Constraints(system, (Distance("arm", "ground", (0, 0, -1.0), (3.0, 0, 0), 3.0),)))
    assert held.rank([0.0, 0.2, 0.3], 0.0) == 1
    with pytest.raises(ModelError, match=r"singular at this pose: 'first.*', 'last.*' can .* inertia: tilt, turn"):
        held.rank([0.0, 0.0, 0.3], 0.0)
