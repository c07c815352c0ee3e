"""Moment arms as a labelled table, each named for what it is, and over one or two coordinates.

For a coordinate x whose rate is its velocity, the moment arm is -dl/dx. A ball joint in quaternions has no coordinate
that a moment arm could belong to. Its columns are the torque vector of a unit tension, -J^T, in child- or parent-frame
components. With an Euler sequence they are -dl/dphi, where the sequence is not locked.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.analysis.motion.task_coordinates import velocity_of
from myoquat.core import Array, ArrayLike, check_types, indices_of, pandas as pd, real_array, warn_user, xarray as xr
from myoquat.data.motions.angular_speeds import axes_of_angles
from myoquat.dynamics.constraints import ConstraintArrays, Constraints
from myoquat.dynamics.constraints.equations import as_constraint
from myoquat.dynamics.rows import Rows
from myoquat.joints import convert_coordinates, euler_from_quaternion, euler_rate_matrix
from myoquat.joints.errors import ConstraintWarning
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.ranges import check_array
from myoquat.joints.sequences import SEQUENCES
from myoquat.joints.types.angles import Angles
from myoquat.joints.vectors import matvec, vecmat
from myoquat.muscle import Model, path_jacobian, path_lengths
from myoquat.muscle.coordinates import in_order

FRAMES = ("child", "parent")
MIN_OWN_SHARE = 1e-9  # of a unit velocity that the constraints leave: below it the coordinate cannot move
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def moment_arms(
    model: Model,
    q: ArrayLike,
    coordinates: Collection[str] | None = None,
    *,
    frame: str = "child",
    sequence: str | None = None,
    follow_constraints: bool = False,
    about_axes: Sequence[Sequence[str]] = (),
) -> "pd.DataFrame":
    """Moment arms as a table: rows (pose, muscle) for q (..., nq) flattened, or muscles for one pose (nq,).

    Columns have names. They are in [m] for rotations and [1] for translations.

    coordinates  the wanted columns, all if None. An angle of a model file that a quaternion or a sequence has replaced
                 gives -dl/dx of that angle; the joint is then described by its quaternion.
    frame        of the torque of a unit tension at quaternion joints: columns '<body>.torque_x [child]', ...
    sequence     an Euler sequence: quaternion joints then have columns '<body>.p1 [YZY]', ..., -dl/dphi in it. With
                 "file", those that remember the angles of a model file have a column for each of these, by its name.

    follow_constraints
                 moment arms along the motion that the model's constraints leave, as OpenSim gives them. Each is -dl/dt
                 at rate 1 of its coordinate, while the others move as little as the constraints allow (least squares
                 of the velocities), and locked ones rest. A ball joint is one part, whose velocity is one vector. NaN
                 where a coordinate cannot move. The poses must lie on the constraints
                 (`myoquat.dynamics.constraints.assemble`).
    about_axes   triples of angles about x, y and z. Instead of a moment arm along each angle, OpenSim gives those of a
                 BallJoint, FreeJoint, EllipsoidJoint or ScapulothoracicJoint about the axes of the frame on the parent,
                 because its speeds are an angular velocity. Angles that a quaternion has replaced are passed over.

    Without `follow_constraints` the other coordinates rest, whatever the constraints say; a ConstraintWarning names
    them. Couplers are followed: the column of an independent coordinate includes the coordinates that it moves. It is
    its own moment arm plus d(dependent)/d(independent) times that of each dependent one. Columns of dependent
    coordinates remain and must not be added again. Raises ValueError for a frame, sequence or coordinate that is
    unknown, couplers in a circle or two on one coordinate, and as `path_jacobian` does.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import moment_arms
    >>> from myoquat.muscle import PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), coordinate_names=("elbow",))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path),))
    >>> moment_arms(model, [0.0]).to_numpy().round(3)  # [m] -dl/d(elbow)
    array([[-0.24]])
    """
    check_types(model=(model, Model))
    if frame not in FRAMES:
        raise ValueError(f"frame is one of {', '.join(FRAMES)}, not {frame!r}")
    q, system = check_array("q", q), model.system
    coordinates = None if coordinates is None else list(coordinates)
    replaced = {system.bodies[system.angle_names[name][0]] for name in coordinates or () if name in system.angle_names}
    if sequences := {body.name: "quaternion" for body in replaced if body.joint.facts.quaternion is None}:
        ball = model.with_rotations(sequences)
        q, model = convert_coordinates(system, ball.system, q), ball
    arms = -path_jacobian(model, q)
    speeds = _speeds(model, q, about_axes)
    if speeds is not None:
        arms = arms @ speeds
    if follow_constraints:
        arms = _along_constraints(model, q, arms, speeds)
    elif model.constraints:
        what = ", ".join(dict.fromkeys(type(constraint).__name__ for constraint in model.constraints))
        message = f"moment arms hold the other coordinates, which the model's constraints ({what}) may not allow"
        warn_user(f"{message}; follow_constraints=True follows them", ConstraintWarning)
    names, arms = _labelled(model, q, arms, frame, sequence, set(coordinates or ()))
    if not follow_constraints:
        arms = _coupled(model, q, list(names), arms)
    table = arms.reshape(int(np.prod(arms.shape[:-1])), len(names))
    rows: Any = pd.Index(model.muscle_names, name="muscle")
    if q.ndim > 1:
        count = int(np.prod(q.shape[:-1]))
        rows = pd.MultiIndex.from_product([range(count), model.muscle_names], names=["pose", "muscle"])
    frame_of_all = pd.DataFrame(table, index=rows, columns=pd.Index(names, name="moment arm"))
    if coordinates is None:
        return frame_of_all
    indices_of("moment arm", coordinates, names)
    return frame_of_all[coordinates]


def _speeds(model: Model, q: Array, triples: Sequence[Sequence[str]]) -> Array | None:
    """(..., nu, nu) the velocities per speed, where those of three angles are an angular velocity in the parent's axes;
    None where all speeds are velocities."""
    system = model.system
    kept = [names for names in triples if set(names) <= {*system.coordinate_names}]
    if not kept:
        return None
    E = np.broadcast_to(np.eye(system.nu), (*q.shape[:-1], system.nu, system.nu)).copy()
    for names in kept:
        x, y, _ = (system.coordinate(name, q) for name in names)
        rows = np.concatenate([np.atleast_1d(system.indices.velocities_of_coordinate(name)) for name in names])
        E[..., rows[:, None], rows] = axes_of_angles(x, y)
    return np.linalg.inv(E)


def _along_constraints(model: Model, q: Array, arms: Array, speeds: Array | None) -> Array:
    """The arms (..., m, nu) with the motion that each velocity, or the three of a ball, takes along; of each speed if
    there are velocities (..., nu, nu) per speed."""
    system, count = model.system, int(np.prod(arms.shape[:-2]))  # -1 is no count where there are no coordinates
    flat, rows = arms.reshape(count, *arms.shape[-2:]), q.reshape(count, system.nq)
    rates = velocity_of(system)
    resting = {rates[c.name] for c in model.coordinates if not c.free and c.name in rates}
    held = [*model.constraints, *map(as_constraint, model.couplers)]
    if not held:
        return arms
    arrays = ConstraintArrays(Constraints(system, held))
    A = arrays.jacobian(rows, 0.0)
    if speeds is not None:
        A = A @ speeds.reshape(-1, system.nu, system.nu)
    tolerance = arrays.tolerance(rows, 0.0)
    found, projectors = np.full(flat.shape, np.nan), {}
    for body, iu in zip(system.bodies, system.u_slices, strict=True):
        whole = body.joint.facts.quaternion is not None
        for part in [[*range(iu.start, iu.stop)]] if whole else [[i] for i in range(iu.start, iu.stop)]:
            moving = tuple(i for i in range(system.nu) if i not in resting or i in part)
            if moving not in projectors:  # onto the velocities that the constraints allow
                projectors[moving] = np.eye(len(moving)) - Rows(A[..., moving].mT, tolerance).projector
            columns = [moving.index(i) for i in part]
            motion = projectors[moving][..., columns]
            own = motion[:, columns]
            free = np.linalg.svd(own, compute_uv=False)[:, -1] > MIN_OWN_SHARE
            taken = motion[free] @ np.linalg.inv(own[free])
            found[np.ix_(np.flatnonzero(free), np.arange(flat.shape[1]), np.array(part))] = (
                flat[free][..., moving] @ taken
            )
    return found.reshape(arms.shape)


def _labelled(
    model: Model, q: Array, arms: Array, frame: str, sequence: str | None, wanted: set[str]
) -> tuple[tuple[str, ...], Any]:
    """The columns' names, and the columns of quaternion joints in the wanted frame, or along wanted angles.

    Along angles they are -dl/dx = -J B(x), with omega = B xdot and J on the child-frame angular velocity.
    """
    names: list[str] = []
    arms = arms.copy()
    for body, iq, iu in zip(model.system.bodies, model.system.q_slices, model.system.u_slices, strict=True):
        joint: Any = body.joint
        if joint.facts.quaternion is not None:
            Q = q[..., iq][..., -4:]
            R = rotation_matrix(Q)[..., None, :, :]
            slides, turns = slice(iu.start, iu.stop - 3), slice(iu.stop - 3, iu.stop)
            if joint.span == "all":
                arms[..., slides] = _in_frame(arms[..., slides], R, joint.velocity_frame, frame)
                names += [f"{body.name}.force_{axis} [{frame}]" for axis in "xyz"]
            own = _angles(body, Q, sequence, wanted)
            if own is None:
                arms[..., turns] = _in_frame(arms[..., turns], R, joint.velocity_frame, frame)
                names += [f"{body.name}.torque_{axis} [{frame}]" for axis in "xyz"]
                continue
            labels, B = own
            child = _in_frame(arms[..., turns], R, joint.velocity_frame, "child")
            arms[..., turns] = np.sum(child[..., None] * B[..., None, :, :], axis=-2)
            names += labels
        else:
            names += body.names_of_coordinates if joint.nq == joint.nu else body.names_of_velocities
    return tuple(names), arms


def _in_frame(x: Array, R: Array, given: str, wanted: str) -> Array:
    """(..., 3) a vector in components of the child's or the parent's axes."""
    if given == wanted:
        return x
    return matvec(R, x) if wanted == "parent" else vecmat(x, R)


def _angles(body: Any, Q: Array, sequence: str | None, wanted: set[str]) -> tuple[list[str], Array] | None:
    """Names of a joint's three angles and B with omega = B xdot in child axes; None where no angles are wanted.

    The file's own angles, where these are asked for, or the sequence is about their axes, in either direction."""
    own = body.joint.angles
    if own is not None and (sequence == "file" or wanted & {*own.names} or _turns_about(own, sequence)):
        return list(own.names), own.rate_matrix(own.values(Q))
    if sequence is None or sequence == "file":
        return None
    names = [f"{body.name}.p{i} [{sequence}]" for i in (1, 2, 3)]
    return names, euler_rate_matrix(euler_from_quaternion(Q, sequence), sequence)


