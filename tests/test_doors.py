"""Every public function, called with a value of another type for each argument that it needs.

The error comes from argument validation and names the argument. It never is an AttributeError, IndexError, ... from
inside.
"""

import importlib
import inspect
import traceback
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
import public_api
import pytest

import myoquat as mq
from myoquat.analysis.recruitment import JointCone, redundancy
from myoquat.analysis.studies import LoadsWanted
from myoquat.core import Record, declared
from myoquat.data.motions import Motion
from myoquat.dynamics.constraints import Locked
from myoquat.dynamics.skeleton import PlanarSkeleton
from myoquat.muscle.forces import ContactMaterial, ContactSphere

ROOT = Path(__file__).parents[1]
PACKAGES = public_api.PACKAGES
ODD = {"None": None, "text": "/no such/thing.mot", "array": np.zeros((2, 3, 5)), "object": object(), "number": 7.5}
# Functions that take anything, and formulas without argument validation, since they run in kernels.
OPEN = {"as_array", "as_casadi_vector", "is_symbolic", "constant", "coefficients_of", "forces", "delayed_rates"}
# (function, argument): odd values that it may take, and why.
MEANT = {
    ("spatial_torque", "tension"): {"array", "number"},  # any batch
    ("random_system", "bodies"): set(),
    ("with_joint_stops", "step"): {"number"},
    ("call_where", "parameters"): {"None", "text", "array", "object", "number"},  # what the function takes
}


@cache
def values():
    """An argument of every name that functions share, of the model two_link."""
    model = mq.load_model("two_link")
    system, m = model.system, len(model.muscles)
    q, u, time = np.eye(system.nq)[0] + np.eye(system.nq)[4], np.zeros(system.nu), np.linspace(0.0, 0.5, 12)
    still = np.zeros((12, system.nu))
    return {
        "model": model, "first": model, "second": model, "source": system, "target": system, "system": system,
        "motion": Motion(model, time, np.tile(q, (12, 1)), still, still), "q": q, "u": u, "udot": u, "tau": u,
        "torque": u, "f_ext": np.zeros((3, 6)), "Q": np.eye(4)[0], "P": np.eye(4)[0], "J": np.ones(3),
        "J_Q": np.ones(4), "J_star": np.ones(3), "J_phi": np.ones(3), "phi": np.full(3, 0.3), "sequence": "YZY",
        "v": np.ones(3), "R": np.eye(3), "tau_E": np.ones(3), "frame": "A", "body": "A", "activation": np.full(m, 0.1),
        "excitation": np.full(m, 0.1), "lengths": np.ones(m), "speeds": np.zeros(m), "tensions": np.ones(m),
        "tension": np.ones(1), "rotations": "sequence", "n": 3, "bodies": 3, "rng": np.random.default_rng(0), "axis": 0,
        "time": time, "force": np.zeros(3), "muscle": model.muscles[0], "name_or_path": "two_link",
        "skeleton": PlanarSkeleton(lengths=(1.0,), masses=(1.0,), centers=(0.5,), inertias=(0.1,)),
    }  # fmt: skip


def functions():
    seen = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(inspect.unwrap(function)) and not inspect.isclass(function):
                seen.setdefault(id(function), (name, function))
    return sorted((pair for pair in seen.values() if pair[0] not in OPEN), key=lambda pair: pair[0])


def needed(function):
    parameters = inspect.signature(function).parameters.values()
    skipped = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in skipped]


def outcome(function, arguments):
    """What is raised, or None."""
    try:
        function(**arguments)
    except Exception as error:
        return error
    return None


def is_raised_on_purpose(error):
    """Whether the innermost line is a `raise` of this package, or there is no such file."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    file = Path(last.filename).resolve()
    if not file.is_relative_to(ROOT):
        return isinstance(error, OSError)
    lines = file.read_text(encoding="utf-8").splitlines()[last.lineno - 1 : last.end_lineno]
    return isinstance(error, OSError) or any(line.lstrip().startswith("raise ") for line in lines)


@pytest.mark.parametrize(("name", "function"), functions(), ids=lambda value: value if isinstance(value, str) else "")
def test_argument_of_another_type_raises_a_named_error(name, function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = needed(function)
    for odd in names:
        for oddity, value in ODD.items():
            error = outcome(function, {key: values().get(key) for key in names} | {odd: value})
            if error is None:
                assert oddity in MEANT.get((name, odd), set()), (odd, oddity)
            else:
                assert is_raised_on_purpose(error), (odd, oddity, error)


def tuples_of_records():
    found = {
        name: getattr(importlib.import_module(p), name) for p in PACKAGES for name in importlib.import_module(p).__all__
    }
    records = [own for own in found.values() if inspect.isclass(own) and is_dataclass(own) and issubclass(own, Record)]
    return sorted({(own, f[0]) for own in records for f in declared(own) if f[-1]}, key=str)


@pytest.mark.parametrize(("cls", "field"), tuples_of_records(), ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_tuple_of_records_holds_nothing_else(cls, field):
    record = object.__new__(cls)
    for odd in (7.5, (7.5,), "text"):
        for f in fields(cls):
            object.__setattr__(record, f.name, odd if f.name == field else ())
        with pytest.raises(TypeError, match=f"{cls.__name__}: {field} must be an? .*, not the (float|str)"):
            Record.__post_init__(record)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: ContactMaterial(ContactSphere("heel", "A", radius=0.1), 1e6), "surfaces .*, such as .ContactSphere"),
        (lambda m: mq.simulate(m, duration=0.1, constraints=Locked("A.angle")), "constraints .*, such as .Locked"),
        (lambda m: redundancy(m, values()["motion"], cones=JointCone("A", (0, 0, 1), 0.5)), "cones .*, such as .Joint"),
        (lambda m: LoadsWanted(cones=JointCone("A", (0, 0, 1), 0.5)), "cones .*, such as .JointCone"),
    ],
)  # fmt: skip
def test_one_record_is_no_tuple_of_records(call, said):
    with pytest.raises(TypeError, match=said):
        call(mq.load_model("two_link"))
