"""Actuators: the laws of the tendons that they pull on, and those of joints and sites."""

import math
from collections.abc import Callable
from dataclasses import field, fields, replace
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.document import Document, Values
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton
from myoquat.data.mjcf.reading.keyframes import Start
from myoquat.data.xml import Element, complain, three
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
from myoquat.muscle.laws import AffinePath, ClippedAffinePath, ClippedMujocoMuscle, ForceLaw, MujocoMuscle, PathActuator

__all__ = ["Drive", "Drives", "read_actuators"]


# --------------------------------------------------------------------------------------------------------------
#
# Actuators as MuJoCo computes them: a gain, a bias and dynamics of the activation, whatever shortcut the file uses.


QUIET = ("name", "class", "group", "user", "actdim", "actearly")
MUSCLE = (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2)  # range, force, scale, lmin, lmax, vmax, fpmax, fvmax
ZEROS = (0.0,) * 3
Given = dict[str, tuple[str, tuple[float, ...]]]  # of gain, bias and dyn the type and the parameters


@dataclass(frozen=True)
class FileDrive:
    """An actuator of the file, number `index` of all: force = gain x activation + bias.

    The gain and the bias are "fixed" or "none", "affine" in length and speed, or those of a "muscle". Length = gear x
    that of the part that it drives.

    dynamics  how the activation follows the control: "none", "integrator", "filter", "filterexact" or "muscle"
    controls  (low, high) the control's range, None without; likewise `forces` of the force and `activations`
    lengths   (low, high) the range of lengths of a muscle, None where the file leaves it to the compiler
    """

    element: Element
    index: int
    name: str
    target: str
    on: str
    gear: tuple[float, ...]
    gain: tuple[str, tuple[float, ...]]
    bias: tuple[str, tuple[float, ...]]
    dynamics: tuple[str, tuple[float, ...]]
    controls: tuple[float, float] | None
    forces: tuple[float, float] | None
    activations: tuple[float, float] | None
    lengths: tuple[float, float] | None

    @property
    def is_muscle(self) -> bool:
        """Whether the force has a muscle's curves."""
        return self.gain[0] == "muscle"

    @property
    def has_activation(self) -> bool:
        """Whether the activation is a state."""
        return self.dynamics[0] != "none"


def read_drive(element: Element, document: Document, index: int) -> FileDrive | None:
    """An actuator; None, noted, for one whose force is not known."""
    values = document.values(element)
    read_shortcut = SHORTCUTS.get(element.tag)
    on = next((key for key in TARGETS if values.has(key)), "")
    if read_shortcut is None or not on:
        reason = "an actuator without a force here" if read_shortcut is None else "what it drives"
        document.unsupported.count(element, reason)
        return None
    given = read_shortcut(values, document)
    if given["gain"][0] not in GAINS or given["bias"][0] not in BIASES or given["dyn"][0] not in DYNAMICS:
        document.unsupported.count(element, "its force law; it does nothing here")
        return None
    controls, forces, activations = (
        _range(values, f"{word}limited", f"{word}range", document) for word in ("ctrl", "force", "act")
    )
    shortest, longest = values.vector("lengthrange", (0.0, 0.0))
    drive = FileDrive(
        element, index, values.text("name", ""), on, values.text(on), values.numbers("gear", 1, 6, (1.0,)),
        given["gain"], given["bias"], given["dyn"], controls, forces, activations,
        (shortest, longest) if shortest < longest else None,
    )  # fmt: skip
    if on == "site" and values.has("refsite"):
        document.unsupported.count(element, "refsite")
        return None
    document.finish(values, *QUIET)
    return drive


TARGETS = ("tendon", "joint", "jointinparent", "site", "body", "cranksite", "slidersite")
GAINS, BIASES = ("fixed", "affine", "muscle"), ("none", "affine", "muscle")
DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle")


def _range(values: Values, switch: str, key: str, document: Document) -> tuple[float, float] | None:
    limited = values.limited(switch, key, document.compiler.limits)
    low, high = values.vector(key, (0.0, 0.0))
    if limited and not low <= high:
        complain(values.element, f"{key} must be in order, not {low:g} and {high:g}")
    return (low, high) if limited else None


# ---- shortcuts -----------------------------------------------------------------------------------------------


def _general(values: Values, document: Document) -> Given:
    gain, bias = values.text("gaintype", "fixed"), values.text("biastype", "none")
    return {
        "gain": (gain, _padded(values, "gainprm", MUSCLE if gain == "muscle" else (1.0, 0.0, 0.0))),
        "bias": (bias, _padded(values, "biasprm", MUSCLE if bias == "muscle" else ZEROS)),
        "dyn": (values.text("dyntype", "none"), _padded(values, "dynprm", (1.0, 0.0, 0.0))),
    }


