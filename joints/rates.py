"""Rate maps of a unit quaternion: G, T and E.

Q = (Q0, Q1, Q2, Q3) is scalar first with the Hamilton product: (..., 4) floats, SymPy or CasADi symbols. The angular
velocity omega [rad/s] of the child relative to the parent is in child-frame components.

The constrained chart drops one component k (`eliminated`) of Q: Qk = s sqrt(1 - sum of the other squares) with s =
sign(Qk). Then Qdot = T Qdot* and omega = E Qdot*, where Q* has the kept components in their order. `eliminated` is 0,
1, 2 or 3, an integer array with one per pose, or "largest". With "largest" it is the component of largest magnitude of
each pose, which bounds the condition number by 2.

Source: [Graf] B. Graf, Quaternions and Dynamics, arXiv:0811.2889.
"""

import numpy as np

from myoquat.core import Array, ArrayLike, check_unmasked
from myoquat.kernels import as_array, formula, is_symbolic

from .vectors import QUATERNION, components, dot, matrix, prescaled, transpose, vecmat

CONDITION_LIMIT = 1e12  # maps that divide raise past this condition number

_KEPT = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
_SELECT = np.zeros((4, 4, 3))  # _SELECT[k] takes Q* to its entries of Q, leaving row k empty
for _k in range(4):
    _SELECT[_k, _KEPT[_k], range(3)] = 1.0


@formula(Q=QUATERNION)
def G(Q: ArrayLike) -> Array:
    """(..., 3, 4) map: omega = 2 G Qdot and, for |Q| = 1, Qdot = G^T omega / 2 [Graf].

    G Q = 0 always; for |Q| = 1: G G^T = I3, G^T G = I4 - Q Q^T, G_parent G^T = R.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> Q = np.array([0.5, 0.5, 0.5, 0.5])
    >>> joints.G(Q) @ Q  # G Q = 0
    array([0., 0., 0.])
    """
    Q0, Q1, Q2, Q3 = components(Q)
    return matrix([[-Q1, Q0, Q3, -Q2], [-Q2, -Q3, Q0, Q1], [-Q3, Q2, -Q1, Q0]])


@formula(Q=QUATERNION)
def G_parent(Q: ArrayLike) -> Array:
    """(..., 3, 4) twin of G in parent-frame components: R omega = 2 G_parent Qdot for |Q| = 1 (Graf's E).

    >>> import numpy as np
    >>> from myoquat import joints
    >>> Q = np.array([0.8, 0.6, 0, 0])
    >>> np.allclose(joints.G_parent(Q) @ joints.G(Q).T, joints.rotation_matrix(Q))
    True
    """
    Q0, Q1, Q2, Q3 = components(Q)
    return matrix([[-Q1, Q0, -Q3, Q2], [-Q2, Q3, Q0, -Q1], [-Q3, -Q2, Q1, Q0]])


@formula(Q=QUATERNION)
def T(Q: ArrayLike, eliminated: ArrayLike = 0) -> Array:
    """(..., 4, 3) tangent map of the chart: Qdot = T Qdot* keeps |Q|^2 constant, Q^T T = 0.

    Identity on the kept rows, -Qi/Qk in row k and the column of i. Raises ValueError past a condition number of 1e12.

    >>> from myoquat import joints
    >>> joints.T([0.8, 0.6, 0, 0])
    array([[-0.75,  0.  ,  0.  ],
           [ 1.  ,  0.  ,  0.  ],
           [ 0.  ,  1.  ,  0.  ],
           [ 0.  ,  0.  ,  1.  ]])
    """
    Q = as_array(Q)
    k = _index(Q, eliminated)
    check_chart(Q, k, "T")
    ratio = vecmat(Q, _select(k)) / _component(Q, k)[..., None]
    return _select(k) - _indicator(k)[..., :, None] * ratio[..., None, :]


