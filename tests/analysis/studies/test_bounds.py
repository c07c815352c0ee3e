"""Bounds between two parameters hold in every sample, not only where a column has its ends."""

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.muscle import Parameters
from myoquat.muscle.laws import Thelen2003
from tests.bodies import with_muscles

PENNATION = ("muscles.m1.pennation", "muscles.m1.maximum_pennation")


@pytest.fixture(scope="module")
def model():
    return with_muscles(load_model("two_link"), law=Thelen2003(30.0, 1.5, 0.6, 0.1, tendon="rigid"))


def test_the_inertia_of_a_sample_between_the_ends_is_checked():
    """Each row passes by its numbers; in the second one the moments violate the triangle inequality."""
    parameters = Parameters.of(load_model("two_link"), ("bodies.A.inertia.xx", "bodies.A.inertia.yy"))
    rows = np.array([(0.40, 0.40), (0.42, 0.48), (0.50, 0.50)])
    with pytest.raises(ValueError, match="sample 1: body 'A': the inertia violates the triangle inequality"):
        parameters.check(rows)
    assert np.array_equal(parameters.check(rows[::2]), rows[::2])


def test_every_refusal_is_found_among_many(model, rng):
    parameters = Parameters.of(model, [*PENNATION, "muscles.m2.optimal_fiber_length"])
    rows = rng.uniform((0.0, 0.1, 1.0), (1.2, 1.5, 2.0), (2000, 3))
    good = rows[rows[:, 0] < rows[:, 1]]
    assert np.array_equal(parameters.check(good), good)
    for k in (1, len(good) // 2, len(good) - 2):
        spoilt = good.copy()
        spoilt[k, :2] = 0.7, 0.65
        with pytest.raises(ValueError, match=rf"sample {k}: .*pennation must lie in \[0, 0.65\)"):
            parameters.check(spoilt)


def test_boxes_that_pass_are_not_searched(model, rng, monkeypatch):
    count, bind = [], Parameters.bind

    def counted(self, p):
        count.append(p)
        return bind(self, p)

    monkeypatch.setattr(Parameters, "bind", counted)
    names = ["muscles.*.max_isometric_force", "muscles.*.optimal_fiber_length"]
    parameters = Parameters.of(model, names)
    parameters.check(rng.uniform(0.9, 1.1, (5000, 12)))
    assert len(count) <= 2 * 12 + 4
