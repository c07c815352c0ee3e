"""Geometry that bodies show, in files of OpenSim 2, 3 and 4, and written again."""

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.joints import rotation_matrix

GROUND = """<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects><Body name="ground"><VisibleObject>
<GeometrySet><objects><DisplayGeometry><geometry_file>floor.vtp</geometry_file><color>0.5 0.25 1</color><opacity>0.75
</opacity></DisplayGeometry><DisplayGeometry><geometry_file>wall.vtp</geometry_file><color>1 1 1</color><transform>
0 0 0 0.1 0 0</transform></DisplayGeometry></objects></GeometrySet></VisibleObject></Body></objects></BodySet></Model>
</OpenSimDocument>"""
SHOWN = """<VisibleObject><GeometrySet><objects>
<DisplayGeometry><geometry_file>plain.vtp</geometry_file><scale_factors>1 2 3</scale_factors></DisplayGeometry>
<DisplayGeometry><geometry_file>turned.vtp</geometry_file><transform>0 0 1.5707963267948966 0.1 0.2 0.3</transform>
</DisplayGeometry></objects></GeometrySet><scale_factors>2 2 2</scale_factors><transform>0 0 0 0 0 0</transform>
</VisibleObject>"""
OLD = """<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects><Body name="ground"/><Body name="b">
<mass>1</mass><mass_center>0 0 0</mass_center><Joint><PinJoint name="j"><parent_body>ground</parent_body>
<location_in_parent>0 0 0</location_in_parent><CoordinateSet><objects><Coordinate name="q"/></objects></CoordinateSet>
</PinJoint></Joint>{shown}</Body></objects></BodySet></Model></OpenSimDocument>"""


@pytest.mark.parametrize("version", [20302, 30000])
def test_geometry_of_older_files_is_kept_when_read_and_written(tmp_path, version):
    path = tmp_path / "old.osim"
    path.write_text(OLD.format(version=version, shown=SHOWN))
    model = load_model(path)
    plain, turned = model.system.bodies[-1].shapes
    assert (plain.file, plain.sizes, plain.position) == ("plain.vtp", (2.0, 4.0, 6.0), (0.0, 0.0, 0.0))
    assert (turned.file, turned.sizes, turned.position) == ("turned.vtp", (2.0, 2.0, 2.0), (0.1, 0.2, 0.3))
    np.testing.assert_allclose(rotation_matrix(np.array(turned.orientation)) @ [1.0, 0, 0], [0, 1, 0], atol=1e-15)
    model.save(tmp_path / "new.osim")
    again = load_model(tmp_path / "new.osim").system.bodies[-1].shapes
    assert [(s.file, s.sizes, s.position) for s in again] == [(s.file, s.sizes, s.position) for s in (plain, turned)]
    np.testing.assert_allclose(again[1].orientation, turned.orientation, atol=1e-15)


def test_names_of_files_of_the_oldest_form(tmp_path):
    path = tmp_path / "old.osim"
    path.write_text(
        OLD.format(version=20302, shown="<VisibleObject><geometry_files>a.vtp b.vtp</geometry_files></VisibleObject>")
    )
    assert [shape.file for shape in load_model(path).system.bodies[-1].shapes] == ["a.vtp", "b.vtp"]


@pytest.mark.parametrize("version", [20302, 30000])
@pytest.mark.parametrize("suffix", ["osim", "toml"])
def test_meshes_of_the_ground_and_colors_are_kept(tmp_path, version, suffix):
    path = tmp_path / "old.osim"
    path.write_text(GROUND.format(version=version))
    model = load_model(path)
    floor, wall = model.system.shapes
    assert (floor.file, floor.color, floor.position) == ("floor.vtp", (0.5, 0.25, 1.0, 0.75), (0.0, 0.0, 0.0))
    assert (wall.file, wall.color, wall.position) == ("wall.vtp", None, (0.1, 0.0, 0.0))
    model.save(tmp_path / f"new.{suffix}")
    assert load_model(tmp_path / f"new.{suffix}").system.shapes == model.system.shapes


@pytest.mark.peers
def test_opensim_shows_what_was_written(tmp_path, in_opensim):
    path = tmp_path / "old.osim"
    path.write_text(GROUND.format(version=30000))
    load_model(path).save(tmp_path / "new.osim")
    mesh = """
model = opensim.Model(arguments[0])
model.initSystem()
mesh = opensim.Mesh.safeDownCast(model.getGround().get_attached_geometry(0))
look = mesh.get_Appearance()
answer = [mesh.get_mesh_file(), look.get_opacity(), [look.get_color()[i] for i in range(3)]]
"""
    assert in_opensim(mesh, str(tmp_path / "new.osim")) == ["floor.vtp", 0.75, [0.5, 0.25, 1.0]]
