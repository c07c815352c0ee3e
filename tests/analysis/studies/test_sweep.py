"""`myoquat sweep` and study files."""

import importlib
import re

import numpy as np
import pandas as pd
import pytest

from myoquat.analysis import open_results
from myoquat.analysis.studies import Study
from myoquat.apps.command import main
from myoquat.data import load_model
from myoquat.kernels import Outcome

TEXT = """
format = "myoquat-study"
version = 1
model = "two_link"

[sample]
design = "random"
samples = 12
seed = 3

[vary]
"muscles.*.max_isometric_force" = { uniform = [0.8, 1.2], relative = true }
"bodies.A.mass" = { normal = [5.0, 0.2] }

[simulate]
duration = 0.02
step = 1e-3
activation = { times = [0.0, 0.02], values = [[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]] }
limits = { "A.omega_x" = [-50.0, 50.0] }

[keep]
times = 2
summaries = ["peak_force"]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TEXT)
    return path


def run(*arguments):
    """Exit code of the command."""
    try:
        return main(["sweep", *map(str, arguments)]) or 0
    except SystemExit as end:
        return end.code


def test_a_file_is_the_study_written_in_python(file):
    vary = {
        "muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True},
        "bodies.A.mass": {"normal": [5.0, 0.2]},
    }
    study = Study(
        load_model("two_link"),
        vary,
        design="random",
        samples=12,
        seed=3,
        duration=0.02,
        activation=([0.0, 0.02], [[0.0] * 6, [1.0] * 6]),
        limits={"A.omega_x": [-50.0, 50.0]},
        times=2,
        summaries=["peak_force"],
    )
    assert Study.load(file).run().identical(study.run())


def test_one_activation_may_stand_for_all_muscles(file):
    file.write_text(re.sub(r"activation = .*", "activation = 0.25", TEXT))
    np.testing.assert_array_equal(Study.load(file).activations, np.full(6, 0.25))


def test_sweep_writes_and_resumes(file, tmp_path, capsys):
    importlib.import_module("ipykernel")  # as a library may; no notebook is shown for that
    output = tmp_path / "results"
    assert run(file, "--output", output, "--table", tmp_path / "table.csv") == 0
    text = capsys.readouterr()
    assert "computed 12 of 12 samples" in text.out
    assert "12  ran to the end" in text.out
    assert text.err == ""  # quiet away from a terminal
    found = open_results(output)
    table = pd.read_csv(tmp_path / "table.csv", index_col="sample")
    np.testing.assert_allclose(table["bodies.A.mass [kg]"], found["values"][:, 6], rtol=1e-14)
    np.testing.assert_allclose(table["q_final.A.Q0 [1]"], found.q_final[:, 0], rtol=1e-14)
    assert run(file, "--output", output, "--resume", "--table", tmp_path / "table.parquet") == 0
    assert "computed 0 of 12 samples" in capsys.readouterr().out
    parquet = pd.read_parquet(tmp_path / "table.parquet").set_index("sample")
    assert np.array_equal(parquet["q_final.A.Q0 [1]"], found.q_final[:, 0])
    assert list(parquet.columns) == list(table.columns)


def test_failed_samples_give_exit_code_1(file, tmp_path, capsys):
    file.write_text(TEXT.replace("[-50.0, 50.0]", "[-1e-9, 50.0]"))
    assert run(file, "--output", tmp_path / "results") == 1
    assert Outcome.BOUND.sentence in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"bodies.A.mass"', '"bodies.A.mas"', "study.toml:4: the model has no parameter 'bodies.A.mas'; the nearest"),
        ("duration = 0.02", "duraton = 0.02", "simulate: the key 'duraton' is unknown; allowed: activation, duration"),
        ('format = "myoquat-study"', 'format = "x"', "this reads 'myoquat-study' version 1"),
        ("samples = 12", "samples = 12 13", "not valid TOML"),
        ('model = "two_link"', 'model = "three_link"', "no such model file"),
        ("[vary]", "[varied]", "the key 'varied' is unknown"),
        ("samples = 12", "samples = 1.5", "the number of samples must be a positive whole number, not 1.5"),
        ("times = 2", 'times = "two"', "times must be"),
        ('summaries = ["peak_force"]', 'summaries = "peak_force"', "summaries must be a list"),
        ("duration = 0.02", 'duration = "long"', "duration must be a positive number"),
        ("-50.0, 50.0", "-50.0", "limits: A.omega_x needs"),
    ],
)
def test_bad_files_end_with_one_sentence(file, tmp_path, capsys, old, new, message):
    assert old in TEXT
    file.write_text(TEXT.replace(old, new))
    assert run(file, "--output", tmp_path / "results") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_outputs_that_exist_or_cannot_be(file, tmp_path, capsys):
    assert run(tmp_path / "none.toml", "--output", tmp_path / "results") == 2
    assert run(file, "--output", tmp_path / "results", "--table", tmp_path / "table.txt") == 2
    assert "--table must end in .csv, .xlsx" in capsys.readouterr().err
    (tmp_path / "results").mkdir()
    assert run(file, "--output", tmp_path / "results") == 2
    assert "--resume" in capsys.readouterr().err
    assert run(file, "--output", tmp_path / "other", "--scheduler", "tcp://127.0.0.1:9", "--timeout", "0.3") == 2
    assert "does not answer within 0.3 s" in capsys.readouterr().err
