"""Actuators that pull on tendons, as the laws of muscles."""

from dataclasses import dataclass, replace

from myoquat.data.mjcf.reading.document import Document
from myoquat.data.mjcf.reading.values import Values
from myoquat.muscle.laws import PathActuator

__all__ = ["Drive", "read_actuators", "with_controls"]

QUIET = ("name", "class", "group", "user")


@dataclass(frozen=True)
class Drive:
    """What pulls on a tendon: a force of the activation alone, which is the control (number `index` of the file's)
    times `scale`."""

    law: PathActuator
    index: int
    scale: float
    activation: float | None = None


def read_actuators(document: Document) -> dict[str, Drive]:
    """The drives of tendons by the tendons' names. Actuators on anything else, those that may push, and those whose
    force depends on the length or has dynamics are noted."""
    found: dict[str, Drive] = {}
    for index, element in enumerate(document.sections("actuator")):
        values = document.values(element)
        tendon = values.text("tendon", "")
        if not tendon:
            document.census.count(element, "an actuator that is not on a tendon")
        elif tendon in found:
            document.census.count(element, "a second actuator of one tendon")
        elif not _is_plain(values):
            document.census.count(element, "force law; its path is read")
        else:
            drive = _drive(values, document, index)
            if drive is not None:
                found[tendon] = drive
    return found


def _is_plain(values: Values) -> bool:
    """Whether the force is the control times a constant."""
    if values.element.tag == "motor":
        return True
    if values.element.tag != "general":
        return False
    kinds = {"gaintype": "fixed", "biastype": "none", "dyntype": "none"}
    plain = [values.text(key, default) == default for key, default in kinds.items()]
    return all(plain)


def _drive(values: Values, document: Document, index: int) -> Drive | None:
    gear = values.numbers("gear", 1, 6, (1.0,))[0]
    gain = values.numbers("gainprm", 1, 10, (1.0,))[0] if values.element.tag == "general" else 1.0
    pull = -gear * gain
    limited = values.limited("ctrllimited", "ctrlrange", document.compiler.limits)
    low, high = values.vector("ctrlrange", (0.0, 0.0))
    if values.limited("forcelimited", "forcerange", document.compiler.limits):
        document.census.count(values.element, "forcerange")
    values.text("forcerange", "")
    document.finish(values, *QUIET, "biasprm", "dynprm", "actdim")
    if not limited:
        document.census.count(values.element, "a control without limits; read as one within [0, 1]")
        low, high = (0.0, 1.0) if pull > 0 else (-1.0, 0.0)
    end = high if low == 0.0 else low
    if (low != 0.0 and high != 0.0) or pull * end <= 0.0:
        document.census.count(values.element, "an actuator that pushes; its path is read")
        return None
    return Drive(PathActuator(pull * end), index, 1.0 / end)


def with_controls(drives: dict[str, Drive], controls: tuple[float, ...]) -> dict[str, Drive]:
    """The drives with the activations that the controls of a keyframe are."""
    return {
        name: replace(drive, activation=min(max(controls[drive.index] * drive.scale, 0.0), 1.0))
        for name, drive in drives.items()
    }
