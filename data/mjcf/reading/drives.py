"""Actuators as MuJoCo computes them: a gain, a bias and dynamics of the activation, whatever shortcut the file uses."""

from collections.abc import Callable

from myoquat.core.records import dataclass
from myoquat.data.mjcf.reading.document import Document
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import Element, complain

__all__ = ["FileDrive", "read_drive"]

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


def _muscle(values: Values, document: Document) -> Given:
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
    "muscle": _muscle,
}
