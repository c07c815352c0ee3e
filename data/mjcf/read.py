"""From a MuJoCo model to ours."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import Array
from myoquat.data.formats import CompiledModel, ModelSpec
from myoquat.data.mjcf.reading.actuators import read_actuators
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton, read_skeleton
from myoquat.data.mjcf.reading.contacts import read_contacts
from myoquat.data.mjcf.reading.equalities import read_equalities
from myoquat.data.mjcf.reading.tendons import Used, combinations_of, read_ball_limits, read_limits, read_tendons
from myoquat.data.mjcf.source import Source, open_source, rows
from myoquat.data.reports import ImplausibleWarning
from myoquat.data.xml import located
from myoquat.joints import ArticulatedSystem, Body, Shape, rotation_matrix
from myoquat.joints.vectors import vecmat
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.forces import GravityCompensation

__all__ = ["load_mjcf", "read_model"]

MAX_SHOWN = 5  # tendons, in a message
WRAPPING = ("mujoco", "mujoco3", "shortest")
START = "start"  # the keyframe at which a model starts, else the first one; without any, the pose of the file


def read_model(source: Any, strict: bool = False, **options: Any) -> Model:
    """The model in a MuJoCo file, MJCF, or a compiled one, as `load_mjcf` reads it with these `options`."""
    return load_mjcf(source, strict=strict, **options)


def load_mjcf(
    source: "str | Path | CompiledModel | ModelSpec",
    *,
    strict: bool = False,
    wrapping: str = "mujoco",
    anywhere: bool = False,
    contact: bool = False,
) -> Model:
    """The model in a MuJoCo file, MJCF, or that of a `mujoco.MjModel` or `mujoco.MjSpec`, as MuJoCo compiles it.

    Coordinates keep the names of the hinges and slides, in the order of MuJoCo's qpos; a ball or free joint has a
    quaternion. Spatial tendons are the muscles; they pass spheres and cylinders on the side of a side site. They are
    driven by a spring, or by an actuator that only pulls, in proportion to its control. Tendons on
    which nothing acts carry no force; where a file has actuators, a warning names them. Sites that no tendon uses are
    markers, equality constraints of joints couplers; the keyframe "start", or the first one, is the start. The frame of
    a body is that of the file. A body with more joints than one joint here holds, or with a joint away from its origin,
    hangs on massless bodies.

    strict    an element that is not read raises ModelError. By default one UnsupportedWarning reports all of them with
              counts and lines.
    wrapping  the rule for surfaces with a side site: "mujoco" that of MuJoCo 4, "mujoco3" that of versions up to 3.17,
              "shortest" that of a `WrapCylinder`, whose path stays in front where both ends are behind.
    anywhere  files that it includes, and meshes, may lie outside its folder.
    contact   spheres, capsules and ellipsoids press on planes, spheres and capsules on each other (`LinearContact`):
              the pairs that MuJoCo lets touch.

    MuJoCo 4 makes a `SideCylinder` of a cylinder with a side site, earlier versions a `HalfPlaneCylinder`. Limits of
    joints and tendons are forces with MuJoCo's resting stiffness. MuJoCo opens the files of those meshes that weigh.
    Raises MissingExtraError without the package `mujoco`, and ModelError with file, element and line for a model that
    MuJoCo refuses or that cannot be here.

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
    described = "the compiled model" if path is None else str(path)
    with located(path, None):
        opened = open_source(source if path is None else path, anywhere)  # type: ignore[arg-type]
        with located(path, opened.root):
            model = _model(opened, path, wrapping, contact)
    opened.unsupported.report(described, strict)
    opened.implausible.report(described, False)
    if opened.idle:
        shown = ", ".join(opened.idle[:MAX_SHOWN]) + (", ..." if len(opened.idle) > MAX_SHOWN else "")
        message = f"{len(opened.idle)} tendons without actuator and spring carry no force: {shown}"
        warnings.warn(f"{described}: {message}", ImplausibleWarning, stacklevel=3)
    return replace(model, left_out=tuple(opened.unsupported.descriptions()))


