"""The articulated system: order, state maps, indices, merged links, and what is refused."""

import numpy as np
import pytest

from myoquat.joints import (
    ArticulatedSystem,
    Body,
    BodyIndex,
    CoordinateIndex,
    EulerJoint,
    FixedJoint,
    FrameIndex,
    ModelError,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
    VelocityIndex,
    convert_velocities,
    random_system,
    with_rotations,
)
from tests.bodies import afloat, on_ball, on_hinge


def _arm(**options):
    bodies = (
        afloat("base", inertia=1.0),
        on_ball("upper", parent="base", joint_name="shoulder"),
        on_hinge("lower", "z", "flexion", "upper", joint_name="elbow"),
        Body("watch", "lower", FixedJoint(), position=(0.0, 0.0, -0.2), mass=0.1),
        Body("hand", "watch", PrismaticJoint(), mass=0.5),
    )
    return ArticulatedSystem(bodies, **options)


# ---- order and names ---------------------------------------------------------------------------------------


def test_names_and_slices():
    arm = _arm()
    assert (arm.nq, arm.nu) == (13, 11)
    assert arm.coordinate_names[7:12] == ("upper.Q0", "upper.Q1", "upper.Q2", "upper.Q3", "flexion")
    assert arm.velocity_names[9:] == ("flexion_dot", "hand.speed")
    assert arm.q_slices[3] == slice(12, 12)
    assert arm.quaternion_slices() == (slice(3, 7), slice(7, 11))


def test_joint_order_is_given_by_body_or_joint_names():
    arm = _arm(joint_order=["hand", "elbow", "watch", "shoulder", "base"])
    assert arm.body_names == ("hand", "lower", "watch", "upper", "base")
    assert [link.name for link in arm.tree.links] == ["base", "upper", "lower", "hand"]
    with pytest.raises(ModelError, match="no body or joint is named 'knee'"):
        _arm(joint_order=["knee"])
    with pytest.raises(ModelError, match="once; missing or repeated: base, hand"):
        _arm(joint_order=["elbow", "watch", "shoulder", "base", "base"])


def test_merging_adds_masses_centres_and_inertias():
    a = on_hinge("a", mass=2.0, center_of_mass=(0.1, 0.0, 0.0))
    b = Body("b", "a", FixedJoint(), position=(1.0, 0.0, 0.0), mass=1.0, inertia=(0.1, 0.2, 0.3, 0.0, 0.0, 0.0))
    (link,) = ArticulatedSystem((b, a)).tree.links
    assert link.mass == 3.0
    np.testing.assert_allclose(link.moment, (1.2, 0.0, 0.0))
    np.testing.assert_allclose(link.inertia, (0.1, 0.2 + 0.02 + 1.0, 0.3 + 0.02 + 1.0, 0.0, 0.0, 0.0))


def test_a_changed_body_makes_a_changed_system():
    arm = _arm()
    geared = arm.with_body("elbow", rotor_inertia=0.3)
    assert geared.bodies[2].rotor_inertia == 0.3
    assert geared != arm
    assert geared.content_key != arm.content_key
    assert _arm() == arm
    assert _arm().content_key == arm.content_key


def test_velocity_frame_is_a_property_of_the_system():
    arm = _arm(velocity_frame="parent")
    assert arm.bodies[0].joint.velocity_frame == arm.bodies[1].joint.velocity_frame == "parent"
    assert arm.content_key != _arm().content_key
    with pytest.raises(ModelError, match="'child' or 'parent', not 'world'"):
        _arm(velocity_frame="world")


# ---- the state ---------------------------------------------------------------------------------------------


def test_rate_matrices_have_the_batch_axes_of_q_even_without_quaternions():
    hinge = ArticulatedSystem((Body("a", "ground", RevoluteJoint()), Body("b", "a", RevoluteJoint())))
    q = np.zeros((4, 3, 2))
    for matrix in (hinge.rate_matrix(q), hinge.rate_inverse(q)):
        np.testing.assert_array_equal(matrix, np.broadcast_to(np.eye(2), (4, 3, 2, 2)))
    for rates in (hinge.rates(q, np.ones(2)), hinge.velocities(q, np.ones(2))):
        np.testing.assert_array_equal(rates, np.ones((4, 3, 2)))


