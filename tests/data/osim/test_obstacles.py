"""Paths over obstacles (Scholz2015GeometryPath): read, written, and against OpenSim."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from myoquat.data import UnwrittenWarning, load_model
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.errors import ModelError
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle import (
    Model,
    Muscle,
    MusclePath,
    PathFlag,
    PathPoint,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    path_flags,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
from myoquat.muscle.laws import PathSpring
from tests.data.tables import rejected, reported

INERTIA = (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)
TURNED = tuple(np.array([0.9, 0.2, -0.3, 0.1]) / np.linalg.norm([0.9, 0.2, -0.3, 0.1]))
ALONG_X = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
LAW = PathSpring(stiffness=10.0, resting_length=0.1, dissipation=0.0)
START, LAST = PathPoint("ground", (-0.2, 0.02, 0.01)), PathPoint("link_c", (0.2, 0.04, 0.0))
BALL = WrapSphere(body="ground", radius=0.06, hint=(0.0, 0.06, 0.0), name="ball")
ROD = WrapCylinder(body="link_b", position=(0.3, 0.0, 0.0), radius=0.04, hint=(0.0, 1.0, 0.0), name="rod")
EGG = WrapEllipsoid(
    body="link_b", position=(0.0, -0.03, 0.0), radii=(0.06, 0.05, 0.06), hint=(0.0, 0.05, 0.0), name="egg"
)
RING = WrapTorus(
    body="link_a",
    position=(0.1, 0.0, 0.0),
    orientation=ALONG_X,
    ring_radius=0.06,
    tube_radius=0.02,
    hint=(0.0, 0.03, 0.0),
    name="ring",
)
PATHS = {
    "sphere": (
        (START, PathPoint("link_a", (0.2, 0.03, 0.0))),
        (replace(BALL, orientation=TURNED, hint=(0.02, 0.05, 0.0), name="turned"),),
    ),
    "cylinder": (
        (PathPoint("ground", (-0.2, -0.02, 0.03)), PathPoint("link_a", (0.2, 0.0, -0.02))),
        (WrapCylinder(body="link_a", position=(0.0, -0.01, 0.0), radius=0.05, hint=(0.0, 0.1, 0.0), name="axle"),),
    ),
    "ellipsoid": (
        (PathPoint("link_a", (0.1, 0.0, 0.03)), PathPoint("link_b", (0.2, 0.02, 0.02))),
        (replace(EGG, position=(0.0, -0.015, 0.0), orientation=TURNED, radii=(0.04, 0.05, 0.06), name="bean"),),
    ),
    "torus": ((PathPoint("ground", (-0.1, 0.03, 0.0)), PathPoint("link_a", (0.25, 0.05, 0.0))), (RING,)),
    "via": (
        (START, PathPoint("link_a", (0.15, 0.08, 0.0)), LAST),
        (replace(BALL, points=(0, 1)), replace(ROD, points=(1, 2))),
    ),
    "chain": ((START, LAST), (BALL, EGG, ROD)),
}
SPEEDS = """
model = opensim.Model(arguments[0])
model.initSystem()
coordinates = [model.getCoordinateSet().get(name) for name in "abc"]
answer = []
for q in arguments[1]:
    for coordinate, x in zip(coordinates, q):
        coordinate.setDefaultValue(x)
    state = model.initSystem()  # each pose from the hints, not from the pose before
    for name in arguments[2]:
        path = opensim.PathSpring.safeDownCast(model.getComponent("/forceset/" + name)).getPath()
        row = []
        for k in range(3):
            for i, coordinate in enumerate(coordinates):
                coordinate.setSpeedValue(state, float(i == k))
            model.realizeVelocity(state)
            row.append(path.getLengtheningSpeed(state))
        answer.append([path.getLength(state), *row])
