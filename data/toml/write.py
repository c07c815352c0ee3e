"""Writing model files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from myoquat.core import declared, tomlkit
from myoquat.data.files import check_output, write_text
from myoquat.joints import Body
from myoquat.joints.errors import errors_about
from myoquat.muscle import Model, Muscle

from .records import array, write_fields, write_record

if TYPE_CHECKING:
    from tomlkit.items import AbstractTable, Table


FORMAT = "myoquat-model"
VERSION = 1
PARTS: dict[str, Any] = {name: classes[0] for name, _, _, classes in declared(Model) if classes}  # a table for each
SYSTEM_FIELDS = ("ground", "gravity", "velocity_frame", "shapes")
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
    document.update(write_fields(model.system, SYSTEM_FIELDS[2:]))
    if model.start_q is not None or model.start_u is not None:
        start = tomlkit.table()
        if model.start_q is not None:
            start["q"] = array(model.start_q)
        if model.start_u is not None:
            start["u"] = array(model.start_u)
        document["start"] = start
    document["bodies"] = _tables(_body(body) for body in model.system.bodies)
    for key in PARTS:
        if parts := getattr(model, key):
            document[key] = _tables(_part(key[:-1], part, k) for k, part in enumerate(parts, start=1))
    return document


def _tables(tables: Any) -> Any:
    array = tomlkit.aot()
    for table in tables:
        array.append(table)
    return array


def _part(word: str, part: Any, place: int) -> "AbstractTable":
    """A record, which an error calls by its name, or by its place if it has none."""
    name = getattr(part, "name", "")
    with errors_about(f"{word} {name!r}" if name else f"{word} number {place}"):
        table = write_record(part, inline=False)
    if isinstance(part, Muscle):
        path: Any = table["path"]
        points: Any = path if isinstance(path, list) else path["points"]
        points.multiline(True)
    return table


def _body(body: Body) -> "Table":
    table = tomlkit.table()
    with errors_about(f"body {body.name!r}"):
        table.update(write_fields(body, BODY_FIELDS))
        table["joint"] = write_record(body.joint, inline=False)
        table["joint"].update(write_fields(body, JOINT_FIELDS))
    return table
