"""Actuators: the laws of the tendons that they pull on, and those of joints and sites."""

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from myoquat.core import Array, frozen
from myoquat.data.mjcf.source import UNKNOWN, Part, Source
from myoquat.muscle import ActivationDynamics
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    CoordinateActuator,
    IntegratingCoordinateActuator,
    PointActuator,
    TorqueActuator,
)
from myoquat.muscle.forces import CoordinateSpring, PassiveForce
from myoquat.muscle.laws import AffinePath, ClippedAffinePath, ClippedMujocoMuscle, ForceLaw, MujocoMuscle, PathActuator

from .bodies import GROUND, FileJoint, Skeleton, parts_along, tendon_name

# --------------------------------------------------------------------------------------------------------------
#
# Actuators as MuJoCo computes them: a gain, a bias and dynamics of the activation, whatever shortcut the file uses.


JOINTS = ("joint", "jointinparent")  # transmissions
LAST_GROUP = 30  # that options can disable
MIN_DIVISOR = 1e-15  # MuJoCo's least divisor
Start = tuple[tuple[float, ...] | None, tuple[float, ...] | None]  # controls, and activations


class FileDrive(Part):
    """An actuator of a file: force = gain x activation + bias. It drives part number `on` of type `trntype`.

    The gain and the bias are of the types `laws`: "fixed" or "none", "affine", with three numbers each, constant, of
    length and of speed, or "muscle" with parameters of their own. Length = gear x that of the part that it drives.

    controls     (low, high) the control's range, None without; likewise `forces` of the force and `activations`
    has_state    whether it has an activation
    control      at the start, and likewise its `activation`; None where no keyframe says it
    problem      why it does nothing here; empty otherwise
    """

    def __init__(self, source: Source, i: int, alone: Array, start: Start) -> None:
        super().__init__(source, "actuator", i)
        m: Any = source.m
        self.label, self.on = self.name or f"actuator_{i}", self.trnid[0]
        controls, activations = start
        self.has_state = self.actnum == 1
        self.control = None if controls is None else controls[i]
        self.activation = activations[self.actadr] if activations is not None and self.has_state else None
        self.laws, self.is_muscle = [self.gaintype, self.biastype], self.gaintype == "muscle"
        self.gain, self.bias = self._numbers(self.gainprm, self.gaintype), self._numbers(self.biasprm, self.biastype)
        self.controls, self.forces, self.activations = (
            getattr(self, f"{key}range") if getattr(self, f"{key}limited") else None for key in ("ctrl", "force", "act")
        )
        on_joint = self.trntype in JOINTS
        joint = Part(source, "joint", self.on)
        if on_joint and joint.actfrclimited and self.gear[0] and alone[self.on]:
            ends = sorted(force / self.gear[0] for force in joint.actfrcrange)
            low, high = self.forces or ends
            self.forces = min(max(low, ends[0]), ends[1]), min(max(high, ends[0]), ends[1])
        self.problem = ""
        if UNKNOWN in (*self.laws, self.dyntype) or m.actuator_plugin[i] >= 0:
            self.problem = "its force law; it does nothing here"
        elif 0 <= self.group <= LAST_GROUP and m.opt.disableactuator >> self.group & 1:
            self.problem = "actuatorgroupdisable; it does nothing"
        elif self.trntype == "site" and self.trnid[1] >= 0:
            self.problem = "refsite; it does nothing here"
        elif not on_joint and self.trntype not in ("tendon", "site"):
            self.problem = f"an actuator on a {self.trntype}; it does nothing here"

    def _numbers(self, row: tuple[float, ...], law: str) -> tuple[float, ...]:
        """The numbers of a gain or bias; of a muscle with the peak force, which MuJoCo may compute of `scale`."""
        if law != "muscle":
            return row[:3] if law == "affine" else (row[0] if law == "fixed" else 0.0, 0.0, 0.0)
        computed = row[3] / max(MIN_DIVISOR, self.acc0)
        return (*row[:2], computed if row[2] < 0 else row[2], *row[3:])

    def is_plain(self, position_matters: bool = True) -> bool:
        """Whether the force is a gain times the control; where the length is zero, a servo's is too."""
        idle = self.biastype != "muscle" and not self.bias[0] and not self.bias[2]
        return self.gaintype == "fixed" and idle and not (position_matters and self.bias[1]) and self.dyntype == "none"

    @property
    def bounds(self) -> dict[str, float]:
        """Of a control: those of the file, and where the force, gain times the control, reaches the ends of its
        range."""
        low, high = self.controls or (-math.inf, math.inf)
        if self.forces is not None and self.gain[0]:
            least, greatest = sorted(force / self.gain[0] for force in self.forces)
            low, high = (min(max(x, least), greatest) for x in (low, high))
        return {"lower": low, "upper": high}


