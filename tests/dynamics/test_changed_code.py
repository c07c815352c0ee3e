"""Code of users that changes in a process: the next call computes with what the code says then, as NumPy does."""

import itertools
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from packed_loop import iterate

import myoquat as mq
from myoquat.analysis.recruitment import track
from myoquat.data import Motion
from myoquat.dynamics import Simulator
from myoquat.joints.evaluation import kernel_for, traced_once
from myoquat.kernels import compile
from myoquat.muscle.laws import ForceLaw
from tests.bodies import on_hinge, on_slide

GAIN = 1.0
stream = itertools.count(1)


def helper(x):
    return GAIN * x


@dataclass(frozen=True)
class Base(ForceLaw):
    cls: ClassVar[str] = "changed"

    def force(self, length, speed, activation, state=None):
        return self.formula(length)

    def formula(self, x):
        return x


def law(formula, **members):
    """A law whose force is formula(self, length)."""
    return type("Law", (Base,), {"formula": formula, "__module__": __name__, **members})()


def model_of(law, **body):
    system = mq.ArticulatedSystem((on_hinge("rod", "y", **body),))
    path = (mq.muscle.PathPoint("ground", (0.0, 0.0, 0.4)), mq.muscle.PathPoint("rod", (0.3, 0.0, 0.0)))
    return mq.Model(system, (mq.Muscle("cord", path, law),))


def forces(model, backend="kernel"):
    return mq.muscle_forces(model, [0.0], [0.0], [0.0], backend=backend)


def _global(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 3.0)


def _closing():
    gain = 1.0

    def formula(self, x):
        return gain * x

    def change(_):
        nonlocal gain
        gain = 3.0

    return formula, change


CHANGES = {  # code of users is traced at every call, whatever it reads
    "a global of a helper": (lambda self, x: helper(x), _global),
    "a closure": _closing(),
    "a generator, whose state is hidden": (lambda self, x: next(stream) * x, lambda _: None),
    "names found by text": (lambda self, x: globals()["GAIN"] * x, _global),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_kernel_follows_what_a_users_law_reads(what, monkeypatch):
    formula, change = CHANGES[what]
    model = model_of(law(formula))
    length = mq.path_lengths(model, [0.0])
    before = forces(model)
    change(monkeypatch)
    after = forces(model)
    assert before == pytest.approx(length, rel=1e-15)
    if "generator" in what:
        assert after / before == pytest.approx(round(float(after[0] / before[0])))
        assert after > before
    else:
        assert after == pytest.approx(3.0 * length, rel=1e-15)
        assert after == pytest.approx(forces(model, backend="numpy"), rel=1e-15)


def test_a_class_defined_again_with_another_global_is_another_law():
    """A cell of a notebook that is run again: the same text, the same names, another number."""
    cell = (
        "from dataclasses import dataclass\n"
        "from typing import ClassVar\n"
        "from myoquat.muscle.laws import ForceLaw\n"
        "@dataclass(frozen=True)\n"
        "class Spring(ForceLaw):\n"
        "    kind: ClassVar[str] = 'spring'\n"
        "    def force(self, length, speed, activation, state=None):\n"
        "        return STIFFNESS * length\n"
    )
    notebook = {"__name__": "__main__"}
    found = []
    for stiffness in (100.0, 300.0):
        exec(f"STIFFNESS = {stiffness}\n{cell}", notebook)
        found.append(forces(model_of(notebook["Spring"]())))
    assert found[1] == pytest.approx(3.0 * found[0], rel=1e-15)


def test_a_simulation_follows_the_function_of_its_constraint():
    """x = A t: a body that a function of the time moves, with another A than at the first call."""
    sled = on_slide("sled", mass=2.0)
    system, amplitude = mq.ArticulatedSystem((sled,)), [0.1]
    driven = mq.dynamics.constraints.Prescribed("sled.position", lambda t: amplitude[0] * t)
    simulator = Simulator(system, constraints=[driven], stabilization="baumgarte")

    def ends():
        moved = mq.simulate(system, [0.0], [amplitude[0]], 1.0, rtol=1e-6, constraints=[driven])
        held = simulator([0.0], [amplitude[0]], 1.0, step=0.1)
        return moved.q[-1, 0], held.final_q[0]

    assert ends() == pytest.approx((0.1, 0.1))
    amplitude[0] = 0.5
    assert ends() == pytest.approx((0.5, 0.5))


def test_a_step_of_a_solver_follows_its_globals(monkeypatch):
    kernel = lambda: compile(lambda x: iterate(_halved, x, x, 1), {"x": 1}, cache="off")  # noqa: E731
    assert kernel()([8.0]) == 4.0
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 3.0)
    assert kernel()([8.0]) == 12.0


def _halved(z, constants):
    return GAIN * z / 2


def test_one_calculation_sees_one_state_of_the_code(monkeypatch):
    runs = []

    def build(content):
        runs.append(content)
        return compile(lambda x: GAIN * x, {"x": ()}, content=content, cache="off")

    def formula(x):
        return globals()["GAIN"] * x  # by text: nothing but a trace tells what it reads

    with traced_once():
        first = kernel_for(("formula", formula), build)
        assert kernel_for(("formula", formula), build) is first
    kernel_for(("formula", formula), build)
    assert runs == [None, None]


def test_a_run_along_a_motion_is_one_calculation():
    """Its windows between frames do not trace the code of users again, however many they are."""
    traced = []

    def formula(self, x):
        traced.append(x)
        return x

    model, counts = model_of(law(formula), mass=1.0, inertia=(1.0, 1.0, 1.0)), []
    for frames in (3, 8):
        traced.clear()
        rest = np.zeros((frames, 1))
        track(model, Motion(model, np.linspace(0.0, 0.02, frames), rest, rest), rest)
        counts.append(len(traced))
    assert counts[0] == counts[1] > 0


def test_models_of_the_package_are_not_traced_again(monkeypatch):
    model = mq.load_model("two_link")
    q = model.start
    mq.path_lengths(model, q)
    monkeypatch.setattr("myoquat.joints.evaluation.lasting_content", None)
    mq.path_lengths(model, q)
