"""The tree: nested bodies as ours, with the geoms and sites on them."""

from copy import deepcopy
from dataclasses import field
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.document import HERE, Compiler, Document, Place, Values, elements_of, place_of
from myoquat.data.mjcf.elements import add
from myoquat.data.mjcf.reading.geoms import (
    WEIGHTLESS,
    Geom,
    Inertia,
    Meshes,
    corrected,
    read_geom,
    read_inertial,
    total,
)
from myoquat.data.mjcf.reading.joints import FileJoint, Link, links_of, read_joint
from myoquat.data.xml import Element, complain
from myoquat.joints.multibody.body import Body
from myoquat.joints.types import FixedJoint
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.forces import CoordinateFriction
from myoquat.muscle.points import PathPoint

__all__ = ["GROUND", "Skeleton", "read_skeleton"]

GROUND = "world"
MAX_REPLICATED = 100_000  # elements that a <replicate> makes
MAKERS = ("composite", "flexcomp", "attach")  # what makes bodies of its own
SLIP_SPEEDS = {"hinge": 0.01, "slide": 1e-3}  # [rad/s, m/s] below which dry friction is not at its greatest
PICTURES = ("camera", "light")


@dataclass
class Skeleton:
    """The bodies in the order of the file, depth first, which is MuJoCo's order of coordinates, and what belongs to
    them.

    start                   the coordinates of the pose of the file
    coordinates             with their ranges
    refs, rests             the references of coordinates, and where their springs rest, by name
    frictions               dry friction of coordinates
    combinations            the coefficients of fixed tendons by coordinate
    limited, limited_balls  the joints that have limits; ball joints with the names of their bodies
    balls                   the two bodies that ball joints connect, the child first, by the joints' names
    geoms, named            all geoms, and the first of each name
    sites, axes             sites and their axes (3, 3) by their names
    """

    bodies: list[Body] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    coordinates: list[Coordinate] = field(default_factory=list)
    refs: dict[str, float] = field(default_factory=dict)
    rests: dict[str, float] = field(default_factory=dict)
    frictions: list[CoordinateFriction] = field(default_factory=list)
    combinations: dict[str, dict[str, float]] = field(default_factory=dict)
    limited: list[FileJoint] = field(default_factory=list)
    limited_balls: list[tuple[str, FileJoint]] = field(default_factory=list)
    balls: dict[str, tuple[str, str]] = field(default_factory=dict)
    meshes: Meshes = field(default_factory=lambda: Meshes({}, None))
    geoms: list[Geom] = field(default_factory=list)
    named: dict[str, Geom] = field(default_factory=dict)
    sites: dict[str, PathPoint] = field(default_factory=dict)
    axes: dict[str, Array] = field(default_factory=dict)

    def add(self, geoms: list[Geom]) -> None:
        """Geoms that follow those that are there."""
        self.geoms += geoms
        for geom in geoms:
            self.named.setdefault(geom.name, geom)


def read_skeleton(document: Document) -> Skeleton:
    """All bodies of a file; ModelError with element and line for one that cannot be."""
    reader = _Reader(document)
    for world in document.root.findall("worldbody"):
        reader.read(world, GROUND, HERE, None)
    return reader.found


@dataclass
class _Content:
    """The content of a body, that of its frames included; `bodies` with their poses and classes."""

    bodies: list[tuple[Element, Place, str | None]] = field(default_factory=list)
    joints: list[FileJoint] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    inertial: Inertia | None = None


