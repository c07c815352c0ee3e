"""Designs of studies: which values in which sample, and what is refused."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

from myoquat.analysis.studies.specification import DISTRIBUTIONS
from myoquat.analysis.studies.store import contents_of
from myoquat.analysis.studies.study import Study

FORCE = "muscles.*.max_isometric_force"
SPREAD = {"uniform": [0.8, 1.2], "relative": True}


def study(vary, **options):
    return Study("two_link", vary, **({"duration": 0.01, "times": 1} | options))


@pytest.mark.parametrize(
    ("design", "first", "second", "rows"),
    [
        ("grid", [4.0, 5.0, 6.0], [1.9, 2.0], [[m, l] for m in (4.0, 5.0, 6.0) for l in (1.9, 2.0)]),
        ("grid", {"range": [4.0, 6.0], "count": 5}, [1.0], [[m, 1.0] for m in (4.0, 4.5, 5.0, 5.5, 6.0)]),
        ("table", [4.0, 5.0], [1.0, 2.0], [[4.0, 1.0], [5.0, 2.0]]),
        ("table", range(4, 6), [Fraction(1), np.float32(2.0)], [[4.0, 1.0], [5.0, 2.0]]),
    ],
)
def test_a_grid_takes_every_combination_once_and_a_table_goes_row_by_row(design, first, second, rows):
    made = study({"bodies.A.mass": first, "muscles.m1.optimal_length": second}, design=design)
    assert made.count == len(rows)
    assert made.values().tolist() == rows
    vary = json.loads(json.dumps(contents_of(made).description))["vary"]  # of plain numbers
    assert vary[1][1] == second


@pytest.mark.parametrize("design", ["random", "latin_hypercube", "sobol", "saltelli"])
def test_any_rows_can_be_had_alone(design):
    made, again = (
        study({FORCE: SPREAD, "bodies.A.mass": {"normal": [5.0, 0.1]}}, design=design, samples=64, seed=seed)
        for seed in (7, 8)
    )
    whole = made.values()
    assert len(np.unique(whole[: made.design_of.base], axis=0)) == 64
    for begin, end in ((0, 1), (0, 13), (5, 6), (31, 64), (made.count - 3, made.count)):
        assert np.array_equal(made.values(begin, end), whole[begin:end])
    assert not np.array_equal(again.values(), whole)


def test_latin_hypercube_and_sobol_are_scipy_s():
    vary = {"bodies.A.mass": {"uniform": [0.0, 1.0]}, "bodies.B.mass": {"uniform": [0.0, 1.0]}}
    rng = np.random.default_rng(3)
    assert np.array_equal(
        study(vary, design="latin_hypercube", samples=50, seed=3).values(), qmc.LatinHypercube(2, rng=rng).random(50)
    )
    sobol = qmc.Sobol(2, rng=np.random.default_rng(3)).random(64)
    assert np.array_equal(study(vary, design="sobol", samples=64, seed=3).values(), sobol)


def test_saltelli_rows_are_a_b_and_a_with_one_column_of_b():
    vary = {f"bodies.A.center_of_mass.{k}": {"uniform": [0.0, 1.0]} for k in "xyz"}
    rows = study(vary, design="saltelli", samples=8).values().reshape(5, 8, 3)
    for i in range(3):
        mixed = rows[0].copy()
        mixed[:, i] = rows[1][:, i]
        assert np.array_equal(rows[2 + i], mixed)


def test_relative_values_multiply_the_model_s_own():
    made = study({FORCE: SPREAD}, samples=200)
    factors = made.values() / made.parameters.defaults
    assert factors.min() >= 0.8
    assert factors.max() <= 1.2
    assert np.ptp(factors, axis=0).min() > 0.39
    together = study({FORCE: SPREAD | {"together": True}}, samples=200)
    assert len(together.design_of.axes) == 1
    np.testing.assert_allclose(np.ptp(together.values() / made.parameters.defaults, axis=1), 0, atol=1e-15)


REFERENCES = {
    "uniform": ([2.0, 5.0], stats.uniform(2, 3)),
    "log_uniform": ([1.0, 100.0], stats.loguniform(1, 100)),
    "normal": ([3.0, 0.5], stats.norm(3, 0.5)),
    "truncated_normal": ([3.0, 0.5, 2.5, 4.0], stats.truncnorm(-1, 2, 3, 0.5)),
    "log_normal": ([2.0, 0.3], stats.lognorm(0.3, scale=2)),
    "triangular": ([1.0, 2.0, 5.0], stats.triang(0.25, 1, 4)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_draws_follow_their_distribution(name):
    numbers, distribution = REFERENCES[name]
    made = study({"bodies.A.mass": {name: numbers}}, design="random", samples=4000)
    assert stats.kstest(made.values()[:, 0], distribution.cdf).pvalue > 0.01


def test_independent_axes_of_random_draws_are_not_correlated():
    values = study({FORCE: SPREAD}, design="random", samples=4000).values()
    correlation = np.corrcoef(values.T) - np.eye(6)
    assert np.abs(correlation).max() < 4 / np.sqrt(4000)


@pytest.mark.parametrize(
    ("design", "mass", "message"),
    [
        ("grid", [], "at least one"),
        ("grid", [1.0, 1.0], "the value 1.0 is given twice"),
        ("grid", [1.0, np.nan], "finite numbers"),
        ("grid", "heavy", "a list of values"),
        ("grid", {"range": [2.0, 1.0], "count": 3}, "reversed"),
        ("grid", {"range": [1.0, 2.0]}, "a count of 2 to"),
        ("grid", SPREAD, "a grid needs a list"),
        ("random", [1.0, 2.0], "needs a distribution"),
        ("random", {"uniform": [2.0, 1.0]}, "reversed"),
        ("random", {"normal": [2.0, 0.0]}, "sd of normal must be positive"),
        ("random", {"normal": [2.0]}, "takes 2 finite numbers"),
        ("random", {"uniform": [0.0, np.inf]}, "takes 2 finite numbers"),
        ("random", {"triangular": [1.0, 3.0, 2.0]}, "the mode of triangular"),
        ("random", {"gauss": [2.0, 1.0]}, "distribution 'gauss' is unknown"),
        ("random", {"uniform": [0, 1], "normal": [0, 1]}, "exactly one of"),
        ("random", {"uniform": [0, 1], "relative": 1}, "relative is true or false"),
    ],
)
def test_values_that_a_parameter_cannot_have_are_refused_before_a_run(design, mass, message):
    with pytest.raises(ValueError, match=message):
        study({"bodies.A.mass": mass}, design=design, samples=None if design == "grid" else 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vary": {}}, "varies nothing"),
        ({"vary": {"bodies.A.mas": SPREAD}}, r"no parameter 'bodies.A.mas'; the nearest are .*bodies.A.mass"),
        ({"vary": {FORCE: SPREAD, "muscles.m1.max_isometric_force": SPREAD}}, "named twice"),
        ({"vary": {"bodies.A.center_of_mass.x": SPREAD}}, "own value is zero"),
        ({"vary": {"bodies.A.mass": [1.0], "bodies.B.mass": [1.0, 2.0]}, "design": "table"}, "must have one length"),
        ({"vary": {"bodies.A.mass": [1.0, 2.0]}, "design": "grid"}, "the grid has 2 samples, not 3"),
        ({"samples": 0}, "positive whole number"),
        ({"design": "sobol", "samples": 100}, "a power of 2, such as 128"),
        ({"design": "lhs", "samples": 3}, "design 'lhs' is unknown"),
        ({"seed": -1}, "seed must be"),
        ({"step": 0.003}, "not a whole number of steps"),
        ({"method": "rk5"}, "method 'rk5' is unknown"),
        ({"summaries": ["peak"]}, "summary 'peak' of simulations is unknown"),
        ({"limits": {"A.x": [0, 1]}}, "no coordinate or velocity"),
        ({"limits": {"A.omega_x": [1, 0]}}, "in this order"),
        ({"activation": lambda t: t}, "instead of a function"),
        ({"activation": [2.0] * 6}, r"must lie in \[0, 1\]"),
        ({"times": [0.0015]}, "not one of the steps"),
        ({"times": [0.02]}, "not one of the steps"),
        ({"times": [0.002, 0.001]}, "must be finite and ascend"),
        ({"times": 3}, "cannot be cut into 3 equal parts"),
        ({"times": 0, "final": False}, "keeps nothing"),
        ({"times": 1, "summaries": ["work"], "summary_step": 0.003}, "must divide the duration"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        study(**({"vary": {"bodies.A.mass": SPREAD}, "samples": 3} | options))


def test_a_sample_that_the_model_refuses_is_named():
    made = study({"bodies.A.mass": {"normal": [1.0, 0.5]}}, design="random", samples=1000)
    with pytest.raises(ValueError, match=r"sample \d+: .*mass must be finite and not negative") as caught:
        made.run()
    sample = int(str(caught.value).split()[1].rstrip(":"))
    assert made.values(sample, sample + 1)[0, 0] < 0
