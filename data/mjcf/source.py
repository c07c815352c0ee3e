"""A MuJoCo model as MuJoCo compiles it: includes, defaults, frames, inertias and meshes are resolved there.

MuJoCo reads a file into a `mujoco.MjSpec`, and that compiles into a `mujoco.MjModel`, whose arrays the readers take.
Files come from strangers, so this package parses the file and those that it includes before. None of them may lie
outside of its folder, declare a document type or hold more bytes than one may.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from myoquat.core import mujoco, warn_user
from myoquat.data.files import beside
from myoquat.data.formats import CompiledModel, ModelSpec
from myoquat.data.reports import ImplausibleValues, ImplausibleWarning, UnsupportedElements
from myoquat.data.xml import BASE, Element, IncludedFiles, complain, mended, parse
from myoquat.joints import ModelError
from myoquat.joints.ranges import MAX_NUMBER, is_plausible

MAX_REPLICATED = 100_000  # elements that the <replicate> elements of a file make
FOLDERS = ("meshdir", "texturedir", "assetdir")
TETRAHEDRON = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]  # in place of a mesh that is not needed
TETRAHEDRON_FACES = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
LISTS = {
    "body": "bodies", "joint": "joints", "geom": "geoms", "site": "sites", "tendon": "tendons", "mesh": "meshes",
    "actuator": "actuators", "equality": "equalities", "key": "keys", "pair": "pairs", "exclude": "excludes",
}  # fmt: skip
DISABLED = ("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "SPRING", "DAMPER", "ACTUATION", "CLAMPCTRL")
UNREAD = (  # array, the number at which it does nothing, and what is left out
    ("body_mocapid", -1, "mocap"),
    ("jnt_stiffnesspoly", 0, "stiffness of higher order"),
    ("dof_dampingpoly", 0, "damping of higher order"),
    ("jnt_springyield", 0, "springyield"),
    ("jnt_actgravcomp", 0, "actuatorgravcomp"),
    ("tendon_stiffnesspoly", 0, "stiffness or damping of higher order"),
    ("tendon_dampingpoly", 0, "stiffness or damping of higher order"),
    ("tendon_springyield", 0, "springyield"),
    ("tendon_armature", 0, "armature: its inertia"),
    ("tendon_actfrclimited", 0, "actuatorfrcrange"),
    ("actuator_delay", 0, "delay"),
    ("actuator_actearly", 0, "actearly: forces follow the activation at the start of a step"),
    ("actuator_armature", 0, "armature: its inertia"),
    ("actuator_damping", 0, "damping"),
    ("actuator_dampingpoly", 0, "damping of higher order"),
    ("jnt_plasticadr", -1, "plasticity"),
    ("tendon_plasticadr", -1, "plasticity"),
)
PREFIXES = {"joint": "jnt", "equality": "eq"}  # of MuJoCo's arrays, by types of parts where they differ


# words for the numbers by which MuJoCo tells types
CODES: dict[str, tuple[str, ...]] = {
    "jnt_type": ("free", "ball", "slide", "hinge"),
    "geom_type": ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf"),
    "wrap_type": ("none", "joint", "pulley", "site", "sphere", "cylinder"),
    "eq_type": ("connect", "weld", "joint", "tendon"),
    "actuator_trntype": ("joint", "jointinparent", "slidercrank", "tendon", "site", "body"),
    "actuator_gaintype": ("fixed", "affine", "muscle"),
    "actuator_biastype": ("none", "affine", "muscle"),
    "actuator_dyntype": ("none", "integrator", "filter", "filterexact", "muscle"),
}
UNKNOWN = "part of an unknown type"


class Part:
    """A part of a compiled model, by its type and its number.

    Attributes are its rows of MuJoCo's arrays: `joint.range` is that of `jnt_range`, (low, high) as numbers. For the
    number of a type it is the word of CODES, so that `joint.type` may be "hinge".
    """

    def __init__(self, source: "Source", word: str, index: int) -> None:
        self.source, self.word, self.index = source, word, index

    def __getattr__(self, key: str) -> Any:
        array = f"{PREFIXES.get(self.word, self.word)}_{key}"
        row = getattr(self.source.m, array)[self.index].tolist()
        if array in CODES:
            return CODES[array][row] if 0 <= row < len(CODES[array]) else UNKNOWN
        self.check(key, *(row if isinstance(row, list) else (row,)))
        return tuple(row) if isinstance(row, list) else row

    def check(self, key: str, *numbers: float) -> None:
        """ModelError for numbers that are not finite or too large."""
        if not all(map(is_plausible, numbers)):
            self.complain(f"{key} must be finite, and at most {MAX_NUMBER:g} in size")

    @property
    def name(self) -> str:
        """Its name in the file; empty without one."""
        return "" if self.word == "wrap" else getattr(self.source.m, self.word)(self.index).name

    @property
    def given(self) -> Any:
        """The element of the specification, whose numbers are those of the file; None without a specification."""
        return self.source.given(self.word).get(self.index)

    def note(self, what: str) -> None:
        """Report that it is not read."""
        file, line = self._place()
        place = f"{Path(file).name}:{line}" if file and line else line or repr(self.name or self.word)
        self.source.unsupported.note(self.word, what, place)

    def complain(self, message: str) -> NoReturn:
        """Raise a ModelError with its file and line where they are known."""
        if self.word == "dof":
            Part(self.source, "joint", self.jntid).complain(message)
        if self.word == "wrap":  # of the last tendon that begins before it or there
            before = [tendon for tendon in self.source.parts("tendon") if tendon.adr <= self.index]
            max(before, key=lambda tendon: tendon.adr).complain(message)
        file, line = self._place()
        element = f"{self.word} {self.name!r}" if self.name else self.word
        raise ModelError(message, element=element, line=line, file=file)

    def _place(self) -> tuple[str | None, int | None]:
        element = self.source.named.get(f"{self.word} {self.name}")
        if element is not None:
            return element.base, element.sourceline
        found = re.search(r"line (\d+)", getattr(self.given, "info", "") or "")
        return None, int(found[1]) if found else None


@dataclass
class Source:
    """A compiled model, and what is known of the file that it comes from.

    unsupported  what is not read of it
    m            the `mujoco.MjModel`
    spec         the `mujoco.MjSpec` that it is compiled of, None without one
    root         the file's elements with those of the files that it includes, None without one
    meshes       the files of meshes as the model's file names them, by the meshes' names
    idle         tendons on which nothing acts
    """

    unsupported: UnsupportedElements
    m: Any
    spec: Any = None
    root: Element | None = None
    meshes: dict[str, str] = field(default_factory=dict)
    idle: list[str] = field(default_factory=list)
    _given: dict[str, dict[int, Any]] = field(default_factory=dict)

    def parts(self, word: str) -> list[Part]:
        """All parts of a type."""
        # before MuJoCo 3.6 every actuator has one control
        return [Part(self, word, i) for i in range(getattr(self.m, f"n{PREFIXES.get(word, word)}", self.m.nu))]

    def given(self, word: str) -> dict[int, Any]:
        """The elements of the specification of a type, by their numbers."""
        if word not in self._given:
            elements = [] if self.spec is None or word not in LISTS else getattr(self.spec, LISTS[word])
            self._given[word] = {element.id: element for element in elements}
        return self._given[word]

    @cached_property
    def named(self) -> dict[str, Element]:
        """The file's elements by their tags and names."""
        elements = [] if self.root is None else self.root.iter()
        return {f"{element.tag} {element.get('name')}": element for element in elements}

    # ---- what no reader reads --------------------------------------------------------------------------------------

    def check(self) -> None:
        """Note everything that has no place here and that changes motions."""
        m = self.m
        for array, idle, what in UNREAD:
            start, rows = array.partition("_")[0], getattr(m, array, np.zeros(0))
            marked = np.unique(np.nonzero(rows != idle)[0])
            for i in np.unique(m.dof_jntid[marked]) if start == "dof" else marked:
                Part(self, "joint" if start in ("dof", "jnt") else start, int(i)).note(what)
        for word, count, what in (
            ("sensor", m.nsensor, "changes no motion"),
            ("deformable", m.nflex, "moves by itself"),
            ("plugin", m.nplugin, "a program of its own"),
            *(("option", bool(np.any(getattr(m.opt, key))), key) for key in ("density", "viscosity", "wind")),
            *(("flag", self.disabled(key), f"{key.lower()} is disabled") for key in DISABLED),
        ):
            for _ in range(count):
                self.unsupported.note(word, what, repr(word))

    def disabled(self, key: str) -> bool:
        """Whether a flag of the options is off, such as "GRAVITY"."""
        bit = getattr(mujoco.mjtDisableBit, f"mjDSBL_{key}", None)
        return bit is not None and bool(self.m.opt.disableflags & int(bit))


