"""Writing model files."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.items import Array, Table

from joints.files import write_text
from joints.system import Body
from joints.types import EulerJoint, SphericalJoint
from muscle.path import Muscle

if TYPE_CHECKING:
    from muscle.model import Model

__all__ = ["write_model"]

FORMAT = "myoquat-model"
VERSION = 1


def write_model(model: "Model", path: str | Path) -> None:
    """Write `model` as TOML; `muscle.load_model` reads it back equal."""
    write_text(path, tomlkit.dumps(_document(model)))


def _document(model: "Model") -> Any:
    document = tomlkit.document()
    document["format"] = FORMAT
    document["version"] = VERSION
    document["name"] = model.name
    if model.description:
        document["description"] = model.description
    document["ground"] = model.system.ground
    document["gravity"] = _array(model.system.gravity)
    if model.start_q is not None or model.start_u is not None:
        start = tomlkit.table()
        if model.start_q is not None:
            start["q"] = _array(model.start_q)
        if model.start_u is not None:
            start["u"] = _array(model.start_u)
        document["start"] = start
    document["bodies"] = _tables(_body(body) for body in model.system.bodies)
    document["muscles"] = _tables(_muscle(muscle) for muscle in model.muscles)
    return document


def _tables(tables: Any) -> Any:
    array = tomlkit.aot()
    for table in tables:
        array.append(table)
    return array


def _array(values: Any) -> Array:
    array = tomlkit.array()
    array.extend(float(v) for v in values)
    return array


def _body(body: Body) -> Table:
    table = tomlkit.table()
    table["name"], table["parent"], table["mass"] = body.name, body.parent, float(body.mass)
    table["center_of_mass"], table["inertia"] = _array(body.center_of_mass), _array(body.inertia)
    joint = tomlkit.table()
    joint["type"] = body.joint.kind
    if isinstance(body.joint, (SphericalJoint, EulerJoint)):
        joint["sequence"] = body.joint.sequence
    joint["position"], joint["orientation"] = _array(body.position), _array(body.orientation)
    joint["damping"] = float(body.damping)
    table["joint"] = joint
    return table


def _muscle(muscle: Muscle) -> Table:
    table = tomlkit.table()
    table["name"] = muscle.name
    path = tomlkit.array().multiline(True)
    for point in muscle.path:
        entry = tomlkit.inline_table()
        entry["body"], entry["point"] = point.body, _array(point.position)
        path.append(entry)
    table["path"] = path
    if muscle.law is not None:
        law = tomlkit.inline_table()
        law["type"] = muscle.law.kind
        for f in fields(muscle.law):  # type: ignore[arg-type]
            value = getattr(muscle.law, f.name)
            if value is not None:
                law[f.name] = float(value)
        table["law"] = law
    if muscle.activation is not None:
        table["activation"] = float(muscle.activation)
    return table
