"""Public figures look as the pictures of them that were looked at and stored."""

from pathlib import Path

import numpy as np
import pytest
from pictures import drawn

ROOT = Path(__file__).parents[1]
ANIMATION = ROOT / "data" / "figures" / "shoulder.webp"


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


def test_the_moving_shoulder_is_light_and_is_shown_on_both_first_pages():
    """`python docs/site_animation.py` makes it."""
    images = pytest.importorskip("PIL.Image", reason="needs the extra view")
    assert ANIMATION.stat().st_size < 2**20
    with images.open(ANIMATION) as film:
        first = np.asarray(film.convert("RGB"), dtype=float)
        film.seek(film.n_frames // 2)
        highest = np.asarray(film.convert("RGB"), dtype=float)
    assert (np.abs(highest - first).max(axis=-1) > 60).mean() > 0.01
    for page in ("README.md", "docs/index.md"):
        assert "data/figures/shoulder.webp" in (ROOT / page).read_text(encoding="utf-8")
