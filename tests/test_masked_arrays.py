"""Entries that a masked array hides are never data.

Every public function that takes arrays raises an error that names the argument. Recordings, where NaN means that a
value is missing, hold NaN there.
"""

import ast
import importlib
import inspect
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import public_api
import pytest
import test_doors

import myoquat as mq
from myoquat import kernels
from myoquat.analysis.control import Effort as ControlEffort, PathConstraint, Problem
from myoquat.analysis.fits import JointForceFits, PathFits
from myoquat.analysis.motion import FilteredMotion, GaitEvents
from myoquat.analysis.recruitment import Effort, JointCone, joint_loads, redundancy
from myoquat.apps.explorer import Explorer
from myoquat.core import real_array_with_gaps
from myoquat.data.motions import Emg, Forces, Markers, Motion, Orientations
from myoquat.dynamics import Gamma, Simulator
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, Distance
from myoquat.environments import Environment, PoseTask, VectorEnvironment
from myoquat.joints.functions import Constant, Linear, MultivariatePolynomial, Polynomial, Sine, SmoothStep
from myoquat.muscle import ActivationDynamics, Parameters, PathPoint
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.forces import ContactHalfSpace, ContactSphere
from myoquat.muscle.laws import Millard2012
from tests.bodies import on_hinge, on_slide

TYPES = ("ArrayLike", "ControlLike")
GAPS = {("plot_loads", "over"), ("plot_loads", "forces"), ("plot_socket", "forces")}  # NaN is a gap of the line
# Not called here: the abstract law, the window of the viewer (`check_q`), what passes its arguments on unchanged, and
# the density of a calibration, of which tests/analysis/recruitment/test_moment_calibration.py has one.
ELSEWHERE = {"ForceLaw.equilibrium", "Viewer.show", "Simulator.run", "estimate_scale", "forward_check",
             "MomentCalibration.log_density"}  # fmt: skip


def hidden(x):
    """x as a masked array whose first entry is hidden; the same in a dictionary, a tuple or a list of pairs."""
    if isinstance(x, dict):
        return {name: hidden(value) for name, value in x.items()}
    if isinstance(x, tuple):
        return tuple(map(hidden, x))
    x = np.ma.array(np.atleast_1d(x))
    x[(0,) * x.ndim] = np.ma.masked
    return x


def array_arguments(node):
    """Names of the arguments of a function that are annotated as arrays."""
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return [a.arg for a in arguments if a.annotation and any(t in ast.unparse(a.annotation) for t in TYPES)]


def public_arguments():
    """(label, class or None, function, argument) of every public argument that takes an array."""
    found, seen = [], set()
    for package in public_api.PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if id(value) in seen:
                continue
            seen.add(id(value))
            owner, node = value if inspect.isclass(value) else None, public_api._definition(value)
            members = [node] if owner is None else [m for m in node.body if isinstance(m, ast.FunctionDef)]
            for member in filter(None, members):
                label = name if owner is None else f"{name}.{member.name}"
                private = member.name.startswith("_") and member.name not in ("__init__", "__call__")
                if label not in ELSEWHERE and not private:
                    found += [(label, owner, value, argument) for argument in array_arguments(member)]
    return found


def arm():
    """A hinged rod with an elastic muscle and an actuator."""
    rod = on_hinge("rod", "y", center_of_mass=(0.2, 0, 0))
    path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    law = Millard2012(100.0, optimal_fiber_length=0.2, tendon_slack_length=0.3)
    motor = CoordinateActuator("motor", "rod.angle")
    biceps = mq.Muscle("biceps", path, law, activation=0.1, activation_dynamics=ActivationDynamics())
    tip = Marker("tip", "rod", (0.4, 0.0, 0.0))
    return mq.Model(mq.ArticulatedSystem((rod,)), (biceps,), actuators=(motor,), markers=(tip,))


