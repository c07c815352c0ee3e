"""From the file to the model."""

from dataclasses import replace
from pathlib import Path

from myoquat.data.mjcf.reading.actuators import read_actuators, with_controls
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton, read_skeleton
from myoquat.data.mjcf.reading.document import Document, read_document
from myoquat.data.mjcf.reading.equalities import read_couplers
from myoquat.data.mjcf.reading.keyframes import read_start
from myoquat.data.mjcf.reading.tendons import Used, read_tendons
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import located
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.shapes import Shape
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.model import Model

__all__ = ["read_model"]

READ = ("compiler", "option", "default", "worldbody", "tendon", "actuator", "equality", "keyframe")
QUIET = ("asset", "visual", "statistic", "size", "custom")  # pictures, memory, and what users store
SOLVER = (  # of <option>: how MuJoCo computes, not what
    *("timestep", "integrator", "cone", "jacobian", "solver", "iterations", "tolerance", "ls_iterations"),
    *("ls_tolerance", "noslip_iterations", "noslip_tolerance", "ccd_iterations", "ccd_tolerance", "impratio"),
    *("sdf_iterations", "sdf_initpoints", "o_margin", "o_solref", "o_solimp", "o_friction", "actuatorgroupdisable"),
    *("mpr_iterations", "mpr_tolerance", "apirate", "magnetic", "sleep_tolerance"),
)


def read_model(path: str | Path, strict: bool = False) -> Model:
    """The model in a MuJoCo file, MJCF.

    Coordinates keep the names of the hinges and slides, in the order of MuJoCo's qpos; a ball or free joint has a
    quaternion. Spatial tendons are the muscles: around spheres and cylinders, on the side of a side site, driven by an
    actuator that only pulls, in proportion to its control, or by a spring. Sites that no tendon uses are markers,
    equality constraints of joints couplers; the keyframe "start", or the first one, is the start. The frame of a body
    is that of the file; a body with more joints than one of ours holds, or with a joint away from its origin, is
    carried by massless bodies.

    What is not read is told in one UnsupportedWarning with counts and lines; `strict` makes that an error. Only the
    given file is opened: meshes are kept by their names. Raises ModelError with file, element and line for a file that
    is broken, includes another, makes bodies by rule, or lets a mesh weigh, since the model would move otherwise.
    """
    path = Path(path)
    root = None
    try:
        document = read_document(path)
        root = document.root
        model = _model(document, path)
    except ModelError as error:
        raise located(error, path, root) from None
    except ValueError as error:
        raise located(ModelError(str(error)), path, root) from None
    document.census.report(path, strict)
    return model


def _model(document: Document, path: Path) -> Model:
    for section in document.root:
        if isinstance(section.tag, str) and section.tag not in (*READ, *QUIET):
            document.census.count(section, "section")
    skeleton = read_skeleton(document)
    drives = read_actuators(document)
    name = str(document.root.get("model") or path.stem)
    used = Used.of(document)
    bodies = _with_shapes(skeleton, used, document)
    system = ArticulatedSystem(tuple(bodies), ground=GROUND, gravity=_gravity(document), name=name)
    actuators = len(list(document.sections("actuator")))
    start = read_start(document, system, system.check_q(skeleton.start), actuators)
    if start.controls is not None:
        drives = with_controls(drives, start.controls)
    neutral = not document.root.findall("keyframe/key") and tuple(start.q) == tuple(system.neutral())
    return Model(
        system,
        read_tendons(document, skeleton, drives),
        name=name,
        start_q=None if neutral else tuple(map(float, start.q)),
        start_u=None if start.u is None or not start.u.any() else tuple(map(float, start.u)),
        file=path,
        coordinates=tuple(c for c in skeleton.coordinates if c.range is not None),
        couplers=read_couplers(document, skeleton),
        markers=tuple(
            Marker(site, point.body, point.position) for site, point in skeleton.sites.items() if site not in used.sites
        ),
    )


def _gravity(document: Document) -> tuple[float, ...]:
    """Gravity; what else acts on bodies, such as wind, is noted."""
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    for element in document.root.findall("option"):
        values = Values(element, {})
        gravity = values.vector("gravity", gravity)
        for key in ("density", "viscosity"):
            if values.number(key, 0.0):
                document.census.count(element, key)
        if any(values.vector("wind", (0.0,) * 3)):
            document.census.count(element, "wind")
        document.finish(values, *SOLVER)
        for flag in element.findall("flag"):
            if flag.get("gravity") == "disable":
                gravity = (0.0, 0.0, 0.0)
            document.finish(Values(flag, {}), "gravity", *FLAGS)
    return gravity


FLAGS = ("energy", "fwdinv", "warmstart", "sensor", "midphase", "nativeccd", "multiccd", "island", "invdiscrete",
         "override", "autoreset", "filterparent", "refsafe", "eulerdamp", "clampctrl")  # fmt: skip


def _with_shapes(skeleton: Skeleton, used: Used, document: Document) -> list[Body]:
    """The bodies with their shapes. A geom that a tendon wraps around, and that neither weighs nor touches anything,
    is a surface alone."""
    shapes: dict[str, list[Shape]] = {body.name: [] for body in skeleton.bodies}
    for geom in skeleton.geoms:
        if geom.name in used.geoms and not geom.touches and geom.inertia is not None and not geom.inertia.mass:
            continue
        shape = geom.shape()
        if shape is None or geom.body not in shapes:
            document.census.count(geom.element, "shape of the world" if geom.body not in shapes else geom.kind)
        else:
            shapes[geom.body].append(shape)
    return [replace(body, shapes=tuple(own)) if (own := shapes[body.name]) else body for body in skeleton.bodies]
