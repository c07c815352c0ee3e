"""Code of users that changes in a process: the next call computes with what the code says then, as NumPy does."""

import functools
import itertools
import sys
import types
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from packed_loop import iterate

import myoquat as mq
from myoquat.dynamics import Simulator
from myoquat.joints.evaluation import kernel_for, traced_once
from myoquat.kernels import compile
from myoquat.muscle.laws import ForceLaw

GAIN = 1.0
TABLE = [1.0]
NUMBERS = {"gain": 1.0}
ARRAY = np.array([1.0, 1.0])
settings = types.ModuleType("settings")
settings.inner = types.SimpleNamespace(gain=1.0)
settings.gain = 1.0
stream = itertools.count(1)


def helper(x):
    return deeper(x)


def deeper(x):
    return GAIN * x


def scaled(x, gain=1.0, *, more=1.0):
    return gain * more * x


class Shape:
    """A callable instance."""

    def __init__(self, gain):
        self.gain = gain

    def __call__(self, x):
        return self.gain * x


shape = Shape(1.0)
law_formula = functools.partial(scaled, gain=1.0)


@dataclass(frozen=True)
class Base(ForceLaw):
    cls: ClassVar[str] = "changed"
    gain: ClassVar[float] = 1.0

    def force(self, length, speed, activation, state=None):
        return self.formula(length)

    def formula(self, x):
        return x


def law(formula, **members):
    """A law whose force is formula(self, length)."""
    return type("Law", (Base,), {"formula": formula, "__module__": __name__, **members})()


def model_of(law):
    system = mq.ArticulatedSystem((mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0),))
    path = (mq.muscle.PathPoint("ground", (0.0, 0.0, 0.4)), mq.muscle.PathPoint("rod", (0.3, 0.0, 0.0)))
    return mq.Model(system, (mq.Muscle("cord", path, law),))


def forces(model, backend="kernel"):
    return mq.muscle_forces(model, [0.0], [0.0], [0.0], backend=backend)


def _set(target, name, value):
    return lambda monkeypatch: monkeypatch.setattr(target, name, value)


def _set_item(target, key, value):
    return lambda monkeypatch: target.__setitem__(key, value)


THIS = sys.modules[__name__]


def _closing():
    gain = 1.0

    def formula(self, x):
        return gain * x

    def change(_):
        nonlocal gain
        gain = 3.0

    return formula, change


def _enclosing_a_list():
    gains = [1.0]
    return (lambda self, x: gains[0] * x), lambda _: gains.__setitem__(0, 3.0)


CHANGES = {
    "a global": (lambda self, x: GAIN * x, _set(THIS, "GAIN", 3.0)),
    "a global of a helper's helper": (lambda self, x: helper(x), _set(THIS, "GAIN", 3.0)),
    "a helper that is defined anew": (lambda self, x: helper(x), _set(THIS, "deeper", lambda x: 3.0 * x)),
    "an attribute of a module": (lambda self, x: settings.gain * x, _set(settings, "gain", 3.0)),
    "an attribute of an object of a module": (lambda self, x: settings.inner.gain * x, _set(settings.inner, "gain", 3)),
    "an item of a list": (lambda self, x: TABLE[0] * x, _set_item(TABLE, 0, 3.0)),
    "an item of a dictionary": (lambda self, x: NUMBERS["gain"] * x, _set_item(NUMBERS, "gain", 3.0)),
    "an item of an array": (lambda self, x: ARRAY[1] * x, _set_item(ARRAY, 1, 3.0)),
    "an instance that is called": (lambda self, x: shape(x), _set(shape, "gain", 3.0)),
    "a partial": (lambda self, x: law_formula(x), _set(THIS, "law_formula", functools.partial(scaled, gain=3.0))),
    "a default": (lambda self, x: scaled(x), _set(scaled, "__defaults__", (3.0,))),
    "a keyword's default": (lambda self, x: scaled(x), _set(scaled, "__kwdefaults__", {"more": 3.0})),
    "a class attribute": (lambda self, x: self.gain * x, _set(Base, "gain", 3.0)),
    "a method put in another's place": (
        lambda self, x: Base.formula(self, x),
        _set(Base, "formula", lambda self, x: 3 * x),
    ),
    "a bound method": (lambda self, x: shape.__call__(x), _set(shape, "gain", 3.0)),
    "a closure": _closing(),
    "a list in a closure": _enclosing_a_list(),
    "a generator, whose state is hidden": (lambda self, x: next(stream) * x, lambda _: None),
    "names found by text": (lambda self, x: globals()["GAIN"] * x, _set(THIS, "GAIN", 3.0)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _restored():
    kept = TABLE[:], dict(NUMBERS), ARRAY.copy()
    yield
    TABLE[:], ARRAY[:] = kept[0], kept[2]
    NUMBERS.update(kept[1])


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
    sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0)
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
    monkeypatch.setattr(THIS, "GAIN", 3.0)
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


def test_models_of_the_package_are_not_traced_again(monkeypatch):
    model = mq.load_model("two_link")
    q = model.start
    mq.path_lengths(model, q)
    monkeypatch.setattr("myoquat.joints.evaluation.lasting_content", None)
    mq.path_lengths(model, q)