@cache
def values():
    """Arguments by name, of the model two_link, and by function, of others."""
    known, model = test_doors.values(), mq.load_model("two_link")
    t = known["motion"].time
    markers, sensors = Markers(t, ("heel",), np.zeros((12, 1, 3))), Orientations(t, ("A_imu",), [[[1.0, 0, 0, 0]]] * 12)
    emg = Emg(t, (model.muscle_names[0],), np.full((12, 1), 0.1))
    return known | {
        **dict.fromkeys(("q0", "q1", "start", "pose", "relative_to"), known["q"]),
        **dict.fromkeys(("qdot", "qd"), np.zeros(8)),
        **dict.fromkeys(("markers", "data"), markers),
        **dict.fromkeys(("about", "point"), np.zeros(3)),
        **dict.fromkeys(("axes", "directions"), np.eye(3)),
        **dict.fromkeys(("p", "bandwidth"), np.ones(6)),
        **dict.fromkeys(("controls", "x0"), np.zeros(1)),
        **dict.fromkeys(("h", "duration", "longest_gap"), 0.1),
        "u0": known["u"],
        "t": np.zeros(2),
        "eliminated": np.zeros(2, int),
        "values": {"A.Q0": np.ones(2)},
        "steps": 2,
        "parameters": {"gravity.2": np.zeros(2)},
        "multipliers": np.ones(1),
        "activations": emg,
        "orientations": sensors,
        "factors": {"A": np.ones(3)},
        "joint": "A",
        "muscle_forces": np.zeros((12, 6)),
        "wrenches": np.zeros((12, 2, 6)),
        "step": None,
        "action": np.zeros(6),
        "actions": np.zeros((1, 6)),
    }


@cache
def owners():
    """An object of every class whose methods take arrays."""
    model, t = mq.load_model("two_link"), np.linspace(0.0, 0.5, 12)
    held = Constraints(model.system, (Distance("A", "ground", (0, 0, -1.0), (0.0, 0, 0), 1.0),))
    begun = VectorEnvironment(PoseTask(model, low=model.start, high=model.start), 1)
    begun.reset()
    return {
        "ArticulatedSystem": model.system,
        "Model": model,
        "ConstraintArrays": ConstraintArrays(held),
        "Explorer": Explorer(model),
        "Parameters": Parameters.of(model, "muscles.*.max_isometric_force"),
        "HillLaw": arm().muscles[0].law,
        "StepLoop": kernels.step_loop(1, rhs=lambda t, x: x),
        "Markers": Markers(t, ("heel",), np.ones((12, 1, 3))),
        "Orientations": values()["orientations"],
        "Emg": values()["activations"],
        "Forces": Forces(t, ("plate",), ("A",), *np.zeros((3, 12, 1, 3))),
        "JointLoads": joint_loads(model, values()["motion"]),
        "JointForceFits": JointForceFits("A", {}, {}),
        "Environment": Environment(PoseTask(model, low=model.start, high=model.start)),
        "VectorEnvironment": begun,
        "FilteredMotion": FilteredMotion(arm(), t, *np.zeros((2, 12, 1)), covariance=np.tile(np.eye(2), (12, 1, 1))),
        "Simulator": Simulator(arm(), parameters=["gravity.2"], external_torque=True),
    }


