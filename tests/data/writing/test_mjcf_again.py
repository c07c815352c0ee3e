"""MuJoCo's files of many elements: read, written and read they are the same model, and MuJoCo moves both alike."""

import warnings
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.data.reports import UnwrittenWarning
from tests.data import test_mjcf_contacts as contacts, test_mjcf_equalities as equalities, test_mjcf_reading as reading
from tests.data.mujoco_engine import opened, write
from tests.data.osim.two_bodies import check_like
from tests.data.test_mjcf_actuators import BODIES, MUSCLES
from tests.data.test_mjcf_forces import CASES, SEVERAL
from tests.data.test_mjcf_includes import TENDON
from tests.data.test_mjcf_tendons import AROUND, TENDON as ACTED

DRIVEN = """<mujoco model="driven"><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
<site name="a" pos="0.02 0 0.1"/>
<body name="upper" pos="0 0 0"><joint name="s" axis="0 1 0" range="-1 1" frictionloss="0.3" damping="0.1"/>
<inertial pos="0 0 -0.1" mass="1" diaginertia="0.01 0.02 0.01"/><site name="b" pos="0.05 0.01 -0.1"/>
<body name="lower" pos="0 0 -0.3"><joint name="e" axis="0 1 0" range="0 2"/>
<joint name="d" type="slide" axis="0.6 0 0.8" damping="0.2"/>
<inertial pos="0 0 -0.1" mass="0.7" diaginertia="0.01 0.015 0.012"/><site name="c" pos="0.04 0 -0.2"/></body></body>
<body name="sled"><joint name="p" type="slide" axis="1 0 0"/>
<inertial pos="0 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/></body>
</worldbody><tendon>
<spatial name="muscle"><site site="a"/><site site="b"/></spatial>
<spatial name="clipped"><site site="a"/><site site="c"/></spatial>
<spatial name="servo"><site site="b"/><site site="c"/></spatial>
<spatial name="motor"><site site="a"/><site site="c"/></spatial>
<spatial name="spring" stiffness="40" damping="2" springlength="0.1 0.2"><site site="a"/><site site="c"/></spatial>
<spatial name="dry" frictionloss="0.5"><site site="a"/><site site="c"/></spatial>
<spatial name="stop" limited="true" range="0.1 0.25" solreflimit="0.05 0.8" solimplimit="0.9 0.95 0.002">
<site site="a"/><site site="c"/></spatial>
<fixed name="both"><joint joint="s" coef="0.5"/><joint joint="e" coef="-0.25"/></fixed></tendon><actuator>
<muscle name="muscle" tendon="muscle" force="90" lengthrange="0.1 0.35" timeconst="0.02 0.05" tausmooth="0.1"/>
<general name="clipped" tendon="clipped" gaintype="muscle" biastype="muscle" lengthrange="0.3 0.6"
 gainprm="0.7 1.1 80 200 0.5 1.6 1.5 1.2 1.3" biasprm="0.6 1.2 80 200 0.5 1.6 1.5 1.2 1.3" forcelimited="true"
 forcerange="-30 0" ctrllimited="true" ctrlrange="0 1"/>
<position name="servo" tendon="servo" kp="100" kv="3" ctrlrange="0.1 0.4"/>
<motor name="motor" tendon="motor" gear="-20" ctrlrange="0 1"/>
<general name="both" tendon="both" gainprm="7" dyntype="filter" dynprm="0.04" ctrlrange="-1 1"/>
<motor name="m" joint="s" gear="3" ctrlrange="-1 1"/>
<position name="pos" joint="e" kp="30" kv="2" ctrlrange="0 2"/><velocity name="vel" joint="p" kv="4"/>
<intvelocity name="iv" joint="p" kp="20" actrange="-1 1" ctrlrange="-2 2"/>
<general name="slow" joint="s" gainprm="2" dyntype="filter" dynprm="0.03" ctrlrange="-1 1"/>
<motor name="push" site="c" gear="0 0 6 0 0 0" ctrlrange="0 1"/></actuator></mujoco>"""


MOVED = {
    "driven": DRIVEN, "several joints": SEVERAL, "ball": contacts.BALL.format(60), "around": AROUND,
    **{held: equalities.TEXT.format(held) for held in equalities.HELD if "tendon" not in held},
}  # fmt: skip
BACK = CASES | MOVED | {
    "muscles": BODIES.format(MUSCLES), "hand": reading.HAND, "cord": TENDON, "all on a tendon": ACTED,
    "limits": contacts.LIMITS, "hidden": reading.HIDDEN,
}  # fmt: skip
del BACK["ball, jointinparent"]  # which is reported when the file is written
PARTS = ("system", "actuators", "forces", "coordinates", "limits", "couplers", "constraints")


def again(folder, text):
    """The files, of which the second is written from the model of the first, and both models."""
    path, other = write(folder, text), folder / "again.xml"
    model = load_model(path, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwrittenWarning)
        model.save(other)
    return (path, other), (model, load_model(other))


def muscles(model):
    """Without names of surfaces and activations at rest, which files have in keyframes alone."""
    for muscle in model.muscles:
        wraps = tuple(replace(wrap, name="") for wrap in muscle.path.wraps)
        yield replace(muscle, activation=None, path=replace(muscle.path, wraps=wraps))


@pytest.mark.filterwarnings("ignore:.*carry no force", "ignore:.*PushWarning")
@pytest.mark.parametrize("text", BACK.values(), ids=BACK)
def test_models_come_back(text, tmp_path):
    _, (model, back) = again(tmp_path, text)
    for part in PARTS:
        check_like(getattr(back, part), getattr(model, part), part)
    check_like(tuple(muscles(back)), tuple(muscles(model)))


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:.*carry no force", "ignore:.*PushWarning")
@pytest.mark.parametrize("text", MOVED.values(), ids=MOVED)
def test_mujoco_accelerates_both_files_alike(text, tmp_path, rng):
    """From the same activations, and where dry friction slips."""
    files, _ = again(tmp_path, text)
    (engine, _), (other, _) = pairs = [opened(file) for file in files]
    names = sorted(engine.actuator(i).name for i in range(engine.nu))
    assert (engine.nbody, engine.nq) == (other.nbody, other.nq)
    for _ in range(5):
        q = engine.qpos0.copy()
        mujoco.mj_integratePos(engine, q, rng.uniform(-0.5, 0.5, engine.nv), 1.0)
        v = rng.choice([-1.0, 1.0], engine.nv) * rng.uniform(0.5, 1.0, engine.nv)
        share = dict(zip(names, rng.uniform(0.1, 0.9, len(names)), strict=True))
        found = []
        for each, data in pairs:
            mujoco.mj_resetData(each, data)
            data.qpos[:], data.qvel[:] = q, v
            for i in range(each.nu):
                drive = each.actuator(i)
                low, high = drive.ctrlrange
                at = low + share[drive.name] * (high - low)  # a tendon's range is 0 to 1 in the second file
                data.ctrl[i] = at if drive.ctrllimited else share[drive.name]
                if drive.actadr >= 0:
                    data.act[drive.actadr] = at if drive.name == "both" else share[drive.name]
            mujoco.mj_forward(each, data)
            found.append(data.qacc.copy())
        np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9 * max(1.0, np.abs(found[0]).max()))
