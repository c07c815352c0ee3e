"""The moving shoulder of the first page and of the README."""

from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="needs the extra view")
ROOT = Path(__file__).parents[1]
FILE = ROOT / "data" / "figures" / "shoulder.webp"


def test_it_is_light_moves_and_is_shown_on_both_pages():
    """`python docs/site_animation.py` makes it."""
    assert FILE.stat().st_size < 2**20
    with Image.open(FILE) as film:
        first = np.asarray(film.convert("RGB"), dtype=float)
        film.seek(film.n_frames // 2)
        highest = np.asarray(film.convert("RGB"), dtype=float)
    assert (np.abs(highest - first).max(axis=-1) > 60).mean() > 0.01
    for page in ("README.md", "docs/index.md"):
        assert "data/figures/shoulder.webp" in (ROOT / page).read_text(encoding="utf-8")
