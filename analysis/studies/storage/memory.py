"""Results in memory, with the verbs of `myoquat.analysis.studies.storage.store.Store`."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from myoquat.analysis.studies.definition.specification import Specification
from myoquat.analysis.studies.storage.layout import coordinates, sizes, variables
from myoquat.analysis.studies.storage.store import attributes, in_order
from myoquat.core.typing import Array

__all__ = ["Memory", "dataset_of"]


class Memory:
    """The results of one study in arrays."""

    def __init__(self, study: Specification, code: Mapping[str, str], block: int) -> None:
        self.study, self.code, self.block = study, code, block
        self.blocks = -(-study.count // block)
        lengths = sizes(study)
        self.arrays = {
            v.name: np.full([lengths[dim] for dim in v.dims], v.fill, dtype=v.dtype) for v in variables(study)
        }

    def span(self, block: int) -> tuple[int, int]:
        """First sample of a block, and the first after it."""
        return block * self.block, min((block + 1) * self.block, self.study.count)

    @property
    def damaged(self) -> dict[int, str]:
        """None."""
        return {}

    def pending(self) -> list[int]:
        """All blocks: nothing is there at the beginning."""
        return list(range(self.blocks))

    def write(self, block: int, arrays: dict[str, Array]) -> None:
        """Put a block in its place."""
        begin, end = self.span(block)
        for name, array in self.arrays.items():
            array[begin:end] = arrays[name]

    def close(self) -> None:
        """Nothing to be done."""

    def dataset(self) -> xr.Dataset:
        """What is there."""
        return dataset_of(self.study, self.code, self.arrays)


def dataset_of(study: Specification, code: Mapping[str, str], arrays: dict[str, Array]) -> xr.Dataset:
    """Arrays of results as a Dataset, as `open_results` reads it from a store."""
    data = {v.name: (v.dims, arrays[v.name], {"units": v.unit, "description": v.description}) for v in variables(study)}
    labels = {name: (dims, _as_text(values)) for name, (dims, values) in coordinates(study).items()}
    return in_order(xr.Dataset(data, attrs=attributes(study, code)).assign_coords(labels))


def _as_text(values: Array) -> Array:
    return values.astype(object) if values.dtype.kind == "U" else values
