"""What the viewer draws: lines against path lengths, limbs, geometry files, motions, sliders."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import myoquat as mq
from myoquat.apps.viewer import view
from myoquat.apps.viewer.films import film_of
from myoquat.apps.viewer.scene import FIELD, FrameCache, Scene, arrow, limb, solid, surface, tube, tubes
from myoquat.apps.viewer.window import PoseControls
from myoquat.data import Forces, load_model
from myoquat.data.meshes import read_mesh
from myoquat.data.motions import Motion
from myoquat.joints import quaternion_conjugate, quaternion_exp, quaternion_multiply, rotation_matrix
from myoquat.joints.functions import Constant
from myoquat.joints.multibody.body import Shape
from myoquat.muscle import Model, PathPoint, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus, path_lengths
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.display import polylines, stick_figure
from tests.bodies import on_hinge, on_slide

GEOMETRY = Path(__file__).parents[3] / "data" / "models" / "geometry"
SHOULDER = Path(__file__).parents[3] / "notebooks" / "shoulder.osim"


@pytest.fixture(scope="module")
def shoulder():
    return load_model(SHOULDER, "quaternion")


def drawn(line):
    """The lengths of lines in poses."""
    return np.linalg.norm(np.diff(line, axis=1), axis=-1).sum(axis=-1)


def test_lines_are_those_of_the_stick_figure_and_as_long_as_the_paths(shoulder, rng):
    q = shoulder.system.random(12, rng)
    lines, lengths = polylines(shoulder, q), path_lengths(shoulder, q)
    for k, muscle in enumerate(shoulder.muscles):
        np.testing.assert_allclose(
            drawn(lines[k]), lengths[:, k], rtol=0.05
        )  # a curve on a surface is a few straight pieces
        single = stick_figure(shoulder, q[3]).muscles[muscle.name]
        own = lines[k][3]
        kept = np.r_[True, np.linalg.norm(np.diff(own, axis=0), axis=-1) > 1e-12]
        apart = np.r_[True, np.linalg.norm(np.diff(single, axis=0), axis=-1) > 1e-12]
        np.testing.assert_allclose(own[kept], single[apart], atol=1e-9)


def test_the_camera_sees_the_whole_motion():
    ball = Shape("sphere", (0.1,))
    sled = on_slide("sled", shapes=(ball,))
    model = mq.Model(mq.ArticulatedSystem((sled,), gravity=(0, 0, -9.81)))
    still, moving = (Scene(model, np.zeros(1), (), motion) for motion in (None, np.linspace(0, 4, 9)[:, None]))
    sizes = []
    for scene in (still, moving):
        eye, middle = scene.camera
        toward = (eye - middle) / np.linalg.norm(eye - middle)
        across = np.cross(scene.up, toward) / np.linalg.norm(np.cross(scene.up, toward))
        seen = np.array([[0.0, 0, 0], [4.0, 0, 0]]) - eye
        sizes.append(np.abs(seen @ across / -(seen @ toward)) / np.tan(FIELD / 2))
    assert sizes[0][1] > 1 > sizes[1].max()  # without the motion, its end is outside
    assert moving.size == still.size  # muscles stay as thick


def wrapped(wrap, ground, end):
    """A hinge with a muscle over a surface of the ground."""
    path = mq.muscle.MusclePath((*(PathPoint("ground", p) for p in ground), PathPoint("end", end)), wraps=(wrap,))
    return mq.Model(mq.ArticulatedSystem((on_hinge("end"),)), (mq.Muscle("m", path),))


@pytest.mark.parametrize("turn", [60.0, 140.0, 230.0])
def test_lines_follow_a_cylinder_evenly_beyond_half_a_turn(turn):
    cylinder = WrapCylinder(body="ground", radius=1.0, quadrant="+y")
    model, q = wrapped(cylinder, [(1.2, -0.2, 0.0)], (0.0, 1.7, 0.4)), np.radians([[turn]])
    (line,) = polylines(model, q)
    on = line[0][1:-1]  # without the ends
    np.testing.assert_allclose(np.hypot(on[:, 0], on[:, 1]), 1.0, atol=1e-12)
    steps = np.linalg.norm(np.diff(on, axis=0), axis=-1)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    np.testing.assert_allclose(drawn(line), path_lengths(model, q)[:, 0], rtol=5e-3)


def test_lines_around_a_surface_between_points_that_stand_still():
    ball = WrapSphere(body="ground", radius=0.1, points=(0, 1))
    model, q = wrapped(ball, [(-0.2, 0.02, 0.0), (0.2, 0.02, 0.0)], (0.3, 0, 0)), np.zeros((3, 1))
    np.testing.assert_allclose(drawn(polylines(model, q)[0]), path_lengths(model, q)[:, 0], rtol=5e-3)


def test_pieces_run_from_point_to_point(rng):
    start, end = rng.normal(size=(2, 50, 3))
    end[0] = start[0] - [0.0, 0.0, 2.0]  # straight down, where the turn from z is not determined
    end[1] = start[1]
    middle, Q, length = tubes(start, end)
    tip = middle + rotation_matrix(Q) @ [0.0, 0.0, 1.0] * length[:, None] / 2
    np.testing.assert_allclose(tip, end, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(Q, axis=-1), 1.0)


SOLIDS = {"box": (1.0, 2.0, 0.5), "ellipsoid": (1.0, 2.0, 0.5), "cylinder": (0.1, 0.5), "capsule": (0.1, 0.5)}


def volume(mesh):
    """By Gauss's theorem."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6


