"""Coordinates that couplers drive, in the motion that a setup's analyses see."""

import numpy as np
import pandas as pd
import pytest

import myoquat as mq
from myoquat.analysis.motion.inverse_kinematics import MotionWarning
from myoquat.apps.opensim_tools.moving import assembled_motion
from myoquat.data.motions import Motion, save_table
from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint
from myoquat.joints.functions import Polynomial
from myoquat.muscle.coordinates import Coupler

PIN = RevoluteJoint((0.0, 0.0, 1.0))
SYSTEM = ArticulatedSystem((Body("shin", "ground", PIN, coordinate_names=("knee",), mass=1.0),
                            Body("patella", "ground", PIN, coordinate_names=("beta",), mass=0.1)))  # fmt: skip
MODEL = mq.Model(SYSTEM, couplers=(Coupler("slides", "beta", "knee", Polynomial((0.1, 0.5, 2.0))),))
TIME = np.linspace(0.0, 0.2, 5)
KNEE, SPEED = np.sin(3 * TIME), 3 * np.cos(3 * TIME)


@pytest.mark.parametrize("columns", [("knee",), ("knee", "beta")])
def test_a_coupler_drives_its_coordinate_whatever_the_table_has(tmp_path, columns):
    """beta = 0.1 + knee / 2 + 2 knee^2, in closed form; the table lacks it, or has it wrong: in degrees, for example,
    which is far away."""
    path = tmp_path / "motion.sto"
    table = pd.DataFrame(dict.fromkeys(columns, KNEE), index=pd.Index(TIME, name="time"))
    table.attrs["in_degrees"] = False
    save_table(table, path)
    wrong = Motion(SYSTEM, TIME, np.stack([KNEE, 300.0 + 0.7 * KNEE], axis=1), np.stack([SPEED, 0.0 * SPEED], axis=1))
    message = "has no column for beta: couplers" if len(columns) == 1 else "is off coordinate coupler 'slides' by 300"
    with pytest.warns(MotionWarning, match=message):
        found = assembled_motion(MODEL, wrong, path)
    np.testing.assert_allclose(found.q, np.stack([KNEE, 0.1 + KNEE / 2 + 2 * KNEE**2], axis=1), atol=1e-9)
    np.testing.assert_allclose(found.u, np.stack([SPEED, (0.5 + 4 * KNEE) * SPEED], axis=1), atol=1e-9)