@cache
def own():
    """Arguments of single functions and classes where those by name do not fit."""
    model, t, two_link = arm(), np.linspace(0.0, 0.1, 12), values()["model"]
    q, motion = np.zeros((12, 1)), values()["motion"]
    tip = {"model": model, "data": Markers(t, ("tip",), np.zeros((12, 1, 3)))}
    muscle = {"model": model, "q": [0.0], "u": [0.0], "activation": [0.5], "state": [0.2], "rate": [0.0]}
    chain = {"q": [0.0], "qd": [0.0], "qdd": [0.0], "tau": [0.0], "f_end": [0.0, 0.0, 0.0]}
    squares = {"M": np.eye(2), "A": np.eye(2), "b": np.zeros(2), "levels": [(np.eye(2), np.zeros(2))]}
    posed = {"fits": PathFits({}), "poses": values()["q"][None]}
    second = {"weights": np.zeros(6), "direction": (np.zeros(6),) * 3}
    over = {"model": mq.load_model("two_link", rotations="sequence"), "over": "A.p2", "values": np.ones(2)}
    of_muscle = ("muscle_state_rates", "muscle_state_residuals", "muscle_forces", "muscle_torques", "acting_torques")
    return {
        **dict.fromkeys(of_muscle, muscle),
        **dict.fromkeys(("skeleton_id", "skeleton_fd", "skeleton_bias"), chain),
        **dict.fromkeys(("classical", "augmented", "working", "kkt", "priorities"), squares),
        **dict.fromkeys(("forward_dynamics_hvp", "inverse_dynamics_hvp"), second),
        **dict.fromkeys(("plot_moment_arms", "plot_lengths", "plot_tensions"), over),
        **dict.fromkeys(("certify", "fit_paths", "fit_joint_forces"), posed),
        "metabolic_power": {"model": model, "motion": Motion(model, t, q, q, q), "activation": q + 0.5,
                            "states": q + 0.2},
        "simulate": {"model": model, "muscle_states": [0.2]},
        "Simulator": {"q0": [0.0], "u0": [0.0], "muscle_states": [0.2]},
        "HillLaw": {"length": 0.5, "speed": 0.0},
        "motion_from_states": {"model": model, "q": q, "muscle_states": q + 0.2},
        "states_from_motion": {"motion": pd.DataFrame({"A.Q0": [0.0]}, index=[0.0]), "in_degrees": False},
        "load_motion": {"model": model, "start": [0.0]},
        "forward_dynamics_gamma": {"gamma": Gamma(lambda y, q0: y, lambda q: q, 8)},
        "plot_loads": {"over": np.arange(3.0), "forces": {"a": np.ones((3, 3))}},
        "plot_socket": {"cone": JointCone("A", (0, 0, 1.0), 0.5), "forces": {"a": np.ones((3, 3))}},
        "joint_loads": {"motion": Motion(two_link, np.linspace(0, 0.5, 12), motion.q, np.zeros((12, 6)))},
        "track": {"activation": np.full((12, 6), 0.1)},
        "kalman_filter": tip | {"start_velocity": [0.0]},
        "FilteredMotion": {"q": q},
        "inverse_kinematics": tip | {"coordinates": {"rod.angle": np.ones(12)}},
        "moment_arm_surface": {"over": {"A.Q0": np.ones(2)}},
        "gait_events_from_markers": {"feet": {"right": ("heel", "heel")}, "pelvis": ["heel"], "direction": np.ones(3)},
        "gait_parameters": {"events": GaitEvents({}, {}, (0.0, 1.0), "forces"), "direction": np.ones(3)},
        "plot_cycles": {"trials": [motion], "reference": {"A.Q0": (np.zeros(101), np.ones(101))}},
        "cloud_poses": {"spread": 0.1},
    }  # fmt: skip


def saved(label):
    """The path of a file that a function reads, in the current folder."""
    files = {"load_markers": ("Markers", "a.trc"), "load_orientations": ("Orientations", "a.sto"),
             "load_forces": ("Forces", "a.xml")}  # fmt: skip
    if label == "load_motion":
        Motion(arm(), [0.0, 0.1], [[0.0]] * 2).save("a.mot")
        return "a.mot"
    if label == "load_suit":
        frame = "<orientation>1 0 0 0</orientation><position>0 0 0</position>"
        frames = "".join(
            f'<frame type="{pose}" time="{10 * k}">{frame}</frame>' for k, pose in enumerate(("tpose", "normal"))
        )
        segments = '<segments><segment label="Pelvis"/></segments>'
        subject = f'<subject frameRate="100">{segments}<frames>{frames}</frames></subject>'
        Path("a.mvnx").write_text(f'<mvnx version="4">{subject}</mvnx>')
        return "a.mvnx"
    if label not in files:
        return None
    file_type, path = files[label]
    owners()[file_type].save(path)
    return path


def outcome(label, owner, function, argument):
    """What a call with a hidden entry in one argument raises, or None."""
    given = values() | own().get(label.partition(".")[0], {}) | own().get(label, {})
    if owner is not None and not label.endswith("__init__"):
        name = label.partition(".")[2]
        function = owners()[owner.__name__] if name == "__call__" else getattr(owners()[owner.__name__], name)
    parameters = inspect.signature(function).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    given["path"] = saved(label)
    arguments = {name: given[name] for name in (*needed, *ALSO.get(label, ()))}
    try:
        function(**arguments | {argument: hidden(given[argument])})
    except Exception as error:
        return error
    return None


