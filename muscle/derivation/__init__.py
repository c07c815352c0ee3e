"""Symbolic derivation of a model's lengths, Jacobians and torques, and function files in several languages."""

from .derive import JACOBIANS, Derivation, derive
from .languages import LANGUAGES, source

__all__ = ["JACOBIANS", "LANGUAGES", "Derivation", "derive", "source"]
