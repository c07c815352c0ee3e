"""States of a system from a recorded motion, and back: by name, with degrees where the file has them."""

import fnmatch
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, difflib, pandas as pd, real_array, time_table, warn_user
from myoquat.joints import ArticulatedSystem, convert_coordinates, convert_velocities
from myoquat.joints.conversion.balls import in_angles
from myoquat.joints.errors import CoordinateWarning
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.ranges import check_array
from myoquat.muscle import Model, state_names
from myoquat.muscle.actuators import delayed

from .angular_speeds import angular_triples, rates_of_angles

# --------------------------------------------------------------------------------------------------------------
#
# Activations of muscles and actuators, and states of muscles, in a recorded motion, as OpenSim's states files name
# them.


SET = "/forceset/"


def muscle_columns(
    model: Model, activation: ArrayLike | None = None, muscle_states: ArrayLike | None = None
) -> dict[str, Array]:
    """Columns '/forceset/<muscle>/activation' of activation (t, m) and '/forceset/<muscle>/fiber_length', and so on, of
    muscle_states (t, ns), as far as they are given."""
    columns: dict[str, np.ndarray] = {}
    if activation is not None:
        values = model.check_activation(activation)
        columns |= {f"{SET}{model.muscle_names[i]}/activation": values[:, i] for i in _activated(model)}
    if muscle_states is not None:
        values = real_array("muscle_states", muscle_states)
        labels = (SET + "/".join(name.rpartition(".")[::2]) for name in state_names(model))
        columns |= {label: values[:, i] for i, label in enumerate(labels)}
    return columns


def muscle_states_from_motion(model: Model, motion: "pd.DataFrame") -> tuple[Array | None, Array | None]:
    """(activation (t, m), muscle_states (t, ns)) of a motion: rows with which `simulate` can start.

    Columns are '/forceset/<muscle>/activation' and '/forceset/<muscle>/<state>', '<muscle>/...' or '<muscle>....'.
    Either is None if the motion has none of its columns; other columns are ignored. Springs and ligaments need none,
    their activation is 0. Raises ValueError if the motion has some but not all of them, and for activations outside
    [0, 1].

    >>> import myoquat as mq
    >>> from myoquat.data import motion_from_states, muscle_states_from_motion
    >>> model = mq.load_model("two_link", rotations="sequence")
    >>> table = motion_from_states(model, [0.0, 0.1], [model.start] * 2, activation=[[0.1] * 6, [0.2] * 6])
    >>> activation, states = muscle_states_from_motion(model, table)
    >>> activation[:, 0], states
    (array([0.1, 0.2]), None)
    """
    check_types(model=(model, Model), motion=(motion, "pandas.DataFrame"))
    found = {_bare(str(label)): label for label in motion.columns}
    activated, states = _activated(model), _gathered(motion, found, state_names(model))
    given = _gathered(motion, found, tuple(f"{model.muscle_names[i]}.activation" for i in activated))
    if given is None and (activated or not model.muscles):
        return None, states
    activation = np.zeros((len(motion), len(model.muscles)))
    activation[:, activated] = 0.0 if given is None else given
    return model.check_activation(activation), states


def _activated(model: Model) -> list[int]:
    """The muscles with an activation: all but springs and ligaments."""
    return [i for i, muscle in enumerate(model.muscles) if muscle.law is None or muscle.law.activated]


def actuator_columns(model: Model, actuation: Array) -> dict[str, Array]:
    """Columns '/forceset/<actuator>/activation' of the delayed actuators, actuation (t, k) what acts of all."""
    return {f"{SET}{actuator.name}/activation": actuation[:, k] for k, actuator in delayed(model).items()}


def actuation_from_motion(model: Model, motion: "pd.DataFrame") -> dict[str, Array]:
    """(t,) activations of the delayed actuators that a motion holds, by their names."""
    found = {_bare(str(label)): label for label in motion.columns}
    labels = {actuator.name: found.get(f"{actuator.name}.activation") for actuator in delayed(model).values()}
    return {name: motion[label].to_numpy(dtype=float) for name, label in labels.items() if label is not None}


