"""Inverse kinematics beside OpenSim's tool, on the same markers."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion import inverse_kinematics
from myoquat.data import load_motion
from tests.analysis.motion.conftest import shown, wandering

TOOL = """
model, trc, out = arguments
task = opensim.InverseKinematicsTool()
task.set_model_file(model)
task.setMarkerDataFileName(trc)
task.setOutputMotionFileName(out)
task.setStartTime(0.0); task.setEndTime(10.0)
task.set_report_errors(False)
task.set_accuracy(1e-9)
tasks = task.getIKTaskSet()
for name in opensim.TimeSeriesTableVec3(trc).getColumnLabels():
    t = opensim.IKMarkerTask(); t.setName(name); t.setWeight(1.0); t.setApply(True); tasks.cloneAndAppend(t)
assert task.run()
answer = True
"""


@pytest.mark.peers
def test_never_worse_than_opensim(leg, ball_leg, rng, tmp_path, in_opensim):
    """Its tool on the same files: angles within 0.2 degrees, root mean square never above its own by 1e-6 m."""
    flat = replace(leg, couplers=())  # the writer leaves couplers to another task
    markers = shown(leg, wandering(leg, rng, 40, speed=0.4), 0.004, rng)
    flat.save(tmp_path / "leg.osim")
    markers.save(tmp_path / "markers.trc")
    in_opensim(TOOL, *(str(tmp_path / name) for name in ("leg.osim", "markers.trc", "ik.mot")))
    for model in (flat, replace(ball_leg, couplers=())):
        theirs = load_motion(tmp_path / "ik.mot", model)
        fit = inverse_kinematics(model, markers)
        rms = np.sqrt(fit.problem.cost(theirs.q, fit.data) / len(markers.names))
        assert (fit.marker_rms <= rms + 1e-6).all()
        ours, other = fit.angles(in_degrees=True), theirs.angles(in_degrees=True)
        names = [n for n in ours.columns if n not in ("tx", "ty", "tz")]
        assert (ours[names] - other[names]).abs().max().max() < 0.2
