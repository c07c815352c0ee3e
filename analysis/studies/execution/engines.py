"""The engines of studies: of simulations, and of a trial."""

import threading
from collections import OrderedDict
from collections.abc import Callable

from myoquat.analysis.studies.definition.specification import Specification
from myoquat.analysis.studies.definition.summaries import SUMMARIES
from myoquat.analysis.studies.definition.trial import TRIAL_SUMMARIES
from myoquat.analysis.studies.execution.engine import Engine, check_simulation
from myoquat.analysis.studies.execution.trial_engine import TrialEngine, check_trial
from myoquat.core.content import digest, is_foreign, lasting_content
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.joints.compiled import traced_programs

__all__ = ["Engine", "TrialEngine", "check_study", "engine_for", "engine_of", "user_code"]

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