def _model(source: Source, path: Path | None, wrapping: str, contact: bool) -> Model:
    m: Any = source.m
    for word, count in (("pair", m.npair), ("exclude", m.nexclude)):
        for i in range(0 if contact else count):
            source.note(word, i, "without contact=True")
    skeleton = read_skeleton(source)
    skeleton.combinations |= combinations_of(source, skeleton)
    names = [source.name("key", i) for i in range(m.nkey)]
    key = names.index(START) if START in names else 0
    drives = read_actuators(source, skeleton, (_stated(source, key, "ctrl"), _stated(source, key, "act")))
    title = bytes(m.names).partition(b"\0")[0].decode("utf-8", "replace")  # with which the table of names begins
    unnamed = not title or (path is not None and source.root is not None and not source.root.get("model"))
    name = ("model" if path is None else path.stem) if unnamed else title
    used = Used.of(m)
    bodies, shown = _with_shapes(skeleton, used, source)
    gravity = (0.0, 0.0, 0.0) if source.disabled("GRAVITY") else tuple(map(float, m.opt.gravity))
    system = ArticulatedSystem(tuple(bodies), ground=GROUND, gravity=gravity, name=name, shapes=shown)
    for i in range(m.nkey):
        if i != key:
            source.note("key", i, "another keyframe")
    start_q = system.check_q(np.array(m.key_qpos[key], dtype=float) if m.nkey else skeleton.start)
    start_u = _in_child(system, start_q, np.array(_stated(source, key, "qvel") or np.zeros(system.nu)))
    muscles = read_tendons(source, skeleton, drives, wrapping)
    couplers, constraints = read_equalities(source, skeleton, system, muscles)
    neutral = not m.nkey and tuple(start_q) == tuple(system.neutral())
    contacts = read_contacts(source, skeleton, system) if contact else ()
    return Model(
        system,
        muscles,
        name=name,
        start_q=None if neutral else tuple(map(float, start_q)),
        start_u=tuple(map(float, start_u)) if start_u.any() else None,
        file=path,
        coordinates=tuple(c for c in skeleton.coordinates if c.range is not None),
        limits=read_limits(skeleton),
        couplers=couplers,
        constraints=constraints,
        actuators=tuple(drives.actuators),
        forces=(
            *skeleton.frictions,
            *_compensations(m, skeleton),
            *drives.forces,
            *read_ball_limits(skeleton),
            *contacts,
        ),
        markers=tuple(
            Marker(name, skeleton.sites[i].body, skeleton.sites[i].position)
            for i in range(m.nsite)
            if i not in used.sites and (name := source.name("site", i))
        ),
    )


def _compensations(m: Any, skeleton: Skeleton) -> list[GravityCompensation]:
    return [
        GravityCompensation(f"{skeleton.names[i]}_gravcomp", skeleton.names[i], float(m.body_gravcomp[i]))
        for i in range(1, m.nbody)
        if m.body_gravcomp[i]
    ]


def _with_shapes(skeleton: Skeleton, used: Used, source: Source) -> tuple[list[Body], tuple[Shape, ...]]:
    """The bodies with their shapes, and those of the world. A geom that a tendon wraps around, and that neither weighs
    nor touches anything, is a surface alone."""
    shapes: dict[str, list[Shape]] = {name: [] for name in skeleton.names}
    for geom in skeleton.geoms:
        if geom.index in used.geoms and not geom.touches and not geom.weighs:
            continue
        shape = geom.shape(source)
        if shape is None:
            what = "shape of the world" if geom.body == GROUND else geom.type
            source.note("geom", geom.index, what)
        else:
            shapes[geom.body].append(shape)
    bodies = [replace(body, shapes=tuple(own)) if (own := shapes.get(body.name)) else body for body in skeleton.bodies]
    return bodies, tuple(shapes[GROUND])


def _stated(source: Source, key: int, quantity: str) -> tuple[float, ...] | None:
    """What a keyframe says of a quantity; None where there is none, or where MuJoCo fills it in."""
    part = source.part("key", key)
    stated = key < source.m.nkey and (part is None or len(getattr(part, quantity)))
    return rows(source.m, f"key_{quantity}", key) if stated else None


def _in_child(system: ArticulatedSystem, q: Array, u: Array) -> Array:
    """u: the linear velocity of a floating joint is that of the parent's frame in MuJoCo, of the child's here."""
    for body, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        if body.joint.span == "all":
            linear = slice(iu.start, iu.start + 3)
            u[linear] = vecmat(u[linear], rotation_matrix(q[iq][3:]))
    return u
