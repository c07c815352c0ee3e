"""Actuators: the laws of the tendons that they pull on, and those of joints and sites."""

import math
from dataclasses import field, fields, replace
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton
from myoquat.data.mjcf.source import Source, rows
from myoquat.data.xml import three
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

__all__ = ["Drive", "Drives", "read_actuators"]


# --------------------------------------------------------------------------------------------------------------
#
# Actuators as MuJoCo computes them: a gain, a bias and dynamics of the activation, whatever shortcut the file uses.


TRANSMISSIONS = ("joint", "jointinparent", "slidercrank", "tendon", "site", "body")
GAINS = ("fixed", "affine", "muscle")
BIASES = ("none", "affine", "muscle")
DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle")
FIXED = 1  # what a fixed tendon runs over: joints
MIN_DIVISOR = 1e-15  # MuJoCo's least divisor


@dataclass(frozen=True)
class Start:
    """q (nq,), u (nu,), the actuators' controls and their activations at the start; None for what no keyframe says."""

    q: Array
    u: Array | None = None
    controls: tuple[float, ...] | None = None
    activations: tuple[float, ...] | None = None


@dataclass(frozen=True)
class FileDrive:
    """An actuator, number `index` of all: force = gain x activation + bias. It drives the part `on` of type `target`.

    The gain and the bias are "fixed" or "none", "affine" in length and speed, or those of a "muscle". Length = gear x
    that of the part that it drives.

    dynamics  how the activation follows the control: "none", "integrator", "filter", "filterexact" or "muscle"
    controls  (low, high) the control's range, None without; likewise `forces` of the force and `activations`
    lengths   (low, high) the range of lengths of a muscle
    """

    index: int
    name: str
    target: str
    on: int
    gear: tuple[float, ...]
    gain: tuple[str, tuple[float, ...]]
    bias: tuple[str, tuple[float, ...]]
    dynamics: tuple[str, tuple[float, ...]]
    controls: tuple[float, float] | None
    forces: tuple[float, float] | None
    activations: tuple[float, float] | None
    lengths: tuple[float, float]

    @property
    def is_muscle(self) -> bool:
        """Whether the force has a muscle's curves."""
        return self.gain[0] == "muscle"


def read_drive(source: Source, i: int) -> FileDrive | None:
    """Actuator i; None, noted, for one whose force is not known."""
    m: Any = source.m
    words, problem = {}, ""
    for key, known in (("gain", GAINS), ("bias", BIASES), ("dyn", DYNAMICS)):
        code = int(getattr(m, f"actuator_{key}type")[i])
        words[key] = known[code] if 0 <= code < len(known) else ""
    target = _word(TRANSMISSIONS, m.actuator_trntype[i])
    if not all(words.values()) or m.actuator_plugin[i] >= 0:
        problem = "its force law; it does nothing here"
    elif target == "site" and m.actuator_trnid[i, 1] >= 0:
        problem = "refsite; it does nothing here"
    elif target not in ("joint", "jointinparent", "tendon", "site"):
        problem = f"an actuator on a {target}; it does nothing here"
    if problem:
        source.note("actuator", i, problem)
        return None
    gain, bias = _parameters(m, i, "gainprm", words["gain"]), _parameters(m, i, "biasprm", words["bias"])
    controls, forces, activations = (_range(m, i, key) for key in ("ctrl", "force", "act"))
    gear, on = rows(m, "actuator_gear", i), int(m.actuator_trnid[i, 0])
    if target in ("joint", "jointinparent") and m.jnt_actfrclimited[on] and gear[0] and _drives_of_joints(m)[on] == 1:
        ends = sorted(float(force) / gear[0] for force in m.jnt_actfrcrange[on])
        low, high = forces or ends
        forces = min(max(low, ends[0]), ends[1]), min(max(high, ends[0]), ends[1])
    return FileDrive(
        i, source.name("actuator", i), target, on, gear, (words["gain"], gain), (words["bias"], bias),
        (words["dyn"], rows(m, "actuator_dynprm", i)), controls, forces, activations,
        (float(m.actuator_lengthrange[i, 0]), float(m.actuator_lengthrange[i, 1])),
    )  # fmt: skip


def _drives_of_joints(m: Any) -> Array:
    """(njnt,) how many actuators act on each hinge or slide; those of spatial tendons, sites and bodies act on all."""
    counts = np.zeros(m.njnt, dtype=int)
    for target, on in zip(m.actuator_trntype, m.actuator_trnid[:, 0], strict=True):
        word = _word(TRANSMISSIONS, target)
        first = int(m.tendon_adr[on]) if word == "tendon" else 0
        parts = slice(first, first + int(m.tendon_num[on])) if word == "tendon" else slice(0, 0)
        if word in ("joint", "jointinparent"):
            counts[on] += 1
        elif word == "tendon" and m.wrap_type[first] == FIXED:
            counts[m.wrap_objid[parts]] += 1
        else:
            counts += 1
    return counts


