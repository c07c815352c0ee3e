"""Studies of trials with efforts and options of `redundancy` beside powers of activations.

These are metabolic power, elastic tendons, and activation dynamics, frame after frame or all frames as one problem.
"""

import numpy as np
import pytest

from myoquat.analysis.recruitment import Coupled, Effort, MetabolicEffort, Reserve, Sequential, redundancy
from myoquat.analysis.recruitment.convex import are_met
from myoquat.analysis.studies import MuscleTrial, Study
from myoquat.data import Motion
from myoquat.muscle import ActivationDynamics
from myoquat.muscle.laws import Millard2012
from myoquat.muscle.metabolics import Bhargava2004, Umberger2010
from tests.analysis.recruitment.shoulders import shoulder, turning

VARY = {
    "muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True},
    "muscles.m1.optimal_fiber_length": {"uniform": [0.9, 1.1], "relative": True},
    "bodies.arm.mass": {"uniform": [1.0, 2.0]},
}
SUMMARIES = ("mean_activation", "peak_force", "peak_reserve", "joint_reaction")
METABOLIC = MetabolicEffort(cost=Umberger2010(aerobic_factor=1.2), slow_twitch={"m1": 0.7}, masses={"m2": 0.1})
OPTIONS = {
    "power": {"effort": METABOLIC},
    "elastic": {"tendons": "elastic"},
    "sequence": {"dynamics": Sequential()},
    "coupled": {"dynamics": Coupled(rates=1e-5)},
    "both": {"dynamics": Coupled(), "tendons": "elastic"},
}


def study(options):
    """A shoulder of five muscles with elastic tendons, shaken; strengths, a fiber length and a mass vary."""
    law = Millard2012(500.0, 0.1, 0.1, tendon="elastic", damping=0.1)
    model, t = shoulder(lambda k: law, 5, dynamics=ActivationDynamics(form="quadratic")), 0.01 * np.arange(8)
    swing = np.stack([0.2 * np.sin(25 * t), 0.3 * np.sin(35 * t + 1), 0.2 * np.cos(30 * t)], axis=-1)
    reserves = [Reserve(name, 10.0, 10.0) for name in model.system.velocity_names]
    trial = MuscleTrial(turning(model.system, t, swing), reserves=reserves, **options)
    return Study(model, VARY, samples=2, trial=trial, summaries=SUMMARIES)


@pytest.fixture(scope="module")
def plain():
    return study({}).run(progress=False)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_sample_is_the_redundancy_of_the_model_with_its_values(options, plain):
    own = study(options)
    trial, results = own.trial, own.run(progress=False)
    model = own.parameters.bind(own.values()[1])
    motion = Motion(model.system, *(getattr(trial.motion, x) for x in ("time", "q", "u", "udot")))
    given = {"effort": trial.effort, "reserves": trial.reserves, "dynamics": trial.dynamics, "tendons": trial.tendons}
    found = redundancy(model, motion, **given)
    assert results.unsolved[1] == (~are_met(found.status)).sum() == 0
    np.testing.assert_allclose(results.mean_activation[1], found.activation.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(results.peak_force[1], found.force.max(axis=0), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(results.peak_reserve[1], np.abs(found.reserve).max(axis=0), rtol=1e-4, atol=1e-4)
    assert np.abs(plain.mean_activation - results.mean_activation).max() > 1e-4
    assert np.ptp(results.mean_activation.values, axis=0).max() > 1e-3


def test_a_description_has_what_is_asked_for():
    """And only that: stores of earlier versions are those of the same study."""
    for options in OPTIONS.values():
        own = study(options)
        trial = MuscleTrial.of_plain(own.trial.plain(), own.model)
        assert trial.plain() == own.trial.plain()
        assert (trial.dynamics, trial.tendons) == (own.trial.dynamics, own.trial.tendons)
        assert type(trial.effort) is type(own.trial.effort or Effort())
    assert set(study({}).trial.plain()) == {"motion", "loads", "effort", "reserves", "cones"}
    assert "cost" not in study({}).trial.plain()["effort"]


def test_what_does_not_go_together():
    motion = study({}).trial.motion
    for options, words in (
        ({"effort": MetabolicEffort(cost=Bhargava2004()), "tendons": "elastic"}, "takes all tendons as rigid"),
        ({"effort": MetabolicEffort(), "dynamics": Coupled()}, "powers of activations"),
        ({"tendons": "stiff"}, 'tendons are "rigid" or "elastic"'),
    ):
        with pytest.raises(ValueError, match=words):
            MuscleTrial(motion, **options)
