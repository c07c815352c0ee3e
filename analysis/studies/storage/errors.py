"""Errors of stores of results."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from myoquat.joints.errors import shortened

__all__ = ["StoreError", "entry_of"]


class StoreError(ValueError):
    """A store that cannot take, or does not hold, the results of a study. Messages are shortened.

    >>> import tempfile
    >>> from myoquat.analysis.studies import StoreError, open_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         open_results(folder)
    ...     except StoreError as error:
    ...         print(str(error).replace(folder, "this folder"))
    this folder exists and is not a store of study results
    """

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


def entry_of(found: Mapping[str, Any], key: str, path: Path) -> Any:
    """What an attribute of a store tells in JSON; StoreError if it tells nothing."""
    try:
        return json.loads(found[key])
    except (ValueError, LookupError, TypeError, RecursionError):
        raise StoreError(f"{path}: the entry {key!r} of the results is damaged") from None
