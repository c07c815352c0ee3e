"""The values at one instant: the arguments of goals, constraints and equations of one's own.

Charts of the pose: minimal coordinates of rotations, one rotation vector for each quaternion.

A chart has nu coordinates z. Coordinates of joints without a quaternion are themselves, z = q. A quaternion is Q =
Q_ref exp(z), or exp(z) Q_ref where the model's velocities are in the parent's frame. By construction |Q| = 1. The chart
is regular for |z| < 2 pi.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from myoquat.core import Array, frozen, scipy
from myoquat.data.motions import Motion
from myoquat.joints.multibody.state import integrate
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_vector_rate
from myoquat.joints.types import Joint, SphericalJoint
from myoquat.joints.vectors import joined, matvec


def _empty() -> Any:
    """A field of a record that is an array (0,) by default."""
    return field(default_factory=lambda: np.zeros(0))


def field_of(name: str, fields: Mapping[str, Collection[str]]) -> tuple[str, str]:
    """The field ("coordinates", "controls" ...) that a name is in, and the name; ("", name) for one that is in none.
    'controls.NAME' means the one of this field. ValueError, with these spellings, for a name in several fields.

    >>> from myoquat.analysis.control.points import field_of
    >>> field_of("controls.knee", {"coordinates": ["knee"], "controls": ["knee"]})
    ('controls', 'knee')
    """
    first, _, bare = name.partition(".")
    if bare in fields.get(first, ()):
        return first, bare
    found = [field for field, names in fields.items() if name in names]
    if len(found) > 1:
        spelled = " or ".join(repr(f"{field}.{name}") for field in found)
        raise ValueError(f"{name!r} is a name in {' and in '.join(found)}: write {spelled}")
    return found[0] if found else "", name


@dataclass(eq=False)
class StateSpace:
    """The names of velocities, states, controls and parameters, and the chart of the pose of a system; without a system
    there is no pose. Formulas on arrays with leading batch axes, floats or symbols."""

    system: ArticulatedSystem | None = None
    velocity_names: tuple[str, ...] = ()
    state_names: tuple[str, ...] = ()
    control_names: tuple[str, ...] = ()
    parameter_names: tuple[str, ...] = ()

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The names of each field; coordinates include angles that a quaternion has replaced."""
        system = self.system
        return {
            "coordinates": () if system is None else (*system.coordinate_names, *system.angle_names),
            "velocities": self.velocity_names,
            "states": self.state_names,
            "controls": self.control_names,
            "parameters": self.parameter_names,
        }

    def centres(self, q: Array) -> Array:
        """(..., nq) the centres of charts about poses q: their quaternions, and zeros for plain coordinates. The chart
        coordinates z of a pose are its displacement from there."""
        found = np.zeros_like(q)
        if self.system is not None:
            balls = self.system.quaternion_indices
            found[..., balls] = q[..., balls]
        return found

    def displacement(self, q0: Array, q1: Array) -> Array:
        """(..., nu) from the pose q0 to q1: q1 - q0 of plain coordinates, the shortest rotation vector of each
        quaternion."""
        return self._each(q0, q1, "difference")

    def displaced(self, q: Array, theta: Array) -> Array:
        """(..., nq) the pose to which the displacement theta (..., nu) leads from q (..., nq)."""
        return self._each(q, theta, "integrate")

    def displacement_rate(self, theta: Array, q: Array, u: Array) -> Array:
        """(..., nu) rate of the displacement theta (..., nu) from a fixed pose to q, at the velocities u (..., nu)."""
        parts = []
        for joint, flat, ball, iq, iu in self._joints():
            own = u[..., iu]
            if flat:
                parts.append(matvec(joint.rate_matrix(q[..., iq])[..., :flat, :], own))
            if ball is not None:
                parts.append(rotation_vector_rate(theta[..., iu][..., flat:], own[..., flat:], ball.in_child))
        return joined(parts) if parts else u

    def moved(self, q: Array, motion: Array) -> Array:
        """(..., nq) q after unit time at constant velocities `motion` (..., nu)."""
        return q if self.system is None else integrate(self.system, q, motion)

    def _each(self, q: Array, other: Array, turn: Literal["integrate", "difference"]) -> Array:
        """The sum or difference of the plain coordinates of every joint, and a rotation vector added to its quaternion,
        or that between two of them."""
        forward, parts = turn == "integrate", []
        for _, flat, ball, iq, iu in self._joints():
            a, b = q[..., iq], other[..., iu if forward else iq]
            parts.append(a[..., :flat] + b[..., :flat] if forward else b[..., :flat] - a[..., :flat])
            if ball is not None:
                parts.append(getattr(ball, turn)(a[..., flat:], b[..., flat:]))
        return joined(parts) if parts else q[..., :0]

    def _joints(self) -> Iterator[tuple[Joint, int, SphericalJoint | None, slice, slice]]:
        """Every joint that moves, with the number of plain coordinates, the ball behind them, slices of q and of u."""
        for joint, iq, iu in () if self.system is None else self.system.joints():
            if iu.stop == iu.start:
                continue
            flat = joint.facts.quaternion
            if flat is None and joint.nq != joint.nu:
                raise ValueError(f"a {joint.kind} joint has no chart: {joint.nq} coordinates, {joint.nu} velocities")
            frame = getattr(joint, "velocity_frame", "child")
            ball = None if flat is None else SphericalJoint(velocity_frame=frame)
            yield joint, joint.nu if flat is None else flat, ball, iq, iu


