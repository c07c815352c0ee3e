"""Controls over time, as OpenSim's tools write them: a ControlSet (.xml) or a table (.sto)."""

from pathlib import Path

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.document import boolean, last_name, number
from myoquat.data.lenient import parse_opensim
from myoquat.data.motions import load_table
from myoquat.data.setups.document import members
from myoquat.data.xml import Element, complain
from myoquat.joints.errors import ModelError

__all__ = ["Control", "read_controls"]

ENDING = ".excitation"


@dataclass(frozen=True, eq=False)
class Control:
    """Values (t,) at times (t,) [s]: straight lines between them or, in `steps`, each since the time before."""

    time: Array
    values: Array
    steps: bool = False

    def at(self, time: Array) -> Array:
        """(k,) the values at times (k,); those of the ends beyond."""
        if not self.steps:
            return np.interp(time, self.time, self.values)
        return self.values[np.minimum(np.searchsorted(self.time, time, side="right"), len(self.time) - 1)]


def read_controls(path: Path) -> dict[str, Control]:
    """The controls by name; ModelError with file and line for one that is filtered, and for paths of one name."""
    if path.suffix.lower() != ".xml":
        table = load_table(path)
        time = table.index.to_numpy(dtype=float)
        return _by_name(path, {str(name): Control(time, table[name].to_numpy(dtype=float)) for name in table})
    root = parse_opensim(path)
    holder = root if root.tag == "ControlSet" else root.find("ControlSet")
    if holder is None:
        raise ModelError("the file holds no <ControlSet>", file=path)
    try:
        return _by_name(path, {element.get("name") or "": _nodes(element) for element in members(holder)})
    except ModelError as error:
        raise error.located(path, error.line) from None


def _by_name(path: Path, controls: dict[str, Control]) -> dict[str, Control]:
    """Controls by the names of their actuators, of labels such as 'motor.excitation' and '/forceset/motor'."""
    found: dict[str, tuple[str, Control]] = {}
    for label, control in controls.items():
        name = last_name(label.removesuffix(ENDING))
        if name in found:
            raise ModelError(f"{found[name][0]!r} and {label!r} are both controls of {name!r}", file=path)
        found[name] = label, control
    return {name: control for name, (_, control) in found.items()}


def _nodes(element: Element) -> Control:
    if element.tag != "ControlLinear":
        complain(element, f"<{element.tag}> is no control that is known here; known: ControlLinear")
    if boolean(element, "filter_on"):
        complain(element.find("filter_on"), "<filter_on> must be false: controls are not filtered")
    nodes = element.findall("x_nodes/ControlLinearNode")
    pairs = np.array([[number(node, "t"), number(node, "value", 0.0)] for node in nodes] or [[0.0, 0.0]])
    return Control(pairs[:, 0], pairs[:, 1], boolean(element, "use_steps"))
