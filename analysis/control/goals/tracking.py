"""Goals that follow recorded motions: poses with rotations by their angle, speeds, single coordinates, markers."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point, interpolated_pose, interpolated_rows, interpolated_velocity
from myoquat.analysis.motion import Sensor
from myoquat.analysis.motion.problem import rotation_vector
from myoquat.core import Array, ArrayLike, check_types, frozen, indices_of
from myoquat.data.motions import Markers, Motion, Orientations
from myoquat.data.motions.series import check_series, check_time
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import vector
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.loads import world_point
from myoquat.muscle.model import Model

from .base import IntegralGoal, WeightedGoal, check_weights


def _system(plant: Plant, title: str) -> ArticulatedSystem:
    if plant.system is None:
        raise ValueError(f"goal {title!r}: a motion of bodies needs a model, not equations of one's own")
    return plant.system


def _rows_of(system: ArticulatedSystem, name: str) -> Any:
    """The velocities of a body, a plain coordinate or a velocity."""
    if name in system.body_names:
        return system.u_slices[system.body_names.index(name)]
    if name not in system.coordinate_names:
        return indices_of("body, coordinate or velocity", [name], system.velocity_names)
    rows = system.indices.velocities_of_coordinate(name)
    if len(rows) != 1:
        raise ValueError(f"{name!r} is part of a quaternion; give the weight of its body instead")
    return rows


@frozen
class _FollowsMotion(WeightedGoal, IntegralGoal):
    """A goal with a motion of the model's system, and weights of its velocities."""

    motion: Motion

    def check(self, plant: Plant, timed: bool) -> None:
        check_types(motion=(self.motion, Motion))
        self.motion.check_system(_system(plant, self.title))
        check_weights(self.title, self.weights)
        super().check(plant, timed)

    def _factors(self, plant: Plant) -> tuple[float, ...]:
        """(nu,) a weight for each velocity; names are those of bodies and coordinates too."""
        system = self.motion.system
        found, counted = np.ones(system.nu), np.zeros(system.nu)
        for name, weight in self.weights.items():
            found[_rows_of(system, name)] = weight
        for name in self.of or ():
            counted[_rows_of(system, name)] = 1.0
        return tuple(map(float, found if self.of is None else found * counted))


@frozen
class TrackPose(_FollowsMotion):
    """The integral of sum_i w_i d_i^2, d the displacement from a recorded motion's pose.

    It has differences of coordinates [rad, m], and the rotation vector of each quaternion. A ball joint therefore
    counts by its angle squared [rad^2], and no lock exists.

    weights: w by names of bodies (all that their joints do), coordinates or velocities, 1 where a name is missing; `of`
    names those that count, all by default. Between its frames the motion is a spline of the fifth degree, of
    quaternions on the sphere.
    Raises ValueError for a motion of another system, and for times that it does not cover.

    >>> import myoquat as mq
    >>> from myoquat.analysis.control import TrackPose
    >>> from myoquat.data import Motion
    >>> model = mq.load_model("two_link")
    >>> TrackPose(Motion(model, [0.0, 1.0], [model.start] * 2), weights={"A": 2.0}, weight=10.0).weight
    10.0
    """

    def samples(self, plant: Plant, time: Array) -> Array:
        return interpolated_pose(self.motion, time)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        return self._summed(plant, plant.displacement(data, point.q) ** 2)


@frozen
class TrackSpeeds(_FollowsMotion):
    """The integral of sum_i w_i (u_i - u_ref_i)^2 over the velocities. u_ref is the motion's u. A motion without u has
    the derivative of the spline of its poses. `weights` and `of` as for `TrackPose`.

    >>> import myoquat as mq
    >>> from myoquat.analysis.control import TrackSpeeds
    >>> from myoquat.data import Motion
    >>> model = mq.load_model("two_link")
    >>> still = TrackSpeeds(Motion(model, [0.0, 1.0], [model.start] * 2), weight=0.1)
    """

    def samples(self, plant: Plant, time: Array) -> Array:
        return interpolated_velocity(self.motion, time)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        return self._summed(plant, (point.u - data) ** 2)


