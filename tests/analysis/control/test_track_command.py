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


def track(folder, *options):
    files = [str(folder / name) for name in ("recorded.mot", "found.mot")]
    return main(["track", "two_link", *files, *map(str, options)])


FEW = ("--cutoff", -1, "--intervals", 5, "--effort", 1e-9, "--transcription", "midpoint")


def test_torques_follow_a_motion_and_are_written(recorded, tmp_path, capsys):
    assert not track(tmp_path, *FEW, "--controls", tmp_path / "controls.csv")
    printed = capsys.readouterr().out
    assert "SOLVED" in printed
    assert "TrackPose" in printed
    found = load_motion(tmp_path / "found.mot", mq.load_model("two_link"))
    assert np.abs(recorded.system.difference(recorded.q[::4], found.q)).max() < np.radians(0.5)
    assert "A.omega_x.torque" in (tmp_path / "controls.csv").read_text().splitlines()[0]


@pytest.mark.usefixtures("recorded")
def test_unsolved_tracking_ends_with_exit_code_1(tmp_path):
    assert track(tmp_path, *FEW, "--iterations", 0) == 1
    assert (tmp_path / "found.mot").exists()


@pytest.mark.usefixtures("recorded")
def test_input_that_does_not_fit_ends_with_exit_code_2(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        track(tmp_path, "--cutoff", -1, "--end", 9)
    assert ended.value.code == 2
    assert "the data cover 0 to 0.2 s" in capsys.readouterr().err
