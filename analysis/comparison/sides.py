"""The sides of a comparison: a model here, in MuJoCo or in OpenSim, and which name of one is which of another."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.moment_arms import moment_arms
from myoquat.core import Array, frozen, indices_of
from myoquat.dynamics.constraints import assemble, constraints_of
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import full, matvec
from myoquat.muscle import Model, path_lengths
from myoquat.muscle.evaluate import tensions_at_rest

# Values of a side at n poses by quantity and name: "value" (n,) of coordinates, "length" (n,) [m] and "force" (n,) [N],
# NaN without a law, of muscles, their "moment arm" (n, columns) [m], "centre in the ground" (n, 3) [m] of bodies. At
# any pose a body has its "mass" (1,) [kg], "centre" (1, 3) [m] and "inertia" (1, 3, 3) [kg m^2] about it, in its axes.
Quantities = dict[tuple[str, str], Array]
CENTER = "centre in the ground"


def by_name(names: Iterable[str], arrays: Mapping[str, Array]) -> Quantities:
    """Columns (n, k, ...) of k names, by quantity and name."""
    return {(quantity, name): x[:, k] for k, name in enumerate(names) for quantity, x in arrays.items()}


class Side:
    """A model in this package, or a file in its engine.

    label        the name of the side in a report
    coordinates  names of what tells a pose: angles [rad], lengths [m] and the components of quaternions
    angles       other names for a pose, the angles of a file that quaternions have replaced, each with its body
    arm_names    the coordinates that moment arms belong to: not those of quaternions and floating bodies
    dependent    the coordinates that follow others
    muscles      names of the muscles
    bodies       names of the bodies
    masses       their mass, centre and inertia
    """

    label: str
    coordinates: tuple[str, ...]
    angles: Mapping[str, str] = MappingProxyType({})
    arm_names: Collection[str]
    dependent: Collection[str]
    muscles: tuple[str, ...]
    bodies: tuple[str, ...]
    masses: Quantities

    def at(
        self, values: Mapping[str, Array], coordinates: Collection[str], arms: Collection[str], activation: float
    ) -> Quantities:
        """The quantities at the poses of these values (n,) of coordinates by name; the others are at the start. Wanted
        are the values of some coordinates, and moment arms in some columns. All muscles have the activation."""
        raise NotImplementedError

    def drawn_path(self, muscle: str, values: Mapping[str, float]) -> tuple[float, list[tuple[Array, bool]]] | None:
        """A muscle's length, and the points (3,) of its path in the ground's frame at a pose, each with whether the
        piece before it runs over a surface; None for a side that does not tell."""
        return None


class ModelSide(Side):
    """A model of this package. `about_axes`: as of `moment_arms`."""

    def __init__(self, model: Model, label: str, about_axes: Sequence[Sequence[str]] = ()) -> None:
        self.model, self.label, self.about_axes, system = model, label, about_axes, model.system
        self.coordinates, self.muscles = system.coordinate_names, model.muscle_names
        self.angles = {name: system.bodies[i].name for name, (i, _) in system.angle_names.items()}
        plain = (body for body in system.bodies if body.joint.facts.quaternion is None)
        self.arm_names = {*system.angle_names, *(name for body in plain for name in body.names_of_coordinates)}
        self.dependent = model.driven
        self.bodies = system.body_names
        self.masses = {}
        for body in system.bodies:
            parts = {"mass": body.mass, "centre": body.center_of_mass, "inertia": full(np.array(body.inertia))}
            self.masses |= {(quantity, body.name): np.array([x]) for quantity, x in parts.items()}

    def at(
        self, values: Mapping[str, Array], coordinates: Collection[str], arms: Collection[str], activation: float
    ) -> Quantities:
        """As for every side; poses are brought onto the constraints, and all quantities are NaN where that fails."""
        q = np.atleast_2d(self.model.pose(values))
        if constraints_of(self.model):
            q = assemble(self.model, q, strict=False)
        assembled = np.isfinite(q).all(axis=-1)
        found = self._quantities(q[assembled], coordinates, arms, activation)
        for key, known in found.items():
            found[key] = np.full((len(q), *known.shape[1:]), np.nan)
            found[key][assembled] = known
        return found | self.masses

    def _quantities(
        self, q: Array, coordinates: Collection[str], arms: Collection[str], activation: float
    ) -> Quantities:
        model, system, poses = self.model, self.model.system, self.model.system.poses(q)
        columns: Any = np.zeros((len(q), len(model.muscles), len(arms)))
        if arms:
            follows = bool(model.constraints)
            columns = moment_arms(model, q, arms, follow_constraints=follows, about_axes=self.about_axes)
        lengths = path_lengths(model, q)
        columns = np.asarray(columns).reshape(*lengths.shape, len(arms))
        found = {("value", name): system.coordinate(name, q) for name in coordinates}
        of_muscles = {"length": lengths, "moment arm": columns, "force": self._tensions(q, activation)}
        found |= by_name(self.muscles, of_muscles)
        for body in system.bodies:
            R, p = poses[body.name]
            found[CENTER, body.name] = np.broadcast_to(p + matvec(R, np.array(body.center_of_mass)), (len(q), 3))
        return found

    def _tensions(self, q: Array, activation: float) -> Array:
        found = np.full((len(q), len(self.model.muscles)), np.nan)
        driven = [k for k, muscle in enumerate(self.model.muscles) if muscle.law is not None]
        if driven:
            model = replace(self.model, muscles=tuple(self.model.muscles[k] for k in driven), groups=(), inputs=())
            found[:, driven] = tensions_at_rest(model, q, np.full((len(q), len(driven)), activation))
        return found


SAME, SPELLING, MAPPED = "same name", "same letters and digits", "mapped"


@frozen
class Match:
    """A name of A and the one of B that is compared with it.

    first   name in A
    second  name in B
    rule    how the pair was found: "same name", "same letters and digits" (upper and lower case and separators are
            ignored), or "mapped" by the caller

    >>> from myoquat.analysis.comparison import Match
    >>> Match("knee_r", "Knee R", "same letters and digits").second
    'Knee R'
    """

    first: str
    second: str
    rule: str


@frozen
class Matching:
    """The pairs of names, and those of A and of B that are left over.

    >>> from myoquat.analysis.comparison import Match, Matching
    >>> Matching((Match("soleus_r", "soleus_r", "same name"),), only_first=("tibpost_r",)).names
    {'soleus_r': 'soleus_r'}
    """

    pairs: tuple[Match, ...] = ()
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = field(default=())

    @property
    def names(self) -> dict[str, str]:
        """Names of B by those of A."""
        return {pair.first: pair.second for pair in self.pairs}


def match_names(
    what: str, first: Sequence[str], second: Sequence[str], mapping: Mapping[str, str] | None = None
) -> Matching:
    """Pair names: as `mapping` says, then equal ones, then those that agree in letters and digits and are unambiguous.

    ValueError for a mapping of names that do not exist, or of two names of A to one of B.
    """
    mapping = mapping or {}
    for side, mapped, known in (("A", list(mapping), first), ("B", list(mapping.values()), second)):
        indices_of(f"name among the {what} of {side}:", mapped, known)
    if twice := [name for name, count in Counter(mapping.values()).items() if count > 1]:
        raise ValueError(f"{what}: two names are mapped to {twice[0]!r}")
    rules = {name: (other, MAPPED) for name, other in mapping.items()}
    for rule, key in ((SAME, str), (SPELLING, _letters)):
        taken = {other for other, _ in rules.values()}
        left = _grouped(key, (name for name in first if name not in rules))
        right = _grouped(key, (name for name in second if name not in taken))
        pairs = ((names, right.get(one, [])) for one, names in left.items() if one)
        rules |= {names[0]: (others[0], rule) for names, others in pairs if len(names) == len(others) == 1}
    matches = tuple(Match(name, *rules[name]) for name in first if name in rules)
    partners = {match.second for match in matches}
    rest = (name for name in first if name not in rules), (name for name in second if name not in partners)
    return Matching(matches, *map(tuple, rest))


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _grouped(key: Callable[[str], str], names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(key(name), []).append(name)
    return found


# ---- Models as MuJoCo and OpenSim read them ----------------------------------------------------------------------

HINGE_NAMES = {2: "position", 3: "angle"}  # of joints without a name, by MuJoCo's type
FREE, EQUALITY_OF_JOINTS, ON_TENDON, MUSCLE_DYNAMICS = 0, 2, 3, 4  # MuJoCo's numbers
MAX_CONSTRAINT_ERROR = 1e-9  # [m, rad] of a pose in OpenSim that is not assembled again
SPRING, FRICTION, NO_SOURCE = -1, -2, -3  # forces of a tendon beside its actuators, which have numbers from 0


class MujocoSide(Side):
    """A compiled model of MuJoCo. Coordinates without names are called as this package calls them."""

    offsets: Mapping[str, float] = MappingProxyType({})  # [m] that this package adds to lengths of fixed tendons

    library = "mujoco"

    def __init__(self, module: Any, path: Path) -> None:
        engine = module.MjModel.from_xml_path(str(path))
        self.label = f"{path.name} in MuJoCo {module.__version__}"
        self.module, self.engine, self._data = module, engine, module.MjData(engine)
        self.coordinates, self.muscles = tuple(self._entries), tuple(self._drives)
        self.arm_names = self._entries.keys() & self._dofs.keys()
        self.dependent, self.bodies, R = set(self._couplers), self._body_names[1:], rotation_matrix(engine.body_iquat)
        inertias = (R * engine.body_inertia[:, None]) @ R.mT
        masses = {"mass": engine.body_mass, "centre": engine.body_ipos, "inertia": inertias}
        self.masses = by_name(self.bodies, {quantity: x[None, 1:].copy() for quantity, x in masses.items()})

    @cached_property
    def _body_names(self) -> tuple[str, ...]:
        """Names of all bodies, the world first; those without one are numbered as this package does."""
        names = [self.engine.body(k).name for k in range(self.engine.nbody)]
        unnamed = itertools.count(1)
        return tuple(name or f"body_{next(unnamed)}" for name in names)

    @property
    def _entries(self) -> dict[str, int]:
        """Where each coordinate is in qpos, by name."""
        return self._addresses[0]

    @property
    def _dofs(self) -> dict[str, int]:
        """Where hinges and slides, and the angular velocities of quaternion joints, are in qvel: names of columns of
        moment arms."""
        return self._addresses[1]

    @cached_property
    def _addresses(self) -> tuple[dict[str, int], dict[str, int]]:
        engine, entries, dofs = self.engine, dict[str, int](), dict[str, int]()
        for joint in range(engine.njnt):
            joint_type, at, dof = (int(x[joint]) for x in (engine.jnt_type, engine.jnt_qposadr, engine.jnt_dofadr))
            body = engine.body(int(engine.jnt_bodyid[joint]))
            owner = self._body_names[int(body.id)]
            if joint_type in HINGE_NAMES:
                before = joint - int(body.jntadr[0])
                unnamed = f"{owner}.{HINGE_NAMES[joint_type]}{before + 1 if before else ''}"
                name = engine.joint(joint).name or unnamed
                entries[name], dofs[name] = at, dof
                continue
            slides = 3 if joint_type == FREE else 0
            names = [*"xyz"[:slides], *(f"Q{k}" for k in range(4))]
            entries |= {f"{owner}.{name}": at + k for k, name in enumerate(names)}
            dofs |= {f"{owner}.torque_{axis} [child]": dof + slides + k for k, axis in enumerate("xyz")}
        return entries, dofs

    @cached_property
    def _couplers(self) -> dict[str, tuple[str, np.polynomial.Polynomial]]:
        """The coordinates that equality constraints drive: the independent one, and the polynomial of its value."""
        engine, found = self.engine, dict[str, tuple[str, np.polynomial.Polynomial]]()
        names = {at: name for name, at in self._entries.items()}
        for k in np.flatnonzero((engine.eq_type == EQUALITY_OF_JOINTS) & (engine.eq_active0 == 1)):
            first, second = int(engine.eq_obj1id[k]), int(engine.eq_obj2id[k])
            if second < 0:
                continue
            a, b = int(engine.jnt_qposadr[first]), int(engine.jnt_qposadr[second])
            shifted = np.polynomial.Polynomial(engine.eq_data[k, :5])(np.polynomial.Polynomial([-engine.qpos0[b], 1.0]))
            found[names[a]] = names[b], shifted + float(engine.qpos0[a])
        return found

    @cached_property
    def _drives(self) -> dict[str, tuple[int, int]]:
        """Each muscle by name: the index of its tendon, and its actuator or another source of force.

        A muscle has the tendon's name. Further actuators of the tendon, its spring and its friction follow with _2, _3
        and so on, as this package reads them.
        """
        engine = self.engine
        found = dict[str, tuple[int, int]]()
        for tendon in range(engine.ntendon):
            on = np.flatnonzero((engine.actuator_trntype == ON_TENDON) & (engine.actuator_trnid[:, 0] == tendon))
            name = engine.tendon(tendon).name or f"tendon_{tendon + 1}"
            spring = engine.tendon_stiffness[tendon] or engine.tendon_damping[tendon]
            passive = [SPRING] * bool(spring) + [FRICTION] * bool(engine.tendon_frictionloss[tendon])
            first, *more = [*map(int, on), *passive] or [NO_SOURCE]
            found[name] = tendon, first
            found |= {f"{name}_{k}": (tendon, source) for k, source in enumerate(more, start=2)}
        return found

    def at(
        self, values: Mapping[str, Array], coordinates: Collection[str], arms: Collection[str], activation: float
    ) -> Quantities:
        """As for every side. What equality constraints of joints drive follows; others are left as they are."""
        q = self._poses(values)
        found = [self._values(pose, activation) for pose in q]
        lengths, J, forces, centers = (np.array(part) for part in zip(*found, strict=True))
        tendons, shape = [tendon for tendon, _ in self._drives.values()], (len(q), len(self.muscles))
        offsets = np.array([self.offsets.get(name, 0.0) for name in self.muscles])
        columns, tensions = np.zeros((*shape, len(arms))), np.zeros(shape)
        for k, name in enumerate(arms):
            columns[..., k] = -self._column(J, q, name)[:, tendons]
        for k, drive in enumerate(self._drives.values()):
            tensions[:, k] = self._tension(forces, lengths, *drive)
        of_muscles = {"length": lengths[:, tendons] + offsets, "moment arm": columns, "force": tensions}
        known = {("value", name): q[:, self._entries[name]] for name in coordinates}
        return known | by_name(self.muscles, of_muscles) | by_name(self.bodies, {CENTER: centers}) | self.masses

    def _poses(self, values: Mapping[str, Array]) -> Array:
        rows, engine = np.broadcast_arrays(np.zeros(1), *values.values())[1:], self.engine
        q = np.tile(engine.key_qpos[0] if engine.nkey else engine.qpos0, (len(rows[0]) if rows else 1, 1))
        for name, row in zip(values, rows, strict=True):
            q[:, self._entries[name]] = row
        try:  # each coupler after the one that moves its driver
            order = list(TopologicalSorter({k: [driver] for k, (driver, _) in self._couplers.items()}).static_order())
        except CycleError as error:
            raise ValueError(f"{self.label}: equality constraints drive {min(error.args[1])!r} in a circle") from None
        for name in (name for name in order if name in self._couplers):
            driver, function = self._couplers[name]
            q[:, self._entries[name]] = function(q[:, self._entries[driver]])
        return q

    def _values(self, pose: Array, activation: float) -> tuple[Array, Array, Array, Array]:
        """Lengths, their Jacobian, forces of actuators, and mass centres."""
        engine, data, module = self.engine, self._data, self.module
        low, high = engine.actuator_ctrlrange.T
        controls = np.where(engine.actuator_ctrllimited, low + activation * (high - low), activation)
        data.qpos[:], data.qvel[:], data.ctrl[:] = pose, 0.0, controls
        for actuator in np.flatnonzero(engine.actuator_actadr >= 0):
            muscle = int(engine.actuator_dyntype[actuator]) == MUSCLE_DYNAMICS
            data.act[engine.actuator_actadr[actuator]] = activation if muscle else controls[actuator]
        for stage in (module.mj_fwdPosition, module.mj_fwdVelocity, module.mj_fwdActuation):
            stage(engine, data)
        J = np.zeros((engine.ntendon, engine.nv))
        for row, at, count in zip(J, engine.ten_J_rowadr, engine.ten_J_rownnz, strict=True):
            row[engine.ten_J_colind[at : at + count]] = data.ten_J[at : at + count]
        return data.ten_length.copy(), J, data.actuator_force.copy(), data.xipos[1:].copy()

    def _column(self, J: Array, q: Array, name: str) -> Array:
        """(n, tendons) dl/dx of a coordinate with what it drives, or a component of those of a quaternion joint."""
        found = J[..., self._dofs[name]]
        for other, (driver, function) in self._couplers.items():
            if driver == name:
                found = found + function.deriv()(q[:, self._entries[name]])[:, None] * self._column(J, q, other)
        return np.asarray(found)

    def _tension(self, force: Array, lengths: Array, tendon: int, source: int) -> Array:
        """(n,) at rest that of an actuator or a spring, and 0 of friction or nothing."""
        engine = self.engine
        if source >= 0:
            return np.asarray(-engine.actuator_gear[source, 0] * force[:, source])
        if source != SPRING:
            return np.zeros(len(force))
        stiffness, (low, high) = float(engine.tendon_stiffness[tendon]), engine.tendon_lengthspring[tendon]
        length = lengths[:, tendon]
        return np.asarray(stiffness * (np.maximum(length - high, 0.0) - np.maximum(low - length, 0.0)))


class OpensimSide(Side):
    """A model in OpenSim."""

    library = "opensim"

    def __init__(self, module: Any, path: Path) -> None:
        module.Logger.setLevelString("Off")
        engine = module.Model(str(path))
        self.label = f"{path.name} in OpenSim {module.GetVersion()}"
        self.module, self.engine, self._state = module, engine, engine.initSystem()
        self._coordinates, self._bodies = _named(engine.getCoordinateSet()), _named(engine.getBodySet())
        for coordinate in self._coordinates.values():
            coordinate.setLocked(self._state, False)
        forces = engine.getForceSet()
        actuators = [module.PathActuator.safeDownCast(forces.get(k)) for k in range(forces.getSize())]
        self._muscles = {actuator.getName(): actuator for actuator in actuators if actuator is not None}
        self.coordinates = self.arm_names = tuple(self._coordinates)
        self.muscles, self.bodies, self.masses = tuple(self._muscles), tuple(self._bodies), {}
        self.dependent = {name for name, found in self._coordinates.items() if found.isDependent(self._state)}
        for name, body in self._bodies.items():
            moments, products = (
                _three(part()) for part in (body.getInertia().getMoments, body.getInertia().getProducts)
            )
            parts = {
                "mass": body.getMass(),
                "centre": _three(body.getMassCenter()),
                "inertia": full(np.array([*moments, *products])),
            }
            self.masses |= {(quantity, name): np.array([x]) for quantity, x in parts.items()}

    def at(
        self, values: Mapping[str, Array], coordinates: Collection[str], arms: Collection[str], activation: float
    ) -> Quantities:
        """As for every side; a muscle that OpenSim cannot bring into equilibrium has the tension NaN."""
        state, muscles = self._state, self._muscles.values()
        rows = np.broadcast_arrays(np.zeros(1), *values.values())[1:]
        about = [self._coordinates[name] for name in arms]
        found: list[list[Any]] = []
        for k in range(len(rows[0]) if rows else 1):
            self._pose({name: float(row[k]) for name, row in zip(values, rows, strict=True)})
            found.append(
                [
                    [self._coordinates[name].getValue(state) for name in coordinates],
                    [muscle.getLength(state) for muscle in muscles],
                    [[muscle.computeMomentArm(state, axis) for axis in about] for muscle in muscles],
                    [_three(x.findStationLocationInGround(state, x.getMassCenter())) for x in self._bodies.values()],
                    [self._tension(muscle, activation) for muscle in muscles],
                ]
            )
        known, lengths, columns, centers, tensions = (np.array(part) for part in zip(*found, strict=True))
        of_muscles = {"length": lengths, "moment arm": columns, "force": tensions}
        return (
            by_name(coordinates, {"value": known})
            | by_name(self.muscles, of_muscles)
            | by_name(self.bodies, {CENTER: centers})
            | self.masses
        )

    def drawn_path(self, muscle: str, values: Mapping[str, float]) -> tuple[float, list[tuple[Array, bool]]] | None:
        """As for every side, from a GeometryPath."""
        state, actuator = self._state, self._muscles[muscle]
        path = self.module.GeometryPath.safeDownCast(actuator.getPath())
        if path is None:
            return None
        self._pose(values)
        points = path.getCurrentPath(state)
        found = []
        for point in (points.get(k) for k in range(points.getSize())):
            wrapped = self.module.PathWrapPoint.safeDownCast(point)
            over = wrapped is not None and wrapped.getWrapPath(state).getSize() > 0
            found.append((_three(point.getLocationInGround(state)), over))
        return actuator.getLength(state), found

    def _pose(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._coordinates[name].setValue(self._state, value, False)
        self.engine.realizePosition(self._state)
        errors = self._state.getQErr()
        if any(abs(errors.get(k)) > MAX_CONSTRAINT_ERROR for k in range(errors.size())):  # assembling moves others too
            self.engine.assemble(self._state)
            self.engine.realizePosition(self._state)

    def _tension(self, actuator: Any, activation: float) -> float:
        muscle = self.module.Muscle.safeDownCast(actuator)
        if muscle is None:
            return float(actuator.getOptimalForce()) * activation
        try:
            self._activate(muscle, activation)
            muscle.computeEquilibrium(self._state)
            self.engine.realizeDynamics(self._state)
            return float(muscle.getActuation(self._state))
        except RuntimeError:
            return float("nan")

    def _activate(self, muscle: Any, activation: float) -> None:
        """Set the activation, which is a state or, of a muscle without activation dynamics, its control."""
        muscle.setActivation(self._state, activation)
        self.engine.realizeVelocity(self._state)
        if muscle.getActivation(self._state) != activation:
            controls = self.engine.updControls(self._state)
            muscle.setControls(self.module.Vector(1, activation), controls)
            self.engine.setControls(self._state, controls)


def _named(found: Any) -> dict[str, Any]:
    return {found.get(k).getName(): found.get(k) for k in range(found.getSize())}


def _three(vector: Any) -> Array:
    return np.array([vector.get(k) for k in range(3)])