@pytest.mark.parametrize(
    "mesh",
    [
        limb(0.4, 0.02),
        tube(),
        tube(4),
        arrow(0.3, 1.0),
        *(solid(name, *sizes) for name, sizes in SOLIDS.items()),
        surface(WrapSphere(body="b", radius=0.1), 1.0),
        surface(WrapCylinder(body="b", radius=0.1), 1.0),
        surface(WrapEllipsoid(body="b", radii=(0.1, 0.2, 0.3)), 1.0),
        surface(WrapTorus(body="b", ring_radius=0.2, tube_radius=0.05), 1.0),
    ],
)
def test_meshes_face_outward(mesh):
    assert volume(mesh) > 0


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_have_their_sizes(name):
    """The boxes around them; a cylinder of 12 sides is a little narrower than a round one."""
    sizes = SOLIDS[name]
    radius = 2 * np.array(sizes[:1] * 2)
    extent = {"box": sizes, "ellipsoid": 2 * np.array(sizes), "cylinder": [*radius, sizes[1]],
              "capsule": [*radius, sizes[1] + radius[0]]}[name]  # fmt: skip
    found = np.ptp(solid(name, *sizes).vertices, axis=0)
    assert (found <= np.array(extent) + 1e-12).all()
    np.testing.assert_allclose(found, extent, rtol=0.035)
    with pytest.raises(TypeError, match="no shape for a cone"):
        solid("cone", *sizes[:1])


def test_limbs_follow_joints_that_slide():
    """A thigh whose knee is placed by functions of the angle, as in OpenSim's leg models, is as long as it is there."""
    leg = load_model(Path(__file__).parents[2] / "data" / "small_leg.osim")
    scene = Scene(leg, leg.start)
    _, p = leg.system.poses(leg.start)["shank"]
    R_thigh, p_thigh = leg.system.poses(leg.start)["thigh"]
    bone = next(part for part in scene.bones if part.body == "thigh")
    tip = p_thigh + R_thigh @ rotation_matrix(bone.orientation) @ [0, 0, bone.mesh.vertices[:, 2].max()]
    np.testing.assert_allclose(tip, p, atol=1e-12)
    assert {part.body for part in scene.bones} >= {"thigh", "shank", "foot"}
    np.testing.assert_allclose(stick_figure(leg, leg.start).bones["thigh"], [[p_thigh, p]], atol=1e-12)


