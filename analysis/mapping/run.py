"""The mapping analysis: every map between the four Jacobians, on random poses and beside singularities.

It compares a model in two descriptions by a table of formulas.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.analysis.recruitment.power import check_poses
from myoquat.core import Array, Bar, check_types, frozen, indices_of, pandas, progress_bar
from myoquat.data import load_model
from myoquat.joints import ModelError, convert_coordinates, normalize, with_branches
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
from myoquat.joints.quaternion import random_quaternions
from myoquat.joints.rates import CONDITION_LIMIT, condition_constrained
from myoquat.joints.sequences import condition_euler, euler_rate_inverse, euler_rate_matrix, quaternion_from_euler
from myoquat.joints.types import Angles
from myoquat.joints.types.angles import inverse_rate_matrix
from myoquat.joints.types.follower import angles_of
from myoquat.joints.vectors import matvec, vecmat, vector
from myoquat.muscle import CubicExponentialMuscle, Model, path_jacobian
from myoquat.muscle.argument_validation import eliminated_components
from myoquat.muscle.evaluate import tensions_at_rest

from .report import MappingReport, Record, Statistics, largest_entry

if TYPE_CHECKING:
    import pandas as pd


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


def _of_sequence(sequence: str) -> Reading:
    def beside_lock(distance: Array, first: Array | float, last: Array | float) -> Array:
        middle = distance if sequence[0] == sequence[2] else np.pi / 2 - distance
        return vector([first, middle, last])

    def of(formula: Callable[..., Array]) -> Callable[[Array], Array]:
        return partial(formula, sequence=sequence)

    B, inverse, condition = of(euler_rate_matrix), of(euler_rate_inverse), of(condition_euler)
    return Reading(sequence, of(quaternion_from_euler), B, inverse, condition, beside_lock)


def _of_angles(angles: Angles) -> Reading:
    def beside_lock(distance: Array, first: Array | float, last: Array | float) -> Array:
        f = vector([first, angles.beside_lock(distance), last])
        return angles.coordinates(f)

    def condition(phi: Array) -> Array:  # |B| |B^-1| by Frobenius norms
        squares = [np.sum(A * A, axis=(-2, -1)) for A in (angles.rate_matrix(phi), inverse(phi))]
        return np.sqrt(squares[0] * squares[1])

    inverse = partial(inverse_rate_matrix, angles)
    label = f"({', '.join(angles.names)})"
    return Reading(label, angles.quaternion, angles.rate_matrix, inverse, condition, beside_lock, angles)


MIN_NAMED_VELOCITIES, MAX_NAMED_REASONS = 2, 5  # of joints that are no ball joints, in the message


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
            joint: Any = b.bodies[i].joint
            if body.joint.facts.quaternion == 0:
                place = slice(star, star + width)
                reading = _of_sequence(joint.sequence) if joint.by_sequence else _of_angles(angles_of(body.joint))
                slices = (a.q_slices[i], b.q_slices[i], a.u_slices[i], place)
                found.append(Ball(body.name, len(found), quaternion, *slices, reading))
            star, quaternion = star + width, quaternion + turns
        return tuple(found)

    @cached_property
    def extended(self) -> dict[str, Model]:
        """The quaternion model with R(Q) continued off the unit sphere in other ways, by their names."""
        system, found = self.quaternion.system, {}
        for extension in ("normalized", "homogeneous"):
            bodies = tuple(
                replace(body, joint=replace(body.joint, extension=extension))  # type: ignore[type-var]
                if body.joint.facts.quaternion == 0
                else body
                for body in system.bodies
            )
            found[extension] = replace(self.quaternion, system=replace(system, bodies=followed(bodies)), file=None)
        return found


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


@dataclass
class Block:
    """A block of poses of a pair of models, and the quantities there by name.

    q           (n, nq) of the quaternion model
    u           (n, nu)
    activation  (m,)
    """

    pair: Pair
    q: Array
    u: Array
    activation: Array
    _known: dict[str, Array] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        """One of `QUANTITIES`, computed when it is first asked for. Poses are next to each other in memory, since sums
        over the short axes are many times as fast then."""
        if name not in self._known:
            self._known[name] = np.asfortranarray(QUANTITIES[name](self))
        return self._known[name]


# phi (n, nphi), the index of the largest component of each of the b quaternions k (n, b), the tensions F (n, m), and
# the Jacobians (n, m, columns), each differentiated on its own
QUANTITIES: dict[str, Callable[[Block], Array]] = {
    "phi": lambda x: convert_coordinates(x.pair.quaternion.system, x.pair.euler.system, x.q),
    "k": lambda x: eliminated_components(x.pair.quaternion.system, x.q, "largest"),
    "F": lambda x: tensions_at_rest(x.pair.quaternion, x.q, x.activation, x.u),
    "J": lambda x: path_jacobian(x.pair.quaternion, x.q, "velocity"),
    "J_Q": lambda x: path_jacobian(x.pair.quaternion, x.q, "quaternion"),
    "J_star": lambda x: path_jacobian(x.pair.quaternion, x.q, "constrained", eliminated=0),
    "J_phi": lambda x: path_jacobian(x.pair.euler, x["phi"], "coordinates"),
    "J_largest": lambda x: path_jacobian(x.pair.quaternion, x.q, "constrained", eliminated=x["k"]),
    "J_normalized": lambda x: path_jacobian(x.pair.extended["normalized"], x.q, "quaternion"),
    "J_homogeneous": lambda x: path_jacobian(x.pair.extended["homogeneous"], x.q, "quaternion"),
}
COLUMNS = {  # the slices of a ball joint in the Jacobians
    "J": "u", "J_Q": "q", "J_star": "star", "J_phi": "phi", "J_largest": "star", "J_normalized": "q",
    "J_homogeneous": "q",
}  # fmt: skip


class BallPoses:
    """A block of poses as one ball joint sees it. States have an axis for the muscles.

    Q (n, 1, 4), phi (n, 1, 3), omega (n, 1, 3), k (n, 1), F (n, m, 1)
    from_Q, from_star, from_phi (n, m, 3)  J mapped from J_Q, J*_Q and J_phi
    back (n, m, 4)                         J_Q mapped back from J_phi
    tangent (n, m, 4)                      2 J G
    """

    def __init__(self, block: Block, ball: Ball) -> None:
        self.block, self.ball, self._maps = block, ball, dict[str, Array]()
        self.Q, self.omega = np.asfortranarray(block.q)[:, None, ball.q], np.asfortranarray(block.u)[:, None, ball.u]

    def __getitem__(self, name: str) -> Array:
        """(n, m, 3 or 4) the columns of the joint in a Jacobian."""
        return self.block[name][..., getattr(self.ball, COLUMNS[name])]

    def map(self, name: str) -> Array:
        """(n, 1, r, k) one of `MAPS`, computed when it is first asked for."""
        if name not in self._maps:
            self._maps[name] = np.asfortranarray(MAPS[name](self))[:, None]
        return self._maps[name]

    def mapped(self, name: str, J: Array) -> Array:
        """(n, m, k) rows J (n, m, r) by one of `MAPS`."""
        return vecmat(J, self.map(name))

    @property
    def phi(self) -> Array:
        return self.block["phi"][:, None, self.ball.phi]

    @property
    def k(self) -> Array:
        return self.block["k"][:, None, self.ball.quaternion]

    @property
    def F(self) -> Array:
        return self.block["F"][..., None]

    @cached_property
    def from_Q(self) -> Array:
        return self.mapped("J from J_Q", self["J_Q"])

    @cached_property
    def from_star(self) -> Array:
        return self.mapped("J from J_star", self["J_star"])

    @cached_property
    def from_phi(self) -> Array:
        return self.mapped("J from J_phi", self["J_phi"])

    @cached_property
    def back(self) -> Array:
        return self.mapped("J_Q from J", self.from_phi)

    @cached_property
    def tangent(self) -> Array:
        return self.mapped("J_Q from J", self["J"])

    @property
    def conditions(self) -> dict[str, Array]:
        """(n,) condition numbers by the names that rows use: E is that of Q* (Q0 eliminated), B of the angles."""
        E, B = condition_constrained(self.Q[:, 0], 0), self.ball.reading.condition(self.phi[:, 0])
        return {"1": np.ones_like(E), "E": E, "B": B, "E+B": E + B, "E*B": E * B}

    def radial(self, name: str) -> Array:
        """(n, m) the radial part J_Q Q of a Jacobian by quaternions."""
        return quaternion_radial(self[name], self.Q)

    def unsplit(self, name: str) -> Array:
        """(n, m, 4) what of a Jacobian by quaternions is neither radial nor 2 J G: nothing, if right."""
        return self[name] - self.tangent - self.radial(name)[..., None] * self.Q

    def power(self, J: Array, rates: Array) -> Array:
        """(n, m, 1) the error of the power -F J omega by another Jacobian and the rates that belong to it."""
        return self.F * np.sum(self["J"] * self.omega - J * rates, axis=-1, keepdims=True)


# the matrices of maps between rows of Jacobians (n, 1, r, k), as `joints.maps` maps the unit rows
MAPS: dict[str, Callable[[BallPoses], Array]] = {
    "J from J_Q": lambda x: quaternion_to_spatial(np.eye(4), x.Q),
    "J_Q from J": lambda x: spatial_to_quaternion(np.eye(3), x.Q),
    "J from J_star": lambda x: constrained_to_spatial(np.eye(3), x.Q, 0),
    "J_star from J": lambda x: spatial_to_constrained(np.eye(3), x.Q, 0),
    "J from J_largest": lambda x: constrained_to_spatial(np.eye(3), x.Q, x.k),
    "J_largest from J": lambda x: spatial_to_constrained(np.eye(3), x.Q, x.k),
    "J_phi from J": lambda x: x.ball.reading.rate_matrix(x.phi[:, 0]),
    "J from J_phi": lambda x: x.ball.reading.rate_inverse(x.phi[:, 0]),
}


@frozen
class Row:
    """One comparison: what is mapped, what it is compared with, and what bounds its error.

    target     the quantity that the result is; its largest entry of each muscle is the scale
    condition  the condition number that the error may grow with: "1", "E", "B", "E+B" or "E*B"
    error      (n, m, w) at the poses of a ball joint
    studied    whether the muscle Jacobian study's mapping_analysis has it
    """

    title: str
    target: str
    condition: str
    error: Callable[[BallPoses], Array]
    studied: bool = False
    holds: bool = True
    tolerance: float = 1e-13

    @property
    def unit(self) -> str:
        """Of the target and the errors."""
        return {"torque": "N m", "power": "W"}.get(self.target, "m")


LARGEST = Row(
    "J from J*_Q, largest eliminated", "J", "1",
    lambda x: x.mapped("J from J_largest", x["J_largest"]) - x["J"], tolerance=1e-12,
)  # fmt: skip
ROWS = (
    Row("J_phi from J_Q", "J_phi", "B", lambda x: x.mapped("J_phi from J", x.from_Q) - x["J_phi"], studied=True),
    Row("J from J_Q against J from J_phi", "J", "B", lambda x: x.from_Q - x.from_phi, studied=True),
    Row("J_Q back from J_phi", "J_Q", "B", lambda x: x.back - x["J_Q"], studied=True, holds=False),
    Row("torque from that 'wrong' J_Q", "torque", "B",
        lambda x: (x.from_Q - x.mapped("J from J_Q", x.back)) * x.F, studied=True),
    Row("J_phi from J*_Q", "J_phi", "E+B",
        lambda x: x.mapped("J_phi from J", x.from_star) - x["J_phi"], studied=True),
    Row("J from J*_Q against J from J_phi", "J", "E+B", lambda x: x.from_star - x.from_phi, studied=True),
    Row("J*_Q back from J_phi", "J*_Q", "E*B",
        lambda x: x.mapped("J_star from J", x.from_phi) - x["J_star"], studied=True),
    Row("J from J_Q", "J", "1", lambda x: x.from_Q - x["J"]),
    Row("J from J*_Q", "J", "E", lambda x: x.from_star - x["J"]),
    Row("J from J_phi", "J", "B", lambda x: x.from_phi - x["J"]),
    Row("tangent part of J_Q from J", "J_Q", "1",
        lambda x: x.tangent - quaternion_tangent(x["J_Q"], x.Q)),
    Row("J_Q of l(Q/|Q|) back from J_phi", "J_Q", "B", lambda x: x.back - x["J_normalized"]),
    LARGEST,
    Row("J*_Q from J, largest eliminated", "J*_Q", "1",
        lambda x: x.mapped("J_largest from J", x["J"]) - x["J_largest"], tolerance=1e-12),
)  # fmt: skip
POWER = (  # tau . omega - (-F l'), over all ball joints; other joints have the same torques by every route
    Row("-G J_Q^T F / 2", "power", "1", lambda x: x.power(x.from_Q, x.omega), tolerance=1e-12),
    Row("-E^-T J*_Q^T F", "power", "E", lambda x: x.power(x.from_star, x.omega), tolerance=1e-12),
    Row("-J_phi^T F", "power", "B",
        lambda x: x.power(x["J_phi"], matvec(x.map("J from J_phi"), x.omega)), tolerance=1e-12),
)  # fmt: skip
EXTENSIONS = {"polynomial": "J_Q", "normalized": "J_normalized", "homogeneous": "J_homogeneous"}
SPLIT = tuple(
    Row(extension, "J_Q", "1", partial(BallPoses.unsplit, name=name)) for extension, name in EXTENSIONS.items()
)


# ---- The analysis ------------------------------------------------------------------------------------------------

DISTANCES = 10.0 ** -np.arange(0.0, 15.0, 0.5)  # angle to the lock [rad], or |Q0|


def approach(pair: Pair, seed: int = 0) -> "pd.DataFrame":
    """Errors against distance, on the way to the lock of the first ball joint and to Q0 = 0 of the same joint.

    The columns of the table:

    - approach: "gimbal lock" or "Q0 = 0"
    - distance: angle to the lock [rad], or |Q0|
    - condition number
    - largest entry of the Jacobian there
    - error of J from it, relative to J's largest entry
    - the error with the largest component eliminated, at the same pose

    NaN where the map refuses (condition number past 1e12). The other joints hold one random pose.

    >>> import myoquat as mq
    >>> from myoquat.analysis.mapping import approach
    >>> from myoquat.analysis.mapping.run import Pair
    >>> table = approach(Pair.of(mq.load_model("two_link")))
    >>> bool(table["error, largest eliminated"].max() < 1e-12)  # none where the largest component is eliminated
    True
    """
    check_types(pair=(pair, Pair))
    return pandas.DataFrame(approach_rows(pair, seed))


def approach_rows(pair: Pair, seed: int = 0) -> list[Record]:
    """The rows of `approach`, each a dictionary of its columns."""
    rng = np.random.default_rng([seed, 2])
    base, ball = pair.quaternion.system.random(1, rng)[0], pair.balls[0]

    def posed(Q: Array, pair: Pair = pair) -> BallPoses:
        q = np.tile(base, (len(Q), 1))
        q[:, ball.q] = Q
        return BallPoses(Block(pair, q, np.zeros((len(Q), pair.quaternion.system.nu)), np.zeros(0)), ball)

    def rows(name: str, distance: Array, condition: Array, jacobian: str, mapped: Array, x: BallPoses) -> list[Record]:
        J = x["J"]
        columns = {
            "distance": distance,
            "condition": condition,
            "largest entry": np.abs(x[jacobian]).max(axis=(1, 2)),
            "error": np.abs(mapped - J).max(axis=(1, 2)) / np.abs(J).max(),
            "error, largest eliminated": np.abs(LARGEST.error(x)).max(axis=(1, 2)) / np.abs(J).max(),
        }
        return [
            {"approach": name} | dict(zip(columns, row, strict=True))
            for row in np.stack([*columns.values()], -1).tolist()
        ]

    distance = DISTANCES[DISTANCES < 1.5]
    angles = ball.reading.beside_lock(distance, *ball.reading.outer(rng))
    # beside the lock both triples of a rotation may lie in the ranges: the quaternion model takes these
    model = pair.quaternion
    if getattr(model.system.bodies[model.system.body_names.index(ball.body)].joint, "angles", None) is not None:
        model = replace(model, system=with_branches(model.system, {ball.body: tuple(map(tuple, angles.tolist()))}))
    x = posed(ball.reading.quaternion(angles), replace(pair, quaternion=model))
    x.block["phi"][:, ball.phi] = angles  # the pose itself: an angle of 1e-14 read back from Q would be rounded
    condition = ball.reading.condition(angles)
    mapped, kept = np.full(x["J"].shape, np.nan), condition <= CONDITION_LIMIT
    mapped[kept] = vecmat(x["J_phi"][kept], ball.reading.rate_inverse(x.phi[kept]))
    found = rows("gimbal lock", distance, condition, "J_phi", mapped, x)

    distance = DISTANCES[DISTANCES < 1]
    rest = normalize(np.array([0.0, *base[ball.q][1:]]))[1:]
    x = posed(np.column_stack([distance, np.sqrt(1 - distance**2)[:, None] * rest]))
    condition = condition_constrained(x.Q[:, 0], 0)
    return found + rows("Q0 = 0", distance, condition, "J_star", x.from_star, x)


BLOCK_POSES = 2048  # at a time: the data of a block stay in the processor's cache
ROUND_OFF, ROUND_OFF_DRAWS = 4 * float(np.finfo(float).eps), 64  # changes of coordinates that show how J scatters


def mapping_analysis(
    model: Model | str, n: int = 10_000, seed: int = 0, progress: bool | None = False
) -> MappingReport:
    """Compare all mappings between J, J_Q, J*_Q and J_phi of a model's muscles at n random poses.

    model     a Model or what `load_model` takes, with quaternions or Euler angles
    n         number of poses, uniform over all rotations of the ball joints, with both signs of Q0
    progress  a bar on standard error: True, False, or None for only on a terminal and in a notebook

    Strengths and activations that the model leaves open are drawn from the seed, Fmax in [0, 250] N and activation in
    [0, 1]. Elastic tendons are in equilibrium at rest. Equal arguments give equal reports. Raises ValueError for n
    outside [1, 10^7], ModelError for a model without ball joints or muscles.

    >>> import myoquat as mq
    >>> report = mq.mapping_analysis("two_link", n=100)
    >>> type(report).__name__
    'MappingReport'
    """
    check_types(model=(model, (Model, str)))
    model = load_model(model) if not isinstance(model, Model) else model
    check_poses(n, seed, "the number of poses n")
    pair = Pair.of(model)
    pair, activation = _strengths(pair, np.random.default_rng([seed, 1]))
    blocks = partial(_blocks, pair, activation, int(n), int(seed))
    with progress_bar(2 * int(n), "pose", progress) as bar:
        scales = _scales(_counted(blocks(), bar))
        records = _compare(pair, _counted(blocks(), bar), scales)
    return MappingReport(records | {"singular": approach_rows(pair, seed)}, model.name, int(n), int(seed))


def _counted(blocks: Iterator[Block], bar: Bar) -> Iterator[Block]:
    """The same blocks; the bar moves on by each one's poses when the next is asked for."""
    for block in blocks:
        yield block
        bar.update(len(block.q))


