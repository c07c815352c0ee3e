"""Files from strangers are read in time and memory linear in their size, up to stated limits."""

import time
import tracemalloc

import pytest

from myoquat.data import load_model
from myoquat.data.meshes import read_mesh
from myoquat.data.mjcf.reading.bodies import Skeleton
from myoquat.data.mjcf.source import open_source
from myoquat.data.motions.series import check_names
from myoquat.data.reports import MAX_EXAMPLES, ImplausibleValues, UnsupportedElements, UnwrittenParts
from myoquat.joints.errors import ModelError

SECONDS = 2.5  # of the processor; the quadratic readers took twice that and more, linear ones take a tenth


@pytest.fixture
def quick():
    """What the test does takes at most SECONDS of the processor."""
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


def mjcf(folder, text):
    path = folder / "model.xml"
    path.write_text(f"<mujoco>{text}</mujoco>")
    return path


@pytest.mark.usefixtures("quick")
def test_meshes_of_mjcf_are_found_in_linear_time(tmp_path):
    """3500 geoms, each with a mesh of its own, in one body: the time was quadratic, 15 s for 5000."""
    assets = "".join(f'<mesh name="m{i}" file="f{i}.stl"/>' for i in range(3500))
    geoms = "".join(f'<geom type="mesh" mesh="m{i}" mass="0"/>' for i in range(3500))
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    bodies = f"<worldbody><body>{inertial}{geoms}</body></worldbody>"
    model = load_model(mjcf(tmp_path, f"<asset>{assets}</asset>{bodies}"))
    assert [shape.file for shape in model.system.bodies[0].shapes[::3499]] == ["f0.stl", "f3499.stl"]


@pytest.mark.usefixtures("quick")
def test_massless_bodies_are_named_in_linear_time(tmp_path):
    """A body with more hinges than one joint holds gets massless bodies, each with the first name that is free."""
    path = mjcf(tmp_path, '<worldbody><body name="b"><body name="b_2"/></body></worldbody>')
    skeleton = Skeleton(open_source(path, False, UnsupportedElements(), ImplausibleValues()))
    assert [skeleton.new_name("b") for _ in range(15000)][:3] == ["b_1", "b_3", "b_4"]


@pytest.mark.usefixtures("quick")
def test_names_of_markers_are_compared_in_linear_time():
    assert len(check_names("marker", map(str, range(100000)))) == 100000
    with pytest.raises(ValueError, match="marker '7' comes twice"):
        check_names("marker", [*map(str, range(50000)), "7"])


@pytest.mark.usefixtures("quick")
def test_joints_that_mimic_each_other_in_a_chain_are_read_in_linear_time(tmp_path):
    """Each joint stands 0.5 rad beyond the one that it mimics; the time was cubic, 10 s."""
    links = "".join(f'<link name="l{i}"/>' for i in range(1000))
    joints = '<joint name="j1" type="continuous"><parent link="l0"/><child link="l1"/></joint>'
    joints += "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l0"/><child link="l{i}"/>'
        f'<mimic joint="j{i - 1}" offset="0.5"/></joint>'
        for i in range(999, 1, -1)
    )
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{links}{joints}</robot>')
    model = load_model(path)
    at = dict(zip(model.system.coordinate_names, model.start, strict=True))
    assert at["j999"] - at["j1"] == pytest.approx(0.5 * 998)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("empty", ["\n" * 60_000, " " * 60_000])
def test_lines_of_errors_in_toml_files_are_found_in_linear_time(empty, tmp_path):
    """Blank lines before a name took 95 s, where a pattern at each of them ran over all that follow."""
    path, head = tmp_path / "model.toml", 'format = "myoquat-model"\nversion = 1\n'
    for text, line in (
        (f'{head}\n{empty}\n[[bodies]]\n{empty}\nname = "a"\nmass = -1.0\n', None),
        (f"x = 1\n{empty}", 1),
    ):
        path.write_text(text)
        with pytest.raises(ModelError) as caught:
            load_model(path)
        assert caught.value.line == (line or text[: text.index("name")].count("\n") + 1)


@pytest.mark.usefixtures("quick")
def test_a_mesh_takes_a_few_times_the_memory_of_its_file(tmp_path):
    """An .obj file of 93 MB took 3.2 GB, 34 times its size, in lists of Python."""
    n, path = 20_000, tmp_path / "skull.obj"
    corners = "".join(f"v {k * 0.001:.3f} {k % 7} 1.5\n" for k in range(n))
    path.write_text(corners + "".join(f"f {k + 1} {k + 2} {k + 3}\n" for k in range(n - 2)))
    tracemalloc.start()
    try:
        assert len(read_mesh(path).faces) == n - 2
        assert tracemalloc.get_traced_memory()[1] < 10 * path.stat().st_size
    finally:
        tracemalloc.stop()


def test_report_holds_a_few_of_each_type():
    """A file may hold 100,000 elements that are not read."""
    unwritten = UnwrittenParts()
    for i in range(1000):
        unwritten.count("springs", f"s{i}")
        unwritten.count(f"type {i}", "x")
    assert sum(map(len, unwritten._found.values())) <= MAX_EXAMPLES + 1000
    with pytest.raises(ModelError, match=r"1000 springs \(s0, s1, s2, s3, s4, ...\)"):
        unwritten.report("model.xml", strict=True)
