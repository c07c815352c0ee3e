"""Subjects of CEINMS-RT: muscles, channels and joints in its XML files, and the moments that its muscles give.

The muscle of CEINMS-RT has a stiff tendon. Its signal u follows the envelope e, and its activation a follows u:

    u_k = alpha e_k - b1 u_(k-1) - b2 u_(k-2),   b1 = C1 + C2,   b2 = C1 C2,   alpha = 1 + b1 + b2
    a = (exp(A u) - 1) / (exp(A) - 1)

The optimal length depends on a. The speed v of the fiber is kept in [-1, 1]:

    l_a = l_0 (1 + c (1 - a))
    l = sqrt((l_a sin alpha_0)^2 + (path - slack)^2),   v = dl/dt / (10 l_0),   sin(alpha) = l_0 sin(alpha_0) / l
    F = max(0, F_0 S (a f_L(l / l_a) f_V(v) + f_P(l / l_0) + d v) cos(alpha))

Source: M. Sartori and others, CEINMS-RT, 10.36227/techrxiv.173397962.28177284, its class MTU.
"""

from pathlib import Path

import numpy as np

from myoquat.core import Array, frozen, scipy
from myoquat.data.xml import Element, parse
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import SimmSpline

NUMBERS = ("C1", "C2", "shapeFactor", "optimalFiberLength", "pennationAngle", "tendonSlackLength", "maxIsometricForce",
           "strengthCoefficient")  # fmt: skip
CURVES = ("activeForceLength", "passiveForceLength", "forceVelocity")
MAX_FIBER_SPEED = 10.0  # [optimal lengths / s]


@frozen
class CeinmsMuscle:
    """The numbers of one muscle, in the order of the file: lengths [m], pennation [deg], force [N]."""

    c1: float
    c2: float
    shape: float
    optimal_length: float
    pennation: float
    slack_length: float
    max_force: float
    strength: float


@frozen(eq=False)
class CeinmsSubject:
    """The muscles of a subject, the channels and joints that belong to them, and their curves.

    muscles        by name
    channels       of each muscle: their mean drives it
    joints         the muscles of each degree of freedom
    curves         by name
    length_change  change c of the optimal length with the activation, of all muscles
    damping        of all muscles
    """

    muscles: dict[str, CeinmsMuscle]
    channels: dict[str, list[str]]
    joints: dict[str, list[str]]
    curves: dict[str, SimmSpline]
    length_change: float
    damping: float


def load_subject(path: Path) -> CeinmsSubject:
    """A subject's file; ModelError for a file that is none."""
    root = parse(path)
    try:
        curves = {}
        for element in root.iter("Curve"):
            x, y = (tuple(map(float, _text(element, name).split())) for name in ("xPoints", "yPoints"))
            curves[_text(element, "name")] = SimmSpline(x, y)
        muscles = {_text(m, "name"): CeinmsMuscle(*(float(_text(m, n)) for n in NUMBERS)) for m in root.iter("muscle")}
        channels: dict[str, list[str]] = {}
        for element in root.iter("Channel"):
            for muscle in _text(element, "muscleSequence").split():
                channels.setdefault(muscle, []).append(_text(element, "name"))
        joints = {_text(d, "name"): _text(d, "muscleSequence").split() for d in root.iter("DoF")}
        change, damping = (float(_text(root, f"muscleDefault/{n}")) for n in ("percentageChange", "damping"))
    except ValueError as error:
        raise ModelError(f"not a subject of CEINMS: {error}", file=path) from None
    if not set(CURVES) <= set(curves) or not muscles or not joints or not set(channels) <= set(muscles):
        raise ModelError("not a subject of CEINMS: curves, muscles, channels or joints are missing", file=path)
    return CeinmsSubject(muscles, channels, joints, curves, change, damping)


def ceinms_force(subject: CeinmsSubject, name: str, time: Array, length: Array, signal: Array) -> Array:
    """(t,) [N] of a muscle at times (t,) [s] at one rate, from its path lengths (t,) [m] and its envelope (t,)."""
    own, curves = subject.muscles[name], subject.curves
    b1, b2 = own.c1 + own.c2, own.c1 * own.c2
    steady = signal[0] * np.array([-b1 - b2, -b2])  # the filter's state after the first value for ever
    u, _ = scipy.signal.lfilter([1 + b1 + b2], [1.0, b1, b2], signal, zi=steady)
    a = np.expm1(own.shape * u) / np.expm1(own.shape)
    optimal = own.optimal_length * (1 + subject.length_change * (1 - a))
    sine = np.sin(np.radians(own.pennation))
    fiber = np.hypot(optimal * sine, length - own.slack_length)
    speed = np.clip(np.gradient(fiber, time) / own.optimal_length, -MAX_FIBER_SPEED, MAX_FIBER_SPEED) / MAX_FIBER_SPEED
    cosine = np.sqrt(1 - np.minimum(own.optimal_length * sine / fiber, 1.0) ** 2)
    active = a * curves["activeForceLength"].value(fiber / optimal) * curves["forceVelocity"].value(speed)
    passive = curves["passiveForceLength"].value(fiber / own.optimal_length) + subject.damping * speed
    return np.maximum(own.max_force * own.strength * (active + passive) * cosine, 0.0)


def _text(element: Element, name: str) -> str:
    found = element.find(name)
    if found is None:
        raise ValueError(f"<{element.tag}> without <{name}>")
    return (found.text or "").strip()
