"""Sliders of a pose: the file's own coordinates, and rotation vectors of quaternions that have none."""

from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints import convert_coordinates, quaternion_exp, quaternion_log
from myoquat.joints.conversion.axes import in_angles
from myoquat.joints.labels import widget_label
from myoquat.joints.types.spherical import shorter
from myoquat.muscle import Model
from myoquat.muscle.coordinates import follow

__all__ = ["Control", "PoseControls"]

DEGREE = np.pi / 180
SHOWN = {"rad": "deg", "m": "m", "1": "1"}  # the slider's unit by that of the coordinate


@dataclass(frozen=True)
class Control:
    """A slider: what it is called, its range and unit, and the coordinate or component of a rotation that it sets."""

    label: str
    low: float
    high: float
    unit: float  # of the slider, in radians or metres
    index: int
    quaternion: bool = False
    shown: str = "deg"  # the unit's name


class PoseControls:
    """Between sliders and q (nq,): `controls`, and both directions."""

    def __init__(self, model: Model, size: float) -> None:
        self.model = model
        self.system = in_angles(model.system, model.system.angle_names)
        driven = {coupler.dependent for coupler in model.couplers}
        self.controls = [c for c in self._all(size) if c.label not in driven]

    def _all(self, size: float) -> list[Control]:
        ranges = {c.name: c.range for c in self.model.coordinates if c.range is not None}
        found = []
        for body, s in zip(self.system.bodies, self.system.q_slices, strict=True):
            ball = body.joint.facts.quaternion
            names, units = body.names_of_coordinates, body.joint.facts.coordinate_units
            for k in range(len(names) if ball is None else ball):
                low, high = ranges.get(names[k], (-size, size) if units[k] == "m" else (-np.pi, np.pi))
                unit = DEGREE if units[k] == "rad" else 1.0
                found.append(Control(names[k], low / unit, high / unit, unit, s.start + k, shown=SHOWN[units[k]]))
            if ball is not None:
                start = s.start + ball
                vector = (f"{body.name} rotation {axis}" for axis in "xyz")
                found += [Control(n, -180.0, 180.0, DEGREE, start + k, True, "deg") for k, n in enumerate(vector)]
        return found

    @property
    def labels(self) -> list[str]:
        """The labels beside the sliders."""
        return [f"{widget_label(c.label)} [{c.shown}]" for c in self.controls]

    def values(self, q: Array) -> list[float]:
        """The sliders' positions at q (nq,)."""
        there = convert_coordinates(self.model.system, self.system, q)
        vectors: dict[int, Array] = {}
        found = []
        for control in self.controls:
            x: Any = None
            if control.quaternion:
                start = self._start(control)
                if start not in vectors:
                    vectors[start] = quaternion_log(shorter(there[start : start + 4]))
                x = vectors[start][control.index - start]
            else:
                x = there[control.index]
            found.append(float(x) / control.unit)
        return found

    def pose(self, q: Array, values: list[float]) -> Array:
        """(nq,) q with everything that has a slider set by it; couplers are followed."""
        there = np.array(convert_coordinates(self.model.system, self.system, q))
        vectors: dict[int, Array] = {}
        for control, value in zip(self.controls, values, strict=True):
            if control.quaternion:
                start = self._start(control)
                vectors.setdefault(start, np.zeros(3))[control.index - start] = value * control.unit
            else:
                there[control.index] = value * control.unit
        for start, vector in vectors.items():
            there[start : start + 4] = quaternion_exp(vector)
        follow(self.model.couplers, self.system, there)
        return convert_coordinates(self.system, self.model.system, there)

    def _start(self, control: Control) -> int:
        return next(int(s.start) for s in self.system.quaternion_slices() if s.start <= control.index < s.stop)