def _word(words: tuple[str, ...], code: Any) -> str:
    """The word of a code; one that is not known is described."""
    return words[int(code)] if 0 <= int(code) < len(words) else f"part of type {int(code)}"


def _parameters(m: Any, i: int, key: str, law: str) -> tuple[float, ...]:
    """Parameters of a gain or bias; of a muscle with the peak force, which MuJoCo may compute of `scale`."""
    found = list(rows(m, f"actuator_{key}", i))
    if law == "muscle" and found[2] < 0:
        found[2] = found[3] / max(MIN_DIVISOR, float(m.actuator_acc0[i]))
    return tuple(found)


def _range(m: Any, i: int, key: str) -> tuple[float, float] | None:
    low, high = rows(m, f"actuator_{key}range", i)
    return (low, high) if getattr(m, f"actuator_{key}limited")[i] else None


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
    """The drives and actuators of a file.

    tendons      the drives of tendons by the tendons' names, a list for each
    joints       the drives of joints whose laws only muscles have, by their own names, with their joints and the sign
                 with which the length of the path follows these
    actuators    those of joints and sites
    activations  the numbers of the activations that some of the actuators have, by their names
    forces       those that belong to the actuators
    count        how many actuators the model has
    driven       the numbers of the tendons that actuators act on, those too that are not read
    """

    tendons: dict[str, list[Drive]] = field(default_factory=dict)
    joints: dict[str, tuple[str, float, Drive]] = field(default_factory=dict)
    actuators: list[Actuator] = field(default_factory=list)
    activations: dict[str, int] = field(default_factory=dict)
    forces: list[PassiveForce] = field(default_factory=list)
    count: int = 0
    driven: set[int] = field(default_factory=set)

    def started(self, start: Start) -> None:
        """Give the drives and the actuators the activations that a keyframe tells."""
        if start.activations is not None:
            states = self.activations.items()
            given: dict[str, Any] = {name: {"activation": start.activations[state]} for name, state in states}
            self.actuators = [replace(actuator, **given.get(actuator.name, {})) for actuator in self.actuators]
        for name, drives in self.tendons.items():
            self.tendons[name] = [_started(drive, start) for drive in drives]
        self.joints = {name: (on, sign, _started(drive, start)) for name, (on, sign, drive) in self.joints.items()}


def _started(drive: Drive, start: Start) -> Drive:
    if drive.state is not None:
        own = 0.0 if start.activations is None else start.activations[drive.state]
        activation = (own - drive.offset) * drive.scale
    elif start.controls is not None:
        activation = (start.controls[drive.index] - drive.offset) * drive.scale
    else:
        return drive
    return replace(drive, activation=min(max(activation, 0.0), 1.0))


def read_actuators(source: Source, skeleton: Skeleton) -> Drives:
    """All actuators; what has no place here is noted."""
    m: Any = source.m
    found = Drives(count=getattr(m, "nactuator", m.nu))
    for j in np.nonzero(np.asarray(m.jnt_actfrclimited) & (_drives_of_joints(m) > 1))[0]:
        source.note("joint", int(j), "actuatorfrcrange of a joint with several actuators")
    for i in range(found.count):
        state = int(m.actuator_actadr[i]) if m.actuator_actnum[i] == 1 else None
        if _word(TRANSMISSIONS, m.actuator_trntype[i]) == "tendon":
            found.driven.add(int(m.actuator_trnid[i, 0]))
        drive = read_drive(source, i)
        if drive is None:
            continue
        joint = skeleton.joints[drive.on] if drive.target in ("joint", "jointinparent") else ""
        if drive.target == "tendon":
            on_tendon = _on_tendon(drive, source, state)
            if on_tendon is not None:
                name = source.name("tendon", drive.on) or f"tendon_{drive.on + 1}"
                found.tendons.setdefault(name, []).append(on_tendon)
        elif joint in skeleton.refs:
            _on_joint(drive, joint, source, (skeleton, found), state)
        elif joint in skeleton.balls and _is_plain(drive):
            _on_ball(drive, joint, skeleton, found)
        elif drive.target == "site":
            _on_site(drive, source, skeleton, found)
        else:
            source.note("actuator", i, f"an actuator on a {drive.target} of this type; it does nothing here")
    return found


# ---- tendons -------------------------------------------------------------------------------------------------


