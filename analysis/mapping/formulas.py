"""The formulas that the mapping analysis compares, on one pose, for kernels."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from myoquat.core import Array, frozen, indices_of
from myoquat.joints import ModelError
from myoquat.joints.conversion.balls import ball_joint_obstacle, followed, in_angles
from myoquat.joints.conversion.convert import with_rotations
from myoquat.joints.maps import (
    constrained_to_spatial,
    quaternion_radial,
    quaternion_tangent,
    quaternion_to_spatial,
    spatial_to_constrained,
    spatial_to_quaternion,
)
from myoquat.joints.rates import condition_constrained
from myoquat.joints.sequences import condition_euler, euler_rate_inverse, euler_rate_matrix, quaternion_from_euler
from myoquat.joints.types import Angles, Joint
from myoquat.joints.types.angles import inverse_rate_matrix
from myoquat.joints.types.follower import angles_of
from myoquat.joints.vectors import matvec, vecmat
from myoquat.muscle import Model

__all__ = [
    "EXTENSIONS",
    "ROWS",
    "Ball",
    "Pair",
    "Quantities",
    "Reading",
    "Row",
    "conditions",
    "power_errors",
    "row_errors",
    "split_errors",
]


@frozen
class Reading:
    """Three angles phi (..., 3) [rad] of a ball joint, omega = B(phi) phidot in child-frame components.

    label         of the angles in titles
    quaternion    (..., 4) Q of phi
    rate_matrix   (..., 3, 3) B
    rate_inverse  (..., 3, 3) B^-1
    condition     (...) condition number of B, or a bound of it that is at most three times as large
    beside_lock   (..., 3) angles with the second one [rad] away from its lock, inside the interval of the first
                  solution, of that distance, the first and the last rotation
    angles        the coordinates that the model's file has for the joint, about axes of its own; None for an Euler
                  sequence
    """

    label: str
    quaternion: Callable[[Array], Array]
    rate_matrix: Callable[[Array], Array]
    rate_inverse: Callable[[Array], Array]
    condition: Callable[[Array], Array]
    beside_lock: Callable[[Array, Array | float, Array | float], Array]
    angles: Angles | None = None

    def outer(self, rng: np.random.Generator) -> tuple[float, float]:
        """First and last rotation [rad] of a random pose beside the lock, inside the ranges of the coordinates, if
        there are any: outside, the other triple of the rotation is read."""
        if self.angles is not None and self.angles.ranges:
            first, _, last = self.angles.rotations(rng.uniform(*np.array(self.angles.ranges).T))
        else:
            first, last = rng.uniform(-np.pi, np.pi, 2)
        return first, last

    def to_spatial(self, J_phi: Array, phi: Array) -> Array:
        """(..., 3) J = J_phi B^-1."""
        return vecmat(J_phi, self.rate_inverse(phi))

    def from_spatial(self, J: Array, phi: Array) -> Array:
        """(..., 3) J_phi = J B."""
        return vecmat(J, self.rate_matrix(phi))

    def rates(self, omega: Array, phi: Array) -> Array:
        """(..., 3) phidot = B^-1 omega."""
        return matvec(self.rate_inverse(phi), omega)


def _of_sequence(sequence: str) -> Reading:
    def beside_lock(distance: Array, first: Array | float, last: Array | float) -> Array:
        middle = distance if sequence[0] == sequence[2] else np.pi / 2 - distance
        return np.stack(np.broadcast_arrays(first, middle, last), axis=-1)

    def of(formula: Callable[..., Array]) -> Callable[[Array], Array]:
        return partial(formula, sequence=sequence)

    B, inverse, condition = of(euler_rate_matrix), of(euler_rate_inverse), of(condition_euler)
    return Reading(sequence, of(quaternion_from_euler), B, inverse, condition, beside_lock)


def _of_angles(angles: Angles) -> Reading:
    def beside_lock(distance: Array, first: Array | float, last: Array | float) -> Array:
        f = np.stack(np.broadcast_arrays(first, angles.beside_lock(distance), last), axis=-1)
        return angles.coordinates(f)

    def condition(phi: Array) -> Array:  # |B| |B^-1| by Frobenius norms
        squares = [np.sum(A * A, axis=(-2, -1)) for A in (angles.rate_matrix(phi), inverse(phi))]
        return np.sqrt(squares[0] * squares[1])

    inverse = partial(inverse_rate_matrix, angles)
    label = f"({', '.join(angles.names)})"
    return Reading(label, angles.quaternion, angles.rate_matrix, inverse, condition, beside_lock, angles)


MIN_NAMED_VELOCITIES, MAX_NAMED_REASONS = 2, 5  # of joints that are no ball joints, in the message
EXTENSIONS = ("polynomial", "normalized", "homogeneous")


@frozen
class Row:
    """One comparison: what is mapped, what it is compared with, and what bounds its error."""

    key: str
    title: str
    target: str  # the quantity that the result is; its largest entry of each muscle is the scale
    condition: str  # the condition number that the error may grow with: "1", "E", "B", "E+B" or "E*B"
    studied: bool = False  # a row of the muscle Jacobian study's mapping_analysis
    holds: bool = True
    tolerance: float = 1e-13

    @property
    def unit(self) -> str:
        """Of the target and the errors."""
        return "N m" if self.target == "torque" else "m"


ROWS = (
    Row("phi_Q", "J_phi from J_Q", "J_phi", "B", studied=True),
    Row("J_Q_phi", "J from J_Q against J from J_phi", "J", "B", studied=True),
    Row("Q_phi", "J_Q back from J_phi", "J_Q", "B", studied=True, holds=False),
    Row("torque_Q_phi", "torque from that 'wrong' J_Q", "torque", "B", studied=True),
    Row("phi_star", "J_phi from J*_Q", "J_phi", "E+B", studied=True),
    Row("J_star_phi", "J from J*_Q against J from J_phi", "J", "E+B", studied=True),
    Row("star_phi", "J*_Q back from J_phi", "J*_Q", "E*B", studied=True),
    Row("J_Q", "J from J_Q", "J", "1"),
    Row("J_star", "J from J*_Q", "J", "E"),
    Row("J_phi", "J from J_phi", "J", "B"),
    Row("tangent", "tangent part of J_Q from J", "J_Q", "1"),
    Row("normalized", "J_Q of l(Q/|Q|) back from J_phi", "J_Q", "B"),
    Row("J_largest", "J from J*_Q, largest eliminated", "J", "1", tolerance=1e-12),
    Row("largest_J", "J*_Q from J, largest eliminated", "J*_Q", "1", tolerance=1e-12),
)


@frozen
class Ball:
    """One ball joint: its place in the lists of joints and in q, phi, u and Q*, and the convention of its angles.

    body        its name
    number      among the balls
    quaternion  number among all quaternions, those of floating joints included
    reading     the convention of its angles
    """

    body: str
    number: int
    quaternion: int
    q: slice
    phi: slice
    u: slice
    star: slice
    reading: Reading


@frozen
class Pair:
    """The model with quaternions and the same model in angles: those of the file that a joint comes from, else those of
    its Euler sequence."""

    quaternion: Model
    euler: Model

    @classmethod
    def of(cls, model: Model) -> "Pair":
        """From a model in either description. Raises ModelError if it has no ball joint or no muscle."""
        quaternion = model.with_rotations("quaternion")
        pair = cls(quaternion, _in_angles(quaternion))
        if not pair.balls:
            raise ModelError(
                f"the mapping analysis needs a model with a ball joint; {_why_none(model)}", file=model.file
            )
        if not model.muscles:
            raise ModelError("the mapping analysis needs a model with muscles", file=model.file)
        return pair

    @cached_property
    def balls(self) -> tuple[Ball, ...]:
        """The ball joints, in order."""
        found: list[Ball] = []
        a, b = self.quaternion.system, self.euler.system
        star = quaternion = 0
        for i, body in enumerate(a.bodies):
            turns = body.joint.facts.quaternion is not None
            width = body.joint.nq - turns
            joint = b.bodies[i].joint
            if body.joint.facts.quaternion == 0:
                place = slice(star, star + width)
                slices = (a.q_slices[i], b.q_slices[i], a.u_slices[i], place)
                found.append(Ball(body.name, len(found), quaternion, *slices, _reading(body.joint, joint)))
            star, quaternion = star + width, quaternion + turns
        return tuple(found)

    @cached_property
    def others(self) -> tuple[slice, ...]:
        """Where the velocities of all other joints stand in u; the two models share them."""
        balls = [ball.u for ball in self.balls]
        return tuple(s for s in self.quaternion.system.u_slices if s not in balls)

    def extended(self, extension: str) -> Model:
        """The quaternion model with R(Q) continued off the unit sphere in another way; the same one at every call."""
        if extension not in self._extended:
            self._extended[extension] = self._with_extension(extension)
        return self._extended[extension]

    @cached_property
    def _extended(self) -> dict[str, Model]:
        return {}

    def _with_extension(self, extension: str) -> Model:
        system = with_rotations(self.quaternion.system, "quaternion")
        bodies = tuple(
            replace(body, joint=replace(body.joint, extension=extension))  # type: ignore[type-var]
            if body.joint.facts.quaternion == 0
            else body
            for body in system.bodies
        )
        return replace(self.quaternion, system=replace(system, bodies=followed(bodies)), file=None)


def _reading(ball: Joint, joint: Any) -> Reading:
    return _of_sequence(joint.sequence) if joint.by_sequence else _of_angles(angles_of(ball))


def _in_angles(model: Model) -> Model:
    """The quaternion model in the angles of its file, and ball joints without any in their Euler sequences."""
    balls = [body.joint.named for body in model.system.bodies if body.joint.facts.quaternion == 0]
    names = [name for angles in balls if angles is not None for name in angles.names]
    system = with_rotations(in_angles(model.system, names), "sequence")
    known = {*system.coordinate_names, *system.angle_names}
    kept = tuple(coordinate for coordinate in model.coordinates if coordinate.name in known)
    return replace(model, system=system, start_q=None, start_u=None, file=None, coordinates=kept)


def _why_none(model: Model) -> str:
    """Why a model has no ball joint, joint by joint, as far as these turn about more than one axis."""
    reasons = [
        f"body {body.name!r}: {ball_joint_obstacle(body)}"
        for body in model.system.bodies
        if body.joint.nu >= MIN_NAMED_VELOCITIES and ball_joint_obstacle(body) is not None
    ]
    reason = "; ".join(reasons[:MAX_NAMED_REASONS]) or "no joint of this one turns about three axes"
    return f"none of its joints can be one: {reason}" if reasons else reason


def muscle_number(model: Model, name: str | None) -> int:
    """The number of a muscle by its name; without one that of the second muscle, as in the study, or the only one."""
    return min(1, len(model.muscles) - 1) if name is None else indices_of("muscle", [name], model.muscle_names)[0]


# The quantities of poses by name, floats or symbols. States are q (..., nq), phi (..., nphi) and u (..., nu). The
# index of the largest component of each of the n quaternions is k (..., n). Tensions are F (..., m). The Jacobians
# (..., m, n) are J, J_Q, J_star, J_phi, J_largest, J_normalized and J_homogeneous, each differentiated on its own.
Quantities: TypeAlias = Mapping[str, Array]


def conditions(pair: Pair, x: Quantities) -> Array:
    """(..., balls, 2) condition numbers of E (Q0 eliminated) and of B at poses, from q and phi."""
    both = [
        np.stack([condition_constrained(x["q"][..., b.q], 0), b.reading.condition(x["phi"][..., b.phi])], axis=-1)
        for b in pair.balls
    ]
    return np.stack(both, axis=-2)


def row_errors(pair: Pair, x: Quantities) -> tuple[Array, ...]:
    """Every row's error, (..., balls, m, 3 or 4) each, in the order of ROWS, from q, phi, k, F and the Jacobians."""
    joints = [_ball_errors(ball, x) for ball in pair.balls]
    return tuple(np.stack([joint[row.key] for joint in joints], axis=-3) for row in ROWS)


