"""The mapping analysis: every map between the four Jacobians, on random poses, through compiled kernels."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat import kernels
from myoquat.analysis.mapping.formulas import (
    EXTENSIONS,
    ROWS,
    Ball,
    Pair,
    Quantities,
    conditions,
    power_errors,
    radial_parts,
    row_errors,
    split_errors,
)
from myoquat.analysis.mapping.report import MappingReport, Statistics, largest_entry
from myoquat.analysis.recruitment.power import check_poses
from myoquat.core import Array, Bar, check_types, pandas, progress_bar
from myoquat.data import load_model
from myoquat.joints import condition_constrained, constrained_to_spatial, convert_coordinates, normalize, with_branches
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.quaternion import random_quaternions
from myoquat.joints.rates import CONDITION_LIMIT
from myoquat.muscle import CubicExponentialMuscle, Model, path_jacobian
from myoquat.muscle.argument_validation import eliminated_components
from myoquat.muscle.evaluate import tensions_at_rest

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["DISTANCES", "approach", "approach_rows", "mapping_analysis"]

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


def approach_rows(pair: Pair, seed: int = 0) -> list[dict[str, Any]]:
    """The rows of `approach`, each a dictionary of its columns."""
    rng = np.random.default_rng([seed, 2])
    base = pair.quaternion.system.random(1, rng)[0]
    ball = pair.balls[0]
    return _to_lock(pair, ball, base, rng) + _to_chart_edge(pair, ball, base)


def _to_lock(pair: Pair, ball: Ball, base: Array, rng: np.random.Generator) -> list[dict[str, Any]]:
    distance = DISTANCES[DISTANCES < 1.5]
    angles = ball.reading.beside_lock(distance, *ball.reading.outer(rng))
    q = np.repeat(base[None], len(distance), axis=0)
    q[:, ball.q] = ball.reading.quaternion(angles)
    phi = convert_coordinates(pair.quaternion.system, pair.euler.system, q)
    phi[:, ball.phi] = angles  # the pose itself: an angle of 1e-14 read back from Q would be rounded
    J_phi = path_jacobian(pair.euler, phi, "coordinates")[..., ball.phi]
    pair = _on_branch(pair, ball, angles)

    def mapped(i: int) -> Array:
        if ball.reading.condition(angles[i]) > CONDITION_LIMIT:
            raise ValueError("the angles are in gimbal lock")
        return np.asarray(ball.reading.to_spatial(J_phi[i], angles[i]))

    condition = ball.reading.condition(angles)
    return _rows(pair, ball, "gimbal lock", distance, q, condition, J_phi, mapped)


def _on_branch(pair: Pair, ball: Ball, angles: Array) -> Pair:
    """The pair whose quaternion model takes these triples of angles (k, 3) of the ball joint. Beside the lock both
    triples of a rotation may lie in the ranges."""
    model = pair.quaternion
    body = model.system.bodies[model.system.body_names.index(ball.body)]
    if getattr(body.joint, "angles", None) is None:
        return pair
    system = with_branches(model.system, {ball.body: tuple((float(a), float(b), float(c)) for a, b, c in angles)})
    return replace(pair, quaternion=replace(model, system=system))


def _to_chart_edge(pair: Pair, ball: Ball, base: Array) -> list[dict[str, Any]]:
    distance = DISTANCES[DISTANCES < 1]
    q = np.repeat(base[None], len(distance), axis=0)
    rest = normalize(np.array([0.0, *base[ball.q][1:]]))[1:]
    q[:, ball.q] = np.column_stack([distance, np.sqrt(1 - distance**2)[:, None] * rest])
    J_star = path_jacobian(pair.quaternion, q, "constrained", eliminated=0)[..., ball.star]

    def mapped(i: int) -> Array:
        return np.asarray(constrained_to_spatial(J_star[i], q[i, ball.q], 0))

    condition = condition_constrained(q[:, ball.q], 0)
    return _rows(pair, ball, "Q0 = 0", distance, q, condition, J_star, mapped)


def _rows(
    pair: Pair,
    ball: Ball,
    name: str,
    distance: Array,
    q: Array,
    condition: Array,
    jacobian: Array,
    mapped: Callable[[int], Array],
) -> list[dict[str, Any]]:
    J = path_jacobian(pair.quaternion, q, "velocity")[..., ball.u]
    scale = np.abs(J).max()
    Q = q[:, ball.q]
    k = np.argmax(np.abs(Q), axis=-1)
    index = eliminated_components(pair.quaternion.system, q, "largest")
    J_largest = path_jacobian(pair.quaternion, q, "constrained", eliminated=index)[..., ball.star]
    from_largest = constrained_to_spatial(J_largest, Q[:, None], k[:, None])
    columns = {
        "distance": distance,
        "condition": condition,
        "largest entry": np.abs(jacobian).max(axis=(1, 2)),
        "error": [_error(mapped, i, J[i], scale) for i in range(len(q))],
        "error, largest eliminated": np.abs(from_largest - J).max(axis=(1, 2)) / scale,
    }
    return [{"approach": name} | {key: float(column[i]) for key, column in columns.items()} for i in range(len(q))]


def _error(mapped: Callable[[int], Array], i: int, J: Array, scale: float) -> float:
    try:
        return float(np.abs(mapped(i) - J).max() / scale)
    except ValueError:  # refused past a condition number of 1e12
        return float("nan")


BLOCK_POSES = 2048  # at a time: the data of a block stay in the processor's cache
POWER_TOLERANCE = 1e-12
ROUND_OFF, ROUND_OFF_DRAWS = 4 * float(np.finfo(float).eps), 64  # changes of coordinates that show how J scatters
POWER_ROUTES = (("J_Q", "1"), ("J*_Q", "E"), ("J_phi", "B"))


@dataclass
class Block:
    """Everything about a block of poses: states, then the Jacobians, each differentiated on its own when asked for."""

    pair: Pair
    q: Array
    u: Array
    activation: Array

    @cached_property
    def phi(self) -> Array:
        return convert_coordinates(self.pair.quaternion.system, self.pair.euler.system, self.q)

    @cached_property
    def components(self) -> Array:
        return eliminated_components(self.pair.quaternion.system, self.q, "largest")

    @cached_property
    def k(self) -> Array:
        return self.components.astype(float)

    @cached_property
    def F(self) -> Array:
        return tensions_at_rest(self.pair.quaternion, self.q, self.activation, self.u)

    @cached_property
    def J(self) -> Array:
        return path_jacobian(self.pair.quaternion, self.q, "velocity")

    def scatter(self, scale: Array, rows: Array) -> Array:
        """(k, m) of k poses, by their rows: the largest change of each muscle's J by rounding, over its scale (m,).

        The pose moves by at most 4 machine epsilons along every velocity. No mapping of J can be more exact than that.
        """
        new = [row for row in rows.tolist() if row not in self._scatter]
        for row in new:
            system, rng = self.pair.quaternion.system, np.random.default_rng(row)
            moved = system.integrate(self.q[row], ROUND_OFF * rng.uniform(-1, 1, (ROUND_OFF_DRAWS, system.nu)))
            change = path_jacobian(self.pair.quaternion, moved, "velocity") - self.J[row]
            self._scatter[row] = np.abs(change).max(axis=(0, 2)) / scale
        return np.stack([self._scatter[row] for row in rows.tolist()])

    @cached_property
    def _scatter(self) -> dict[int, Array]:
        return {}

    @cached_property
    def J_Q(self) -> Array:
        return path_jacobian(self.pair.quaternion, self.q, "quaternion")

    @cached_property
    def J_star(self) -> Array:
        return path_jacobian(self.pair.quaternion, self.q, "constrained", eliminated=0)

    @cached_property
    def J_phi(self) -> Array:
        return path_jacobian(self.pair.euler, self.phi, "coordinates")

    @cached_property
    def J_largest(self) -> Array:
        return path_jacobian(self.pair.quaternion, self.q, "constrained", eliminated=self.components)

    @cached_property
    def J_normalized(self) -> Array:
        return path_jacobian(self.pair.extended("normalized"), self.q, "quaternion")

    @cached_property
    def J_homogeneous(self) -> Array:
        return path_jacobian(self.pair.extended("homogeneous"), self.q, "quaternion")


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
        report = _compare(pair, _counted(blocks(), bar), scales)
    report.records["singular"] = approach_rows(pair, seed)
    report.model, report.n, report.seed = model.name, int(n), int(seed)
    return report


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
    for b in blocks:
        J_row = largest_entry(b.J)
        largest = {
            "J": J_row,
            "J_Q": largest_entry(b.J_Q),
            "J_phi": largest_entry(b.J_phi),
            "J*_Q": largest_entry(b.J_largest),
            "torque": J_row * np.abs(b.F),
            "power": np.abs(b.F * np.einsum("nmi,ni->nm", b.J, b.u)),
        }
        for key, values in largest.items():
            scales[key] = np.maximum(scales.get(key, 0.0), values.max(axis=0))
    # a muscle without an effect has errors of exactly zero, against any scale
    return {key: np.where(scale > 0, scale, 1.0) for key, scale in scales.items()}


def _compare(pair: Pair, blocks: Iterator[Block], scales: dict[str, Array]) -> MappingReport:
    """Run every comparison over all blocks."""
    rows = [Statistics(scales[row.target], row.tolerance) for row in ROWS]
    power = [Statistics(scales["power"], POWER_TOLERANCE) for _ in POWER_ROUTES]
    residual = [Statistics(scales["J_Q"], ROWS[0].tolerance) for _ in EXTENSIONS]
    radial = np.zeros(len(EXTENSIONS))
    for b in blocks:
        condition = _conditions(_run(pair, conditions, {"q": b.q, "phi": b.phi}))
        scatter = partial(b.scatter, scales["J"])
        for row, statistics, error in zip(
            ROWS,
            rows,
            _per_muscle(pair, row_errors, b, "q phi k", "F J J_Q J_star J_phi J_largest J_normalized", axis=-2),
            strict=True,
        ):
            statistics.add(error, condition[row.condition], b.q, scatter if row.holds else None)
        parts = _per_muscle(pair, radial_parts, b, "q", "J_Q J_normalized J_homogeneous", axis=-1)
        rests = _per_muscle(pair, split_errors, b, "q", "J J_Q J_normalized J_homogeneous", axis=-2)
        for i, statistics in enumerate(residual):
            radial[i] = max(radial[i], float(np.abs(parts[i]).max()))
            statistics.add(rests[i], condition["1"], b.q, scatter)
        errors = _per_muscle(pair, power_errors, b, "q phi u", "F J J_Q J_star J_phi", axis=-1)
        for (_, name), statistics, error in zip(POWER_ROUTES, power, errors, strict=True):
            largest = condition[name].max(axis=-1, keepdims=True)
            statistics.add(error[:, None, :, None], largest, b.q, scatter)
    return MappingReport.of(pair, rows, power, residual, radial)


def _conditions(both: Array) -> dict[str, Array]:
    """(n, balls) condition numbers by the names that the rows use."""
    E, B = both[..., 0], both[..., 1]
    return {"1": np.ones_like(E), "E": E, "B": B, "E+B": E + B, "E*B": E * B}


def _run(pair: Pair, formula: Callable[[Pair, Quantities], Any], arrays: Mapping[str, Array], batch: int = 1) -> Any:
    """A comparison through its kernel: what the formula gives for arrays with `batch` leading axes, as floats."""
    key = ("mapping", formula.__name__, pair.quaternion.content_key, pair.euler.content_key)
    shapes = {name: array.shape[batch:] for name, array in arrays.items()}

    def traced(*symbols: Array) -> Any:
        return formula(pair, dict(zip(arrays, symbols, strict=True)))

    name = f"mapping_{formula.__name__}"
    kernel = kernel_for(key, lambda content: kernels.compile(traced, shapes, name=name, content=content))
    return kernel(*arrays.values())


def _per_muscle(
    pair: Pair, formula: Callable[[Pair, Quantities], Any], block: Block, poses: str, muscles: str, axis: int
) -> list[Array]:
    """A comparison of muscles, each by itself: one kernel for one muscle, so that its code does not grow with them.

    `axis`: where the formula's results have their axis of the muscles, counted from the end; of length 1 in the kernel.
    """
    arrays = {name: getattr(block, name)[:, None] for name in poses.split()}
    arrays |= {name: getattr(block, name)[:, :, None] for name in muscles.split()}
    return [np.moveaxis(result.squeeze(axis), 1, axis) for result in _run(pair, formula, arrays, 2)]
