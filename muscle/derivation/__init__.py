"""Symbolic derivation of a model's lengths, Jacobians and torques, and function files in several languages."""

from myoquat.muscle.derivation.derive import JACOBIANS, Derivation, derive
from myoquat.muscle.derivation.languages import LANGUAGES, source

__all__ = ["JACOBIANS", "LANGUAGES", "Derivation", "derive", "source"]
