"""NumPy, CasADi and kernels compute the same.

Every formula of joints and muscle agrees within 4 units in the last place of the largest number that the computation
passes through. The recursions over bodies agree within 4 units of their rounding. The first scale is right where
numbers cancel: what is lost then is no fault of the way they were computed. Through hundreds of operations one after
the other rounding adds up. There the unit is the standard deviation of the results, to first order, if every operation
had an independent rounding of half a unit. Both are found by running CasADi's own instructions.
"""

import inspect
import re
from collections.abc import Mapping
from functools import partial

import numpy as np
import pytest

from myoquat import dynamics, joints, kernels, muscle
from myoquat.data import library_models, load_model
from myoquat.joints.quaternion import EXTENSIONS
from myoquat.kernels.symbolic.terms import Tracer, number_of
from myoquat.kernels.tracing.tape import arguments, in_terms, interpret, tape_of
from myoquat.muscle.argument_validation import eliminated_components
from myoquat.muscle.segments.lengths import coordinate_jacobian, lengths, velocity_jacobian
from myoquat.muscle.states import forces, torques
from tests.bodies import on_ball, on_hinge

UNITS = 4
STATES = 10
STATES_OF_SYSTEMS = 4  # NumPy runs their recursions state by state

_SLOPES = {  # derivatives of the operations by their arguments, where they are not zero
    "add": lambda a, b: (1, 1), "sub": lambda a, b: (1, 1), "mul": lambda a, b: (b, a), "neg": lambda a: (1,),
    "div": lambda a, b: (1 / b, a / b**2), "sqrt": lambda a: (0.5 / np.sqrt(a),), "inv": lambda a: (1 / a**2,),
    "sq": lambda a: (2 * a,), "twice": lambda a: (2,), "abs": lambda a: (1,),
    "min": lambda a, b: (a <= b, b < a), "max": lambda a, b: (a >= b, b > a), "if": lambda c, a: (0, c != 0),
    "sin": lambda a: (np.cos(a),), "cos": lambda a: (np.sin(a),), "tan": lambda a: (1 / np.cos(a) ** 2,),
    "asin": lambda a: (1 / np.sqrt(1 - a**2),), "acos": lambda a: (1 / np.sqrt(1 - a**2),),
    "atan": lambda a: (1 / (1 + a**2),), "atan2": lambda a, b: (b / (a**2 + b**2), a / (a**2 + b**2)),
    "select": lambda c, a, b: (0, c != 0, c == 0), "exp": lambda a: (np.exp(a),), "log": lambda a: (1 / a,),
}  # fmt: skip


def _tape(kernel):
    """The kernel's formula as a tape without calls."""
    traced, tracer = kernel._traced, Tracer()
    inputs = tracer.inputs(sum(traced.signature.input_sizes))
    return tape_of(tracer, inputs, interpret(traced.tape, inputs, in_terms(tracer), traced.inner))


def _walk(tape, rows):
    """Of every node: it, its arguments' values, its value (n,), on rows (n, inputs)."""
    values = []
    for node in tape.nodes:
        operands = [values[i] for i in arguments(node)]
        if node.operation == "const":
            value = np.full(len(rows), node.number)
        elif node.operation == "input":
            value = rows[:, int(node.number)]
        else:
            value = number_of(node.operation, *operands)
        values.append(value)
        yield node, operands, value


def _largest(tape, rows):
    """Per state, a unit in the last place of the largest finite magnitude that the tape passes through."""
    with np.errstate(all="ignore"):
        found = [np.where(np.isfinite(value), np.abs(value), 0.0) for _, _, value in _walk(tape, rows)]
    return np.spacing(np.maximum(np.max(found, axis=0), np.abs(rows).max(axis=1)))


def _rounding(tape, rows):
    """Per state, the largest standard deviation of an output if every operation has an error of half a unit."""
    deviation = []
    with np.errstate(all="ignore"):
        for node, operands, value in _walk(tape, rows):
            total = np.zeros(len(rows))
            if node.operation not in ("const", "input"):
                slopes = _SLOPES.get(node.operation, lambda *a: [0] * len(a))(*operands)
                for slope, i in zip(slopes, arguments(node), strict=True):
                    total = total + np.where(deviation[i] == 0, 0.0, (slope * deviation[i]) ** 2)
                total = np.sqrt(total + (np.spacing(np.abs(value)) / 2) ** 2)
            deviation.append(total)
    return np.max([deviation[i] for i in tape.outputs], axis=0)


