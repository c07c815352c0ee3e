"""Figures of force laws: what is drawn is what the law says, with units, and apart in grey."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from myoquat.analysis import plot_curves
from myoquat.data import load_model
from myoquat.joints import ModelError
from myoquat.muscle import ActivationDynamics, Muscle
from myoquat.muscle.laws import CubicExponentialMuscle, RigidTendonMuscle
from tests.every_part import HILL, OTHER


@pytest.mark.parametrize("law", [*HILL, *OTHER], ids=lambda law: law.kind)
def test_every_law_is_drawn(law, tmp_path):
    figure = plot_curves(law)
    for ax in figure.axes:
        lines = ax.get_lines()
        assert len({(line.get_linestyle(), line.get_color()) for line in lines}) == len(lines)
        assert ax.get_legend() is not None
        assert ax.get_xlabel()
        assert ax.get_ylabel()
    figure.savefig(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 5000


def test_lines_are_the_curves():
    law = HILL[1]
    figure = plot_curves(law)
    for ax, curve in ((figure.axes[0], law.active_force), (figure.axes[2], law.tendon_force)):
        x, y = ax.get_lines()[0].get_data()
        np.testing.assert_array_equal(y, curve(np.asarray(x)))
    top = figure.axes[0].child_axes[0]
    FigureCanvasAgg(figure).draw()
    np.testing.assert_allclose(np.array(top.get_xlim()), 0.3 * np.array(figure.axes[0].get_xlim()))


def test_a_path_is_drawn_around_its_rest():
    """The active force of a muscle with a rigid tendon is greatest near the tendon and the optimal fiber together."""
    passive, _, strong = (
        np.asarray(line.get_data()) for line in plot_curves(RigidTendonMuscle(800.0, 0.1, 0.2, 0.2)).axes[0].get_lines()
    )
    assert strong[0, np.argmax(strong[1] - passive[1])] == pytest.approx(0.2 + 0.1, abs=0.01)


def test_a_muscle_brings_its_activation_dynamics():
    muscle = Muscle("m", load_model("two_link").muscles[0].path, HILL[0], None, ActivationDynamics())
    t, a = plot_curves(muscle).axes[3].get_lines()[0].get_data()
    assert np.max(a) > 0.9
    assert np.ptp(t) == pytest.approx(8 * 0.075)


def test_what_has_no_curves_is_refused():
    muscle = Muscle("m", load_model("two_link").muscles[0].path)
    with pytest.raises(ModelError, match="muscle 'm': no force law"):
        plot_curves(muscle)
    with pytest.raises(ModelError, match="no max_isometric_force is given"):
        plot_curves(CubicExponentialMuscle(0.3))
    with pytest.raises(TypeError, match="not str"):
        plot_curves("thelen2003")
