"""Writing model files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from myoquat.core.lazy_imports import tomlkit
from myoquat.data.files import check_output, write_text
from myoquat.data.toml.records import array, write_fields, write_record
from myoquat.joints import Body
from myoquat.joints.constraints import Constraint
from myoquat.muscle import CoordinateLimit, Model, Muscle, MuscleGroup, PrescribedInput
from myoquat.muscle.actuators import Actuator
from myoquat.muscle.coordinates import Coordinate, Coupler, Marker
from myoquat.muscle.forces import PassiveForce

if TYPE_CHECKING:
    from tomlkit.items import AbstractTable, Table

__all__ = ["BODY_FIELDS", "EXTRAS", "FORMAT", "JOINT_FIELDS", "VERSION", "model_text", "write_model"]

FORMAT = "myoquat-model"
VERSION = 1
EXTRAS: dict[str, type] = {
    "coordinates": Coordinate,
    "couplers": Coupler,
    "markers": Marker,
    "limits": CoordinateLimit,
    "constraints": Constraint,
    "forces": PassiveForce,
    "actuators": Actuator,
    "inputs": PrescribedInput,
    "groups": MuscleGroup,
}
BODY_FIELDS = ("name", "parent", "mass", "center_of_mass", "inertia", "lenient_inertia", "shapes")
JOINT_FIELDS = (  # of a Body, but in a file they stand with its joint
    *("joint_name", "position", "orientation", "damping", "stiffness", "spring_mount", "rotor_inertia"),
    "coordinate_names",
)


def write_model(model: Model, path: str | Path, strict: bool = False, overwrite: bool = False) -> None:
    """Write `model` as TOML; `myoquat.data.load_model` reads it back equal.

    Raises FileExistsError for an existing file unless `overwrite` is True. Raises ModelError for a joint, force law or
    other part whose type could not be loaded again (`myoquat.data.toml.records`).
    """
    write_text(check_output(path, overwrite), model_text(model))


def model_text(model: Model) -> str:
    """The text of a model file."""
    return tomlkit.dumps(_document(model))


def _document(model: Model) -> Any:
    document = tomlkit.document()
    document["format"] = FORMAT
    document["version"] = VERSION
    document["name"] = model.name
    if model.description:
        document["description"] = model.description
    document["ground"] = model.system.ground
    document["gravity"] = array(model.system.gravity)
    if model.system.velocity_frame != "child":
        document["velocity_frame"] = model.system.velocity_frame
    if model.system.shapes:
        document["shapes"] = write_fields(model.system, "the file", ("shapes",))["shapes"]
    if model.start_q is not None or model.start_u is not None:
        start = tomlkit.table()
        if model.start_q is not None:
            start["q"] = array(model.start_q)
        if model.start_u is not None:
            start["u"] = array(model.start_u)
        document["start"] = start
    document["bodies"] = _tables(_body(body) for body in model.system.bodies)
    document["muscles"] = _tables(_muscle(muscle) for muscle in model.muscles)
    for key in EXTRAS:
        if getattr(model, key):
            document[key] = _tables(
                write_record(extra, _element(key[:-1], extra, k), inline=False)
                for k, extra in enumerate(getattr(model, key), start=1)
            )
    return document


def _tables(tables: Any) -> Any:
    array = tomlkit.aot()
    for table in tables:
        array.append(table)
    return array


def _element(word: str, record: Any, place: int) -> str:
    """What an error calls a record: by its name, or by its place if it has none."""
    name = getattr(record, "name", "")
    return f"{word} {name!r}" if name else f"{word} number {place}"


def _body(body: Body) -> "Table":
    table, element = tomlkit.table(), f"body {body.name!r}"
    table.update(write_fields(body, element, BODY_FIELDS))
    table["joint"] = write_record(body.joint, element, inline=False)
    table["joint"].update(write_fields(body, element, JOINT_FIELDS))
    return table


def _muscle(muscle: Muscle) -> "AbstractTable":
    table = write_record(muscle, f"muscle {muscle.name!r}", inline=False)
    path: Any = table["path"]
    points: Any = path if isinstance(path, list) else path["points"]
    points.multiline(True)
    return table