def _strengths(pair: Pair, rng: np.random.Generator) -> tuple[Pair, Array]:
    """The models with every open strength drawn, and the activations, the model's own or drawn."""
    Fmax, drawn = rng.uniform(0, 250, len(pair.quaternion.muscles)), rng.uniform(0, 1, len(pair.quaternion.muscles))
    muscles = []
    for muscle, strength in zip(pair.quaternion.muscles, Fmax, strict=True):
        law: Any = muscle.law or CubicExponentialMuscle(optimal_length=1.0)
        if law.open_parameters():
            law = replace(law, max_isometric_force=float(strength))
        muscles.append(replace(muscle, law=law))
    activation = np.array([a if m.activation is None else m.activation for m, a in zip(muscles, drawn, strict=True)])
    return Pair(
        replace(pair.quaternion, muscles=tuple(muscles)), replace(pair.euler, muscles=tuple(muscles))
    ), activation


def _blocks(pair: Pair, activation: Array, n: int, seed: int) -> Iterator[Block]:
    """The poses in blocks; every call yields the same ones."""
    rng = np.random.default_rng([seed, 0])
    system = pair.quaternion.system
    for start in range(0, n, BLOCK_POSES):
        size = min(BLOCK_POSES, n - start)
        q = _reached(pair, system.random(size, rng), rng)
        yield Block(pair, q, rng.standard_normal((size, system.nu)), activation)


