"""Parameters by name: every number of a model, bound as floats and as symbols."""

import re
from dataclasses import replace

import numpy as np
import pytest

from myoquat import kernels
from myoquat.analysis.motion import scale_model
from myoquat.data import load_model
from myoquat.dynamics import inverse
from myoquat.dynamics.articulated import forward
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.functions import Linear
from myoquat.joints.multibody.sampling import random_system
from myoquat.muscle import Model, PoseFunction, PoseVariables, PrescribedInput, fitted_path
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.parameters import Parameters, parameter_names
from myoquat.muscle.segments.lengths import lengths
from myoquat.muscle.states import torques
from tests.bodies import on_slide

TWO_LINK = load_model("two_link")


def motion(model, q, u, activation):
    """All of mechanics in one row: udot, muscle torques, energies."""
    tau = torques(model, q, u, activation)
    udot = forward(model.system, q, u, tau)
    kinetic = inverse.kinetic(model.system, q, u) + inverse.potential(model.system, q)
    return np.concatenate([udot, tau, inverse.bias(model.system, q, u), kinetic[..., None]], axis=-1)


def test_names_of_the_library_model():
    names = parameter_names(TWO_LINK)
    for name in (
        "muscles.m2.max_isometric_force",
        "muscles.m6.optimal_length",
        "muscles.m1.activation",
        "muscles.m1.path.0.position.z",
        "bodies.A.mass",
        "bodies.B.inertia.xy",
        "bodies.A.damping",
        "gravity.z",
        "start_q.A.Q0",
        "start_u.B.omega_x",
    ):
        assert name in names
    derived = type("Derived", (Model,), {})(TWO_LINK.system, TWO_LINK.muscles, start_q=TWO_LINK.start_q)
    assert parameter_names(derived) == names


def test_wildcards_aliases_and_counted_components():
    every = Parameters.of(TWO_LINK, ["muscles.*.optimal_length", "bodies.?.mass"])
    assert every.names == (*(f"muscles.m{i}.optimal_length" for i in range(1, 7)), "bodies.A.mass", "bodies.B.mass")
    assert every.defaults.tolist() == [2.0, 2.3, 1.2, 1.5, 2.5, 2.1, 5.0, 5.0]
    assert every.units == ("m",) * 6 + ("kg",) * 2
    same = ("muscles.m1.path.0.position.y", "muscles.m1.path.0.position.1", "muscles.m1.origin.position.y")
    assert {Parameters.of(TWO_LINK, name).names for name in same} == {same[:1]}


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("muscles.m2.max_isometric_forse", "muscles.m2.max_isometric_force"),
        ("bodies.A.mas", "bodies.A.mass"),
        ("muscles.*.optimal_fibre", "optimal_length"),
    ],
)
def test_an_unknown_name_brings_the_nearest(wrong, hint):
    with pytest.raises(ValueError, match=f"no parameter '{re.escape(wrong)}'; the nearest are .*{hint}"):
        Parameters.of(TWO_LINK, wrong)


def test_a_name_given_twice_is_refused():
    with pytest.raises(ValueError, match=r"'bodies.A.mass' is named twice: by 'bodies.A.mass' and by 'bodies.\*.mass'"):
        Parameters.of(TWO_LINK, ["bodies.A.mass", "bodies.*.mass"])


def test_binding_the_defaults_gives_the_model():
    parameters = Parameters.of(TWO_LINK, parameter_names(TWO_LINK))
    assert parameters.bind(parameters.defaults) == TWO_LINK
    assert parameters.bind(parameters.defaults).content_key == TWO_LINK.content_key


def test_a_number_of_the_start_leaves_the_others():
    u = tuple(0.1 * k for k in range(TWO_LINK.system.nu))
    bound = Parameters.of(replace(TWO_LINK, start_u=u), "start_u.B.omega_x").bind([9.0])
    assert bound.start_q == TWO_LINK.start_q
    assert bound.start_u == (*u[:3], 9.0, *u[4:])


def test_bound_formulas_run_on_all_number_types(scalar, rng):
    names = ("bodies.A.mass", "bodies.B.position.z", "muscles.m1.path.0.position.y", "muscles.m2.max_isometric_force")
    parameters = Parameters.of(TWO_LINK, names)
    p = np.tile(parameters.defaults * rng.uniform(0.9, 1.1, 4), (2, 1))
    q = TWO_LINK.system.random(2, rng)

    @kernels.formula(p=(4,), q=(8,))
    def formula(p, q):
        bound = parameters.bind(p.reshape(-1, 4)[0])
        l = lengths(bound.system, bound.paths, q)
        forces = [muscle.law.force(l[..., i], 0.0, 0.5) for i, muscle in enumerate(bound.muscles[:2])]
        return np.stack([*forces, inverse.potential(bound.system, q)], axis=-1)

    wanted = np.stack([formula(*row) for row in zip(p, q, strict=True)])
    np.testing.assert_allclose(scalar(formula, p, q), wanted, rtol=1e-9)


