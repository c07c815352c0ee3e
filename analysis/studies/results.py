"""The report of a run, the table of its results, and the check of stores."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import xarray as xr

from myoquat.core import PATH, check_types, frozen
from myoquat.joints.errors import shortened
from myoquat.kernels import Outcome
from myoquat.muscle import Model

from .durable import StoreError
from .identity import arguments_of
from .specification import Specification
from .store import Store, check_study, contents_of, stored_description


@dataclass
class RunReport:
    """The cost of a run.

    wall     [s] of wall time
    kernel   [s] of kernels, summed over threads
    compile  [s] of compiling
    threads  their number
    blocks   number of computed blocks
    samples  number of computed samples
    damaged  the damaged blocks among them, each with its damage
    """

    wall: float = 0.0
    kernel: float = 0.0
    compile: float = 0.0
    threads: int = 1
    blocks: int = 0
    samples: int = 0
    damaged: dict[int, str] | None = None

    @property
    def kernel_share(self) -> float:
        """Share of the threads' time that was spent in kernels."""
        return self.kernel / (self.wall * self.threads) if self.wall else 0.0


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