def _bare(label: str) -> str:
    """'/forceset/soleus/fiber_length' -> 'soleus.fiber_length'."""
    return label.removeprefix(SET).replace("/", ".")


def _gathered(motion: "pd.DataFrame", found: dict[str, Any], names: tuple[str, ...]) -> np.ndarray | None:
    missing = [name for name in names if name not in found]
    if len(missing) == len(names):
        return None
    if missing:
        raise ValueError(f"the motion holds some muscles' states, but lacks {', '.join(missing)}")
    return np.asarray(motion[[found[name] for name in names]].to_numpy(dtype=float))


DEGREE = np.pi / 180


def states_from_motion(
    model: SystemLike,
    motion: "pd.DataFrame",
    *,
    in_degrees: bool | None = None,
    start: ArrayLike | None = None,
    ignore: Collection[str] = (),
) -> tuple[Array, Array | None]:
    """q (t, nq) and u (t, nu) of a motion; u is None if the motion holds no speeds.

    A column of a coordinate has its bare name or that of OpenSim's states, '/jointset/<joint>/<coordinate>/value' or
    '<joint>/<coordinate>/value'. A column of a speed has the name '.../speed', '<coordinate>_u' or the model's own name
    of the velocity. Three columns '.../speed' of a ball joint of OpenSim are its angular velocity: a Model knows these
    joints (`Coordinate.angular`), a system does not. Angles are converted where the motion is in degrees, as it says
    itself (`attrs["in_degrees"]`) or `in_degrees` says; lengths, quaternions and coordinates of unit "1" never are
    (`ArticulatedSystem.coordinate_units`). A quaternion that has replaced the angles of a model file is read from those
    angles, if the motion has them. Columns of muscles ('/forceset/...') are passed over, and those in `ignore`, names
    or patterns as of a shell ('*_tx'). Coordinates that the motion lacks are taken from `start` (nq,), if it is given,
    and speeds are then zero.

    Warns with CoordinateWarning of coordinates that the model locks or prescribes, and the motion has elsewhere. Raises
    ValueError for a column that the model does not know and a coordinate that is given twice or missing, or that has
    the label of a speed. It is also raised if neither the motion nor `in_degrees` states the unit of angles, or if they
    disagree.

    >>> import pandas as pd
    >>> import myoquat as mq
    >>> knee = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> table = pd.DataFrame({"knee": [10.0, 20.0]}, index=pd.Index([0.0, 0.1], name="time"))
    >>> q, u = mq.data.states_from_motion(mq.ArticulatedSystem((knee,)), table, in_degrees=True)
    >>> q.ravel().round(4)
    array([0.1745, 0.3491])
    """
    check_types(motion=(motion, "pandas.DataFrame"))
    target = system_of(model)
    system, q, u, own = states_in_angles(model, motion, in_degrees, start, ignore)
    there = convert_coordinates(system, target, q)
    warn_of_modes(model, motion.index.to_numpy(dtype=float), there)
    return there, None if u is None else with_own_speeds(convert_velocities(system, target, q, u), own)


MIN_REPORTED_OFFSET = 1e-4  # [rad, m] of a locked or prescribed coordinate from where the model has it


def warn_of_modes(model: SystemLike, time: Array, q: Array) -> None:
    """A CoordinateWarning for coordinates that the model locks or prescribes, and that a motion q (t, nq) over `time`
    (t,) has elsewhere."""
    if not isinstance(model, Model) or not len(time):
        return
    system, differing = model.system, list[str]()
    known = {*system.coordinate_names, *system.angle_names}
    driven = {coupler.dependent for coupler in model.couplers}  # where they are locked too, they follow
    for coordinate in model.coordinates:
        if coordinate.free or coordinate.name not in known - driven:
            continue
        unit, prescribed = system.coordinate_units[coordinate.name], coordinate.prescribed
        values = system.coordinate(coordinate.name, q)
        # without a start of the model it is locked wherever the motion begins
        locked = float(values[0] if model.start_q is None else system.coordinate(coordinate.name, model.start))
        wanted = np.full(len(time), locked) if prescribed is None else prescribed.value(time)
        off = np.abs(values - wanted)
        if off.max() > MIN_REPORTED_OFFSET:
            k = int(np.argmax(off))
            mode = "locks" if prescribed is None else "prescribes"
            differing.append(
                f"{mode} {coordinate.name!r} at {wanted[k]:.4g} {unit}, and the motion has {values[k]:.4g} {unit} "
                f"(frame {k}, time {time[k]:g} s)"
            )
    if differing:
        warn_user(
            f"the model {'; it '.join(differing)}. Analyses follow the motion, inverse kinematics and simulations the "
            "model. Where the motion is right, the model's coordinate should be free",
            CoordinateWarning,
        )


