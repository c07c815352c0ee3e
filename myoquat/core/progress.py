"""Progress bars: on a terminal and in Jupyter, elsewhere only on request."""

import importlib
from typing import Any, Protocol

from myoquat.core.progress_message import in_notebook, watched

__all__ = ["Bar", "progress_bar"]


class Bar(Protocol):
    """A context within which `update` moves a bar on by a number of units."""

    def __enter__(self) -> "Bar": ...
    def __exit__(self, *error: object) -> object: ...
    def update(self, count: int) -> object: ...


class _Unseen:
    """A bar without output."""

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def update(self, count: int) -> None:
        return None


def progress_bar(total: int, unit: str, progress: bool | None, done: int = 0) -> Bar:
    """A bar over `total` units, `done` of them finished, with rate and time left; gone when its context is left.

    progress: True, False, or None for terminals and notebooks alone. tqdm is imported when a bar is drawn. The import
    takes longer than much of the work that a bar would show.
    """
    if not (watched() if progress is None else progress):
        return _Unseen()
    drawn: Any = importlib.import_module("tqdm.auto" if in_notebook() else "tqdm").tqdm
    bar: Bar = drawn(total=total, initial=done, unit=unit, unit_scale=True, leave=False)
    return bar
