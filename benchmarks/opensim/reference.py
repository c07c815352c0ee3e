"""OpenSim on one model file, in a process of its own, for `benchmarks.opensim.osim`: values at given states, and times.

    python reference.py MODEL STATES.npz RESULTS.npz

STATES holds q, u, udot (n, coordinates) in the order of the coordinates, and `timed`, the number of poses to time. If
muscles are asked for, it holds activation and stretch (n, muscles), the tendon's length over its slack one.
"""

import sys
import time
from typing import Any

import numpy as np
import opensim


def main(file: str, states: str, results: str) -> None:
    """Read, compute, write."""
    opensim.Logger.setLevelString("Off")
    with np.load(states) as given:
        given = dict(given)
    q, u, udot = given["q"], given["u"], given["udot"]
    paths, bodies = Kinematics(file), Dynamics(file)
    found: dict[str, Any] = {"names": paths.names, "bodies": [body.getName() for body in paths.bodies]}
    found["muscles"] = [muscle.getName() for muscle in paths.muscles]
    found["wraps"] = [muscle.getGeometryPath().getWrapSet().getSize() for muscle in paths.muscles]
    found |= paths.values(q)
    found |= bodies.values(q[:20], u[:20], udot[:20])
    if "activation" in given:
        found |= Muscles(file).values(q, u, given["activation"], given["stretch"])
        found |= paths.times(q[: int(given["timed"])])
    np.savez(results, **{name: np.array(value) for name, value in found.items()})


TURNING = ("BallJoint", "FreeJoint", "EllipsoidJoint", "ScapulothoracicJoint")  # speeds are angular velocities


class _Loaded:
    """A model, its state, and its coordinates."""

    def __init__(self, file: str, forces: bool) -> None:
        self.model = opensim.Model(file)
        if not forces:
            for component in self.model.getComponentsList():  # some stand in no set
                if opensim.Force.safeDownCast(component) is not None:
                    opensim.Force.safeDownCast(component).set_appliesForce(False)
        self.state = self.model.initSystem()
        coordinates = self.model.getCoordinateSet()
        self.coordinates = [coordinates.get(i) for i in range(coordinates.getSize())]
        self.names = [c.getName() for c in self.coordinates]
        for coordinate in self.coordinates:
            coordinate.setLocked(self.state, False)
        joints = [c.getJoint().getConcreteClassName() for c in self.coordinates]
        self.plain = np.array([joint not in TURNING for joint in joints])  # speeds are rates
        self.order = [self._place(c) for c in self.coordinates]

    def _place(self, coordinate: Any) -> int:
        """Where a coordinate's speed lies among Simbody's."""
        for other in self.coordinates:
            other.setSpeedValue(self.state, 0.0)
        coordinate.setSpeedValue(self.state, 1.0)
        place = int(np.argmax(np.abs(self.state.getU().to_numpy())))
        coordinate.setSpeedValue(self.state, 0.0)
        return place

    def pose(self, q: np.ndarray) -> None:
        for coordinate, value in zip(self.coordinates, q.tolist(), strict=True):
            coordinate.setValue(self.state, value, False)
        self.model.realizePosition(self.state)


class Kinematics(_Loaded):
    """Lengths, moment arms and poses of bodies."""

    def __init__(self, file: str) -> None:
        super().__init__(file, forces=True)
        muscles, bodies = self.model.getMuscles(), self.model.getBodySet()
        self.muscles = [muscles.get(i) for i in range(muscles.getSize())]
        self.bodies = [bodies.get(i) for i in range(bodies.getSize())]
        self.model.realizePosition(self.state)
        jacobian = opensim.Matrix()
        self.model.getMatterSubsystem().calcSystemJacobian(self.state, jacobian)
        self.count = jacobian.nrow() // 6  # of Simbody's bodies, the ground among them

    def values(self, q: np.ndarray) -> dict[str, Any]:
        found: dict[str, list[Any]] = {"lengths": [], "arms": [], "poses": []}
        for pose in q:
            self.pose(pose)
            found["lengths"].append([muscle.getLength(self.state) for muscle in self.muscles])
            found["arms"].append(self._unit_tensions())
            found["poses"].append([self._transform(body) for body in self.bodies])
        return found

    def differences(self, q: np.ndarray, h: float) -> np.ndarray:
        """(n, muscles, coordinates) -dl/dq of the lengths by central differences of order 4."""
        result = np.empty((len(q), len(self.muscles), len(self.coordinates)))
        for pose, rows in zip(q, result, strict=True):
            for k in range(len(self.coordinates)):
                ends = [pose + step * h * np.eye(len(pose))[k] for step in (-2, -1, 1, 2)]
                a, b, c, d = (np.array(self._lengths_at(end)) for end in ends)
                rows[:, k] = -(a - 8 * b + 8 * c - d) / (12 * h)
        return result

    def _lengths_at(self, q: np.ndarray) -> list[float]:
        self.pose(q)
        return self._lengths()

    def times(self, q: np.ndarray) -> dict[str, float]:
        """Seconds per pose: lengths; all moment arms by computeMomentArm, and by unit tensions."""
        routes = {"lengths": self._lengths, "moment_arms": self._moment_arms, "unit_tensions": self._unit_tensions}
        taken = {}
        for name, route in routes.items():
            begin = time.perf_counter()
            for pose in q:
                self.pose(pose)
                route()
            taken[f"seconds_{name}"] = (time.perf_counter() - begin) / len(q)
        return taken

    def _lengths(self) -> list[float]:
        return [muscle.getLength(self.state) for muscle in self.muscles]

    def _moment_arms(self) -> list[list[float]]:
        return [[m.computeMomentArm(self.state, c) for c in self.coordinates] for m in self.muscles]

    def _unit_tensions(self) -> list[np.ndarray]:
        """J^T of a unit tension of each muscle, in the order of Simbody's speeds."""
        matter, rows = self.model.getMatterSubsystem(), []
        bodies, speeds = self.count, self.state.getNU()
        for muscle in self.muscles:
            forces = opensim.VectorOfSpatialVec(bodies, opensim.SpatialVec(opensim.Vec3(0), opensim.Vec3(0)))
            mobility, total = opensim.Vector(speeds, 0.0), opensim.Vector()
            muscle.getGeometryPath().addInEquivalentForces(self.state, 1.0, forces, mobility)
            matter.multiplyBySystemJacobianTranspose(self.state, forces, total)
            rows.append(total.to_numpy() + mobility.to_numpy())
        return rows

    def _transform(self, body: Any) -> list[float]:
        transform = body.getTransformInGround(self.state)
        R, p = transform.R().asMat33(), transform.p()
        return [R.get(i, j) for i in range(3) for j in range(3)] + [p.get(i) for i in range(3)]


