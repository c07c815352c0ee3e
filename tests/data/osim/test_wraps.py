"""Wrap objects of OpenSim files: what is read of them, on which pieces they act, and what OpenSim makes of them."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.data.reports import ImplausibleWarning
from myoquat.muscle import PathFlag, path_flags, path_lengths
from tests.data.tables import rejected, reported

BODY = """<Body name="{name}"><mass>1</mass><mass_center>0 -0.1 0</mass_center><inertia>0.01 0.01 0.01 0 0 0</inertia>
<WrapObjectSet><objects>{surfaces}</objects></WrapObjectSet></Body>"""
JOINT = """<PinJoint name="{name}"><socket_parent_frame>{parent}</socket_parent_frame>
<socket_child_frame>/bodyset/{child}</socket_child_frame><coordinates><Coordinate name="{name}"><default_value>0.2
</default_value><range>-0.5 2.2</range></Coordinate></coordinates><frames>
<PhysicalOffsetFrame name="at"><socket_parent>/{base}</socket_parent><translation>0 {y} 0</translation>
<orientation>0 0 0</orientation></PhysicalOffsetFrame></frames></PinJoint>"""
MUSCLE = """<PathActuator name="{name}"><GeometryPath name="path"><PathPointSet><objects>{points}</objects>
</PathPointSet><PathWrapSet><objects>{wraps}</objects></PathWrapSet></GeometryPath></PathActuator>"""
POINT = (
    """<PathPoint name="{n}"><socket_parent_frame>/{body}</socket_parent_frame><location>{at}</location></PathPoint>"""
)
WRAP = """<PathWrap name="w{n}"><wrap_object>{surface}</wrap_object><range>{range}</range></PathWrap>"""

SURFACES = """
<WrapCylinder name="elbow"><xyz_body_rotation>0.1 -0.05 0</xyz_body_rotation><translation>0.005 -0.3 0</translation>
<quadrant>{quadrant}</quadrant><radius>0.025</radius><length>0.3</length></WrapCylinder>
<WrapSphere name="ball"><xyz_body_rotation>0 0 0</xyz_body_rotation><translation>0.01 -0.29 0.005</translation>
<quadrant>all</quadrant><radius>0.03</radius></WrapSphere>
<WrapEllipsoid name="knob"><xyz_body_rotation>0.3 0.2 -0.1</xyz_body_rotation><translation>0 -0.29 0</translation>
<quadrant>all</quadrant><dimensions>0.03 0.02 0.025</dimensions></WrapEllipsoid>
<WrapTorus name="ring"><xyz_body_rotation>1.5707963 0 0</xyz_body_rotation><translation>0.03 -0.2 0</translation>
<inner_radius>0.01</inner_radius><outer_radius>0.03</outer_radius></WrapTorus>
<WrapCylinder name="unused"><active>false</active><radius>0.1</radius><length>1</length></WrapCylinder>"""

STRAIGHT = ("bodyset/upper", "0.035 -0.1 0.01"), ("bodyset/lower", "0.03 -0.1 -0.005")
BACK = ("bodyset/upper", "-0.04 -0.1 0.01"), ("bodyset/lower", "-0.03 -0.1 -0.005")


def points(*given):
    return "".join(POINT.format(n=f"p{i}", body=body, at=at) for i, (body, at) in enumerate(given))


def wraps(*given):
    return "".join(WRAP.format(n=i, surface=name, range=span) for i, (name, span) in enumerate(given))


MUSCLES = {
    "front_cylinder": (STRAIGHT, [("elbow", "-1 -1")]),
    "back_cylinder": (BACK, [("elbow", "-1 -1")]),
    "sphere": (BACK, [("ball", "1 2")]),
    "ellipsoid": (BACK, [("knob", "-1 -1")]),
    "off": (BACK, [("unused", "-1 -1")]),
    "long": (
        (("ground", "-0.04 0.05 0"), *BACK, ("bodyset/lower", "-0.03 -0.2 0")),
        [("elbow", "-1 -1")],
    ),
}


def document(muscles=MUSCLES, quadrant="all", surfaces=SURFACES):
    bodies = BODY.format(name="upper", surfaces=surfaces.format(quadrant=quadrant)) + BODY.format(
        name="lower", surfaces=""
    )
    joints = JOINT.format(name="shoulder", parent="at", child="upper", base="ground", y=0.0)
    joints += JOINT.format(name="elbow_flexion", parent="at", child="lower", base="bodyset/upper", y=-0.3)
    forces = "".join(MUSCLE.format(name=n, points=points(*p), wraps=wraps(*w)) for n, (p, w) in muscles.items())
    return f"""<?xml version="1.0" encoding="UTF-8"?><OpenSimDocument Version="40600"><Model name="arm">
