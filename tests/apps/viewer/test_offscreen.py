"""Pictures and films without a browser."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageSequence

pytest.importorskip("viser", reason="needs the extra view")

import myoquat as mq
from myoquat.apps.command import main
from myoquat.apps.viewer.films import Painter, film_of, installed_geometry, opened
from myoquat.apps.viewer.scene import Look, Scene, frames, widths
from myoquat.data import Motion
from tests.bodies import on_hinge

MODEL = mq.load_model("two_link")
SCENE = Scene(MODEL, MODEL.start)
FRAME = frames(MODEL, MODEL.start[None])[0]
SIZE = 480, 360


def drawn(values, force=None):
    painter = Painter(SCENE, *SIZE)
    share = np.full(6, np.nan) if force is None else np.asarray(force, dtype=float)
    return painter, painter.picture(Look(FRAME, np.asarray(values, dtype=float), 1.0, share)).astype(float)


def at(painter, image, point):
    """The pixel of a point."""
    x, y, _ = painter._seen(np.asarray(point, dtype=float)[None])[0]
    width, height = SIZE
    return image[round((1 - y) * height / 2 - 0.5), round((x * height + width) / 2 - 0.5)]


def test_a_muscle_is_darker_the_more_it_is_active_and_wider_the_more_it_pulls():
    middle = SCENE.lines[3].mean(axis=0)
    greys = [at(*drawn(np.full(6, level)), middle).mean() for level in (0.0, 0.5, 1.0)]
    assert greys[0] > greys[1] + 20 > greys[2] + 40
    painter, slack = drawn(np.zeros(6), np.zeros(6))
    assert at(painter, slack, middle)[0] - at(painter, slack, middle)[2] > 45  # visible without activation
    red = [((image[..., 0] - image[..., 2]) > 45).sum() for image in (slack, drawn(np.zeros(6), np.ones(6))[1])]
    assert red[1] > 1.5 * red[0]
    radii = np.array([0.01, 0.02])
    np.testing.assert_array_equal(widths(radii, np.array([np.nan, np.nan])), radii)


def test_what_is_nearer_covers_what_is_behind():
    """A sphere between the eye and a muscle, and the same behind the muscle."""
    painter, _ = drawn(np.zeros(6))
    middle = SCENE.lines[3].mean(axis=0)
    seen = []
    for distance in (0.3, -0.3):
        place = middle + distance * painter.toward
        ball = mq.joints.Shape("sphere", (0.08,), position=tuple(place), purpose="visual")
        system = replace(MODEL.system, shapes=(ball,))
        other = Painter(Scene(replace(MODEL, system=system, file=None), MODEL.start), *SIZE)
        other.eye, other.toward, other.right, other.above = painter.eye, painter.toward, painter.right, painter.above
        image = other.picture(Look(FRAME, np.zeros(6), 1.0, np.full(6, np.nan))).astype(float)
        seen.append(at(painter, image, middle))
    assert seen[0][0] - seen[0][2] < 40 < seen[1][0] - seen[1][2]


def test_nothing_shines_through_between_triangles():
    """A plate from many triangles looks alike everywhere, whatever lies behind it."""
    plate = mq.joints.Shape("cylinder", (0.5, 0.01), purpose="visual", color=(0.1, 0.1, 0.1, 1.0))
    scene = Scene(mq.Model(mq.ArticulatedSystem((on_hinge("a", shapes=(plate,)),), gravity=(0, 0, -9.81))), np.zeros(1))
    painter = Painter(scene, *SIZE)
    side = 0.005 * np.sign(painter.eye[2])
    image = painter.picture(Look.plain(scene.start, 0)).astype(float)
    angle, radius = np.meshgrid(np.linspace(0, 2 * np.pi, 73), np.linspace(0.0, 0.45, 10))
    seen = [
        at(painter, image, [r * np.cos(a), r * np.sin(a), side]) for a, r in zip(angle.flat, radius.flat, strict=True)
    ]
    assert np.ptp(seen, axis=0).max() <= 2.0 < 255.0 - np.max(seen)


def test_the_camera_sees_every_pose_of_a_motion():
    way = mq.simulate(MODEL, duration=2.0, step=1e-2)
    painter = Painter(SCENE, *SIZE, way.q)
    for frame in frames(MODEL, way.q[::20]):
        seen = painter._seen(np.array([p for _, p in frame.bodies.values()]))
        assert (np.abs(seen[:, 0]) < SIZE[0] / SIZE[1]).all()
        assert (np.abs(seen[:, 1]) < 1).all()


@pytest.mark.parametrize("suffix", [".gif", ".webp", ".mp4"])
def test_a_film_has_the_frames_of_its_motion(tmp_path, suffix):
    way = mq.simulate(MODEL, duration=0.4, step=1e-2)
    path = mq.film(MODEL, way, tmp_path / f"a{suffix}", rate=10, size=(96, 72))
    if suffix == ".mp4":
        assert path.read_bytes()[4:8] == b"ftyp"
        return
    with Image.open(path) as film:
        pictures = [np.asarray(image.convert("RGB"), dtype=float) for image in ImageSequence.Iterator(film)]
    assert len(pictures) == 5
    assert np.abs(pictures[-1] - pictures[0]).max() > 60


def test_the_command_films_a_stored_motion(tmp_path, capsys):
    mq.simulate(MODEL, duration=0.1, step=1e-2).save(tmp_path / "way.npz")
    arguments = ["film", "two_link", str(tmp_path / "way.npz"), str(tmp_path / "way.gif"), "--size", "64", "48"]
    main([*arguments, "--colour", "force", "--rate", "10"])
    assert "wrote" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(arguments)
    assert "--force" in capsys.readouterr().err or "exists" in capsys.readouterr().err


def test_wrong_arguments_are_rejected(tmp_path):
    way = mq.simulate(MODEL, duration=0.02, step=1e-2)
    for options, words in (({"speed": 0.0}, "speed must be positive"), ({"size": (0, 10)}, "size must be positive")):
        with pytest.raises(ValueError, match=words):
            mq.film(MODEL, way, tmp_path / "a.gif", **options)
    with pytest.raises(ValueError, match=r"films are saved as \.gif, \.webp or \.mp4, not '\.avi'"):
        mq.film(MODEL, way, tmp_path / "a.avi")


class Pushed:
    """A motion whose body A bears a force beside its origin."""

    def __init__(self, way, wrench):
        self.way, self.loads = way, np.broadcast_to(wrench, (len(way.time), 2, 6))

    def __getattr__(self, name):
        return getattr(self.way, name)

    def to_motion(self, run=()):
        return self.way.to_motion(run)

    def to_dataframe(self):
        return self.way.to_dataframe()


def test_loads_of_a_motion_act_along_their_central_axis():
    """What the force at its point leaves of the moment about the origin of the body is along the force."""
    way = mq.simulate(MODEL, duration=0.02, step=1e-2)
    force, torque = np.array([1.0, 2.0, -3.0]), np.array([0.3, -0.1, 0.2])
    found = film_of(MODEL, Pushed(way, np.array([[*force, *torque], [0.0] * 6]))).loads
    assert found.names == ("A",)
    np.testing.assert_allclose(found.force[:, 0], np.broadcast_to(force, (3, 3)))
    origin = MODEL.system.poses(way.q)["A"][1]
    rest = torque - np.cross(found.point[:, 0] - origin, force)
    np.testing.assert_allclose(np.cross(rest, force), 0.0, atol=1e-12)


@pytest.mark.parametrize("suffix", [".toml", ".osim", ".urdf", ".xml"])
def test_missing_geometry_is_reported_for_every_format(tmp_path, suffix):
    rod = on_hinge("rod", inertia=1, shapes=(mq.joints.Shape("mesh", (1.0, 1.0, 1.0), file="gone.stl"),))
    path = tmp_path / f"rod{suffix}"
    if suffix == ".xml":
        joint = '<joint name="j"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        body = f'<body name="rod">{joint}<geom type="mesh" mesh="gone"/></body>'
        path.write_text(
            f'<mujoco><asset><mesh name="gone" file="gone.stl"/></asset><worldbody>{body}</worldbody></mujoco>'
        )
    else:
        mq.Model(mq.ArticulatedSystem((rod,)), name="rod").save(path)
    model = mq.load_model(path)
    motion = Motion(model, [0.0, 0.1], [[0.0], [0.5]])
    with pytest.warns(
        UserWarning, match=r"Geometry not found, simple bones are drawn instead: gone.stl. .*--geometry FOLDER"
    ):
        mq.film(model, motion, tmp_path / "a.gif", rate=10, size=(32, 24))
    (tmp_path / "Geometry").mkdir()
    facet = "facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    (tmp_path / "Geometry" / "gone.stl").write_text(f"solid t\n{facet}endsolid t\n")
    mq.film(model, motion, tmp_path / "a.gif", rate=10, size=(32, 24), overwrite=True)


def test_geometry_of_an_unread_format_is_not_called_missing(tmp_path):
    (tmp_path / "arm.dae").write_text("<COLLADA/>")
    names = ("arm.dae", "gone.stl", "cube.msh")
    corners, faces = np.eye(3, dtype="<f4"), np.array([0, 1, 2], "<i4")
    counts = np.array([3, 0, 0, 1], "<i4")
    (tmp_path / "cube.msh").write_bytes(counts.tobytes() + corners.tobytes() + faces.tobytes())
    shapes = tuple(mq.joints.Shape("mesh", (1.0, 1.0, 1.0), file=name) for name in names)
    rod = on_hinge("rod", inertia=1)
    model = mq.Model(mq.ArticulatedSystem((replace(rod, shapes=shapes),)), name="rod")
    scene = opened(model, (), (), None, tmp_path, None)[0]
    absent, unread = scene.missing_geometry_message.split("geometry=. ")
    assert "not found, simple bones are drawn instead: gone.stl." in absent
    assert "not read, simple bones are drawn instead: arm.dae. Save it as one of .vtp, .stl" in unread
    assert [part.mesh.vertices.tolist() for part in scene.bones] == [corners.tolist()]


def test_a_single_pose_has_no_clock(tmp_path, monkeypatch):
    def clocks(times):
        said, picture = [], Painter.picture
        monkeypatch.setattr(Painter, "picture", lambda self, look, clock="": said.append(clock) or picture(self, look))
        motion = Motion(MODEL, times, np.tile(MODEL.start, (len(times), 1)))
        mq.film(MODEL, motion, tmp_path / f"{len(times)}.gif", rate=10, size=(32, 24))
        return said

    assert clocks([0.0]) == [""]
    assert clocks([0.0, 0.1]) == ["0.00 s", "0.10 s"]


def test_geometry_of_an_installed_package_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENSIM_HOME", str(tmp_path))
    assert tmp_path / "Geometry" not in installed_geometry()
    (tmp_path / "Geometry").mkdir()
    assert tmp_path / "Geometry" in installed_geometry()
