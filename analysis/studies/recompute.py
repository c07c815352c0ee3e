"""One sample of stored results, computed again by itself."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from myoquat.analysis.studies.execution.engines import engine_of, user_code
from myoquat.analysis.studies.storage.describe import differences
from myoquat.analysis.studies.storage.errors import StoreError
from myoquat.analysis.studies.storage.machine import machine
from myoquat.analysis.studies.storage.memory import dataset_of
from myoquat.analysis.studies.storage.restore import arguments_of
from myoquat.analysis.studies.storage.store import open_results
from myoquat.analysis.studies.study import Study
from myoquat.core.arguments import PATH, check_types
from myoquat.kernels import Outcome
from myoquat.muscle import Model

__all__ = ["recompute", "study_of"]


def study_of(results: xr.Dataset | str | Path, model: Model | None = None) -> Study:
    """The study of these results. `model` is needed if the results could not store it.

    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import study_of
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> results = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"]).run(progress=False)
    >>> study_of(results).samples, study_of(results).duration
    (4, 0.01)
    """
    check_types(results=(results, ("xarray.Dataset", *PATH)))
    found = results if isinstance(results, xr.Dataset) else open_results(results)
    return Study(**arguments_of(json.loads(found.attrs["study"]), model))


def recompute(results: xr.Dataset | str | Path, sample: int, model: Model | None = None, **changes: Any) -> xr.Dataset:
    """A Dataset of one sample, computed anew from its stored values: on a processor of the same model the same bits.

    `changes` of what is kept (`times=1000`, `summaries=...`) or of anything else of the `Study` show more of the same
    sample. Raises IndexError for a sample that the study does not have, StoreError for one whose values differ from
    those that the study gives it.

    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import recompute
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> results = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"]).run(progress=False)
    >>> again = recompute(results, 2)
    >>> bool((again.peak_force.values[0] == results.peak_force.values[2]).all())  # bit for bit
    True
    """
    found = results if isinstance(results, xr.Dataset) else open_results(results)
    study = study_of(found, model)
    if not 0 <= sample < study.count:
        raise IndexError(f"sample {sample}: the study has {study.count}, counted from 0")
    values = study.values(sample, sample + 1)
    if found.status[sample] != Outcome.PENDING and not np.array_equal(values, found["values"][sample : sample + 1]):
        note = "; ".join(differences(_machine_of(found), machine())) or "the same processor"
        raise StoreError(f"sample {sample} has other values than the study gives it now ({note})")
    changed = replace(study, **changes)
    arrays, _ = engine_of(changed).run_values(values)
    return dataset_of(changed, user_code(changed), arrays).assign_coords(sample=("sample", [sample]))


def _machine_of(found: xr.Dataset) -> Any:
    """What the results say of the machine that computed them; None where that is damaged."""
    try:
        return json.loads(found.attrs["machine"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
