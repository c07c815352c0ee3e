"""Summaries that a user registers: stored by name, and reported where they are not registered."""

import subprocess
import sys

import numpy as np
import pytest

from myoquat.analysis.studies import Study, open_results
from myoquat.analysis.studies.summaries import SUMMARIES, Summary, register
from myoquat.muscle.segments.lengths import lengths


class LeastLength(Summary):
    name = "least_length"
    along = "muscle"
    unit = "m"
    description = "least path length"

    def observe(self, model, at):
        return lengths(model.system, model.paths, at.q)

    def reduce(self, times, values):
        return values.min(axis=1)


@pytest.fixture
def registered():
    yield register(LeastLength())
    SUMMARIES.pop("least_length", None)


def test_another_process_finds_it_and_is_warned(tmp_path, registered):
    vary = {"bodies.A.mass": {"uniform": [4.0, 6.0]}}
    study = Study("two_link", vary, samples=5, duration=0.02, summaries=["work", "least_length"])
    path = tmp_path / "results"
    ours = study.run(path).least_length
    assert ours.attrs["units"] == "m"
    script = (
        "import sys, warnings, numpy as np\n"
        "from myoquat.analysis.studies import open_results\n"
        "with warnings.catch_warnings(record=True) as warned:\n"
        "    warnings.simplefilter('always')\n"
        "    found = open_results(sys.argv[1])\n"
        "np.save(sys.argv[2], found.least_length.values)\n"
        "print([str(w.message) for w in warned], list(found))"
    )
    saved = tmp_path / "x.npy"
    done = subprocess.run([sys.executable, "-c", script, path, saved], capture_output=True, text=True, check=True)
    assert "'least_length' is no summary that this process knows" in done.stdout
    assert "register" in done.stdout
    np.testing.assert_array_equal(np.load(saved), ours.values)
    del SUMMARIES["least_length"]
    with pytest.warns(UserWarning, match="'least_length' is no summary"):
        open_results(path)
    with pytest.raises(ValueError, match=r"summary 'least_length' of simulations is unknown; .*summaries\.register"):
        Study("two_link", vary, samples=5, duration=0.02, summaries=["least_length"])


def test_a_registration_is_checked(registered):
    assert register(LeastLength()).name in SUMMARIES
    for changes, message in (({"name": "work"}, "is taken by Work"), ({"along": "time"}, "rows along one of")):
        with pytest.raises(ValueError, match=message):
            register(type("Other", (LeastLength,), {"name": "other", **changes})())
    with pytest.raises(ValueError, match="neither `observe`"):
        register(type("Empty", (Summary,), {"name": "empty"})())
    with pytest.raises(TypeError, match="takes a Summary"):
        register(LeastLength)
