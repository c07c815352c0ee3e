"""Inertia from meshes, which is that of MuJoCo's compiler, and which of their files are opened."""

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.joints import ModelError
from myoquat.joints.quaternion import quaternion_exp, rotation_matrix
from tests.data.mujoco_engine import write

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


def written(folder, vertices=CORNERS, faces=FACES, mesh="", geom="", suffix="obj"):
    (folder / "bones").mkdir(exist_ok=True)
    (folder / f"bones/part.{suffix}").write_text(obj(vertices, faces))
    return write(folder, MODEL.format(mesh=mesh, geom=geom, suffix=suffix))


def body(path, **options):
    return load_model(path, **options).system.bodies[0]


def test_a_box_of_triangles_weighs_what_a_box_does(tmp_path):
    found = body(written(tmp_path, geom='density="700"'))
    R = np.asarray(rotation_matrix(np.full(4, 0.5)))
    assert found.mass == pytest.approx(700 * 0.03, rel=1e-6)
    np.testing.assert_allclose(found.center_of_mass, np.array([0.1, 0.2, 0.3]) + R @ [0.1, 0.15, 0.25], rtol=1e-6)
    a, b, c = (x * x for x in (0.2, 0.3, 0.5))
    I = R @ np.diag([b + c, a + c, a + b]) @ R.T * found.mass / 12
    np.testing.assert_allclose(found.inertia[:3], np.diag(I), rtol=1e-6)
    np.testing.assert_allclose(found.inertia[3:], 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"suffix": "ply"}, "no decoder found for mesh file"),
        ({"faces": [(2, 1, 0)]}, "mesh volume is too small"),
        ({"mesh": 'inertia="solid"'}, "invalid keyword: 'solid'"),
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
