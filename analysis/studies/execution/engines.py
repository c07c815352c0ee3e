"""The engines of studies: of simulations, and of a trial."""

import threading
from collections import OrderedDict
from collections.abc import Callable

from myoquat.analysis.studies.definition.specification import Specification
from myoquat.analysis.studies.execution.engine import Engine, check_simulation
from myoquat.analysis.studies.execution.trial_engine import TrialEngine, check_trial

__all__ = ["Engine", "TrialEngine", "check_study", "engine_for", "engine_of"]

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


def check_study(study: Specification) -> None:
    """Raise the errors that can be found before anything is compiled."""
    if study.trial is None:
        check_simulation(study)
    else:
        check_trial(study)
