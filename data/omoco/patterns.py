"""Regular expressions of a file: matched only where that takes a limited time.

Python tries the ways in which an expression can match one after the other. Their number is bounded by a product: the
length of the text for every repetition, over their order, and 2 for every choice.
"""

import math
import re
from collections.abc import Sequence

__all__ = ["matching"]

MAX_TRIES = 1e8  # of an expression on all texts: some seconds
UNIT = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\(\?(?:<?[=!]|:)?", re.DOTALL
)  # an escape, a set, how a group begins


def matching(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Whether each text as a whole matches a regular expression.

    Raises ValueError for an expression that is none, and for one that may take too long.

    >>> from myoquat.data.omoco.patterns import matching
    >>> matching(".*/value", ["/jointset/knee/angle/value", "/jointset/knee/angle/speed"])
    [True, False]
    """
    plain = UNIT.sub(lambda unit: "(" if unit[0][0] == "(" else "x", pattern)
    repeated = sum(map(plain.count, "*+{"))
    choices = sum(map(plain.count, "?|"))
    longest = max(map(len, texts), default=0) + 1
    size = repeated * math.log(longest) - math.lgamma(repeated + 1) + choices * math.log(2) + math.log(len(texts) + 1)
    if re.search(r"\)[*+{]", plain) or size > math.log(MAX_TRIES):
        raise ValueError(
            f"the pattern {pattern[:60]!r} may take too long: it repeats a group, or has too many repetitions"
        )
    try:
        known = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern {pattern[:60]!r} is no regular expression: {error}") from None
    return [known.fullmatch(text) is not None for text in texts]
