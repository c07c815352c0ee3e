"""A study as its user meets it: specified in Python or in a file, run in threads or on a cluster."""

from html import escape
from pathlib import Path
from typing import Any

import xarray as xr

from myoquat.analysis.studies.definition.specification import Specification
from myoquat.analysis.studies.definition.study_files import MAX_BYTES, located, read_study
from myoquat.analysis.studies.run import MAX_ANSWER_SECONDS, RunOptions, compute
from myoquat.core.records import dataclass
from myoquat.data.files import read_text

__all__ = ["Study"]


@dataclass(frozen=True, repr=False)
class Study(Specification):
    __doc__ = Specification.__doc__

    @classmethod
    def load(cls, path: str | Path) -> "Study":
        """The study in a TOML file, see `myoquat.analysis.studies.definition.study_files`."""
        arguments = read_study(path)
        try:
            return cls(**arguments)
        except ValueError as error:
            raise located(error, Path(path), read_text(Path(path), MAX_BYTES)) from None

    def run(
        self,
        output: str | Path | None = None,
        *,
        resume: bool | str = False,
        threads: int | None = None,
        block: int | None = None,
        client: Any = None,
        scheduler: str | None = None,
        timeout: float = MAX_ANSWER_SECONDS,
        progress: bool | None = None,
    ) -> xr.Dataset:
        """Simulate all samples: a Dataset in memory or, with `output`, in a new Zarr store at that path.

        resume             True: go on with the store at `output`, if there is one. What is there is checked and kept,
                           and damaged blocks are computed again. "any-code": also where other code began it.
        threads            of this process, by default all cores; each computes and stores blocks of its own.
        block              samples per block, by default about 2048; a store keeps the block that it was begun with.
        client, scheduler  a `distributed.Client`, or the address of a Dask scheduler, which must answer in `timeout`
                           [s]: its workers compute, this process stores.
        progress           a bar: True, False, or None for on a terminal and in Jupyter only.

        The numbers are the same bit for bit however a study is run, on processors with the same instructions. Raises
        ValueError for values that the model refuses. Raises StoreError for a store that is not this study's, that other
        code began, that another process is writing, or that is removed meanwhile. OSError where nothing can be written.
        What was stored stays and can be resumed.
        """
        options = RunOptions(resume, threads, block, client, scheduler, timeout, progress)
        results, _ = compute(self, output, options)
        return results.dataset()

    # ---- shown -----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        facts = ", ".join(f"{value} {name}" if name in _COUNTED else value for name, value in self._facts().items())
        return f"Study({facts})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._facts().items()
        )
        return f"<table>{rows}</table>"

    def _facts(self) -> dict[str, str]:
        return {
            "model": repr(self.model.name),
            "varied parameters": str(len(self.parameters.names)),
            "samples": str(self.count),
            "design": self.design,
            "simulation" if self.trial is None else "trial": self.runs,
        }


_COUNTED = ("varied parameters", "samples")
