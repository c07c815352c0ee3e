"""Kernels found by content: loaded without running their formulas, and never another formula's."""

import io
import os
import pickle
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest

from myoquat import kernels
from myoquat.core import FOREIGN, content, content_digest, lasting_content, package_digest, progress

Q = np.random.default_rng(0).normal(size=(7, 4))


class Formula:
    """A formula that knows how often it was run."""

    def __init__(self):
        self.runs = 0

    def __call__(self, q):
        self.runs += 1
        return np.sin(q) * q[0]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


def made(formula, folder, content="waves"):
    return kernels.compile(formula, {"q": 4}, ["y"], name="wave", content=content, cache=folder)


def test_a_cached_kernel_runs_no_formula(folder):
    first, again = Formula(), Formula()
    kernel = made(first, folder)
    loaded = made(again, folder)
    assert (kernel.source, loaded.source, first.runs, again.runs) == ("compiled", "cache", 1, 0)
    assert np.array_equal(loaded(Q), kernel(Q))
    assert np.allclose(loaded(Q), np.sin(Q) * Q[:, :1], rtol=1e-15)
    assert (loaded.inputs, loaded.outputs, loaded.name) == (kernel.inputs, kernel.outputs, kernel.name)
    assert repr(loaded) == repr(kernel).replace("compiled", "cache")


def test_what_needs_the_formula_runs_it(folder):
    made(Formula(), folder)
    formula = Formula()
    loaded = made(formula, folder)
    assert loaded.casadi_function.n_in() == 1
    assert formula.runs == 1
    assert np.array_equal(pickle.loads(pickle.dumps(loaded))(Q), loaded(Q))


def test_derivatives_are_found_by_content_too(folder):
    jacobian = made(Formula(), folder).jacobian("y", "q")
    formula = Formula()
    again = made(formula, folder).jacobian("y", "q")
    assert (again.source, formula.runs) == ("cache", 0)
    assert np.array_equal(again(Q), jacobian(Q))
    assert made(Formula(), folder).jvp("y", "q").source == "compiled"


@pytest.mark.parametrize("change", [{"content": "other"}, {"inputs": {"q": 5}}, {"name": "other"}, {"outputs": ["z"]}])
def test_every_part_of_the_key_counts(folder, change):
    made(Formula(), folder)
    given = {"inputs": {"q": 4}, "outputs": ["y"], "name": "wave", "content": "waves"} | change
    assert kernels.compile(Formula(), cache=folder, **given).source == "compiled"


def test_loops_are_found_by_content(folder):
    def loop(rhs):
        return kernels.step_loop(2, rhs=rhs, content="swing", cache=folder)

    runs = []

    def swing(t, x):
        runs.append(t)
        return np.stack([x[1], -x[0]])

    first = loop(swing)
    traced = len(runs)
    again = loop(swing)
    assert (first.source, again.source) == ("compiled", "cache")
    assert len(runs) == traced
    x = np.array([1.0, 0.0])
    assert np.array_equal(again(x, h=0.1, steps=10).states, first(x, h=0.1, steps=10).states)
    assert np.array_equal(pickle.loads(pickle.dumps(again))(x, h=0.1, steps=10).final, first(x, h=0.1, steps=10).final)


def test_sources_written_since_the_import_give_a_digest_of_this_process_alone(monkeypatch):
    monkeypatch.setattr(content, "_IMPORTED_NS", 0)
    assert package_digest.__wrapped__() != package_digest.__wrapped__()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_message(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "MESSAGE_DELAY_S", 0.01)
    with progress.waiting("compiling a model"), progress.waiting("compiling a part"):
        while not terminal.getvalue():
            time.sleep(0.001)
    said = terminal.getvalue()
    assert said.startswith("compiling a model ... ")
    assert said.endswith(" s\n")
    assert "part" not in said


def test_no_message_without_a_reader(capsys, monkeypatch):
    monkeypatch.setattr(progress, "MESSAGE_DELAY_S", 0.0)
    with progress.waiting("compiling a model"):
        time.sleep(0.02)
    assert capsys.readouterr().err == ""


@dataclass(frozen=True)
class Law:
    """A class outside of the package: its code may change without a trace in its content."""

    strength: float


def test_foreign_classes_are_not_found_by_content():
    model = content_digest("a model", Law(2.0))
    assert model.startswith(FOREIGN)
    assert content_digest(model, "and more").startswith(FOREIGN)
    assert not content_digest("a model", 2.0).startswith(FOREIGN)
    assert lasting_content(("lengths", model)) is None
    assert lasting_content(("lengths", lambda q: q)) is None
    assert lasting_content(("lengths", content_digest("a model"))) is not None


def test_a_second_process_traces_nothing(folder):
    """Lengths, Jacobian, torques and a simulation of a model: everything comes from the cache. Neither process needs
    CasADi."""
    code = (
        "import sys, numpy as np\n"
        "calls = set()\n"
        "sys.setprofile(lambda frame, event, _: calls.add((frame.f_code.co_name, frame.f_code.co_filename[-24:])))\n"
        "from myoquat.data import load_model\n"
        "from myoquat.dynamics import simulate\n"
        "from myoquat.muscle import muscle_torques, path_jacobian, path_lengths\n"
        "model = load_model('two_link')\n"
        "q = np.array(model.start)\n"
        "path_lengths(model, q), path_jacobian(model, q), muscle_torques(model, q, np.zeros(6), np.ones(6))\n"
        "motion = simulate(model, duration=0.01)\n"
        "print(motion.q[-1].tobytes().hex(), ('trace', 'kernels/tracing/trace.py') in calls, 'casadi' in sys.modules)\n"
    )
    environment = {**os.environ, "MYOQUAT_CACHE": str(folder)}
    run = lambda: subprocess.run(  # noqa: E731
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    (first, traced, *casadi), (second, traced_again, *casadi_again) = run(), run()
    assert first == second
    assert (traced, traced_again) == ("True", "False")
    assert casadi == casadi_again == ["False"]
