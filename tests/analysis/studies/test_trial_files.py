"""Trials in study files, and on a Dask cluster."""

import numpy as np
import pytest

from myoquat.analysis.motion import smooth
from myoquat.analysis.recruitment.redundancy import Coupled, Effort, JointCone, MetabolicEffort, Reserve, Sequential
from myoquat.analysis.studies import MuscleTrial, Study
from myoquat.data import Motion, load_model, load_motion
from myoquat.joints import ArticulatedSystem
from myoquat.joints.errors import ModelError
from myoquat.muscle import CubicExponentialMuscle, Model, Muscle, PathPoint
from myoquat.muscle.metabolics import Bhargava2004, Umberger2010
from tests.bodies import on_hinge

FILE = """format = "myoquat-study"
version = 1
model = "arm.toml"

[sample]
design = "grid"

[vary]
"bodies.arm.mass" = [1.0, 2.0, 3.0]

[trial]
motion = "swing.mot"
cutoff = 6.0
[trial.effort]
power = 3.0
weights = { m1 = 2.0 }
[[trial.reserves]]
velocity = "arm.speed"
strength = 5.0
[[trial.cones]]
joint = "arm"
direction = [0.0, 0.0, 1.0]
half_angle = 1.5

[keep]
summaries = ["mean_activation", "peak_load"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A hinge with two muscles and a recorded swing."""
    path = tmp_path_factory.mktemp("trial")
    arm = on_hinge("arm", "y", center_of_mass=(0.2, 0, 0), inertia=0.01)
    muscles = tuple(
        Muscle(
            f"m{k}",
            (PathPoint("ground", (0.02 * k, 0.0, 0.3)), PathPoint("arm", (0.1, 0.0, 0.0))),
            CubicExponentialMuscle(0.3, 200.0),
        )
        for k in (1, 2)
    )
    model = Model(ArticulatedSystem((arm,)), muscles)
    model.save(path / "arm.toml")
    time = np.linspace(0.0, 1.0, 21)
    Motion(model, time, 0.3 * np.sin(3 * time)[:, None]).save(path / "swing.mot")
    return path


def written(folder, text):
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_a_trial_in_a_file_is_that_of_the_arguments(folder):
    model = load_model(folder / "arm.toml")
    motion = smooth(load_motion(folder / "swing.mot", model), 6.0)
    trial = MuscleTrial(motion, None, Effort(3.0, {"m1": 2.0}), [Reserve("arm.speed", 5.0)],
                        [JointCone("arm", (0.0, 0.0, 1.0), 1.5)])  # fmt: skip
    assert Study.load(written(folder, FILE)).trial.plain() == trial.plain()
    head, _, tail = FILE.partition("[[trial.reserves]]")
    for strengths in ("7.0", "{'arm.speed' = 7.0}"):
        text = f"{head.replace('cutoff', f'reserves = {strengths} #')}{tail[tail.index('[[') :]}"
        plain = Study.load(written(folder, text))
        assert plain.trial.reserves == (Reserve("arm.speed", 7.0),)
    np.testing.assert_array_equal(plain.trial.motion.u, smooth(load_motion(folder / "swing.mot", model), None).u)


def test_all_that_a_trial_knows_in_a_file(folder):
    """Dynamics, tendons and the cost of a metabolic effort."""
    changed = FILE.replace("cutoff = 6.0", 'cutoff = 6.0\ndynamics = { rates = 1e-4 }\ntendons = "elastic"')
    trial = Study.load(written(folder, changed)).trial
    assert (trial.dynamics, trial.tendons) == (Coupled(rates=1e-4), "elastic")
    assert Study.load(written(folder, FILE.replace("cutoff = 6.0", "dynamics = true"))).trial.dynamics == Sequential()
    for cost, model in (
        ('"Umberger2010"', Umberger2010()),
        ('{ model = "Bhargava2004", force_dependent = true }', Bhargava2004(force_dependent=True)),
    ):
        changed = FILE.replace("power = 3.0", f"cost = {cost}\nslow_twitch = {{ m1 = 0.3 }}")
        effort = Study.load(written(folder, changed)).trial.effort
        assert effort == MetabolicEffort(weights={"m1": 2.0}, cost=model, slow_twitch={"m1": 0.3})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("cutoff", "cut_off", "trial: the key 'cut_off'"), ("power", "powers", "the key 'powers' is unknown"),
        ("strength", "size", "trial.reserves: the key 'size'"), ("half_angle = 1.5", "", "half_angle is missing"),
        ('motion = "swing.mot"', "", "motion must be the name"), ("swing", "swong", "no such file"),
        ("[keep]", "[simulate]\nduration = 1.0\n[keep]", "not both"), ("power = 3.0", "power = 30.0", "power must lie"),
        ('"arm.speed"', '"elbow"', "no velocity 'elbow'"),
        ("cutoff = 6.0", "dynamics = { rate = 1.0 }", "the key 'rate'"),
        ("cutoff = 6.0", 'tendons = "stiff"', "tendons are"),
        ("power = 3.0", 'cost = "Houdijk2006"', "the model of a cost"),
        ("power = 3.0", 'cost = { model = "Umberger2010", factor = 1.0 }', "the key 'factor'"),
        ("cutoff = 6.0", 'dynamics = "all"', "dynamics must be a table"),
    ],
)  # fmt: skip
def test_bad_files(folder, old, new, words):
    with pytest.raises((ModelError, ValueError), match=words):
        Study.load(written(folder, FILE.replace(old, new))).run()
