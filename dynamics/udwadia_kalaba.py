"""Constrained motion from arrays: M a = Q with A a = b, in every form, redundant constraints included.

M (..., n, n) mass matrix, Q (..., n) all forces of the unconstrained motion, A (..., k, n), b (..., k). All forms
minimise Gauss's (a - M^-1 Q)^T M (a - M^-1 Q) under A a = b [F. E. Udwadia, R. E. Kalaba, A new perspective on
constrained motion, Proc. R. Soc. Lond. A 439, 1992; Analytical Dynamics, Cambridge University Press 1996]. Where each
fails, and what it costs (`python -m benchmarks constraints` measures it):

    form        singular M          redundant A    inconsistent b        cost (n = 30, k = 10)
    classical   fails               yes            least squares in M    1: a matrix root
    working     fails               yes            least squares in M    0.4: a Cholesky factor of M
    augmented   if (M; A) has       yes            least squares in M_A  0.9: as working, twice
                full rank
    kkt         if (M; A) has       fails          fails                 0.7: an LU factor of n + k
                full rank
    priorities  if the levels with  yes            level by level        2.7: a factorization a level
                M have full rank

The forms differ in the metric. In each, `myoquat.dynamics.rows` takes rows of A, scaled to length one, as long as more
than the tolerance is left of one across those that it has taken, and the rank says how many. Only the classical form
needs a matrix root; `priorities` ranks constraints that contradict each other.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, check_type, frozen, real_array
from myoquat.joints.ranges import check_array
from myoquat.joints.vectors import matvec, transpose

from .rows import RANK_TOLERANCE, Rows

__all__ = ["Constrained", "augmented", "classical", "kkt", "priorities", "working"]


@frozen
class Constrained:
    """The motion under constraints.

    acceleration  (..., n)
    force         (..., n) Q_c = M a - Q of the constraints
    rank          (...,) of the constraints in the metric of M
    residual      (..., k) A a - b. If it is beyond round-off, the constraints contradict each other

    >>> import numpy as np
    >>> from myoquat.dynamics.udwadia_kalaba import working
    >>> found = working(np.eye(2), [0.0, -9.81], A=[[1.0, 1.0]], b=[0.0])  # a bead on a slope of 45 degrees
    >>> found.acceleration.round(3), found.force.round(3), int(found.rank)
    (array([ 4.905, -4.905]), array([4.905, 4.905]), 1)
    """

    acceleration: np.ndarray
    force: np.ndarray
    rank: np.ndarray
    residual: np.ndarray


def classical(
    M: ArrayLike, Q: ArrayLike, A: ArrayLike, b: ArrayLike, tolerance: Array | float = RANK_TOLERANCE
) -> Constrained:
    """a = a_free + M^-1/2 (A M^-1/2)^+ (b - A a_free): the form of Udwadia and Kalaba, the reference for the others.
    ValueError for singular M.

    >>> import numpy as np
    >>> from myoquat.dynamics.udwadia_kalaba import classical
    >>> twice = classical(np.eye(2), [0.0, -9.81], A=[[1.0, 1.0], [1.0, 1.0]], b=[0.0, 0.0])
    >>> twice.acceleration.round(3), int(twice.rank)  # the second row says the same
    (array([ 4.905, -4.905]), 1)
    """
    M, Q, A, b = _arrays(M, Q, A, b)
    values, vectors = np.linalg.eigh(M)
    if np.any(values[..., 0] <= np.finfo(float).eps * 10 * values[..., -1]):
        raise ValueError("the mass matrix is singular: use augmented or kkt")
    root = vectors / np.sqrt(values)[..., None, :] @ transpose(vectors)  # M^-1/2
    free = matvec(root @ root, Q)
    rows = Rows(root @ transpose(A), tolerance)
    a = free + matvec(root, rows.motion(b - matvec(A, free)))
    return _result(M, Q, A, b, a, rows.rank)


def working(
    M: ArrayLike, Q: ArrayLike, A: ArrayLike, b: ArrayLike, tolerance: Array | float = RANK_TOLERANCE
) -> Constrained:
    """The same a with L^-T in place of M^-1/2, M = L L^T: no matrix root. ValueError for singular M.

    >>> import numpy as np
    >>> from myoquat.dynamics.udwadia_kalaba import working
    >>> working(np.eye(2), [0.0, -9.81], A=[[1.0, 1.0]], b=[0.0]).acceleration.round(3)  # a bead on a slope
    array([ 4.905, -4.905])
    """
    M, Q, A, b = _arrays(M, Q, A, b)
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise ValueError("the mass matrix is singular: use augmented or kkt") from None
    Y = np.linalg.solve(L, transpose(A))
    free = np.linalg.solve(L, Q[..., None])[..., 0]  # L^T a_free
    rows = Rows(Y, tolerance)
    x = free + rows.motion(b - matvec(transpose(Y), free))
    a = np.linalg.solve(transpose(L), x[..., None])[..., 0]
    return _result(M, Q, A, b, a, rows.rank)


def augmented(
    M: ArrayLike, Q: ArrayLike, A: ArrayLike, b: ArrayLike, tolerance: Array | float = RANK_TOLERANCE
) -> Constrained:
    """The motion for a singular M, from M_A = M + A^+ A and Q + A^+ b in place of M and Q.

    They give the same a, if M and A together have full rank. ValueError if they do not: then the motion is not
    determined. Source: F. E. Udwadia, A. D. Schutte, J. Appl. Mech. 77, 2010.

    >>> from myoquat.dynamics.udwadia_kalaba import augmented
    >>> massless = augmented([[1.0, 0.0], [0.0, 0.0]], [2.0, 0.0], A=[[1.0, -1.0]], b=[0.0])
    >>> massless.acceleration.round(9)  # M is singular: the second body follows the first
    array([2., 2.])
    """
    M, Q, A, b = _arrays(M, Q, A, b)
    rows = Rows(transpose(A), tolerance)
    heavy = M + rows.projector
    least = np.linalg.eigvalsh(heavy)
    if np.any(least[..., 0] <= np.asarray(tolerance) * least[..., -1]):
        raise ValueError("mass matrix and constraints together are singular: they do not determine the motion")
    found = working(heavy, Q + rows.motion(b), A, b, tolerance)
    return _result(M, Q, A, b, found.acceleration, found.rank)


def kkt(M: ArrayLike, Q: ArrayLike, A: ArrayLike, b: ArrayLike) -> Constrained:
    """[[M, A^T], [A, 0]] (a, -lambda) = (Q, b): the saddle point. ValueError where the matrix is singular: redundant
    constraints, or a motion that is not determined.

    >>> import numpy as np
    >>> from myoquat.dynamics.udwadia_kalaba import kkt
    >>> kkt(np.eye(2), [0.0, -9.81], A=[[1.0, 1.0]], b=[0.0]).acceleration.round(3)
    array([ 4.905, -4.905])
    """
    M, Q, A, b = _arrays(M, Q, A, b)
    k = A.shape[-2]
    whole = np.block([[M, transpose(A)], [A, np.zeros((*A.shape[:-2], k, k))]])
    if np.any(np.linalg.cond(whole) > 1 / np.finfo(float).eps):
        raise ValueError("the saddle point matrix is singular: redundant constraints, or an undetermined motion")
    a = np.linalg.solve(whole, np.concatenate([Q, b], axis=-1)[..., None])[..., : M.shape[-1], 0]
    return _result(M, Q, A, b, a, np.full(a.shape[:-1], k))


def priorities(
    M: ArrayLike, Q: ArrayLike, levels: Sequence[tuple[Any, Any]], weights: Sequence[Any] | None = None,
    tolerance: Array | float = RANK_TOLERANCE,
) -> Constrained:  # fmt: skip
    """Least constraint, level by level.

    The first (A, b) holds exactly, or in the least-squares sense if it contradicts itself. The next one holds as well
    as the first allows, and so on. What freedom is left follows Gauss's principle. `weights`, one (k,) for each level,
    weigh the rows of its least squares. residual holds all levels' in order.

    >>> import numpy as np
    >>> from myoquat.dynamics.udwadia_kalaba import priorities
    >>> levels = [([[1.0, 0.0]], [1.0]), ([[1.0, 0.0]], [5.0])]  # they contradict each other: the first one holds
    >>> priorities(np.eye(2), [0.0, -9.81], levels).acceleration.round(3)
    array([ 1.  , -9.81])
    """
    check_type("levels", levels, (list, tuple))
    if not levels:
        raise ValueError("levels (A, b) are wanted, at least one")
    M, Q, *_ = _arrays(M, Q, *levels[0])
    n = M.shape[-1]
    a, N = np.zeros_like(Q), np.broadcast_to(np.eye(n), M.shape)
    rank: Any = 0
    for i, (A, b) in enumerate(levels):
        _, _, A, b = _arrays(M, Q, A, b)
        root = np.sqrt(np.ones(A.shape[-2]) if weights is None else real_array("weights", weights[i]))
        B = root[:, None] * A
        rows = Rows(transpose(B @ N), tolerance, np.linalg.norm(B, axis=-1))
        a = a + matvec(N, rows.motion(root * (b - matvec(A, a))))
        N = N @ (np.eye(n) - rows.projector)
        rank = rank + rows.rank
    free = np.linalg.pinv(transpose(N) @ M @ N, rcond=tolerance, hermitian=True)
    a = a + matvec(N, matvec(free, matvec(transpose(N), Q - matvec(M, a))))
    A = np.concatenate([np.asarray(A, float) for A, _ in levels], axis=-2)
    b = np.concatenate([np.asarray(b, float) for _, b in levels], axis=-1)
    return _result(M, Q, A, b, a, rank)


def _arrays(M: ArrayLike, Q: ArrayLike, A: ArrayLike, b: ArrayLike) -> tuple[Array, ...]:
    M, Q, A, b = arrays = [check_array(name, x) for name, x in zip("MQAb", (M, Q, A, b), strict=True)]
    n, k = (x.shape[-2] if x.ndim > 1 else -1 for x in (M, A))
    if M.shape[-2:] != (n, n) or Q.shape[-1:] != (n,) or A.shape[-2:] != (k, n) or b.shape[-1:] != (k,):
        raise ValueError(
            f"M (..., n, n), Q (..., n), A (..., k, n) and b (..., k) are wanted, not {M.shape}, {Q.shape}, {A.shape} "
            f"and {b.shape}"
        )
    for name, x in zip("MQAb", arrays, strict=True):
        if not np.isfinite(x).all():
            raise ValueError(f"{name} must be finite")
    return M, Q, A, b


def _result(M: Array, Q: Array, A: Array, b: Array, a: Array, rank: Array) -> Constrained:
    return Constrained(a, matvec(M, a) - Q, np.asarray(rank), matvec(A, a) - b)