def _reached(pair: Pair, q: Array, rng: np.random.Generator) -> Array:
    """The poses, rotations that a joint's file cannot describe by its angles drawn again."""
    for ball in pair.balls:
        while ball.reading.angles and (missed := ball.reading.angles.unreached(q[:, ball.q]) > 0).any():
            q[missed, ball.q] = random_quaternions(int(missed.sum()), rng)
    return q


def _scales(blocks: Iterator[Block]) -> dict[str, Array]:
    """(m,) largest entry of each muscle over all poses, per quantity; J*_Q in its well-conditioned chart."""
    scales: dict[str, Array] = {}
    for x in blocks:
        largest = {name: largest_entry(x[key]) for name, key in
                   (("J", "J"), ("J_Q", "J_Q"), ("J_phi", "J_phi"), ("J*_Q", "J_largest"))}  # fmt: skip
        largest["torque"] = largest["J"] * np.abs(x["F"])
        largest["power"] = np.abs(x["F"] * np.einsum("nmi,ni->nm", x["J"], x.u))
        for key, values in largest.items():
            scales[key] = np.maximum(scales.get(key, 0.0), values.max(axis=0))
    # a muscle without an effect has errors of exactly zero, against any scale
    return {key: np.where(scale > 0, scale, 1.0) for key, scale in scales.items()}


