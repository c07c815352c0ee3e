"""A study of the two links, whose results are stored once."""

import itertools
import shutil

import numpy as np
import pytest

from myoquat.analysis.studies import Study
from myoquat.analysis.studies.store import Store
from myoquat.dynamics import simulate

VARY = {"muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True}}
STUDY = Study("two_link", VARY, samples=60, duration=0.05, times=5, summaries=("work",))
BLOCK = 7


def before_block(monkeypatch, number, act):
    """Call `act` when the `number`th block is about to be stored. Returned: the blocks that are stored."""
    write, count, stored = Store.write, itertools.count(1), []

    def counted(self, block, arrays):
        if next(count) == number:
            act()
        write(self, block, arrays)
        stored.append(block)

    monkeypatch.setattr(Store, "write", counted)
    return stored


def assert_simulated(study, **inputs):
    """Every sample is the simulation of the model with its values."""
    found = study.run()
    assert (found.status == 1).all()
    for i, values in enumerate(study.values()):
        run = simulate(study.parameters.bind(values), duration=study.duration, step=study.step, **inputs)
        every = (len(run.time) - 1) // max(found.sizes.get("time", 1), 1)
        for quantity in ("q", "u"):
            way = getattr(run, quantity)
            np.testing.assert_allclose(found[f"{quantity}_final"][i], way[-1], rtol=1e-12, atol=1e-12)
            if quantity in found:
                np.testing.assert_allclose(found[quantity][i], way[every::every], rtol=1e-12, atol=1e-12)
        if "peak_force" in found:
            np.testing.assert_allclose(found.peak_force[i], run.forces.max(axis=0), rtol=1e-12)
    return found


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