<gravity>0 -9.81 0</gravity><BodySet><objects>{bodies}</objects></BodySet>
<JointSet><objects>{joints}</objects></JointSet><ForceSet><objects>{forces}</objects></ForceSet></Model></OpenSimDocument>"""


@pytest.fixture
def read(tmp_path):
    def load(*arguments, **named):
        path = tmp_path / "arm.osim"
        path.write_text(document(*arguments, **named))
        return load_model(path), path

    return load


def test_contact_at_few_poses_is_found(read):
    """The first piece meets the knob in less than 1 % of the range, the last one never."""
    size, place = 0.0012, np.array([0.3, -0.186])
    knob = f"""<WrapEllipsoid name="knob"><translation>{place[0]} {place[1]} 0</translation>
<dimensions>{size} {size} {size}</dimensions></WrapEllipsoid>"""
    way = ("ground", "0 0.4 0"), ("bodyset/upper", "0.2 -0.4 0"), ("bodyset/upper", "0.32 -0.25 0")
    model = read({"m": (way, [("knob", "-1 -1")])}, surfaces=knob)[0]
    q = np.zeros((4001, 2))
    q[:, 0] = np.linspace(-0.5, 2.2, 4001)
    # in the frame of the upper arm the first point moves on a circle
    A, B = 0.4 * np.stack([np.sin(q[:, 0]), np.cos(q[:, 0])], axis=-1), np.array([0.2, -0.4])
    share = np.sum((place - A) * (B - A), axis=-1) / np.sum((B - A) ** 2, axis=-1)
    met = np.linalg.norm(A + share[:, None] * (B - A) - place, axis=-1) < size
    assert 0 < met.mean() < 0.01
    np.testing.assert_array_equal((path_flags(model, q)[:, 0] & PathFlag.WRAPPED) > 0, met)


def test_a_surface_that_touches_two_pieces_is_flagged(read):
    way = ("ground", "-0.2 -0.28 0"), ("ground", "0.2 -0.28 0"), ("ground", "-0.2 -0.3 0")
    for last, flagged in ((way[2], True), (("ground", "0.2 -0.1 0"), False)):
        model, _ = read({"m": ((*way[:2], last), [("ball", "-1 -1")])})
        assert (path_flags(model, np.zeros(2))[0] & PathFlag.REPEATED > 0) == flagged


OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
forces = [model.getForceSet().get(i) for i in range(model.getForceSet().getSize())]
actuators = [opensim.PathActuator.safeDownCast(f) for f in forces]
answer = []
for q in arguments[1]:
    state = model.initializeState()
    for c, x in zip(coordinates, q):
        c.setValue(state, x, False)
    model.realizePosition(state)
    answer.append([a.getGeometryPath().getLength(state) for a in actuators])
"""


@pytest.mark.peers
def test_lengths_are_near_opensims(read, in_opensim, rng):
    """OpenSim lets the tangent points of a cylinder be, and does not quite follow an ellipsoid's geodesic."""
    model, path = read()
    q = rng.uniform(-0.5, 2.2, (60, 2))
    theirs = np.array(in_opensim(OPENSIM, path, q))
    mine, flags = path_lengths(model, q), path_flags(model, q)
    assert (flags[:, :4] & 1).any(axis=0).all()
    error = np.where(flags & ~1, 0.0, np.abs(mine - theirs)).max(axis=0)
    by_name = dict(zip(model.muscle_names, error, strict=True))
    assert by_name["sphere"] < 1e-9
    assert by_name["off"] < 1e-12
    assert max(by_name.values()) < 5e-4
    assert (mine - theirs)[flags == 1].max() < 1e-5  # ours are shortest


@pytest.mark.peers
def test_other_side_is_flagged_just_where_opensims_length_differs(read, in_opensim, rng):
    """Across the axis, where OpenSim's tangent points are exact: 60 random pairs of points at 8 poses."""
    pairs = rng.uniform(-0.15, 0.15, (60, 2, 2)) + np.array([[0, -0.1], [0, 0]])
    bodies = "bodyset/upper", "bodyset/lower"
    way = [[(body, f"{x} {y} 0") for body, (x, y) in zip(bodies, pair, strict=True)] for pair in pairs]
    muscles = {f"m{k}": (points, [("elbow", "-1 -1")]) for k, points in enumerate(way)}
    surfaces = SURFACES.replace("0.1 -0.05 0<", "0 0 0<").replace("0.3</length>", "1</length>")
    model, path = read(muscles, quadrant="-y", surfaces=surfaces)
    q = rng.uniform(-0.5, 2.2, (8, 2))
    differs = np.abs(path_lengths(model, q) - in_opensim(OPENSIM, path, q)) > 1e-9
    assert differs.any()
    np.testing.assert_array_equal((path_flags(model, q) & PathFlag.OTHER_SIDE) > 0, differs)


