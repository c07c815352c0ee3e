"""The smallest motions against the pseudo-inverse, with rows that repeat others and rows of zeros."""

import numpy as np
import pytest

from myoquat.dynamics.constraints.least import least_motions


@pytest.mark.parametrize("rows", [1, 3, 6, 14])
def test_pseudo_inverse(rng, rows):
    """Every fourth matrix has a row that is the sum of two others, every fifth one of zeros."""
    A, wanted = rng.normal(size=(40, rows, 17)), rng.normal(size=(40, rows))
    if rows > 2:
        A[::4, 2] = A[::4, 0] - 2 * A[::4, 1]
        A[::5, 1] = 0.0
    A *= 10.0 ** rng.integers(-3, 3, (40, rows, 1))
    expected = np.einsum("nuk,nk->nu", np.linalg.pinv(A, rcond=1e-10), wanted)
    np.testing.assert_allclose(least_motions(A, wanted), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_what_is_wanted_is_met_to_rounding(rng):
    """Of rows that are nearly the same too."""
    A = rng.normal(size=(20, 3, 9))
    A[:, 2] = A[:, 0] + 0.01 * A[:, 2]
    wanted = rng.normal(size=(20, 3))
    x = least_motions(A, wanted)
    assert np.abs(np.einsum("nku,nu->nk", A, x) - wanted).max() < 1e-12