def _ball_errors(ball: Ball, x: Quantities) -> dict[str, Array]:
    """The rows of one ball joint, (..., m, 3 or 4) each; states have an axis for the muscles."""
    reading, Q, phi = ball.reading, x["q"][..., None, ball.q], x["phi"][..., None, ball.phi]
    k, F = x["k"][..., None, ball.quaternion], x["F"][..., None]
    J, J_Q, J_norm = x["J"][..., ball.u], x["J_Q"][..., ball.q], x["J_normalized"][..., ball.q]
    J_star, J_largest = x["J_star"][..., ball.star], x["J_largest"][..., ball.star]
    J_phi = x["J_phi"][..., ball.phi]
    from_Q = quaternion_to_spatial(J_Q, Q)
    from_star = constrained_to_spatial(J_star, Q, 0)
    from_phi = reading.to_spatial(J_phi, phi)
    back = spatial_to_quaternion(from_phi, Q)
    return {
        "phi_Q": reading.from_spatial(from_Q, phi) - J_phi,
        "J_Q_phi": from_Q - from_phi,
        "Q_phi": back - J_Q,
        "torque_Q_phi": (quaternion_to_spatial(J_Q, Q) - quaternion_to_spatial(back, Q)) * F,
        "phi_star": reading.from_spatial(from_star, phi) - J_phi,
        "J_star_phi": from_star - from_phi,
        "star_phi": spatial_to_constrained(from_phi, Q, 0) - J_star,
        "J_Q": from_Q - J,
        "J_star": from_star - J,
        "J_phi": from_phi - J,
        "tangent": spatial_to_quaternion(J, Q) - quaternion_tangent(J_Q, Q),
        "normalized": back - J_norm,
        "J_largest": constrained_to_spatial(J_largest, Q, k) - J,
        "largest_J": spatial_to_constrained(J, Q, k) - J_largest,
    }