# ---- opening ---------------------------------------------------------------------------------------------------------


def open_source(
    source: "Path | CompiledModel | ModelSpec", anywhere: bool, unsupported: UnsupportedElements,
    implausible: ImplausibleValues,
) -> Source:  # fmt: skip
    """A file, a specification or a compiled model. ModelError for what MuJoCo refuses, MissingExtraError without it."""
    if isinstance(source, CompiledModel):
        found = Source(unsupported, source)
    elif isinstance(source, ModelSpec):
        found = Source(unsupported, _asked(source.compile), source)
    else:
        found = _of_file(source, anywhere, unsupported, implausible)
    found.check()
    return found


def _of_file(path: Path, anywhere: bool, unsupported: UnsupportedElements, implausible: ImplausibleValues) -> Source:
    root = parse(path, lambda text: mended(text, implausible))
    if root.tag != "mujoco":
        raise ModelError(f"<mujoco> is wanted, not <{root.tag}>", file=path, line=root.sourceline)
    _follow(root, path, implausible, IncludedFiles(path, anywhere))
    copied, made = next(root.iter("replicate"), None), _made(root)
    if copied is not None and made > MAX_REPLICATED:
        complain(copied, f"<replicate> makes {made} elements of the file, and at most {MAX_REPLICATED} are read")
    if not anywhere:
        _check_named_files(root, path.parent, {path.resolve()})
    spec = _asked(lambda: mujoco.MjSpec.from_file(str(path)), path, root)
    meshes = _without_pictures(spec)
    return Source(unsupported, _asked(spec.compile, path, root), spec, root, meshes)


