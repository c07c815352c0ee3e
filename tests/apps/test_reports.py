"""Reports in HTML: units everywhere, shared scales, errors of markers first, sizes and masses before and after."""

import re

import numpy as np
import pandas as pd
import pytest

import myoquat as mq
from myoquat.analysis.motion import inverse_kinematics, scale_model
from myoquat.analysis.recruitment import redundancy
from myoquat.analysis.studies import plot_tornado
from myoquat.apps.drawing import curves, inline_svg
from myoquat.apps.opensim_tools.sections import angle_units, load_sections, marker_errors, scaling_sections
from myoquat.apps.report import Numbers, Section, write_report
from myoquat.apps.study_pages import write_study_report
from myoquat.core import Picture, small_axes
from myoquat.muscle.coordinates import Marker
from tests.analysis.motion.conftest import shown
from tests.bodies import afloat, on_hinge, on_slide

TIME = pd.Index(np.linspace(0, 1, 5), name="time")


def rod():
    """Two rods with markers."""
    first = on_hinge("first", mass=2.0, center_of_mass=(0.2, 0, 0))
    second = on_hinge("second", parent="first", position=(0.4, 0, 0), center_of_mass=(0.1, 0, 0))
    markers = [Marker(f"{b}{k}", b, (0.1 * k, 0.05, 0.0)) for b in ("first", "second") for k in range(3)]
    return mq.Model(mq.ArticulatedSystem((first, second)), markers=tuple(markers))


def seen(model, q, noise=0.0):
    markers = shown(model, np.array(q))
    markers.positions[:, 0, 1] += noise
    return markers


def test_a_page_has_units_on_every_panel(tmp_path):
    table = pd.DataFrame(
        {"hip_in_ground_fx": [1.0, 2, 3, 4, 5], "hip_in_ground_mx": 2.0, "hip_in_ground_px": 0.1}, TIME
    )
    write_report(tmp_path / "a.html", "loads", ["a line"], [Section("Loads", table), Section("One frame", table[:1])])
    page = (tmp_path / "a.html").read_text()
    assert page.count("<svg") == 1  # one frame is a list of numbers
    for unit in ("[N]", "[N m]", "[m]"):
        assert unit in page
    assert re.search(r"<th>hip_in_ground_mx</th>\s*<td>2</td>\s*<td>N m</td>", page)


def test_loads_have_an_axis_for_the_force_and_the_moment_of_every_joint():
    columns = [f"{joint}_on_leg_in_ground_{q}{x}" for joint in ("hip", "knee") for q in "fmp" for x in "xyz"]
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 18)), TIME, columns)
    (section,) = load_sections(table, None, None)
    assert list(section.axes) == [f"{j}_on_leg_in_ground: {q}" for q in ("force", "moment") for j in ("hip", "knee")]
    assert section.axes["knee_on_leg_in_ground: moment"]["knee_on_leg_in_ground_mz"] == "z"
    page = "".join(section.lines())
    assert page.count("[N]") == page.count("[N m]") == 2
    assert "<th>knee_on_leg_in_ground_px</th>" in page  # not drawn, but in the table


def test_reserves_come_the_greatest_first_with_units():
    slide = on_slide("slide", "y", mass=2.0)
    turn = on_hinge("turn", parent="slide", center_of_mass=(0.1, 0, 0))
    model = mq.Model(mq.ArticulatedSystem((slide, turn), gravity=(0, -9.81, 0)))
    found = redundancy(model, mq.simulate(model, duration=0.1, step=1e-2), reserves=1.0)
    table = load_sections(found.joint_loads().to_dataframe(), found, None)[-1].table
    assert dict(table["unit"]) == {model.system.velocity_names[0]: "N", model.system.velocity_names[1]: "N m"}
    assert list(table["greatest"]) == sorted(table["greatest"], reverse=True)


def test_velocities_have_titles():
    page = curves(pd.DataFrame({"a_r": TIME, "b_r": TIME}, TIME), {"a_r": "deg/s", "b_r": "m/s"})
    assert "angular velocities" in page
    assert ">velocities<" in page


def test_errors_of_markers_come_the_worst_first():
    model = rod()
    fit = inverse_kinematics(model, seen(model, [[0.1, 0.2], [0.2, 0.3]], noise=0.01))
    table = marker_errors(fit).table
    assert table.index[0] == "all markers"
    errors = table["RMS [mm]"][1:]
    assert list(errors) == sorted(errors, reverse=True)
    assert table.index[1] == "first0"
    np.testing.assert_allclose(table.loc["all markers", "RMS [mm]"] ** 2, (errors**2).mean())