def _turns_about(own: Angles, sequence: str | None) -> bool:
    return sequence in SEQUENCES and all(
        abs(abs(np.dot(axis, AXES[letter])) - 1) < 1e-12 for axis, letter in zip(own.axes, sequence or "", strict=True)
    )


def _coupled(model: Model, q: Any, names: list[str], arms: Any) -> Any:
    """The arms with every independent coordinate taking its dependent ones along; chains of couplers are followed."""
    dependent = [coupler.dependent for coupler in model.couplers]
    twice = {name for name in dependent if dependent.count(name) > 1}
    if twice:
        raise ValueError(
            f"coordinate {min(twice)!r} depends on two couplers: its share in a moment arm is not determined"
        )
    total = {name: arms[..., k] for k, name in enumerate(names)}
    for coupler in reversed(in_order(model.couplers)):
        if coupler.dependent in total:
            slope = coupler.scale * coupler.function.slope(model.system.coordinate(coupler.independent, q))
            moved = np.asarray(slope)[..., None] * total[coupler.dependent]
            total[coupler.independent] = total.get(coupler.independent, 0.0) + moved
    found = arms.copy()
    for k, name in enumerate(names):
        found[..., k] = total[name]
    return found


def starting_at(model: Model, q: ArrayLike | None) -> Model:
    """The model whose start is the pose q (nq,), its own if None."""
    return model if q is None else replace(model, start_q=tuple(map(float, real_array("q", q))))


