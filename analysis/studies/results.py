"""The table of a study's results, the check of stores, and which parameter moves which result.

Outputs are columns of `to_table`, by names or patterns ("work.*", "q_final.A.Q0"), or all of a variable by its name
("work"). Samples that failed have no outputs; effects and correlations leave them out, Sobol indices cannot.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from myoquat.core import PATH, Array, check_types, frozen
from myoquat.joints.errors import shortened
from myoquat.kernels import Outcome
from myoquat.muscle import Model

from .durable import StoreError
from .engine import engine_of, user_code
from .identity import arguments_of, differences, machine
from .specification import Specification
from .store import Store, check_study, contents_of, dataset_of, open_results, stored_description
from .study import Study


@frozen
class Verification:
    """Defects of stored results.

    blocks   their number
    damaged  number of a damaged block -> its damage
    labels   those that are not those of the study
    missing  numbers of blocks that have not been computed

    >>> import tempfile
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import verify_results
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"])
    ...     done = study.run(f"{folder}/masses.zarr", progress=False)
    ...     found = verify_results(f"{folder}/masses.zarr")
    >>> found.blocks, found.damaged, found.missing
    (1, {}, ())
    """

    blocks: int
    damaged: dict[int, str]
    labels: tuple[str, ...]
    missing: tuple[int, ...]

    @property
    def intact(self) -> bool:
        """Whether all that is there is as it was written."""
        return not self.damaged and not self.labels

    @property
    def complete(self) -> bool:
        """Whether every block is there."""
        return not self.missing


def verify(study: Specification, path: str | Path) -> Verification:
    """Read the results of a study in a store. Raises StoreError for a store of another study, or one whose layout is
    damaged."""
    path, contents = Path(path), contents_of(study)
    check_study(contents, path)
    store = Store(contents, path)
    return Verification(store.blocks, store.damaged, tuple(store.label_faults()), tuple(store.missing))


def verify_results(path: str | Path, model: Model | None = None) -> Verification:
    """Read the results in a store and compare them with their checksums; `model` where they could not hold it. Raises
    FileNotFoundError, or StoreError for a store whose study or layout is damaged.

    >>> import tempfile
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import verify_results
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"])
    ...     done = study.run(f"{folder}/masses.zarr", progress=False)
    ...     print(verify_results(f"{folder}/masses.zarr").damaged)  # every number compared with its checksum
    {}
    """
    check_types(path=(path, PATH))
    try:
        return verify(Specification(**arguments_of(stored_description(path), model)), path)
    except (StoreError, OSError):
        raise
    except Exception as error:  # whatever a damaged description makes of a study, or zarr of a damaged layout
        reason = shortened(str(error), 300) if isinstance(error, ValueError) else "the description of the study"
        raise StoreError(f"{path}: the results are damaged ({reason})") from error


_LABELS = ("parameter", "coordinate", "velocity", "muscle", "body", "actuator", "joint")


def to_table(results: xr.Dataset) -> pd.DataFrame:
    """One row per sample: the varied values by their names, status and stop, and every final value and summary as
    '<variable>.<label>', with their units in `attrs`. `save_table` writes it. Trajectories are
    `results.q.to_series().unstack()`.

    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import to_table
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> results = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"]).run(progress=False)
    >>> to_table(results)[["bodies.B.mass", "peak_force.m1"]].shape
    (4, 2)
    """
    check_types(results=(results, "xarray.Dataset"))
    columns, units = dict[str, object](), dict[str, str]()
    for name, array in results.data_vars.items():
        if "time" in array.dims or name == "fingerprint":
            continue
        along = next((dim for dim in array.dims if dim in _LABELS), None)
        if along is None:
            columns[str(name)], units[str(name)] = array.values, ""
            continue
        unit = str(array.attrs.get("units", "")).removeprefix("see ") if name != "values" else f"{along}_unit"
        own = results[f"{along}_unit"].values if f"{along}_unit" in results.coords else [""] * array.sizes[along]
        prefix = "" if name == "values" else f"{name}."
        for label, one, column in zip(results[along].values, own, array.values.T, strict=True):
            columns[f"{prefix}{label}"] = column
            units[f"{prefix}{label}"] = unit.replace(f"{along}_unit", str(one)).replace("/s s", "")  # 'velocity_unit s'
    columns["status"] = pd.Categorical.from_codes(results.status.values, [outcome.sentence for outcome in Outcome])
    found = pd.DataFrame(columns, index=pd.RangeIndex(results.sizes["sample"], name="sample"))
    found.attrs["units"] = units
    return found


# ---- Main effects, correlations and Sobol indices ----------------------------------------------------------------


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
    """A Dataset of one sample, computed anew from its stored values: the same bits on a machine of the same processor.

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
        try:
            of_results = json.loads(found.attrs["machine"])
        except (ValueError, LookupError, TypeError, RecursionError):
            of_results = None  # damaged
        note = "; ".join(differences(of_results, machine())) or "the same processor"
        raise StoreError(f"sample {sample} has other values than the study gives it now ({note})")
    changed = replace(study, **changes)
    arrays, _ = engine_of(changed).run_values(values)
    return dataset_of(contents_of(changed), user_code(changed), arrays).assign_coords(sample=("sample", [sample]))


Patterns = str | Sequence[str]
BOOTSTRAP_RESAMPLES = 400


