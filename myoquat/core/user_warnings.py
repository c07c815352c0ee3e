"""Warnings at the lines of those who use this package."""

import sys
import warnings
from types import FrameType

# this package, and the modules whose functions stand between its own: replace, cached_property, context managers
PASSED = (__name__.partition(".")[0], "dataclasses", "functools", "contextlib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning at the nearest line outside of this package, however deep in the package its reason was found.

    >>> import warnings
    >>> from myoquat.core import warn_user
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("the record has gaps")
    >>> print(caught[0].message)
    the record has gaps
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_passed(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_passed(frame: FrameType) -> bool:
    """Whether a frame has no line that a user wrote. That of a dataclass has none, although it is in the user's module
    by its globals: `dataclasses` writes its `__init__`."""
    code = frame.f_code
    generated = code.co_filename == "<string>" and code.co_name == "__init__"
    return generated or str(frame.f_globals.get("__name__")).partition(".")[0] in PASSED