def _on_tendon(
    drive: FileDrive, source: Source, state: int | None, reach: tuple[float, float] | None = None
) -> Drive | None:
    """The law of a tendon; None, noted, for one that this package does not have. reach: of a control without limits."""
    gear = drive.gear[0]
    if drive.is_muscle or drive.bias[0] == "muscle":
        law = _muscle(drive, source, gear)
        if law is None:
            return None
        dynamics = _dynamics(drive, source, (0.0, 1.0), (0.0, 1.0))
        return Drive(_cut_off(law, drive), drive.index, activation=0.0 if dynamics else None, dynamics=dynamics,
                     state=state)  # fmt: skip
    low, high = drive.controls or reach or _usual_controls(drive)
    if drive.controls is None:
        source.note("actuator", drive.index, f"a control without limits; read as one within [{low:g}, {high:g}]")
    controls, dyntype = (low, high), drive.dynamics[0]
    if dyntype == "muscle":
        low, high = 0.0, 1.0
    elif dyntype == "integrator" and drive.activations is not None:
        low, high = drive.activations
    dynamics = _dynamics(drive, source, controls, (low, high))
    path_law, low, high = _affine(drive, gear, low, high)
    scale = 1.0 / (high - low) if high != low else 0.0
    start = min(max(-low * scale, 0.0), 1.0) if dynamics else None
    return Drive(_cut_off(path_law, drive), drive.index, scale, low, start, dynamics, state if dynamics else None)


def _usual_controls(drive: FileDrive) -> tuple[float, float]:
    """Of a control without limits: those that pull, and both directions of a speed."""
    if drive.dynamics[0] == "integrator":
        return -1.0, 1.0
    pushes = drive.bias[0] == "none" and drive.gain[0] == "fixed" and drive.gear[0] * drive.gain[1][0] > 0
    return (-1.0, 0.0) if pushes else (0.0, 1.0)


def _dynamics(
    drive: FileDrive, source: Source, controls: tuple[float, float], activations: tuple[float, float]
) -> ActivationDynamics | None:
    """How the activation, over its range, follows the control, over its own."""
    dyntype, numbers = drive.dynamics
    bounds = drive.activations
    if dyntype == "integrator" and bounds is not None and controls[0] < 0.0 < controls[1] and bounds[0] < bounds[1]:
        size = bounds[1] - bounds[0]
        return ActivationDynamics(size / controls[1], -size / controls[0], "integral")
    if dyntype != "none" and bounds is not None and (bounds[0] > activations[0] or bounds[1] < activations[1]):
        source.note("actuator", drive.index, "actrange; its activation is not cut off")
    if dyntype == "muscle":
        rise, fall, smooth = numbers[:3]
        form = {"form": "quintic", "smoothing": smooth} if smooth > 0 else {"form": "piecewise"}
        return ActivationDynamics(rise, fall, **form)
    if dyntype in ("filter", "filterexact"):
        return ActivationDynamics(numbers[0], numbers[0], "linear") if numbers[0] > 0 else None
    if dyntype != "none":
        source.note("actuator", drive.index, f"dyntype {dyntype}; its activation follows its control at once")
    return None


def _cut_off(law: ForceLaw, drive: FileDrive) -> ForceLaw:
    """The law whose force stays in the `forcerange` of an actuator; gear times that acts on the path."""
    if drive.forces is None:
        return law
    least, greatest = sorted(-drive.gear[0] * force for force in drive.forces)
    if isinstance(law, PathActuator):
        law = AffinePath(gain_0=law.max_isometric_force)
    own = {f.name: getattr(law, f.name) for f in fields(law)}  # type: ignore[arg-type]
    clipped_law = ClippedMujocoMuscle if isinstance(law, MujocoMuscle) else ClippedAffinePath
    return clipped_law(**own, least_force=least, greatest_force=greatest)


def _muscle(drive: FileDrive, source: Source, gear: float) -> MujocoMuscle | None:
    """The law of a muscle, of the path length itself: gear times it is the actuator's length."""
    problem = None
    gain, bias = drive.gain, drive.bias
    if gain[0] != "muscle" or bias[0] == "affine":
        problem = "a muscle whose gain or bias is none of a muscle"
    elif gear == 0:
        problem = "a muscle with gear 0"
    elif drive.lengths[0] >= drive.lengths[1]:
        problem = "a muscle without lengthrange"
    if problem is not None:
        effect = "its path is read" if drive.target == "tendon" else "it does nothing here"
        source.note("actuator", drive.index, f"{problem}; {effect}")
        return None
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
    """Of a control: those of the file, and where the force, gain times the control, reaches the ends of its range."""
    low, high = drive.controls or (-math.inf, math.inf)
    gain = drive.gain[1][0]
    if drive.forces is not None and gain:
        least, greatest = sorted(force / gain for force in drive.forces)
        low, high = (min(max(x, least), greatest) for x in (low, high))
    return {"lower": low, "upper": high}


def _name(drive: FileDrive) -> str:
    return drive.name or f"actuator_{drive.index}"