def moment_arm_surface(
    model: Model,
    over: Mapping[str, Any],
    arm: str | None = None,
    q: ArrayLike | None = None,
    muscles: Sequence[str] | None = None,
    **options: Any,
) -> "xr.Dataset":
    """Lengths [m] and moment arms of muscles on a grid: variables 'length' and 'moment_arm' (muscle, *coordinates).

    over     one or two coordinates with their values [rad, m]; coordinates that couplers drive follow. Angles of a file
             that a quaternion has replaced are allowed.
    arm      the wanted column of `moment_arms`, by default the first of `over`. Its options `frame` and `sequence` may
             be given.
    q        (nq,) all other coordinates, by default the model's start (or neutral)
    muscles  names, by default all

    Raises ValueError for a coordinate or muscle that is unknown, and as `moment_arms` does.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import moment_arm_surface
    >>> arm = mq.load_model("two_link", rotations="sequence")
    >>> over = {"A.p1": np.linspace(0.0, 1.0, 3), "A.p2": np.linspace(0.2, 1.0, 2)}
    >>> surface = moment_arm_surface(arm, over, muscles=["m1"])
    >>> dict(surface.sizes)
    {'A.p1': 3, 'A.p2': 2, 'muscle': 1}
    """
    check_types(model=(model, Model), over=(over, Mapping))
    system = model.system
    if not 1 <= len(over) <= 2:
        raise ValueError(f"over: one or two coordinates are wanted, not {len(over)}")
    indices_of("coordinate for over:", over, (*system.coordinate_names, *system.angle_names))
    chosen = list(model.muscle_names if muscles is None else muscles)
    indices_of("muscle", chosen, model.muscle_names)
    values = {name: np.atleast_1d(real_array(name, x)) for name, x in over.items()}
    grid = np.meshgrid(*values.values(), indexing="ij")
    poses = starting_at(model, q).pose(dict(zip(values, grid, strict=True)))
    wanted = next(iter(over)) if arm is None else arm
    table = moment_arms(model, poses.reshape(-1, system.nq), [wanted], **options)
    shape = (*grid[0].shape, len(model.muscles))
    arms = table[wanted].to_numpy().reshape(shape)
    dims = (*values, "muscle")
    found = xr.Dataset(
        {"length": (dims, path_lengths(model, poses)), "moment_arm": (dims, arms)},
        coords={**values, "muscle": list(model.muscle_names)},
        attrs={"model": model.name, "arm": wanted},
    )
    units = model.system.coordinate_units
    for name in values:
        found[name].attrs["units"] = units[name]
    found["length"].attrs["units"] = "m"
    # a length over an angle is a length; over a slide, a plain number; other columns are torques of a unit tension
    found["moment_arm"].attrs["units"] = "1" if units.get(wanted) == "m" else "m"
    return found.sel(muscle=chosen).transpose("muscle", ...)