def states_in_angles(
    model: SystemLike, motion: "pd.DataFrame", in_degrees: bool | None, start: ArrayLike | None, ignore: Collection[str]
) -> tuple[ArticulatedSystem, Array, Array | None, dict[int, Array]]:
    """The system with the angles that a motion has in place of quaternions, and q and u of it, as `states_from_motion`
    has them. Velocities of bodies with angles that the motion has by the model's own names, such as those of a free
    joint along the body's axes, by their numbers: u is zero there."""
    target, degrees = system_of(model), _degrees(motion, in_degrees)
    motion = rates_of_states(model, motion, degrees, start)
    labels = [
        label for label in map(str, motion.columns)
        if not (label.startswith(SET) or any(label == x or fnmatch.fnmatchcase(label, x) for x in ignore))
    ]  # fmt: skip
    named = {*_known(target)} | {f"{name}{ending}" for name in target.angle_names for ending in ("", "_u")}
    system = in_angles(target, {bare_name(label, named) for label in labels})
    following = {f"{name}{ending}" for name in system.angle_names for ending in ("", "_u")}
    turns = turning(system) | turning(target) if degrees else set[str]()
    known, own, foreign = _known(system), dict[int, Array](), list[str]()
    columns: dict[str, str] = {}  # by what `coordinate_labels` calls them
    for label in labels:
        if (name := bare_name(label, named)) in following:
            continue  # the joint says what it is
        if name not in known and name in target.velocity_names:
            numbers = motion[label].to_numpy(dtype=float)
            own[target.velocity_names.index(name)] = numbers * (DEGREE if name in turns else 1.0)
        elif (name := bare_name(label, known)) not in known:
            foreign.append(label)
        elif (meant := known[name]) in columns:
            raise ValueError(f"the motion holds {name!r} twice: {columns[meant]!r} and {label!r}")
        else:
            columns[meant] = label
    if foreign:
        near = difflib.get_close_matches(bare_name(foreign[0]), known, n=3)
        others = f", nor are {len(foreign) - 1} others" if len(foreign) > 1 else ""
        nearest = f"; nearest: {', '.join(near)}" if near else ""
        raise ValueError(
            f"the motion's column {foreign[0]!r} is no coordinate of the model{others}{nearest}; ignore=(...) "
            "(--ignore NAME, or a pattern such as '*_tx') passes over columns"
        )

    def gathered(names: Sequence[str], begin: Array | None, zero: Collection[str] = ()) -> Array:
        """(t, n) columns in the order of names. Those that the motion lacks come from `begin` (n,); those in `zero` may
        be lacking, and are zero without one."""
        missing = [name for name in names if name not in columns and name not in zero]
        if missing and begin is None:
            raise ValueError(f"the motion lacks {', '.join(missing)}; start=q (nq,) gives what is missing")
        result = np.tile(np.zeros(len(names)) if begin is None else begin, (len(motion), 1))
        for i, name in enumerate(names):
            if name in columns:
                result[:, i] = motion[columns[name]].to_numpy(dtype=float) * (DEGREE if name in turns else 1.0)
        return result

    coordinates, speeds = coordinate_labels(system).values()
    begin = None if start is None else convert_coordinates(target, system, target.check_q(start, "start"))
    q = system.check_q(gathered(coordinates, begin))
    if not own and columns.keys().isdisjoint(speeds):
        return system, q, None, {}
    elsewhere = set[str]()  # velocities that stand under the model's names
    for mine, theirs in zip(system.u_slices, target.u_slices, strict=True):
        lacking = [name for name in speeds[mine] if name not in columns]
        if len(lacking) == sum(theirs.start <= k < theirs.stop for k in own):
            elsewhere.update(lacking)
    return system, q, gathered(speeds, None if start is None else np.zeros(system.nu), elsewhere), own


