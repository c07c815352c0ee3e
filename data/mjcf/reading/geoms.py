"""Geoms: the shapes of bodies, what they weigh, and the surfaces that tendons wrap around."""

from collections.abc import Callable

from myoquat.core.records import dataclass
from myoquat.data.mjcf.reading.document import Document
from myoquat.data.mjcf.reading.frames import Place, place_of
from myoquat.data.mjcf.reading.inertias import SOLIDS, WEIGHTLESS, Inertia, solid
from myoquat.data.mjcf.reading.meshes import Meshes
from myoquat.data.mjcf.reading.softness import Softness, read_softness
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.mjcf.shapes import HALVED, whole_sizes
from myoquat.data.xml import Element, complain
from myoquat.joints.multibody.body import Shape

__all__ = ["Geom", "read_condim", "read_geom"]

CONDIMS = (1, 3, 4, 6)  # none, sliding, torsional and rolling friction

TYPES = ("plane", "hfield", "mesh", "sdf", *SOLIDS)
FIRST_HIDDEN_GROUP = 3  # MuJoCo shows geoms of groups 0 to 2 unless another choice is made
DEFAULT_DENSITY = 1000.0  # [kg/m^3] of a geom that gives none
QUIET = ("class", "user", "gap", "fitscale", "hfield")


@dataclass(frozen=True)
class Geom:
    """A geom: its type, its sizes as MJCF counts them, its pose in its body, and the function of its inertia. `weighs`:
    it has a mass. `contype`, `conaffinity`, `priority`, `condim` the coefficient of sliding friction, `margin`,
    `softness` and its weight `mix`: of its contacts."""

    element: Element
    name: str
    body: str
    type: str
    sizes: tuple[float, ...]
    place: Place
    weight: Callable[[], Inertia]
    weighs: bool
    contype: int
    conaffinity: int
    friction: float
    priority: int
    condim: int
    margin: float
    softness: Softness
    mix: float
    group: int
    color: tuple[float, ...] | None
    material: str
    mesh: str
    mesh_name: str

    @property
    def touches(self) -> bool:
        """Whether it collides with other geoms."""
        return bool(self.contype or self.conaffinity)

    def shape(self) -> Shape | None:
        """The shape of a body; None for a type that shapes of bodies do not have."""
        if self.type not in HALVED and self.type != "mesh":
            return None
        sizes = (1.0, 1.0, 1.0) if self.type == "mesh" else whole_sizes(self.type, self.sizes)
        return Shape(
            self.type,
            sizes,
            self.place.position,  # type: ignore[arg-type]
            self.place.orientation,  # type: ignore[arg-type]
            purpose="collision" if self.touches else "hidden" if self.group >= FIRST_HIDDEN_GROUP else "visual",
            file=self.mesh,
            name=self.name,
            color=self.color,  # type: ignore[arg-type]
            material=self.material,
        )


def read_condim(values: Values, default: int) -> int:
    """The directions of a contact's force; ModelError for a number that is none of MuJoCo's."""
    condim = values.number("condim", default)
    if condim not in CONDIMS:
        complain(values.element, f"condim is 1, 3, 4 or 6, not {condim:g}")
    return int(condim)


def read_geom(
    element: Element, document: Document, meshes: Meshes, body: str, outer: Place, childclass: str | None
) -> Geom:
    """A geom of a body; ModelError with its line for impossible sizes."""
    values = document.values(element, childclass)
    geom_type = values.word("type", TYPES, "sphere")
    if geom_type in SOLIDS and values.has("mesh"):
        complain(element, f"a {geom_type} fitted to a mesh is not supported, as the mesh's file is not opened")
    place = outer.holds(place_of(values, document.compiler, ends=True))
    sizes = _sizes(values, geom_type)
    weighs = geom_type not in ("plane", "hfield")
    weighs &= values.number("mass", values.number("density", DEFAULT_DENSITY)) > 0
    contype, conaffinity = (_mask(values, key) for key in ("contype", "conaffinity"))
    geom = Geom(
        element,
        values.text("name", ""),
        body,
        geom_type,
        sizes,
        place,
        _weight(values, geom_type, sizes, place, meshes),
        weighs,
        contype,
        conaffinity,
        values.numbers("friction", 1, 3, (1.0,))[0],
        int(values.number("priority", 0.0)),
        read_condim(values, 3),
        values.number("margin", 0.0),
        read_softness(values),
        values.number("solmix", 1.0),
        int(values.number("group", 0.0)),
        values.vector("rgba", (0.5, 0.5, 0.5, 1.0)) if values.has("rgba") else None,
        values.text("material", ""),
        meshes.file(values.text("mesh", "")) if geom_type == "mesh" else values.text("mesh", ""),
        values.text("mesh", ""),
    )
    document.finish(values, *QUIET)
    return geom


def _mask(values: Values, key: str) -> int:
    """A mask of 32 bits."""
    return int(values.number(key, 1.0)) & 0xFFFFFFFF


def _sizes(values: Values, geom_type: str) -> tuple[float, ...]:
    """The sizes of a type of geom; those of one between two points are its radius and half their distance."""
    given = values.numbers("size", 1, 3, (0.0,))
    if geom_type not in SOLIDS:
        return given
    count = SOLIDS[geom_type][0]
    if values.has("fromto"):
        a, b = values.vector("fromto", (0.0,) * 6)[:3], values.vector("fromto", (0.0,) * 6)[3:]
        half = sum((u - v) ** 2 for u, v in zip(a, b, strict=True)) ** 0.5 / 2
        given = (given[0], half) if count == 2 else (given[0], given[0], half)
    if geom_type == "sphere" and values.has("fromto"):
        complain(values.element, "a sphere has no fromto")
    if len(given) < count or min(given[:count]) <= 0:
        complain(values.element, f"the size of a {geom_type} must be {count} positive numbers, not {given}")
    return given[:count]


def _weight(
    values: Values, geom_type: str, sizes: tuple[float, ...], place: Place, meshes: Meshes
) -> Callable[[], Inertia]:
    """The function of a geom's inertia. Files of meshes are opened only when it is called."""
    mass = values.number("mass") if values.has("mass") else None
    density = values.number("density", DEFAULT_DENSITY)
    if (mass is not None and mass < 0) or density < 0:
        complain(values.element, "mass and density must not be negative")
    if mass == 0.0 or (mass is None and density == 0.0) or geom_type in ("plane", "hfield"):
        return lambda: WEIGHTLESS
    if geom_type in SOLIDS:
        found = solid(geom_type, sizes, place, mass, density)
        return lambda: found
    if geom_type != "mesh":
        return lambda: complain(values.element, f"the mass of a {geom_type} is not known: give the body an <inertial>")
    name = values.text("mesh")
    return lambda: meshes.inertia(values.element, name, mass, density, place)
