"""Mutants of every file that is read: `python -m tests.fuzz KIND N [--seed S]`.

Each mutant is read under an alarm, and may be refused only with the exceptions that are promised (see SECURITY.md).
"""

from .kinds import KINDS, Kind
from .run import Report, fuzz

__all__ = ["KINDS", "Kind", "Report", "fuzz"]
