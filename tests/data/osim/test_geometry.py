"""Geometry that bodies show, in files of OpenSim 2, 3 and 4, and written again."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.data import UnsupportedWarning, UnwrittenWarning, load_model
from myoquat.joints import rotation_matrix

GROUND = """<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects><Body name="ground"><VisibleObject>
<GeometrySet><objects><DisplayGeometry><geometry_file>floor.vtp</geometry_file><color>0.5 0.25 1</color><opacity>0.75
</opacity></DisplayGeometry><DisplayGeometry><geometry_file>wall.vtp</geometry_file><color>1 1 1</color><transform>
0 0 0 0.1 0 0</transform></DisplayGeometry></objects></GeometrySet></VisibleObject></Body></objects></BodySet></Model>
</OpenSimDocument>"""
SHOWN = """<VisibleObject><GeometrySet><objects>
<DisplayGeometry><geometry_file>plain.vtp</geometry_file><scale_factors>1 2 3</scale_factors><color/><opacity/>
</DisplayGeometry>
<DisplayGeometry><geometry_file>turned.vtp</geometry_file><transform>0 0 1.5707963267948966 0.1 0.2 0.3</transform>
</DisplayGeometry></objects></GeometrySet><scale_factors>2 2 2</scale_factors><transform>0 0 0 0 0 0</transform>
</VisibleObject>"""
OLD = """<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects><Body name="ground"/><Body name="b">
<mass>1</mass><mass_center>0 0 0</mass_center><Joint><PinJoint name="j"><parent_body>ground</parent_body>
<location_in_parent>0 0 0</location_in_parent><CoordinateSet><objects><Coordinate name="q"/></objects></CoordinateSet>
</PinJoint></Joint>{shown}</Body></objects></BodySet></Model></OpenSimDocument>"""


@pytest.mark.parametrize("version", [20302, 30000])
def test_geometry_of_older_files_is_kept(tmp_path, version):
    path = tmp_path / "old.osim"
    path.write_text(OLD.format(version=version, shown=SHOWN))
    plain, turned = load_model(path).system.bodies[-1].shapes
    assert (plain.file, plain.sizes, plain.position) == ("plain.vtp", (2.0, 4.0, 6.0), (0.0, 0.0, 0.0))
    assert (turned.file, turned.sizes, turned.position) == ("turned.vtp", (2.0, 2.0, 2.0), (0.1, 0.2, 0.3))
    np.testing.assert_allclose(rotation_matrix(np.array(turned.orientation)) @ [1.0, 0, 0], [0, 1, 0], atol=1e-15)


def test_documents_of_opensim_4_show_no_older_geometry(tmp_path):
    path = tmp_path / "new.osim"
    path.write_text(SOLIDS.format(more="").replace("<mass>", f"{SHOWN}<mass>"))
    assert "mesh" not in {shape.kind for shape in load_model(path).system.bodies[-1].shapes}


def test_names_of_files_of_the_oldest_form(tmp_path):
    path = tmp_path / "old.osim"
    path.write_text(
        OLD.format(version=20302, shown="<VisibleObject><geometry_files>a.vtp b.vtp</geometry_files></VisibleObject>")
    )
    assert [shape.file for shape in load_model(path).system.bodies[-1].shapes] == ["a.vtp", "b.vtp"]


SOLIDS = """<OpenSimDocument Version="40000"><Model name="m"><Ground name="ground"><attached_geometry>
<Brick name="table"><half_lengths>0.5 0.02 0.3</half_lengths></Brick></attached_geometry></Ground><BodySet><objects>
<Body name="b"><mass>1</mass><inertia>1 1 1 0 0 0</inertia><components><PhysicalOffsetFrame name="high">
<socket_parent>..</socket_parent><translation>0 1 0</translation><orientation>1.5707963267948966 0 0</orientation>
<attached_geometry><Cylinder name="pole"><radius>0.05</radius><half_height>0.2</half_height></Cylinder>
</attached_geometry></PhysicalOffsetFrame></components><attached_geometry><Sphere name="ball"><radius>0.1</radius>
</Sphere><Sphere name="egg"><scale_factors>1 2 1</scale_factors><radius>0.1</radius></Sphere><Cylinder name="rod">
<scale_factors>1 3 1</scale_factors></Cylinder><Ellipsoid name="e"><radii>0.1 0.2 0.3</radii><Appearance>
<color>1 0 0</color></Appearance></Ellipsoid>{more}</attached_geometry></Body></objects></BodySet><JointSet>
<objects><PinJoint name="j"><socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/b
</socket_child_frame><coordinates><Coordinate name="q"/></coordinates></PinJoint></objects></JointSet></Model>
</OpenSimDocument>"""


@pytest.mark.parametrize("suffix", ["osim", "toml", "xml"])
def test_solids_are_read_and_written(tmp_path, suffix):
    path = tmp_path / "solids.osim"
    path.write_text(SOLIDS.format(more=""))
    model = load_model(path)
    shapes = {shape.name: shape for shape in model.system.bodies[-1].shapes}
    assert {name: (s.kind, s.sizes) for name, s in shapes.items()} == {
        "ball": ("sphere", (0.1,)), "egg": ("ellipsoid", (0.1, 0.2, 0.1)), "rod": ("cylinder", (0.5, 3.0)),
        "e": ("ellipsoid", (0.1, 0.2, 0.3)), "pole": ("cylinder", (0.05, 0.4)),
    }  # fmt: skip
    assert [(s.kind, s.sizes) for s in model.system.shapes] == [("box", (1.0, 0.04, 0.6))]
    along = {name: rotation_matrix(np.array(shapes[name].orientation))[:, 2] for name in ("rod", "pole")}
    np.testing.assert_allclose(along["rod"], [0, 1, 0], atol=1e-15)  # OpenSim's cylinders lie along y
    np.testing.assert_allclose(along["pole"], [0, 0, 1], atol=1e-15)
    model.save(tmp_path / f"new.{suffix}")
    again = load_model(tmp_path / f"new.{suffix}").system
    assert again.shapes == model.system.shapes
    assert [replace(s, orientation=()) for s in again.bodies[-1].shapes] == [
        replace(s, orientation=()) for s in shapes.values()
    ]
    turns = [np.array([s.orientation for s in system.bodies[-1].shapes]) for system in (again, model.system)]
    np.testing.assert_allclose(*turns, atol=1e-15)


def test_shapes_that_a_format_does_not_know_are_reported(tmp_path):
    path = tmp_path / "solids.osim"
    path.write_text(SOLIDS.format(more="<Torus name='ring'/>"))
    with pytest.warns(UnsupportedWarning, match="Torus .display geometry."):
        model = load_model(path)
    with pytest.warns(UnwrittenWarning, match="2 shapes of bodies .b: ellipsoid"):
        model.save(tmp_path / "new.urdf")
    names = ("pole", "ball", "rod")
    kept = load_model(tmp_path / "new.urdf").system.bodies[-1].shapes
    assert sorted(shape.name for shape in kept) == sorted(names)


@pytest.mark.peers
def test_opensim_reads_solids_that_were_written(tmp_path, in_opensim):
    path = tmp_path / "solids.osim"
    path.write_text(SOLIDS.format(more=""))
    load_model(path).save(tmp_path / "new.osim")
    sizes = """
model = opensim.Model(arguments[0])
model.initSystem()
body = model.getBodySet().get(0)
half = opensim.Brick.safeDownCast(model.getGround().get_attached_geometry(0)).get_half_lengths()
rod = opensim.Cylinder.safeDownCast(body.get_attached_geometry(2))
answer = [[half[i] for i in range(3)], rod.get_radius(), rod.get_half_height()]
"""
    assert in_opensim(sizes, tmp_path / "new.osim") == [[0.5, 0.02, 0.3], 0.5, 1.5]


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
    assert in_opensim(mesh, tmp_path / "new.osim") == ["floor.vtp", 0.75, [0.5, 0.25, 1.0]]