BY_NAME = {"values", "parameters", "factors", "coordinates"}  # dictionaries: the error names the entry
# Optional arguments without which a call ends before it sees the others.
ALSO = {
    "track": ("activation",),
    "acting_torques": ("activation", "state"),
    "states_from_motion": ("in_degrees",),
    "Simulator.__call__": ("parameters",),
}


def is_rejected(error, argument):
    """Whether an error is that of the argument's hidden entries."""
    named = argument in str(error) or argument in BY_NAME
    return isinstance(error, ValueError) and "masked" in str(error) and named


def test_hidden_entries_of_every_public_argument_are_rejected(tmp_path, monkeypatch):
    found = {}
    for k, (label, owner, function, argument) in enumerate(public_arguments()):
        (tmp_path / str(k)).mkdir()
        monkeypatch.chdir(tmp_path / str(k))
        found[label, argument] = outcome(label, owner, function, argument)
    assert len(found) > 300
    assert not {key: found[key] for key in GAPS & found.keys() if found[key] is not None}
    assert not {key: error for key, error in found.items() if key not in GAPS and not is_rejected(error, key[1])}


# ---- what is not annotated as an array ----------------------------------------------------------------------


X = np.ma.array([1.0, 99.0, 3.0], mask=[False, True, False])


@pytest.fixture(scope="module")
def squares():
    return kernels.compile(lambda x: x * x, {"x": 3}, name="squares")


@pytest.mark.parametrize(
    "x", [X, [X, X], (X.filled(0.0), X), [1.0, np.ma.masked, 3.0]], ids=["array", "list", "tuple", "entry"]
)
def test_kernels_reject_hidden_entries_at_any_depth(squares, x):
    for call in (squares, squares.numpy, squares.single()):
        with pytest.raises(ValueError, match="input 'x': a masked array"):
            call(x)


def test_step_loops_reject_hidden_entries_of_their_inputs():
    loop = kernels.step_loop(1, rhs=lambda t, x, u: np.stack([u]), inputs={"u": ()}, method="euler")
    for u in (
        X[1],
        kernels.ZeroOrderHold(X),
        kernels.LinearInterpolation([0.0, 1.0, 2.0], X),
        kernels.LinearInterpolation(X, [0.0, 1.0, 2.0]),
    ):
        with pytest.raises(ValueError, match=r"'u'.*masked"):
            loop([0.0], h=0.1, steps=2, u=u)


def test_loops_reject_hidden_entries():
    for state, parameters in ((X, np.ones(3)), (np.ones(3), X)):
        with pytest.raises(ValueError, match="masked"):
            kernels.while_loop(lambda z: z < 2.0, lambda z, c: z + c, state, parameters, max_steps=2)


@pytest.mark.parametrize("x", [pd.array([1.0, pd.NA, 3.0], "Float64"), pd.Series([1, pd.NA, 3], dtype="Int64")])
def test_missing_values_of_pandas_are_never_numbers(squares, x):
    if np.asarray(x).dtype == object:  # as older pandas converts it
        with pytest.raises(ValueError, match="input 'x'"):
            squares(x)
    else:
        np.testing.assert_array_equal(squares(x), [1.0, np.nan, 9.0])
    with pytest.raises(ValueError, match="u"):
        mq.ArticulatedSystem(tuple(on_slide(n, mass=0.0) for n in "abc")).check_u(x)


HOLES = {
    "masked array": X,
    "nested list": [1.0, np.ma.masked, 3.0],
    "NA in a list": [1.0, pd.NA, 3.0],
    "nullable array": pd.array([1.0, pd.NA, 3.0], dtype="Float64"),
    "nullable series": pd.Series([1, pd.NA, 3], dtype="Int64"),
    "None": [1.0, None, 3.0],
    "NaN": [1.0, np.nan, 3.0],
}


