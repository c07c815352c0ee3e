"""The route that a researcher would write: lengths and Jacobian in SymPy, lambdified, for `benchmarks.paths`.

Written from the model's numbers, without this project's formulas.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import sympy

from myoquat.muscle import Model


def pose_by_pose(model: Model) -> Callable[..., Any]:
    """f(*q) -> [lengths (m, 1), J (m, nu)] of one pose, as `sympy.lambdify` makes it."""
    q, lengths, J = _derived(model)
    return sympy.lambdify(q, [lengths, J], "numpy")


def on_arrays(model: Model) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """f(q (n, nq)) -> (lengths (n, m), J (n, m, nu)), common subexpressions shared."""
    q, lengths, J = _derived(model)
    entries = sympy.lambdify(q, [*lengths, *J], "numpy", cse=True)

    def evaluate(poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = np.stack([np.broadcast_to(x, len(poses)) for x in entries(*poses.T)], axis=-1)
        return values[:, : len(lengths)], values[:, len(lengths) :].reshape(len(poses), *J.shape)

    return evaluate


def _derived(model: Model) -> tuple[Any, Any, Any]:
    """Symbols q, lengths and J = dl/dQ G^T / 2 joint by joint, of a model of ball joints."""
    q = sympy.symbols(f"q0:{model.system.nq}", real=True)
    lengths = sympy.Matrix(_lengths(model, q))
    slices = model.system.quaternion_slices()
    return q, lengths, sympy.Matrix.hstack(*(lengths.jacobian(q[s]) * _G(*q[s]).T / 2 for s in slices))


def _lengths(model: Model, q: Any) -> list[Any]:
    system = model.system
    pose = {system.ground: (sympy.eye(3), sympy.zeros(3, 1))}
    for body, s in zip(system.bodies, system.q_slices, strict=True):
        R, p = pose[body.parent]
        pose[body.name] = (R * _rotation(*q[s]), p + R * sympy.Matrix(body.position))
    lengths = []
    for muscle in model.muscles:
        points = [
            pose[point.body][1] + pose[point.body][0] * sympy.Matrix(point.position) for point in muscle.path.points
        ]
        segments = [b - a for a, b in pairwise(points)]
        lengths.append(sum(sympy.sqrt(d.dot(d)) for d in segments))
    return lengths


def _rotation(w: Any, x: Any, y: Any, z: Any) -> Any:
    return sympy.Matrix(
        [
            [1 - 2 * (y**2 + z**2), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x**2 + z**2), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x**2 + y**2)],
        ]
    )


def _G(w: Any, x: Any, y: Any, z: Any) -> Any:
    return sympy.Matrix([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