def _asked(call: Callable[[], Any], path: Path | None = None, root: Element | None = None) -> Any:
    """What MuJoCo gives. Its errors become a ModelError, its warnings one ImplausibleWarning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call()
        except (ValueError, RuntimeError) as error:
            raise _refused(str(error), root) from None
    texts = dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
    limits = np.concatenate([getattr(found, f"{word}_limited", np.zeros(0)) for word in ("jnt", "tendon")])
    if shown := "; ".join(text for text in texts if "singular" not in text or limits.any()):  # what limits depend on
        warn_user(f"{path or 'the compiled model'}: MuJoCo warns: {shown}", ImplausibleWarning)
    return found


def _refused(text: str, root: Element | None) -> ModelError:
    """MuJoCo's message as an error here, with the file and the line of the element that it names at its end."""
    text = re.sub(r"^(?:XML )?(?:Error: )+", "", " ".join(text.split()))
    found = re.search(r" Element (name )?'([^']*)'(?:, id -?\d+)?(?:, line (\d+))?$", text)
    line = re.search(r"line(?: number)?[ =](\d+)", text, re.IGNORECASE)
    number, file, element = int(line[1]) if line and int(line[1]) else None, None, None
    if found:
        element = (f"element {found[2]!r}" if found[1] else f"<{found[2]}>") if found[2] else None
        text = text[: found.start()]
        tag, name = (None, found[2]) if found[1] else (found[2], None)
        parts = [] if root is None or not found[2] else root.iter(tag) if tag else root.iter()
        same = [part for part in parts if name in (None, part.get("name")) and number in (None, part.sourceline)]
        if len(same) == 1:  # the line may be that of an included file
            file, number = same[0].base, same[0].sourceline
    return ModelError(f"MuJoCo refuses it: {text}", element=element, line=number, file=file)