def _drives_of_joints(source: Source) -> Array:
    """(2, njnt) how many actuators act on each hinge or slide itself, and how many by tendons, sites and bodies;
    those of spatial tendons, sites and bodies act on all."""
    own, others = counts = np.zeros((2, source.m.njnt), dtype=int)
    for drive in source.parts("actuator"):
        on = drive.trnid[0]
        if drive.trntype in JOINTS:
            own[on] += 1
        elif drive.trntype == "tendon" and (parts := parts_along(Part(source, "tendon", on)))[0].type == "joint":
            others[[part.objid for part in parts]] += 1
        else:
            others += 1
    return counts


@frozen
class Drive:
    """What pulls on a tendon: a law of the activation, and that at the start, None where no keyframe says it."""

    law: ForceLaw
    activation: float | None = None
    dynamics: ActivationDynamics | None = None


@dataclass
class Drives:
    """The drives and actuators of a file.

    tendons      the drives of tendons by the tendons' names, a list for each
    joints       the drives of joints whose laws only muscles have, by their own names, with their joints and the sign
                 with which the length of the path follows these
    actuators    those of joints and sites
    forces       those that belong to the actuators
    count        how many actuators the model has
    driven       the numbers of the tendons that actuators act on, those too that are not read
    """

    tendons: dict[str, list[Drive]] = field(default_factory=dict)
    joints: dict[str, tuple[str, float, Drive]] = field(default_factory=dict)
    actuators: list[Actuator] = field(default_factory=list)
    forces: list[PassiveForce] = field(default_factory=list)
    count: int = 0
    driven: set[int] = field(default_factory=set)


def read_actuators(skeleton: Skeleton, start: Start) -> Drives:
    """All actuators; what has no place here is noted. start: their controls and activations, None for what no keyframe
    says."""
    source = skeleton.source
    own, others = _drives_of_joints(source)
    alone, found = (own == 1) & (others == 0), Drives(count=len(source.parts("actuator")))
    for j in np.nonzero(np.asarray(source.m.jnt_actfrclimited) & (own + others > 0) & ~alone)[0]:
        skeleton.joints[j].note("actuatorfrcrange of a joint with several actuators, or one that is not its own")
    for i in range(found.count):
        drive = FileDrive(source, i, alone, start)
        if drive.trntype == "tendon":
            found.driven.add(drive.on)
        joint = skeleton.joints[drive.on] if drive.trntype in JOINTS else None
        if drive.problem:
            drive.note(drive.problem)
        elif drive.trntype == "tendon":
            if (on_tendon := _on_tendon(drive)) is not None:
                found.tendons.setdefault(tendon_name(Part(source, "tendon", drive.on)), []).append(on_tendon)
        elif joint is not None and joint.single:
            _on_joint(drive, joint, found)
        elif joint is not None and joint.type == "ball" and drive.is_plain():
            # a torque between the bodies, about `gear` in the axes of the child, or in those of the parent
            child, parent = skeleton.balls[joint.coordinate]
            gear, size = _unit(np.array(drive.gear[:3]))
            first, second, sign = (child, parent, 1.0) if drive.trntype == "joint" else (parent, child, -1.0)
            force = {"optimal_force": sign * size * drive.gain[0], **drive.bounds}
            found.actuators.append(TorqueActuator(drive.label, first, second, gear, in_world=False, **force))
        elif drive.trntype == "site":
            _on_site(drive, skeleton, found)
        else:
            drive.note(f"an actuator on a {drive.trntype} of this type; it does nothing here")
    return found


# ---- tendons -------------------------------------------------------------------------------------------------


