"""A file in OpenSim, which reads it itself."""

from collections.abc import Collection, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from myoquat.analysis.comparison.sides import BodyMass, Quantities, Request
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["OpensimSide"]


@dataclass(frozen=True)
class OpensimSide:
    """A model in OpenSim."""

    module: Any
    engine: Any
    label: str
    angles: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _state(self) -> Any:
        state = self.engine.initSystem()
        for coordinate in self._coordinates.values():
            coordinate.setLocked(state, False)
        return state

    @cached_property
    def _coordinates(self) -> dict[str, Any]:
        return _named(self.engine.getCoordinateSet())

    @cached_property
    def _muscles(self) -> dict[str, Any]:
        forces = self.engine.getForceSet()
        actuators = (self.module.PathActuator.safeDownCast(forces.get(k)) for k in range(forces.getSize()))
        return {actuator.getName(): actuator for actuator in actuators if actuator is not None}

    @cached_property
    def _bodies(self) -> dict[str, Any]:
        return _named(self.engine.getBodySet())

    @property
    def coordinates(self) -> tuple[str, ...]:
        """As for every side."""
        return tuple(self._coordinates)

    @property
    def arm_names(self) -> Collection[str]:
        """As for every side."""
        return self.coordinates

    @property
    def dependent(self) -> Collection[str]:
        """As for every side."""
        return {name for name, found in self._coordinates.items() if found.isDependent(self._state)}

    @property
    def muscles(self) -> tuple[str, ...]:
        """As for every side."""
        return tuple(self._muscles)

    @property
    def bodies(self) -> Mapping[str, BodyMass]:
        """As for every side."""
        found = {}
        for name, body in self._bodies.items():
            inertia, center = body.getInertia(), _three(body.getMassCenter())
            (xx, yy, zz), (xy, xz, yz) = _three(inertia.getMoments()), _three(inertia.getProducts())
            found[name] = BodyMass(body.getMass(), center, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        return found

    def at(self, request: Request) -> Quantities:
        """As for every side; a muscle that OpenSim cannot bring into equilibrium has the tension NaN."""
        values, state, muscles = request.values, self._state, self._muscles.values()
        rows = np.broadcast_arrays(*values.values()) if values else [np.zeros(1)]
        found: list[list[Any]] = []
        for k in range(len(rows[0])):
            self._pose({name: float(row[k]) for name, row in zip(values, rows, strict=False)})
            arms = [self._coordinates[name] for name in request.arms]
            found.append(
                [
                    [self._coordinates[name].getValue(state) for name in request.coordinates],
                    [muscle.getLength(state) for muscle in muscles],
                    [[muscle.computeMomentArm(state, arm) for muscle in muscles] for arm in arms],
                    [self._center(body) for body in self._bodies.values()],
                    [self._tension(muscle, request.activation) for muscle in muscles],
                ]
            )
        coordinates, lengths, columns, centers, tensions = (np.array(part) for part in zip(*found, strict=True))
        return Quantities(
            {name: coordinates[:, k] for k, name in enumerate(request.coordinates)},
            lengths,
            {name: columns[:, k] for k, name in enumerate(request.arms)},
            tensions,
            centers,
        )

    def _pose(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._coordinates[name].setValue(self._state, value, False)
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

    def _center(self, body: Any) -> Array:
        return _three(body.findStationLocationInGround(self._state, body.getMassCenter()))


def _named(found: Any) -> dict[str, Any]:
    return {found.get(k).getName(): found.get(k) for k in range(found.getSize())}


def _three(vector: Any) -> Array:
    return np.array([vector.get(k) for k in range(3)])
