"""The constraints that a model holds by itself."""

from collections.abc import Sequence

from myoquat.joints.constraints import Constraint, CoordinateCoupler
from myoquat.joints.validation import SystemLike, system_of
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.model import Model

__all__ = ["as_constraint", "constraints_of"]


def constraints_of(model: SystemLike, given: Sequence[Constraint] = ()) -> tuple[Constraint, ...]:
    """The constraints that a motion of a model satisfies: its `constraints`, its couplers, and those `given` beside
    them, each once. A system alone has none of its own.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import constraints_of
    >>> constraints_of(mq.load_model("two_link"))
    ()
    """
    system_of(model)
    own: list[Constraint] = []
    if isinstance(model, Model):
        own += model.constraints
        own += map(as_constraint, model.couplers)
    return (*own, *(constraint for constraint in given if constraint not in own))


def as_constraint(coupler: Coupler) -> CoordinateCoupler:
    """The constraint that a coupler is."""
    return CoordinateCoupler(coupler.dependent, coupler.independent, coupler.function, coupler.scale, name=coupler.name)
