"""Model files in TOML, read and written: checked against the schema below, every error with file, element and line.

A model file (all numbers in SI units, quaternions scalar first):

    format = "myoquat-model"
    version = 1
    name = "two_link"
    description = "..."                 # optional
    ground = "ground"                   # name of the ground, optional
    shapes = [{ kind = "mesh", sizes = [1, 1, 1], file = "floor.stl" }]  # what the ground shows, optional
    gravity = [0.0, 0.0, -9.81]         # [m/s^2], optional
    velocity_frame = "child"            # or "parent": the frame of u of spherical and floating joints, optional

    [start]                             # optional: where a simulation starts
    q = [...]                           # nq coordinates
    u = [...]                           # nu velocities

    [[bodies]]
    name = "A"
    parent = "ground"                   # the ground or another body, in any order
    mass = 5.0                          # [kg], optional
    center_of_mass = [0.0, 0.0, -0.5]   # [m] in the body's frame, whose origin is the joint
    inertia = [xx, yy, zz, xy, xz, yz]  # [kg m^2] about the center of mass; three numbers for a diagonal one
    shapes = [{ kind = "sphere", sizes = [0.1] }]    # optional: `myoquat.joints.multibody.body.Shape`
    [bodies.joint]
    type = "spherical"                  # or "fixed", "floating", "revolute", "prismatic", "euler", "planar",
                                        # "universal", "custom", "ellipsoid"
    sequence = "YZY"                    # of an Euler joint; of a spherical one, the sequence it is shown in
    axis = [0.0, 0.0, 1.0]              # and other fields of the joint's type, see `myoquat.joints.types`
    position = [0.0, 0.0, 0.0]          # [m] joint frame in the parent's frame
    orientation = [1.0, 0.0, 0.0, 0.0]
    damping = 1e-8                      # [N m s/rad]
    stiffness = 0.0                     # [N m/rad]
    spring_mount = [1.0, 0.0, 0.0, 0.0] # nq numbers
    rotor_inertia = 0.0                 # [kg m^2]
    joint_name = "shoulder"
    coordinate_names = ["Q0", "Q1", "Q2", "Q3"]

    [[muscles]]
    name = "m1"
    path = [{ body = "ground", point = [0.0, 0.0, 0.0] }, { body = "A", point = [0.1, 0.0, -0.5] }]
                                        # or { points = [...], wraps = [{ type = "cylinder", body = "A",
                                        # position = [0.0, 0.0, -0.3], radius = 0.02, quadrant = "+x" }] }
    law = { type = "B", optimal_length = 2.0, max_isometric_force = 12.0 }    # optional
    activation = 0.1                    # optional
    activation_dynamics = { activation_time = 0.015, deactivation_time = 0.06 }    # optional: the activation is a state

    [[limits]]                          # optional; likewise [[coordinates]], [[couplers]], [[markers]],
                                        # [[constraints]], [[forces]], [[actuators]],
                                        # [[inputs]], [[groups]] of muscles
    name = "stop"
    coordinate = "A.angle"              # by name
    lower = -1.0                        # [rad or m], and other fields of `myoquat.muscle.CoordinateLimit`

The keys of joints, laws, functions, shapes, points and muscles are the fields of their classes, see
`myoquat.data.toml.records`. A `type` is the one above or the name of the class: "B" is `ExponentialMuscle`.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from myoquat.core import declared
from myoquat.data.files import read_text
from myoquat.joints import ArticulatedSystem, Body, Joint, ModelError
from myoquat.joints.errors import errors_about
from myoquat.muscle import Model

from .records import check_keys, numbers, read_fields, read_record, scalar, write_fields, write_record

# --------------------------------------------------------------------------------------------------------------
#
# The text of a TOML file as tables, and where in it a key stands. What takes too long to parse is refused before.


PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
DOTTED = re.compile(rf"""(?<![\w"'-])(?:{PART}[ \t]*+\.[ \t]*+){{32}}""")  # time and memory grow with the square
# before a key and the sign after it: the key is first in its line, in the head of a table, or after "{" or ","
GIVEN = re.compile(r"""[ \t]*(["']?|\[.*(?<!\w))[=\]]|.*[{,][ \t]*["']?=""")
MAX_OCCURRENCES = 1000
WORD = re.compile(r"""[\w.*-]*\w""")


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML file; ModelError, with the line where there is one, for a text that is none."""
    deep = DOTTED.search(text)
    if deep:
        line = text.count("\n", 0, deep.start()) + 1
        raise ModelError("this is not read: a key of more than 32 parts", line=line)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ModelError("this is not valid TOML: nested too deeply") from None
    except ValueError as error:  # also of numbers with more digits than Python converts
        found = re.search(r"line (\d+)", str(error))
        raise ModelError(f"this is not valid TOML: {error}", line=int(found[1]) if found else None) from None


def line_of(text: str, keys: Iterable[str]) -> int | None:
    """The line where the first of these keys that the text holds is given or begins a table; None for none of them.

    Only the first MAX_OCCURRENCES of a key are examined, with so many characters before each.
    """
    for key in filter(None, keys):
        matches = re.finditer(rf"""{re.escape(key)}["']?[ \t]*+([=\]])""", text)
        for match in islice(matches, MAX_OCCURRENCES):
            before = text[max(0, match.start() - MAX_OCCURRENCES) : match.start()].rpartition("\n")[2]
            if GIVEN.fullmatch(before + match[1]):
                return text.count("\n", 0, match.start()) + 1
    return None


def words(message: str) -> list[str]:
    """The words of a message that may be keys, the parts of dotted ones after them."""
    found = [word for word in WORD.findall(message[:300]) if len(word) > 1]
    return [*found, *(part for word in found for part in reversed(word.split(".")) if len(part) > 1)]


# ---- from tables to objects, and back ----------------------------------------------------------------------


FORMAT = "myoquat-model"
VERSION = 1
PARTS: dict[str, Any] = {name: classes[0] for name, _, _, classes in declared(Model) if classes}  # a table for each
SYSTEM_FIELDS = ("ground", "gravity", "velocity_frame", "shapes")
BODY_FIELDS = ("name", "parent", "mass", "center_of_mass", "inertia", "lenient_inertia", "shapes")
JOINT_FIELDS = (  # of a Body, but in a file they stand with its joint
    *("joint_name", "position", "orientation", "damping", "stiffness", "spring_mount", "rotor_inertia"),
    "coordinate_names",
)
_TOP = {"format", "version", "name", "description", "start", "bodies", *SYSTEM_FIELDS, *PARTS}
TABLES = {"body": "bodies"} | {key[:-1]: key for key in PARTS}  # an element -> its tables


def read_model(path: Path, *_: Any) -> Model:
    """The model in a TOML file. Raises ModelError with file, element and line, or OSError if it cannot be read."""
    return parse_model(read_text(path), path)


def parse_model(text: str, path: Path) -> Model:
    """The model in the text of a model file that came from `path`."""
    try:
        return _model(parse_toml(text), path)
    except ModelError as error:
        raise error.located(path, error.line or _line(text, error)) from None
    except ValueError as error:
        raise ModelError(str(error), file=path) from None
    except RecursionError:
        raise ModelError("tables are nested too deeply", file=path) from None


def _line(text: str, error: ModelError) -> int | None:
    """The line of the text where the element of an error begins; of a key that it names, where there is no element."""
    found = re.fullmatch(r"(\w+) (?:number (\d+)|'(.*)')", error.element or "")
    if not found:
        return line_of(text, [*words(error.message), error.element or ""]) or 1
    table = TABLES.get(found[1], "")
    heads = [head.end() for head in re.finditer(rf"""(?m)^[ \t]*\[\[[ \t]*["']?{table}["']?[ \t]*\]\]""", text)]
    if not heads:
        return line_of(text, [table])
    if found[2]:
        place = heads[min(int(found[2]), len(heads)) - 1]
    else:  # of two elements with one name, the second is the mistake
        named = re.compile(rf"""(?m)^[ \t]*["']?name["']?[ \t]*=[ \t]*["']{re.escape(found[3])}["']""")
        *_, place = heads[0], *(name.end() for name in named.finditer(text, heads[0]))
    return text.count("\n", 0, place) + 1


def _model(data: dict[str, Any], path: Path) -> Model:
    with errors_about("the file"):
        check_keys(data, _TOP, {"format", "version", "bodies"})
    if data["format"] != FORMAT or data["version"] != VERSION:
        raise ModelError(
            f"format {data['format']!r} version {data['version']!r}: this reads {FORMAT!r} version {VERSION}"
        )
    with errors_about("the file"):
        given = {key: data[key] for key in SYSTEM_FIELDS if key in data}
        fields = read_fields(ArticulatedSystem, given, "", SYSTEM_FIELDS)
        name, description = (
            scalar(str, data.get(key, default), key) for key, default in (("name", path.stem), ("description", ""))
        )
    system = ArticulatedSystem(_read_all(data, "bodies", "body", _body), name=name, **fields)
    start, sizes = data.get("start", {}), {"q": system.nq, "u": system.nu}
    parts: dict[str, Any] = {}
    with errors_about("start"):
        check_keys(start, {*sizes}, set())
        parts |= {f"start_{key}": numbers(start[key], size, key) for key, size in sizes.items() if key in start}
    for key, cls in PARTS.items():
        parts[key] = _read_all(data, key, key[:-1], partial(read_record, cls, prefix=""))
    return Model(system, name=name, description=description, file=path, **parts)


def _read_all(data: dict[str, Any], key: str, noun: str, read: Callable[[dict[str, Any]], Any]) -> tuple[Any, ...]:
    """What every table of an array of tables gives; errors name the table."""
    tables = data.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise ModelError(f"{key} must be an array of tables, [[{key}]]")
    found = []
    for i, table in enumerate(tables, start=1):
        named = isinstance(table.get("name"), str)
        with errors_about(f"{noun} {table['name']!r}" if named else f"{noun} number {i}"):
            found.append(read(table))
    return tuple(found)


def _body(table: dict[str, Any]) -> Body:
    check_keys(table, {*BODY_FIELDS, "joint"}, {"name", "parent", "joint"})
    joint = table["joint"]
    if not isinstance(joint, Mapping):
        raise ModelError("joint must be a table")
    body = {key: value for key, value in table.items() if key != "joint"}
    if isinstance(body.get("inertia"), list) and len(body["inertia"]) == 3:
        body["inertia"] = [*body["inertia"], 0.0, 0.0, 0.0]
    mounting = {key: value for key, value in joint.items() if key in JOINT_FIELDS}
    own = {key: value for key, value in joint.items() if key not in JOINT_FIELDS}
    return Body(
        **read_fields(Body, body, "", BODY_FIELDS),
        **read_fields(Body, mounting, "joint.", JOINT_FIELDS),
        joint=read_record(Joint, own, "joint."),  # type: ignore[type-abstract]
    )


def model_text(model: Model, *_: Any) -> str:
    """The text of a TOML file, which `myoquat.data.load_model` reads back equal.

    Raises ModelError for a joint, force law or other part whose type could not be loaded again
    (`myoquat.data.toml.records`).
    """
    system, given = model.system, {"q": model.start_q, "u": model.start_u}
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": model.name}
    head |= {"description": model.description} if model.description else {}
    head |= {"ground": system.ground, "gravity": list(map(float, system.gravity))}
    head |= write_fields(system, SYSTEM_FIELDS[2:])
    head |= {} if system.bodies else {"bodies": []}
    lines, start = entries(head), {key: list(map(float, x)) for key, x in given.items() if x is not None}
    lines += ["", "[start]", *entries(start)] if start else []
    for body in system.bodies:
        with errors_about(f"body {body.name!r}"):
            joint = write_record(body.joint) | write_fields(body, JOINT_FIELDS)
            lines += [
                "",
                "[[bodies]]",
                *entries(write_fields(body, BODY_FIELDS)),
                "",
                "[bodies.joint]",
                *entries(joint),
            ]
    for key in PARTS:
        for number, part in enumerate(getattr(model, key), start=1):
            name = getattr(part, "name", "")
            with errors_about(f"{key[:-1]} {name!r}" if name else f"{key[:-1]} number {number}"):
                lines += ["", f"[[{key}]]", *entries(write_record(part))]
    return "\n".join(lines) + "\n"


def entries(table: Mapping[str, Any]) -> list[str]:
    """The lines of a table: a key and its value each, a point of a path each."""
    return [f"{_key(key)} = {_value(value, key == 'path')}" for key, value in table.items()]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else _value(key)


def _value(value: Any, path: bool = False) -> str:
    """A value of plain tables, lists, texts and numbers as TOML writes it; the points of a `path` in lines of their
    own."""
    if isinstance(value, Mapping):
        inner = (f"{_key(key)} = {_value(item, path and key == 'points')}" for key, item in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list):
        items = map(_value, value)
        return f"[{''.join(f'{chr(10)}    {item},' for item in items)}\n]" if path else f"[{', '.join(items)}]"
    if isinstance(value, str):  # JSON's texts are TOML's, but for one character that JSON leaves as it is
        return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")
    return str(value).lower()  # the number of an enumeration, too
