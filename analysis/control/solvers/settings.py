"""Checks of the options that solvers share."""

from collections.abc import Mapping
from numbers import Integral, Real
from types import NoneType
from typing import Any

from myoquat.core.arguments import check_types

__all__ = ["check_options"]


def check_options(given: Any) -> None:
    """TypeError for tolerance, max_iterations, barrier, print_level and options of other types, ValueError for a
    barrier that is not positive."""
    check_types(
        options=(given.options, Mapping),
        tolerance=(given.tolerance, Real),
        barrier=(given.barrier, (Real, NoneType)),
        max_iterations=(given.max_iterations, Integral),
        print_level=(given.print_level, Integral),
    )
    if given.barrier is not None and not given.barrier > 0:
        raise ValueError(f"barrier must be positive or None, not {given.barrier}")
