"""Former names and spellings work, warn once per use, and are not among the public ones."""

import importlib
import re
import warnings

import numpy as np
import public_api
import pytest

import myoquat as mq
from myoquat.analysis.recruitment import Sequential, WholeTrial
from myoquat.analysis.studies import MuscleTrial, Study
from myoquat.core.deprecation import former_argument, former_attribute, former_names
from myoquat.dynamics import Simulator
from myoquat.dynamics.integrators import StateEquations

# Former name: the new one, or the former object and what to write in its place, both within myoquat.
FORMER = {
    "myoquat.analysis.muscles": {"redundancy": "myoquat.analysis.recruitment.redundancy"},
    "myoquat": {"load_urdf": ("data.urdf.load_urdf", "data.load_model(...).system")},
    "myoquat.analysis.motion": {
        "smooth_angles": ("analysis.motion.angle_smoothing.smooth_angles", "smooth(..., method='angles')")
    },
    "myoquat.analysis.recruitment": {
        "torques_of_motion": (
            "analysis.recruitment.static_optimization.torques_of_motion",
            "analysis.motion.inverse_dynamics_of_motion(model, smooth(motion))",
        )
    },
    "myoquat.data": {
        "export_table": ("data.tables.write_table", "data.save_table"),
        "load_mjcf": ("data.mjcf.load_mjcf", "data.load_model"),
        "load_urdf": ("data.urdf.load_urdf", "data.load_model(...).system"),
        "read_markers": ("data.trc.read_markers", "data.load_table"),
        "read_motion": ("data.storage.read_motion", "data.load_table"),
        "save_model": ("data.library.save_model", "Model.save"),
        "write_markers": ("data.trc.write_markers", "data.save_table"),
        "write_motion": ("data.storage.write_motion", "data.save_table"),
        "write_urdf": ("data.urdf.write_urdf", "Model(system).save"),
    },
    "myoquat.data.motions": {
        "read_markers": ("data.trc.read_markers", "data.load_table"),
        "read_motion": ("data.storage.read_motion", "data.load_table"),
        "write_markers": ("data.trc.write_markers", "data.save_table"),
        "write_motion": ("data.storage.write_motion", "data.save_table"),
    },
    "myoquat.dynamics.constraints": {"HeldMotion": "myoquat.dynamics.constraints.ConstrainedMotion"},
    "myoquat.joints": {"why_not_ball": "myoquat.joints.ball_joint_obstacle"},
    "myoquat.kernels": {
        "Held": "myoquat.kernels.ZeroOrderHold",
        "Stages": "myoquat.kernels.ExplicitMethod",
        "Tabulated": "myoquat.kernels.LinearInterpolation",
        "iterate": "myoquat.kernels.control_flow.packed_loop.iterate",
    },
    "myoquat.muscle": {
        "LawA": "myoquat.muscle.CubicExponentialMuscle",
        "LawB": "myoquat.muscle.ExponentialMuscle",
    },
    "myoquat.muscle.laws": {
        "LawA": "myoquat.muscle.laws.CubicExponentialMuscle",
        "LawB": "myoquat.muscle.laws.ExponentialMuscle",
    },
}
SLED = mq.ArticulatedSystem((mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0),))
FITTED = mq.analysis.motion.FittedMotion(SLED, [0.0, 0.1], *np.zeros((3, 2, 1)), converged=np.array([True, False]))
TRIAL = WholeTrial(1.0, 1.0, 0, 0, "", 0.0, 0.0, linked=0, outer_iterations=3, reach_price=np.zeros((1, 0)))
STILL = mq.data.Motion(SLED, [0.0, 0.1], *np.zeros((3, 2, 1)))


def pushed(**options):
    return Simulator(SLED, **options)([0.0], [0.0], 0.1, step=0.05, torque=[2.0]).final_q


def raised(function, path):
    with pytest.raises(FileNotFoundError) as caught:
        function(path)
    return str(caught.value)


