"""Constraints as text: JSON of the records' fields, by the rules of model files (`myoquat.data.toml.records`)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from myoquat.data.toml.record_types import written_type
from myoquat.data.toml.records import read_record, write_fields
from myoquat.joints.constraints.base import Constraint
from myoquat.joints.errors import ModelError

__all__ = ["constraints_text", "parse_constraints"]


def constraints_text(constraints: Sequence[Constraint]) -> str:
    """The constraints as JSON; ValueError, naming the constraint, for one that holds a function or whose type could not
    be read again."""
    return json.dumps([_table(number, one) for number, one in enumerate(constraints, start=1)])


def _table(number: int, constraint: Constraint) -> dict[str, Any]:
    for name, value in vars(constraint).items():
        if callable(value):
            raise ValueError(
                f"constraint {number}, {type(constraint).__name__}, holds a Python function as its {name!r}, which a "
                "file cannot keep"
            )
    element = f"constraint {number}"
    return {"type": written_type(type(constraint), element), **write_fields(constraint, element)}


def parse_constraints(text: str, path: Path) -> tuple[Constraint, ...]:
    """The constraints in a text of `constraints_text`; ModelError for another text or an unknown type."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the constraints are not valid JSON: {error}", file=path) from None
    if not isinstance(found, list):
        raise ModelError(f"the constraints are a list, not {type(found).__name__}", file=path)
    tables = enumerate(found, start=1)
    try:
        return tuple(read_record(Constraint, table, f"constraint {n}", "") for n, table in tables)  # type: ignore[type-abstract]
    except ModelError as error:
        raise error.located(path, None) from None