def _spread(results, others):
    """(n,) largest difference of two lists of arrays (n, ...) per state."""
    pairs = zip(results, others, strict=True)
    return np.max([np.abs(a - b).reshape(len(a), -1).max(axis=1, initial=0.0) for a, b in pairs], axis=0)


def _agree(formula, unit=_largest, **arrays):
    """The three ways agree on `arrays` (n, ...) within 4 units."""
    kernel = kernels.compile(formula, {name: a.shape[1:] for name, a in arrays.items()}, cache="off")
    given = list(arrays.values())
    count = len(given[0])
    in_numpy, compiled = _listed(kernel.numpy(*given)), _listed(kernel(*given))
    function = kernel.casadi_function
    in_casadi = [np.empty(x.shape) for x in compiled]
    for k in range(count):
        row = function(*(a[k].ravel() for a in given))
        for whole, value in zip(in_casadi, row if isinstance(row, tuple) else (row,), strict=True):
            whole[k] = np.array(value).reshape(whole[k].shape)
    size = unit(_tape(kernel), np.concatenate([a.reshape(count, -1) for a in given], axis=1))
    for name, pair in {
        "NumPy and kernel": (in_numpy, compiled),
        "NumPy and CasADi": (in_numpy, in_casadi),
    }.items():
        units = (_spread(*pair) / size).max()
        assert units <= UNITS, f"{name} differ by {units:.1f} units"


def _listed(result):
    """The arrays of a result. Of a record with mappings the first three: arrays of three axes come after them, and
    CasADi has none."""
    if not isinstance(result, tuple):
        return [result]
    return list(result[:3] if any(isinstance(part, Mapping) for part in result) else result)


# ---- formulas on arrays ------------------------------------------------------------------------------------


def _sample(name, rng):
    """(STATES, ...) of the argument of that name; quaternions and matrices where they are meant."""
    Q = joints.random_quaternions(STATES, rng)
    special = {
        "Q": lambda: Q,
        "P": lambda: joints.random_quaternions(STATES, rng),
        "R": lambda: joints.rotation_matrix(Q),
        "phi": lambda: rng.uniform(-1.3, 1.3, (STATES, 3)),
        "v": lambda: rng.normal(size=(STATES, 3)),
        "tau_E": lambda: rng.normal(size=(STATES, 3)),
        "J_Q": lambda: rng.normal(size=(STATES, 4)),
        "tension": lambda: rng.normal(size=STATES),
    }
    return special.get(name, lambda: rng.normal(size=(STATES, 3)))()


FIXED = ("sequence", "eliminated", "extension", "directions", "second")  # parameters that are no arrays of a state
THIRD_AXES = (0.0, 0.0, 1.0), (0.0, 0.6, 0.8)  # orthogonal to the first two axes; oblique: some rotations out of reach


def _formulas():
    """Every public function of joints that is a formula on arrays, with each of its choices."""
    for name in joints.__all__:
        function = getattr(joints, name)
        if not (inspect.isfunction(function) and hasattr(function, "__wrapped__")):
            continue
        parameters = inspect.signature(function).parameters
        choices = [{}]
        if "sequence" in parameters:
            choices = [{"sequence": sequence} for sequence in joints.SEQUENCES]
        if "eliminated" in parameters:
            choices = [{"eliminated": k} for k in range(4)]
        if "extension" in parameters:
            choices = [{"extension": extension} for extension in EXTENSIONS]
        if "directions" in parameters:
            choices = [{"directions": ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), third)} for third in THIRD_AXES]
        if "second" in parameters:
            choices = [{**choice, "second": second} for choice in choices for second in (False, True)]
        arrays = [p for p in parameters if p not in FIXED]
        yield pytest.param(function, arrays, choices, id=name)


