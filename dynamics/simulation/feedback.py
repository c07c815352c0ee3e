"""Inputs that depend on the state: feedback laws, compiled into the equations or sampled as a digital controller."""

import math
from collections.abc import Callable

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike

__all__ = ["Law", "StateFeedback", "check_returned"]

Law = Callable[[Array, Array, Array], ArrayLike]


@dataclass(frozen=True)
class StateFeedback:
    """An input of `simulate` that is a function of time and state, such as a controller or a reflex.

    law     of t [s], q (..., nq), u (..., nu), for batches; t broadcasts with q[..., 0]. It returns (..., n): torque
            (nu,) [N m, N], activations or excitations (m,) in [0, 1], or controls (k,).
    period  None: the law acts at every stage of every step, as a part of the equations of motion. It is compiled with
            them and must be NumPy on arrays, with `np.where` in place of `if`. It costs what its operations cost.
            A period [s]: a digital controller. The law is called as plain Python once a period on the whole batch, and
            its values are held in between. Any code will do; a call costs some 50 us beside its own time. Needs a
            method of fixed step, of which the period is a whole number of steps.

    Values out of range raise a ValueError. A sampled law is checked at every call, a compiled one at the start and at
    the stored rows.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0)
    >>> spring = mq.dynamics.StateFeedback(lambda t, q, u: -8.0 * q)  # sqrt(8 / 2) = 2 rad/s
    >>> motion = mq.simulate(mq.ArticulatedSystem((sled,)), [1.0], [0.0], np.pi / 2, torque=spring)
    >>> bool(abs(motion.q[-1, 0] + 1) < 1e-9), motion.torque[-1].round(6)
    (True, array([8.]))
    """

    law: Law
    period: float | None = None  # [s]

    def __post_init__(self) -> None:
        if not callable(self.law):
            raise TypeError(f"StateFeedback: law must be a function of (t, q, u), not {type(self.law).__name__}")
        if self.period is not None and not (math.isfinite(self.period) and self.period > 0):
            raise ValueError(f"StateFeedback: period must be positive and finite [s], not {self.period!r}")


def check_returned(
    name: str, returned: ArrayLike, batch: tuple[int, ...], check: Callable[[ArrayLike], Array],
    missing: Array | bool = False,
) -> Array:  # fmt: skip
    """(*batch, n) what a law returned for states of a batch, checked; NaN where there is no state: `missing`
    (*batch,)."""
    if isinstance(returned, (list, tuple)):
        raise TypeError(
            f"{name}: the feedback returned a {type(returned).__name__}; return an array (..., n), such as "
            "np.stack(entries, axis=-1)"
        )
    values = real_array(f"{name}: what the feedback returns", returned)
    try:
        values = np.broadcast_to(values, (*batch, *values.shape[-1:]))
    except ValueError:
        raise ValueError(
            f"{name}: the feedback returned shape {values.shape} for a batch of shape {batch}; a law works on batches"
        ) from None
    gone = np.asarray(missing)[..., None]
    return np.where(gone, np.nan, check(np.where(gone, 0.0, values)))