@pytest.mark.parametrize("frame", ["child", "parent"])
def test_state_maps(frame):
    rng = np.random.default_rng(0)
    system = random_system(9, rng, velocity_frame=frame)
    q, u = system.random(4, rng), rng.normal(size=(4, system.nu))
    qdot = system.rates(q, u)
    np.testing.assert_allclose(qdot, np.einsum("nij,nj->ni", system.rate_matrix(q), u), atol=1e-13)
    np.testing.assert_allclose(system.velocities(q, qdot), u, atol=1e-13)
    np.testing.assert_allclose(system.rate_inverse(q) @ system.rate_matrix(q) - np.eye(system.nu), 0, atol=1e-13)
    np.testing.assert_allclose(system.difference(q, system.integrate(q, 0.2 * u)), 0.2 * u, atol=1e-13)
    step = 1e-6
    numeric = (system.integrate(q, step * u) - system.integrate(q, -step * u)) / (2 * step)
    np.testing.assert_allclose(qdot, numeric, atol=1e-8)
    system.check_q(system.neutral())
    assert system.random(0, rng).shape == (0, system.nq)
    broadcast = system.rates(q[:, None], u)
    assert broadcast.shape == (4, 4, system.nq)


def test_check_q_refuses_bad_states():
    arm = _arm()
    q = arm.neutral()
    with pytest.raises(ValueError, match=r"q has shape \(3,\); expected \(\.\.\., 13\)"):
        arm.check_q([0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"q\[11\] \(flexion\) is nan"):
        arm.check_q(np.where(np.arange(13) == 11, np.nan, q))
    with pytest.raises(ValueError, match=r"upper.Q3\) has length 2"):
        arm.check_q(np.where(np.arange(13) == 7, 2.0, q))
    with pytest.raises(ValueError, match=r"base\.Q3"):
        arm.check_q(np.where(np.arange(13) == 3, 0.0, q))
    with pytest.raises(ValueError, match=r"u has shape \(\)"):
        arm.check_u(1.0)
    with pytest.raises(ValueError, match="real numbers or symbols"):
        arm.check_u(["a"] * 11)


# ---- indices -----------------------------------------------------------------------------------------------


def test_indices_by_name_and_by_number():
    indices = _arm().indices
    assert indices.body("lower") == indices.body("elbow") == indices.body(2) == BodyIndex(2)
    assert indices.coordinate("flexion") == CoordinateIndex(11)
    assert indices.velocity("flexion_dot") == indices.velocity(9) == VelocityIndex(9)
    assert indices.frame("ground") == FrameIndex(0)
    assert indices.frame("watch") == indices.frame_of_body("watch") == FrameIndex(4)
    assert indices.body_of_frame("watch") == BodyIndex(3)
    assert indices.name(FrameIndex(4)) == indices.name(BodyIndex(3)) == "watch"
    assert repr(indices.velocity("hand.speed")) == "VelocityIndex(10)"


def test_every_conversion():
    arm = _arm()
    indices = arm.indices
    for i, body in enumerate(arm.bodies):
        assert indices.velocities_of_body(body.name) == tuple(range(arm.u_slices[i].start, arm.u_slices[i].stop))
        assert indices.coordinates_of_body(i) == tuple(range(arm.q_slices[i].start, arm.q_slices[i].stop))
        for k in indices.velocities_of_body(i):
            assert indices.body_of_velocity(k) == i
        for k in indices.coordinates_of_body(i):
            assert indices.body_of_coordinate(k) == i
    assert indices.velocities_of_coordinate("flexion") == (VelocityIndex(9),)
    assert indices.coordinates_of_velocity("flexion_dot") == (CoordinateIndex(11),)
    assert indices.velocities_of_coordinate("upper.Q2") == tuple(range(6, 9))
    assert indices.coordinates_of_velocity("base.v_x") == tuple(range(7))


def test_indices_index_arrays():
    arm = _arm()
    q = np.arange(13.0)
    assert q[arm.indices.coordinate("flexion")] == 11.0
    assert list(q[list(arm.indices.coordinates_of_body("upper"))]) == [7.0, 8.0, 9.0, 10.0]


@pytest.mark.parametrize(
    ("method", "wrong", "wanted"),
    [
        ("body", VelocityIndex(1), "body or joint index is wanted, not the generalized velocity index 1"),
        (
            "velocity",
            CoordinateIndex(1),
            "generalized velocity index is wanted, not the generalized coordinate index 1",
        ),
        ("coordinate", FrameIndex(1), "generalized coordinate index is wanted, not the frame index 1"),
        ("frame", BodyIndex(1), "frame index is wanted, not the body or joint index 1"),
        ("body", 1.5, "body or joint index or a name is wanted, not 1.5"),
        ("body", True, "body or joint index or a name is wanted, not True"),
    ],
)
def test_index_of_another_type_is_rejected(method, wrong, wanted):
    with pytest.raises(TypeError, match=wanted):
        getattr(_arm().indices, method)(wrong)


def test_unknown_names_and_numbers_are_refused():
    indices = _arm().indices
    with pytest.raises(KeyError, match="no body or joint is named 'knee'"):
        indices.body("knee")
    with pytest.raises(IndexError, match="generalized velocity index 11 is out of range: there are 11"):
        indices.velocity(11)
    with pytest.raises(IndexError, match="belongs to the ground"):
        indices.body_of_frame("ground")
    with pytest.raises(TypeError, match="typed index"):
        indices.name(3)


# ---- bad input ---------------------------------------------------------------------------------------------

BAD = {
    "inertia": ({"inertia": (1.0, 1.0, 1.0)}, "inertia must be 6 finite numbers"),
    "triangle": ({"inertia": (1.0, 1.0, 3.0, 0, 0, 0)}, r"the inertia violates the triangle .* 1 \+ 1 < 3"),
    "indefinite": ({"inertia": (1.0, 1.0, 1.0, 2.0, 0, 0)}, "the inertia is indefinite: a principal moment is -1"),
    "no mass": ({"mass": 0.0, "inertia": (1.0, 1.0, 1.0, 0, 0, 0)}, r"a body without mass must be zero, not \(1.0"),
    "masses": ({"mass": np.ones(2)}, "mass must be finite and not negative"),
    "orientation": ({"orientation": (1.0, 1.0, 0.0, 0.0)}, "orientation must be a unit quaternion"),
    "center": ({"center_of_mass": (0.0, float("nan"), 0.0)}, "center_of_mass must be 3 finite numbers"),
    "mount": ({"spring_mount": (1.0,)}, "spring_mount must be 4 finite numbers"),
    "mount length": ({"spring_mount": (1.0, 1.0, 0.0, 0.0)}, "spring_mount must hold a unit quaternion"),
    "names": ({"coordinate_names": ("a",)}, "coordinate_names must be 4 names"),
    "parent": ({"parent": "absent"}, "parent 'absent' is not a body"),
    "cycle": ({"parent": "b"}, "cycle of parents"),
    "ground's name": ({"name": "ground"}, "taken twice"),
}


@pytest.mark.parametrize("case", BAD)
def test_impossible_bodies_are_refused(case):
    changes, message = BAD[case]
    fields = {"name": "a", "parent": "ground", "joint": SphericalJoint(), "mass": 1.0} | changes
    with pytest.raises(ModelError, match=message) as caught:
        ArticulatedSystem((Body(**fields), Body("b", "a", RevoluteJoint())))
    assert caught.value.element == f"body {fields['name']!r}"


def test_gravity_is_checked():
    with pytest.raises(ModelError, match="gravity must be 3 finite numbers"):
        ArticulatedSystem((), gravity=(0.0, float("nan"), 0.0))


def test_systems_of_different_bodies_do_not_convert():
    with pytest.raises(ValueError, match="different bodies"):
        convert_velocities(_arm(), ArticulatedSystem(()), _arm().neutral(), np.zeros(11))


def test_springs_have_no_equal_in_other_coordinates():
    system = ArticulatedSystem((Body("a", "ground", EulerJoint(), mass=1.0, stiffness=2.0),))
    with pytest.raises(ModelError, match="no equal in another description"):
        with_rotations(system, "quaternion")
