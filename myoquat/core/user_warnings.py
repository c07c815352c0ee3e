"""Warnings at the lines of those who use this package."""

import sys
import warnings

PACKAGE = __name__.partition(".")[0]


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
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
