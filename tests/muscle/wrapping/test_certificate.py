"""The path past several surfaces is the shortest of all taut ones, or it is flagged."""

import numpy as np
import pytest

from benchmarks.wrapping import certificate

# Poses at which the search from one guess ended in another local minimum: ends, and of each surface position, unit
# quaternion and sizes [m].
MISSED = {
    ("sphere", "sphere"): (
        -0.01767,
        -0.22789,
        0.07696,
        0.01764,
        0.21489,
        -0.05519,
        -0.01758,
        -0.07384,
        0.04258,
        1.0,
        0.0,
        0.0,
        0.0,
        0.07315,
        0.06456,
        -0.01651,
        -0.04692,
        1.0,
        0.0,
        0.0,
        0.0,
        0.05365,
    ),
    ("sphere", "ellipsoid"): (
        0.05578,
        -0.19914,
        0.04247,
        -0.05957,
        0.20519,
        -0.05289,
        -0.02044,
        0.06845,
        -0.0043,
        1.0,
        0.0,
        0.0,
        0.0,
        0.0536,
        0.02659,
        -0.10746,
        0.01386,
        -0.443194888,
        0.283896725,
        0.171098026,
        0.832890393,
        0.07854,
        0.07861,
        0.04292,
    ),
}


@pytest.mark.parametrize("types", MISSED)
def test_a_path_past_two_surfaces_without_sides_is_the_shortest(types):
    gain, _, bound = certificate.certified(types, np.array([MISSED[types]]))
    assert not bound.any()
    assert np.abs(gain).max() < 1e-6


@pytest.mark.parametrize("types", [("sphere", "sphere"), ("sphere", "ellipsoid"), ("ellipsoid", "ellipsoid")])
def test_no_taut_path_is_shorter_at_random_configurations(types):
    """Of 100 configurations each; where the path touches one surface at most, no path can be shorter."""
    gain, flagged, bound = certificate.certified(types, certificate.scenes(types, 100, np.random.default_rng(35)))
    assert 0.1 < 1 - bound.mean() < 0.5
    assert not np.any((gain > 1e-6) & ~flagged)
    assert not np.any(gain < -1e-6)  # shooting misses none


@pytest.mark.parametrize("types", [("sphere", "sphere"), ("sphere", "ellipsoid")])
def test_every_jump_along_closed_curves_is_flagged(types):
    _, unflagged = certificate.curves(types, 30, np.random.default_rng(7))
    assert unflagged == 0
