"""Studies of a trial: every sample is `redundancy` on the model with its numbers, however it is run and stored."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from myoquat.analysis.recruitment import Coupled, Effort, JointCone, MetabolicEffort, Reserve, Sequential, redundancy
from myoquat.analysis.recruitment.convex import are_met
from myoquat.analysis.recruitment.redundancy import ReserveActuator
from myoquat.analysis.recruitment.stability import CentralForce, EllipticCone
from myoquat.analysis.studies import MuscleTrial, Study, open_results, recompute, study_of, to_table, verify_results
from myoquat.analysis.studies.store import contents_of
from myoquat.analysis.studies.study import _block_size
from myoquat.analysis.studies.summaries import SUMMARIES as REGISTERED, FrameSummary, register
from myoquat.data import Motion
from myoquat.dynamics import joint_reactions
from myoquat.muscle import ActivationDynamics, muscle_wrenches
from myoquat.muscle.actuators import TorqueActuator
from myoquat.muscle.laws import DeGrooteFregly2016
from myoquat.muscle.metabolics import Bhargava2004, Umberger2010
from tests.analysis.recruitment.shoulders import shoulder, turning

VARY = {
    "muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True},
    "muscles.m1.optimal_fiber_length": {"uniform": [0.9, 1.1], "relative": True},
    "muscles.m1.path.1.position.*": {"uniform": [0.9, 1.1], "relative": True},
    "bodies.arm.mass": {"uniform": [1.0, 2.0]},
}
SUMMARIES = ("mean_activation", "peak_force", "peak_reserve", "peak_load", "least_margin", "joint_reaction")
METABOLIC = MetabolicEffort(cost=Umberger2010(aerobic_factor=1.2), slow_twitch={"m1": 0.7}, masses={"m2": 0.1})
OPTIONS = {
    "cones": {"effort": Effort(weights={"m1": 2.0}), "cones": [JointCone("arm", (-1.0, 0.2, 0.0), 0.3)]},
    "power": {"effort": METABOLIC},
    "elastic": {"tendons": "elastic"},
    "sequence": {"dynamics": Sequential()},
    "coupled": {"dynamics": Coupled(rates=1e-5)},
    "both": {"dynamics": Coupled(), "tendons": "elastic"},
}


def shaken(samples=2, slow=1, **options):
    """A study of a shoulder of five muscles with elastic tendons; strengths, a fiber, an insertion and a mass vary."""
    law = DeGrooteFregly2016(500.0, 0.1, 0.1)
    model, t = shoulder(lambda k: law, 5, dynamics=ActivationDynamics(0.05, 0.2, "quadratic")), 0.01 * np.arange(8)
    swing = np.stack([0.2 * np.sin(25 * t), 0.3 * np.sin(35 * t + 1), 0.2 * np.cos(30 * t)], axis=-1)
    reserves = [Reserve(name, 10.0, 10.0) for name in model.system.velocity_names]
    trial = MuscleTrial(turning(model.system, slow * t, swing), reserves=reserves, **options)
    return Study(model, VARY, samples=samples, trial=trial, summaries=SUMMARIES)


@pytest.fixture(scope="module")
def study():
    return shaken(5, 10, **OPTIONS["cones"])


@pytest.fixture(scope="module")
def results(study):
    return study.run(threads=1)


@pytest.fixture(scope="module")
def plain():
    return shaken().run()


def test_blocks_of_trials_last_half_a_minute_at_most():
    """Elastic tendons and coupled frames take about 1 ms for each velocity and muscle of a frame, which is 8 here."""

    def block(frames, **options):
        study = shaken(500, **options)
        motion, rows = study.trial.motion, np.zeros(frames, dtype=int)
        long = Motion(motion.system, np.arange(frames), *(x[rows] for x in (motion.q, motion.u, motion.udot)))
        study = replace(study, trial=replace(study.trial, motion=long))
        return _block_size(study, contents_of(study), None)

    assert (block(1000), block(20_000)) == (16, 8)
    assert (block(1000, tendons="elastic"), block(9000, dynamics=Coupled())) == (2, 1)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_sample_is_the_redundancy_of_the_model_with_its_values(options, plain):
    own = shaken(**options)
    trial, results = own.trial, own.run()
    model = own.parameters.bind(own.values()[1])
    motion = Motion(model.system, *(getattr(trial.motion, x) for x in ("time", "q", "u", "udot")))
    given = {x: getattr(trial, x) for x in ("effort", "reserves", "cones", "dynamics", "tendons")}
    found = redundancy(model, motion, **given)
    pulls = muscle_wrenches(model, motion.q, found.force)
    passing = joint_reactions(model, motion.q, motion.u, motion.udot, pulls)[..., :3]
    assert results.unsolved[1] == (~are_met(found.status)).sum() == 0
    for name, expected in (
        ("mean_activation", found.activation.mean(axis=0)),
        ("peak_force", found.force.max(axis=0)),
        ("peak_reserve", np.abs(found.reserve).max(axis=0)),
        ("peak_load", np.linalg.norm(found.pressed, axis=-1).max(axis=0)),
        ("least_margin", found.margin.min(axis=0)),
        ("joint_reaction", np.linalg.norm(passing, axis=-1).max(axis=0)),
    ):
        np.testing.assert_allclose(results[name][1], expected, rtol=1e-5, atol=1e-5)
    assert np.abs(plain.mean_activation - results.mean_activation).max() > 1e-4
    assert np.ptp(results.mean_activation.values, axis=0).max() > 1e-3


def test_a_description_has_what_is_asked_for():
    """And only that: stores of earlier versions are those of the same study."""
    for options in OPTIONS.values():
        own = shaken(**options)
        trial = MuscleTrial.of_plain(own.trial.plain(), own.model)
        assert trial.plain() == own.trial.plain()
        assert (trial.dynamics, trial.tendons) == (own.trial.dynamics, own.trial.tendons)
        assert type(trial.effort) is type(own.trial.effort or Effort())
    plain = shaken().trial.plain()
    assert set(plain) == {"motion", "loads", "effort", "reserves", "cones"}
    assert "cost" not in plain["effort"]


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
    found = replace(study, trial=trial, samples=1, summaries=("peak_reserve", "least_margin")).run()
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
    stored = study.run(path, block=2)
    for name in SUMMARIES:
        np.testing.assert_array_equal(stored[name], results[name])
    last = sorted((path / "status" / "c").iterdir())[-1]
    last.unlink()
    assert verify_results(path).missing == (2,)
    assert study_of(path).run(path, resume=True).peak_force.notnull().all()
    again = open_results(path)
    xr.testing.assert_identical(again.load()[list(SUMMARIES)], stored.load()[list(SUMMARIES)])
    assert (recompute(path, 3).peak_force.values[0] == stored.peak_force.values[3]).all()
    assert "peak_load.arm" in to_table(again).columns
    assert "muscle redundancy of 8 frames" in repr(study)


def test_a_registered_summary_sums_up_trials(study, results):
    own = FrameSummary("own_mean_force", "muscle", "N", "mean tension", lambda f: f.force.mean(axis=0))
    register(own)
    try:
        found = replace(study, samples=2, summaries=(own.name, "mean_force")).run()
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
        changed(vary={"start_u.*": {"uniform": [0.0, 1.0]}}).run()
    motion = study.trial.motion
    with pytest.raises(ValueError, match="no u and udot"):
        changed(trial=MuscleTrial(Motion(motion.system, motion.time, motion.q))).run()
    for options, words in (
        ({"effort": MetabolicEffort(cost=Bhargava2004()), "tendons": "elastic"}, "takes all tendons as rigid"),
        ({"effort": MetabolicEffort(), "dynamics": Coupled()}, "powers of activations"),
        ({"tendons": "stiff"}, 'tendons are "rigid" or "elastic"'),
    ):
        with pytest.raises(ValueError, match=words):
            MuscleTrial(motion, **options)
