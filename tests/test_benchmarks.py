"""The benchmarks' own tools: the registry, the rows, the table and the figure. No times are tested."""

import ast
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks import figure, machine
from benchmarks.control import moco
from benchmarks.measure import Route, alternate, rows
from benchmarks.names import NAMES
from benchmarks.wrapping.jumps import jumps

FOLDER = Path(benchmarks.__file__).parent


@pytest.mark.parametrize("name", NAMES)
def test_every_comparison_has_a_run_without_needed_arguments(name):
    tree = ast.parse(_source(NAMES[name]).read_text())
    run = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run")
    assert len(run.args.defaults) == len(run.args.args)


def test_routes_run_in_turn_and_the_first_round_does_not_count():
    order = []
    times = alternate({"a": Route(lambda: order.append("a"), 2), "b": Route(lambda: order.append("b"))}, repeats=3)
    assert order == ["a", "b"] * 4
    assert {name: len(values) for name, values in times.items()} == {"a": 3, "b": 3}


def test_ratios_are_of_medians():
    found = rows("work", {"slow": [4.0, 2.0, 30.0], "fast": [1.0, 1.0, 0.5]}, "slow", "s", more=1)
    assert [row["ratio"] for row in found] == [1.0, 4.0]
    assert (found[0]["median"], found[0]["low"], found[0]["high"], found[0]["more"]) == (4.0, 3.0, 17.0, 1)


def test_jumps_are_found_where_they_are():
    """Of two lines and two columns: smooth but for jumps of 0.01 and 2e-6; a kink is none, nor is one that is less."""

    def along(line, share):
        smooth = 0.1 * np.sin(3 * share + line)
        steps = 0.01 * (share > 0.31415) + np.where(line > 0, 2e-6, 2e-7) * (share > 0.7)
        return np.stack([np.abs(share - 0.5001) + smooth, smooth + steps], axis=-1)

    found = jumps(along, 2, 1000)
    assert sorted(zip(found.line, found.column, strict=True)) == [(0, 1), (1, 1), (1, 1)]
    np.testing.assert_allclose(sorted(found.before), [0.31415, 0.31415, 0.7], atol=2e-12)
    assert np.all(found.after - found.before < 2e-12)


def test_figure_of_all_types_of_rows(tmp_path):
    found = rows("work", {"slow": [1e-3, 2e-3], "fast": [1e-6, 1e-6]}, "slow", "ns")
    file = tmp_path / "ratios.png"
    figure.draw({"first": found, "second": [{"work": "no ratio", "median": 1.0}]}, file, "a machine")
    assert file.stat().st_size > 5000


def test_the_record_names_machine_and_versions():
    record = machine.describe()
    text = machine.summary(record)
    assert record["processor"] in text
    assert f"numpy {record['versions']['numpy']}" in text


def test_what_a_comparison_imports_from_here_exists():
    """Read, not imported: the peers need not be installed."""
    for file in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchmarks."):
                source = _source(node.module)
                assert {alias.name for alias in node.names} <= _names_of(source), f"{file.name} from {source.name}"


def _source(module):
    """The file of a module, or the folder of a package."""
    path = FOLDER.joinpath(*module.split(".")[1:])
    return path if path.is_dir() else path.with_suffix(".py")


def _names_of(source):
    if source.is_dir():
        return {file.stem for file in source.glob("*.py")}
    found = set()
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def test_moco_runs_where_it_is_asked_for(monkeypatch):
    monkeypatch.delenv("MYOQUAT_MOCO_RUNS", raising=False)
    monkeypatch.delenv("MYOQUAT_MOCO", raising=False)
    assert moco.rows() == []
    monkeypatch.setenv("MYOQUAT_MOCO_RUNS", "track")
    assert moco.rows()[0]["work"] == "MYOQUAT_MOCO names no folder"
    monkeypatch.setenv("MYOQUAT_MOCO_RUNS", "tracks")
    with pytest.raises(ValueError, match="'tracks' is none of track, inverse"):
        moco.rows()
