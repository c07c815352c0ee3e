"""A fixed-point iteration over one array of columns, with batch axes that broadcast, for tests of loops."""

from functools import partial

import numpy as np

from myoquat.kernels import fixed_point
from myoquat.kernels.symbolic.arrays import is_symbolic


def iterate(step, start, constants, count, settle=0.0, where=True, left=None):
    """(..., n) z after `count` times z <- step(z, constants), from z = `start` (..., n), with constants (..., c), where
    (...) a condition holds. A state of which no number, or not the one of the index `left`, has changed by more than
    `settle` takes no further step."""
    batch = np.broadcast_shapes(start.shape[:-1], constants.shape[:-1], np.shape(where))
    z, given = (np.broadcast_to(x, (*batch, x.shape[-1]), subok=is_symbolic(x)) for x in (start, constants))
    watched = None if left is None else partial(_column, left)
    on = (np.ones(batch) > 0) & where
    return fixed_point(step, z, given, tolerance=settle, max_steps=count, where=on, watched=watched)


def _column(left, z):
    return z[..., [left]]