@formula(Q=QUATERNION)
def E(Q: ArrayLike, eliminated: ArrayLike = 0) -> Array:
    """(..., 3, 3) map omega = E Qdot*, E = 2 G T; det E = +-8/Qk for |Q| = 1.

    Raises ValueError past a condition number of 1e12.

    >>> import sympy
    >>> from myoquat import joints
    >>> joints.E(sympy.symbols("Q0:4")).shape
    (3, 3)
    >>> joints.E([1.0, 0, 0, 0])
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    Q = as_array(Q)
    k = _index(Q, eliminated)
    check_chart(Q, k, "E")
    return 2 * G(Q) @ T(Q, k)


@formula(Q=QUATERNION)
def E_inverse(Q: ArrayLike, eliminated: ArrayLike = 0) -> Array:
    """(..., 3, 3) map Qdot* = E^-1 omega for |Q| = 1: the kept rows of G^T / 2. It divides by nothing and exists
    everywhere, also at Qk = 0 where E does not.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> Q = [0.8, 0.6, 0, 0]
    >>> np.allclose(joints.E_inverse(Q) @ joints.E(Q), np.eye(3))
    True
    """
    Q = as_array(Q)
    k = _index(Q, eliminated)
    return transpose(G(Q) @ _select(k)) / 2


@formula(Q=QUATERNION)
def condition_constrained(Q: ArrayLike, eliminated: ArrayLike = 0) -> Array:
    """(...) condition number |Q| / |Qk| of E: 1 at Qk = +-1, infinite where the chart breaks (Qk = 0).

    >>> from myoquat import joints
    >>> joints.condition_constrained([0.8, 0.6, 0, 0], 1).round(4)
    np.float64(1.6667)
    """
    Q = prescaled(as_array(Q))
    k = _index(Q, eliminated)
    component = np.abs(_component(Q, k))
    norm = np.sqrt(dot(Q, Q))
    with np.errstate(divide="ignore"):
        result: Array = norm / component
    return result


def ill_conditioned(condition: Array) -> tuple[int, ...] | None:
    """Indices of the first condition number past the limit; None if there is none."""
    beyond = np.argwhere(condition > CONDITION_LIMIT)
    return tuple(beyond[0].tolist()) if len(beyond) else None


def check_chart(Q: Array, k: Array, function: str) -> None:
    """Raise ValueError if float poses lie where the chart that drops component k has broken down."""
    if is_symbolic(Q):
        return
    condition = condition_constrained(Q, k)
    if (where := ill_conditioned(condition)) is not None:
        raise ValueError(
            f"{function}: the chart that eliminates Q{int(np.broadcast_to(k, condition.shape)[where])} breaks down at "
            f"pose {list(where)} (condition number {condition[where]:.3g}); use eliminated='largest'"
        )


def _index(Q: Array, eliminated: ArrayLike) -> Array:
    """The eliminated component as an index: 0 ... 3, or an integer array with one per pose."""
    if isinstance(eliminated, str):
        if eliminated != "largest":
            raise ValueError(f"eliminated is 0, 1, 2, 3 or 'largest', not {eliminated!r}")
        if is_symbolic(Q):
            raise ValueError("eliminated='largest' needs numbers: symbols have no largest component; give 0, 1, 2 or 3")
        return np.argmax(np.abs(Q), axis=-1)
    check_unmasked("eliminated", eliminated)
    k = as_array(eliminated) if is_symbolic(eliminated) else np.asarray(eliminated)
    if not is_symbolic(k) and (k.dtype.kind not in "iu" or np.any((k < 0) | (k > 3))):
        raise ValueError(f"eliminated is 0, 1, 2, 3 or 'largest', not {eliminated!r}")
    return k


def _indicator(k: Array) -> Array:
    """(..., 4) one at place k, zero elsewhere; k may be a symbol."""
    if not is_symbolic(k):
        return np.eye(4)[k]
    return np.stack([np.where(k == i, 1.0, 0.0) for i in range(4)], axis=-1)


def _select(k: Array) -> Array:
    """(..., 4, 3) matrix that takes Q* to its entries of Q; k may be a symbol."""
    if not is_symbolic(k):
        return _SELECT[k]
    return (_indicator(k) @ _SELECT.reshape(4, 12)).reshape((*k.shape, 4, 3))


def _component(Q: Array, k: Array) -> Array:
    return np.sum(Q * _indicator(k), axis=-1)
