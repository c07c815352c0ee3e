"""Formulas of goals and constraints: evaluated, with errors that name the goal or the constraint."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from myoquat.analysis.control.conditions import BoundaryConstraint, PathCondition
from myoquat.analysis.control.goals.base import ChangeGoal, EndGoal, Goal, IntegralGoal
from myoquat.core.typing import Array
from myoquat.joints.stacking import vector
from myoquat.kernels.symbolic.arrays import as_array

__all__ = ["constraint_rows", "one_change", "one_number"]


@contextmanager
def _named(title: str) -> Iterator[None]:
    """Put the title in front of an unknown name."""
    try:
        yield
    except KeyError as error:
        raise KeyError(f"{title}: {error.args[0]}") from None


def constraint_rows(constraint: PathCondition | BoundaryConstraint, *given: Any) -> Array:
    """(..., k) what the formula of a constraint returns, as many numbers as it has bounds; ValueError for others. Given
    are the plant and a point, or both ends and the duration."""
    with _named(constraint.title):
        value = (constraint.rows if isinstance(constraint, PathCondition) else constraint.formula)(*given)
    row: Array = vector(value) if isinstance(value, (tuple, list)) else as_array(value)
    row = row if row.ndim else row[None]
    if row.shape[-1] != len(constraint.interval):
        raise ValueError(
            f"{constraint.title}: the formula returns {row.shape[-1]} numbers, but there are "
            f"{len(constraint.interval)} lower and upper bounds"
        )
    return row


def one_number(goal: IntegralGoal | EndGoal, *given: Any) -> Array:
    """(...) the integrand of a goal, or the value of one of the ends; ValueError for more than one number."""
    return _number(goal, goal.integrand if isinstance(goal, IntegralGoal) else goal.value, *given)


def one_change(goal: ChangeGoal, *given: Any) -> Array:
    """(...) the integrand of a goal of changes; ValueError for more than one number."""
    return _number(goal, goal.integrand, *given)


def _number(goal: Goal, formula: Callable[..., Any], *given: Any) -> Array:
    title = f"goal {goal.title!r}"
    with _named(title):
        value = formula(*given)
    found: Array = as_array(value)
    if found.ndim:
        raise ValueError(f"{title}: the formula returns an array of shape {found.shape}; one number is needed")
    return found
