"""Studies of muscles with states: every sample is the simulation of its own model, from its own equilibrium."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis import Study
from myoquat.dynamics import simulate
from myoquat.joints import ArticulatedSystem
from myoquat.joints.functions import Linear
from myoquat.muscle import ActivationDynamics, Model, Muscle, PathPoint, PrescribedInput
from myoquat.muscle.laws import ExponentialMuscle, Millard2012, Thelen2003
from tests.analysis.studies.conftest import assert_simulated
from tests.bodies import on_slide

NUMBERS = (400.0, 0.1, 0.2, 0.2)
DYNAMICS = ActivationDynamics(0.012, 0.05, "piecewise", minimum_activation=0.01)
VARY = {
    "muscles.a.tendon_slack_length": {"uniform": [0.198, 0.2]},
    "muscles.b.max_isometric_force": {"uniform": [350, 450]},
    "muscles.a.activation": {"uniform": [0.2, 0.5]},
    "muscles.b.activation_dynamics.activation_time": {"uniform": [0.01, 0.02]},
    "muscles.b.path.0.position.x": {"uniform": [-0.02, 0.0]},
}


@pytest.fixture(scope="module")
def model():
    """A mass on two muscles with elastic tendons, one of them excited, and one without states."""
    body = on_slide("mass", "-z", mass=20.0, inertia=1.0)
    ends = [(PathPoint("ground", (x, 0.0, 0.0)), PathPoint("mass", (0.0, 0.0, 0.0))) for x in (0.0, -0.01, 0.0)]
    laws = [Thelen2003(*NUMBERS), Millard2012(*NUMBERS), ExponentialMuscle(0.3, 20.0)]
    dynamics = [None, DYNAMICS, None]
    muscles = [Muscle(*m) for m in zip("abc", ends, laws, (0.3, 0.3, 0.1), dynamics, strict=True)]
    return Model(ArticulatedSystem((body,)), tuple(muscles), start_q=(0.301,))


def test_every_sample_is_the_simulation_of_its_model(model):
    study = Study(model, VARY, samples=4, duration=0.1, step=2e-4, times=2, summary_step=2e-4, seed=1,
                  summaries=["peak_force", "work", "co_contraction", "joint_reaction"])  # fmt: skip
    results = assert_simulated(study)
    assert np.ptp(results.q.values[:, -1]) > 1e-3
    assert all(np.isfinite(results[name]).all() for name in study.summaries)


def test_a_muscle_without_dynamics_starts_at_its_function(model):
    """Whatever activation the model names, which is the start of muscles with activation dynamics alone."""
    driven = replace(model, inputs=tuple(PrescribedInput(name, Linear(0.0, 0.7)) for name in "abc"))
    unnamed = replace(driven, muscles=(replace(model.muscles[0], activation=None), *model.muscles[1:]))
    own, way = (simulate(each, duration=1e-2, step=2e-4).q[-1] for each in (driven, unnamed))
    study = Study(driven, {"bodies.mass.mass": [20.0]}, design="grid", duration=1e-2, step=2e-4)
    np.testing.assert_array_equal(own, way)
    np.testing.assert_allclose(study.run().q_final[0], way, rtol=1e-13)


def test_a_prescribed_muscle_starts_at_its_varied_activation(model):
    """Also where the model itself names none."""
    muscles = tuple(replace(m, activation=None if m.name == "b" else m.activation) for m in model.muscles)
    driven = replace(model, muscles=muscles, inputs=tuple(PrescribedInput(name, Linear(0.0, 0.7)) for name in "abc"))
    vary = {"muscles.b.activation": [0.1, 0.6]}
    results = assert_simulated(Study(driven, vary, design="grid", duration=1e-2, step=2e-4))
    assert np.ptp(results.q_final.values) > 1e-6


@pytest.mark.parametrize("vary", [{"bodies.mass.mass": [20.0]}, {"inputs.b.function.factor": [1.0, 100.0]}])
def test_inputs_that_leave_their_range_later_are_refused(model, vary):
    driven = replace(model, inputs=(PrescribedInput("b", Linear(100.0, 0.5)),))
    study = Study(driven, vary, design="grid", duration=1e-2, step=2e-4)
    with pytest.raises(ValueError, match=r"\(b\) is 1\.01; it must lie in \[0, 1\]"):
        study.run()
    assert np.isfinite(replace(study, activation=0.4).run().q_final).all()  # what a study gives stands in place of them


def test_the_variational_method_says_what_it_does_not_move(model):
    with pytest.raises(ValueError, match="moves no states of muscles"):
        Study(model, vary={"start_u.mass.speed": {"uniform": [-0.1, 0.1]}}, samples=2, duration=0.1,
              method="variational").run()  # fmt: skip