FORMER_SPELLINGS = {  # argument: (the former spelling, the new one), each of which gives the same
    "Simulator: the argument outside": (lambda: pushed(outside=True), lambda: pushed(external_torque=True)),
    "StateEquations: the argument outside": (
        lambda: StateEquations(SLED, outside=True).inputs,
        lambda: StateEquations(SLED, external_torque=True).inputs,
    ),
    "StateEquations.outside": (lambda: StateEquations(SLED).outside, lambda: StateEquations(SLED).external_torque),
    "method='euler'": (
        lambda: mq.simulate(SLED, u0=[1.0], duration=0.1, step=0.05, method="euler").q,
        lambda: mq.simulate(SLED, u0=[1.0], duration=0.1, step=0.05, method="semi_implicit_euler").q,
    ),
    "dynamics=True": (
        lambda: MuscleTrial(STILL, dynamics=True).dynamics,
        lambda: MuscleTrial(STILL, dynamics=Sequential()).dynamics,
    ),
    "Parameters.places": (
        lambda: len(mq.muscle.Parameters.of(SLED, "bodies.sled.mass").places),
        lambda: len(mq.muscle.Parameters.of(SLED, "bodies.sled.mass").locations),
    ),
    "FittedMotion.settled": (lambda: FITTED.settled, lambda: FITTED.converged),
    "WholeTrial.rounds": (lambda: TRIAL.rounds, lambda: TRIAL.outer_iterations),
    "Study.from_toml": (lambda: raised(Study.from_toml, "none.toml"), lambda: raised(Study.load, "none.toml")),
    "dynamics=False": (
        lambda: MuscleTrial(STILL, dynamics=False).dynamics,
        lambda: MuscleTrial(STILL, dynamics=None).dynamics,
    ),
}


@pytest.mark.parametrize(
    ("package", "former", "new"), [(p, f, n) for p, names in FORMER.items() for f, n in names.items()]
)
def test_former_name_gives_the_object_of_the_new_one_and_warns(package, former, new):
    path, advice = (f"myoquat.{new[0]}", new[1]) if isinstance(new, tuple) else (new, new)
    module, name = path.rsplit(".", 1)
    with pytest.warns(DeprecationWarning, match=f"{former} is now (myoquat.)?{re.escape(advice)}") as caught:
        found = getattr(importlib.import_module(package), former)
    assert found is getattr(importlib.import_module(module), name)
    assert caught[0].filename == __file__
    assert package == "myoquat.analysis.muscles" or former not in importlib.import_module(package).__all__


@pytest.mark.parametrize("name", FORMER_SPELLINGS)
def test_former_spelling_of_an_argument_gives_the_same_and_warns(name):
    former, new = FORMER_SPELLINGS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = former()
    assert [w.category for w in caught] == [DeprecationWarning]
    assert str(caught[0].message).startswith(f"{name} is now ")
    assert np.array_equal(found, new())


def test_every_former_name_of_a_package_is_in_the_table():
    packages = [importlib.import_module(name) for name in public_api.PACKAGES]
    tables = {package.__name__: set(getattr(package, "_FORMER", ())) for package in packages}
    assert {name: found for name, found in tables.items() if found} == {
        name: set(names) for name, names in FORMER.items() if name != "myoquat.analysis.muscles"
    }


def test_unknown_name_raises_as_usual():
    with pytest.raises(AttributeError, match="'math' has no attribute 'radius'"):
        former_names("math", {})("radius")


def test_name_that_the_package_finds_itself_is_left_to_it():
    assert former_names("math", {}, otherwise=str.upper)("pi") == "PI"


class Ball:
    def volume(self, radius):
        return 4 / 3 * radius**3

    size = former_attribute("size", "volume")
    capacity = former_argument("r", "radius")(volume)


def test_former_method_gives_the_new_one_and_warns_at_the_line_that_uses_it():
    with pytest.warns(DeprecationWarning, match=r"Ball.size is now Ball.volume") as caught:
        assert Ball().size(3.0) == 36.0
    assert caught[0].filename == __file__


def test_former_argument_is_handed_on_and_warns_at_the_line_that_uses_it():
    with pytest.warns(DeprecationWarning, match="volume: the argument r is now radius") as caught:
        assert Ball().capacity(r=3.0) == 36.0
    assert caught[0].filename == __file__


def test_new_argument_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Ball().capacity(radius=3.0) == Ball().capacity(3.0) == 36.0