def with_own_speeds(u: Array, own: Mapping[int, Array]) -> Array:
    """(t, nu) velocities, with those that a motion has by their own names."""
    u = np.array(u)
    for k, values in own.items():
        u[:, k] = values
    return u


def rates_of_states(
    model: SystemLike, motion: "pd.DataFrame", degrees: bool | None, start: ArrayLike | None = None
) -> "pd.DataFrame":
    """The motion with rates of angles in place of the angular velocities that OpenSim's states have for some joints
    (`myoquat.muscle.coordinates.Coordinate.angular`); `start` (nq,) has angles that it lacks. ValueError for a motion
    that has some of the three speeds of a joint, or not the angles that they need."""
    triples, system, changed = angular_triples(model), system_of(model), dict[str, Any]()
    named = {*system.coordinate_names, *system.angle_names} if triples else set()
    known = named | {f"{name}_u" for name in named}
    columns = {bare_name(label, known): label for label in map(str, motion.columns)}
    for names in triples:
        speeds = [columns[f"{name}_u"] for name in names if f"{name}_u" in columns]
        if not any(speed.endswith("/speed") for speed in speeds):
            continue
        if len(speeds) < 3:
            raise ValueError(f"the speeds of {', '.join(names)} are an angular velocity: all three are needed")
        unknown = [name for name in names[:2] if name not in columns]
        if unknown and start is None:
            raise ValueError(f"the speeds of {', '.join(names)} are an angular velocity, which needs {unknown[0]!r}")
        x, y = (
            system.coordinate(name, np.asarray(start, dtype=float)) if name in unknown
            else motion[columns[name]].to_numpy(dtype=float) * (DEGREE if degrees else 1.0)
            for name in names[:2]
        )  # fmt: skip
        rates = rates_of_angles(x, y, motion[speeds].to_numpy(dtype=float))
        changed |= {speed: rates[:, k] for k, speed in enumerate(speeds)}
    return motion.assign(**changed) if changed else motion


def motion_from_states(
    model: SystemLike,
    time: ArrayLike,
    q: ArrayLike,
    u: ArrayLike | None = None,
    *,
    in_degrees: bool = False,
    activation: ArrayLike | None = None,
    muscle_states: ArrayLike | None = None,
    angles: bool = True,
) -> "pd.DataFrame":
    """A motion table of q (t, nq), and speeds u (t, nu) if given, over `time` (t,) [s], labelled by coordinate.

    A quaternion that has replaced the angles of a model file is written in those angles, continuous in time, and its
    velocity in their rates. In gimbal lock these raise ValueError. angles=False writes quaternions as they are.

    Speeds are labelled '<coordinate>_u' where u is the coordinate's rate, else by the velocity's own name. Activation
    (t, m) and muscle_states (t, ns), if given, as '/forceset/<muscle>/...', which `muscle_states_from_motion` reads.

    >>> import myoquat as mq
    >>> model = mq.load_model("two_link", rotations="sequence")
    >>> table = mq.data.motion_from_states(model, [0.0, 0.1], [model.start] * 2)
    >>> table.columns[:2].to_list(), table["A.p2"].round(3).to_list()
    (['A.p1', 'A.p2'], [0.222, 0.222])
    """
    given = system_of(model)
    system = in_angles(given, {*given.angle_names}) if angles else given
    arrays = {"q": convert_coordinates(given, system, q)}
    arrays |= {} if u is None else {"u": convert_velocities(given, system, q, u)}
    time = check_array("time", time)
    for quantity, array in arrays.items():
        if time.ndim != 1 or array.shape[:-1] != time.shape:
            raise ValueError(f"time has shape {time.shape} and {quantity} {array.shape}; (t,) and (t, n) are needed")
    arrays["q"] = arrays["q"].copy()  # without the jumps of whole turns in angles that `given` holds as quaternions
    for name, (i, k) in given.angle_names.items():
        if name in system.coordinate_names:
            column, joint = system.coordinate_names.index(name), given.bodies[i].joint
            period = float(joint.angles.periods[k])  # type: ignore[attr-defined]
            arrays["q"][:, column] = np.unwrap(arrays["q"][:, column], period=period)
    columns: dict[str, np.ndarray] = {}
    for quantity, labels in (coordinate_labels(system) if u is None else _distinct_labels(system)).items():
        columns |= dict(zip(labels, arrays[quantity].T, strict=True)) if quantity in arrays else {}
        if angles and quantity == "q":
            columns |= {name: system.coordinate(name, arrays["q"]) for name in system.angle_names}
    if isinstance(model, Model):
        columns |= muscle_columns(model, activation, muscle_states)
    return motion_table(system, time, columns, in_degrees)


