"""A study of the two links, whose results are stored once."""

import shutil

import pytest

from myoquat.analysis.studies import Study

VARY = {"muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True}}
STUDY = Study("two_link", VARY, samples=60, duration=0.05, times=5, summaries=("work",))
BLOCK = 7


@pytest.fixture(scope="session")
def whole():
    """The results of a run that nothing interrupts."""
    return STUDY.run(block=BLOCK)


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "results"
    STUDY.run(path, block=BLOCK)
    return path


@pytest.fixture
def filled(stored, tmp_path):
    """The stored results of the study, a copy for each test."""
    return shutil.copytree(stored, tmp_path / "results")