@pytest.mark.parametrize("scalar", ["sympy"], indirect=True)
@pytest.mark.parametrize(("function", "arrays", "choices"), list(_formulas()))
def test_formulas_of_joints(function, arrays, choices, scalar, rng):
    """SymPy too, at one state, for two choices: a proper and a Tait-Bryan sequence, orthogonal and oblique axes."""
    samples = {name: _sample(name, rng) for name in arrays}
    one = [x[:1] for x in samples.values()]
    for choice in choices:
        _agree(partial(function, **choice), **samples)
    for choice in choices[-2:]:
        formula = partial(function, **choice)
        np.testing.assert_allclose(scalar(formula, *one), formula(*one), rtol=1e-12, atol=1e-12)


FLOATS_ONLY = {
    "condition_davenport": "takes singular values",
    "joint_table": "lists the joint types",
    "quaternion_from_rotation": "takes a SciPy Rotation, which holds floats",
    "random_quaternions": "draws numbers",
    "random_system": "draws a system",
    "rotation_from_quaternion": "gives a SciPy Rotation, which holds floats",
}


def test_functions_of_joints_take_symbols_or_have_a_reason():
    known = {p.values[0].__name__ for p in (*_formulas(), *_evaluators())} | {*FLOATS_ONLY, *WITHOUT_BACKEND}
    assert {name for name in joints.__all__ if inspect.isfunction(getattr(joints, name))} <= known


# ---- formulas of models ------------------------------------------------------------------------------------

MODELS = {name: load_model(name) for name in library_models() if name != "thoracoscapular"}  # surfaces: test_wrapping
EVERY_JOINT = joints.random_system(12, np.random.default_rng(23678), passive=True)
SKELETON = dynamics.PlanarSkeleton((0.4, 0.5, 0.3), (0.2, 0.2, 0.1), (4.0, 3.0, 1.0), (0.1, 0.05, 0.02))
KINDS = set(inspect.signature(joints.random_system).parameters["kinds"].default)


@pytest.mark.parametrize("name", MODELS)
def test_formulas_of_muscles(name, rng):
    model = MODELS[name]
    q, u = model.system.random(STATES, rng), rng.normal(size=(STATES, model.system.nu))
    _agree(lambda q: lengths(model.system, model.paths, q), q=q)
    _agree(lambda q: velocity_jacobian(model.system, model.paths, q), q=q)
    _agree(lambda q: coordinate_jacobian(model.system, model.paths, q), q=q)
    largest = eliminated_components(model.system, q, "largest").astype(float)
    _agree(lambda q, k: coordinate_jacobian(model.system, model.paths, q, k), q=q, k=largest)
    if not any(m.law is None or m.law.open_parameters() for m in model.muscles):
        activation = rng.uniform(size=(STATES, len(model.muscles)))
        _agree(lambda q, u, a: forces(model, q, u, a), q=q, u=u, a=activation)
        _agree(lambda q, u, a: torques(model, q, u, a), q=q, u=u, a=activation)


def _evaluators():
    """Every public function that has a backend, with its package."""
    for package in (joints, muscle, dynamics):
        for name in package.__all__:
            function = getattr(package, name)
            if inspect.isfunction(function) and "backend" in inspect.signature(function).parameters:
                yield pytest.param(function, id=f"{package.__name__.rpartition('.')[2]}.{name}")


def _arguments(function, system, count, rng):
    """Arrays (count, ...) and other arguments for a function of a model, by the names of its parameters."""
    nu = system.nu
    arrays = {
        "q": lambda: system.random(count, rng),
        "u": lambda: rng.normal(size=(count, nu)),
        "udot": lambda: rng.normal(size=(count, nu)),
        "tau": lambda: rng.normal(size=(count, nu)),
        "f_ext": lambda: rng.normal(size=(count, len(system.bodies), 6)),
        "point": lambda: rng.normal(size=(count, 3)),
        "about": lambda: rng.normal(size=(count, 3)),
        "activation": lambda: rng.uniform(size=(count, 6)),
        "excitation": lambda: rng.uniform(size=(count, 6)),
        "state": lambda: np.zeros((count, 0)),
        "rate": lambda: np.zeros((count, 0)),
        "tensions": lambda: rng.uniform(size=(count, 6)),
        "lengths": lambda: rng.uniform(0.2, 0.4, size=(count, 6)),
        "speeds": lambda: rng.normal(size=(count, 6)),
        "controls": lambda: np.zeros((count, 0)),
    }
    others = {"frame": system.body_names[-1], "body": system.body_names[-1]}
    names = [p for p in inspect.signature(function).parameters if p in arrays or p in others]
    return {n: arrays[n]() for n in names if n in arrays}, {n: others[n] for n in names if n in others}