ALONG = ("ground", "-0.04 0.05 0"), *BACK, ("bodyset/lower", "-0.03 -0.2 0")
TWO = {"two": (ALONG, [("elbow", "-1 -1"), ("knob", "-1 3")])}  # the file's order is not that of the path


def stated(path):
    """What a file says of its <PathWrap>s."""
    wraps = ElementTree.parse(path).iter("PathWrap")
    return [tuple(wrap.findtext(tag, "") for tag in ("wrap_object", "method", "range")) for wrap in wraps]


def acting(model):
    """The surfaces of the first path, in their order, and where they act."""
    return [(wrap.name, wrap.points) for wrap in model.muscles[0].path.wraps]


def two(read):
    """A model whose file states other ranges and another order than those in which its surfaces act, and a method."""
    _, path = read(TWO, surfaces=SURFACES.replace("0.005 -0.3 0<", "0.005 -0.31 0<"))
    path.write_text(path.read_text().replace("<range>-1 3", "<method>axial</method><range>-1 3"))
    return load_model(path), path


def test_order_ranges_and_methods_of_a_file_are_written_again(read, tmp_path):
    model, _ = two(read)
    assert acting(model) == [("elbow", None), ("knob", (0, 2))]
    model.save(tmp_path / "again.osim")
    assert stated(tmp_path / "again.osim") == [("elbow", "hybrid", "-1 -1"), ("knob", "axial", "1 3")]
    again = load_model(tmp_path / "again.osim")
    assert acting(again) == acting(model)
    assert [wrap.method for wrap in again.muscles[0].path.wraps] == ["hybrid", "axial"]


def test_surfaces_that_were_changed_are_written_as_they_act(read, tmp_path):
    model, _ = two(read)
    elbow, knob = model.muscles[0].path.wraps
    for k, wraps in enumerate(
        [(replace(elbow, points=None), knob), (elbow, knob), (knob, replace(elbow, points=(0, 2)))]
    ):
        changed = replace(model, muscles=(replace(model.muscles[0], path=replace(model.muscles[0].path, wraps=wraps)),))
        changed.save(tmp_path / f"{k}.osim")
        assert acting(load_model(tmp_path / f"{k}.osim")) == acting(changed)


@pytest.mark.peers
def test_opensim_finds_the_lengths_of_the_original_in_a_written_file(read, tmp_path, rng, in_opensim):
    """They depend on the order and the ranges."""
    model, path = two(read)
    model.save(tmp_path / "again.osim")
    q = rng.uniform(-0.5, 2.2, (60, 2))
    original, again = (np.array(in_opensim(OPENSIM, file, q)) for file in (path, tmp_path / "again.osim"))
    np.testing.assert_allclose(again, original, rtol=0, atol=1e-8)


test_paths_that_name_what_is_not_there = rejected(
    document({"m": (BACK, [("elbow", "-1 -1")])}), "arm.osim",
    ("elbow</wrap_object>", "nothing</wrap_object>", "names 'nothing', which is no wrap object"),
    ("<range>-1 -1", "<range>2 2", "leaves no piece of a path of 2 points"),
    ("<range>-1 -1", "<range>one 2", "<range> must be 2 finite numbers"),
    ("<radius>0.025</radius>", "<radius>0</radius>", "radius must be positive"),
)  # fmt: skip


def test_an_element_of_another_name_among_path_wraps_is_read_as_one(read):
    model, path = read({"m": MUSCLES["sphere"]})
    path.write_text(path.read_text().replace("PathWrap ", "Wrapped ").replace("</PathWrap>", "</Wrapped>"))
    assert load_model(path).muscles == model.muscles


test_a_quadrant_that_means_nothing_is_reported = reported(
    document(), "arm.osim", ("<quadrant>all", "<quadrant>z", "quadrant 'z'; read as all"), times=1
)


def test_point_inside_a_surface_of_its_own_body_is_reported_once_and_not_flagged(read, tmp_path):
    """An end of another body, which may come into the surface, is flagged where it does."""
    held = ("bodyset/upper", "0.01 -0.29 0"), ("bodyset/lower", "0.03 -0.1 0")
    report = r"hold a point of their body, passed over there \(ball of held\)"
    with pytest.warns(ImplausibleWarning, match=report):
        model, _ = read({"held": (held, [("ball", "-1 -1")])})
    model.save(tmp_path / "held.toml")
    with pytest.warns(ImplausibleWarning, match=report):
        load_model(tmp_path / "held.toml")
    coming = ("bodyset/upper", "0.03 -0.1 0"), ("bodyset/lower", "0.01 0.01 0")
    other, _ = read({"coming": (coming, [("ball", "-1 -1")])})
    found = [path_flags(m, np.zeros(2))[0] & PathFlag.INSIDE for m in (model, other)]
    assert found == [0, PathFlag.INSIDE]
