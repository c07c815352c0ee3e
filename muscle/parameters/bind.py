"""A model with numbers replaced: through the constructors and their checks for floats, past them for symbols."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from myoquat.core.records import unchecked
from myoquat.kernels.symbolic.arrays import is_symbolic

__all__ = ["with_values"]

Step = tuple[str | int, ...]


def with_values(node: Any, values: Mapping[Step, Any]) -> Any:
    """`node`, a dataclass or a tuple, with the values at these steps below it. Raises what its checks raise."""
    if () in values:
        return values[()]
    below: dict[str | int, dict[Step, Any]] = {}
    for steps, value in values.items():
        below.setdefault(steps[0], {})[steps[1:]] = value
    if isinstance(node, tuple):
        return tuple(with_values(item, below[i]) if i in below else item for i, item in enumerate(node))
    changes = {str(key): with_values(getattr(node, str(key)), inner) for key, inner in below.items()}
    return unchecked(node, changes) if any(map(is_symbolic, values.values())) else replace(node, **changes)
