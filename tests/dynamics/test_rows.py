"""The solve of constraint rows against the pseudo-inverse, with rows that repeat others and rows of zeros."""

import numpy as np
import pytest

from myoquat import kernels
from myoquat.dynamics.rows import Rows, least_motions


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


def test_scales_of_rows_have_no_effect_off_the_constraints(rng):
    Y, wanted, scales = rng.normal(size=(5, 2)), rng.normal(size=2), np.array([1.0, 1e-6])
    for tolerance in (1e-10, 1e-2):
        np.testing.assert_allclose(Rows(Y * scales, tolerance).motion(wanted * scales), Rows(Y).motion(wanted))


def test_motion_multipliers_and_spaces_are_those_of_the_pseudo_inverse(rng):
    """Of two blocks of rows that share no velocity, one of them of rank 2; on floats and in a kernel."""
    A = np.zeros((20, 6, 9))
    A[:, :4, :5], A[:, 4:, 5:] = rng.normal(size=(20, 4, 5)), rng.normal(size=(20, 2, 4))
    A[:, 2] = A[:, 0] - 2 * A[:, 1]
    A[:, 3] = 3 * A[:, 1]
    Y, wanted, x = np.swapaxes(A, -1, -2), rng.normal(size=(20, 6)), rng.normal(size=(20, 9))
    rows, plus = Rows(Y), np.linalg.pinv(Y, rcond=1e-10)
    np.testing.assert_array_equal(rows.rank, 4)
    np.testing.assert_allclose(rows.motion(wanted), np.einsum("nku,nk->nu", plus, wanted), atol=1e-10)
    np.testing.assert_allclose(rows.multipliers(x), np.einsum("nku,nu->nk", plus, x), atol=1e-10)
    np.testing.assert_allclose(rows.null, np.eye(6) - plus @ Y, atol=1e-10)
    np.testing.assert_allclose(rows.projector, Y @ plus, atol=1e-10)

    def both(Y, wanted, x):
        return Rows(Y).motion(wanted), Rows(Y).multipliers(x)

    kernel = kernels.compile(both, {"Y": (9, 6), "wanted": 6, "x": 9}, ["x", "multipliers"])
    for found, expected in zip(kernel(Y, wanted, x), both(Y, wanted, x), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
