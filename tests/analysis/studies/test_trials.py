"""Studies of a trial: every sample is `redundancy` on the model with its numbers, however it is run and stored."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from myoquat.analysis.recruitment.redundancy import Effort, JointCone, Reserve, ReserveActuator, redundancy
from myoquat.analysis.recruitment.stability import CentralForce, EllipticCone
from myoquat.analysis.studies import MuscleTrial, Study, open_results, recompute, study_of, to_table, verify_results
from myoquat.analysis.studies.summaries import SUMMARIES as REGISTERED
from myoquat.analysis.studies.summaries import FrameSummary, register
from myoquat.data import Motion
from myoquat.dynamics import joint_reactions
from myoquat.muscle import CubicExponentialMuscle, muscle_wrenches
from myoquat.muscle.actuators import TorqueActuator
from tests.analysis.recruitment.shoulders import shoulder, turning

VARY = {
    "muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True},
    "muscles.m1.path.1.position.*": {"uniform": [0.9, 1.1], "relative": True},
    "bodies.arm.mass": {"uniform": [1.0, 2.0]},
}
SUMMARIES = ("mean_activation", "peak_force", "peak_reserve", "peak_load", "least_margin", "joint_reaction")


@pytest.fixture(scope="module")
def study():
    """A shoulder of five muscles, swung; strengths, an insertion and a mass vary."""
    model, t = shoulder(lambda k: CubicExponentialMuscle(0.2, 300.0), 5), np.linspace(0.0, 0.4, 5)
    motion = turning(model.system, t, np.stack([0.2 * t, 0.3 * t**2, 0.5 * t], axis=-1))
    reserves = [Reserve(name, 5.0, 10.0) for name in model.system.velocity_names]
    cone = JointCone("arm", (-1.0, 0.2, 0.0), 0.6)
    trial = MuscleTrial(motion, effort=Effort(weights={"m2": 2.0}), reserves=reserves, cones=[cone])
    return Study(model, VARY, samples=5, trial=trial, summaries=SUMMARIES)


@pytest.fixture(scope="module")
def results(study):
    return study.run(progress=False, threads=1)


def test_every_sample_is_the_redundancy_of_the_model_with_its_values(study, results):
    trial = study.trial
    given = {"effort": trial.effort, "reserves": trial.reserves, "cones": trial.cones, "backend": "numpy"}
    for k in (3,):
        model = study.parameters.bind(study.values()[k])
        found = redundancy(
            model, Motion(model.system, *(getattr(trial.motion, x) for x in ("time", "q", "u", "udot"))), **given
        )
        assert results.unsolved[k] == (found.status != 0).sum() == 0
        np.testing.assert_allclose(results.mean_activation[k], found.activation.mean(axis=0), atol=1e-6)
        np.testing.assert_allclose(results.peak_force[k], found.force.max(axis=0), rtol=1e-5)
        np.testing.assert_allclose(results.peak_reserve[k], np.abs(found.reserve).max(axis=0), atol=1e-5)
        np.testing.assert_allclose(results.peak_load[k], np.linalg.norm(found.pressed, axis=-1).max(axis=0), rtol=1e-6)
        np.testing.assert_allclose(results.least_margin[k], found.margin.min(axis=0), atol=1e-6)
        motion = found.motion
        pulls = muscle_wrenches(model, motion.q, found.force)
        passing = joint_reactions(model, motion.q, motion.u, motion.udot, pulls)[..., :3]
        np.testing.assert_allclose(results.joint_reaction[k], np.linalg.norm(passing, axis=-1).max(axis=0), rtol=1e-6)
    assert np.ptp(results.peak_force.values, axis=0).min() > 0.01


@pytest.mark.parametrize("rule", ["cone", "line"])
def test_reserves_and_rules_are_all_that_redundancy_takes(study, rule):
    """Actuators as reserves, elliptic cones and a central force, in memory and as a store holds them."""
    motor = TorqueActuator("motor", "arm", "ground", (0.0, 0.0, 1.0), optimal_force=3.0, lower=-50.0, upper=50.0)
    reserves = [*study.trial.reserves[:2], ReserveActuator(motor, 2.0)]
    cone = EllipticCone("arm", (-1.0, 0.2, 0.0), (0.0, 0.0, 1.0), (0.7, 0.5))
    if rule == "line":
        cone = CentralForce("arm", (-1.0, 0.2, 0.0))
    trial = replace(study.trial, reserves=reserves, cones=[cone])
    again = MuscleTrial.of_plain(json.loads(json.dumps(trial.plain())), study.model)
    assert (again.reserves, again.cones) == (tuple(reserves), (cone,))
    found = replace(study, trial=trial, samples=1, summaries=("peak_reserve", "least_margin")).run(progress=False)
    assert found.actuator.values.tolist() == ["arm.omega_x", "arm.omega_y", "motor"]
    bound = study.parameters.bind(replace(study, samples=1).values()[0])
    alone = redundancy(bound, replace(trial.motion, system=bound.system), effort=trial.effort, reserves=reserves,
                       cones=[cone], backend="numpy")  # fmt: skip
    np.testing.assert_allclose(found.peak_reserve[0], np.abs(alone.reserve).max(axis=0), atol=1e-5)
    np.testing.assert_allclose(found.least_margin[0], alone.margin.min(axis=0), atol=1e-6)
    assert found.unsolved[0] == 0


def test_it_is_stored_resumed_and_verified_as_every_study(study, results, tmp_path):
    """Bit for bit, in blocks of another size, interrupted and resumed, and one sample by itself."""
    path = tmp_path / "trial.zarr"
    stored = study.run(path, block=2, progress=False)
    for name in SUMMARIES:
        np.testing.assert_array_equal(stored[name], results[name])
    last = sorted((path / "status" / "c").iterdir())[-1]
    last.unlink()
    assert verify_results(path).missing == (2,)
    assert study_of(path).run(path, resume=True, progress=False).peak_force.notnull().all()
    again = open_results(path)
    xr.testing.assert_identical(again.load()[list(SUMMARIES)], stored.load()[list(SUMMARIES)])
    assert (recompute(path, 3).peak_force.values[0] == stored.peak_force.values[3]).all()
    assert "peak_load.arm" in to_table(again).columns
    assert "muscle redundancy of 5 frames" in repr(study)


def test_a_registered_summary_sums_up_trials(study, results):
    own = FrameSummary("own_mean_force", "muscle", "N", "mean tension", lambda f: f.force.mean(axis=0))
    register(own)
    try:
        found = replace(study, samples=2, summaries=(own.name, "mean_force")).run(progress=False)
    finally:
        del REGISTERED[own.name]
    np.testing.assert_array_equal(found[own.name], found.mean_force)
    assert found[own.name].attrs["units"] == "N"


def test_bad_trials(study):
    def changed(**arguments):
        given = {"model": study.model, "vary": VARY, "samples": 2, "trial": study.trial, "summaries": SUMMARIES}
        return Study(**(given | arguments))

    with pytest.raises(ValueError, match="summary 'work' of trials is unknown"):
        changed(summaries=["work"])
    with pytest.raises(ValueError, match="keeps nothing: ask for summaries"):
        changed(summaries=[])
    with pytest.raises(ValueError, match="cannot vary where the motion is recorded"):
        changed(vary={"start_u.*": {"uniform": [0.0, 1.0]}}).run(progress=False)
    motion = study.trial.motion
    with pytest.raises(ValueError, match="no u and udot"):
        changed(trial=MuscleTrial(Motion(motion.system, motion.time, motion.q))).run(progress=False)