@pytest.mark.parametrize("name", ["two_link", str(SHOULDER)])
def test_the_figure_is_within_the_frame_and_upright(name):
    model = load_model(name)
    scene = Scene(model, model.start)
    eye, middle = scene.camera
    toward = (eye - middle) / np.linalg.norm(eye - middle)
    np.testing.assert_allclose(scene.up, -np.array(model.system.gravity) / 9.81, atol=1e-2)
    across = np.cross(scene.up, toward)
    above = np.cross(toward, across / np.linalg.norm(across))
    for line in scene.lines:
        seen = line - eye
        slope = seen @ above / -(seen @ toward)
        assert np.abs(slope).max() < np.tan(FIELD / 2)


def test_geometry_files_are_read_alike(tmp_path):
    """A tetrahedron in each format; the bytes and words are those that the formats' documents give."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
    obj = "".join(f"v {x} {y} {z}\n" for x, y, z in corners)
    (tmp_path / "a.obj").write_text(obj + "".join(f"f {a + 1}//1 {b + 1}//1 {c + 1}//1\n" for a, b, c in faces))
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {} {} {}\n".format(*corners[i]) for i in face)
        + "endloop\nendfacet\n"
        for face in faces
    )
    (tmp_path / "b.stl").write_text(f"solid t\n{facets}endsolid t\n")
    facet_type = np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
    binary = np.zeros(4, facet_type)
    binary["v"] = corners[np.array(faces)]
    (tmp_path / "c.stl").write_bytes(b"\0" * 80 + (4).to_bytes(4, "little") + binary.tobytes())
    arrays = (
        f"<Points><DataArray NumberOfComponents='3'>{' '.join(map(str, corners.ravel()))}</DataArray></Points>"
        f"<Polys><DataArray Name='connectivity'>{' '.join(map(str, np.ravel(faces)))}</DataArray>"
        "<DataArray Name='offsets'>3 6 9 12</DataArray></Polys>"
    )
    (tmp_path / "d.vtp").write_text(f"<VTKFile><PolyData><Piece>{arrays}</Piece></PolyData></VTKFile>")
    for name in ("a.obj", "b.stl", "c.stl", "d.vtp"):
        mesh = read_mesh(tmp_path / name)
        triangles = mesh.vertices[mesh.faces]
        np.testing.assert_array_equal(triangles, corners[np.array(faces)])
    (tmp_path / "e.vtp").write_text("<VTKFile/>")
    with pytest.raises(ValueError, match=r"e\.vtp:1: no geometry"):
        read_mesh(tmp_path / "e.vtp")


def test_what_is_hidden_is_not_drawn_and_bodies_without_shapes_have_no_limbs_beside_others():
    ball, hidden = Shape("sphere", (0.1,)), Shape("sphere", (9.0,), purpose="hidden")
    bodies = tuple(
        on_hinge(name, center_of_mass=(1.0, 0, 0), shapes=shapes)
        for name, shapes in (("A", (ball, hidden)), ("B", (ball,)), ("bare", ()))
    )
    system = mq.ArticulatedSystem(bodies)
    assert [part.body for part in Scene(mq.Model(system), np.zeros(3)).bones] == ["A", "B"]
    alone = mq.Model(replace(system, bodies=(bodies[0], replace(bodies[2], name="C"), bodies[2])))
    assert [part.body for part in Scene(alone, np.zeros(3)).bones] == ["A", "C", "bare"]


def test_bodies_take_their_files_and_limbs_where_these_are_missing(tmp_path):
    (tmp_path / "bone.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    model = load_model("two_link")
    there = Shape("mesh", (2.0, 2.0, 2.0), file="package://arm/bone.obj")
    gone = Shape("mesh", (1.0, 1.0, 1.0), file="gone.vtp")
    system = model.system.with_body("A", shapes=(there,)).with_body("B", shapes=(gone,))
    scene = Scene(replace(model, system=system), model.start, (tmp_path,))
    first, second = scene.bones
    assert (first.body, second.body, scene.missing) == ("A", "B", ["gone.vtp"])
    np.testing.assert_array_equal(first.mesh.vertices, [[0, 0, 0], [2, 0, 0], [0, 2, 0]])
    assert len(second.mesh.faces) > 100


def test_motions_of_all_sources_and_frames_in_blocks(shoulder, tmp_path, rng):
    t = np.linspace(0, 1, 100)
    q = shoulder.start + np.zeros((100, 1))
    motion = Motion(shoulder.system, t, q)
    motion.save(tmp_path / "a.mot")
    for given in (motion, tmp_path / "a.mot"):
        film = film_of(shoulder, given)
        np.testing.assert_allclose(film.q, q, atol=1e-6)
    assert [film.at(x) for x in (-1, 0.0, 0.0149, 0.99, 9.0)] == [0, 0, 1, 98, 99]
    q = shoulder.system.random(300, rng)
    for cache, row in ((FrameCache(shoulder, q), 290), (FrameCache(shoulder, q, [290, 7, 290]), 290)):
        lengths = [np.linalg.norm(np.diff(line[0], axis=0), axis=-1) for line in polylines(shoulder, q[row : row + 1])]
        np.testing.assert_allclose(cache[row].pieces[2], np.concatenate(lengths), atol=1e-12)
    with pytest.raises(KeyError):
        FrameCache(shoulder, q, [7, 290])[8]  # a row that it does not have is no other row
    with pytest.raises(TypeError, match="not the float"):
        film_of(shoulder, 3.0)


@pytest.mark.parametrize("rotations", ["file", "quaternion"])
def test_sliders_are_the_file_s_coordinates_and_come_back(rotations, rng):
    model = load_model(SHOULDER, rotations)
    controls = PoseControls(model, 1.0)
    assert controls.labels[:3] == ["elevation [deg]", "flexion [deg]", "rotation [deg]"]
    q = model.pose({"elevation": -0.4, "flexion": 0.7})
    values = controls.values(q)
    np.testing.assert_allclose(values[:2], np.degrees([-0.4, 0.7]), atol=1e-9)
    np.testing.assert_allclose(controls.pose(model.start, values), q, atol=1e-12)


def test_coordinates_that_couplers_drive_have_no_slider():
    model = mq.Model(mq.ArticulatedSystem((on_slide("a", "x", "x"), on_slide("b", "x", "y", parent="a"))))
    coupled = replace(model, couplers=(Coupler("knot", "y", "x", Constant(0.5)),))
    assert PoseControls(model, 1.0).labels == ["x [m]", "y [m]"]
    assert PoseControls(coupled, 1.0).labels == ["x [m]"]


def test_quaternions_without_angles_have_rotation_vectors():
    model = load_model("two_link")
    controls = PoseControls(model, 1.0)
    assert controls.labels[0] == "A rotation x [deg]"
    q = controls.pose(model.start, [90.0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(q[:4], [np.sqrt(0.5), np.sqrt(0.5), 0, 0], atol=1e-14)


def test_loads_are_arrows_where_they_act():
    """In the axes of the ground and of a body; hidden where nothing was recorded."""
    model = load_model("two_link")
    turned = np.array([[np.sqrt(0.5), 0, np.sqrt(0.5), 0, 1.0, 0, 0, 0]] * 3)
    push = np.array([[[0.0, 0, 30.0], [10.0, 0, 0]]] * 2)
    point = np.array([[[1.0, 0, 0], [0.0, 0, 0.5]]] * 2)
    loads = Forces([0.0, 1.0], ("floor", "hand"), ("A", "A"), push, point, 0 * push, ("ground", "A"), ("ground", "A"))
    viewer = view(model, Motion(model, [0.0, 0.5, 2.0], turned), loads=loads, browser=False, port=0)
    try:
        scale = viewer.reels.unit
        R, p = model.system.poses(turned[0])["A"]
        wanted = [[[1, 0, 0], [1, 0, 30 * scale]], [p + R @ [0, 0, 0.5], p + R @ [10 * scale, 0, 0.5]]]
        np.testing.assert_allclose(viewer.arrows.points, wanted, atol=1e-6)
        assert viewer.arrows.visible
        viewer.seek(2.0)
        assert viewer.panel.clock.value == viewer.time  # the clock follows
        assert not viewer.arrows.visible
    finally:
        viewer.close()
    with pytest.raises(ValueError, match="beside a motion, and none was given"):
        view(model, loads=loads, browser=False, port=0)
    with pytest.raises(ValueError, match="axes of loads: 'foot'"):
        view(model, Motion(model, [0.0], turned[:1]), loads=replace(loads, point_frames=("ground", "foot")), port=0)


def without_shapes(model):
    bodies = [replace(body, shapes=()) for body in model.system.bodies]
    return replace(model, system=replace(model.system, bodies=tuple(bodies), shapes=()))


def test_bodies_without_shapes_get_bones_of_the_library_and_ghosts_of_their_surfaces():
    """The library's shoulder, without its shapes, shows them again; a larger one shows larger bones."""
    model = load_model("thoracoscapular")
    without = without_shapes(model)
    own, bare = Scene(model, model.start, (GEOMETRY,)), Scene(without, model.start)
    assert own.ghosts == []
    assert {part.body for part in bare.ghosts} == {wrap.body for muscle in model.muscles for wrap in muscle.path.wraps}
    assert [part.body for part in bare.bones] == [part.body for part in own.bones]
    for found, expected in zip(bare.bones, own.bones, strict=True):
        np.testing.assert_allclose(found.mesh.vertices, expected.mesh.vertices, atol=1e-12)
    large = tuple(replace(b, position=tuple(1.2 * x for x in b.position)) for b in without.system.bodies)
    scaled = Scene(Model(replace(without.system, bodies=large)), model.start)
    for found, expected in zip(scaled.bones, own.bones, strict=True):
        np.testing.assert_allclose(found.mesh.vertices, 1.2 * expected.mesh.vertices, atol=1e-12)


