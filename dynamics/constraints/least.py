"""The smallest motion that does what constraints ask for, of many poses at once."""

from functools import reduce
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.blocks import Factors
from myoquat.dynamics.udwadia_kalaba import RANK_TOLERANCE
from myoquat.joints.compiled import kernel_for
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels import Kernel, compile

__all__ = ["least_motions"]

MAX_FACTORED_ROWS = 12  # rows of A whose products a kernel factors
MIN_INDEPENDENT_PART = 1e-6  # of a row's square: the part across the rows before, so that no row nearly repeats others


def least_motions(A: Array, wanted: Array) -> Array:
    """(n, nu) the smallest x with A x = wanted, for A (n, k, nu) and wanted (n, k).

    If rows repeat or contradict others, it is the smallest of those that come nearest: A^+ wanted, with a rank by
    `RANK_TOLERANCE`. If no row is nearly a sum of others, x = A^T (A A^T)^-1 wanted, corrected once by its residual.
    Elsewhere x comes from the singular values.
    """
    k, nu = A.shape[-2:]
    if not 0 < k <= MAX_FACTORED_ROWS:
        return _by_singular_values(A, wanted)

    def build(content: str | None) -> Kernel:
        return compile(_least, {"A": (k, nu), "wanted": k}, ["x", "apart"], name="least_motions", content=content)

    kernel: Any = kernel_for(("least_motions", k, nu), build)
    x, apart = kernel(A, wanted)
    near = ~(apart > MIN_INDEPENDENT_PART)
    if near.any():
        x[near] = _by_singular_values(A[near], wanted[near])
    found: Array = x
    return found


def _least(A: Array, wanted: Array) -> tuple[Array, Array]:
    """x, and the least of what is left of a row, as a share of its square, zero for rows of round-off: the formula."""
    k = A.shape[-2]
    G = [[np.sum(A[..., i, :] * A[..., j, :], axis=-1) for j in range(i + 1)] for i in range(k)]
    factors = Factors(G)

    def towards(right: Array) -> Array:
        return vecmat(np.stack(factors.solve([right[..., i] for i in range(k)]), axis=-1), A)

    x = towards(wanted)
    x = x + towards(wanted - matvec(A, x))
    squares = [row[i] for i, row in enumerate(G)]
    nothing = RANK_TOLERANCE**2 * reduce(np.maximum, squares)
    shares = [
        np.where(square > nothing, 1.0 / (pivot * square), 0.0)
        for pivot, square in zip(factors.pivots, squares, strict=True)
    ]
    least = shares[0]
    for share in shares[1:]:
        least = np.where(share > least, least, share)  # also what is no number
    return x, least


def _by_singular_values(A: Array, wanted: Array) -> Array:
    return matvec(np.linalg.pinv(A, rcond=RANK_TOLERANCE), wanted)
