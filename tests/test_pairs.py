"""Every pair of features: a few hundred cases of `tests.pairs`, whose laws need no reference."""

import numpy as np
import pytest

from tests.pairs.array import covering_array, missing_pairs
from tests.pairs.checks import Broken, close
from tests.pairs.features import FEATURES
from tests.pairs.laws import LAWS
from tests.pairs.run import run

CASES = 12  # of every law in NumPy, a few of those that are compiled: `python -m tests.pairs N` runs any number
LEVELS = {name: tuple(levels) for name, levels in FEATURES.items()}


@pytest.mark.parametrize("law", LAWS)
def test_law_holds_where_features_meet(law):
    count = CASES if LAWS[law].every == 1 else 1
    report = run(count, seed=20261128, laws=[law])
    assert report.checked >= count
    assert not report.failures, "\n".join(map(str, report.failures))


def test_every_pair_of_levels_occurs():
    rows = covering_array(LEVELS, np.random.default_rng(0))
    assert not missing_pairs(LEVELS, rows)
    assert missing_pairs(LEVELS, rows[:-1])  # no row is there for nothing


def test_case_is_the_same_alone():
    together = run(20, seed=3, laws=["inverse", "toml"])
    alone = run(1, seed=3, laws=["inverse"], only=0)
    assert (together.counts["inverse", "holds"], alone.counts["inverse", "holds"]) == (10, 1)


def test_numbers_that_differ_break_a_law():
    close("length", [1.0, 2e9], [1.0, 2e9 + 1.0])
    with pytest.raises(Broken, match=r"length\[1\]: 2.1, not 2"):
        close("length", [1.0, 2.1], [1.0, 2.0])
    with pytest.raises(Broken, match="nan"):
        close("length", [np.nan], [1.0])
