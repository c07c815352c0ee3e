"""A progress bar with rate and time left: on a terminal and in Jupyter, nowhere else."""

from typing import Any

from tqdm import tqdm
from tqdm.auto import tqdm as tqdm_notebook

from myoquat.kernels.notice import in_notebook

__all__ = ["bar"]


def bar(total: int, done: int, progress: bool | None) -> Any:
    """A bar over samples, `done` of `total` finished; `progress` True, False, or None for where a person looks."""
    kind = tqdm_notebook if in_notebook() else tqdm
    disable = None if progress is None and kind is tqdm else progress is False
    return kind(total=total, initial=done, unit="sample", unit_scale=True, disable=disable, leave=False)
