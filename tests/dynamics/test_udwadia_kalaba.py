"""The forms of constrained motion agree where they apply, and each says where it does not."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from myoquat.dynamics.udwadia_kalaba import augmented, classical, kkt, priorities, working

FORMS = {"classical": classical, "working": working, "augmented": augmented, "kkt": kkt}


def case(rng, n=7, k=3, batch=()):
    B = rng.normal(size=(*batch, n, n))
    M = B @ np.swapaxes(B, -1, -2) + 0.1 * np.eye(n)
    return M, rng.normal(size=(*batch, n)), rng.normal(size=(*batch, k, n)), rng.normal(size=(*batch, k))


@pytest.mark.parametrize("name", FORMS)
@given(seed=st.integers(0, 10**6))
def test_the_motion_obeys_and_the_force_does_no_work_on_allowed_motions(name, seed):
    """The conditions that make it the minimum of Gauss's function: A a = b, and Q_c in the range of A^T."""
    rng = np.random.default_rng(seed)
    M, Q, A, b = case(rng, batch=(2,))
    found = FORMS[name](M, Q, A, b)
    np.testing.assert_allclose((A @ found.acceleration[..., None])[..., 0], b, atol=1e-8)
    null = np.linalg.svd(A)[2][..., 3:, :]
    np.testing.assert_allclose((null @ found.force[..., None])[..., 0], 0, atol=1e-7)
    np.testing.assert_array_equal(found.rank, 3)
    single = priorities(M[0], Q[0], [(A[0], b[0])])
    np.testing.assert_allclose(single.acceleration, found.acceleration[0], atol=1e-7)


@pytest.mark.parametrize("name", ["classical", "working", "augmented"])
def test_redundant_rows_do_not_matter(name, rng):
    M, Q, A, b = case(rng)
    mix = np.vstack([np.eye(3), rng.normal(size=(2, 3))])
    found, twice = FORMS[name](M, Q, A, b), FORMS[name](M, Q, mix @ A, mix @ b)
    np.testing.assert_allclose(twice.acceleration, found.acceleration, atol=1e-9)
    np.testing.assert_allclose(twice.force, found.force, atol=1e-8)
    assert twice.rank == 3
    with pytest.raises(ValueError, match="saddle point matrix is singular: redundant"):
        kkt(M, Q, mix @ A, mix @ b)


def test_nearly_redundant_rows_are_cut_at_the_tolerance(rng):
    """Two rows that differ by 1e-13: divided by, their difference would make 1e10 of an error of 1e-3 in b."""
    M, Q, A, b = case(rng, k=2)
    A[1] = A[0] + 1e-13 * rng.normal(size=7)
    b[1] = b[0]
    found = working(M, Q, A, b)
    assert found.rank == 1
    np.testing.assert_allclose(found.acceleration, working(M, Q, A[:1], b[:1]).acceleration, atol=1e-9)
    assert working(M, Q, A, b, tolerance=1e-16).rank == 2


def test_contradictions_show_in_the_residual(rng):
    M, Q, A, b = case(rng, k=2)
    found = working(M, Q, A[[0, 0, 1]], np.array([1.0, 2.0, b[1]]))
    np.testing.assert_allclose(found.residual, [0.5, -0.5, 0.0], atol=1e-12)
    assert found.rank == 2
    assert np.abs(working(M, Q, A, b).residual).max() < 1e-12


def test_singular_masses_need_the_augmented_form_or_the_saddle_point(rng):
    M, Q, A, b = case(rng)
    null = rng.normal(size=7)
    null /= np.linalg.norm(null)
    P = np.eye(7) - np.outer(null, null)
    M = P @ M @ P
    found = augmented(M, Q, A, b)
    np.testing.assert_allclose(found.acceleration, kkt(M, Q, A, b).acceleration, atol=1e-8)
    np.testing.assert_allclose(priorities(M, Q, [(A, b)]).acceleration, found.acceleration, atol=1e-8)
    for form in (classical, working):
        with pytest.raises(ValueError, match="singular: use augmented or kkt"):
            form(M - 1e-12 * np.eye(7), Q, A, b)
    A = A - np.outer(A @ null, null)  # now nothing holds the massless direction
    for form in (augmented, kkt):
        with pytest.raises(ValueError, match="singular"):
            form(M, Q, A, b)


def test_priorities_keep_the_first_and_do_their_best_for_the_second(rng):
    M, Q, A, b = case(rng, n=4, k=3)
    first, second = (A[:1], b[:1]), (np.vstack([A[:1], A[1:]]), np.array([b[0] + 1.0, *b[1:]]))
    found = priorities(M, Q, [first, second])
    np.testing.assert_allclose(A @ found.acceleration, b, atol=1e-9)  # only the contradiction remains
    np.testing.assert_allclose(found.residual, [0, -1.0, 0, 0], atol=1e-9)
    swapped = priorities(M, Q, [second, first])
    np.testing.assert_allclose(swapped.residual[-1], 1.0, atol=1e-9)
    assert found.rank == 3


def test_weights_say_who_gives_way(rng):
    M, Q, A, _ = case(rng, k=1)
    found = priorities(M, Q, [(A[[0, 0]], [0.0, 1.0])], weights=[[3.0, 1.0]])
    np.testing.assert_allclose(A @ found.acceleration, 0.25, atol=1e-12)


def test_what_freedom_is_left_follows_gauss(rng):
    M, Q, A, b = case(rng)
    two_levels = priorities(M, Q, [(A[:1], b[:1]), (A[1:], b[1:])])
    np.testing.assert_allclose(two_levels.acceleration, classical(M, Q, A, b).acceleration, atol=1e-9)


@pytest.mark.parametrize("form", [classical, working, augmented, kkt])
def test_shapes_and_nan_are_refused(form, rng):
    M, Q, A, b = case(rng)
    with pytest.raises(ValueError, match=r"A \(\.\.\., k, n\)"):
        form(M, Q, A[:, :5], b)
    with pytest.raises(ValueError, match="A must be finite"):
        form(M, Q, np.where(A > 0, np.nan, A), b)
