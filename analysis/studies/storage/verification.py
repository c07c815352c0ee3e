"""Stored results, read from end to end and compared with their checksums."""

from pathlib import Path

from myoquat.analysis.studies.definition.specification import Specification
from myoquat.analysis.studies.storage.errors import StoreError
from myoquat.analysis.studies.storage.restore import arguments_of
from myoquat.analysis.studies.storage.store import Store, check_store, stored_description
from myoquat.core.arguments import PATH, check_types
from myoquat.core.records import dataclass
from myoquat.joints.errors import shortened
from myoquat.muscle import Model

__all__ = ["Verification", "verify", "verify_results"]


@dataclass(frozen=True)
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
    path = Path(path)
    check_store(study, path)
    store = Store(study, path)
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