def _compare(pair: Pair, blocks: Iterator[Block], scales: dict[str, Array]) -> dict[str, list[Record]]:
    """The tables of every comparison over all blocks."""
    checks = [(row, Statistics(scales[row.target], row.tolerance)) for row in (*ROWS, *POWER, *SPLIT)]
    radial = np.zeros(len(SPLIT))
    for block in blocks:
        balls = [BallPoses(block, ball) for ball in pair.balls]
        each = [x.conditions for x in balls]
        conditions = {name: np.stack([one[name] for one in each], axis=-1) for name in each[0]}
        scatter = Scatter(block, scales["J"])
        for row, statistics in checks:
            error, condition = np.stack([row.error(x) for x in balls], axis=1), conditions[row.condition]
            if row in POWER:
                error, condition = error.sum(axis=1, keepdims=True), condition.max(axis=-1, keepdims=True)
            statistics.add(error, condition, block.q, scatter if row.holds else None)
        parts = [[np.abs(x.radial(name)).max() for x in balls] for name in EXTENSIONS.values()]
        radial = np.maximum(radial, np.max(parts, axis=-1))
    found = [(row, statistics.record(pair.quaternion.muscle_names)) for row, statistics in checks]
    return {
        "mappings": [{"mapping": row.title, "in the study": row.studied, "should hold": row.holds, "unit": row.unit}
                     | r for row, r in found if row in ROWS],
        "power": [{"torque": row.title, "unit": row.unit} | r for row, r in found if row in POWER],
        "split": [{"extension of R(Q)": row.title, "largest |J_Q Q|": float(radial[SPLIT.index(row)])} | r
                  for row, r in found if row in SPLIT],
    }  # fmt: skip


class Scatter:
    """How much J scatters at poses of a block: the largest change of each muscle's J by rounding, over its scale (m,).

    The pose moves by at most 4 machine epsilons along every velocity. No mapping of J can be more exact than that.
    """

    def __init__(self, block: Block, scale: Array) -> None:
        self.block, self.scale, self._known = block, scale, dict[int, Array]()

    def __call__(self, rows: Array) -> Array:
        """(k, m) of k poses, by their rows."""
        model = self.block.pair.quaternion
        for row in {*rows.tolist()} - self._known.keys():
            draws = np.random.default_rng(row).uniform(-1, 1, (ROUND_OFF_DRAWS, model.system.nu))
            moved = model.system.integrate(self.block.q[row], ROUND_OFF * draws)
            change = path_jacobian(model, moved, "velocity") - self.block["J"][row]
            self._known[row] = np.abs(change).max(axis=(0, 2)) / self.scale
        return np.stack([self._known[row] for row in rows.tolist()])