def outputs_of(results: xr.Dataset, patterns: Patterns) -> pd.DataFrame:
    """The outputs, one row per sample. Raises ValueError for a pattern that no column fits."""
    table = to_table(results).drop(columns=["status", "stopped_at", *results.parameter.values])
    chosen: list[str] = []
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        found = [name for name in table.columns if fnmatchcase(name, pattern) or name.startswith(f"{pattern}.")]
        if not found:
            raise ValueError(f"no output fits {pattern!r}; there are: {', '.join(table.columns)}")
        chosen += [name for name in found if name not in chosen]
    return table[chosen]


def main_effects(results: xr.Dataset, outputs: Patterns) -> pd.DataFrame:
    """(parameters x outputs) the mean effect of raising a parameter. It is the mean of the output over the third of the
    samples with the highest values, minus that over the third with the lowest. `attrs["units"]` has the unit of every
    column.

    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import main_effects
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> results = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"]).run(progress=False)
    >>> effects = main_effects(results, "peak_force.m1")
    >>> effects.attrs["units"]
    {'peak_force.m1': 'N'}
    """
    check_types(results=(results, "xarray.Dataset"))
    x, y = _finished(results, outputs)
    effects = {}
    for name, column in x.items():
        low, high = np.quantile(column, [1 / 3, 2 / 3], method="nearest")
        effects[name] = y[column >= high].mean() - y[column <= low].mean()
    table = pd.DataFrame(effects).T.rename_axis("parameter")
    units = y.attrs["units"]  # those of `to_table`
    table.attrs["units"] = {name: units[name] for name in y.columns if units.get(name)}
    return table


def correlation(results: xr.Dataset, outputs: Patterns, method: str = "spearman") -> pd.DataFrame:
    """(parameters x outputs) correlation: the method "spearman" is of ranks and 1 for any increasing dependence,
    "pearson" is of values. NaN where an output does not change.

    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import correlation
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> results = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"]).run(progress=False)
    >>> correlation(results, "peak_force.m1").index.to_list()
    ['bodies.B.mass']
    """
    check_types(results=(results, "xarray.Dataset"))
    if method not in ("spearman", "pearson"):
        raise ValueError(f"method is 'spearman' or 'pearson', not {method!r}")
    x, y = _finished(results, outputs)
    if method == "spearman":
        x, y = x.rank(), y.rank()
    return pd.DataFrame({name: x.corrwith(y[name]) for name in y}).rename_axis("parameter")


def sobol_indices(
    results: xr.Dataset, outputs: Patterns, model: Model | None = None, level: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """First-order and total Sobol indices of each axis for each output, with bootstrapped intervals.

    Rows are (output, axis), columns first, first_low, first_high, total, total_low, total_high. The method is
    `scipy.stats.sobol_indices` (Saltelli 2010) on a study of the design "saltelli". Raises ValueError for another
    design, a failed sample, or an output that does not change.

    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import sobol_indices
    >>> vary = {f"muscles.m{k}.max_isometric_force": {"uniform": [5.0, 15.0]} for k in (1, 2)}
    >>> study = mq.Study("two_link", vary, design="saltelli", samples=16, duration=0.002, summaries=["peak_force"])
    >>> sobol_indices(study.run(progress=False), "peak_force.m1").total.round(1).to_list()  # its own strength alone
    [0.9, 0.0]
    """
    check_types(results=(results, "xarray.Dataset"))
    study = study_of(results, model)
    if study.design != "saltelli":
        raise ValueError(f"Sobol indices need the design 'saltelli', not {study.design!r}")
    failed = int((results.status != Outcome.COMPLETED).sum())
    if failed:
        raise ValueError(f"Sobol indices need every sample; {failed} failed or are not yet there")
    y = outputs_of(results, outputs)
    constant = [name for name in y if np.ptp(y[name].to_numpy()) == 0]
    if constant:
        raise ValueError(f"the output {constant[0]!r} does not change, so nothing can explain it")
    axes = [axis.name for axis in study.design_of.axes]
    matrices = y.to_numpy().T.reshape(len(y.columns), len(axes) + 2, -1)  # (outputs, A B AB_1 ..., rows)
    spread = stats.bootstrap(
        [np.arange(matrices.shape[-1])],
        lambda rows: saltelli_indices(matrices[..., rows]),
        vectorized=False,
        n_resamples=BOOTSTRAP_RESAMPLES,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    parts = {"": saltelli_indices(matrices), "_low": spread.low, "_high": spread.high}
    columns = {f"{order}{end}": values[k].ravel() for k, order in enumerate(("first", "total"))
               for end, values in parts.items()}  # fmt: skip
    return pd.DataFrame(columns, index=pd.MultiIndex.from_product([y.columns, axes], names=["output", "axis"]))


def saltelli_indices(matrices: Array) -> Array:
    """(2, outputs, axes) first-order and total indices of outputs (outputs, A B AB_1 ..., rows)."""
    given = {"f_A": matrices[:, 0], "f_B": matrices[:, 1], "f_AB": np.moveaxis(matrices[:, 2:], 1, 0)}
    found = stats.sobol_indices(func=given, n=matrices.shape[-1])
    shape = len(matrices), matrices.shape[1] - 2
    return np.stack([np.reshape(found.first_order, shape), np.reshape(found.total_order, shape)])


def _finished(results: xr.Dataset, outputs: Patterns) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Parameters and outputs of the samples that ran to the end; ValueError for fewer than two."""
    good = results.status.values == Outcome.COMPLETED
    if good.sum() < 2:
        raise ValueError(f"{good.sum()} of {good.size} samples ran to the end; at least 2 are needed")
    x = pd.DataFrame(results["values"].values, columns=results.parameter.values)
    return x[good], outputs_of(results, outputs)[good]
