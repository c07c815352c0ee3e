"""Tasks of inverse kinematics in a setup: weights of markers, and coordinates that are wanted."""

from myoquat.core.records import dataclass
from myoquat.data.document import boolean, number, text
from myoquat.data.setups.document import SetupDocument
from myoquat.data.xml import Element, complain
from myoquat.joints.errors import ModelError

__all__ = ["VALUES", "Task", "read_tasks"]

VALUES = ("default_value", "manual_value", "from_file")


@dataclass(frozen=True)
class Task:
    """The weight of a marker or a coordinate; `target` is "marker" or "coordinate". A coordinate also has the source of
    its wanted value, one of VALUES, and that value."""

    target: str
    name: str
    weight: float
    wanted: str = "default_value"
    value: float = 0.0


def read_tasks(document: SetupDocument, parent: Element) -> tuple[Task, ...]:
    """The tasks of <IKTaskSet> that apply; ModelError with file and line for others than of markers and coordinates."""
    elements, where = document.set_of(parent, "IKTaskSet")
    try:
        return tuple(_task(element) for element in elements if boolean(element, "apply", True))
    except ModelError as error:
        raise error.located(where.path, error.line) from None


def _task(element: Element) -> Task:
    targets = {"IKMarkerTask": "marker", "IKCoordinateTask": "coordinate"}
    name, weight = element.get("name") or "", number(element, "weight", 1.0)
    if element.tag not in targets or not name:
        complain(element, f"a task is <IKMarkerTask> or <IKCoordinateTask> with a name, not <{element.tag}> {name!r}")
    if weight < 0:
        complain(element.find("weight"), f"a weight must not be negative: {weight:g}")
    if targets[element.tag] == "marker":
        return Task("marker", name, weight)
    wanted = text(element, "value_type", "default_value")
    if wanted not in VALUES:
        complain(element.find("value_type"), f"<value_type> is one of {', '.join(VALUES)}, not {wanted!r}")
    return Task("coordinate", name, weight, wanted, number(element, "value", 0.0))
