"""Every number that `parameter_names` lists acts in a simulation as it does in a model that is built with it.

The models are those of `tests/every_part.py`. One compiled step takes all their numbers as inputs. It is compared with
the formula of motion on floats, of a model in which `dataclasses.replace` has put the numbers into their fields.
"""

import re
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import Effort, Ipopt, Problem
from myoquat.analysis.recruitment import Reserve, ReserveActuator, redundancy
from myoquat.analysis.studies import MuscleTrial
from myoquat.dynamics.constraints import constraints_of
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.simulation.methods import Timing
from myoquat.environments import PoseTask, VectorEnvironment
from myoquat.muscle import actuators as act
from tests.every_part import START, contacts, driven, forces, functions, joints, muscled, on_paths, past_surfaces
from tests.pairs.interpreted import interpreted

STEP = 1e-3  # [s]
NAMES_IN_A_GROUP = 30  # that change together

MODELS = {
    joints: r"bodies|gravity",
    functions: r"bodies\..*\.joint\.",
    forces: r"forces|limits",
    contacts: r"forces",
    driven: r"actuators|inputs",
    muscled: r"muscles|inputs",
    on_paths: r"muscles",
    past_surfaces: r"muscles",
}


# ---- a model with other numbers, by an independent route ---------------------------------------------------------


def rebuilt(node, changes):
    """`node` with values put in at paths of words, {("forces", "bush", "first_point", "0"): value}."""
    if list(changes) == [()]:
        return changes[()]
    below = {}
    for words, value in changes.items():
        below.setdefault(words[0], {})[words[1:]] = value
    if isinstance(node, tuple):
        items, names = list(node), [getattr(item, "name", "") for item in node]
        for word, inner in below.items():
            k = names.index(word) if word in names and names.count(word) == 1 else int(NUMBERS.get(word, word))
            items[k] = rebuilt(items[k], inner)
        return tuple(items)
    own = {f.name for f in fields(node)}
    if isinstance(node, mq.Muscle):  # whose path's points are called path
        words = {"path": "points", "wraps": "wraps", "pulleys": "pulleys"}
        parts = {word: below.pop(word) for word in words if word in below}
        along = {(words[word], *rest): value for word, inner in parts.items() for rest, value in inner.items()}
        below |= {"path": along} if along else {}
    for hidden in {"system", "law"} & own - set(below):  # levels that names leave out
        inside = getattr(node, hidden)
        there = {f.name for f in fields(inside)} if is_dataclass(inside) else set()
        deeper = {word: below.pop(word) for word in list(below) if word not in own and word in there}
        if deeper:
            flat = {(word, *rest): value for word, inner in deeper.items() for rest, value in inner.items()}
            below[hidden] = flat
    return replace(node, **{word: rebuilt(getattr(node, word), inner) for word, inner in below.items()})


INERTIA = {"xx": 0, "yy": 1, "zz": 2, "xy": 3, "xz": 4, "yz": 5}
NUMBERS = {"x": 0, "y": 1, "z": 2, "Q0": 0, "Q1": 1, "Q2": 2, "Q3": 3} | INERTIA


def split_name(name, model):
    """The words of a name; names of parts may have dots themselves."""
    parts = [part for f in fields(model) if isinstance(part := getattr(model, f.name), tuple)]
    known = {getattr(item, "name", "") for part in parts for item in part}
    words = name.split(".")
    for length in range(len(words), 1, -1):
        joined = ".".join(words[1:length])
        if joined in known:
            return (words[0], joined, *words[length:])
    return tuple(words)


# ---- one step, both ways -------------------------------------------------------------------------------------------


def is_input(name):
    """A number of the start, or the activation of a muscle where none is given."""
    return name.startswith("start_") or (name.startswith("muscles.") and name.endswith(".activation"))


def varied(model, pattern):
    """The names that begin so, their own values (n,), and rows (n, n): in row k the number k is another one."""
    listed = mq.muscle.parameter_names(model)
    names = [name for name in listed if re.match(pattern, name) and not is_input(name)]
    own = mq.muscle.Parameters.of(model, names).defaults
    rows = np.tile(own, (len(names), 1))
    step = 0.003 + 0.01 * np.abs(own)
    rows[np.diag_indices(len(names))] += np.where([name.endswith(("swing", "hertz")) for name in names], -step, step)
    return names, own, normalized(names, rows)


def normalized(names, rows):
    """Orientations of length one."""
    for head in {name[:-3] for name in names if name.endswith(".Q0")}:
        group = [names.index(f"{head}.Q{i}") for i in range(4)]
        rows[..., group] /= np.linalg.norm(rows[..., group], axis=-1, keepdims=True)
    return rows


def stepped(model, q, u, own):
    """(n,) speeds and other states after a step: the formula of motion, which runs on floats."""
    equations = StateEquations(model, constraints=constraints_of(model))
    inputs = inputs_at(equations, START) | {"own": own}
    rates = [equations.bounded(own + STEP * rate) for rate in equations.own_rate(q, u, inputs)]
    return np.concatenate([u + STEP * equations.acceleration(np.array(START), q, u, inputs), *rates])