def test_the_system_has_every_joint_type():
    assert {body.joint.kind for body in EVERY_JOINT.bodies} == KINDS


def _agree_on(function, system, rng, **options):
    arrays, others = _arguments(function, system, STATES_OF_SYSTEMS, rng)

    def formula(*given):
        found = function(system, **dict(zip(arrays, given, strict=True)), **others, **options, backend="numpy")
        return tuple(_listed(found)) if isinstance(found, tuple) else found

    _agree(formula, _rounding, **arrays)


@pytest.mark.parametrize(
    "function", [p for p in _evaluators() if not re.search("^muscle|skeleton_|_derivatives$", p.id)]
)
def test_formulas_of_systems(function, rng):
    """On a system of every joint type, with springs and dampers."""
    _agree_on(function, EVERY_JOINT, rng)
    if function is dynamics.forward_dynamics:
        _agree_on(function, EVERY_JOINT, rng, method="crba")


@pytest.mark.parametrize("joint_type", sorted(KINDS))
def test_derivatives_of_systems(joint_type, rng):
    """On two bodies, one of them on a joint of each type: their code grows with the square of the bodies. Those of
    forward dynamics are products with those of inverse dynamics."""
    system = joints.random_system(2, np.random.default_rng(1), (joint_type, "revolute"), passive=True)
    _agree_on(dynamics.forward_dynamics_derivatives, system, rng)


def _skeleton_arguments(function, count, rng):
    """Arrays (count, ...) for a function of a planar skeleton."""
    names = list(inspect.signature(function).parameters)[1:-1]
    return {name: rng.normal(size=(count, 2 if name == "f_end" else SKELETON.n)) for name in names}


@pytest.mark.parametrize("function", [p for p in _evaluators() if "skeleton_" in p.id and "end" not in p.id])
def test_formulas_of_the_skeleton(function, rng):
    arrays = _skeleton_arguments(function, STATES, rng)
    _agree(lambda *x: function(SKELETON, *x, backend="numpy"), _rounding, **arrays)


@pytest.mark.parametrize("function", list(_evaluators()))
def test_public_functions_evaluate_through_kernels(function, rng):
    """Each call runs compiled code, unless backend="numpy" is asked for."""
    model = MODELS["two_link"]
    if function.__name__.startswith("skeleton_"):
        model = SKELETON
        arrays, others = _skeleton_arguments(function, 3, rng), {}
    else:
        arrays, others = _arguments(function, model.system, 3, rng)
    before = kernels.calls()
    function(model, **arrays, **others)
    assert kernels.calls() > before
    before = kernels.calls()
    function(model, **arrays, **others, backend="numpy")
    assert kernels.calls() == before


# Public functions that take a model and have no backend, and why.
WITHOUT_BACKEND = {
    "equilibrium_states": "solves on arrays; its equations are tested through kernels",
    "convert_coordinates": "changes how a state is written, joint by joint",
    "convert_velocities": "changes how a state is written, joint by joint",
    "first_order_form": "runs a kernel only; tested against independent values",
    "forward_dynamics_gamma": "second derivatives, which floats do not have; tested against constraints",
    "forward_dynamics_hvp": "second derivatives, which floats do not have; tested against differences of gradients",
    "inverse_dynamics_hvp": "second derivatives, which floats do not have; tested against differences of gradients",
    "ball_joint_obstacle": "says in words why a joint is no ball joint",
    "quaternion_accelerations": "runs a kernel only; tested against forward dynamics",
    "quaternion_form": "runs a kernel only; tested against forward dynamics",
    "with_branches": "makes a system",
    "with_rotations": "makes a system",
    "check_laws": "refuses models",
    "contact_pairs": "lists names",
    "ground_reactions": "adds up what contact_forces gives",
    "linearize": "differentiates a kernel; tested against closed forms",
    "model_function": "gives kernels to other libraries; tested against the derivatives of dynamics",
    "parameter_names": "lists names",
    "state_names": "lists names",
    "simulation_gradient": "differentiates a step loop; tested against differences of the simulation",
    "step_derivatives": "differentiates kernels; tested against differences along the group",
    "simulate": "runs kernels only; tested with the simulations",
    "wrench_at": "runs a kernel only; tested below",
}
MODEL_ARGUMENTS = ("model", "system", "source", "body", "skeleton")


