"""How many cases a test of many draws: few in the suite, many on request.

    MYOQUAT_TESTS=full python -m pytest FILES     draws all of them

Only the number of random draws differs; cases that are chosen by hand are always tested.
"""

import os

__all__ = ["draws"]


def draws(few: int, many: int) -> int:
    """`few`, or `many` with MYOQUAT_TESTS=full."""
    return many if os.environ.get("MYOQUAT_TESTS") == "full" else few
