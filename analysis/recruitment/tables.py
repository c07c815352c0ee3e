"""Tables of quantities of muscles and velocities over a motion."""

from collections.abc import Iterable, Sequence

from myoquat.core.typing import Array

__all__ = ["named_columns"]


def named_columns(parts: Iterable[tuple[Sequence[str], str, Array]]) -> dict[str, Array]:
    """'<name>.<quantity>' -> (t,) the columns of every (names (n,), quantity, values (t, n)), in order."""
    return {f"{name}.{quantity}": values[:, k] for names, quantity, values in parts for k, name in enumerate(names)}
