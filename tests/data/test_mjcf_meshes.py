"""Inertia from meshes: against closed forms, and against MuJoCo's compiler."""

import mujoco
import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.joints import ModelError
from myoquat.joints.quaternion import quaternion_exp, rotation_matrix
from tests.data.mujoco_engine import opened, write

CORNERS = np.array([(x, y, z) for x in (0.0, 0.2) for y in (0.0, 0.3) for z in (0.0, 0.5)])
FACES = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4),
         (1, 5, 7), (1, 7, 3)]  # fmt: skip
TURN = np.asarray(quaternion_exp(np.array([0.3, -0.5, 0.2])))
MODEL = """<mujoco><compiler angle="radian" meshdir="bones"/>
<asset><mesh name="part" file="part.{suffix}" {mesh}/></asset>
<worldbody><body name="b" pos="0 0 1"><joint name="j"/><geom type="mesh" mesh="part" pos="0.1 0.2 0.3"
quat="0.5 0.5 0.5 0.5" {geom}/></body></worldbody></mujoco>"""


def obj(vertices, faces):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(vertices).tolist()]
    return "\n".join([*lines, *("f " + " ".join(str(k + 1) for k in face) for face in faces)]) + "\n"


def stl(vertices, faces):
    body = np.zeros(len(faces), np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")]))
    body["corners"] = np.asarray(vertices)[np.array(faces)]
    return b"\0" * 80 + len(faces).to_bytes(4, "little") + body.tobytes()


def msh(vertices, faces):
    counts = np.array([len(vertices), 0, 0, len(faces)], "<i4")
    return counts.tobytes() + np.asarray(vertices, "<f4").tobytes() + np.array(faces, "<i4").tobytes()


def written(folder, vertices=CORNERS, faces=FACES, mesh="", geom="", suffix="obj"):
    (folder / "bones").mkdir(exist_ok=True)
    if suffix in ("stl", "msh"):
        (folder / f"bones/part.{suffix}").write_bytes({"stl": stl, "msh": msh}[suffix](vertices, faces))
    else:
        (folder / f"bones/part.{suffix}").write_text(obj(vertices, faces))
    return write(folder, MODEL.format(mesh=mesh, geom=geom, suffix=suffix))


def body(path, **options):
    return load_model(path, **options).system.bodies[0]


@pytest.mark.parametrize("how", ["legacy", "exact", "convex"])
def test_a_box_of_triangles_weighs_what_a_box_does(how, tmp_path):
    found = body(written(tmp_path, mesh=f'inertia="{how}"', geom='density="700"'))
    R = np.asarray(rotation_matrix(np.full(4, 0.5)))
    assert found.mass == pytest.approx(700 * 0.03, rel=1e-6)
    np.testing.assert_allclose(found.center_of_mass, np.array([0.1, 0.2, 0.3]) + R @ [0.1, 0.15, 0.25], rtol=1e-6)
    a, b, c = (x * x for x in (0.2, 0.3, 0.5))
    I = R @ np.diag([b + c, a + c, a + b]) @ R.T * found.mass / 12
    np.testing.assert_allclose(found.inertia[:3], np.diag(I), rtol=1e-6)
    np.testing.assert_allclose(found.inertia[3:], 0.0, atol=1e-6)


def test_a_shell_is_the_sum_of_its_plates(tmp_path):
    found = body(written(tmp_path, mesh='inertia="shell"', geom='mass="2"'))
    plates = [(0.06, 0.5), (0.10, 0.3), (0.15, 0.2)]  # area of each of a pair, and how far apart they are
    area = 2 * sum(size for size, _ in plates)
    sides = np.array([0.2, 0.3, 0.5])
    second = np.zeros(3)  # of area, along each axis about the centre
    for axis in range(3):
        for normal in range(3):
            size = np.prod(np.delete(sides, normal))
            second[axis] += 2 * size * (sides[axis] ** 2 / 4 if axis == normal else sides[axis] ** 2 / 12)
    I = (second.sum() - second) * 2.0 / area
    assert found.mass == 2.0
    np.testing.assert_allclose(sorted(found.inertia[:3]), sorted(I), rtol=1e-6)


def blob(rng):
    """A closed surface that is not convex: a cube's triangles, divided and pushed out and in."""
    vertices = list(CORNERS - CORNERS.mean(axis=0))
    faces = []
    for a, b, c in FACES:
        vertices.append((vertices[a] + vertices[b] + vertices[c]) / 3 * rng.uniform(0.55, 1.3))
        k = len(vertices) - 1
        faces += [(a, b, k), (b, c, k), (c, a, k)]
    return np.array(vertices) + np.array([0.05, -0.02, 0.1]), faces


@pytest.mark.peers
@pytest.mark.parametrize("how", ["legacy", "exact", "convex", "shell"])
@pytest.mark.parametrize("suffix", ["obj", "stl", "msh"])
@pytest.mark.parametrize("scale", ["1 1 1", "-0.5 2 0.7"])
def test_inertia_is_that_of_mujocos_compiler(how, suffix, scale, tmp_path, rng):
    turn = " ".join(map(repr, (1.3 * TURN).tolist()))
    mesh = f'inertia="{how}" scale="{scale}" refpos="0.01 0.02 -0.03" refquat="{turn}"'
    path = written(tmp_path, *blob(rng), mesh, suffix=suffix)
    if (suffix, how) == ("msh", "exact") and scale.startswith("-") and mujoco.__version__ < "4":
        with pytest.raises(ValueError, match="misoriented"):  # 4.0 takes a mirrored .msh
            opened(path)
        return
    engine, _ = opened(path)
    found = body(path)
    assert found.mass == pytest.approx(engine.body_mass[1], rel=1e-6)
    np.testing.assert_allclose(found.center_of_mass, engine.body_ipos[1], rtol=1e-6)
    xx, yy, zz, xy, xz, yz = found.inertia
    principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    np.testing.assert_allclose(principal, np.sort(engine.body_inertia[1]), rtol=1e-6)


def test_vertices_in_the_document_make_a_hull(tmp_path):
    numbers = " ".join(map(repr, CORNERS.ravel().tolist()))
    text = MODEL.format(mesh=f'vertex="{numbers}"', geom="", suffix="none")
    assert body(write(tmp_path, text.replace('file="part.none"', ""))).mass == pytest.approx(1000 * 0.03, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"suffix": "ply"}, "no decoder found for mesh file"),
        ({"suffix": "msh", "faces": [(0, 1, 9)]}, "vertex index 9 does not exist"),
        ({"faces": [(2, 1, 0)]}, "mesh volume is too small"),
        ({"vertices": np.zeros((8, 3))}, "colocated vertices"),
        ({"vertices": CORNERS * [1, 1, 0], "mesh": 'inertia="convex"'}, "coplanar vertices"),
        ({"mesh": 'refquat="0 0 0 0"'}, "mesh surface area is too small"),
        ({"mesh": 'inertia="solid"'}, "invalid keyword: 'solid'"),
        ({"faces": [(0, 1, 99)]}, "vertex index 99 does not exist"),
    ],
)
def test_meshes_that_cannot_weigh_are_refused_with_their_line(changes, words, tmp_path):
    with pytest.raises(ModelError, match=rf"x\.xml:[234]: .*{words}"):
        load_model(written(tmp_path, **{"mesh": 'inertia="exact"'} | changes))


def test_meshes_outside_the_folder_are_read_where_that_is_allowed(tmp_path):
    (tmp_path / "model").mkdir()
    path = written(tmp_path)
    inner = tmp_path / "model/x.xml"
    inner.write_text(path.read_text().replace('meshdir="bones"', 'meshdir="../bones"'))
    with pytest.raises(ModelError, match=r"outside the folder of the model; load_model.*anywhere=True"):
        load_model(inner)
    assert body(inner, anywhere=True) == body(path)


def test_a_shape_names_the_file_of_its_mesh_whether_it_weighs_or_not(tmp_path):
    for geom in ("", 'mass="0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"'):
        (shape,) = body(written(tmp_path, geom=geom)).shapes
        assert shape.file == "part.obj"


def test_a_mesh_without_mass_is_not_opened(tmp_path):
    path = written(tmp_path, geom='mass="0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"')
    (tmp_path / "bones/part.obj").unlink()
    assert load_model(path).system.bodies[0].mass == 1.0
