"""What pulls on tendons, drives joints and pushes at sites, as MuJoCo's actuators; mirrors `reading.actuators`."""

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.data.mjcf.elements import add
from myoquat.data.mjcf.writing.sites import Sites
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    CoordinateActuator,
    IntegratingCoordinateActuator,
    PointActuator,
    TorqueActuator,
)
from myoquat.muscle.forces import CoordinateSpring
from myoquat.muscle.laws import AffinePath, ForceLaw, MujocoMuscle, PathActuator
from myoquat.muscle.laws.path_affine import ClippedForce
from myoquat.muscle.path import Muscle

__all__ = ["Actuators", "law_of"]

SCALE = 200.0  # of a muscle, by which MuJoCo would choose its peak force; it has one


@dataclass
class Actuators:
    """The <actuator> section, made with its first member. ctrl, act: the controls, and the activations of those that
    have one, at the start."""

    root: Element
    unwritten: UnwrittenParts
    ctrl: list[float] = field(default_factory=list)
    act: list[float] = field(default_factory=list)
    _section: Element | None = None

    def _add(self, tag: str, name: str, **attributes: Any) -> None:
        if self._section is None:
            self._section = add(self.root, "actuator")
        add(self._section, tag, name=name, **attributes)

    def add_muscle(self, muscle: Muscle, law: Mapping[str, Any]) -> None:
        """The actuator of a tendon that has the muscle's name."""
        dynamics, control = self._dynamics(muscle)
        tag = "motor" if "gear" in law and "dyntype" not in dynamics else "general"
        self._add(tag, muscle.name, tendon=muscle.name, **law, **dynamics, ctrllimited=True, ctrlrange=control)
        start = muscle.activation or 0.0
        self.ctrl.append(0.0 if "dyntype" in dynamics else start)
        if "dyntype" in dynamics:
            self.act.append(start)

    def _dynamics(self, muscle: Muscle) -> tuple[dict[str, Any], tuple[float, float]]:
        """How the activation follows the control, and the range of that."""
        dynamics = muscle.activation_dynamics
        found = None if dynamics is None else _activation(dynamics)
        if dynamics is not None and found is None:
            self.unwritten.count("activation dynamics of actuators", muscle.name)
        if dynamics is not None and dynamics.form == "integral":
            return found or {}, (-1.0 / dynamics.deactivation_time, 1.0 / dynamics.activation_time)
        return found or {}, (0.0, 1.0)

    def add_actuator(self, actuator: Actuator, spring: CoordinateSpring | None, sites: Sites) -> None:
        """An actuator of a joint, with the spring that belongs to it, or of a site."""
        if isinstance(actuator, (PointActuator, TorqueActuator)):
            push = np.array(actuator.direction if isinstance(actuator, PointActuator) else actuator.axis)
            gear = actuator.optimal_force * push / np.linalg.norm(push)
            row = (*gear, 0.0, 0.0, 0.0) if isinstance(actuator, PointActuator) else (0.0, 0.0, 0.0, *gear)
            attributes: dict[str, Any] = {"site": sites.of_actuator(actuator), "gear": tuple(map(float, row))}
        else:
            assert isinstance(actuator, CoordinateActuator)
            attributes = {"joint": actuator.coordinate, "gainprm": (actuator.optimal_force, 0.0, 0.0)}
            if spring is not None:
                k, c = spring.stiffness, spring.damping
                attributes |= {"biastype": "affine", "biasprm": (k * spring.rest, -k, -c)}
            attributes |= _delayed(actuator)
        assert isinstance(actuator, (CoordinateActuator, PointActuator, TorqueActuator))
        bounds = actuator.lower, actuator.upper
        if all(map(math.isfinite, bounds)):
            attributes |= {"ctrllimited": True, "ctrlrange": bounds}
        elif any(map(math.isfinite, bounds)):
            self.unwritten.count("controls that are bounded on one side", actuator.name)
        self._add("general", actuator.name, **attributes)
        self.ctrl.append(0.0)
        if "dyntype" in attributes:
            self.act.append(actuator.activation)  # type: ignore[union-attr]


def law_of(law: ForceLaw | None) -> dict[str, Any] | None:
    """The gain and the bias of a law of a tendon's length, whose activation is the control; None for another law."""
    found: dict[str, Any]
    if isinstance(law, PathActuator):
        return {"gear": -law.max_isometric_force}
    if isinstance(law, AffinePath):
        gain, bias = ([f"{word}_{k}" for k in range(3)] for word in ("gain", "bias"))
        found = {
            "gaintype": "affine", "gainprm": tuple(0.0 - getattr(law, key) for key in gain),
            "biastype": "affine", "biasprm": tuple(0.0 - getattr(law, key) for key in bias),
        }  # fmt: skip
    elif isinstance(law, MujocoMuscle):
        low, high = law.lowest, law.highest
        others = law.active_from, law.active_to, law.max_speed, law.passive_force, law.eccentric_force
        start = law.passive_offset + low * law.passive_scale
        passive = start, start + law.passive_scale * (high - low)
        found = {
            "gaintype": "muscle", "gainprm": (low, high, law.max_isometric_force, SCALE, *others),
            "biastype": "muscle", "biasprm": (*passive, law.max_isometric_force, SCALE, *others),
            "lengthrange": (law.shortest_length, law.longest_length),
        }  # fmt: skip
    else:
        return None
    if isinstance(law, ClippedForce):  # MuJoCo's force pushes where ours pulls
        found |= {"forcelimited": True, "forcerange": (0.0 - law.greatest_force, 0.0 - law.least_force)}
    return found


def _activation(dynamics: ActivationDynamics) -> dict[str, Any] | None:
    rise, fall = dynamics.activation_time, dynamics.deactivation_time
    if dynamics.minimum_activation:
        return None
    if dynamics.form in ("quintic", "piecewise"):
        smooth = dynamics.smoothing if dynamics.form == "quintic" else 0.0
        return {"dyntype": "muscle", "dynprm": (rise, fall, smooth)}
    if dynamics.form == "linear" and rise == fall:
        return {"dyntype": "filter", "dynprm": rise}
    if dynamics.form == "integral":
        return {"dyntype": "integrator", "dynprm": 1.0, "actlimited": True, "actrange": (0.0, 1.0)}
    return None


def _delayed(actuator: CoordinateActuator) -> dict[str, Any]:
    if isinstance(actuator, ActivationCoordinateActuator):
        return {"dyntype": "filter", "dynprm": actuator.activation_time}
    if isinstance(actuator, IntegratingCoordinateActuator):
        limits = actuator.activation_bounds
        limited = {"actlimited": True, "actrange": limits} if all(map(math.isfinite, limits)) else {}
        return {"dyntype": "integrator", "dynprm": 1.0, **limited}
    return {}
