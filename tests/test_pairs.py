"""Every pair of features: a few hundred cases of `tests.pairs`, whose laws need no reference."""

import contextlib
import warnings
from functools import cache
from itertools import islice

import numpy as np
import pytest

from tests.pairs.array import covering_array, missing_pairs
from tests.pairs.case import made
from tests.pairs.checks import Broken, NotHere, close, close_to_slope
from tests.pairs.features import PLAIN
from tests.pairs.laws import GROUPS, IN_URDF, LAWS, Law, factors, urdf
from tests.pairs.peers import IN_OPENSIM, MUJOCO, OPENSIM, in_mujoco, written
from tests.pairs.run import check, run

SEED, ROWS = 20261128, sum(group.rows for group in GROUPS.values())
LEVELS = factors({})
QUICK = ("inverse", "momentum", "work", "toml")  # laws by turns on rows in which every pair of levels occurs
PARTS = 12


@pytest.mark.parametrize("first", range(0, ROWS, 6))
def test_laws_hold_where_features_meet(first):
    """Models of all groups, each with every law that speaks of it: `python -m tests.pairs N` runs any number."""
    slow = [name for name in LAWS if name not in QUICK]
    report = run(1000, SEED, slow, first=first * len(LAWS), end=(first + 6) * len(LAWS), own=1)
    assert report.checked >= 8
    assert not report.failures, "\n".join(map(str, report.failures))


@pytest.mark.parametrize("part", range(PARTS))
def test_every_pair_of_levels_meets_a_law(part):
    """The pairs are those of all features. Rows of two surfaces side by side are checked by their length alone."""
    broken = []
    for k, row in islice(enumerate(covering()), part, None, PARTS):
        laws = [name for name in QUICK if LAWS[name].speaks(row)] or ["rate"]
        outcome, message = check(laws[k % len(laws)], row, (SEED, k))
        broken += [f"row {k}, {laws[k % len(laws)]}: {message}"] if outcome == "broken" else []
    assert not broken, "\n".join(broken)


def test_no_pair_of_levels_is_missing():
    assert not missing_pairs(LEVELS, covering())


@cache
def covering():
    return covering_array(LEVELS, np.random.default_rng(SEED))


@pytest.mark.peers
def test_mujoco_agrees_with_written_files():
    for case in cases(Law(in_mujoco, MUJOCO), 8):
        in_mujoco(case)


@pytest.mark.peers
def test_opensim_agrees_with_written_files(tmp_path, in_opensim):
    expected = {}
    for k, case in enumerate(cases(Law(written, OPENSIM), 12)):
        with contextlib.suppress(NotHere):
            expected[str(tmp_path / f"m{k}.osim")] = written(case, tmp_path / f"m{k}.osim")
    assert len(expected) >= 6
    for path, found in zip(expected, in_opensim(IN_OPENSIM, *expected), strict=True):
        for state, wanted in zip(found, expected[path], strict=True):
            close(path, list(wanted.values()), [state[name] for name in wanted], 1e-6)


def test_urdf_files_keep_accelerations():
    for case in cases(Law(urdf, IN_URDF), 16):
        urdf(case)


def cases(law, count):
    """Cases of a law, without external torques."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, row in enumerate(covering_array(factors(law.levels), np.random.default_rng(8))[:count]):
            with contextlib.suppress(NotHere):
                case = made(row, k)
                case.torque = 0.0 * case.torque
                yield case


@pytest.mark.parametrize("group", ["any", "smooth and held"])
def test_every_pair_of_levels_occurs(group):
    levels = GROUPS[group].factors
    rows = covering_array(levels, np.random.default_rng(0))
    assert not missing_pairs(levels, rows)
    assert missing_pairs(levels, rows[:-1])  # no row is there for nothing


def test_case_is_the_same_alone():
    together = run(20, SEED, laws=["inverse", "toml"])
    alone = run(1, SEED, laws=["inverse"], end=1)
    assert (together.counts["inverse", "holds"], alone.counts["inverse", "holds"]) == (10, 1)


def test_numbers_that_differ_break_a_law():
    close("length", [1.0, 2e9], [1.0, 2e9 + 1.0])
    with pytest.raises(Broken, match=r"length\[1\]: 2.1, not 2"):
        close("length", [1.0, 2.1], [1.0, 2.0])
    with pytest.raises(Broken, match="nan"):
        close("length", [np.nan], [1.0])


def test_slope_beside_a_kink_is_compared_with_smaller_steps():
    """|x - d| at 0, whose difference over a step h > d is off."""

    def slope(share, at=0.03):
        h = 0.1 * share
        return (abs(h - at) - abs(-h - at)) / (2 * h)

    close_to_slope("slope", -1.0, slope, 1e-9)
    with pytest.raises(Broken, match="slope"):
        close_to_slope("slope", -0.9, slope, 1e-9)


MUSCLE_AND_MOTOR = {
    "law": "degroote rigid", "activation": "smooth", "actuator": "delayed", "input": "one", "start": "later",
}  # fmt: skip
ENVIRONMENTS = {
    "a projection in the metric of implicit damping": (1711, {
        "tree": "branch", "passive": "tip", "coupler": "polynomial", "limit": "swing and twist",
        "actuator": "integrating"}),
    "fibers that start at rest": (1711, {"law": "thelen elastic"}),
    "a prescribed coordinate": (1711, {"lock": "prescribed", "actuator": "coordinate", "start": "later"}),
    "a prescribed muscle beside a motor": (1711, MUSCLE_AND_MOTOR),
    "a prescribed motor beside a muscle": (1713, MUSCLE_AND_MOTOR),
}  # fmt: skip


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_is_a_simulation(name):
    """The first two were off: by 2e-9, as the projection used the mass matrix without h D."""
    row, levels = ENVIRONMENTS[name]
    assert check("environment", PLAIN | {"joint": "spherical"} | levels, (20261129, row)) == ("holds", "")