def _replicate(element: Element, compiler: Compiler) -> None:
    """Frames in place of a <replicate>, each with what it holds, whose names get the number of the copy. As in MuJoCo,
    Euler angles are multiples, and offsets are added in the axes that the copies before have reached."""
    values = Values(element, {})
    count, sep = values.number("count"), values.text("sep", "")
    offset, euler = (np.array(values.vector(key, (0.0,) * 3)) for key in ("offset", "euler"))
    size, parent = sum(1 for _ in element.iter()), element.getparent()
    if parent is None or count != int(count) or not 1 <= count <= MAX_REPLICATED / size:
        complain(element, f"<replicate> needs a positive count of at most {MAX_REPLICATED // size}, not {count:g}")
    copies, p = deepcopy(element), np.zeros(3)
    copies[:] = []
    for i in range(int(count)):
        copy = deepcopy(element)
        for part in copy.iter():
            if isinstance(part.tag, str) and part.get("name"):
                part.set("name", f"{part.get('name')}{sep}{i:0{len(str(int(count)))}d}")
        frame = add(copies, "frame", pos=tuple(p.tolist()), euler=tuple((i * euler).tolist()))
        frame[:] = elements_of(copy)
        p = p + place_of(Values(frame, {}), compiler).R @ offset
    place = parent.index(element)
    parent[place : place + 1] = list(copies)