def _without_pictures(spec: Any) -> dict[str, str]:
    """Let the compiler keep every body and open no file that it does not need: no texture, no skin, and no mesh that
    does not weigh. Returns the files of all meshes by name."""
    spec.compiler.fusestatic = spec.compiler.discardvisual = False
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for part in (*spec.textures, *spec.skins):
        spec.delete(part)
    needed = {
        geom.meshname
        for geom in spec.geoms
        if geom.meshname and (geom.type != mujoco.mjtGeom.mjGEOM_MESH or _weighs(geom, spec))
    }
    files = {mesh.name: mesh.file for mesh in spec.meshes if mesh.file}
    for mesh in spec.meshes:
        if mesh.file and mesh.name not in needed:
            mesh.file = ""
            mesh.uservert, mesh.userface = TETRAHEDRON, TETRAHEDRON_FACES
    return files


def has_mass(geom: Any) -> bool:
    """Whether a geom of a specification has a mass, or a density from which it follows."""
    return bool(geom.density if np.isnan(geom.mass) else geom.mass)


def _weighs(geom: Any, spec: Any) -> bool:
    """Whether a geom is part of its body's inertia."""
    how, modes = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    if how == modes.mjINERTIAFROMGEOM_FALSE or (how == modes.mjINERTIAFROMGEOM_AUTO and geom.parent.explicitinertial):
        return False
    return has_mass(geom)


# ---- the file and those that it names --------------------------------------------------------------------------------


def _follow(root: Element, path: Path, implausible: ImplausibleValues, files: IncludedFiles) -> None:
    """Put the elements of included files in place of every <include>, those of files that they include too, so that
    errors name the right file and line."""
    for element in list(root.iter("include")):
        if len(element):
            complain(element, "<include> has no elements of its own")
        file = files.path(element, path)
        included = parse(file, lambda text: mended(text, implausible))
        for child in included.iterchildren("*"):
            child.set(BASE, str(file))
        _follow(included, file, implausible, files)
        parent = element.getparent()
        if parent is None:
            complain(element, "<include> stands in another element")
        place = parent.index(element)
        parent[place : place + 1] = list(included.iterchildren("*"))


def _made(element: Element) -> int:
    """The elements in an element, with the copies that are made of them."""
    count = 1
    if element.tag == "replicate":
        try:
            count = max(int(element.get("count") or 1), 1)
        except ValueError:
            complain(element, f"count must be a whole number, not {element.get('count')!r}")
    return 1 + count * sum(_made(child) for child in element)


def _check_named_files(root: Element, folder: Path, seen: set[Path]) -> None:
    """ModelError for a file outside of the folder that an element names, in any of the folders of the compiler, and for
    those that a model names which is attached."""
    named = (compiler.get(key) for compiler in root.iter("compiler") for key in FOLDERS)
    folders = [folder, *(beside(folder, name) for name in named if name)]
    home = folder.resolve()
    for element in root.iter("*"):
        name = element.get("file")
        for above in folders if name else ():
            try:
                path = beside(above, name or "")
                real, is_file = path.resolve(), path.is_file()
            except (OSError, ValueError):  # a name that no file can have
                continue
            if is_file and not real.is_relative_to(home):
                what = f"<{element.tag}> names {name!r}, outside the folder of the model"
                complain(element, f"{what}; load_model(..., anywhere=True) reads it")
            if is_file and element.tag == "model" and real not in seen:
                seen.add(real)
                attached = parse(path, lambda text: mended(text, ImplausibleValues()))
                _follow(attached, path, ImplausibleValues(), IncludedFiles(path, False))
                _check_named_files(attached, folder, seen)
