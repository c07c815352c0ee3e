"""Options of public functions in records: an argument that takes a record in place of single options."""

from dataclasses import fields
from typing import Any, TypeVar

__all__ = ["options_of"]

Options = TypeVar("Options")


def options_of(argument: str, record: Options | None, single: Options) -> Options:
    """The record of an argument, or one of the arguments that were given singly.

    Raises TypeError for a record of another type, ValueError where an option is given in both forms.
    """
    if record is None:
        return single
    if not isinstance(record, type(single)):
        raise TypeError(f"{argument} must be of type {type(single).__name__}, not {type(record).__name__}")
    twice = [item.name for item in fields(single) if _is_given(single, item.name)]  # type: ignore[arg-type]
    if twice:
        raise ValueError(f"{', '.join(twice)}: give options either singly or in {argument}, not both")
    return record


def _is_given(single: Any, name: str) -> bool:
    """True if an option differs from the default of its record."""
    value, default = getattr(single, name), getattr(type(single)(), name)
    return value is not default and not (isinstance(value, str | float | bool | tuple | dict) and value == default)
