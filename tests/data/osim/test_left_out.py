"""What is not read: one table in the documents, and what `myoquat info` says of a file."""

import re
from pathlib import Path

from myoquat.analysis.apps.command import main
from myoquat.data.osim.reading.left_out import CHANGES, change_of

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "tests" / "data" / "small_leg.osim").read_text()


def test_the_documents_hold_the_table():
    rows = [row.strip("| ").split(" | ") for row in (ROOT / "docs" / "files.md").read_text().splitlines()]
    reported = {tag: row[1] for row in rows if len(row) == 2 for tag in re.findall(r"[A-Z]\w+", row[0])}
    assert {tag: reported.get(tag) for tag in CHANGES} == CHANGES


def test_info_says_what_is_left_out_and_what_it_changes(tmp_path, capsys):
    path = tmp_path / "x.osim"
    more = '<ExternalForce name="push"/>\n<ElasticFoundationForce name="mesh"/>'
    path.write_text(TEXT.replace("</objects></ForceSet>", more + "</objects></ForceSet>"))
    assert not main(["info", str(path)])
    reported = capsys.readouterr().out
    assert "left out of the file:" in reported
    assert re.search(r"1 ExternalForce \(force\), line \d+: moves the bodies in OpenSim, not here", reported)
    assert re.search(r"1 ElasticFoundationForce \(force\), line \d+: bodies pass through", reported)
    assert change_of("Strange") == "what it does in OpenSim is missing here"