def inputs_at(equations, t):
    """What the model's own functions give, or the activations that it names."""
    model, inputs = equations.muscled, {name: np.zeros(size) for name, size in equations.inputs.items()}
    if "activation" in inputs and not model.inputs:
        inputs["activation"] = np.array([muscle.activation for muscle in model.muscles])
    known = {"controls": model.control_names, "excitation": model.muscle_names, "activation": model.muscle_names}
    for key, names in known.items():
        for prescribed in model.inputs if key in inputs else ():
            if prescribed.name in names:
                inputs[key][names.index(prescribed.name)] += prescribed.function.value(np.array(t))
    return inputs


@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__)
def test_every_name_acts_as_in_the_model_built_with_it(build):
    """Names in groups: a number that acts otherwise in one model shows in the row of its group, and is then sought
    alone."""
    model = build()
    names, own, rows = varied(model, MODELS[build])
    rng = np.random.default_rng(7)
    spread = 0.05 if build in (contacts, past_surfaces) else 0.8
    q = model.system.integrate(model.start, spread * rng.normal(size=model.system.nu))
    u = rng.normal(size=model.system.nu)
    count = max(5, len(names) // NAMES_IN_A_GROUP)  # the four numbers of an orientation are in four groups
    groups = [list(range(k, len(names), count)) for k in range(count)]
    together = np.array([own + (rows[group] - own).sum(axis=0) for group in groups])
    values = np.concatenate([own[None], rows, together])
    simulator = mq.dynamics.Simulator(model, method="semi_implicit_euler", stabilization="none", parameters=names)
    given = mq.dynamics.Inputs(parameters=dict(zip(names, values.T, strict=True)))
    run = simulator.run((q, u), Timing(STEP, STEP, STEP, START), given)
    found = np.concatenate([run.final_u, run.final_own], axis=-1)
    tolerance = 1e-6 * (np.abs(run.final_u[0] - u).max() + STEP)

    def error(row):
        changed = {split_name(names[i], model): float(values[row, i]) for i in np.flatnonzero(values[row] != own)}
        expected = stepped(rebuilt(model, changed) if changed else model, q, u, run.own[row, 0])
        return np.abs(found[row] - expected).max() / tolerance

    assert error(0) < 1
    wrong = {}
    for k, group in enumerate(groups):
        if not error(1 + len(names) + k) < 1:
            wrong |= {names[i]: error(1 + i) for i in group}
    assert not wrong
    acting = {field_of(model, name) for name, row in zip(names, found[1:], strict=False)
              if np.abs(row - found[0]).max() > tolerance}  # fmt: skip
    fields_of = {field_of(model, name) for name in names}
    assert build in (muscled, past_surfaces) or fields_of - acting <= IDLE  # both have many branches


# ---- every other consumer: all names at once ------------------------------------------------------------------------


def in_environment(model, q, u, parameters):
    """The states after an action."""
    hinge = next(name for name in model.system.coordinate_names if name.endswith("angle"))
    free = act.CoordinateActuator("free", hinge, lower=-2.0, upper=2.0)
    model = replace(model, actuators=(*model.actuators, free), start_q=tuple(q), start_u=tuple(u))
    task = PoseTask(model, STEP, 2, low=model.start_q, high=model.start_q, start_time=START)
    states = VectorEnvironment(task, 1, randomize={name: (x, x) for name, x in parameters.items()})
    states.reset(seed=0)
    states.step(np.full(states.action_space.shape, 0.3))
    return states.episodes.x


def in_optimal_control(model, q, u, parameters):
    """The optimum from a start that is given."""
    own = dict.fromkeys(StateEquations(model).own, 0.2)
    torques = dict.fromkeys(model.system.velocity_names, 10.0)
    problem = Problem(model, 0.02, (Effort(),), 2, "trapezoid", START, initial={"q": q, "u": u} | own, torques=torques,
                      parameters=parameters)  # fmt: skip
    solution = problem.solve(solver=Ipopt(tolerance=1e-10))
    assert solution.success
    return np.concatenate([solution.q, solution.u], axis=-1)


def recorded(model, q, u):
    """A motion, a load on the last body, and reserves, one of them at a point."""
    t = np.linspace(0.0, 0.02, 3)[:, None]
    q, u, udot = model.system.integrate(q, t * u), np.tile(u, (3, 1)), 0.3 * u + 0 * t
    motion = mq.data.Motion(model, START + t[:, 0], q, u, udot)
    (*_, body), push = model.system.body_names, np.tile((3.0, 2.0, 1.0), (3, 1, 1))
    loads = mq.data.Forces(motion.time, ("push",), (body,), push, 0.1 * push, 0.2 * push, (body,), (body,))
    point = ReserveActuator(act.PointActuator("point", body, (0.1, 0.2, 0.3), (0.3, 0.2, 1.0)))
    return motion, loads, (*(Reserve(name, 100.0) for name in model.system.velocity_names), point)


def in_trial(model, q, u, parameters):
    """The forces of muscles and reserves of a recorded motion, of a study where numbers vary."""
    motion, loads, reserves = recorded(model, q, u)
    on_bones = all(path.on_bones for path in model.paths)
    kept = ("peak_force", "peak_reserve", "joint_reaction")[: 2 + on_bones]
    if not parameters:
        found = redundancy(model, motion, loads, reserves=reserves, backend="numpy")
        joints = [np.linalg.norm(found.joint_loads().wrench[..., :3], axis=-1)] if on_bones else []
        return np.concatenate([x.max(axis=0) for x in (found.force, abs(found.reserve), *joints)])
    varied, trial = {name: [x] for name, x in parameters.items()}, MuscleTrial(motion, loads, reserves=reserves)
    study = mq.Study(model, varied, design="table", trial=trial, summaries=kept).run(progress=False)
    return np.concatenate([study[name].values[0] for name in kept])


def along_motion(model, q, u, parameters):
    """The optimal controls of a recorded motion."""
    motion, loads, _ = recorded(model, q, u)
    torques = dict.fromkeys(model.system.velocity_names, 10.0)
    problem = Problem(model, 0.02, (Effort(),), 2, "trapezoid", START, torques=torques, loads=loads, prescribed=motion,
                      parameters=parameters)  # fmt: skip
    solution = problem.solve(solver=Ipopt(tolerance=1e-10))
    assert solution.success
    return solution.controls


@pytest.mark.parametrize(
    ("consumer", "build"),
    [
        (in_environment, driven),
        (in_environment, muscled),
        (in_optimal_control, driven),
        *((along_motion, build) for build in (driven, on_paths)),
        *((in_trial, build) for build in MODELS),
    ],
    ids=lambda x: x.__name__,
)
def test_every_consumer_has_the_model_built_with_all_names(consumer, build):
    model = build()
    names, own, rows = varied(model, "" if consumer in (in_trial, along_motion) else MODELS[build])
    values = normalized(names, own + (rows - own).sum(axis=0) / 2)
    q = model.system.integrate(model.start, np.linspace(-0.5, 0.6, model.system.nu))
    u = np.linspace(1.0, -1.0, model.system.nu)
    changed = {split_name(name, model): float(x) for name, x in zip(names, values, strict=True)}
    before, found = (consumer(model, q, u, dict(zip(names, row, strict=True))) for row in (own, values))
    expected = consumer(rebuilt(model, changed), q, u, {})
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    assert np.abs(before - expected).max() > 1e-4 * np.abs(expected).max()


def test_derivatives_by_numbers_of_inputs_and_actuators_are_those_of_rebuilt_models():
    """The activations of delayed actuators are variables of their own, so that where they start has no derivative."""
    model = driven()
    names, own, _ = varied(model, r"actuators|inputs")
    started = [name for name in names if name.endswith(".activation")]
    q, u = model.system.integrate(model.start, np.linspace(-0.5, 0.6, 4)), np.linspace(1.0, -1.0, 4)
    tau, here = np.zeros(4), mq.dynamics.Inputs()
    with pytest.raises(ValueError, match=r"'actuators.delayed.activation' is an input of its own"):
        mq.dynamics.forward_dynamics_derivatives(model, q, u, tau, inputs=here, parameters=started)
    names = [name for name in names if name not in started and ".function.x." not in name]  # these have kinks at 0 s
    own = mq.muscle.Parameters.of(model, names).defaults
    direction = np.random.default_rng(1).normal(size=len(names)) * (0.01 + 0.1 * np.abs(own))
    with interpreted():
        found = mq.dynamics.forward_dynamics_derivatives(model, q, u, tau, inputs=here, parameters=names).parameters

    def acceleration(step):
        changed = {split_name(name, model): float(x) for name, x in zip(names, own + step * direction, strict=True)}
        equations = StateEquations(rebuilt(model, changed))
        inputs = inputs_at(equations, 0.0) | {"own": StateEquations(model).delayed_start()[0]}
        return equations.acceleration(np.array(0.0), q, u, inputs)

    slope = (acceleration(1e-3) - acceleration(-1e-3)) / 2e-3
    np.testing.assert_allclose(sum(found[name] * d for name, d in zip(names, direction, strict=True)), slope, atol=1e-6)


def field_of(model, name):
    """The class and the field of a number: the same field acts somewhere in the model."""
    node, (*steps, last) = model, mq.muscle.Parameters.of(model, name).locations[0].steps
    steps, last = (steps[:-1], steps[-1]) if isinstance(last, int) else (steps, last)
    for step in steps:
        node = getattr(node, step) if isinstance(step, str) else node[step]
    return f"{type(node).__name__}.{last}"


# Numbers of which another branch or another time acts: a smoothing, the far end of a range, a jump that lies elsewhere.
IDLE = {
    "ConditionalPoint.range",
    "CoordinateLimit.transition",
    "IntegratingCoordinateActuator.least_activation",
    "LinearContact.transition_velocity",
    "PiecewiseConstant.x",
    "RotationLimit.transition",
    "SmoothSphereHalfSpace.hertz_smoothing",
    "SmoothSphereHalfSpace.hunt_crossley_smoothing",
    "SwingTwistLimit.center",
    "SwingTwistLimit.swing",
    "SwingTwistLimit.swing_stiffness",
}