def _on_tendon(drive: FileDrive, reach: tuple[float, float] | None = None, sign: int = 1) -> Drive | None:
    """The law of a tendon, whose length follows that of the file by a sign; None, noted, for one that this package does
    not have. reach: of a control without limits."""
    gear = sign * drive.gear[0]
    if "muscle" in drive.laws:
        law = _muscle(drive, gear)
        if law is None:
            return None
        dynamics = _dynamics(drive, (0.0, 1.0), (0.0, 1.0))
        return Drive(_cut_off(law, drive, gear), _activation(drive, dynamics), dynamics)
    low, high = drive.controls or reach or (0.0, 1.0)
    if drive.controls is None and reach is None:  # controls that pull, and both directions of a speed
        if drive.dyntype == "integrator":
            low = -1.0
        elif drive.laws == ["fixed", "none"] and drive.gear[0] * drive.gain[0] > 0:
            low, high = -1.0, 0.0
    if drive.controls is None:
        drive.note(f"a control without limits; read as one within [{low:g}, {high:g}]")
    controls = low, high
    if drive.dyntype == "muscle":
        low, high = 0.0, 1.0
    elif drive.dyntype == "integrator" and drive.activations is not None:
        low, high = drive.activations
    dynamics = _dynamics(drive, controls, (low, high))
    path_law, low, high = _affine(drive, gear, low, high)
    scale = 1.0 / (high - low) if high != low else 0.0
    return Drive(_cut_off(path_law, drive, gear), _activation(drive, dynamics, low, scale), dynamics)


def _activation(
    drive: FileDrive, dynamics: ActivationDynamics | None, offset: float = 0.0, scale: float = 1.0
) -> float | None:
    """At the start: that of the file, or the control without dynamics, less `offset`, times `scale`."""
    own = drive.activation if dynamics is not None and drive.has_state else drive.control
    return None if own is None and dynamics is None else min(max(((own or 0.0) - offset) * scale, 0.0), 1.0)


def _dynamics(
    drive: FileDrive, controls: tuple[float, float], activations: tuple[float, float]
) -> ActivationDynamics | None:
    """How the activation, over its range, follows the control, over its own."""
    dyntype, numbers, bounds = drive.dyntype, drive.dynprm, drive.activations
    if dyntype == "integrator" and bounds is not None and controls[0] < 0.0 < controls[1] and bounds[0] < bounds[1]:
        size = bounds[1] - bounds[0]
        return ActivationDynamics(size / controls[1], -size / controls[0], "integral")
    if dyntype != "none" and bounds is not None and (bounds[0] > activations[0] or bounds[1] < activations[1]):
        drive.note("actrange; its activation is not cut off")
    if dyntype == "muscle":
        rise, fall, smooth = numbers[:3]
        form = {"form": "quintic", "smoothing": smooth} if smooth > 0 else {"form": "piecewise"}
        return ActivationDynamics(rise, fall, **form)
    if dyntype in ("filter", "filterexact"):
        return ActivationDynamics(numbers[0], numbers[0], "linear") if numbers[0] > 0 else None
    if dyntype != "none":
        drive.note(f"dyntype {dyntype}; its activation follows its control at once")
    return None


def _cut_off(law: ForceLaw, drive: FileDrive, gear: float) -> ForceLaw:
    """The law whose force stays in the `forcerange` of an actuator; gear times that acts on the path."""
    if drive.forces is None:
        return law
    least, greatest = sorted(-gear * force for force in drive.forces)
    if isinstance(law, PathActuator):
        law = AffinePath(gain_0=law.max_isometric_force)
    own = {f.name: getattr(law, f.name) for f in fields(law)}  # type: ignore[arg-type]
    clipped_law = ClippedMujocoMuscle if isinstance(law, MujocoMuscle) else ClippedAffinePath
    return clipped_law(**own, least_force=least, greatest_force=greatest)


def _muscle(drive: FileDrive, gear: float) -> MujocoMuscle | None:
    """The law of a muscle, of the path length itself: gear times it is the actuator's length."""
    problem = None
    if not drive.is_muscle or drive.laws[1] == "affine":
        problem = "a muscle whose gain or bias is none of a muscle"
    elif gear == 0:
        problem = "a muscle with gear 0"
    elif drive.lengthrange[0] >= drive.lengthrange[1]:
        problem = "a muscle without lengthrange"
    if problem is not None:
        effect = "its path is read" if drive.trntype == "tendon" else "it does nothing here"
        drive.note(f"{problem}; {effect}")
        return None
    lowest, highest, force, _, lmin, lmax, vmax, _, fvmax = drive.gain[:9]
    shortest, longest = (x / gear for x in drive.lengthrange)
    passive = _passive(drive.gain, drive.bias) if drive.laws[1] == "muscle" else {"passive_force": 0.0}
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
    gain, bias, pull = drive.gain, drive.bias, -gear * drive.gain[0]
    if not any(gain[1:]) and not any(bias) and 0.0 in (low, high):
        end = high if low == 0.0 else low
        if pull * end >= 0.0:
            return PathActuator(pull * end), 0.0, end
    units = (1.0, gear, gear)
    gains = [-gear * g * unit * (high - low) for g, unit in zip(gain, units, strict=True)]
    biases = [-gear * (b + g * low) * unit for b, g, unit in zip(bias, gain, units, strict=True)]
    return AffinePath(*gains, *biases), low, high


