"""An MJCF document: its values, the files that it includes, and the frames of its elements."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.reports import ImplausibleValues, UnsupportedElements
from myoquat.data.xml import BASE, MOBILITY, Element, IncludedFiles, checked_numbers, complain, mended, parse
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import quaternion_exp, quaternion_from_matrix, quaternion_multiply, rotation_matrix

__all__ = [
    "ACTUATORS",
    "HERE",
    "Compiler",
    "Document",
    "Place",
    "Values",
    "attributes",
    "document_in",
    "elements_of",
    "place_of",
    "read_document",
    "unit",
]


# --------------------------------------------------------------------------------------------------------------
#
# The attributes of an element, those of its default class among them, each checked when it is asked for.


def attributes(element: Element) -> dict[str, str]:
    """The attributes that stand in the file."""
    return {str(key): str(value) for key, value in element.attrib.items() if key not in (BASE, MOBILITY)}


class Values:
    """The attributes of an element, with the element's own above those of its default class.

    It records which attributes were read, so that the others can be reported (`unread`).
    """

    def __init__(self, element: Element, inherited: Mapping[str, str]) -> None:
        self.element = element
        self._given = {**inherited, **attributes(element)}
        self._asked: set[str] = set()

    def has(self, key: str) -> bool:
        """Whether the attribute is given."""
        self._asked.add(key)
        return key in self._given

    def text(self, key: str, default: str | None = None) -> str:
        """The attribute as text; ModelError where it is missing and there is no default."""
        self._asked.add(key)
        value = self._given.get(key, default)
        if value is None:
            complain(self.element, f"<{self.element.tag}> needs the attribute {key!r}")
        return value

    def word(self, key: str, allowed: Iterable[str], default: str) -> str:
        """One of the `allowed` words."""
        value, words = self.text(key, default), tuple(allowed)
        if value not in words:
            complain(self.element, f"{key} is one of {', '.join(words)}, not {value!r}")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """true or false."""
        return self.word(key, ("true", "false"), "true" if default else "false") == "true"

    def numbers(self, key: str, least: int, most: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """From `least` to `most` finite numbers, or the default where the attribute is missing."""
        if default is not None and not self.has(key):
            return default
        return checked_numbers(self.element, key, self.text(key), least, most)

    def vector(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """As many finite numbers as the default has."""
        return self.numbers(key, len(default), len(default), default)

    def number(self, key: str, default: float | None = None) -> float:
        """One finite number."""
        return self.numbers(key, 1, 1, None if default is None else (default,))[0]

    def limited(self, switch: str, key: str, automatic: bool) -> bool:
        """Whether the range `key` is enforced: as `switch` says, and where it says nothing, if the range is given."""
        given = self.word(switch, ("true", "false", "auto"), "auto")
        return self.has(key) and (automatic if given == "auto" else given == "true")

    def unread(self, quiet: Iterable[str]) -> list[str]:
        """The attributes that were not read and that are not `quiet`."""
        return sorted(set(self._given) - self._asked - set(quiet))


# ---- <include>: the elements of other files in place of it --------------------------------------------------------


Mend = Callable[[str], str]  # makes the text of a file XML


def follow_includes(root: Element, path: Path, mend: Mend, anywhere: bool) -> None:
    """Put the elements of included files in place of every <include>, those of files that they include too.

    As in MuJoCo, a file is searched from the folder of the model's file, then from that of the including file. It may
    be included once, so that there are no cycles. It must lie in the folder of the model's file or below, unless
    `anywhere`. All files together hold no more bytes than one may. Raises ModelError with file and line.
    """
    _follow(root, path, mend, IncludedFiles(path, anywhere))


def _follow(root: Element, path: Path, mend: Mend, files: IncludedFiles) -> None:
    for element in list(root.iter("include")):
        if len(element):  # type: ignore[arg-type]
            complain(element, "<include> has no elements of its own")
        file = files.path(element, path)
        included = parse(file, mend)
        for child in included.iterchildren("*"):
            child.set(BASE, str(file))
        _follow(included, file, mend, files)
        parent = element.getparent()
        if parent is None:
            complain(element, "<include> stands in another element")
        place = parent.index(element)
        parent[place : place + 1] = list(included.iterchildren("*"))


# ---- The document: its sections, the compiler's settings, and the default classes of elements ---------------------


ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion"),
    *("dcmotor", "plugin"),
)
MAIN = "main"  # the class of elements that name none
MAX_CLASSES = 1000  # default classes of a file; each holds what those above it hold
MAX_DEFAULTS = 100  # attributes of an element, and element types in a default class: MuJoCo has fewer
# Elements that share their defaults, and the name under which these are kept
DEFAULTS_OF = dict.fromkeys(ACTUATORS, "actuator") | {"spatial": "tendon", "fixed": "tendon"}
FILES = ("texturedir", "discardvisual", "usethread", "fusestatic", "fitaabb")
HARMLESS = {  # settings of the compiler that are not followed, and the values at which they do nothing
    "alignfree": "false",
}


@dataclass(frozen=True)
class Compiler:
    """The settings in <compiler>. `angle`: the unit of angles [rad]. `sequence`: the letters of Euler angles, lower
    case for moving axes. `limits`: a range is a limit. `from_geoms`: inertias come from geoms. `meshes`: the folder of
    meshes, `bare_files`: without the folders in their names. `least_mass` [kg] and `least_inertia` [kg m^2] of bodies;
    `balanced`: principal moments that break the triangle inequality become their mean."""

    angle: float = math.radians(1.0)
    sequence: str = "xyz"
    limits: bool = True
    from_geoms: str = "auto"
    total_mass: float = -1.0
    meshes: str = ""
    bare_files: bool = False
    least_mass: float = 0.0
    least_inertia: float = 0.0
    balanced: bool = False


@dataclass(frozen=True)
class Document:
    """A parsed file. `compiler`: its settings. `classes`: default attributes by class name and type of element.
    `folder`: that of the file, None without one. `anywhere`: it may name files outside of that folder.
    `vertices`: gives those of a mesh of a compiled model (v, 3) [m] by its name. `idle`: tendons on which nothing
    acts."""

    root: Element
    compiler: Compiler
    classes: dict[str, dict[str, dict[str, str]]]
    folder: Path | None = None
    anywhere: bool = False
    unsupported: UnsupportedElements = field(default_factory=UnsupportedElements)
    implausible: ImplausibleValues = field(default_factory=ImplausibleValues)
    vertices: Callable[[str], Array] | None = None
    idle: list[str] = field(default_factory=list)

    def sections(self, tag: str) -> Iterator[Element]:
        """The elements in all sections of a name: a file may open a section more than once."""
        for section in self.root.findall(tag):
            yield from elements_of(section)

    def values(self, element: Element, childclass: str | None = None) -> Values:
        """The attributes of an element whose class is its own, else that of the bodies around it, else the main one."""
        name = element.get("class") or childclass or MAIN
        if name not in self.classes:
            complain(element, f"there is no default class {name!r}; known: {', '.join(self.classes)}")
        return Values(element, self.classes[name].get(_defaults_of(element), {}))

    def assets(self, tag: str) -> dict[str, Values]:
        """The attributes of the assets of one type by their names, those of their files without others; the first of
        each name."""
        found: dict[str, Values] = {}
        for element in self.sections("asset"):
            if element.tag == tag:
                values = self.values(element)
                file = values.text("file", "")
                name = values.text("name", "") or file.rpartition("/")[2].rpartition(".")[0]
                found.setdefault(name, values)
        return found

    def finish(self, values: Values, *quiet: str) -> None:
        """Note the attributes that were not read; `quiet` are those that change no motion and no length."""
        for key in values.unread(quiet):
            self.unsupported.count(values.element, key)


def elements_of(parent: Element) -> list[Element]:
    """The elements in another one, without comments."""
    return [element for element in parent if isinstance(element.tag, str)]


def read_document(path: Path, anywhere: bool = False) -> Document:
    """The document in a file; included files replace their <include> elements (`follow_includes`).

    Text that is no XML and that MuJoCo reads, such as hyphens in comments, is read too. ModelError for another type of
    file.
    """
    implausible = ImplausibleValues()
    root = parse(path, lambda text: mended(text, implausible))
    if root.tag != "mujoco":
        raise ModelError(f"<mujoco> is wanted, not <{root.tag}>", file=path, line=root.sourceline)
    follow_includes(root, path, lambda text: mended(text, implausible), anywhere)
    return document_in(root, implausible, path.parent, anywhere)


def document_in(
    root: Element, implausible: ImplausibleValues | None = None, folder: Path | None = None, anywhere: bool = False
) -> Document:
    """The document of an element <mujoco> that includes no others."""
    unsupported = UnsupportedElements()
    for element in root.iter():
        if len(element.attrib) > MAX_DEFAULTS:
            complain(element, f"<{element.tag}> has {len(element.attrib)} attributes; at most {MAX_DEFAULTS} are read")
    implausible = implausible or ImplausibleValues()
    return Document(root, _compiler(root, unsupported), _classes(root), folder, anywhere, unsupported, implausible)


def _compiler(root: Element, unsupported: UnsupportedElements) -> Compiler:
    merged: dict[str, str] = {}
    last = None
    for last in root.findall("compiler"):
        merged |= attributes(last)
    if last is None:
        return Compiler()
    values = Values(last, merged)
    degrees = values.word("angle", ("degree", "radian"), "degree") == "degree"
    sequence = values.text("eulerseq", "xyz")
    if len(sequence) != 3 or set(sequence) - set("xyzXYZ"):
        complain(last, f"eulerseq must be three letters of xyzXYZ, not {sequence!r}")
    values.word("coordinate", ("local",), "local")
    for key, harmless in HARMLESS.items():
        if values.text(key, harmless) != harmless:
            unsupported.count(last, key)
    compiler = Compiler(
        math.radians(1.0) if degrees else 1.0,
        sequence,
        values.boolean("autolimits", True),
        values.word("inertiafromgeom", ("auto", "true", "false"), "auto"),
        values.number("settotalmass", -1.0),
        values.text("meshdir", values.text("assetdir", "")),
        values.boolean("strippath", False),
        values.number("boundmass", 0.0),
        values.number("boundinertia", 0.0),
        values.boolean("balanceinertia", False),
    )
    for key in values.unread(FILES):
        unsupported.count(last, key)
    return compiler


def _classes(root: Element) -> dict[str, dict[str, dict[str, str]]]:
    classes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}
    for number, element in enumerate(root.iter("default"), start=1):
        if number > MAX_CLASSES:
            complain(element, f"a file has at most {MAX_CLASSES} default classes")
    for element in root.findall("default"):
        _add_class(element, element.get("class", MAIN), MAIN, classes)
    return classes


def _add_class(element: Element, name: str, parent: str, classes: dict[str, dict[str, dict[str, str]]]) -> None:
    """A class has what its parent has, and what it says itself."""
    known = dict(classes[parent])
    classes[name] = known
    for child in elements_of(element):
        if child.tag != "default" and (child.attrib or _defaults_of(child) not in known):
            own = attributes(child)
            known[_defaults_of(child)] = known.get(_defaults_of(child), {}) | own
            if max(len(known), len(known[_defaults_of(child)])) > MAX_DEFAULTS:
                limit = f"more than {MAX_DEFAULTS} types of elements, or attributes of one type"
                complain(child, f"the default class {name!r} holds {limit}")
    for child in element.findall("default"):
        inner = child.get("class")
        if not inner or inner in classes:
            complain(child, f"a nested <default> needs a class of its own, not {inner!r}")
        _add_class(child, inner, name, classes)


def _defaults_of(element: Element) -> str:
    """The name under which the default attributes of an element are kept."""
    parent = element.getparent()
    if parent is not None and parent.tag == "equality":
        return "equality"
    return DEFAULTS_OF.get(element.tag, str(element.tag))


# ---- Poses of elements: position and orientation, in every form that MJCF has for them ----------------------------


ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
ROUND_OFF = 1e-12  # by which a quaternion may miss length one and is taken as it stands


@dataclass(frozen=True)
class Place:
    """A frame in the frame of its body or of the body above: origin p (3,) [m] and unit quaternion Q (4,)."""

    p: Array
    Q: Array

    @property
    def R(self) -> Array:
        """(3, 3) the rotation matrix of Q."""
        return np.asarray(rotation_matrix(self.Q))

    @property
    def position(self) -> tuple[float, ...]:
        """p as numbers."""
        return tuple(float(x) for x in self.p)

    @property
    def orientation(self) -> tuple[float, ...]:
        """Q as numbers."""
        return tuple(float(x) for x in self.Q)

    def holds(self, inner: "Place") -> "Place":
        """The place, seen from outside, of something that lies at `inner` in this frame."""
        if np.array_equal(self.Q, HERE.Q):
            return Place(self.p + inner.p, inner.Q)
        return Place(self.p + self.R @ inner.p, np.asarray(quaternion_multiply(self.Q, inner.Q)))


HERE = Place(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


def unit(Q: tuple[float, ...], values: Values, key: str) -> Array:
    """(4,) the quaternion at length one, to which MuJoCo brings them all; ModelError for zero."""
    length = math.hypot(*Q)
    if length == 0.0:
        complain(values.element, f"{key} must not have length zero")
    return np.array(Q) if abs(length - 1.0) < ROUND_OFF else np.array(Q) / length


def place_of(values: Values, compiler: Compiler, ends: bool = False) -> Place:
    """The place of an element; with `ends`, "fromto" may give it: the middle of two points, z along them."""
    if ends and values.has("fromto"):
        a, b = np.array(values.vector("fromto", (0.0,) * 6)).reshape(2, 3)
        if np.array_equal(a, b):
            complain(values.element, "fromto must be two different points")
        return Place((a + b) / 2, _onto_z(a - b))
    return Place(np.array(values.vector("pos", (0.0,) * 3)), _orientation(values, compiler))


def _orientation(values: Values, compiler: Compiler) -> Array:
    given = [key for key in ORIENTATIONS if values.has(key)]
    if len(given) > 1:
        complain(values.element, f"only one of {', '.join(ORIENTATIONS)} may be given, not {' and '.join(given)}")
    if not given:
        return HERE.Q
    key = given[0]
    if key == "quat":
        return unit(values.vector("quat", (0.0,) * 4), values, "quat")
    if key == "axisangle":
        *axis, angle = values.vector("axisangle", (0.0,) * 4)
        return np.asarray(quaternion_exp(_direction(np.array(axis), values, key) * angle * compiler.angle))
    if key == "euler":
        return _euler(values.vector("euler", (0.0,) * 3), compiler)
    if key == "zaxis":
        return _onto_z(_direction(np.array(values.vector("zaxis", (0.0,) * 3)), values, key))
    x, y = np.array(values.vector("xyaxes", (0.0,) * 6)).reshape(2, 3)
    x = _direction(x, values, key)
    y = _direction(y - (x @ y) * x, values, key)
    return np.asarray(quaternion_from_matrix(np.stack([x, y, np.cross(x, y)], axis=1)))


def _direction(v: Array, values: Values, key: str) -> Array:
    length = float(np.linalg.norm(v))
    if length == 0.0:
        complain(values.element, f"{key} must not have length zero")
    return v / length


def _euler(angles: tuple[float, ...], compiler: Compiler) -> Array:
    """Turns in the order of the compiler's letters: lower case about axes that turn along, upper case about fixed."""
    Q = HERE.Q
    for letter, angle in zip(compiler.sequence, angles, strict=True):
        step = np.asarray(quaternion_exp(np.array(AXES[letter.lower()]) * angle * compiler.angle))
        Q = np.asarray(quaternion_multiply(Q, step) if letter.islower() else quaternion_multiply(step, Q))
    return Q


def _onto_z(v: Array) -> Array:
    """(4,) the least turn that takes the z axis to the direction of v; about x by pi where v points along -z."""
    across = np.array([-v[1], v[0], 0.0])
    size = float(np.linalg.norm(across))
    if size == 0.0:
        return HERE.Q if v[2] > 0 else np.array([0.0, 1.0, 0.0, 0.0])
    return np.asarray(quaternion_exp(across / size * math.atan2(size, v[2])))
