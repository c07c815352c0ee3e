"""Reading and writing URDF, and what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.data.reports import ImplausibleWarning
from myoquat.data.urdf import load_urdf, write_urdf
from myoquat.joints import (
    ArticulatedSystem,
    Body,
    EulerJoint,
    ModelError,
    RevoluteJoint,
    SphericalJoint,
    rotation_matrix,
)
from myoquat.joints.multibody.sampling import random_system
from myoquat.joints.vectors import axis_angle_matrix, full
from tests.data.tables import rejected

ARM = Path(__file__).parents[1] / "data" / "arm.urdf"


@pytest.fixture
def arm():
    return load_urdf(ARM)


def test_order_is_root_first_then_as_in_the_file(arm):
    assert arm.body_names == ("base", "lower", "upper", "hand", "tip")
    assert arm.ground == "world"
    assert arm.name == "arm"
    assert [body.joint_name for body in arm.bodies] == ["", "elbow", "shoulder", "wrist", "tool"]
    assert arm.coordinate_names[:2] == ("elbow", "upper.Q0")


def test_order_can_be_given():
    arm = load_urdf(ARM, joint_order=["base", "shoulder", "elbow", "wrist", "tip"])
    assert arm.body_names == ("base", "upper", "lower", "hand", "tip")


def test_numbers_of_the_file(arm):
    upper = arm.bodies[arm.indices.body("upper")]
    assert (upper.mass, upper.damping, upper.stiffness, upper.rotor_inertia) == (2.0, 0.2, 5.0, 0.01)
    assert upper.spring_mount == (0.8, 0.6, 0.0, 0.0)
    R = axis_angle_matrix((0, 0, 1), 0.3) @ axis_angle_matrix((0, 1, 0), 0.2) @ axis_angle_matrix((1, 0, 0), 0.1)
    inertia = np.array([[0.02, 0.001, 0.0], [0.001, 0.02, 0.0], [0.0, 0.0, 0.004]])
    np.testing.assert_allclose(full(np.array(upper.inertia)), R @ inertia @ R.T, atol=1e-17)
    elbow = arm.bodies[arm.indices.body("elbow")]
    assert elbow.joint == RevoluteJoint((0.0, 1.0, 0.0))
    assert (elbow.damping, elbow.rotor_inertia) == (0.1, 0.03)
    R_elbow = rotation_matrix(np.array(elbow.orientation))
    np.testing.assert_allclose(R_elbow, axis_angle_matrix((0, 0, 1), 0.5), atol=1e-15)


def test_shapes_are_kept_as_data(arm, tmp_path):
    """The height of a capsule is its length, as urdfdom and MuJoCo call it, which is written."""
    bone, box = arm.bodies[arm.indices.body("upper")].shapes
    assert (bone.kind, bone.sizes, bone.purpose, bone.name) == ("capsule", (0.03, 0.24), "visual", "bone")
    assert (bone.material, bone.color, bone.position) == ("blue", (0.0, 0.0, 0.8, 1.0), (0.0, 0.0, -0.15))
    assert (box.kind, box.purpose) == ("box", "collision")
    mesh = arm.bodies[arm.indices.body("lower")].shapes[0]
    assert (mesh.file, mesh.sizes) == ("package://arm/lower.stl", (0.001, 0.001, 0.001))
    write_urdf(arm, tmp_path / "arm.urdf")
    assert '<capsule radius="0.03" length="0.24"/>' in (tmp_path / "arm.urdf").read_text()
    assert load_urdf(tmp_path / "arm.urdf").bodies[arm.indices.body("upper")].shapes[0].sizes == bone.sizes


def test_base(arm):
    assert (arm.nq, arm.nu) == (6, 5)
    floating = load_urdf(ARM, base="floating")
    assert (floating.nq, floating.nu) == (13, 11)
    assert floating.bodies[0].joint.kind == "floating"
    with pytest.raises(ValueError, match="base is one of fixed, floating"):
        load_urdf(ARM, base="loose")


def test_fixed_bodies_are_merged_and_stay_addressable(arm):
    assert len(arm.tree.links) == 3
    frame = arm.tree.frames["tip"]
    assert arm.tree.links[frame.link].name == "hand"
    np.testing.assert_allclose(frame.p, (0, 0, -0.1))


def test_velocity_frame_belongs_to_the_model():
    assert load_urdf(ARM, velocity_frame="parent").bodies[2].joint == SphericalJoint(velocity_frame="parent")


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_writes_what_it_reads(tmp_path, base):
    arm = load_urdf(ARM, base=base)
    write_urdf(arm, tmp_path / "copy.urdf")
    again = load_urdf(tmp_path / "copy.urdf", base=base)
    _same(arm, again)


def test_writes_systems_made_in_python(tmp_path):
    rng = np.random.default_rng(0)
    system = random_system(8, rng, ("fixed", "revolute", "prismatic", "spherical", "planar", "floating"), passive=True)
    write_urdf(system, tmp_path / "made.urdf")
    again = load_urdf(tmp_path / "made.urdf")
    assert again.body_names == ("ground", *system.body_names)
    for body, other in zip(system.bodies, again.bodies[1:], strict=True):
        _same_body(body, other)


def _same(a, b):
    assert a.body_names == b.body_names
    for body, other in zip(a.bodies, b.bodies, strict=True):
        _same_body(body, other)


def _same_body(a, b):
    assert (a.name, a.parent, a.mass, a.damping, a.stiffness) == (b.name, b.parent, b.mass, b.damping, b.stiffness)
    assert (a.rotor_inertia, a.spring_mount, type(a.joint)) == (b.rotor_inertia, b.spring_mount, type(b.joint))
    for key in ("position", "center_of_mass", "inertia"):
        np.testing.assert_allclose(getattr(a, key), getattr(b, key), atol=1e-15)
    np.testing.assert_allclose(rotation_matrix(a.orientation), rotation_matrix(b.orientation), atol=1e-14)
    np.testing.assert_allclose(getattr(a.joint, "axis", 0.0), getattr(b.joint, "axis", 0.0), atol=1e-15)
    assert [(s.kind, s.sizes, s.file, s.color) for s in a.shapes] == [
        (s.kind, s.sizes, s.file, s.color) for s in b.shapes
    ]


def test_urdf_has_no_euler_joint(tmp_path):
    system = ArticulatedSystem((Body("a", "ground", EulerJoint()),))
    with pytest.raises(ModelError, match="knows no euler joint"):
        write_urdf(system, tmp_path / "a.urdf")


# ---- bad input ---------------------------------------------------------------------------------------------

LINKS = '<link name="a"/><link name="b"/><link name="c"/>'


def _joint(name, parent, child, inner="", joint_type="revolute"):
    return f'<joint name="{name}" type="{joint_type}"><parent link="{parent}"/><child link="{child}"/>{inner}</joint>'


def _inertial(mass="1", moments=("1", "1", "1"), mixed=("0", "0", "0")):
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    inertia = " ".join(f'{key}="{x}"' for key, x in zip(keys, (*moments, *mixed), strict=True))
    return f'<link name="a"/>\n<link name="b"><inertial><mass value="{mass}"/><inertia {inertia}/></inertial></link>'


def _robot(*lines):
    return "\n".join(["<robot>", *lines, "</robot>"])


def _ab(inner):
    """A joint between links a and b in line 3."""
    return _robot('<link name="a"/><link name="b"/>', _joint("j", "a", "b", inner))


def _link(inner):
    return _robot(f'<link name="a">{inner}</link>')


TREE = _joint("j", "a", "b")
CYCLE = _robot(LINKS, _joint("j", "b", "c"), _joint("k", "c", "b"))
WHOLE_CYCLE = _robot(LINKS, _joint("i", "a", "b"), _joint("j", "b", "c"), _joint("k", "c", "a"))
MOUNT = _ab('<dynamics spring_mount="1 1 0 0"/>').replace("revolute", "spherical")
SPHERE = '<collision><geometry><sphere radius="-1"/></geometry></collision>'
BAD = {  # file, message, line
    "not XML": ("<robot>", "not valid XML", 1),
    "other root": ("<mujoco/>", "begins with <robot>", 1),
    "entity": ('<!DOCTYPE r [<!ENTITY e "x">]>\n<robot/>', "document types and entities", 1),
    "external entity": ('\n<!DOCTYPE r SYSTEM "file:///etc/passwd">\n<robot/>', "document types and entities", 2),
    "no links": ("<robot/>", "no <link>", 1),
    "cycle": (CYCLE, "cycle of joints through the links c, b", 3),
    "all in a cycle": (WHOLE_CYCLE, "cycle of joints through the links b, a, c", 3),
    "its own parent": (_robot(LINKS, _joint("j", "a", "b"), _joint("k", "c", "c")), "cycle .* the links c", 4),
    "two parents": (_robot(LINKS, _joint("j", "a", "c"), _joint("k", "b", "c")), "two parents.*'j'", 4),
    "two roots": (_robot(LINKS, TREE), "second root", 2),
    "missing link": (_robot(LINKS, _joint("j", "a", "absent")), "no link 'absent'", 3),
    "no parent": (_robot(LINKS, '<joint name="j" type="fixed"><child link="a"/></joint>'), "needs <parent", 3),
    "name twice": (_robot('<link name="a"/>', '<link name="a"/>'), "taken by the link in line 2", 3),
    "no name": (_robot("<link/>"), "needs the attribute 'name'", 2),
    "joint type": (_ab("").replace("revolute", "screw"), "unknown joint type 'screw'", 3),
    "negative mass": (_robot(_inertial(mass="-1"), TREE), "mass must not be negative", 3),
    "NaN": (_robot(_inertial(mass="nan"), TREE), "1 finite number, not 'nan'", 3),
    "infinite": (_robot(_inertial(moments=("inf", "1", "1")), TREE), "finite number", 3),
    "text": (_robot(_inertial(mass="heavy"), TREE), "not 'heavy'", 3),
    "triangle": (_robot(_inertial(moments=("1", "1", "3")), TREE), r"triangle inequality: .* 1 \+ 1 < 3", 3),
    "indefinite": (_robot(_inertial(mixed=("2", "0", "0")), TREE), "indefinite.*-1", 3),
    "no inertia": (_link('<inertial><mass value="1"/></inertial>'), "needs <mass> and <inertia>", 2),
    "zero axis": (_ab('<axis xyz="0 0 0"/>'), "length zero", 3),
    "axis of two": (_ab('<axis xyz="0 0"/>'), "3 finite numbers", 3),
    "damping": (_ab('<dynamics damping="-1"/>'), "damping must not be", 3),
    "mount": (_ab('<dynamics spring_mount="1 0"/>'), "1 finite number", 3),
    "mount length": (MOUNT, "must hold a unit quaternion", 3),
    "no shape": (_link("<visual/>"), "<visual> needs <geometry>", 2),
    "two shapes": (_link("<visual><geometry><box/><box/></geometry></visual>"), "one shape, not 2", 2),
    "negative size": (_link(SPHERE), "sizes of a <sphere> must not be negative", 2),
    "no size": (_link("<visual><geometry><box/></geometry></visual>"), "needs the attribute 'size'", 2),
    "origin twice": (_ab("<origin/><origin/>"), "more than one <origin>", 3),
    "no type": (_ab("").replace(' type="revolute"', ""), "needs the attribute 'type'", 3),
    "negative rotor": (_ab('<dynamics rotor inertia="-1"/>'), "rotor_inertia must not be", 3),
    "null": ("<robot>\n\x00</robot>", "not valid XML", 2),
    "shape": (_link("<visual><geometry><cone/></geometry></visual>"), "unknown geometry <cone>", 2),
    "empty": ("   ", "empty", 1),
    "deep": ("<robot>" + "<a>" * 3000 + "</a>" * 3000 + "</robot>", "not valid XML", 1),
}


test_bad_files_are_refused_with_their_place = rejected(
    "TEXT", "bad.urdf", *(("TEXT", text, message, line) for text, message, line in BAD.values()), read=load_urdf
)


def test_entities_are_never_expanded(tmp_path):
    """A document type cannot hide in another encoding either."""
    bomb = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE r [<!ENTITY e "x">]><robot name="&e;"/>'
    path = tmp_path / "bomb.urdf"
    path.write_bytes(bomb.encode("utf-16"))
    with pytest.raises(ModelError, match="document types and entities are refused"):
        load_urdf(path)
    path.write_text('<robot><link name="&undeclared;"/></robot>')
    with pytest.raises(ModelError):
        load_urdf(path)


def test_directories_and_missing_files(tmp_path):
    with pytest.raises(ModelError, match="a directory"):
        load_urdf(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_urdf(tmp_path / "absent.urdf")


def test_mimicking_joints_warn(tmp_path):
    path = tmp_path / "mimic.urdf"
    mimic = _joint("k", "b", "c", '<mimic joint="j"/>')
    path.write_text(f"<robot>{LINKS}{_joint('j', 'a', 'b')}{mimic}</robot>")
    with pytest.warns(UserWarning, match=re.escape("joint 'k' mimics another")):
        assert load_urdf(path).nu == 2


def test_a_link_may_be_called_world(tmp_path):
    path = tmp_path / "world.urdf"
    path.write_text(f'<robot><link name="world"/><link name="b"/>{_joint("j", "world", "b")}</robot>')
    system = load_urdf(path)
    assert (system.ground, system.body_names) == ("world_", ("world", "b"))


@pytest.mark.parametrize(
    ("mass", "moments", "reason"),
    [
        ("1", ("1", "1", "2.0001"), "links whose inertia breaks the triangle inequality"),
        ("1", ("0.0006", "0.0006", "0.0014"), "links whose inertia breaks the triangle inequality"),
        ("0", ("1", "1", "1"), "links with inertia and without mass"),
    ],
)
@pytest.mark.parametrize("read", [load_urdf, lambda path: load_model(path).system])
def test_inertias_that_are_nearly_possible_warn(tmp_path, mass, moments, reason, read):
    """Pinocchio reads them as they stand too (tests/dynamics/test_pinocchio_urdf.py); `strict` raises an error."""
    path = tmp_path / "thin.urdf"
    path.write_text(_robot(_inertial(mass=mass, moments=moments), TREE))
    with pytest.warns(ImplausibleWarning, match=rf"thin\.urdf: .*{reason} \(b\)"):
        system = read(path)
    assert system.bodies[1].inertia[:3] == tuple(map(float, moments))
    with pytest.raises(ModelError, match=reason):
        load_model(path, strict=True)
    write_urdf(system, tmp_path / "again.urdf")
    with pytest.warns(ImplausibleWarning):
        _same(system, load_urdf(tmp_path / "again.urdf"))


def test_long_chains_are_read_in_linear_time(tmp_path):
    """A search for cycles that walks every chain anew would take minutes on a hostile file of this size."""
    n = 1000
    links = "".join(f'<link name="l{i}"/>' for i in range(n))
    joints = "".join(_joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(n - 1))
    path = tmp_path / "chain.urdf"
    path.write_text(_robot(links, joints))
    assert load_urdf(path).nq == n - 1


@pytest.mark.parametrize("rpy", ["0 1.5707963267948966 0", "0.3 -1.5707963267948966 0.2", "0.1 1.5707963 0.2"])
def test_turns_at_the_lock_of_rpy_are_written_exactly(tmp_path, rpy):
    path = tmp_path / "lock.urdf"
    path.write_text(_ab(f'<origin rpy="{rpy}"/>'))
    first = load_urdf(path)
    write_urdf(first, tmp_path / "again.urdf")
    _same(first, load_urdf(tmp_path / "again.urdf"))