@frozen
class FollowsTable(WeightedGoal, IntegralGoal):
    """A goal with values (t, n) of the `names` at `time` (t,) [s], splines of the fifth degree between the
    rows. Weights are 1 where a name is missing."""

    _what = "weight"
    names: tuple[str, ...]
    time: ArrayLike
    values: ArrayLike

    def _names(self, plant: Plant) -> Sequence[str]:
        return self.names

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        check_series("values", self.values, (len(check_time(self.time)), len(self.names)))

    def content(self, plant: Plant) -> Hashable:
        return super().content(plant), self.names

    def samples(self, plant: Plant, time: Array) -> Array:
        return interpolated_rows(check_time(self.time), np.asarray(self.values, dtype=float), time)


@frozen
class TrackCoordinates(FollowsTable):
    """The integral of sum_i w_i (x_i - x_ref_i)^2 over quantities by name. They are coordinates, angles that a
    quaternion has replaced, velocities, states or controls, such as excitations beside recorded EMG.

    time (t,) [s], values (t, n) of the `names`; between the rows a spline of the fifth degree. weights: 1 where a name
    is missing. Raises ValueError for unknown names, other shapes, and times that the rows do not cover.

    >>> import numpy as np
    >>> from myoquat.analysis.control import TrackCoordinates
    >>> time = np.linspace(0.0, 1.0, 11)
    >>> TrackCoordinates(("elbow_flexion",), time, np.sin(time)[:, None]).names
    ('elbow_flexion',)
    """

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        angles = () if plant.system is None else (*plant.system.coordinate_names, *plant.system.angle_names)
        known = (*angles, *plant.velocity_names, *plant.state_names, *plant.control_names)
        indices_of("coordinate, velocity, state or control", self.names, known)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        return self._summed(plant, (vector([point[name] for name in self.names]) - data) ** 2)


def _shown(goal: WeightedGoal, recorded: Markers | Orientations, time: Array) -> list[Array]:
    """(t, n) of each marker or sensor at the times, by splines between the frames that show it; ValueError where none
    does at an end."""
    bridged, found = recorded.resampled(recorded.time, np.inf), []
    values = bridged.positions if isinstance(bridged, Markers) else bridged.quaternions
    for column, name in enumerate(bridged.names):
        seen = ~bridged.missing[:, column]
        try:
            found.append(interpolated_rows(bridged.time[seen], values[seen, column], time))
        except ValueError:
            raise ValueError(
                f"goal {goal.title!r}: the {goal._what} {name!r} is not seen at an end of the motion"
            ) from None
    return found


@frozen
class TrackMarkers(WeightedGoal, IntegralGoal):
    """The integral of sum_i w_i |p_i - p_ref_i|^2 [m^2] over recorded markers, by the names of the model's markers.

    Markers that the model does not have are left out. weights: 1 where a name is missing. Between the frames splines of
    the fifth degree go through the positions; gaps are bridged by straight lines. Raises ValueError for markers in
    other axes than the ground's, none in common, and times that they do not cover.

    >>> from myoquat.analysis.control import TrackMarkers
    >>> from myoquat.data import Markers
    >>> markers = Markers([0.0, 1.0], ("hand",), [[[0.0, 0.0, 1.0]], [[0.0, 0.1, 1.0]]])
    >>> TrackMarkers(markers, weights={"hand": 5.0}).title
    'TrackMarkers'
    """

    _what = "marker"
    _many = "markers"
    markers: Markers

    def _names(self, plant: Plant) -> Sequence[str]:
        return self.markers.names

    def _own(self, plant: Plant) -> dict[str, Marker]:
        """The markers of the model that were recorded."""
        model = getattr(plant, "model", None)
        own = model.markers if isinstance(model, Model) else ()
        return {m.name: m for m in own if m.name in self.markers.names}

    def check(self, plant: Plant, timed: bool) -> None:
        check_types(markers=(self.markers, Markers))
        super().check(plant, timed)
        if not self._own(plant):
            raise ValueError(f"goal {self.title!r}: the model has none of the markers {', '.join(self.markers.names)}")

    def content(self, plant: Plant) -> Hashable:
        return super().content(plant), tuple((n, m.body, tuple(m.position)) for n, m in self._own(plant).items())

    def samples(self, plant: Plant, time: Array) -> Array:
        return np.concatenate(_shown(self, self.markers.select(tuple(self._own(plant))), time), axis=1)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        poses, total = point.system.poses(point.q), np.zeros(())
        weights = dict(zip(self._names(plant), self._factors(plant), strict=True))
        for k, (name, marker) in enumerate(self._own(plant).items()):
            d = world_point(poses, marker.body, marker.position) - data[..., 3 * k : 3 * k + 3]
            total = total + weights[name] * np.sum(d * d, axis=-1)
        return total


