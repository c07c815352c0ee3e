"""From the file to the model."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.data.formats import CompiledModel, ModelSpec
from myoquat.data.mjcf.compiled import compiled_model, document_of, vertices_of
from myoquat.data.mjcf.document import Document, Values, document_in, read_document
from myoquat.data.mjcf.reading.actuators import read_actuators
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton, read_skeleton
from myoquat.data.mjcf.reading.contacts import read_contacts
from myoquat.data.mjcf.reading.equalities import read_equalities
from myoquat.data.mjcf.reading.keyframes import read_start
from myoquat.data.mjcf.reading.softness import Mobilities
from myoquat.data.mjcf.reading.tendons import Used, combinations_of, read_ball_limits, read_limits, read_tendons
from myoquat.data.reports import ImplausibleWarning
from myoquat.data.xml import located
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.body import Body, Shape
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.model import Model

__all__ = ["load_mjcf", "read_model"]

MAX_SHOWN = 5  # tendons, in a message
WRAPPING = ("shortest", "mujoco", "mujoco3")
READ = ("compiler", "option", "default", "worldbody", "tendon", "actuator", "equality", "keyframe")
QUIET = ("asset", "visual", "statistic", "size", "custom")  # pictures, memory, and what users store
SOLVER = (  # of <option>: how MuJoCo computes, not what
    *("timestep", "integrator", "cone", "jacobian", "solver", "iterations", "tolerance", "ls_iterations"),
    *("ls_tolerance", "noslip_iterations", "noslip_tolerance", "ccd_iterations", "ccd_tolerance", "impratio"),
    *("sdf_iterations", "sdf_initpoints", "o_margin", "o_solref", "o_solimp", "o_friction", "actuatorgroupdisable"),
    *("mpr_iterations", "mpr_tolerance", "apirate", "magnetic", "sleep_tolerance"),
)


def read_model(source: Any, strict: bool = False, **options: Any) -> Model:
    """The model in a MuJoCo file, MJCF, or a compiled one, as `load_mjcf` reads it with these `options`."""
    return load_mjcf(source, strict=strict, **options)


def load_mjcf(
    source: "str | Path | CompiledModel | ModelSpec",
    *,
    strict: bool = False,
    wrapping: str = "shortest",
    anywhere: bool = False,
    contact: bool = False,
) -> Model:
    """The model in a MuJoCo file, MJCF, or that of a `mujoco.MjModel` or `mujoco.MjSpec`, which is compiled.

    Coordinates keep the names of the hinges and slides, in the order of MuJoCo's qpos; a ball or free joint has a
    quaternion. Spatial tendons are the muscles; they pass spheres and cylinders on the side of a side site. They are
    driven by a spring, or by an actuator that only pulls, in proportion to its control. Where a file has actuators,
    tendons without carry no force, and a warning names them. Sites that no tendon uses are
    markers, equality constraints of joints couplers; the keyframe "start", or the first one, is the start. The frame of
    a body is that of the file. A body with more joints than one joint here holds, or with a joint away from its origin,
    hangs on massless bodies.

    strict    an element that is not read raises ModelError. By default one UnsupportedWarning reports all of them with
              counts and lines.
    wrapping  the rule for surfaces with a side site. For "shortest" a `WrapCylinder`, for "mujoco" that of MuJoCo 4,
              "mujoco3" that of versions up to 3.17.
    anywhere  files that it includes, and meshes, may lie outside its folder.
    contact   geoms press on each other (`LinearContact`), the pairs that MuJoCo lets touch.

    MuJoCo 4 makes a `SideCylinder` of a cylinder with a side site, earlier versions a `HalfPlaneCylinder`. Limits of
    joints and tendons are forces with MuJoCo's resting stiffness. Files of meshes (.stl, .obj, .msh) are opened where a
    body's inertia or a contact is made of them. Raises ModelError with file, element and line for a file that is broken
    or makes bodies by rule.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import myoquat as mq
    >>> text = '<mujoco><worldbody><body><joint name="hinge"/><geom size="0.1"/></body></worldbody></mujoco>'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ball.xml"
    ...     _ = path.write_text(text)
    ...     mq.load_model(path, anywhere=True).system.coordinate_names
    ('hinge',)
    """
    if wrapping not in WRAPPING:
        raise ValueError(f"wrapping is one of {', '.join(WRAPPING)}, not {wrapping!r}")
    if not isinstance(source, (str, Path, CompiledModel, ModelSpec)):
        raise TypeError(f"source must be a path, an MjModel or an MjSpec, not {type(source).__name__}")
    path = None if isinstance(source, (CompiledModel, ModelSpec)) else Path(source)
    described, root = "the compiled model" if path is None else str(path), None
    try:
        if isinstance(source, (CompiledModel, ModelSpec)):
            compiled = compiled_model(source)
            document = replace(document_in(document_of(compiled)), vertices=vertices_of(compiled))
        else:
            document = read_document(Path(source), anywhere)
        root = document.root
        model = _model(document, path, wrapping, contact)
    except ModelError as error:
        raise located(error, path, root) from None
    except ValueError as error:
        raise located(ModelError(str(error)), path, root) from None
    document.unsupported.report(described, strict)
    document.implausible.report(described, False)
    if document.idle:
        shown = ", ".join(document.idle[:MAX_SHOWN]) + (", ..." if len(document.idle) > MAX_SHOWN else "")
        message = f"{len(document.idle)} tendons without actuator and spring carry no force: {shown}"
        warnings.warn(f"{described}: {message}", ImplausibleWarning, stacklevel=3)
    return model


def _model(document: Document, path: Path | None, wrapping: str, contact: bool) -> Model:
    for section in document.root:
        if isinstance(section.tag, str) and section.tag not in (*READ, *QUIET, *(("contact",) if contact else ())):
            document.unsupported.count(section, "section")
    skeleton = read_skeleton(document)
    skeleton.bodies = _with_total_mass(skeleton.bodies, document.compiler.total_mass)
    skeleton.combinations |= combinations_of(document, skeleton)
    drives = read_actuators(document, skeleton)
    name = str(document.root.get("model") or ("model" if path is None else path.stem))
    used = Used.of(document)
    bodies, shown = _with_shapes(skeleton, used, document)
    system = ArticulatedSystem(tuple(bodies), ground=GROUND, gravity=_gravity(document), name=name, shapes=shown)
    start = read_start(document, system, system.check_q(skeleton.start), (drives.count, drives.states))
    drives.started(start)
    mobilities = Mobilities(system, np.array(skeleton.start))
    muscles = read_tendons(document, skeleton, drives, wrapping, mobilities)
    couplers, constraints = read_equalities(document, skeleton, system, muscles)
    neutral = not document.root.findall("keyframe/key") and tuple(start.q) == tuple(system.neutral())
    return Model(
        system,
        muscles,
        name=name,
        start_q=None if neutral else tuple(map(float, start.q)),
        start_u=None if start.u is None or not start.u.any() else tuple(map(float, start.u)),
        file=path,
        coordinates=tuple(c for c in skeleton.coordinates if c.range is not None),
        limits=read_limits(skeleton, mobilities),
        couplers=couplers,
        constraints=constraints,
        actuators=tuple(drives.actuators),
        forces=(
            *skeleton.frictions,
            *drives.forces,
            *read_ball_limits(skeleton, mobilities),
            *(read_contacts(document, skeleton, mobilities) if contact else ()),
        ),
        markers=tuple(
            Marker(site, point.body, point.position) for site, point in skeleton.sites.items() if site not in used.sites
        ),
    )


def _with_total_mass(bodies: list[Body], total: float) -> list[Body]:
    """The bodies with masses and inertias scaled so that the masses add up to a total [kg] that is positive."""
    whole = sum(body.mass for body in bodies)
    if total <= 0 or not whole:
        return bodies
    ratio = total / whole
    return [
        replace(body, mass=ratio * body.mass, inertia=tuple(ratio * moment for moment in body.inertia))
        for body in bodies
    ]


def _gravity(document: Document) -> tuple[float, ...]:
    """Gravity; what else acts on bodies, such as wind, is noted."""
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    for element in document.root.findall("option"):
        values = Values(element, {})
        gravity = values.vector("gravity", gravity)
        for key in ("density", "viscosity"):
            if values.number(key, 0.0):
                document.unsupported.count(element, key)
        if any(values.vector("wind", (0.0,) * 3)):
            document.unsupported.count(element, "wind")
        document.finish(values, *SOLVER)
        for flag in element.findall("flag"):
            if flag.get("gravity") == "disable":
                gravity = (0.0, 0.0, 0.0)
            document.finish(Values(flag, {}), "gravity", *FLAGS)
    return gravity


FLAGS = ("energy", "fwdinv", "warmstart", "sensor", "midphase", "nativeccd", "multiccd", "island", "invdiscrete",
         "override", "autoreset", "filterparent", "refsafe", "eulerdamp", "clampctrl", "contact")  # fmt: skip


def _with_shapes(skeleton: Skeleton, used: Used, document: Document) -> tuple[list[Body], tuple[Shape, ...]]:
    """The bodies with their shapes, and those of the world. A geom that a tendon wraps around, and that neither weighs
    nor touches anything, is a surface alone."""
    shapes: dict[str, list[Shape]] = {name: [] for name in (GROUND, *(body.name for body in skeleton.bodies))}
    for geom in skeleton.geoms:
        if geom.name in used.geoms and not geom.touches and not geom.weighs:
            continue
        shape = geom.shape()
        if shape is None or geom.body not in shapes:
            document.unsupported.count(geom.element, "shape of the world" if geom.body == GROUND else geom.type)
        else:
            shapes[geom.body].append(shape)
    bodies = [replace(body, shapes=tuple(own)) if (own := shapes[body.name]) else body for body in skeleton.bodies]
    return bodies, tuple(shapes[GROUND])