class _Reader:
    """What reads bodies, each after the one that carries it."""

    def __init__(self, document: Document) -> None:
        self.found = Skeleton()
        self._document = document
        compiler = document.compiler
        self._meshes = self.found.meshes = Meshes(
            document.assets("mesh"), document.folder, compiler.meshes, compiler.bare_files, document.anywhere,
            document.vertices,
        )  # fmt: skip
        for element in reversed(list(document.root.iter("replicate"))):  # those inside others first
            _replicate(element, compiler)
        given = [str(body.get("name")) for body in document.root.iter("body") if body.get("name")]
        self._taken = {GROUND, *given}
        self._numbered: dict[str, int] = {}  # the last number that was tried after a name

    def read(self, element: Element, name: str, place: Place, childclass: str | None) -> None:
        """What stands in the body `name`; the bodies in it, each with all that stands in it."""
        content = _Content()
        self._fill(content, element, name, place, childclass)
        self.found.add(content.geoms)
        for body, where, its_class in content.bodies:
            self._read_body(body, name, where, its_class)

    def _fill(self, content: _Content, element: Element, name: str, outer: Place, childclass: str | None) -> None:
        for child in elements_of(element):
            if child.tag == "body":
                content.bodies.append((child, outer, childclass))
            elif child.tag == "frame":
                values = self._document.values(child)
                inner = outer.holds(place_of(values, self._document.compiler))
                own = values.text("childclass", childclass or "") or None
                self._document.finish(values, "name")
                self._fill(content, child, name, inner, own)
            elif child.tag in ("joint", "freejoint"):
                if name == GROUND or element.tag == "frame":
                    complain(child, f"a <{child.tag}> stands in a <body>, not in <{element.tag}>")
                content.joints.append(read_joint(child, self._document, childclass, name, len(content.joints)))
            elif child.tag == "inertial":
                content.inertial = read_inertial(child, self._document)
            elif child.tag == "geom":
                content.geoms.append(read_geom(child, self._document, self._meshes, name, outer, childclass))
            elif child.tag == "site":
                self._read_site(child, name, outer, childclass)
            elif child.tag in MAKERS:
                complain(child, f"<{child.tag}> makes bodies, which are not read; load the mujoco.MjModel")
            elif child.tag not in PICTURES:
                self._document.unsupported.count(child, "in a body")

    def _read_site(self, element: Element, body: str, outer: Place, childclass: str | None) -> None:
        values = self._document.values(element, childclass)
        name = values.text("name", "")
        if name and name in self.found.sites:
            complain(element, f"the name {name!r} is taken by another site")
        place = outer.holds(place_of(values, self._document.compiler, ends=True))
        self._document.finish(values, "class", "type", "size", "rgba", "group", "material", "user")
        if name:
            self.found.sites[name] = PathPoint(body, place.position)
            self.found.axes[name] = place.R

    def _read_body(self, element: Element, parent: str, outer: Place, childclass: str | None) -> None:
        values = self._document.values(element)
        name = values.text("name", "") or self._new("body")
        own = values.text("childclass", childclass or "") or None
        place = outer.holds(place_of(values, self._document.compiler))
        if values.word("mocap", ("true", "false"), "false") == "true":
            self._document.unsupported.count(element, "mocap")
        self._document.finish(values, "user", "sleep")
        content = _Content()
        self._fill(content, element, name, HERE, own)
        self._add(element, name, parent, place, content)
        self.found.add(content.geoms)
        for body, where, its_class in content.bodies:
            self._read_body(body, name, where, its_class)

    def _new(self, base: str) -> str:
        """A name that no body has."""
        name = None
        while name is None or name in self._taken:
            self._numbered[base] = self._numbered.get(base, 0) + 1
            name = f"{base}_{self._numbered[base]}"
        self._taken.add(name)
        return name

    # ---- one body as one or several of ours --------------------------------------------------------------------

    def _add(self, element: Element, name: str, parent: str, place: Place, content: _Content) -> None:
        """The body on its joint. Massless bodies between the parent and the body carry joints away from the body's
        origin. They also carry joints in excess of those that one joint here holds."""
        mass = self._mass(content)
        links = links_of(content.joints)
        self._note(links)
        resting: dict[str, Any] = {}
        if any(joint.type == "free" for joint in content.joints):
            resting = {"spring_mount": (*place.position, *place.orientation)} if content.joints[0].passive[0] else {}
            place = self._free(element, parent, place, content.joints)
        reached = np.zeros(3)
        for k, link in enumerate(links):
            at = Place(place.p + place.R @ (link.point - reached), place.Q)
            ends = k == len(links) - 1 and not link.point.any()
            new = name if ends else self._new(name)
            own: dict[str, Any] = mass if ends else {}
            self.found.bodies.append(
                Body(
                    new,
                    parent,
                    position=at.position,
                    orientation=at.orientation,
                    **(link.fields(new) | resting | own),
                )
            )
            balls = [joint for joint in link.joints if joint.type == "ball"]
            self.found.limited_balls += [(new, ball) for ball in balls if ball.limited]
            self.found.balls |= {ball.name: (new, parent) for ball in balls}
            parent, place, reached = new, HERE, link.point
        if not links or reached.any():
            at = Place(place.p - place.R @ reached, place.Q)
            self.found.bodies.append(Body(name, parent, FixedJoint(), at.position, at.orientation, **mass))

    def _free(self, element: Element, parent: str, place: Place, joints: list[FileJoint]) -> Place:
        """A free joint's coordinates are those of the world: the body starts at its pose in the file."""
        if len(joints) > 1 or parent != GROUND:
            complain(element, "a free joint stands alone, in a body of the <worldbody>")
        self.found.start[-7:] = [*place.position, *place.orientation]
        return HERE

    def _note(self, links: list[Link]) -> None:
        for link in links:
            self.found.start += link.start
            for joint in link.joints:
                coordinate = joint.coordinate
                if coordinate is not None:
                    self.found.refs[joint.name], self.found.rests[joint.name] = joint.ref, joint.rest
                    if joint.friction:
                        friction = CoordinateFriction(
                            f"{joint.name}_friction", joint.name, joint.friction, SLIP_SPEEDS[joint.type]
                        )
                        self.found.frictions.append(friction)
                    self.found.coordinates.append(coordinate)
                    if joint.limited:
                        self.found.limited.append(joint)

    def _mass(self, content: _Content) -> dict[str, Any]:
        """The fields of a Body for its mass and shapes."""
        how = self._document.compiler.from_geoms
        inertia = content.inertial or WEIGHTLESS
        if how == "true" or (how == "auto" and content.inertial is None):
            heavy = [found for geom in content.geoms if (found := geom.weight()).mass]
            if heavy or content.inertial is None:
                inertia = total(heavy)
        inertia = corrected(inertia, self._document.compiler)
        return {
            "mass": float(inertia.mass),
            "center_of_mass": tuple(map(float, inertia.center)),
            "inertia": tuple(map(float, inertia.inertia)),
        }
