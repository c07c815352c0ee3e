"""The document: its sections, the compiler's settings, and the default classes of elements."""

import math
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.lenient import mended
from myoquat.data.mjcf.reading.includes import follow_includes
from myoquat.data.mjcf.reading.values import Values, attributes
from myoquat.data.reports import ImplausibleValues, UnsupportedElements
from myoquat.data.xml import Element, complain, parse
from myoquat.joints.errors import ModelError

__all__ = ["ACTUATORS", "Compiler", "Document", "document_in", "elements_of", "read_document"]

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