@frozen
class Point:
    """An instant of a motion: numbers or symbols with the same leading axes (...).

    t            (...) [s] the time
    q            (..., nq) the pose
    u, udot      (..., nu) velocities and their rates
    states       (..., nw) further states
    rates        (..., nw) of the states
    controls     (..., nc)
    multipliers  (..., nk) of constraints
    parameters   (np,) the unknown ones

    point["name"] is a coordinate, an angle that a quaternion has replaced, a velocity, a state, a control or a
    parameter by its name; of two with one name 'coordinates.NAME' or 'controls.NAME'. The rate of a state is
    point.rate("name"). At the ends of a motion rates are empty.

    >>> import numpy as np
    >>> from myoquat.analysis.control.points import Point, StateSpace
    >>> space = StateSpace(None, (), ("x", "v"), ("force",))
    >>> point = Point(space, np.array(0.5), states=np.array([1.0, 2.0]), controls=np.array([3.0]))
    >>> float(point["v"]), float(point["force"])
    (2.0, 3.0)
    """

    space: StateSpace
    t: Array
    q: Array = _empty()
    u: Array = _empty()
    udot: Array = _empty()
    states: Array = _empty()
    rates: Array = _empty()
    controls: Array = _empty()
    loads: Array = _empty()
    multipliers: Array = _empty()
    prescribed: Array = _empty()
    parameters: Array = _empty()

    @property
    def system(self) -> ArticulatedSystem:
        """The bodies; ValueError for equations of one's own."""
        if self.space.system is None:
            raise ValueError("a problem of equations of one's own has no bodies")
        return self.space.system

    def __getitem__(self, name: str) -> Array:
        known = self.space.names
        field, bare = field_of(name, known)
        if field == "coordinates":
            return self.system.coordinate(bare, self.q)
        if field:
            values = {"velocities": self.u, "states": self.states, "controls": self.controls,
                      "parameters": self.parameters}  # fmt: skip
            return values[field][..., known[field].index(bare)]
        every = ", ".join(name for names in known.values() for name in names)
        raise KeyError(f"{name!r} is no coordinate, velocity, state, control or parameter; known: {every}")

    def rate(self, name: str) -> Array:
        """(...) the rate of a velocity or state by its name; KeyError for a name that is neither."""
        for known, values in ((self.space.velocity_names, self.udot), (self.space.state_names, self.rates)):
            if name in known:
                return values[..., known.index(name)]
        raise KeyError(f"{name!r} is no velocity and no state")


SPLINE_DEGREE = 5
TIME_TOLERANCE_S = 1e-9  # [s] by which rounded times of a file may end too early


def interpolated_rows(time: Array, values: Array, at: Array, derivative: int = 0) -> Array:
    """(k, n) rows (t, n) over time at other times, by the interpolating spline of degree 5, or less for fewer rows.

    ValueError for times that the rows do not cover.
    """
    if not len(time) or at[0] < time[0] - TIME_TOLERANCE_S or at[-1] > time[-1] + TIME_TOLERANCE_S:
        span = f"{time[0]:g} to {time[-1]:g} s" if len(time) else "nothing"
        raise ValueError(f"the data cover {span}; they are wanted from {at[0]:g} to {at[-1]:g} s")
    degree = min(SPLINE_DEGREE, len(time) - 1)
    if degree < 1:
        return np.repeat(values if derivative == 0 else 0.0 * values, len(at), axis=0)
    if degree % 2 == 0:
        degree -= 1
    spline = scipy.interpolate.make_interp_spline(time, values, k=degree)
    return spline(np.clip(at, time[0], time[-1]), derivative)


def interpolated_pose(motion: Motion, at: Array) -> Array:
    """(k, nq) poses of a motion at other times; quaternions are normalized splines of their components."""
    q = interpolated_rows(motion.time, motion.q, at)
    for s in motion.system.quaternion_slices():
        q[:, s] /= np.linalg.norm(q[:, s], axis=1, keepdims=True)
    return q


def interpolated_velocity(motion: Motion, at: Array) -> Array:
    """(k, nu) velocities of a motion at other times: its u, or the derivative of its poses."""
    if motion.u is not None:
        return interpolated_rows(motion.time, motion.u, at)
    rate = interpolated_rows(motion.time, motion.q, at, 1)
    return motion.system.velocities(interpolated_pose(motion, at), rate)
