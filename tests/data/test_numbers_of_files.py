"""Numbers of files have a greatest size, and errors of files name the file that is wrong."""

import re

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.motion import inverse_kinematics
from myoquat.analysis.recruitment import power_check
from myoquat.apps.opensim_tools import run_setup
from myoquat.data import Forces, Markers, Orientations, load_emg, load_forces, load_markers, load_motion
from myoquat.joints import ModelError
from myoquat.joints.errors import in_file
from myoquat.joints.ranges import MAX_NUMBER
from myoquat.muscle import Muscle, PathPoint
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.laws import Millard2012
from tests.bodies import on_hinge
from tests.data.tables import changed

LINK = """<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="{0} 0 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
MJCF = """<mujoco><worldbody><body name="a"><joint/><geom size=".1"/><site name="s" pos="{0} 0 0"/></body></worldbody>
</mujoco>"""
TOML = """format = "myoquat-model"
version = 1
[[bodies]]
name = "a"
parent = "ground"
joint = { type = "revolute", axis = [0.0, 1.0, 0.0] }
center_of_mass = [{0}, 0.0, 0.0]
mass = 1.0
"""
TABLE = "t\nversion=1\nnRows=2\nnColumns=2\ninDegrees=no\nendheader\ntime\ta.angle\n0\t0\n1\t{0}\n"


def arm():
    """A hinged rod with a marker."""
    rod = on_hinge("a", "y", center_of_mass=(0.2, 0, 0))
    return mq.Model(mq.ArticulatedSystem((rod,)), markers=(Marker("tip", "a", (0.4, 0.0, 0.0)),), name="arm")


FORMATS = {
    "a.osim": (arm(), "0.4 0.0 0.0", "{0} 0.0 0.0", mq.load_model),
    "a.xml": (MJCF, "{0}", "{0}", mq.load_model),
    "a.urdf": (LINK, "{0}", "{0}", mq.load_model),
    "a.toml": (TOML, "{0}", "{0}", mq.load_model),
    "a.mot": (TABLE, "{0}", "{0}", lambda path: load_motion(path, arm())),
}


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_of_files_are_at_most_1e30_in_size(name, tmp_path):
    """Beyond it squares and products overflow; up to it everything is read. Python reads 1_5 as 15, and no other
    program does."""
    text, old, new, read = FORMATS[name]
    wrong = {"1e308": r"1e\+30 in size", "-1e31": r"1e\+30 in size"}
    if name.endswith((".osim", ".xml", ".urdf")):
        wrong["1_5"] = r"finite number|bad format in attribute"
    for number, message in wrong.items():
        path = changed(tmp_path / name, text, old, new.format(number))
        with pytest.raises(ModelError, match=message) as caught:
            read(path)
        assert str(caught.value).startswith(str(path))
    read(changed(tmp_path / name, text, old, new.format("1.5")))
    assert MAX_NUMBER == 1e30


@pytest.mark.parametrize("strain", [5e-324, 1e-300, 1e-20])
@pytest.mark.parametrize("name", ["tendon_strain", "passive_strain"])
def test_strains_that_vanish_beside_one_are_rejected(strain, name):
    law = Millard2012(100.0, optimal_fiber_length=0.1, tendon_slack_length=0.2, **{name: strain})
    path = PathPoint("ground", (0.0, 0.0, 0.0)), PathPoint("a", (0.1, 0.0, 0.0))
    with pytest.raises(ModelError, match=f"'calf'.*{name.split('_')[0]} curve.*corners coincide"):
        mq.Model(arm().system, (Muscle("calf", path, law),))


def test_recordings_without_frames_have_tables():
    none = np.zeros(0)
    for record in (
        Markers(none, ("heel",), np.zeros((0, 1, 3))),
        Orientations(none, ("pelvis",), np.zeros((0, 1, 4))),
        Forces(none, ("plate",), ("a",), *np.zeros((3, 0, 1, 3))),
    ):
        assert len(record.to_dataframe()) == 0
    assert Markers(none, ("heel",), np.zeros((0, 1, 3))).resampled([0.5], 1.0).missing.all()


def test_locked_models_have_no_pose_to_find():
    seen = Markers([0.0, 0.1], ("tip",), np.ones((2, 1, 3)))
    with pytest.raises(ValueError, match="no coordinate is free"):
        inverse_kinematics(arm(), seen, locked=["a.angle"])


# ---- which file ------------------------------------------------------------------------------------------------

LOADS = """<OpenSimDocument Version="40000"><ExternalLoads name="loads"><objects>{0}</objects>
<datafile>walk.mot</datafile></ExternalLoads></OpenSimDocument>"""
LOAD = """<ExternalForce name="{0}"><applied_to_body>a</applied_to_body>
<force_identifier>f_v</force_identifier><point_identifier>f_p</point_identifier></ExternalForce>"""
COLUMNS = "\t".join(["time", *(f"f_{letter}{axis}" for letter in "vp" for axis in "xyz")])


def loads(folder, rows="0\t1\t2\t3\t0\t0\t0\n1\t1\t2\t3\t0\t0\t0\n", columns=COLUMNS, names=("left",)):
    """An ExternalLoads file beside its data."""
    count = len(columns.split("\t"))
    head = f"walk\nversion=1\nnRows={rows.count(chr(10))}\nnColumns={count}\ninDegrees=no\nendheader\n"
    (folder / "walk.mot").write_text(f"{head}{columns}\n{rows}")
    (folder / "loads.xml").write_text(LOADS.format("".join(LOAD.format(name) for name in names)))
    return folder / "loads.xml"


@pytest.mark.parametrize(
    ("given", "file", "message"),
    [
        ({"rows": "0\t1\t2\tnan\t0\t0\t0\n"}, "walk.mot:8", "nan"),
        ({"rows": "0\t1e40\t2\t3\t0\t0\t0\n"}, "walk.mot:8", "exceeds"),
        ({"rows": "1\t1\t2\t3\t0\t0\t0\n0\t1\t2\t3\t0\t0\t0\n"}, "walk.mot:9", "time must increase"),
        ({"columns": COLUMNS.replace("f_vz", "g_vz")}, "loads.xml", "data file walk.mot has 2 columns"),
        ({"names": ("left", "left")}, "loads.xml", "comes twice"),
    ],
)
def test_broken_loads_name_the_file_that_is_wrong(given, file, message, tmp_path):
    with pytest.raises(ModelError, match=message) as caught:
        load_forces(loads(tmp_path, **given))
    assert str(caught.value).startswith(str(tmp_path / file))


def test_an_error_keeps_its_own_file():
    own = ModelError("broken", file="walk.mot", line=3)
    assert in_file(own, "setup.xml") is own
    assert str(in_file(ModelError("broken", line=3), "setup.xml")) == "setup.xml:3: broken"
    assert str(in_file(ValueError("broken"), "setup.xml")) == "setup.xml: broken"


def test_channels_and_motions_that_are_wrong_name_the_file(tmp_path):
    (tmp_path / "a.csv").write_text("time,soleus\n0,1\n1,2\n")
    with pytest.raises(ModelError, match=re.escape(str(tmp_path / "a.csv")) + ".*no channel 'tibialis'"):
        load_emg(tmp_path / "a.csv", ["tibialis"])
    with pytest.raises(ModelError, match=re.escape(str(tmp_path / "a.trc"))):
        load_markers(tmp_path / "a.trc")
    (tmp_path / "a.mot").write_text(TABLE.format(0.5).replace("a.angle", "knee"))
    with pytest.raises(ModelError, match=re.escape(str(tmp_path / "a.mot")) + ".*'knee' is no coordinate"):
        load_motion(tmp_path / "a.mot", arm())


# ---- setups ----------------------------------------------------------------------------------------------------

ANALYZE = """<OpenSimDocument Version="40000"><AnalyzeTool name="walk"><model_file>arm.osim</model_file>
<coordinates_file>walk.mot</coordinates_file><initial_time>0.1</initial_time><final_time>0.4</final_time>
<results_directory>out</results_directory><AnalysisSet><objects>{0}</objects></AnalysisSet></AnalyzeTool>
</OpenSimDocument>"""
TASKS = """<OpenSimDocument Version="20302"><CMC_TaskSet><objects><CMC_Joint name="a"><active>true</active>
<coordinate>a.angle</coordinate><kp></kp><kv>20</kv></CMC_Joint></objects></CMC_TaskSet></OpenSimDocument>"""
CMC = """<OpenSimDocument Version="20302"><CMCTool name="walk"><model_file>arm.osim</model_file>
<results_directory>out</results_directory><initial_time>0.1</initial_time><final_time>0.2</final_time>
<desired_kinematics_file>walk.mot</desired_kinematics_file><task_set_file>tasks.xml</task_set_file></CMCTool>
</OpenSimDocument>"""


@pytest.fixture
def folder(tmp_path):
    arm().save(tmp_path / "arm.osim")
    t = np.arange(60) / 100
    mq.data.Motion(arm(), t, 0.1 * np.sin(3 * t)[:, None]).save(tmp_path / "walk.mot")
    return tmp_path


@pytest.mark.parametrize("interval", ["1e300", "1e20", "0.5", "-1"])
def test_intervals_of_analyses_are_counts_of_frames(folder, interval):
    analysis = f'<Kinematics name="k"><step_interval>{interval}</step_interval></Kinematics>'
    (folder / "setup.xml").write_text(ANALYZE.format(analysis))
    with pytest.raises(ModelError, match=r"setup\.xml:.*step_interval"):
        run_setup(folder / "setup.xml")


@pytest.mark.filterwarnings("ignore:.*:myoquat.analysis.motion.MotionWarning")
def test_the_muscles_of_a_model_without_any_are_not_analysed(folder):
    (folder / "setup.xml").write_text(ANALYZE.format('<Kinematics name="k"/><MuscleAnalysis name="Muscles"/>'))
    paths = run_setup(folder / "setup.xml")
    assert paths
    assert not any("Muscles" in path.name for path in paths)


def test_gains_that_are_empty_name_their_line(folder):
    (folder / "tasks.xml").write_text(TASKS)
    (folder / "setup.xml").write_text(CMC)
    with pytest.raises(ModelError, match=r"tasks\.xml:2: .*<kp> is empty"):
        run_setup(folder / "setup.xml")


def test_the_number_of_random_poses_is_limited():
    with pytest.raises(ValueError, match="positive integer of at most 10,000,000, not 100000000"):
        mq.mapping_analysis("mapping_analysis", n=10**8)
    for poses in (0, 10**8, 1e3, True):
        with pytest.raises(ValueError, match="poses must be a positive integer of at most 10,000,000, not"):
            power_check(mq.load_model("two_link"), poses)
    with pytest.raises(ValueError, match="seed must be an integer that is not negative, not -1"):
        power_check(mq.load_model("two_link"), 5, -1)
