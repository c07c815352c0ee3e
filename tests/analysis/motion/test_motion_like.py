"""Every function that takes a motion takes any `MotionLike`, and gives the same as for its `Motion`."""

import importlib
import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest

import myoquat as mq
from myoquat.analysis.motion import FittedMotion
from myoquat.analysis.recruitment import MuscleTorques, Redundancy, Tracking, emg_driven, redundancy, track
from myoquat.apps.viewer.films import film_of
from myoquat.data import Emg, Forces, Motion, MotionLike, motion_of
from tests.bodies import on_hinge, on_slide

TIME = np.linspace(0.0, 0.4, 21)
MEMBERS = ("time", "system", "model", "q", "u", "udot", "activation", "force", "loads", "to_motion", "to_dataframe")
ROD = on_hinge("rod", "y", mass=2.0, center_of_mass=(0.5, 0, 0))
PATH = (mq.muscle.PathPoint("ground", (0.0, 0.0, 0.4)), mq.muscle.PathPoint("rod", (0.3, 0.0, 0.0)))
LAW = mq.muscle.laws.Thelen2003(500.0, 0.3, 0.2, tendon="rigid")
MODEL = mq.Model(mq.ArticulatedSystem((ROD,)), (mq.Muscle("biceps", PATH, LAW),))
LOADS = Forces(TIME, ("hand",), ("rod",), *(np.ones((len(TIME), 1, 3)) * x for x in (1.0, 0.5, 0.1)))
EMG = Emg(TIME, ("biceps",), np.full((len(TIME), 1), 0.2), "1")


def swing():
    x = 0.2 * np.sin(3 * TIME)[:, None]
    return Motion(MODEL, TIME, x, 0.6 * np.cos(3 * TIME)[:, None], -9 * x)


def trajectory():
    return mq.simulate(MODEL, duration=0.4, step=0.02, activation=[0.3])


MAKE = {
    "Motion": swing,
    "FittedMotion": lambda: FittedMotion(MODEL, TIME, swing().q, swing().u, swing().udot),
    "Trajectory": trajectory,
    "Redundancy": lambda: redundancy(MODEL, swing(), LOADS, reserves=20.0),
    "Tracking": lambda: track(MODEL, swing(), np.full((len(TIME), 1), 0.2), bandwidth=5.0),
    "MuscleTorques": lambda: emg_driven(MODEL, swing(), EMG),
}
ARGUMENTS = {
    "computed_muscle_control": {"reserves": 20.0},
    "emg_driven": {"activations": EMG},
    "external_wrenches": {"loads": LOADS},
    "landmarks": {"names": ["rod"]},
    "joint_angles": {"joint": "rod", "convention": "helical"},
    "metabolic_power": {"activation": np.full((len(TIME), 1), 0.2)},
    "redundancy": {"reserves": 20.0},
    "track": {"activation": np.full((len(TIME), 1), 0.2), "bandwidth": 5.0},
}
OTHERS = {
    "compare_models",
    "dynamically_consistent",
    "film",
    "ground_reactions",
    "save_bvh",
    "view",
}  # tests of their own
TABLES = {"muscle_states_from_motion", "states_from_motion"}  # a table is what they turn into arrays


def functions_of_motions():
    """{name: function} of the public functions with an argument `motion`."""
    found = {}
    for package in ("data", "dynamics", "analysis", "analysis.motion", "analysis.recruitment"):
        module = importlib.import_module(f"myoquat.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) and "motion" in inspect.signature(value).parameters and name not in TABLES:
                found[name] = value
    return found


def parts(result):
    """The arrays in a result, by name."""
    if isinstance(result, np.ndarray):
        return {"": result}
    if not is_dataclass(result):
        return {}
    return {f"{f.name}.{k}": x for f in fields(result) for k, x in parts(getattr(result, f.name)).items()}


@pytest.fixture(scope="module", params=MAKE)
def like(request):
    return MAKE[request.param]()


def test_members_have_the_shapes_of_the_protocol(like):
    assert all(hasattr(like, name) for name in MEMBERS)
    assert like.time.shape == (len(TIME),)
    for name in ("q", "u", "udot", "activation", "force"):
        values = getattr(like, name)
        assert values is None or values.shape == (len(TIME), 1)
    assert like.loads is None or like.loads.shape == (len(TIME), 1, 6)
    assert isinstance(like.to_dataframe(), pd.DataFrame)


def test_the_protocol_lists_the_members_that_are_tested():
    assert {name for name in vars(MotionLike) if not name.startswith("_")} == set(MEMBERS)


def test_the_motion_has_the_states_of_the_whole(like):
    motion = motion_of(like)
    assert isinstance(motion, Motion)
    for name in ("time", "q", "u", "udot"):
        assert np.array_equal(getattr(motion, name), getattr(like, name))


@pytest.mark.parametrize("name", sorted(functions_of_motions().keys() - OTHERS))
def test_functions_give_the_same_of_anything_with_a_motion(name):
    function, given = functions_of_motions()[name], ARGUMENTS.get(name, {})
    given = given | ({"model": MODEL} if "model" in inspect.signature(function).parameters else {})
    for type_name in ("Trajectory", "Redundancy"):
        like = MAKE[type_name]()
        found, expected = (parts(function(motion=motion, **given)) for motion in (like, like.to_motion()))
        assert found
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[k], expected[k], equal_nan=True) for k in found)
    with pytest.raises(TypeError, match="motion must be a Motion or a Trajectory or a Redundancy, not a ndarray"):
        function(motion=swing().q, **given)


