"""How a run ended: one enumeration for step loops, simulations, events, studies and their stored results."""

from enum import IntEnum

__all__ = ["Outcome"]


class Outcome(IntEnum):
    """How the integration of one state ended; `sentence` says it in words.

    The numbers are stored in files (`status` of a study's results, `code` of a trajectory). They never change, and a
    new member gets a new number. Arrays of outcomes hold these numbers.

    >>> from myoquat.kernels import Outcome
    >>> Outcome.NOT_FINITE.sentence, Outcome.NOT_FINITE.failed
    ('the next state is not finite', True)
    """

    sentence: str

    def __new__(cls, number: int, sentence: str = "") -> "Outcome":
        member = int.__new__(cls, number)
        member._value_, member.sentence = number, sentence
        return member

    PENDING = 0, "not yet computed"
    COMPLETED = 1, "ran to the end"
    NOT_FINITE = 2, "the next state is not finite"
    BOUND = 3, "the state passed a bound: the speed |u| is beyond 1e6, or a given limit is exceeded"
    EVENT = 4, "an event ended it"
    STUCK = 5, "the step size has become too small to go on"

    @property
    def failed(self) -> bool:
        """True where a run stopped although nothing asked it to."""
        return self in (Outcome.NOT_FINITE, Outcome.BOUND, Outcome.STUCK)