def _padded(values: Values, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """At least as many numbers as the default has; what a file leaves out at the end is the default's."""
    found = values.numbers(key, 1, 10, default)
    return found + default[len(found) :]


def _motor(values: Values, document: Document) -> Given:
    return {"gain": ("fixed", (1.0, 0.0, 0.0)), "bias": ("none", ZEROS), "dyn": ("none", ZEROS)}


def _servo(values: Values, document: Document) -> Given:
    kp, kv = values.number("kp", 1.0), values.number("kv", 0.0)
    if values.number("dampratio", 0.0):
        document.unsupported.count(values.element, "dampratio; it does not damp")
    if values.number("inheritrange", 0.0):
        document.unsupported.count(values.element, "inheritrange; its control has no limits")
    time = values.number("timeconst", 0.0)
    lag = ("filterexact", (time, 0.0, 0.0)) if time else ("none", ZEROS)
    return {"gain": ("fixed", (kp, 0.0, 0.0)), "bias": ("affine", (0.0, -kp, -kv)), "dyn": lag}


def _integrating_servo(values: Values, document: Document) -> Given:
    return _servo(values, document) | {"dyn": ("integrator", (1.0, 0.0, 0.0))}


def _velocity(values: Values, document: Document) -> Given:
    kv = values.number("kv", 1.0)
    return {"gain": ("fixed", (kv, 0.0, 0.0)), "bias": ("affine", (0.0, 0.0, -kv)), "dyn": ("none", ZEROS)}


def _damper(values: Values, document: Document) -> Given:
    return {"gain": ("affine", (0.0, 0.0, -values.number("kv", 1.0))), "bias": ("none", ZEROS), "dyn": ("none", ZEROS)}


def _cylinder(values: Values, document: Document) -> Given:
    area = values.number("area", 1.0)
    if values.has("diameter"):
        area = 3.141592653589793 / 4 * values.number("diameter") ** 2
    return {
        "gain": ("fixed", (area, 0.0, 0.0)),
        "bias": ("affine", _padded(values, "bias", ZEROS)),
        "dyn": ("filter", (values.number("timeconst", 1.0), 0.0, 0.0)),
    }


def _muscle_drive(values: Values, document: Document) -> Given:
    low, high = values.vector("range", MUSCLE[:2])
    words = ("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax")
    own = [values.number(word, default) for word, default in zip(words, MUSCLE[2:], strict=True)]
    curves = ("muscle", (low, high, *own))
    times = values.vector("timeconst", (0.01, 0.04))
    return {"gain": curves, "bias": curves, "dyn": ("muscle", (*times, values.number("tausmooth", 0.0)))}


SHORTCUTS: dict[str, Callable[[Values, Document], Given]] = {
    "general": _general,
    "motor": _motor,
    "position": _servo,
    "velocity": _velocity,
    "intvelocity": _integrating_servo,
    "damper": _damper,
    "cylinder": _cylinder,
    "muscle": _muscle_drive,
}


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
    count        how many actuators the file has
    states       how many activations it has
    """

    tendons: dict[str, list[Drive]] = field(default_factory=dict)
    joints: dict[str, tuple[str, float, Drive]] = field(default_factory=dict)
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
            _on_joint(drive, document, (skeleton, found), state)
        elif drive.target in ("joint", "jointinparent") and drive.on in skeleton.balls and _is_plain(drive):
            _on_ball(drive, skeleton, found)
        elif drive.target == "site":
            _on_site(drive, document, skeleton, found)
        else:
            document.unsupported.count(element, f"an actuator on a {drive.target} of this type; it does nothing here")
    return found


# ---- tendons -------------------------------------------------------------------------------------------------


def _on_tendon(
    drive: FileDrive, document: Document, state: int | None, reach: tuple[float, float] | None = None
) -> Drive | None:
    """The law of a tendon; None, noted, for one that this package does not have. reach: of a control without limits."""
    gear = drive.gear[0]
    if drive.is_muscle or drive.bias[0] == "muscle":
        law = _muscle(drive, document, gear)
        if law is None:
            return None
        dynamics = _dynamics(drive, document, (0.0, 1.0), (0.0, 1.0))
        return Drive(_cut_off(law, drive), drive.index, activation=0.0 if dynamics else None, dynamics=dynamics,
                     state=state)  # fmt: skip
    low, high = drive.controls or reach or _usual_controls(drive)
    if drive.controls is None:
        document.unsupported.count(drive.element, f"a control without limits; read as one within [{low:g}, {high:g}]")
    controls, dyntype = (low, high), drive.dynamics[0]
    if dyntype == "muscle":
        low, high = 0.0, 1.0
    elif dyntype == "integrator" and drive.activations is not None:
        low, high = drive.activations
    dynamics = _dynamics(drive, document, controls, (low, high))
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
    drive: FileDrive, document: Document, controls: tuple[float, float], activations: tuple[float, float]
) -> ActivationDynamics | None:
    """How the activation, over its range, follows the control, over its own."""
    dyntype, numbers = drive.dynamics
    bounds = drive.activations
    if dyntype == "integrator" and bounds is not None and controls[0] < 0.0 < controls[1] and bounds[0] < bounds[1]:
        size = bounds[1] - bounds[0]
        return ActivationDynamics(size / controls[1], -size / controls[0], "integral")
    if dyntype != "none" and bounds is not None and (bounds[0] > activations[0] or bounds[1] < activations[1]):
        document.unsupported.count(drive.element, "actrange; its activation is not cut off")
    if dyntype == "muscle":
        rise, fall, smooth = numbers[:3]
        form = {"form": "quintic", "smoothing": smooth} if smooth > 0 else {"form": "piecewise"}
        return ActivationDynamics(rise, fall, **form)
    if dyntype in ("filter", "filterexact"):
        return ActivationDynamics(numbers[0], numbers[0], "linear") if numbers[0] > 0 else None
    if dyntype != "none":
        document.unsupported.count(drive.element, f"dyntype {dyntype}; its activation follows its control at once")
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
    """Of a control: those of the file, and where the force, gain times the control, reaches the ends of its range."""
    low, high = drive.controls or (-math.inf, math.inf)
    gain = drive.gain[1][0]
    if drive.forces is not None and gain:
        least, greatest = sorted(force / gain for force in drive.forces)
        low, high = (min(max(x, least), greatest) for x in (low, high))
    return {"lower": low, "upper": high}


def _name(drive: FileDrive) -> str:
    return drive.name or f"actuator_{drive.index}"


def _on_joint(drive: FileDrive, document: Document, at: tuple[Skeleton, Drives], state: int | None) -> None:
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
        reach = _reach(drive, skeleton) if gain[0] and bias[1] == -gain[0] else None
        backwards = drive.is_muscle and gear < 0  # an antagonist: its path shortens as the coordinate grows
        turned = replace(drive, gear=(-gear, *drive.gear[1:])) if backwards else drive
        on_path = _on_tendon(turned, document, state, reach)
        if on_path is not None:
            found.joints[name] = drive.on, -1.0 if backwards else 1.0, on_path
        return
    given: dict[str, Any] = {"optimal_force": gear * gain[0], **_bounds(drive)}
    if state is not None:
        found.activations[name] = state
    if dyntype == "integrator":
        low, high = drive.activations or (-math.inf, math.inf)
        given |= {"activation": min(max(0.0, low), high), "least_activation": low, "greatest_activation": high}
        found.actuators.append(IntegratingCoordinateActuator(name, drive.on, **given))
    elif dyntype in ("filter", "filterexact"):
        time, (low, high) = drive.dynamics[1][0], drive.activations or (-math.inf, math.inf)
        if low > given["lower"] or high < given["upper"]:
            document.unsupported.count(drive.element, "actrange; its activation is not cut off")
        found.actuators.append(
            ActivationCoordinateActuator(name, drive.on, activation_time=time, activation=0.0, **given)
        )
    else:
        found.actuators.append(CoordinateActuator(name, drive.on, **given))
    if any(bias):
        stiffness = -gear * gear * bias[1]
        rest = gear * bias[0] / stiffness if stiffness else 0.0
        found.forces.append(CoordinateSpring(f"{name}_bias", drive.on, stiffness, rest, -gear * gear * bias[2]))


def _reach(drive: FileDrive, skeleton: Skeleton) -> tuple[float, float] | None:
    """The set points of a servo, gear times its joint's coordinate, over the joint's range; None without one."""
    ends = next((c.range for c in skeleton.coordinates if c.name == drive.on), None)
    if ends is None or not np.isfinite(ends).all():
        return None
    low, high = sorted(drive.gear[0] * end for end in ends)
    return low, high


def _is_plain(drive: FileDrive, position_matters: bool = True) -> bool:
    """Whether the force is a gain times the control; where the length is zero, a servo's is too."""
    bias = drive.bias[1][:3] if drive.bias[0] == "affine" else (0.0, 0.0, 0.0)
    idle = drive.bias[0] != "muscle" and not bias[0] and not bias[2] and not (position_matters and bias[1])
    return drive.gain[0] == "fixed" and idle and drive.dynamics[0] == "none"


def _on_ball(drive: FileDrive, skeleton: Skeleton, found: Drives) -> None:
    """A torque between the bodies of a ball joint, about `gear` in the axes of the child, or in those of the parent."""
    child, parent = skeleton.balls[drive.on]
    gear, size = _unit(np.array([*drive.gear, 0.0, 0.0, 0.0][:3]))
    first, second, sign = (child, parent, 1.0) if drive.target == "joint" else (parent, child, -1.0)
    given: dict[str, Any] = {"optimal_force": sign * size * drive.gain[1][0], **_bounds(drive)}
    found.actuators.append(TorqueActuator(_name(drive), first, second, axis=gear, in_world=False, **given))


def _on_site(drive: FileDrive, document: Document, skeleton: Skeleton, found: Drives) -> None:
    """A force or a torque in the axes of a site: `gear` tells its direction. Its length is zero, so that a position
    servo without damping gives its gain times the control."""
    plain = _is_plain(drive, position_matters=False)
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
