"""A point that glides on an ellipsoid, and the shoulder of the library, whose scapula does."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.dynamics import bias_force
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, OnSurface, constraints_of
from myoquat.joints import ArticulatedSystem, Body, ModelError
from myoquat.joints.types import EulerJoint, FloatingJoint
from myoquat.kernels import formula
from myoquat.muscle import Model, PathFlag, muscle_torques, path_flags, path_jacobian

RADII = (0.3, 0.5, 0.2)
INERTIA = {"mass": 1.0, "inertia": (0.02, 0.03, 0.04, 0.0, 0.0, 0.0)}
FREE = ArticulatedSystem(
    (
        Body("ribs", "ground", EulerJoint("XYZ"), (0.1, 0.2, 0.3), **INERTIA),
        Body("blade", "ground", FloatingJoint(), **INERTIA),
    )
)
GLIDE = OnSurface("ribs", "blade", (0.02, 0.0, 0.1), (0.1, 0.2, 0.0), (0.3, -0.2, 0.5), RADII)


# ---- the constraint ----------------------------------------------------------------------------------------


def test_the_distance_is_exact_on_the_surface_and_to_first_order_off_it(rng):
    """Points moved from the surface along its normal, in the frame of the ellipsoid."""
    wanted = OnSurface("ground", "blade", radii=RADII)
    system = ArticulatedSystem((FREE.bodies[1],))
    n = rng.normal(size=(50, 3))
    x = np.array(RADII) * n / np.linalg.norm(n, axis=-1, keepdims=True)
    normal = x / np.array(RADII) ** 2
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    for h in (0.0, 1e-3, -1e-3):
        q = np.concatenate([x + h * normal, np.tile([1.0, 0, 0, 0], (50, 1))], axis=-1)
        np.testing.assert_allclose(wanted.position(system, q, 0.0)[:, 0], h, atol=1e-15 + 10 * h * h)


def test_formula_runs_on_every_type_of_number(scalar, rng):
    q = FREE.random(3, rng)
    found = scalar(formula(q=(FREE.nq,))(lambda q: GLIDE.position(FREE, q, np.zeros(()))), q)
    np.testing.assert_allclose(found, GLIDE.position(FREE, q, 0.0), rtol=1e-13)


def test_rates_are_derivatives(rng):
    q, u = FREE.random(3, rng), rng.normal(size=(3, FREE.nu))
    rate = ConstraintArrays(Constraints(FREE, (GLIDE,))).rate(q, u, 0.0)
    ends = [GLIDE.position(FREE, FREE.integrate(q, h * u), 0.0) for h in (-1e-5, 1e-5)]
    np.testing.assert_allclose(rate, (ends[1] - ends[0]) / 2e-5, atol=1e-8)


def test_it_comes_back_from_toml_and_is_refused_where_it_cannot_be(tmp_path):
    model = Model(FREE, constraints=(replace(GLIDE, name="ribs"),))
    model.save(tmp_path / "glide.toml")
    assert load_model(tmp_path / "glide.toml") == model
    with pytest.raises(ModelError, match=r"on surface 'ribs'"):
        model.save(tmp_path / "glide.osim")
    for radii in ((0.1, 0.0, 0.1), (0.1, np.nan, 0.1), (0.1, 0.1)):
        with pytest.raises(ModelError, match="radii must be three positive lengths"):
            Model(FREE, constraints=(replace(GLIDE, radii=radii),))
    with pytest.raises(ModelError, match="between body 'ribs' and itself"):
        Model(FREE, constraints=(replace(GLIDE, second="ribs"),))


# ---- the shoulder ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shoulder():
    return load_model("thoracoscapular")


def test_the_start_meets_the_constraints_and_is_held_by_the_file_s_activations(shoulder):
    """What gravity and muscles leave over is what the constraints carry: nothing along the motions that they allow."""
    q, zero = shoulder.start, np.zeros(shoulder.system.nu)
    arrays = ConstraintArrays(Constraints(shoulder.system, constraints_of(shoulder)))
    assert max(np.abs(c.position(shoulder.system, q, 0.0)).max() for c in shoulder.constraints) < 1e-15
    activation = np.array([muscle.activation for muscle in shoulder.muscles])
    weight = bias_force(shoulder.system, q, zero, backend="numpy")
    left = muscle_torques(shoulder, q, zero, activation, backend="numpy") - weight
    A = arrays.jacobian(q, 0.0)
    free = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :]
    assert np.abs(free @ left).max() < 0.02 < 1.0 < np.abs(free @ weight).max()
    assert not (path_flags(shoulder, q, 1e-6, backend="numpy") & ~PathFlag.WRAPPED).any()


ANATOMY = {  # muscle: the body whose joint it turns, and which way about x (flexion), y (inward), z (abduction, upward)
    "deltoid_anterior": ("humerus", "+ +"),
    "deltoid_middle": ("humerus", "  +"),
    "deltoid_posterior": ("humerus", "-  "),
    "supraspinatus": ("humerus", "  +"),
    "infraspinatus": ("humerus", " - "),
    "teres_minor": ("humerus", " - "),
    "subscapularis": ("humerus", " + "),
    "teres_major": ("humerus", "-+-"),
    "latissimus_dorsi": ("humerus", "-+-"),
    "pectoralis_major_clavicular": ("humerus", "++-"),
    "pectoralis_major_sternal": ("humerus", "++-"),
    "coracobrachialis": ("humerus", "+ -"),
    "serratus_anterior_inferior": ("scapula", "  +"),
    "trapezius_ascending": ("scapula", "  +"),
    "rhomboids": ("scapula", "  -"),
    "levator_scapulae": ("scapula", "  -"),
    "trapezius_clavicular": ("clavicle", "  +"),
    "trapezius_acromial": ("clavicle", " -+"),
    "serratus_anterior_superior": ("clavicle", " + "),
    "pectoralis_minor": ("clavicle", " +-"),
}


def test_muscles_turn_bones_as_anatomy_says(shoulder):
    """Arms of more than 3 mm at the start, about the axes of the thorax, with which all frames agree there."""
    arms = -path_jacobian(shoulder, shoulder.start, backend="numpy")
    names, system = shoulder.muscle_names, shoulder.system
    assert set(ANATOMY) == set(names)
    for muscle, (body, signs) in ANATOMY.items():
        turning = arms[names.index(muscle), system.u_slices[system.body_names.index(body)]]
        for arm, sign in zip(turning, signs, strict=True):
            assert sign == " " or float(f"{sign}1") * arm > 0.003, (muscle, turning)
