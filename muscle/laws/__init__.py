"""Force laws: one file each, all with the verbs of `muscle.laws.base.ForceLaw`."""

from muscle.laws.base import ForceLaw
from muscle.laws.law_a import LawA
from muscle.laws.law_b import LawB

LAWS: dict[str, type[ForceLaw]] = {law.kind: law for law in (LawA, LawB)}

__all__ = ["LAWS", "ForceLaw", "LawA", "LawB"]
