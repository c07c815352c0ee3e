"""Actuators: the laws of the tendons that they pull on, and those of joints and sites."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.elements import three
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton
from myoquat.data.mjcf.reading.document import Document
from myoquat.data.mjcf.reading.drives import FileDrive, read_drive
from myoquat.data.mjcf.reading.keyframes import Start
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    CoordinateActuator,
    IntegratingCoordinateActuator,
    PointActuator,
    TorqueActuator,
)
from myoquat.muscle.forces import CoordinateSpring, PassiveForce
from myoquat.muscle.laws import AffinePath, ForceLaw, MujocoMuscle, PathActuator

__all__ = ["Drive", "Drives", "read_actuators"]


@dataclass(frozen=True)
class Drive:
    """What pulls on a tendon: a law of the activation, which is the control (number `index` of the file's) less
    `offset`, times `scale`. With dynamics it is the file's activation of number `state`."""

    law: ForceLaw
    index: int
    scale: float = 1.0
    offset: float = 0.0
    activation: float | None = None
    dynamics: ActivationDynamics | None = None
    state: int | None = None


@dataclass
class Drives:
    """The drives of tendons by the tendons' names, a list for each. Those of joints whose laws only muscles have, by
    their own names, with their joints. The actuators of joints and sites, the numbers of the activations that some of
    them have, by their names, and the forces that belong to them; and how many actuators the file has."""

    tendons: dict[str, list[Drive]] = field(default_factory=dict)
    joints: dict[str, tuple[str, Drive]] = field(default_factory=dict)
    actuators: list[Actuator] = field(default_factory=list)
    activations: dict[str, int] = field(default_factory=dict)
    forces: list[PassiveForce] = field(default_factory=list)
    count: int = 0
    states: int = 0

    def started(self, start: Start) -> None:
        """Give the drives and the actuators the activations that a keyframe tells."""
        if start.activations is not None:
            states = self.activations.items()
            given: dict[str, Any] = {name: {"activation": start.activations[state]} for name, state in states}
            self.actuators = [replace(actuator, **given.get(actuator.name, {})) for actuator in self.actuators]
        for name, drives in self.tendons.items():
            self.tendons[name] = [_started(drive, start) for drive in drives]
        self.joints = {name: (joint, _started(drive, start)) for name, (joint, drive) in self.joints.items()}


def _started(drive: Drive, start: Start) -> Drive:
    if drive.state is not None:
        own = 0.0 if start.activations is None else start.activations[drive.state]
        activation = (own - drive.offset) * drive.scale
    elif start.controls is not None:
        activation = (start.controls[drive.index] - drive.offset) * drive.scale
    else:
        return drive
    return replace(drive, activation=min(max(activation, 0.0), 1.0))


def read_actuators(document: Document, skeleton: Skeleton) -> Drives:
    """All actuators; what has no place here is noted."""
    found = Drives()
    for index, element in enumerate(document.sections("actuator")):
        found.count += 1
        drive = read_drive(element, document, index)
        if drive is None:
            continue
        state = found.states if drive.has_activation else None
        found.states += drive.has_activation
        if drive.target == "tendon":
            on_tendon = _on_tendon(drive, document, state)
            if on_tendon is not None:
                found.tendons.setdefault(drive.on, []).append(on_tendon)
        elif drive.target in ("joint", "jointinparent") and drive.on in skeleton.refs:
            _on_joint(drive, document, found, state)
        elif drive.target == "site":
            _on_site(drive, document, skeleton, found)
        else:
            document.unsupported.count(element, f"an actuator on a {drive.target} of this type; it does nothing here")
    return found


# ---- tendons -------------------------------------------------------------------------------------------------


def _on_tendon(drive: FileDrive, document: Document, state: int | None) -> Drive | None:
    """The law of a tendon; None, noted, for one that this package does not have."""
    gear, dyntype = drive.gear[0], drive.dynamics[0]
    if drive.is_muscle or drive.bias[0] == "muscle":
        law = _muscle(drive, document, gear)
        if law is None:
            return None
    else:
        law = None
    dynamics = None
    if dyntype == "muscle":
        rise, fall, smooth = drive.dynamics[1][:3]
        form = {"form": "quintic", "smoothing": smooth} if smooth > 0 else {"form": "piecewise"}
        dynamics = ActivationDynamics(rise, fall, **form)
    elif dyntype in ("filter", "filterexact"):
        time = drive.dynamics[1][0]
        dynamics = ActivationDynamics(time, time, "linear") if time > 0 else None
    elif dyntype != "none":
        document.unsupported.count(drive.element, f"dyntype {dyntype}; its activation follows its control at once")
    if law is not None:
        return Drive(law, drive.index, activation=0.0 if dynamics else None, dynamics=dynamics, state=state)
    low, high = drive.controls or (0.0, 1.0)
    if drive.controls is None:
        if drive.bias[0] == "none" and drive.gain[0] == "fixed" and gear * drive.gain[1][0] > 0:
            low, high = -1.0, 0.0
        document.unsupported.count(drive.element, f"a control without limits; read as one within [{low:g}, {high:g}]")
    if dyntype == "muscle":
        low, high = 0.0, 1.0
    path_law, low, high = _affine(drive, gear, low, high)
    scale = 1.0 / (high - low) if high != low else 0.0
    start = min(max(-low * scale, 0.0), 1.0) if dynamics else None
    return Drive(path_law, drive.index, scale, low, start, dynamics, state if dynamics else None)


def _muscle(drive: FileDrive, document: Document, gear: float) -> MujocoMuscle | None:
    """The law of a muscle, of the path length itself: gear times it is the actuator's length."""
    problem = None
    gain, bias = drive.gain, drive.bias
    if gain[0] != "muscle" or bias[0] == "affine":
        problem = "a muscle whose gain or bias is none of a muscle"
    elif gear <= 0:
        problem = "a muscle with a gear that is not positive"
    elif drive.lengths is None:
        problem = "a muscle without lengthrange, which MuJoCo's compiler computes: load the mujoco.MjModel"
    elif gain[1][2] < 0 or (bias[0] == "muscle" and bias[1][2] < 0):
        problem = "a muscle without force, which MuJoCo's compiler computes: load the mujoco.MjModel"
    if problem is not None:
        effect = "its path is read" if drive.target == "tendon" else "it does nothing here"
        document.unsupported.count(drive.element, f"{problem}; {effect}")
        return None
    assert drive.lengths is not None
    lowest, highest, force, _, lmin, lmax, vmax, _, fvmax = gain[1][:9]
    shortest, longest = (x / gear for x in drive.lengths)
    passive = _passive(gain[1], bias[1]) if bias[0] == "muscle" else {"passive_force": 0.0}
    return MujocoMuscle(gear * force, shortest, longest, lowest, highest, lmin, lmax, vmax, eccentric_force=fvmax,
                        **passive)  # fmt: skip


def _passive(gain: tuple[float, ...], bias: tuple[float, ...]) -> dict[str, float]:
    """The passive force, whose range, peak force and lmax may be others than those of the gain."""
    if gain[:9] == bias[:9]:
        return {"passive_force": gain[7]}
    (a0, a1, force, *_), (b0, b1, peak, *_) = gain, bias
    reach = (gain[5] - 1.0) / (bias[5] - 1.0)  # from the lmax of one to that of the other
    scale = (b1 - b0) / (a1 - a0)
    return {
        "passive_force": bias[7] * peak / force if force else 0.0,
        "passive_scale": reach * scale,
        "passive_offset": 1.0 + reach * (b0 - a0 * scale - 1.0),
    }


def _affine(drive: FileDrive, gear: float, low: float, high: float) -> tuple[ForceLaw, float, float]:
    """The law of a force that is affine in length and speed, and the controls at which its activation is 0 and 1."""
    gain = drive.gain[1][:3] if drive.gain[0] == "affine" else (drive.gain[1][0], 0.0, 0.0)
    bias = drive.bias[1][:3] if drive.bias[0] == "affine" else (0.0, 0.0, 0.0)
    pull = -gear * gain[0]
    if not any(gain[1:]) and not any(bias) and 0.0 in (low, high):
        end = high if low == 0.0 else low
        if pull * end >= 0.0:
            return PathActuator(pull * end), 0.0, end
    units = (1.0, gear, gear)
    gains = [-gear * g * unit * (high - low) for g, unit in zip(gain, units, strict=True)]
    biases = [-gear * (b + g * low) * unit for b, g, unit in zip(bias, gain, units, strict=True)]
    return AffinePath(*gains, *biases), low, high


# ---- joints and sites ----------------------------------------------------------------------------------------


def _bounds(drive: FileDrive) -> dict[str, float]:
    low, high = drive.controls or (-math.inf, math.inf)
    return {"lower": low, "upper": high}


def _name(drive: FileDrive) -> str:
    return drive.name or f"actuator_{drive.index}"


def _on_joint(drive: FileDrive, document: Document, found: Drives, state: int | None) -> None:
    """The actuator of a hinge or a slide: its gain as an actuator, its bias as a spring and damper. A muscle, a gain
    that depends on length or speed, and a constant bias act along a path that is linear in the coordinate."""
    gear, name, dyntype = drive.gear[0], _name(drive), drive.dynamics[0]
    gain = drive.gain[1][:3] if drive.gain[0] == "affine" else (drive.gain[1][0], 0.0, 0.0)
    bias = drive.bias[1][:3] if drive.bias[0] == "affine" else (0.0, 0.0, 0.0)
    curved = drive.is_muscle or "muscle" in (drive.bias[0], dyntype)
    if curved or any(gain[1:]) or (bias[0] and not bias[1]):
        on_path = _on_tendon(drive, document, state)
        if on_path is not None:
            found.joints[name] = drive.on, on_path
        return
    given: dict[str, Any] = {"optimal_force": gear * gain[0], **_bounds(drive)}
    if state is not None:
        found.activations[name] = state
    if dyntype == "integrator":
        found.actuators.append(IntegratingCoordinateActuator(name, drive.on, activation=0.0, **given))
    elif dyntype in ("filter", "filterexact"):
        time = drive.dynamics[1][0]
        found.actuators.append(
            ActivationCoordinateActuator(name, drive.on, activation_time=time, activation=0.0, **given)
        )
    else:
        found.actuators.append(CoordinateActuator(name, drive.on, **given))
    if any(bias):
        stiffness = -gear * gear * bias[1]
        rest = gear * bias[0] / stiffness if stiffness else 0.0
        found.forces.append(CoordinateSpring(f"{name}_bias", drive.on, stiffness, rest, -gear * gear * bias[2]))


def _on_site(drive: FileDrive, document: Document, skeleton: Skeleton, found: Drives) -> None:
    """A force or a torque in the axes of a site: `gear` tells its direction."""
    plain = drive.gain[0] == "fixed" and drive.bias[0] == "none" and drive.dynamics[0] == "none"
    gear = np.array([*drive.gear, *(0.0,) * 6][:6])
    force, torque = gear[:3], gear[3:]
    if not plain or (force.any() and torque.any()) or drive.on not in skeleton.sites:
        document.unsupported.count(drive.element, "an actuator on a site of this type; it does nothing here")
        return
    point = skeleton.sites[drive.on]
    given: dict[str, Any] = {"optimal_force": drive.gain[1][0], **_bounds(drive)}
    axes = skeleton.axes[drive.on]
    if torque.any():
        axis, size = _unit(axes @ torque)
        given["optimal_force"] *= size
        found.actuators.append(TorqueActuator(_name(drive), point.body, GROUND, axis=axis, in_world=False, **given))
        return
    direction, size = _unit(axes @ force)
    given["optimal_force"] *= size
    found.actuators.append(
        PointActuator(_name(drive), point.body, point=three(point.position), direction=direction, **given)
    )


def _unit(v: Array) -> tuple[tuple[float, float, float], float]:
    size = float(np.linalg.norm(v))
    return three(v / size if size else np.array([1.0, 0.0, 0.0])), size
