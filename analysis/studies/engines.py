"""The engines of studies: of simulations, and of a trial.

Blocks of samples of a trial: the demands of its motion with the numbers of each sample, and their solutions.

Samples are solved one after the other, the frames of each side by side: a sample has the same bits whatever block it is
in. The numbers enter kernels as inputs; no sample compiles anything.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, cast

import numpy as np

from myoquat.analysis.recruitment.convex import are_met
from myoquat.analysis.recruitment.redundancy import Effort
from myoquat.analysis.recruitment.redundancy.assembled_motion import check_consistent
from myoquat.analysis.recruitment.redundancy.coupled import recruited
from myoquat.analysis.recruitment.redundancy.tendons import Tendons
from myoquat.analysis.recruitment.stability import margins_of
from myoquat.analysis.studies.engine import Engine, check_simulation
from myoquat.analysis.studies.specification import Specification
from myoquat.analysis.studies.summaries import SUMMARIES
from myoquat.analysis.studies.trial import TRIAL_SUMMARIES, Solved
from myoquat.analysis.studies.varied_demands import VariedDemands, check_varied
from myoquat.core.content import digest, is_foreign, lasting_content
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.joints.evaluation import traced_programs
from myoquat.kernels import Outcome
from myoquat.muscle import Model, Parameters
from myoquat.muscle.model import check_laws

__all__ = ["Engine", "TrialEngine", "check_study", "check_trial", "engine_for", "engine_of", "user_code"]


class TrialEngine:
    """The compiled form of a study of a trial."""

    def __init__(self, study: Specification) -> None:
        check_trial(study)
        assert study.trial is not None
        self.study, self.trial = study, study.trial
        trial = study.trial
        model = trial.motion.check_system(study.model).with_rigid_tendons()
        parameters = Parameters.of(model, study.parameters.names)
        self.varied = VariedDemands(model, trial.motion, trial.loads, (trial.listed, trial.cones), parameters)
        self.effort = trial.effort or Effort()
        self.elastic = trial.tendons == "elastic" and model.muscles != study.model.muscles

    def run(self, begin: int, end: int) -> tuple[dict[str, Array], float]:
        """(all that is kept of samples begin ... end - 1, seconds spent on them)."""
        return self.run_values(self.study.values(begin, end))

    def run_values(self, values: Array) -> tuple[dict[str, Array], float]:
        """The same for given values (samples, parameters)."""
        began, samples = perf_counter(), len(values)
        rows = [self._sample(p) for p in values]
        arrays: dict[str, Array] = {
            "values": values,
            "status": np.full(samples, Outcome.COMPLETED, dtype=np.int8),
            "stopped_at": np.full(samples, np.nan),
            "fingerprint": np.ones(samples, dtype=np.int8),
        }
        arrays |= {name: np.array([row[name] for row in rows]) for name in ("unsolved", *self.study.kept.summaries)}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, perf_counter() - began

    def _sample(self, p: Array) -> dict[str, Array]:
        trial, demands = self.trial, self.varied.of(p, stress=self.effort.of == "stress")
        time = trial.motion.time
        solve = partial(recruited, effort=self.effort, backend="kernel", time=time, dynamics=trial.dynamics)
        if self.elastic:
            demands, solution = Tendons(self._bound(p)).solved(demands, time, solve)
        else:
            solution = solve(demands)
        found = solution.found
        solved, m = are_met(found.status), demands.lengths.shape[1]
        force = demands.tensions(found.x[:, :m])
        pressed = demands.pressed(force, found.x[:, m:])
        margin = margins_of(trial.cones, pressed)
        given = found.x[:, m:] * np.array([reserve.strength for reserve in trial.listed])
        at = Solved(found.x[solved, :m], force[solved], given[solved], pressed[solved], margin[solved],
                    partial(self._reactions, force, found.x[:, m:], p, solved))  # fmt: skip
        row: dict[str, Array] = {"unsolved": np.array(float((~solved).sum()))}
        for name in self.study.kept.summaries:
            summary = TRIAL_SUMMARIES[name]
            row[name] = summary.of(at) if solved.any() else np.full(self._sizes[summary.along], np.nan)
        return row

    def _bound(self, p: Array) -> Model:
        """The model of a sample, with its elastic tendons."""
        found: Any = self.study.parameters.bind(p)
        return cast(Model, found)

    def _reactions(self, force: Array, controls: Array, p: Array, solved: Array) -> Array:
        return self.varied.reactions(force, controls, p)[solved]

    @property
    def _sizes(self) -> dict[str, int]:
        model = self.study.model
        labels = {name: len(own) for name, own in self.trial.labels.items()}
        return {"muscle": len(model.muscles), "body": len(model.system.bodies), **labels}


def check_trial(study: Specification) -> None:
    """Checks before anything is compiled. ValueError for parameters that a trial cannot vary and motions that violate
    the model's constraints, ModelError for muscles without a law."""
    assert study.trial is not None
    check_varied(study.parameters)
    check_laws(study.model, study.parameters.names)
    motion = study.trial.motion
    if motion.u is None or motion.udot is None:
        raise ValueError("the motion has no u and udot; smooth(motion) or differentiate(motion) finds them")
    check_consistent(study.model, motion)


MAX_ENGINES = 8  # kept by a process that serves several studies

_engines: OrderedDict[str, Engine | TrialEngine] = OrderedDict()
_lock = threading.Lock()


def engine_for(key: str, study: Callable[[], Specification]) -> Engine | TrialEngine:
    """The engine of the study with this key, made at its first use in a process."""
    with _lock:
        if key not in _engines:
            _engines[key] = engine_of(study())
            while len(_engines) > MAX_ENGINES:
                _engines.popitem(last=False)
        _engines.move_to_end(key)
        return _engines[key]


def engine_of(study: Specification) -> Engine | TrialEngine:
    """A new engine for what the study does with a sample."""
    return Engine(study) if study.trial is None else TrialEngine(study)


def user_code(study: Specification) -> dict[str, str]:
    """The traced programs of a study's code outside this package, as a digest; {} where all code is of this package.

    They say what compiled code computes. What a summary does afterwards, in NumPy, is no part of them.
    """
    summaries = [known[name] for known in (SUMMARIES, TRIAL_SUMMARIES) for name in study.summaries if name in known]
    own: list[object] = [FIXED_STEP.get(study.method), *summaries]
    trial = study.trial
    of_trial = () if trial is None else (trial.effort, tuple(trial.listed), tuple(trial.cones))
    if not any(is_foreign(type(part)) for part in own) and lasting_content((study.model.content_key, *of_trial)):
        return {}
    with traced_programs() as programs:
        engine = engine_of(study)
        if trial is not None:
            engine.run(0, 1)  # whose kernels are made when a sample needs them
    return {"programs": digest(*sorted(programs))}


def check_study(study: Specification) -> None:
    """Raise the errors that can be found before anything is compiled."""
    if study.trial is None:
        check_simulation(study)
    else:
        check_trial(study)
