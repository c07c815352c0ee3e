"""The Zarr group of a store.

Its root repeats what the arrays say of themselves, so that other programs open it at once. What is opened here is read
from the arrays: the copy does not mask a damaged one.
"""

import warnings
from pathlib import Path
from typing import Any

import zarr
from zarr.abc.store import Store
from zarr.errors import ZarrUserWarning

__all__ = ["consolidate", "group_at"]


def group_at(path: Path | Store, mode: Any) -> Any:
    """The group at a path, or in a store of Zarr, its arrays as they say themselves; mode "r" or "r+"."""
    return zarr.open_group(path, mode=mode, zarr_format=3, use_consolidated=False)


def consolidate(path: Path) -> None:
    """Repeat in the root what the arrays say, where xarray looks first.

    Zarr warns that the specification does not have it; readers that do not know it pass it over.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Consolidated metadata", ZarrUserWarning)
        zarr.consolidate_metadata(path, zarr_format=3)