def test_scaling_tells_factors_masses_and_errors_before_and_after():
    model = rod()
    person = scale_model(model, factors={"first": (1.5, 1.0, 1.0)}, mass=6.0)
    sections = {section.heading: section for section in scaling_sections(model, person, seen(person, [[0.1, 0.2]]))}
    bodies = sections["Bodies"].table
    np.testing.assert_allclose(bodies.loc["first", "factor x"], 1.5)
    np.testing.assert_allclose(bodies.loc["sum"].iloc[:2], [3.0, 6.0])
    errors = sections["Errors of markers of the static trial, before and after scaling"].table
    assert errors.loc["all, RMS", "before [mm]"] > 10
    assert errors.loc["all, RMS", "after [mm]"] < 1e-3
    pixels = sections["Model and markers"].picture.astype(float)
    pink = (pixels[..., 0] > pixels[..., 1] + 60) & (pixels[..., 2] > pixels[..., 1] + 20)
    assert pink.sum() > 30


def test_every_column_of_a_motion_has_a_unit():
    """A floating joint has velocities of its own names beside the speeds of angles."""
    free = afloat("free", inertia=1)
    for model in (mq.load_model("two_link", rotations="sequence"), mq.Model(mq.ArticulatedSystem((free,)))):
        motion = mq.simulate(model, duration=0.01, step=1e-3, activation=np.zeros(len(model.muscles))).to_motion()
        units = angle_units(model)
        assert {units[str(name)] for name in motion.angles(in_degrees=True)} <= {"deg", "deg/s", "m", "m/s", "1"}


def test_sentences_in_tables_break_lines_and_numbers_do_not():
    table = pd.DataFrame({"greatest": [1.0], "cause": ["its path is up to 8 mm longer in A around the head"]}, ["m1"])
    (page,) = Numbers("Differences", table).lines()
    assert re.search(r'<td>1</td>\s*<td><div class="words">its path', page)


def test_a_column_of_sentences_is_flush_left_as_a_whole_and_lines_end_in_blanks():
    table = pd.DataFrame({"what": ["a sentence & its <end>" * 3, "one\nword"], "count": [1, 2]}, ["a", "b\tc"])
    (page,) = Numbers("Words", table).lines()
    assert page.count('<div class="words">') == 3  # the heading and both cells
    assert "<td>1</td>" in page
    assert '<div class="words">one word</div>' in page
    assert "<th>b c</th>" in page


def test_labels_below_bars_stay_within_their_figure():
    """The name of a result below the last bars was cut at the edge of the page."""
    figure, axes = small_axes(9, 3, 15, 3.2)
    names = [f"muscles.m{k}.max_isometric_force" for k in range(6)]
    for axis in axes:
        plot_tornado(pd.Series(np.linspace(0.001, 0.0445, 6), names, name="range_of_motion.A.omega_z"), axes=axis)
    inline_svg(figure)
    figure.draw_without_rendering()
    for axis in axes:
        assert axis.xaxis.label.get_window_extent().x1 <= figure.bbox.x1


def test_a_study_is_reported_on_one_page(tmp_path):
    vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}, "muscles.m1.max_isometric_force": {"uniform": [5.0, 9.0]}}
    study = mq.Study("two_link", vary, samples=6, duration=0.01, times=2, summaries=["peak_force"])
    results = study.run(progress=False)
    write_study_report(results, tmp_path / "study.html", "Study <arms>")
    page = (tmp_path / "study.html").read_text()
    assert "Study &lt;arms&gt;" in page
    assert page.count("<svg") == 3  # main effects, correlations, bands
    mean = results["values"].values[:, 0].mean()
    assert re.search(rf"<th>bodies.B.mass</th>\s*<td>[^<]*</td>\s*<td>{mean:.4g}</td>", page)
    with pytest.raises(FileNotFoundError):
        write_study_report(results, tmp_path / "none" / "a.html", "")


def test_axes_of_drawn_figures_have_rounded_positions():
    """The last digits of a constrained layout change from run to run; a page must not."""
    figure = Picture(layout="constrained")
    for axis, words in zip(figure.subplots(1, 2), ("short", "a much longer label"), strict=True):
        axis.set_ylabel(words)
    first = inline_svg(figure)
    for axis in figure.axes:
        position = 1e4 * np.array(axis.get_position().bounds)
        np.testing.assert_allclose(position, position.round(), atol=1e-9)
    assert inline_svg(figure) == first
