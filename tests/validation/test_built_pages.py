"""The pages of the site that `python -m validation` wrote, and the numbers that the guide takes from them."""

import re
from pathlib import Path

import pytest

from validation.__main__ import RULES, STUDIES

DOCS = Path(__file__).parents[2] / "docs"
RMS, PEAK, ANGLE = 0, 2, 4  # columns of the page's first table


@pytest.mark.parametrize("study", STUDIES)
def test_page_of_every_study_is_on_the_site(study):
    """As written by its command, without paths of the machine, in the guide's contents, and with its licences."""
    page = (DOCS / "_static" / "validation" / f"{study}.html").read_text(encoding="utf-8")
    shown = (DOCS / "validation" / f"{study}.md").read_text(encoding="utf-8")
    assert f"Command: python -m validation {study}" in page
    assert not re.search(r"(?<![\w<.])/(home|tmp|root|work|Users)/", page)
    assert f"../_static/validation/{study}.html" in shown
    assert f"validation/{study}>" in (DOCS / "validation.md").read_text(encoding="utf-8")
    assert study == "quaternion_jacobians" or re.search(r"CC BY 4.0|CC0|Apache-2.0", shown)


def test_guide_has_the_forces_of_the_built_page():
    page = (DOCS / "_static" / "validation" / "instrumented_shoulder.html").read_text(encoding="utf-8")
    text = (DOCS / "measurements" / "published_studies.md").read_text(encoding="utf-8")
    guide = text.partition("### From markers to the force")[2]
    for rule in RULES:
        found = re.search(rf"<tr>\s*<th>{rule}</th>(.*?)</tr>", page, re.DOTALL)
        assert found is not None
        numbers = [float(x) for x in re.findall(r"<td[^>]*>([-\d.e]+)</td>", found[1])]
        row = next(line for line in guide.splitlines() if line.startswith(f"| {rule} |")).split("|")[2:]
        stated = [float(cell.replace(",", "")) for cell in row if cell.strip()]
        assert stated[0] == pytest.approx(numbers[RMS], abs=0.51)
        assert stated[2:4] == pytest.approx([numbers[PEAK], numbers[ANGLE]], abs=0.51)
