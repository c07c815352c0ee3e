"""How the maps behave as a pose approaches gimbal lock, or the place where the constrained chart breaks down."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.analysis.mapping.formulas import Ball, Pair
from myoquat.core.arguments import check_types
from myoquat.core.lazy_imports import pandas
from myoquat.core.typing import Array
from myoquat.joints import (
    condition_constrained,
    constrained_to_spatial,
    convert_coordinates,
    normalize,
    with_branches,
)
from myoquat.joints.rates import CONDITION_LIMIT
from myoquat.muscle import path_jacobian
from myoquat.muscle.eliminated import eliminated_components

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DISTANCES", "approach", "approach_rows"]

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
    table: pd.DataFrame = pandas.DataFrame(approach_rows(pair, seed))
    return table


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