def _on_joint(drive: FileDrive, joint: str, source: Source, at: tuple[Skeleton, Drives], state: int | None) -> None:
    """The actuator of a hinge or a slide: its gain as an actuator, its bias as a spring and damper.

    It acts along a path that is linear in the coordinate if no actuator here has such a law. That is so for a muscle, a
    gain that depends on length or speed, and a constant bias. It is also so for a force with a range that does not
    follow from the control alone.
    """
    skeleton, found = at
    gear, name, dyntype = drive.gear[0], _name(drive), drive.dynamics[0]
    gain = drive.gain[1][:3] if drive.gain[0] == "affine" else (drive.gain[1][0], 0.0, 0.0)
    bias = drive.bias[1][:3] if drive.bias[0] == "affine" else (0.0, 0.0, 0.0)
    curved = drive.is_muscle or "muscle" in (drive.bias[0], dyntype)
    cut_off = drive.forces is not None and (any(bias) or dyntype != "none" or not gain[0])
    if curved or any(gain[1:]) or (bias[0] and not bias[1]) or cut_off:
        reach = _reach(drive, joint, skeleton) if gain[0] and bias[1] == -gain[0] else None
        backwards = drive.is_muscle and gear < 0  # an antagonist: its path shortens as the coordinate grows
        turned = replace(drive, gear=(-gear, *drive.gear[1:])) if backwards else drive
        on_path = _on_tendon(turned, source, state, reach)
        if on_path is not None:
            found.joints[name] = joint, -1.0 if backwards else 1.0, on_path
        return
    given: dict[str, Any] = {"optimal_force": gear * gain[0], **_bounds(drive)}
    if state is not None:
        found.activations[name] = state
    if dyntype == "integrator":
        low, high = drive.activations or (-math.inf, math.inf)
        given |= {"activation": min(max(0.0, low), high), "least_activation": low, "greatest_activation": high}
        found.actuators.append(IntegratingCoordinateActuator(name, joint, **given))
    elif dyntype in ("filter", "filterexact"):
        time, (low, high) = drive.dynamics[1][0], drive.activations or (-math.inf, math.inf)
        if low > given["lower"] or high < given["upper"]:
            source.note("actuator", drive.index, "actrange; its activation is not cut off")
        found.actuators.append(ActivationCoordinateActuator(name, joint, activation_time=time, activation=0.0, **given))
    else:
        found.actuators.append(CoordinateActuator(name, joint, **given))
    if any(bias):
        stiffness = -gear * gear * bias[1]
        rest = gear * bias[0] / stiffness if stiffness else 0.0
        found.forces.append(CoordinateSpring(f"{name}_bias", joint, stiffness, rest, -gear * gear * bias[2]))


def _reach(drive: FileDrive, joint: str, skeleton: Skeleton) -> tuple[float, float] | None:
    """The set points of a servo, gear times its joint's coordinate, over the joint's range; None without one."""
    ends = next((c.range for c in skeleton.coordinates if c.name == joint), None)
    if ends is None or not np.isfinite(ends).all():
        return None
    low, high = sorted(drive.gear[0] * end for end in ends)
    return low, high


def _is_plain(drive: FileDrive, position_matters: bool = True) -> bool:
    """Whether the force is a gain times the control; where the length is zero, a servo's is too."""
    bias = drive.bias[1][:3] if drive.bias[0] == "affine" else (0.0, 0.0, 0.0)
    idle = drive.bias[0] != "muscle" and not bias[0] and not bias[2] and not (position_matters and bias[1])
    return drive.gain[0] == "fixed" and idle and drive.dynamics[0] == "none"


def _on_ball(drive: FileDrive, joint: str, skeleton: Skeleton, found: Drives) -> None:
    """A torque between the bodies of a ball joint, about `gear` in the axes of the child, or in those of the parent."""
    child, parent = skeleton.balls[joint]
    gear, size = _unit(np.array([*drive.gear, 0.0, 0.0, 0.0][:3]))
    first, second, sign = (child, parent, 1.0) if drive.target == "joint" else (parent, child, -1.0)
    given: dict[str, Any] = {"optimal_force": sign * size * drive.gain[1][0], **_bounds(drive)}
    found.actuators.append(TorqueActuator(_name(drive), first, second, axis=gear, in_world=False, **given))


def _on_site(drive: FileDrive, source: Source, skeleton: Skeleton, found: Drives) -> None:
    """A force or a torque in the axes of a site: `gear` tells its direction. Its length is zero, so that a position
    servo without damping gives its gain times the control."""
    plain = _is_plain(drive, position_matters=False)
    gear = np.array([*drive.gear, *(0.0,) * 6][:6])
    force, torque = gear[:3], gear[3:]
    if not plain or (force.any() and torque.any()):
        source.note("actuator", drive.index, "an actuator on a site of this type; it does nothing here")
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