@frozen
class TrackOrientations(WeightedGoal, IntegralGoal):
    """The integral of sum_i w_i angle_i^2 [rad^2] over recorded inertial sensors.

    Each angle is that between a sensor's orientation and the rotation of its mount.

    orientations  recorded `Orientations` in the axes of the ground. Between frames they are normalized splines of the
                  fifth degree of their components; gaps are bridged at a constant rate.
    sensors       where they are on the bodies, as `analysis.motion.calibrate_orientations` finds it
    weights       by name, 1 where a name is missing

    Raises ValueError for sensors that were not recorded, unknown bodies, and times that the recording does not cover.

    >>> from myoquat.analysis.control import TrackOrientations
    >>> from myoquat.analysis.motion import Sensor
    >>> from myoquat.data import Orientations
    >>> recorded = Orientations([0.0, 1.0], ("wrist",), [[[1.0, 0, 0, 0]], [[0.6, 0.8, 0, 0]]])
    >>> TrackOrientations(recorded, (Sensor("wrist", "hand", (1.0, 0.0, 0.0, 0.0)),)).title
    'TrackOrientations'
    """

    _what = "sensor"
    _many = "sensors"
    orientations: Orientations
    sensors: tuple[Sensor, ...]

    def check(self, plant: Plant, timed: bool) -> None:
        check_types(orientations=(self.orientations, Orientations), sensors=(self.sensors, tuple))
        super().check(plant, timed)
        system = _system(plant, self.title)
        indices_of("sensor", self._names(plant), self.orientations.names)
        indices_of("body", [sensor.body for sensor in self.sensors], (system.ground, *system.body_names))

    def _names(self, plant: Plant) -> Sequence[str]:
        return [sensor.name for sensor in self.sensors]

    def content(self, plant: Plant) -> Hashable:
        mounts = tuple((sensor.body, tuple(map(float, sensor.orientation))) for sensor in self.sensors)
        return super().content(plant), mounts

    def samples(self, plant: Plant, time: Array) -> Array:
        found = _shown(self, self.orientations.select(tuple(self._names(plant))), time)
        units = [Q / np.linalg.norm(Q, axis=1, keepdims=True) for Q in found]
        return np.concatenate([rotation_matrix(Q).reshape(len(time), 9) for Q in units], axis=1)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        poses, terms = point.system.poses(point.q), list[Array]()
        for k, sensor in enumerate(self.sensors):
            shown = data[..., 9 * k : 9 * k + 9]
            shown = shown.reshape((*shown.shape[:-1], 3, 3))
            R = poses[sensor.body][0] @ rotation_matrix(np.array(sensor.orientation))
            terms.append(np.sum(rotation_vector(np.swapaxes(shown, -1, -2) @ R) ** 2, axis=-1))
        return self._summed(plant, vector(terms))
