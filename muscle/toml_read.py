"""Reading model files: TOML, checked against the schema below, every error with file, element and line.

A model file (all numbers in SI units, quaternions scalar first):

    format = "myoquat-model"
    version = 1
    name = "two_link"
    description = "..."                 # optional
    ground = "ground"                   # name of the ground, optional
    gravity = [0.0, 0.0, -9.81]         # [m/s^2], optional

    [start]                             # optional: where a simulation starts
    q = [...]                           # nq coordinates
    u = [...]                           # nu velocities

    [[bodies]]
    name = "A"
    parent = "ground"                   # the ground or another body, in any order
    mass = 5.0                          # [kg], optional
    center_of_mass = [0.0, 0.0, -0.5]   # [m] in the body's frame, whose origin is the joint
    inertia = [xx, yy, zz, xy, xz, yz]  # [kg m^2] about the center of mass; three numbers for a diagonal one
    [bodies.joint]
    type = "spherical"                  # "spherical", "euler" or "fixed"
    sequence = "YZY"                    # of an Euler joint; of a spherical one, the sequence it is shown in
    position = [0.0, 0.0, 0.0]          # [m] joint frame in the parent's frame
    orientation = [1.0, 0.0, 0.0, 0.0]
    damping = 1e-8                      # [N m s/rad]

    [[muscles]]
    name = "m1"
    path = [{ body = "ground", point = [0.0, 0.0, 0.0] }, { body = "A", point = [0.1, 0.0, -0.5] }]
    law = { type = "B", optimal_length = 2.0, max_isometric_force = 12.0 }    # optional
    activation = 0.1                    # optional
"""

import math
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from joints.errors import ModelError
from joints.files import read_text
from joints.system import ArticulatedSystem, Body
from joints.types import EulerJoint, FixedJoint, Joint, SphericalJoint
from muscle.laws import LAWS, ForceLaw
from muscle.model import Model
from muscle.path import Muscle, PathPoint
from muscle.toml_write import FORMAT, VERSION

__all__ = ["read_model"]

_TOP = {"format", "version", "name", "description", "ground", "gravity", "start", "bodies", "muscles"}
_START = {"q", "u"}
_BODY = {"name", "parent", "mass", "center_of_mass", "inertia", "joint"}
_JOINT = {"type", "sequence", "position", "orientation", "damping"}
_MUSCLE = {"name", "path", "law", "activation"}
_POINT = {"body", "point"}
_JOINT_TYPES: dict[str, type[Joint]] = {j.kind: j for j in (SphericalJoint, EulerJoint, FixedJoint)}


def read_model(path: str | Path) -> Model:
    """The model in a TOML file. Raises ModelError with file, element and line, or OSError if it cannot be read."""
    path = Path(path)
    text = read_text(path)
    try:
        return _model(_parsed(text), path)
    except ModelError as error:
        raise error.located(path, error.line or _line(text, error.element)) from None
    except ValueError as error:
        raise ModelError(str(error), file=path) from None


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise ModelError(f"this is not valid TOML: {error}", line=int(found[1]) if found else None) from None
    except RecursionError:
        raise ModelError("this is not valid TOML: nested too deeply") from None


def _line(text: str, element: str | None) -> int | None:
    """The line of the text where an element such as "body 'A'" or "muscle number 3" begins."""
    found = re.fullmatch(r"(body|muscle) (?:number (\d+)|'(.*)')", element or "")
    if not found:
        return None
    table = {"body": "bodies", "muscle": "muscles"}[found[1]]
    lines = text.splitlines()
    heads = [i for i, line in enumerate(lines) if re.match(rf"\s*\[\[\s*{table}\s*\]\]", line)]
    if found[2]:
        number = int(found[2]) - 1
        return heads[number] + 1 if number < len(heads) else None
    named = re.compile(rf"""\s*name\s*=\s*["']{re.escape(found[3])}["']""")
    spans = zip(heads, [*heads[1:], len(lines)], strict=True)
    matches = [i + 1 for head, end in spans for i in range(head, end) if named.match(lines[i])]
    return matches[-1] if matches else None  # of two elements with one name, the second is the mistake


# ---- from tables to objects --------------------------------------------------------------------------------


def _model(data: dict[str, Any], path: Path) -> Model:
    _keys(data, _TOP, {"format", "version", "bodies"}, "the file")
    if data["format"] != FORMAT or data["version"] != VERSION:
        raise ModelError(
            f"format {data['format']!r} version {data['version']!r}: this reads {FORMAT!r} version {VERSION}"
        )
    bodies = tuple(_body(*item) for item in _tables(data, "bodies", "body"))
    system = ArticulatedSystem(
        bodies,
        ground=_string(data, "ground", "the file", "ground"),
        gravity=_numbers(data, "gravity", 3, "the file", (0.0, 0.0, -9.81)),
        name=_string(data, "name", "the file", path.stem),
    )
    start = data.get("start", {})
    _keys(start, _START, set(), "start")
    return Model(
        system,
        tuple(_muscle(*item) for item in _tables(data, "muscles", "muscle")),
        name=system.name,
        description=_string(data, "description", "the file", ""),
        start_q=_numbers(start, "q", system.nq, "start") if "q" in start else None,
        start_u=_numbers(start, "u", system.nu, "start") if "u" in start else None,
        file=path,
    )


