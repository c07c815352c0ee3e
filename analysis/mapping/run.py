"""The mapping analysis: every map between the four Jacobians, on random poses and beside singularities."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.analysis.recruitment.power import check_poses
from myoquat.core import Array, Bar, check_types, pandas, progress_bar
from myoquat.data import load_model
from myoquat.joints import condition_constrained, normalize, with_branches
from myoquat.joints.quaternion import random_quaternions
from myoquat.joints.rates import CONDITION_LIMIT
from myoquat.joints.vectors import vecmat
from myoquat.muscle import CubicExponentialMuscle, Model, path_jacobian

from .formulas import EXTENSIONS, LARGEST, POWER, ROWS, SPLIT, BallPoses, Block, Pair
from .report import MappingReport, Record, Statistics, largest_entry

if TYPE_CHECKING:
    import pandas as pd


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
    >>> from myoquat.analysis.mapping.formulas import Pair
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