def radial_parts(pair: Pair, x: Quantities) -> tuple[Array, ...]:
    """For each extension of R(Q): the radial part J_Q Q (..., balls, m)."""
    both = [[_radial(b, x, key) for b in pair.balls] for key in ("J_Q", "J_normalized", "J_homogeneous")]
    return tuple(np.stack(parts, axis=-2) for parts in both)


def _radial(ball: Ball, x: Quantities, key: str) -> Array:
    """(..., m)."""
    return quaternion_radial(x[key][..., ball.q], x["q"][..., None, ball.q])


def split_errors(pair: Pair, x: Quantities) -> tuple[Array, ...]:
    """For each extension of R(Q): what of J_Q (..., balls, m, 4) is neither radial nor 2 J G: nothing, if right."""
    results = []
    for key in ("J_Q", "J_normalized", "J_homogeneous"):
        rest = []
        for b in pair.balls:
            Q = x["q"][..., None, b.q]
            tangent = spatial_to_quaternion(x["J"][..., b.u], Q)
            rest.append(x[key][..., b.q] - tangent - _radial(b, x, key)[..., None] * Q)
        results.append(np.stack(rest, axis=-3))
    return tuple(results)


def power_errors(pair: Pair, x: Quantities) -> tuple[Array, ...]:
    """tau . omega - (-F l') per muscle (..., m), l' = J u, for three torques.

    They are those through J_Q, through J*_Q and on the Euler angles. Joints without a quaternion have theirs through J.
    """
    u, F = x["u"], x["F"]
    power = -F * matvec(x["J"], u)
    rest = np.zeros_like(power)
    for s in pair.others:
        rest = rest + np.sum(x["J"][..., s] * u[..., None, s], axis=-1)
    totals = [rest, rest, rest]
    for b in pair.balls:
        Q, omega = x["q"][..., None, b.q], u[..., None, b.u]
        rates = b.reading.rates(u[..., b.u], x["phi"][..., b.phi])
        totals[0] = totals[0] + np.sum(quaternion_to_spatial(x["J_Q"][..., b.q], Q) * omega, axis=-1)
        totals[1] = totals[1] + np.sum(constrained_to_spatial(x["J_star"][..., b.star], Q, 0) * omega, axis=-1)
        totals[2] = totals[2] + np.sum(x["J_phi"][..., b.phi] * rates[..., None, :], axis=-1)
    return tuple(-F * total - power for total in totals)
