"""Mutants of every file that is read: `python -m tests.fuzz FORMAT N [--seed S]`.

Each mutant is read under an alarm, and may be refused only with the exceptions that are promised (see SECURITY.md).
"""

from .formats import FORMATS, FileFormat
from .run import Report, fuzz

__all__ = ["FORMATS", "FileFormat", "Report", "fuzz"]