def test_functions_of_models_have_a_backend_or_a_reason():
    """A new public function of a model goes through kernels and offers NumPy, or is listed here."""
    found = set()
    for package in (joints, muscle, dynamics):
        for name in package.__all__:
            function = getattr(package, name)
            if (
                inspect.isfunction(function)
                and next(iter(inspect.signature(function).parameters), "") in MODEL_ARGUMENTS
            ):
                found |= set() if "backend" in inspect.signature(function).parameters else {name}
    assert found <= set(WITHOUT_BACKEND)


# Public functions with a backend that refuse symbols, and what they say.
REFUSE_SYMBOLS = {"path_flags": "the flags depend on the values of q"}


HINGE = muscle.Model(
    joints.ArticulatedSystem((on_hinge("rod", center_of_mass=(0.1, 0.0, 0.0), inertia=0.01),)),
    (
        muscle.Muscle(
            "m",
            (muscle.PathPoint("ground", (-0.2, 0.1, 0.0)), muscle.PathPoint("rod", (0.2, 0.1, 0.0))),
            muscle.ExponentialMuscle(0.3, 10.0),
        ),
    ),
)


BALL = joints.ArticulatedSystem((on_ball("upper"),))
EULER = joints.with_rotations(BALL, "YZX")


@pytest.mark.parametrize("scalar", ["sympy", "casadi"], indirect=True)
@pytest.mark.parametrize("function", list(_evaluators()))
def test_public_functions_take_symbols_or_reject_them(function, scalar, rng):
    """On a hinge with a muscle or a skeleton: symbols for the first argument, and numbers for the others."""
    if function.__name__.startswith("skeleton_"):
        model, arrays, others = SKELETON, _skeleton_arguments(function, 1, rng), {}
    else:
        model, (arrays, others) = HINGE, _arguments(function, HINGE.system, 1, rng)
    of_muscles = ("activation", "excitation", "tensions", "lengths", "speeds")
    first, *_ = arrays = {name: a[0, :1] if name in of_muscles else a[0] for name, a in arrays.items()}

    def formula(x):
        found = _listed(function(model, **{**arrays, first: x}, **others))
        return np.concatenate([np.ravel(part) for part in found])

    if reason := REFUSE_SYMBOLS.get(function.__name__):
        with pytest.raises(TypeError, match=f"{function.__name__}: {reason}"):
            scalar(formula, arrays[first][None])
    else:
        found = scalar(formula, arrays[first][None])[0]
        np.testing.assert_allclose(found, formula(arrays[first]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scalar", ["sympy"], indirect=True)
@pytest.mark.parametrize(("source", "target"), [(BALL, EULER), (EULER, BALL)], ids=["angles", "quaternion"])
def test_states_are_converted_on_every_type_of_number(scalar, source, target, rng):
    states = {"q": source.random(STATES, rng), "u": rng.normal(size=(STATES, 3))}
    for function, count in ((joints.convert_coordinates, 1), (joints.convert_velocities, 2)):
        formula, arrays = partial(function, source, target), dict(list(states.items())[:count])
        _agree(formula, _rounding, **arrays)
        np.testing.assert_allclose(scalar(formula, *arrays.values()), formula(*arrays.values()), rtol=1e-12, atol=1e-12)


def test_wrenches_are_made_by_a_kernel(rng):
    before = kernels.calls()
    dynamics.wrench_at(EVERY_JOINT, EVERY_JOINT.random(2, rng), EVERY_JOINT.body_names[0], (1.0, 0.0, 0.0))
    assert kernels.calls() == before + 1