class Muscles(_Loaded):
    """Tendon forces and fiber speeds of muscles at given activations and, where tendons are elastic, their lengths."""

    def __init__(self, file: str) -> None:
        super().__init__(file, forces=True)
        muscles = self.model.getMuscles()
        self.muscles = [muscles.get(i) for i in range(muscles.getSize())]
        names = self.model.getStateVariableNames()
        self.states = {names.get(i) for i in range(names.getSize())}

    def values(self, q: np.ndarray, u: np.ndarray, activation: np.ndarray, stretch: np.ndarray) -> dict[str, Any]:
        rows = [self._row(*given) for given in zip(q, u, activation, stretch, strict=True)]
        length, speed, fiber, force, rate = np.moveaxis(np.array(rows), -1, 0)
        names = ("muscle_length", "muscle_speed", "muscle_fiber", "muscle_force", "muscle_rate")
        return dict(zip(names, (length, speed, fiber, force, rate), strict=True))

    def _row(self, q: np.ndarray, u: np.ndarray, activation: np.ndarray, stretch: np.ndarray) -> list[list[float]]:
        self.state = self.model.initializeState()  # a fresh one: a changed state variable leaves some caches stale
        for coordinate in self.coordinates:
            coordinate.setLocked(self.state, False)
        self.pose(q)
        for coordinate, value in zip(self.coordinates, u.tolist(), strict=True):
            coordinate.setSpeedValue(self.state, value)
        fibers = [self._fiber(muscle, s) for muscle, s in zip(self.muscles, stretch.tolist(), strict=True)]
        for muscle, a, fiber in zip(self.muscles, activation.tolist(), fibers, strict=True):
            for name, value in (("activation", a), ("fiber_length", fiber)):
                path = f"{muscle.getAbsolutePathString()}/{name}"
                if path in self.states:
                    self.model.setStateVariableValue(self.state, path, value)
        self.model.realizeDynamics(self.state)
        state = self.state
        return [
            [
                m.getLength(state),
                m.getLengtheningSpeed(state),
                fiber,
                m.getTendonForce(state),
                m.getFiberVelocity(state),
            ]
            for m, fiber in zip(self.muscles, fibers, strict=True)
        ]

    def _fiber(self, muscle: Any, stretch: float) -> float:
        """The fiber length that leaves the tendon its length; at least half the optimal one."""
        optimal = muscle.getOptimalFiberLength()
        along = max(muscle.getLength(self.state) - stretch * muscle.getTendonSlackLength(), 0.0)
        return max(np.hypot(along, optimal * np.sin(muscle.getPennationAngleAtOptimalFiberLength())), 0.5 * optimal)


class Dynamics(_Loaded):
    """Mass matrix and inverse dynamics with gravity alone; ball and free joints, whose speeds are no rates of their
    coordinates, at rest."""

    def __init__(self, file: str) -> None:
        super().__init__(file, forces=False)

    def values(self, q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> dict[str, Any]:
        found: dict[str, list[Any]] = {"mass": [], "inverse": []}
        solver, matter = opensim.InverseDynamicsSolver(self.model), self.model.getMatterSubsystem()
        for pose, speeds, rates in zip(q, u * self.plain, udot * self.plain, strict=True):
            self.pose(pose)
            for coordinate, value in zip(self.coordinates, speeds.tolist(), strict=True):
                coordinate.setSpeedValue(self.state, value)
            self.model.realizeDynamics(self.state)
            M = opensim.Matrix()
            matter.calcM(self.state, M)
            found["mass"].append(M.to_numpy()[np.ix_(self.order, self.order)])
            wanted = opensim.Vector(self.state.getNU(), 0.0)
            for place, rate in zip(self.order, rates.tolist(), strict=True):
                wanted.set(place, rate)
            found["inverse"].append(solver.solve(self.state, wanted).to_numpy()[self.order])
        return found | {"order": self.order, "plain": self.plain}


if __name__ == "__main__":
    main(*sys.argv[1:])