def _tables(data: dict[str, Any], key: str, kind: str) -> list[tuple[dict[str, Any], str]]:
    """Every table of an array of tables, with the words that name it in an error."""
    tables = data.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise ModelError(f"{key} must be an array of tables, [[{key}]]")
    return [
        (t, f"{kind} {t['name']!r}" if isinstance(t.get("name"), str) else f"{kind} number {i + 1}")
        for i, t in enumerate(tables)
    ]


def _body(table: dict[str, Any], element: str) -> Body:
    _keys(table, _BODY, {"name", "parent", "joint"}, element)
    joint = table["joint"]
    _keys(joint, _JOINT, {"type"}, element, "joint.")
    inertia = _numbers(table, "inertia", (3, 6), element, (0.0,) * 6)
    return Body(
        name=_string(table, "name", element),
        parent=_string(table, "parent", element),
        joint=_joint(joint, element),
        position=_numbers(joint, "position", 3, element, (0.0,) * 3),
        orientation=_numbers(joint, "orientation", 4, element, (1.0, 0.0, 0.0, 0.0)),
        mass=_number(table, "mass", element, 0.0),
        center_of_mass=_numbers(table, "center_of_mass", 3, element, (0.0,) * 3),
        inertia=inertia if len(inertia) == 6 else (*inertia, 0.0, 0.0, 0.0),
        damping=_number(joint, "damping", element, 0.0),
    )


def _joint(table: dict[str, Any], element: str) -> Joint:
    kind = _string(table, "type", element)
    if kind not in _JOINT_TYPES:
        raise ModelError(f"joint.type {kind!r} is unknown; known: {', '.join(_JOINT_TYPES)}", element=element)
    if "sequence" not in table:
        return _JOINT_TYPES[kind]()
    if kind == "fixed":
        raise ModelError("a fixed joint has no joint.sequence", element=element)
    sequence = _string(table, "sequence", element)
    try:
        EulerJoint(sequence)
    except ValueError as error:
        raise ModelError(str(error), element=element) from None
    return EulerJoint(sequence) if kind == "euler" else SphericalJoint(sequence)


def _muscle(table: dict[str, Any], element: str) -> Muscle:
    _keys(table, _MUSCLE, {"name", "path"}, element)
    path = table["path"]
    if not isinstance(path, list):
        raise ModelError("path must be an array of { body = ..., point = [...] }", element=element)
    for point in path:
        _keys(point, _POINT, _POINT, element, "path.")
    return Muscle(
        name=_string(table, "name", element),
        path=tuple(PathPoint(_string(p, "body", element), _numbers(p, "point", 3, element)) for p in path),
        law=_law(table["law"], element) if "law" in table else None,
        activation=_number(table, "activation", element) if "activation" in table else None,
    )


def _law(table: Any, element: str) -> ForceLaw:
    if not isinstance(table, dict) or table.get("type") not in LAWS:
        raise ModelError(f"law.type must be one of {', '.join(LAWS)}", element=element)
    law = LAWS[table["type"]]
    names = {f.name for f in fields(law)}  # type: ignore[arg-type]
    required = {f.name for f in fields(law) if f.default is not None}  # type: ignore[arg-type]
    _keys(table, names | {"type"}, required, element, "law.")
    return law(**{name: _number(table, name, element) for name in names if name in table})


# ---- single values -----------------------------------------------------------------------------------------


def _keys(table: Any, allowed: set[str], required: set[str], element: str, prefix: str = "") -> None:
    if not isinstance(table, dict):
        raise ModelError(f"{prefix.rstrip('.') or 'this'} must be a table", element=element)
    for key in table:
        if key not in allowed:
            raise ModelError(f"unknown key {prefix}{key}; allowed: {', '.join(sorted(allowed))}", element=element)
    for key in sorted(required):
        if key not in table:
            raise ModelError(f"the key {prefix}{key} is missing", element=element)


def _string(table: dict[str, Any], key: str, element: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise ModelError(f"{key} must be text, not {value!r}", element=element)
    return value


def _number(table: dict[str, Any], key: str, element: str, default: float | None = None) -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ModelError(f"{key} must be a finite number, not {value!r}", element=element)
    return float(value)


def _numbers(
    table: dict[str, Any],
    key: str,
    size: int | tuple[int, ...],
    element: str,
    default: tuple[float, ...] | None = None,
) -> tuple[float, ...]:
    values = table.get(key, default)
    sizes = (size,) if isinstance(size, int) else size
    if not isinstance(values, (list, tuple)) or len(values) not in sizes:
        raise ModelError(f"{key} must be {' or '.join(map(str, sizes))} numbers, not {values!r}", element=element)
    return tuple(_number({key: value}, key, element) for value in values)