"""


def arm(*names, **more):
    """Three links in a row."""
    bodies, parent = [], "ground"
    for name, axis, place in zip(
        "abc", ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.3, 0.3), strict=True
    ):
        joint = RevoluteJoint(axis=axis)
        bodies.append(
            Body(f"link_{name}", parent, joint, (place, 0.0, 0.0), coordinate_names=(name,), mass=1.0, inertia=INERTIA)
        )
        parent = f"link_{name}"
    muscles = tuple(Muscle(name, MusclePath(PATHS[name][0], wraps=PATHS[name][1]), LAW) for name in names or PATHS)
    return Model(ArticulatedSystem(tuple(bodies)), muscles, name="arm", **more)


def poses(n):
    return np.random.default_rng(0).uniform([-1.0, -0.5, -1.0], [0.2, 0.5, 0.1], (n, 3))


@pytest.mark.peers
def test_lengths_and_jacobians_are_opensim_s(tmp_path, in_opensim):
    model, q = arm(), poses(20)
    model.save(tmp_path / "arm.osim")
    theirs = np.array(in_opensim(SPEEDS, tmp_path / "arm.osim", q, list(PATHS)))
    theirs = theirs.reshape(20, len(PATHS), 4)
    lengths, J, flags = (f(model, q, backend="numpy") for f in (path_lengths, path_jacobian, path_flags))
    same = np.ones(lengths.shape, dtype=bool)
    # Over several surfaces the ellipsoid is left on its other side where that is shorter; there they stay on it.
    last = list(PATHS).index("chain")
    same[:, last] = np.abs(theirs[:, last, 0] - lengths[:, last]) < 1e-3
    assert (theirs[:, last, 0] > lengths[:, last] - 1e-9).all()
    assert same[:, last].mean() > 0.9
    assert not (flags[same] & PathFlag.UNSOLVED).any()
    assert (flags & PathFlag.WRAPPED).any(axis=0).all()
    assert np.abs(theirs[..., 0] - lengths)[same].max() < 1e-9
    assert np.abs(theirs[..., 1:] - J)[same].max() < 1e-5  # theirs is smooth to 1e-5 where it comes onto a surface


def test_an_obstacle_that_is_a_surface_of_contact_is_written_once(tmp_path):
    sphere = ContactSphere("ball", "ground", (0.0, 0.0, 0.0), 0.06)
    floor = ContactHalfSpace("floor", "link_a", (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
    force = HuntCrossley("rub", (ContactMaterial((sphere, floor), stiffness=1e6),))
    arm(forces=(force,)).save(tmp_path / "arm.osim")
    assert load_model(tmp_path / "arm.osim").forces == (force,)
    assert (tmp_path / "arm.osim").read_text().count('<ContactSphere name="ball">') == 1


def test_offset_frames_place_points_and_obstacles(tmp_path):
    arm("cylinder").save(tmp_path / "arm.osim")
    text = (tmp_path / "arm.osim").read_text()
    frame = (
        '<components><PhysicalOffsetFrame name="f"><socket_parent>/bodyset/link_a</socket_parent>'
        "<translation>0.1 0 0</translation><orientation>0 0 1.5707963267948966</orientation>"
        "</PhysicalOffsetFrame></components>"
    )
    at = text.index('<ContactCylinder name="axle">')
    moved = text[:at] + text[at:].replace("/bodyset/link_a", "/f", 1).replace("0.0 -0.01 0.0", "-0.01 0.1 0", 1)
    moved = moved.replace("<contact_hint>0.0 0.1 0.0", "<contact_hint>0.1 0.0 0.0").replace(
        "<gravity>", frame + "<gravity>"
    )
    (tmp_path / "moved.osim").write_text(moved)
    q = poses(20)
    np.testing.assert_allclose(
        path_lengths(load_model(tmp_path / "moved.osim"), q), path_lengths(arm("cylinder"), q), rtol=1e-12
    )


test_what_is_not_supported_is_reported = reported(
    arm("torus"), "arm.osim",
    ("ContactTorus", "ContactMesh", "around a ContactMesh"),
    ("<contact_hint>0.0 0.03 0.0", "<contact_hint>0.0 0.08 0.0", "outside of a torus"),
    holds=lambda model: model.muscles[0].path.wraps == (),
)  # fmt: skip


test_a_hint_without_a_side_is_the_shorter_way = reported(
    arm("cylinder"), "arm.osim",
    ("<contact_hint>0.0 0.1 0.0", "<contact_hint>0 0 0.3", "hint in the middle"),
    holds=lambda model: model.muscles[0].path.wraps == (replace(PATHS["cylinder"][1][0], hint=None),),
)  # fmt: skip


test_broken_files_raise_a_named_error = rejected(
    arm("cylinder"), "arm.osim",
    ("/contactgeometryset/axle", "/contactgeometryset/nothing", "no contact geometry 'nothing'"),
    ("Scholz2015GeometryPathPoint", "Nothing", "begin and end"),
    ("<path_elements>", "<path_elements><Scholz2015GeometryPathPoint/>", "needs a <PathPoint>"),
    ("<radius>0.05", "<radius>-1", "radius must be positive"),
)  # fmt: skip


def with_wraps(*wraps):
    model = arm("chain")
    return replace(model, muscles=(replace(model.muscles[0], path=replace(model.muscles[0].path, wraps=wraps)),))


@pytest.mark.parametrize(
    ("wraps", "words"),
    [
        ((BALL, replace(ROD, hint=None)), "with a hint and others"),
        ((replace(ROD, length=0.1),), "cylinders without ends"),
    ],
)
def test_what_opensim_has_not_is_not_written(tmp_path, wraps, words):
    with pytest.raises(ModelError, match=words):
        with_wraps(*wraps).save(tmp_path / "arm.osim")
    model = arm("via")
    whole = replace(model.muscles[0], path=replace(model.muscles[0].path, wraps=(BALL,)))
    with pytest.raises(ModelError, match="between two points"):
        replace(model, muscles=(whole,)).save(tmp_path / "arm.osim")


def test_mujoco_gets_sides(tmp_path):
    with pytest.warns(UnwrittenWarning, match="hints of wrapping surfaces, written as sides"):
        arm("cylinder").save(tmp_path / "arm.xml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrap = load_model(tmp_path / "arm.xml").muscles[0].path.wraps[0]
    ahead = wrap.direction_in_body(wrap.ahead)
    np.testing.assert_allclose(ahead, [0.0, 1.0, 0.0], atol=1e-15)