def test_results_carry_what_they_know():
    found = MAKE["Redundancy"]()
    assert isinstance(found, Redundancy)
    assert found.loads is found.external
    assert np.abs(found.loads).max() > 0
    ran = trajectory()
    assert np.array_equal(ran.force, ran.forces)
    assert ran.loads is None
    assert isinstance(MAKE["Tracking"](), Tracking)
    assert isinstance(MAKE["MuscleTorques"](), MuscleTorques)


def test_contacts_are_loads_of_a_trajectory():
    """On the scale below a ball: the impulse of its contacts and of gravity is the change of its momentum."""
    forces = mq.muscle.forces
    ball = on_slide("ball", "y")
    surfaces = forces.ContactSphere("round", "ball", radius=0.1), forces.ContactHalfSpace("floor", "ground")
    contact = forces.HuntCrossley("contact", (forces.ContactMaterial(surfaces, stiffness=1e4),))
    system = mq.ArticulatedSystem((ball,), gravity=(0, -9.81, 0))
    ran = mq.simulate(mq.Model(system, forces=(contact,)), q0=[0.1], duration=0.1, step=1e-3)
    force = ran.loads[:, 0, 1]
    assert np.allclose(force - 9.81, ran.udot[:, 0], atol=1e-9)
    reactions = mq.dynamics.ground_reactions(ran.model, ran.to_motion())
    assert np.allclose(reactions.force[:, 0, 1], force, atol=1e-9)


def test_one_run_of_a_batch_is_a_motion_without_the_rows_after_its_stop():
    runs = mq.simulate(MODEL, q0=[[0.1], [0.2]], duration=0.1, step=1e-2, activation=[0.3])
    assert np.array_equal(runs.to_motion(1).q, runs.q[1])
    runs.q[1, 5:] = np.nan
    assert len(motion_of(runs, 1).time) == 5
    with pytest.raises(ValueError, match=r"run \(2,\) does not name one of a batch \(2,\)"):
        runs.to_motion(2)
    with pytest.raises(ValueError, match=r"run \(\) does not name one"):
        motion_of(runs)
    with pytest.raises(ValueError, match=r"run \(0,\) does not name one of a batch \(\)"):
        swing().to_motion(0)


def test_films_have_the_muscles_of_any_motion(like):
    film = film_of(MODEL, like)
    assert np.array_equal(film.q, like.q)
    assert set(film.values) == (set() if like.activation is None else {"activation", "force [N]"})


def test_everything_that_knows_a_motion_is_plotted(like):
    shown = {axis.get_title(loc="left") for axis in like.plot().axes if axis.get_visible()}
    known = {"activations": like.activation, "muscle tensions": like.force, "angular velocities": like.u}
    assert {"angles"} | {title for title, values in known.items() if values is not None and values.any()} <= shown


def test_muscles_of_a_model_are_filmed_along_a_recorded_motion(tmp_path):
    swing().animate(tmp_path / "a.gif", speed=4.0, model=MODEL)
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF8")


def test_everything_that_knows_a_motion_is_filmed_without_a_browser(like, tmp_path):
    pytest.importorskip("PIL", reason="needs the extra view")
    assert mq.film(MODEL, like, tmp_path / "a.gif", rate=5, size=(32, 24)).stat().st_size > 100
