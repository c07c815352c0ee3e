"""Names as text elsewhere: whatever they hold, they do nothing there, and stay apart."""

import keyword

import matplotlib.figure
from hypothesis import given, strategies as st

from myoquat.core import figure_label, identifiers, markup, printable, unique, widget_label

ANY = st.text(st.characters(exclude_categories=()))


@given(ANY)
def test_printable_is_one_line_that_can_be_written(text):
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")


@given(ANY)
def test_markup_holds_no_markup(text):
    shown = markup(text)
    assert not set(shown) & set("<>\"'$\\")
    assert "%{" not in shown


@given(st.lists(ANY, max_size=6))
def test_identifiers_are_identifiers_and_apart(names):
    found = identifiers(names, "a", taken={"a_x", "a_0"})
    assert len(found) == len(names) == len(set(found) - {"a_x", "a_0"})
    for word in found:
        assert word.isascii()
        assert word.isidentifier()
        assert not keyword.iskeyword(word)
        assert len(word) < 63


def test_identifiers_show_the_name_where_they_can():
    names = ["m1", "rectus femoris", "rectus-femoris", "Déltoïd", "for", "", " ", "三角筋", "1"]
    assert identifiers(names, "a") == [
        "a_m1", "a_rectus_femoris", "a_rectus_femoris_2", "a_Deltoid", "a_for", "a_x", "a_x_2", "a_x_3", "a_1",
    ]  # fmt: skip


def test_a_number_that_is_taken_is_passed_over():
    assert identifiers(["m", "m_2", "m"], "a") == ["a_m", "a_m_2", "a_m_3"]
    assert unique(["a", "a (2)", "a"]) == ["a", "a (2)", "a (3)"]


def test_ordinary_names_stay_as_they_are():
    for name in ("m1", "A.Q0", "biceps (long head)", "Müller"):
        assert printable(name) == figure_label(name) == widget_label(name) == markup(name) == name


def test_figures_show_names_literally(tmp_path):
    figure = matplotlib.figure.Figure()
    axes = figure.subplots()
    names = ["$\\frac{", "a$b$", "_hidden", "two\nlines", "$", "\\"]
    for name in names:
        axes.plot([0, 1], label=figure_label(name))
    axes.set_title(figure_label("$\\nothing$") + ": $x^2$")
    assert len(axes.legend().get_texts()) == len(names)
    figure.savefig(tmp_path / "figure.png")
