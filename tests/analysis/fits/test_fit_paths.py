"""Fits of paths: exact recovery, constraints, jumps, poses, certificates."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.fits import FitSettings, certify, cloud_poses, fit_joint_forces, fit_paths, range_poses
from myoquat.analysis.fits.basis import Basis, crossings, select_terms
from myoquat.analysis.fits.poses import ARM_STEP
from myoquat.data import load_model
from myoquat.dynamics.constraints import assemble
from myoquat.joints import ArticulatedSystem, Body, random_quaternions
from myoquat.joints.constraints import CoordinateCoupler
from myoquat.joints.functions import Constant
from myoquat.joints.types import RevoluteJoint, SphericalJoint
from myoquat.muscle import (
    ConditionalPoint,
    Model,
    Muscle,
    MusclePath,
    PathFlag,
    PathPoint,
    PoseFunction,
    PoseVariables,
    PrescribedInput,
    WrapCylinder,
    fitted_path,
    path_flags,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.fitted import powers_up_to
from tests.bodies import on_hinge, on_slide

RNG = np.random.default_rng(7)
UPPER = Body("upper", "ground", SphericalJoint(), position=(0.0, 0.0, 0.2))
LOWER = Body("lower", "upper", RevoluteJoint(), position=(0.0, 0.0, -0.3), coordinate_names=("elbow",))
SYSTEM = ArticulatedSystem((UPPER, LOWER))
RANGES = (Coordinate("elbow", (0.0, 2.2)),)
BICEPS = Muscle("biceps", (PathPoint("ground", (0.05, 0.2, 0.1)), PathPoint("lower", (0.02, 0.01, -0.05))))
ARM = Model(SYSTEM, (BICEPS,), coordinates=RANGES)


def certified(model, fits, muscle, length, arm, **among):
    """The row of a certificate on held-out poses, whose errors are below these."""
    row = certify(model, fits, range_poses(model, 300, seed=5, **among)).table.loc[muscle]
    assert row.length_rms < length
    assert row.arm_rms < arm
    return row


def test_a_harmonic_is_recovered():
    """The length is an even polynomial of degree 4 in a quaternion around another center, times a line. Whatever the
    center of the fit, this is a sum of terms of degree 5."""
    variables = PoseVariables(("upper",), ((0.5, 0.5, 0.5, -0.5),), ("elbow",), ((-1.0, 1.0),))
    powers = [p for p in powers_up_to(variables, 5) if sum(p[1:4]) <= 4 and p[4] <= 1]
    f = PoseFunction(variables, tuple(powers), (0.5, *(0.01 * RNG.normal(size=len(powers) - 1)).tolist()))
    model = Model(SYSTEM, (Muscle("m", fitted_path(f)),), coordinates=RANGES)
    wanted = FitSettings(length_error=1e-12, arm_error=1e-12, weight=1e-15, degree=5)
    fits = fit_paths(model, range_poses(model, 1500), settings=wanted)
    q = range_poses(model, 200, seed=3)
    fitted = model.with_fitted_paths(fits)
    assert fits.fits["m"].path[1].length.variables.centers != variables.centers
    assert np.abs(path_lengths(fitted, q) - path_lengths(model, q)).max() < 1e-8
    assert np.abs(path_jacobian(fitted, q) - path_jacobian(model, q)).max() < 1e-7


def test_polynomials_have_the_wanted_errors_and_a_certificate():
    settings = FitSettings(length_error=3e-4, arm_error=1.5e-3, candidates=750, polynomials=True)
    fits = fit_paths(ARM, range_poses(ARM, 2000, turns={"upper": 1.5}), settings=settings)
    fit, q = fits.fits["biceps"], range_poses(ARM, 500, turns={"upper": 1.5}, seed=3)
    assert fit.length_error <= settings.length_error
    assert fit.arm_error <= settings.arm_error
    fitted = ARM.with_fitted_paths(fits)
    l, J = (f(fitted, q)[:, 0] - f(ARM, q)[:, 0] for f in (path_lengths, path_jacobian))
    row = certify(ARM, fits, q).table.loc["biceps"]
    np.testing.assert_allclose(row.length_rms, np.sqrt(np.mean(l**2)), rtol=1e-9)
    np.testing.assert_allclose(row.arm_rms, np.sqrt(np.mean(J**2)), rtol=1e-9)
    assert (row.length_pose, row.arm_pose) == (np.argmax(np.abs(l)), np.argmax(np.linalg.norm(J, axis=-1)))
    assert row.length_greatest == row.length_anywhere == np.abs(l).max()
    flags = path_flags(fitted, q)
    assert (flags & PathFlag.OUTSIDE > 0).mean() < 0.02
    far = range_poses(ARM, 200, turns={"upper": 0.0}, ranges={"elbow": (2.3, 3.0)})
    assert np.all(path_flags(fitted, far) & PathFlag.OUTSIDE)


def test_on_a_coupler_one_coordinate_is_the_variable():
    """Two slides that move as one: the length depends on one coordinate, and only motions that keep the coupler
    count."""
    bodies = [on_slide(name, axis, f"{name}_x") for name, axis in (("a", (1, 0, 0)), ("b", (0, 1, 0)))]
    couple = CoordinateCoupler("b_x", "a_x")
    path = (PathPoint("a", (0.0, -1.0, 0.3)), PathPoint("b", (0.5, 0.0, 0.0)))
    ranges = (Coordinate("a_x", (-0.3, 0.3)),)
    model = Model(ArticulatedSystem(tuple(bodies)), (Muscle("m", path),), constraints=(couple,), coordinates=ranges)
    fits = fit_paths(model, range_poses(model, 200))
    fit, fitted = fits.fits["m"], model.with_fitted_paths(fits)
    assert len(fit.path[1].length.variables.coordinates) == 1
    q = np.repeat(np.linspace(-0.3, 0.3, 7)[:, None], 2, axis=-1)
    assert np.abs(path_lengths(fitted, q) - path_lengths(model, q)).max() < 3e-4
    along = (path_jacobian(fitted, q) - path_jacobian(model, q))[:, 0] @ [1.0, 1.0]
    assert np.abs(along).max() < 2e-3


def test_poses_near_and_beyond_a_jump_are_left_out_and_listed():
    """A point that is on the path beyond 1.9 rad lengthens it by a jump: the fit follows the other nine tenths."""
    via = ConditionalPoint("lower", (0.2, 0.1, 0.0), "elbow", (1.9, 3.0))
    muscle = Muscle("m", (BICEPS.path.points[0], via, BICEPS.path.points[1]))
    model = replace(ARM, muscles=(muscle,), inputs=(PrescribedInput("m", Constant(0.5)),))
    q = range_poses(model, 1500, turns={"upper": 0.7})
    settings = FitSettings(length_error=3e-4, arm_error=1.5e-3, near=0.02)
    fits = fit_paths(model, q, settings=settings)
    fit = fits.fits["m"]
    assert np.array_equal(fit.excluded, np.flatnonzero(np.abs(q[:, 4] - 1.9 + 1e-5) < 0.02))
    assert set(fit.beyond) == set(np.flatnonzero(q[:, 4] > 1.9)) - set(fit.excluded)
    other = range_poses(model, 300, turns={"upper": 0.7}, seed=5)
    found = certify(model, fits, other)
    assert np.all(other[found.beyond["m"], 4] > 1.9)
    assert found.table.length_rms["m"] < 2 * settings.length_error
    assert found.table.length_anywhere["m"] > 5e-3
    before = path_lengths(replace(ARM, muscles=(BICEPS,)), other)[:, 0]  # its continuation beyond the jump
    assert np.abs(path_lengths(model.with_fitted_paths(fits), other)[:, 0] - before).max() < 0.02


def test_a_path_within_one_body_is_its_length():
    still = Muscle("still", (PathPoint("upper", (0.0, 0.0, 0.3)), PathPoint("upper", (0.0, 0.4, 0.0))))
    model, q = replace(ARM, muscles=(still, BICEPS)), range_poses(ARM, 100)
    fits = fit_paths(model, q)
    np.testing.assert_allclose(path_lengths(model.with_fitted_paths(fits), q)[:, 0], 0.5, rtol=1e-8)
    assert certify(model, fits, q).table.arm_greatest["still"] == 0.0


def test_poses_beyond_a_jump_do_not_depend_on_other_muscles():
    """Steps are halved for each muscle alone, though its solved paths are shared."""
    rng, arc, muscles = np.random.default_rng(0), WrapCylinder(body="upper", radius=0.03, length=1.0), []
    for name in "abcde":
        start = PathPoint("ground", tuple(0.1 * rng.normal(size=3)))
        end = PathPoint("lower", (0.05, 0.03 * rng.random(), -0.1))
        muscles.append(Muscle(name, MusclePath((start, end), wraps=(arc,))))
    model, settings = replace(ARM, muscles=tuple(muscles)), FitSettings(degree=1)
    q = range_poses(model, 400, turns={"upper": 0.6})
    together, alone = (fit_paths(model, q, muscles=names, settings=settings) for names in (None, ("a",)))
    assert len(alone.fits["a"].beyond) > 100
    assert np.array_equal(together.fits["a"].beyond, alone.fits["a"].beyond)


def test_the_scapula_on_the_thorax_is_sampled_as_it_is():
    """Poses satisfy the constraints; a fit is exact only along motions that they allow."""
    model = load_model("thoracoscapular")
    q = range_poses(model, 300, ranges={}, turns={"clavicle": 0.2, "humerus": 0.4})
    assert np.abs(assemble(model, q) - q).max() < 1e-9
    fits = fit_paths(model, q, muscles=("rhomboids",), settings=FitSettings(3e-4, 1.5e-3))
    certified(model, fits, "rhomboids", 6e-4, 3e-3, ranges={}, turns={"clavicle": 0.2, "humerus": 0.4})
    assert set(fits["rhomboids"][1].length.variables.balls) == {"clavicle", "scapula"}


def test_poses_are_in_the_ranges_and_repeat_with_their_seed():
    q = range_poses(ARM, 300, turns={"upper": 0.5})
    assert np.array_equal(q, range_poses(ARM, 300, turns={"upper": 0.5}))
    assert np.all((q[:, 4] >= 0) & (q[:, 4] <= 2.2))
    assert (2 * np.arccos(np.abs(q[:, 0]))).max() <= 0.5
    spread = np.abs(range_poses(ARM, 2000)[:, :4]).mean(axis=0)
    assert np.abs(spread - np.abs(random_quaternions(100_000, RNG)).mean(axis=0)).max() < 0.02  # all rotations alike
    cloud = cloud_poses(ARM, np.stack([ARM.start, np.append(ARM.start[:4], 0.5)]), 200, spread=0.05)
    assert np.array_equal(cloud[:, :4], np.broadcast_to([1.0, 0, 0, 0], (200, 4)))
    assert np.abs(np.minimum(np.abs(cloud[:, 4]), np.abs(cloud[:, 4] - 0.5))).max() < 0.25


def test_least_squares_with_all_terms_is_that_of_numpy():
    phi, y = RNG.normal(size=(50, 6)), RNG.normal(size=50)
    c, _ = select_terms(phi.T @ phi, phi.T @ y, 1e-14, 6, lambda c: 10.0 / np.count_nonzero(c))
    assert np.abs(c - np.linalg.lstsq(phi, y, rcond=None)[0]).max() < 1e-10


def test_joint_forces_are_those_of_the_paths():
    """On held-out poses the force is a unit vector from the insertion to the origin."""
    q, other = (range_poses(ARM, n, turns={"upper": 0.5}, seed=seed) for n, seed in ((800, 0), (200, 1)))
    fits = fit_joint_forces(ARM, "upper", q, error=0.02)
    origin, end = (point.position for point in BICEPS.path.points)
    lower = [ARM.system.poses(x)["lower"] for x in other]
    along = np.array(origin) - np.stack([p + R @ end for R, p in lower])
    force = along / np.linalg.norm(along, axis=-1, keepdims=True)
    off = np.linalg.norm(fits.unit_forces(ARM, other)[:, 0] - force, axis=-1)
    assert fits.errors["biceps"] <= 0.02
    assert np.sqrt(np.mean(off**2)) < 0.03


def test_impossible_requests_are_rejected():
    with pytest.raises(ValueError, match="no muscle 'calf'"):
        fit_paths(ARM, muscles=("calf",))
    with pytest.raises(ValueError, match="joint of body 'lower' has no quaternion"):
        range_poses(ARM, 10, turns={"lower": 1.0})
    with pytest.raises(ValueError, match="no coordinate 'knee'"):
        range_poses(ARM, 10, ranges={"knee": (0.0, 1.0)})
    with pytest.raises(ValueError, match="held_out is less than 1"):
        FitSettings(held_out=1.5)


BENT = Model(
    ArticulatedSystem((on_hinge("rod", "z", "turn", mass=0.0),)),
    (
        Muscle(
            "flexor",
            MusclePath(
                (PathPoint("ground", (-0.2, 0.02, 0.0)), PathPoint("rod", (0.2, 0.03, 0.0))),
                wraps=(WrapCylinder(body="ground", radius=0.03, length=1.0),),
            ),
        ),
    ),
    coordinates=(Coordinate("turn", (-0.2, 0.7)),),
)


def test_a_surface_that_is_touched_and_left_needs_a_contact():
    """Polynomials of degree 12 miss the corner of the moment arm, a contact on the straight path has it."""
    q = range_poses(BENT, 1000)
    wanted = FitSettings(2e-5, 1e-4, degree=12)
    plain, fits = (fit_paths(BENT, q, settings=s) for s in (replace(wanted, polynomials=True), wanted))
    end = fits["flexor"][1]
    assert [term.effect for term in end.surfaces] == ["contact"]
    assert end.straight == BENT.muscles[0].path.points
    assert fits.fits["flexor"].arm_error < 1e-4 < plain.fits["flexor"].arm_error
    certified(BENT, fits, "flexor", 2e-5, 1e-4)


def test_a_path_that_changes_sides_is_fitted_on_both_and_poses_nearby_are_listed():
    """The path goes around the cylinder over or under its axis, whichever is shorter: at turn = pi."""
    points = PathPoint("ground", (0.2, 0.0, 0.0)), PathPoint("rod", (0.2, 0.0, 0.0))
    flexor = replace(BENT.muscles[0], path=replace(BENT.muscles[0].path, points=points))
    model = replace(BENT, coordinates=(Coordinate("turn", (2.9, 3.4)),), muscles=(flexor,))
    q = range_poses(model, 1000)
    fits = fit_paths(model, q, settings=FitSettings(2e-5, 3e-4, degree=6))
    fit = fits.fits["flexor"]
    assert [term.effect for term in fit.path[1].surfaces] == ["sides"]
    assert np.array_equal(fit.excluded, np.flatnonzero(np.abs(q[:, 0] - np.pi) < ARM_STEP))
    assert certified(model, fits, "flexor", 4e-5, 6e-4).near_jump > 0.02


def test_a_path_over_a_point_between_two_joints_is_a_sum_of_functions():
    """No piece crosses both joints, so that they are two blocks, with fewer terms than one. Without the point there is
    one block."""
    over = Muscle("over", (BICEPS.path.points[0], PathPoint("upper", (0.03, 0.0, -0.2)), BICEPS.path.points[1]))
    model = replace(ARM, muscles=(over, BICEPS))
    q = range_poses(model, 300, turns={"upper": 0.5})
    slopes = np.abs(path_jacobian(model, q)).max(axis=0)
    allowed = np.broadcast_to(np.eye(model.system.nu), (len(q), model.system.nu, model.system.nu))
    found = {each.muscles: each.blocks for each in crossings(model, [0, 1], q, slopes, allowed)}
    assert found == {(0,): ((0, 1, 2, 3), (4,)), (1,): ((0, 1, 2, 3, 4),)}
    variables = PoseVariables(("upper",), ((1.0, 0.0, 0.0, 0.0),), ("elbow",), ((0.0, 2.2),))
    for degree in range(1, 8):
        whole = powers_up_to(variables, degree)
        pure = [p for p in whole if not p[4] or not any(p[:4])]
        mixed = [p for p in powers_up_to(variables, degree - 2) if p not in pure] if degree > 2 else []
        assert sorted(map(tuple, Basis(variables, degree, found[(0,)]).powers)) == sorted([*pure, *mixed])
        assert np.array_equal(Basis(variables, degree).powers, whole)
