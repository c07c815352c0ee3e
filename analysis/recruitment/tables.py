"""Tables of what muscles and velocities do over a motion."""

from collections.abc import Iterable, Sequence

from myoquat.core.typing import Array

__all__ = ["named_columns"]


def named_columns(parts: Iterable[tuple[Sequence[str], str, Array]]) -> dict[str, Array]:
    """'<name>.<kind>' -> (t,) the columns of every (names (n,), kind, values (t, n)), in order."""
    return {f"{name}.{kind}": values[:, k] for names, kind, values in parts for k, name in enumerate(names)}
