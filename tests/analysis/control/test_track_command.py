"""`myoquat track`: the motion and the controls that it writes."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.apps.command import main
from myoquat.data import Motion, load_motion


@pytest.fixture
def recorded(tmp_path):
    model = mq.load_model("two_link")
    way = mq.simulate(model, duration=0.2, step=1e-3, output_step=0.01)
    motion = Motion(model, way.time, way.q)
    motion.save(tmp_path / "recorded.mot")
    return motion


def test_torques_follow_a_motion_and_are_written(recorded, tmp_path, capsys):
    call = ["track", "two_link", str(tmp_path / "recorded.mot"), str(tmp_path / "found.mot"), "--cutoff", "-1"]
    call += ["--intervals", "5", "--controls", str(tmp_path / "controls.csv"), "--effort", "1e-9"]
    call += ["--transcription", "midpoint"]
    assert not main(call)
    printed = capsys.readouterr().out
    assert "SOLVED" in printed
    assert "TrackPose" in printed
    found = load_motion(tmp_path / "found.mot", mq.load_model("two_link"))
    assert np.abs(recorded.system.difference(recorded.q[::4], found.q)).max() < np.radians(0.5)
    assert "A.omega_x.torque" in (tmp_path / "controls.csv").read_text().splitlines()[0]


def test_unsolved_tracking_ends_with_exit_code_1(recorded, tmp_path):
    call = ["track", "two_link", str(tmp_path / "recorded.mot"), str(tmp_path / "found.mot"), "--cutoff", "-1"]
    call += ["--intervals", "5", "--iterations", "0", "--effort", "1e-9", "--transcription", "midpoint"]
    assert main(call) == 1
    assert (tmp_path / "found.mot").exists()


def test_input_that_does_not_fit_ends_with_exit_code_2(recorded, tmp_path, capsys):
    call = ["track", "two_link", str(tmp_path / "recorded.mot"), str(tmp_path / "found.mot"), "--end", "9"]
    with pytest.raises(SystemExit) as ended:
        main(call)
    assert ended.value.code == 2
    assert "the data cover 0 to 0.2 s" in capsys.readouterr().err
