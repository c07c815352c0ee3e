"""Sensitivity of results, against studies whose answer is known, and figures of them."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from myoquat.analysis.studies import Study, correlation, main_effects, sobol_indices
from myoquat.analysis.studies.figures import plot_bands, plot_heat_map, plot_tornado

# At rest in space, with equal masses, nothing moves but by muscle m1; its peak force at the start is
# Fmax (active + passive), linear in the strength, and no other strength matters.
VARY = {f"muscles.m{k}.max_isometric_force": {"uniform": [0.5, 1.5], "relative": True} for k in (1, 2)}
STUDY = Study(
    "two_link",
    VARY | {"start_u.A.omega_x": {"uniform": [0.0, 1.0]}},
    design="saltelli",
    samples=64,
    duration=0.01,
    times=5,
    summaries=("peak_force", "peak_speed"),
)


@pytest.fixture(scope="module")
def results():
    return STUDY.run()


def test_a_force_depends_on_its_own_strength_alone(results):
    found = sobol_indices(results, ["peak_force.m1", "peak_force.m2"])
    for muscle in ("m1", "m2"):
        own = found.loc[(f"peak_force.{muscle}", f"muscles.{muscle}.max_isometric_force")]
        others = found.loc[f"peak_force.{muscle}"].drop(f"muscles.{muscle}.max_isometric_force")
        np.testing.assert_allclose(own["total"], 1.0, atol=0.1)
        assert own["total_low"] < 1 < own["total_high"] + 0.15
        assert (others["total"].abs() < 0.02).all()


def test_effects_and_correlations_of_a_linear_output(results):
    effects = main_effects(results, "peak_force.*")
    strength = "muscles.m2.max_isometric_force"
    x, y = results["values"][:, 1].values, results.peak_force[:, 1].values
    slope = stats.linregress(x, y).slope
    low, high = np.quantile(x, [1 / 3, 2 / 3], method="nearest")
    wanted = slope * (x[x >= high].mean() - x[x <= low].mean())
    np.testing.assert_allclose(effects.loc[strength, "peak_force.m2"], wanted, rtol=0.01)
    for method in ("spearman", "pearson"):
        found = correlation(results, ["peak_force.m1", "peak_force.m2"], method)
        assert found.loc[strength, "peak_force.m2"] > 0.99
        reference = stats.spearmanr if method == "spearman" else stats.pearsonr
        np.testing.assert_allclose(
            found.loc[strength, "peak_force.m1"], reference(x, results.peak_force[:, 0]).statistic, atol=1e-12
        )


def test_what_cannot_be_analysed(results):
    other = Study("two_link", VARY, samples=4, duration=0.01, times=0).run()
    failed, axes = results.copy(deep=True), Figure().subplots()
    failed.status[3] = 2
    none = failed.copy(deep=True)
    none.status[:] = 3
    for call, words in (
        (lambda: main_effects(results, "force.*"), r"no output fits 'force.\*'; there are: .*peak_force.m1"),
        (lambda: correlation(results, "peak_force.m1", "kendall"), "method is 'spearman' or 'pearson'"),
        (lambda: sobol_indices(other, "q_final.A.Q0"), "need the design 'saltelli', not 'latin_hypercube'"),
        (lambda: sobol_indices(failed, "peak_force.m1"), "every sample; 1 failed"),
        (lambda: main_effects(none, "peak_force.m1"), "0 of 320 samples ran to the end"),
        (lambda: plot_bands(axes, other, "A.Q0"), "kept no times"),
        (lambda: plot_bands(axes, results, "x"), r"no coordinate or velocity 'x'; nearest: A.Q0"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_figures_show_the_numbers(results):
    figure = Figure()
    tornado, heat, spaghetti = figure.subplots(1, 3)
    effects = main_effects(results, "peak_force.m2")["peak_force.m2"]
    plot_tornado(effects, axes=tornado)
    assert main_effects(results, "u_final").attrs["units"]["u_final.A.omega_x"] == "rad/s"
    assert tornado.get_xlabel() == "effect on peak_force.m2 [N]"
    widths = [bar.get_width() for bar in tornado.patches]
    assert np.array_equal(np.abs(widths), np.sort(effects.abs()))
    table = correlation(results, ["peak_force.m1", "peak_force.m2"])
    image = plot_heat_map(heat, table)
    assert np.array_equal(image.get_array(), table.to_numpy())
    plot_bands(spaghetti, results, "A.omega_x", lines=10)
    median = next(line for line in spaghetti.lines if line.get_label() == "median")
    np.testing.assert_allclose(median.get_ydata(), np.degrees(np.median(results.u[:, :, 0], axis=0)), rtol=1e-12)
    assert spaghetti.get_ylabel() == "A.omega_x [deg/s]"
    figure.canvas.draw()
