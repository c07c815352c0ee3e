"""Models as MuJoCo and OpenSim read them, as sides of a comparison."""

import itertools
from collections.abc import Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any

import numpy as np

from myoquat.core import Array
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import matvec

from .sides import CENTER, BodyMass, Quantities, Request, Side, by_name

HINGE_NAMES = {2: "position", 3: "angle"}  # of joints without a name, by MuJoCo's type
FREE, EQUALITY_OF_JOINTS, ON_TENDON, MUSCLE_DYNAMICS = 0, 2, 3, 4  # MuJoCo's numbers
MAX_CONSTRAINT_ERROR = 1e-9  # [m, rad] of a pose in OpenSim that is not assembled again
SPRING, FRICTION, NO_SOURCE = -1, -2, -3  # forces of a tendon beside its actuators, which have numbers from 0


class MujocoSide(Side):
    """A compiled model of MuJoCo. Coordinates without names are called as this package calls them."""

    offsets: Mapping[str, float] = MappingProxyType({})  # [m] that this package adds to lengths of fixed tendons

    def __init__(self, module: Any, engine: Any, label: str) -> None:
        self.module, self.engine, self.label, self._data = module, engine, label, module.MjData(engine)
        self.coordinates, self.muscles = tuple(self._addresses), tuple(self._drives)
        self.arm_names = {name for name, (_, dof) in self._addresses.items() if dof >= 0}
        self.dependent, self.bodies = set(self._couplers), {}
        for k, name in enumerate(self._body_names[1:], start=1):
            body = engine.body(k)
            R = np.asarray(rotation_matrix(body.iquat))
            self.bodies[name] = BodyMass(float(body.mass[0]), body.ipos.copy(), R @ np.diag(body.inertia) @ R.T)

    @cached_property
    def _body_names(self) -> tuple[str, ...]:
        """Names of all bodies, the world first; those without one are numbered as this package does."""
        names = [self.engine.body(k).name for k in range(self.engine.nbody)]
        unnamed = itertools.count(1)
        return tuple(name or f"body_{next(unnamed)}" for name in names)

    @cached_property
    def _addresses(self) -> dict[str, tuple[int, int]]:
        """Of every coordinate by name its addresses in qpos and, for hinges and slides, in qvel; else -1."""
        engine, found = self.engine, dict[str, tuple[int, int]]()
        for joint in range(engine.njnt):
            joint_type, at = int(engine.jnt_type[joint]), int(engine.jnt_qposadr[joint])
            body = engine.body(int(engine.jnt_bodyid[joint]))
            owner = self._body_names[int(body.id)]
            if joint_type in HINGE_NAMES:
                before = joint - int(body.jntadr[0])
                unnamed = f"{owner}.{HINGE_NAMES[joint_type]}{before + 1 if before else ''}"
                found[engine.joint(joint).name or unnamed] = at, int(engine.jnt_dofadr[joint])
                continue
            names = [f"{owner}.{axis}" for axis in "xyz"] if joint_type == FREE else []
            names += [f"{owner}.Q{k}" for k in range(4)]
            found |= {name: (at + k, -1) for k, name in enumerate(names)}
        return found

    @cached_property
    def _couplers(self) -> dict[str, tuple[str, np.polynomial.Polynomial]]:
        """The coordinates that equality constraints drive: the independent one, and the polynomial of its value."""
        engine, found = self.engine, dict[str, tuple[str, np.polynomial.Polynomial]]()
        names = {at: name for name, (at, _) in self._addresses.items()}
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

    def at(self, request: Request) -> Quantities:
        """As for every side. What equality constraints of joints drive follows; others are left as they are."""
        q = self._poses(request.values)
        found = [self._values(pose, request.activation) for pose in q]
        lengths, J, forces, centers = (np.array(part) for part in zip(*found, strict=True))
        tendons, shape = [tendon for tendon, _ in self._drives.values()], (len(q), len(self.muscles))
        offsets = np.array([self.offsets.get(name, 0.0) for name in self.muscles])
        arms, tensions = np.zeros((*shape, len(request.arms))), np.zeros(shape)
        for k, name in enumerate(request.arms):
            arms[..., k] = -self._column(J, q, name)[:, tendons]
        for k, drive in enumerate(self._drives.values()):
            tensions[:, k] = self._tension(forces, lengths, *drive)
        of_muscles = {"length": lengths[:, tendons] + offsets, "moment arm": arms, "force": tensions}
        values = {("value", name): q[:, self._addresses[name][0]] for name in request.coordinates}
        return values | by_name(self.muscles, of_muscles) | by_name(self.bodies, {CENTER: centers})

    def _poses(self, values: Mapping[str, Array]) -> Array:
        rows, engine = np.broadcast_arrays(np.zeros(1), *values.values())[1:], self.engine
        q = np.tile(engine.key_qpos[0] if engine.nkey else engine.qpos0, (len(rows[0]) if rows else 1, 1))
        for name, row in zip(values, rows, strict=True):
            q[:, self._addresses[name][0]] = row
        try:  # each coupler after the one that moves its driver
            order = list(TopologicalSorter({k: [driver] for k, (driver, _) in self._couplers.items()}).static_order())
        except CycleError as error:
            raise ValueError(f"{self.label}: equality constraints drive {min(error.args[1])!r} in a circle") from None
        for name in (name for name in order if name in self._couplers):
            driver, function = self._couplers[name]
            q[:, self._addresses[name][0]] = function(q[:, self._addresses[driver][0]])
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
        if name in self._addresses:
            found = J[..., self._addresses[name][1]]
            for other, (driver, function) in self._couplers.items():
                if driver == name:
                    slope = function.deriv()(q[:, self._addresses[name][0]])
                    found = found + slope[:, None] * self._column(J, q, other)
            return np.asarray(found)
        body, _, component = name.partition(" ")[0].rpartition(".")
        joint = int(self.engine.body_jntadr[self._body_names.index(body)])
        dof, axis = int(self.engine.jnt_dofadr[joint]), "xyz".index(component[-1])
        free = int(self.engine.jnt_type[joint]) == FREE
        if component.startswith("torque"):
            return np.asarray(J[..., dof + (3 if free else 0) + axis])
        at = int(self.engine.jnt_qposadr[joint])
        R = np.asarray(rotation_matrix(q[:, at + 3 : at + 7])).swapaxes(-1, -2)[:, None]
        return np.asarray(matvec(R, J[..., dof : dof + 3])[..., axis])

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

    def __init__(self, module: Any, engine: Any, label: str) -> None:
        self.module, self.engine, self.label, self._state = module, engine, label, engine.initSystem()
        self._coordinates, self._bodies = _named(engine.getCoordinateSet()), _named(engine.getBodySet())
        for coordinate in self._coordinates.values():
            coordinate.setLocked(self._state, False)
        forces = engine.getForceSet()
        actuators = [module.PathActuator.safeDownCast(forces.get(k)) for k in range(forces.getSize())]
        self._muscles = {actuator.getName(): actuator for actuator in actuators if actuator is not None}
        self.coordinates = self.arm_names = tuple(self._coordinates)
        self.muscles, self.bodies = tuple(self._muscles), {}
        self.dependent = {name for name, found in self._coordinates.items() if found.isDependent(self._state)}
        for name, body in self._bodies.items():
            inertia, center = body.getInertia(), _three(body.getMassCenter())
            (xx, yy, zz), (xy, xz, yz) = _three(inertia.getMoments()), _three(inertia.getProducts())
            self.bodies[name] = BodyMass(body.getMass(), center, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

    def at(self, request: Request) -> Quantities:
        """As for every side; a muscle that OpenSim cannot bring into equilibrium has the tension NaN."""
        values, state, muscles = request.values, self._state, self._muscles.values()
        rows = np.broadcast_arrays(np.zeros(1), *values.values())[1:]
        arms = [self._coordinates[name] for name in request.arms]
        found: list[list[Any]] = []
        for k in range(len(rows[0]) if rows else 1):
            self._pose({name: float(row[k]) for name, row in zip(values, rows, strict=True)})
            found.append(
                [
                    [self._coordinates[name].getValue(state) for name in request.coordinates],
                    [muscle.getLength(state) for muscle in muscles],
                    [[muscle.computeMomentArm(state, arm) for arm in arms] for muscle in muscles],
                    [_three(x.findStationLocationInGround(state, x.getMassCenter())) for x in self._bodies.values()],
                    [self._tension(muscle, request.activation) for muscle in muscles],
                ]
            )
        coordinates, lengths, columns, centers, tensions = (np.array(part) for part in zip(*found, strict=True))
        of_muscles = {"length": lengths, "moment arm": columns, "force": tensions}
        return (
            by_name(request.coordinates, {"value": coordinates})
            | by_name(self.muscles, of_muscles)
            | by_name(self.bodies, {CENTER: centers})
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