# ---- joints and sites ----------------------------------------------------------------------------------------


def _on_joint(drive: FileDrive, joint: FileJoint, found: Drives) -> None:
    """The actuator of a hinge or a slide: its gain as an actuator, its bias as a spring and damper.

    It acts along a path that is linear in the coordinate if no actuator here has such a law. That is so for a muscle, a
    gain that depends on length or speed, a constant bias, and one that grows with length or speed. It is also so for a
    force with a range that does not follow from the control alone.
    """
    name, gear, gain, bias = joint.coordinate, drive.gear[0], drive.gain, drive.bias
    curved = "muscle" in (*drive.laws, drive.dyntype)
    cut_off = drive.forces is not None and (any(bias) or drive.dyntype != "none" or not gain[0])
    pushes = max(bias[1:], default=0.0) > 0  # no spring and no damper
    if curved or any(gain[1:]) or (bias[0] and not bias[1]) or pushes or cut_off:
        reach = None
        if gain[0] and bias[1] == -gain[0]:  # the set points of a servo over the joint's range
            low, high = sorted(gear * end for end in joint.range or (math.inf, math.inf))
            reach = (low, high) if np.isfinite([low, high]).all() else None
        sign = -1 if drive.is_muscle and gear < 0 else 1  # an antagonist: its path shortens as the coordinate grows
        on_path = _on_tendon(drive, reach, sign)
        if on_path is not None:
            found.joints[drive.label] = name, float(sign), on_path
        return
    given: dict[str, Any] = {"optimal_force": gear * gain[0], **drive.bounds}
    actuator: type[CoordinateActuator] = CoordinateActuator
    low, high = drive.activations or (-math.inf, math.inf)
    if drive.dyntype == "integrator":
        actuator = IntegratingCoordinateActuator
        own = min(max(0.0, low), high) if drive.activation is None else drive.activation
        given |= {"activation": own, "least_activation": low, "greatest_activation": high}
    elif drive.dyntype in ("filter", "filterexact"):
        if low > given["lower"] or high < given["upper"]:
            drive.note("actrange; its activation is not cut off")
        actuator = ActivationCoordinateActuator
        given |= {"activation_time": drive.dynprm[0], "activation": drive.activation or 0.0}
    found.actuators.append(actuator(drive.label, name, **given))
    if any(bias):
        stiffness = -gear * gear * bias[1]
        rest = gear * bias[0] / stiffness if stiffness else 0.0
        found.forces.append(CoordinateSpring(f"{drive.label}_bias", name, stiffness, rest, -gear * gear * bias[2]))


def _on_site(drive: FileDrive, skeleton: Skeleton, found: Drives) -> None:
    """A force or a torque in the axes of a site: `gear` tells its direction. Its length is zero, so that a position
    servo without damping gives its gain times the control."""
    force, torque = np.array(drive.gear[:3]), np.array(drive.gear[3:])
    if not drive.is_plain(position_matters=False) or (force.any() and torque.any()):
        drive.note("an actuator on a site of this type; it does nothing here")
        return
    point, turns = skeleton.sites[drive.on], torque.any()
    direction, size = _unit(skeleton.axes[drive.on] @ (torque if turns else force))
    given: dict[str, Any] = {"optimal_force": size * drive.gain[0], **drive.bounds}
    if turns:
        found.actuators.append(TorqueActuator(drive.label, point.body, GROUND, direction, in_world=False, **given))
    else:
        found.actuators.append(PointActuator(drive.label, point.body, point.position, direction, **given))


def _unit(v: Array) -> tuple[Any, float]:
    size = float(np.linalg.norm(v))
    return v / size if size else (1.0, 0.0, 0.0), size
