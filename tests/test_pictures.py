"""Public figures look as the pictures of them that were looked at and stored."""

import numpy as np
import pytest
from pictures import drawn


@pytest.mark.parametrize("name", drawn.FIGURES)
def test_a_figure_looks_as_its_stored_picture(name):
    """`python -m tests.pictures --write` stores new ones, after a change that was meant."""
    apart = drawn.distance(drawn.pixels(drawn.FIGURES[name]()), drawn.stored(name))
    assert apart < drawn.TOLERANCE


def test_a_curve_that_is_missing_is_noticed():
    figure = drawn.lengths()
    figure.axes[0].lines[0].remove()
    assert drawn.distance(drawn.pixels(figure), drawn.stored("lengths")) > drawn.TOLERANCE
    assert drawn.distance(drawn.pixels(figure)[1:], drawn.stored("lengths")) == np.inf