@pytest.mark.parametrize("values", HOLES.values(), ids=HOLES)
def test_missing_values_of_recordings_are_nan(values):
    np.testing.assert_array_equal(real_array_with_gaps("signal", values), [1.0, np.nan, 3.0])


def test_tables_with_missing_values_become_gaps():
    markers = Markers([0.0, 0.1, 0.2], ("heel",), np.ones((3, 1, 3)))
    table = markers.to_dataframe().astype("Float64")
    table.iloc[1, 0] = pd.NA
    assert Markers.from_dataframe(table).missing[:, 0].tolist() == [False, True, False]
    emg = Emg([0.0, 0.1, 0.2], ("soleus",), np.ones((3, 1))).to_dataframe().astype("Float64")
    emg.iloc[1, 0] = pd.NA
    assert np.isnan(Emg.from_dataframe(emg).signal[:, 0]).tolist() == [False, True, False]


def test_recordings_without_gaps_reject_hidden_entries():
    model, t = arm(), [0.0, 0.1, 0.2]
    with pytest.raises(ValueError, match="q: a masked array"):
        Motion(model, t, X[:, None])
    with pytest.raises(ValueError, match="udot: a masked array"):
        Motion(model, t, np.zeros((3, 1)), np.zeros((3, 1)), X[:, None])
    for name in ("force", "point", "torque"):
        given = dict.fromkeys(("force", "point", "torque"), np.zeros((3, 1, 3))) | {name: hidden(np.zeros((3, 1, 3)))}
        with pytest.raises(ValueError, match=f"{name}: a masked array"):
            Forces(t, ("plate",), ("rod",), **given)


def test_problems_reject_hidden_entries_in_what_they_name():
    """In guesses, bounds, ends and meshes, whose arrays stand under names."""
    problem = Problem(arm(), 1.0, (ControlEffort(),), 4, torques=[*arm().system.velocity_names])
    name = problem.model.system.coordinate_names[0]
    with pytest.raises(ValueError, match=f"guess: {name}: a masked array"):
        problem.posed({name: X})
    for given in ({"bounds": {name: X[:2]}}, {"initial": {"u": X[1:2]}}, {"intervals": X}):
        with pytest.raises(ValueError, match="masked array"):
            _ = replace(problem, **given).mesh, replace(problem, **given).statement
    with pytest.raises(ValueError, match="'hold': a masked array"):
        PathConstraint("hold", lambda point: point[name], X, np.inf)


def test_efforts_and_drawings_of_hidden_entries():
    motion = own()["metabolic_power"]["motion"]
    for name in ("weights", "target"):
        with pytest.raises(ValueError, match=f"{name}: a masked array"):
            redundancy(arm(), motion, effort=Effort(**{name: hidden(np.ones(1))}))
    figure = mq.analysis.plot_loads(
        np.arange(3.0), {"a": np.ma.array(np.ones((3, 3)), mask=[[False], [True], [False]] * np.ones(3, bool))}
    )
    assert np.isnan(figure.axes[0].lines[0].get_ydata()[1])


def masked_first(*numbers):
    """The numbers, the first of them hidden."""
    return np.ma.array(numbers, mask=[True, *[False] * (len(numbers) - 1)])


ROD = mq.ArticulatedSystem((on_hinge("rod", "y"),))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(masked_first(1.0)[0]),
        lambda: Linear(np.ma.array(1.0, mask=True)),
        lambda: Sine(1.0, np.ma.array(1.0, mask=True)),
        lambda: Polynomial(masked_first(1.0, 2.0)),
        lambda: Polynomial((1.0, np.ma.array(1.0, mask=True))),
        lambda: SmoothStep(np.ma.array(1.0, mask=True), 2.0),
        lambda: MultivariatePolynomial(1, 1, masked_first(1.0, 2.0)),
        lambda: ContactSphere("ball", "rod", radius=0.1, position=masked_first(0.0, 0.0, 0.0)).check(ROD, "contact"),
        lambda: ContactHalfSpace("floor", "ground", normal=masked_first(0.0, 1.0, 0.0)).check(ROD, "contact"),
    ],
)
def test_functions_and_surfaces_reject_hidden_entries(make):
    with pytest.raises(ValueError, match="masked"):
        make()
