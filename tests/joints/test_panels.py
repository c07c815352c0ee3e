"""Small multiples: one unit per axis, at most eight curves, zeros reported instead of drawn."""

import numpy as np
import pytest

from myoquat.core import MAX_CURVES, Panel, by_unit, draw_panels

TIME = np.linspace(0.0, 1.0, 5)


def shown(figure):
    return [axis for axis in figure.axes if axis.get_visible()]


def test_columns_are_parted_by_unit_and_angles_are_degrees():
    values = np.tile([np.pi, 2.0, np.pi / 2], (5, 1))
    angles, positions = by_unit(["hip", "tx", "knee"], ["rad", "m", "rad"], values)
    assert (angles.unit, angles.names, positions.unit, positions.names) == ("deg", ("hip", "knee"), "m", ("tx",))
    np.testing.assert_allclose(angles.values[0], [180.0, 90.0])
    np.testing.assert_array_equal(positions.values, values[:, 1:2])


def test_every_curve_is_drawn_once_in_a_legible_axis_of_its_side():
    names = [f"muscle{k}_{side}" for side in "rl" for k in range(27)]
    rng = np.random.default_rng(0)
    figure = draw_panels(TIME, [Panel("forces", "N", tuple(names), rng.uniform(1, 2, (5, 54)), shared=True)])
    drawn = [[text.get_text() for text in axis.get_legend().get_texts()] for axis in shown(figure)]
    assert sorted(label for labels in drawn for label in labels) == sorted(names)
    assert max(map(len, drawn)) <= MAX_CURVES
    for axis, labels in zip(shown(figure), drawn, strict=True):
        side = "right" if "right" in axis.get_title(loc="left") else "left"
        assert all(label.endswith(f"_{side[0]}") for label in labels)
        styles = {(line.get_color(), str(line.get_linestyle())) for line in axis.lines}
        assert len(styles) == len(labels)
    assert len({axis.get_ylim() for axis in shown(figure)}) == 1  # one scale for one quantity


def test_zero_curves_are_left_out_and_reported():
    values = np.stack([TIME, 0 * TIME], axis=-1)
    panels = [Panel("forces", "N", ("a", "b"), values), Panel("moments", "N m", ("c",), 0 * values[:, :1])]
    figure = draw_panels(TIME, panels)
    assert [line.get_label() for axis in shown(figure) for line in axis.lines] == ["a"]
    assert figure.get_supxlabel() == "Zero throughout and not drawn: forces of b; moments of c."


@pytest.mark.parametrize(("count", "axes"), [(MAX_CURVES, 2), (MAX_CURVES + 1, 1)])
def test_one_constant_takes_a_sentence_in_place_of_several_axes(count, axes):
    constant = Panel("activations", "", tuple(f"m{k}" for k in range(count)), np.full((5, count), 0.1))
    figure = draw_panels(TIME, [constant, Panel("forces", "N", ("a",), TIME[:, None])])
    assert len(shown(figure)) == axes
    sentence = f"Constant throughout and not drawn: activations of {count} curves, 0.1."
    assert figure.get_supxlabel() == ("" if axes == 2 else sentence)


def test_numbers_of_axes_have_no_offset_and_flat_curves_stay_flat():
    values = 1e6 + 1e-7 * np.random.default_rng(0).normal(size=(5, 1))
    figure = draw_panels(TIME, [Panel("forces", "N", ("a",), values)])
    figure.canvas.draw()
    (axis,) = shown(figure)
    assert axis.yaxis.get_offset_text().get_text() == ""
    low, high = axis.get_ylim()
    assert high - low > 1e5
