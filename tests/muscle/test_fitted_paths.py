"""Paths whose length is a polynomial on the sphere of quaternions: evenness, derivatives, power, files, sets."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.joints import ArticulatedSystem, ModelError, quaternion_exp, quaternion_multiply, random_quaternions
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle import (
    ExponentialMuscle,
    FittedSet,
    Model,
    Muscle,
    PathFlag,
    PathPoint,
    PoseFunction,
    PoseVariables,
    SurfaceTerm,
    fitted_path,
    path_flags,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.fitted import powers_up_to
from tests.bodies import on_ball, on_hinge

RNG = np.random.default_rng(4)
CENTER = (0.5, 0.5, -0.5, 0.5)
BALL = PoseVariables(("upper",), (CENTER,))
BOTH = PoseVariables(("upper",), (CENTER,), ("elbow",), ((0.0, 2.0),))
ELBOW = PoseVariables(coordinates=("elbow", "wrist"), intervals=((0.0, 2.0), (-1.0, 0.5)))
INERTIA = (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)
SYSTEM = ArticulatedSystem(
    (
        on_ball("upper", inertia=INERTIA),
        on_hinge("lower", "z", "elbow", "upper", inertia=INERTIA),
        on_hinge("hand", "x", "wrist", "lower", inertia=INERTIA),
    )
)
LAW = ExponentialMuscle(optimal_length=1.0, max_isometric_force=100.0)


def function(variables, degree, size=0.02):
    """A random function near 1 with all terms up to a degree."""
    powers = powers_up_to(variables, degree)
    return PoseFunction(variables, powers, (1.0, *(size * RNG.normal(size=len(powers) - 1)).tolist()))


LENGTHS = {"ball": function(BALL, 4), "both": function(BOTH, 3), "scalar": function(ELBOW, 4)}
MODEL = Model(SYSTEM, tuple(Muscle(name, fitted_path(f), LAW) for name, f in LENGTHS.items()))
Q = np.concatenate([random_quaternions(20, RNG), RNG.uniform(-0.5, 0.5, (20, 2))], axis=-1)


def by_hand(f, q):
    """A function from its definition: products of powers of conj(C) Q and of coordinates mapped to [-1, 1]."""
    columns = []
    for C in f.variables.centers:
        c0, c = C[0], np.array(C[1:])
        Q0, v = q[:, :1], q[:, 1:4]
        columns += [c0 * Q0 + v @ c[:, None], c0 * v - Q0 * c - np.cross(np.broadcast_to(c, v.shape), v)]
    for name, (low, high) in zip(f.variables.coordinates, f.variables.intervals, strict=True):
        columns.append((2 * q[:, [SYSTEM.coordinate_names.index(name)]] - low - high) / (high - low))
    x = np.concatenate(columns, axis=-1)
    return np.prod(x[:, None] ** np.array(f.powers), axis=-1) @ np.array(f.coefficients)


def test_terms_are_as_many_as_harmonics_of_even_degree():
    assert [len(powers_up_to(BALL, d)) for d in (0, 2, 4, 6, 8)] == [1, 10, 35, 84, 165]


def test_terms_span_even_polynomials_of_all_four_components():
    """On the sphere, whatever the center: a random homogeneous polynomial of degree 4 is a sum of terms."""
    Q = random_quaternions(200, RNG)
    powers = np.stack(np.meshgrid(*[range(5)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    powers = powers[powers.sum(axis=-1) == 4]
    wanted = np.prod(Q[:, None] ** powers, axis=-1) @ RNG.normal(size=len(powers))
    terms = np.stack([by_hand(PoseFunction(BALL, (p,), (1.0,)), Q) for p in powers_up_to(BALL, 4)], axis=-1)
    found = np.linalg.lstsq(terms, wanted, rcond=None)[0]
    assert np.abs(terms @ found - wanted).max() < 1e-12
    assert np.linalg.matrix_rank(terms) == 35


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_lengths_are_the_function_s_and_even(backend):
    lengths = path_lengths(MODEL, Q, backend=backend)
    for k, f in enumerate(LENGTHS.values()):
        assert np.abs(lengths[:, k] - by_hand(f, Q)).max() < 1e-13
    other = Q * np.array([-1, -1, -1, -1, 1, 1])
    assert np.abs(path_lengths(MODEL, other, backend=backend) - lengths).max() < 1e-15


def test_outside_its_set_a_path_is_flagged():
    chosen = FittedSet(BOTH, 1, tuple((np.eye(5) * [0.1, 0.1, 4.0, 4.0, 4.0])[np.tril_indices(5)].tolist()))
    model = Model(SYSTEM, (Muscle("m", fitted_path(LENGTHS["both"], chosen)), MODEL.muscles[0]))
    turn = np.concatenate([quaternion_multiply(CENTER, quaternion_exp([0.4, 0, 0])), [1.0, 0.0]])
    far = np.concatenate([quaternion_multiply(CENTER, quaternion_exp([2.4, 0, 0])), [1.0, 0.0]])
    bent = np.concatenate([CENTER, [2.1, 0.0]])
    flags = path_flags(model, np.stack([turn, far, bent]))
    assert flags[:, 0].tolist() == [0, PathFlag.OUTSIDE, PathFlag.OUTSIDE]
    assert not flags[:, 1].any()


SURFACES = tuple(SurfaceTerm(PoseFunction(BOTH, powers_up_to(BOTH, 1), tuple(0.05 * RNG.normal(size=5))), w, effect)
                 for w, effect in ((0.02, "contact"), (3e-3, "sides")))  # fmt: skip
STRAIGHT = PathPoint("ground", (0.0, 0.1, 0.0)), PathPoint("upper", (0.0, 0.3, 0.1)), PathPoint("lower", (0.2, 0, 0))
FULL = fitted_path(LENGTHS["both"], straight=STRAIGHT, surfaces=SURFACES)


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_straight_pieces_and_surfaces_add_to_the_length(backend):
    """From their definitions, and the Jacobian by central differences along every velocity."""
    model = Model(SYSTEM, (Muscle("m", FULL), Muscle("bare", STRAIGHT)))

    def length(q):
        contact, sides = (by_hand(term.function, q) for term in SURFACES)
        R = 0.5 * (contact + np.hypot(contact, 0.02))
        return by_hand(LENGTHS["both"], q) + 0.5 * R**2 - np.hypot(sides, 3e-3) + path_lengths(model, q)[:, 1]

    assert np.abs(path_lengths(model, Q, backend=backend)[:, 0] - length(Q)).max() < 1e-14
    J, h = path_jacobian(model, Q, backend=backend)[:, 0], 1e-5
    for k in range(5):
        v = h * np.eye(5)[k]
        slope = (length(SYSTEM.integrate(Q, v)) - length(SYSTEM.integrate(Q, -v))) / (2 * h)
        assert np.abs(J[:, k] - slope).max() < 1e-8
    assert set(FULL[1].driving(SYSTEM)) == set(SYSTEM.coordinate_names) - {"wrist"}


def test_a_function_of_scalar_coordinates_is_a_polynomial_of_them():
    f = LENGTHS["scalar"]
    assert np.abs(f.polynomial().value(Q[:, 4:]) - by_hand(f, Q)).max() < 1e-13
    with pytest.raises(ValueError, match="scalar coordinates alone"):
        LENGTHS["both"].polynomial()


def test_impossible_functions_are_rejected():
    with pytest.raises(ValueError, match=r"odd sum at 'upper'"):
        PoseFunction(BALL, ((1, 0, 0, 0),), (1.0,))
    with pytest.raises(ValueError, match="2 powers need as many coefficients, not 1"):
        PoseFunction(ELBOW, ((0, 0), (1, 0)), (1.0,))
    with pytest.raises(ValueError, match="must be 2 numbers"):
        PoseFunction(ELBOW, ((0, -1),), (1.0,))
    with pytest.raises(ModelError, match="needs a quaternion at the joint of body 'upper'; its joint has none"):
        MODEL.with_rotations("YZY")
    knee = PoseVariables(coordinates=("knee",), intervals=((0.0, 1.0),))
    with pytest.raises(ModelError, match="coordinate 'knee', which the system does not have"):
        MODEL.with_fitted_paths({"ball": fitted_path(PoseFunction(knee, ((0,),), (1.0,)))})
    with pytest.raises(ModelError, match="no muscle of this name"):
        MODEL.with_fitted_paths({"calf": MODEL.muscles[0].path.points})
    with pytest.raises(ModelError, match="surface term: width"):
        MODEL.with_fitted_paths({"ball": fitted_path(LENGTHS["ball"], surfaces=(replace(SURFACES[0], width=0.0),))})
    with pytest.raises(ModelError, match="'contact' or 'sides', not 'both'"):
        MODEL.with_fitted_paths({"ball": fitted_path(LENGTHS["ball"], surfaces=(replace(SURFACES[0], effect="both"),))})
    fitted = FittedSet(BOTH, 1, (1.0,))
    with pytest.raises(ModelError, match="15 entries, not 1"):
        MODEL.with_fitted_paths({"ball": fitted_path(LENGTHS["ball"], fitted)})


@pytest.mark.filterwarnings("ignore:.*without a law, written as PathActuator")
def test_osim_files_hold_those_of_scalar_coordinates_only(tmp_path):
    file = tmp_path / "arm.osim"
    with pytest.raises(ModelError, match="needs a quaternion at the joint of body 'upper'"):
        Model(SYSTEM, (Muscle("both", fitted_path(LENGTHS["both"])),)).save(file)
    bent = Model(SYSTEM.with_body("upper", joint=RevoluteJoint((1, 0, 0)), coordinate_names=("raise",)),
                 (Muscle("m", fitted_path(LENGTHS["scalar"], straight=STRAIGHT)),))  # fmt: skip
    with pytest.raises(ModelError, match=r"FitSettings\(polynomials=True\)"):
        bent.save(file)
    scalar_model().save(file)
    lengths = path_lengths(load_model(file), Q[:, 4:])
    assert np.abs(lengths[:, 0] - by_hand(LENGTHS["scalar"], Q)).max() < 1e-12


def scalar_model():
    """Two links without the ball joint."""
    lower = on_hinge("lower", "z", "elbow", inertia=INERTIA)
    hand = on_hinge("hand", "x", "wrist", "lower", inertia=INERTIA)
    return Model(ArticulatedSystem((lower, hand)), (Muscle("m", fitted_path(LENGTHS["scalar"])),), name="arm")