def _degrees(motion: "pd.DataFrame", given: bool | None) -> bool:
    own = motion.attrs.get("in_degrees")
    if own is not None and given is not None and own != given:
        raise ValueError(f"the motion says in_degrees={own}, the call in_degrees={given}")
    if own is None and given is None:
        raise ValueError(
            "the motion does not say whether its angles are in degrees; give load_motion in_degrees=True or "
            "False (--degrees or --radians)"
        )
    return bool(own if given is None else given)


def bare_name(label: str, known: Collection[str] = ()) -> str:
    """'/jointset/hip/flexion/value' -> 'flexion', '.../speed' -> 'flexion_u', or 'hip.flexion' if that is `known`."""
    parts, ending = label.strip("/").split("/"), ""
    if len(parts) > 1 and parts[-1] in ("value", "speed"):
        ending = "_u" if parts.pop() == "speed" else ""
    with_joint = ".".join(parts[-2:]) + ending
    return with_joint if with_joint in known else parts[-1] + ending


def coordinate_labels(system: ArticulatedSystem) -> dict[str, tuple[str, ...]]:
    """Labels under which q and u are written."""
    speeds: list[str] = []
    for body in system.bodies:
        rates = body.joint.nq == body.joint.nu
        speeds += [f"{n}_u" for n in body.names_of_coordinates] if rates else body.names_of_velocities
    return {"q": system.coordinate_names, "u": tuple(speeds)}


def _distinct_labels(system: ArticulatedSystem) -> dict[str, tuple[str, ...]]:
    """`coordinate_labels`; ValueError where a coordinate has the label of a speed."""
    labels = coordinate_labels(system)
    if both := [name for name in labels["q"] if name in labels["u"]]:
        raise ValueError(f"a motion cannot tell coordinate {both[0]!r} from the speed of this label; rename it")
    return labels


def _known(system: ArticulatedSystem) -> dict[str, str]:
    """Every label that is understood, with the one of `coordinate_labels` that it stands for."""
    labels = _distinct_labels(system)
    return dict(zip(system.velocity_names, labels["u"], strict=True)) | {x: x for both in labels.values() for x in both}


def turning(system: ArticulatedSystem) -> set[str]:
    """Names of angles and of their rates: those of coordinates and velocities, also of angles that a quaternion has
    replaced, and the labels of speeds."""
    angles = {name for name, unit in system.coordinate_units.items() if unit == "rad"}
    units = system.velocity_units
    speeds = (*units.items(), *zip(coordinate_labels(system)["u"], units.values(), strict=True))
    return {*angles, *(f"{name}_u" for name in angles), *(name for name, unit in speeds if unit.startswith("rad"))}


def motion_table(
    system: ArticulatedSystem, time: Array, columns: Mapping[str, Array], in_degrees: bool
) -> "pd.DataFrame":
    """A table of columns (t,) over the index time [s], of which angles and their rates are given in radians."""
    turns = turning(system) if in_degrees else set[str]()
    shown = {name: x / DEGREE if name in turns else x for name, x in columns.items()}
    return time_table(time, shown, name=system.name or "motion", in_degrees=in_degrees, header={})