def without_start(model):
    return Parameters.of(model, [name for name in parameter_names(model) if not name.startswith("start")])


def test_what_is_not_varied_stays_folded():
    """A kernel of one strength costs hardly more than one of none, and far less than one of every number."""
    shapes = {"q": (8,), "u": (6,), "a": (6,)}

    def operations(names):
        parameters = Parameters.of(TWO_LINK, names)
        kernel = kernels.compile(
            lambda q, u, a, p: motion(parameters.bind(p), q, u, a),
            {**shapes, "p": (len(parameters.names),)},
            cache="off",
        )
        return kernel.instructions

    none = kernels.compile(lambda q, u, a: motion(TWO_LINK, q, u, a), shapes, cache="off").instructions
    one = operations("muscles.m1.max_isometric_force")
    assert none <= one < none + 20
    assert one + 300 < operations(without_start(TWO_LINK).names)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("bodies.A.mass", -1.0, "body 'A': mass must be finite and not negative"),
        ("bodies.A.inertia.xy", 3.0, "body 'A': the inertia is indefinite"),
        ("bodies.B.orientation.Q1", 0.5, "body 'B': orientation must be a unit quaternion"),
        ("muscles.m3.optimal_length", 0.0, "muscle 'm3': optimal_length must be positive"),
        ("muscles.m3.activation", 1.5, r"muscle 'm3': activation must be in \[0, 1\]"),
        ("start_q.A.Q0", 0.2, "must be 1 to within"),
        ("gravity.z", np.inf, "parameter 'gravity.z' is inf"),
    ],
)
def test_one_bad_sample_among_many_is_named(name, value, message):
    parameters = Parameters.of(TWO_LINK, [name, "bodies.B.mass"])
    values = np.tile(parameters.defaults, (500, 1))
    assert parameters.check(values) is not None
    values[321, 0] = value
    with pytest.raises(ValueError, match=f"sample 321: .*{message}"):
        parameters.check(values)


def test_a_number_that_the_model_leaves_open_can_be_given():
    model = load_model("mapping_analysis")
    parameters = Parameters.of(model, "muscles.*.max_isometric_force")
    assert np.isnan(parameters.defaults).all()
    assert parameters.bind(np.full(6, 3.0)).muscles[0].law.max_isometric_force == 3.0


def test_a_system_without_muscles_has_parameters_too(rng):
    system = random_system(3, rng)
    bound = Parameters.of(system, "bodies.b1.mass").bind([7.0])
    assert bound == system.with_body("b1", mass=7.0)
    with pytest.raises(TypeError, match="a Model or an ArticulatedSystem"):
        Parameters.of("two_link", "x")


def test_wrong_shapes():
    parameters = Parameters.of(TWO_LINK, "bodies.*.mass")
    for call in (parameters.bind, parameters.check):
        with pytest.raises(ValueError, match=r"shape .*expected .*bodies.A.mass, bodies.B.mass"):
            call([1.0, 2.0, 3.0])


def test_numbers_that_a_fitted_path_contains_are_withheld_with_a_reason():
    length = PoseFunction(PoseVariables(("A",), ((1.0, 0.0, 0.0, 0.0),)), ((0, 0, 0, 0), (1, 1, 0, 0)), (3.0, 0.1))
    model = TWO_LINK.with_fitted_paths({"m1": fitted_path(length)})
    names = parameter_names(model)
    assert not [name for name in names if name.startswith(("bodies.A.position", "muscles.m1.path.0"))]
    assert {"bodies.B.position.x", "bodies.A.mass", "muscles.m1.path.1.length.coefficients.0"} <= set(names)
    with pytest.raises(ValueError, match=r"muscle 'm1' was fitted .* 'bodies.A.position.x'.* fit the paths"):
        Parameters.of(model, "bodies.A.position.x")
    with pytest.raises(ModelError, match=r"muscle 'm1': its path was fitted .* then fit them again"):
        scale_model(model, factors={"A": 1.2})


def test_parts_of_one_name_are_counted():
    sled = on_slide("sled", "x", "x")
    ramps = tuple(PrescribedInput("motor", Linear(factor)) for factor in (2.0, 3.0))
    model = Model(ArticulatedSystem((sled,)), actuators=(CoordinateActuator("motor", "x"),), inputs=ramps)
    bound = Parameters.of(model, ["inputs.0.function.factor", "inputs.1.function.factor"]).bind([5.0, 7.0])
    assert [own.function.factor for own in bound.inputs] == [5.0, 7.0]
