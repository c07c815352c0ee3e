"""Static optimization of OpenSim's tool around an ellipsoid: why its effort may lie below ours.

It does not where both meet the same equations.
"""

from dataclasses import replace

import numpy as np
import pytest
from fuzz.setups import ANALYSES, OPTIMAL

import myoquat as mq
from myoquat.analysis.recruitment.convex import Status, solve_programs
from myoquat.apps.opensim_tools.analyses import posed_as_opensim
from myoquat.apps.opensim_tools.moving import moving_of
from myoquat.data import Motion, load_table
from myoquat.data.setups import read_setup
from myoquat.joints import RevoluteJoint
from myoquat.muscle import Muscle, MusclePath, PathPoint
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.laws import Thelen2003
from myoquat.muscle.wrapping import WrapEllipsoid

THEIRS = """
import os
os.chdir(arguments[0])
tool = opensim.AnalyzeTool("setup.xml")
tool.setResultsDir("theirs")
assert tool.run()
model = opensim.Model("leg.osim")
state = model.initSystem()
hip = model.getCoordinateSet().get("hip")
muscle = model.getMuscles().get("flexor")

def length(q):
    hip.setValue(state, q, False)
    model.realizePosition(state)
    return muscle.getLength(state)

slopes, arms = [], []
for q in map(float, arguments[1].split()):
    slopes.append(-(length(q + 0.01) - length(q - 0.01)) / 0.02)
    length(q)
    arms.append(muscle.computeMomentArm(state, hip))
answer = slopes, arms
"""
RESERVES = """<OpenSimDocument Version="40000"><ForceSet><objects><CoordinateActuator name="reserve">
<coordinate>hip</coordinate><optimal_force>1</optimal_force></CoordinateActuator></objects></ForceSet>
</OpenSimDocument>"""


@pytest.fixture
def folder(tmp_path):
    """A link that hangs and swings slowly, a flexor over an ellipsoid and an extensor, in files."""
    thigh = mq.Body(
        "thigh", "ground", RevoluteJoint(), mass=8.0, center_of_mass=(0.0, -0.2, 0.0), coordinate_names=("hip",),
        inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0), joint_name="hip",
    )  # fmt: skip
    wrap = WrapEllipsoid(
        body="ground", radii=(0.025, 0.02, 0.02), position=(0.005, 0.0, 0.0), orientation=(0.8, 0.36, 0.48, 0.0)
    )
    path = (PathPoint("ground", (0.015, 0.15, 0.004)), PathPoint("thigh", (0.015, -0.2, 0.006)))
    dynamics = ActivationDynamics(0.015, 0.05, "piecewise", minimum_activation=0.01)
    fibers = {"law": Thelen2003(600.0, 0.18, 0.17), "activation_dynamics": dynamics}
    muscles = (
        Muscle("flexor", MusclePath(path, wraps=(wrap,)), **fibers),
        Muscle("extensor", (PathPoint("ground", (-0.05, 0.1, 0.0)), PathPoint("thigh", (-0.04, -0.2, 0.0))), **fibers),
    )
    model = mq.Model(mq.ArticulatedSystem((thigh,), gravity=(0.0, -9.81, 0.0)), muscles, name="leg")
    model.save(tmp_path / "leg.osim")
    time = np.arange(60) / 100
    Motion(model, time, -0.1 + 0.15 * np.sin(4 * time[:, None])).save(tmp_path / "walk.sto")
    (tmp_path / "reserves.xml").write_text(RESERVES)
    (tmp_path / "setup.xml").write_text(
        ANALYSES.format(source="coordinates", analyses=OPTIMAL.format(power=2), controllers="")
    )
    return tmp_path


@pytest.mark.peers
def test_no_greater_effort_under_equal_equations(folder, in_opensim):
    """OpenSim's moment arms around ellipsoids are not the slopes of its own lengths, ours are. Its activations
    therefore miss the torques by the difference. Where the equations are those that its activations meet, our effort is
    never more."""
    setup = read_setup(folder / "setup.xml", True)
    posed = posed_as_opensim(moving_of(setup, "file"), setup.analyses[0])
    programs, q = posed.programs, posed.motion.q
    slopes, arms = (np.array(x) for x in in_opensim(THEIRS, str(folder), " ".join(map(repr, q[:, 0].tolist()))))
    own = programs.A[:, 0, 0] / posed.gains[:, 0]
    assert np.abs(own - slopes).max() < 0.2 * np.abs(arms - slopes).max()
    theirs = load_table(folder / "theirs" / "walk_Optimal_activation.sto")[list(posed.names)].to_numpy()
    missed = np.einsum("tij,tj->ti", programs.A, theirs) - programs.b
    explained = (own - arms) * posed.gains[:, 0] * theirs[:, 0]
    assert np.abs(missed[:, 0] - explained).max() < 0.05 * np.abs(missed).max()
    found = solve_programs(replace(programs, b=programs.b + missed))
    assert (found.status == Status.SOLVED).all()
    assert ((found.x**2).sum(axis=-1) <= (theirs**2).sum(axis=-1)).all()
