"""Torques on a model beside its own forces, by name, and the model's unknown parameters."""

from collections.abc import Mapping
from dataclasses import field

from myoquat.analysis.control.plants.parameters import UnknownParameters
from myoquat.core.records import dataclass
from myoquat.muscle.loads import LoadFrames

__all__ = ["Acting"]


@dataclass(frozen=True, eq=False)
class Acting:
    """`torques`: velocity -> scale [N m, N]; `frames` of external loads; parameters of the model that are `unknown`."""

    torques: Mapping[str, float] = field(default_factory=dict)
    frames: LoadFrames = field(default_factory=LoadFrames)
    unknown: UnknownParameters = field(default_factory=UnknownParameters)