def test_bones_whose_axes_differ_stay_limbs():
    """A humerus whose elbow lies along another axis has other axes than the library's: a limb leads there."""
    model = without_shapes(load_model("thoracoscapular"))
    turned = tuple(
        replace(b, position=(float(np.linalg.norm(b.position)), 0.0, 0.0)) if b.name == "forearm" else b
        for b in model.system.bodies
    )
    scene = Scene(Model(replace(model.system, bodies=turned)), model.start)
    (part,) = (part for part in scene.bones if part.body == "humerus")
    assert len(part.mesh.vertices) == len(limb(1.0, 0.1).vertices)


def test_bones_of_the_library_show_where_a_model_has_opensim_axes(rng):
    """x forward, y up, z to the right; each body has axes of its own, and the thorax carries the scapula."""
    library = load_model("thoracoscapular")
    origins = {name: p for name, (_, p) in library.system.poses(library.start).items()} | {"ground": np.zeros(3)}
    own = Scene(library, library.start, (GEOMETRY,))
    C = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    thorax = next(name for name in (*origins,) if "thorax" in name or name == "ground")
    chain = [("thorax", "ground", thorax), ("clavicle", "thorax", "clavicle"), ("scapula", "thorax", "scapula"),
             ("humerus", "scapula", "humerus"), ("ulna", "humerus", "forearm")]  # fmt: skip
    turns = {name: quaternion_exp(rng.normal(size=3)) for name, *_ in chain} | {"ground": np.array([1.0, 0, 0, 0])}
    ours = {name: C @ origins[bone] for name, _, bone in chain} | {"ground": np.zeros(3)}
    bodies = []
    for name, parent, _ in chain:
        R = rotation_matrix(turns[parent])
        between = quaternion_multiply(quaternion_conjugate(turns[parent]), turns[name])
        position = tuple(R.T @ (ours[name] - ours[parent]))
        bodies.append(on_hinge(name, parent=parent, position=position, orientation=tuple(between)))
    bodies.append(on_hinge("radius", parent="ulna", position=(0.0, -0.02, 0.01)))
    model = Model(mq.ArticulatedSystem(tuple(bodies), gravity=(0.0, -9.81, 0.0)))
    scene = Scene(model, model.start)
    assert [part.body for part in scene.bones] == [name for name, *_ in chain]
    for found, expected in zip(scene.bones, own.bones, strict=True):
        shown = found.mesh.vertices @ rotation_matrix(turns[found.body]).T + ours[found.body]
        np.testing.assert_allclose(shown, (expected.mesh.vertices + origins[expected.body]) @ C.T, atol=1e-12)
