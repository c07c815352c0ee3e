"""Symbolic derivation of a model's lengths, Jacobians and torques, and function files in several languages."""

from muscle.derivation.derive import JACOBIANS, Derivation, derive
from muscle.derivation.write import LANGUAGES, source, write_derivation

__all__ = ["JACOBIANS", "LANGUAGES", "Derivation", "derive", "source", "write_derivation"]
