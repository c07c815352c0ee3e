"""Sizes from a moving trial: known factors and offsets again, as well as the covariance says."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion import ScalePrior, estimate_scale, scale_model
from tests.analysis.motion.conftest import shown, wandering

KNOWN = {"pelvis": 1.04, "thigh": 1.1, "shank": 0.93, "foot": 1.07}
BODY_FACTORS = {name: {name: "XYZ"} for name in KNOWN}
NOISE, OFFSET = 1e-3, 0.005


def person_of(model, offsets):
    """The model stretched by the known factors, its markers (m, 3) off."""
    person = scale_model(model, factors=KNOWN)
    moved = [replace(m, position=tuple(np.array(m.position) + d)) for m, d in zip(person.markers, offsets, strict=True)]
    return replace(person, markers=tuple(moved))


@pytest.fixture(scope="module")
def study(ball_leg):
    """Hip and pelvis turn around the whole sphere, through every lock: true offsets, what was seen and estimated."""
    rng = np.random.default_rng(3)
    offsets = OFFSET * rng.normal(size=(len(ball_leg.markers), 3))
    person = person_of(ball_leg, offsets)
    trial = shown(person, wandering(person, rng, frames=150), NOISE, rng)
    trial.positions[10:40, 3] = np.nan
    return (
        offsets,
        trial,
        estimate_scale(ball_leg, trial, BODY_FACTORS, prior=ScalePrior(NOISE, offset_deviation=OFFSET)),
    )


def test_known_marker_positions(ball_leg, rng):
    """Where the marker positions on the bodies are known, all factors come out within 0.1 % from 1 mm of noise."""
    person = person_of(ball_leg, np.zeros((len(ball_leg.markers), 3)))
    trial = shown(person, wandering(person, rng, frames=100), NOISE, rng)
    found = estimate_scale(ball_leg, trial, BODY_FACTORS, prior=ScalePrior(NOISE, fixed=trial.names))
    assert found.converged
    assert found.factors == pytest.approx(KNOWN, rel=1e-3)
    assert found.names == tuple(KNOWN)
    assert found.noise == pytest.approx(NOISE, rel=0.05)


def test_unknown_marker_positions(study):
    """With offsets of 5 mm, segments between two joints that move come out within 0.1 % too. The errors of all factors
    and offsets are together as large as the covariance says. Chi squared is within 4 of its deviations."""
    offsets, _, found = study
    assert found.converged
    for name in ("thigh", "shank"):
        assert found.factors[name] == pytest.approx(KNOWN[name], rel=1e-3)
    error = found.size - [*KNOWN.values(), *offsets.ravel()]
    chi = error @ np.linalg.solve(found.covariance, error)
    assert abs(chi - len(error)) < 4 * np.sqrt(2 * len(error))
    assert found.noise == pytest.approx(NOISE, rel=0.05)
    table = found.to_dataframe()
    assert table.learned["thigh"] > 0.9999 > table.learned["foot"]
    assert list(table.index[: len(KNOWN)]) == list(KNOWN)


def test_nothing_near_costs_less(study, rng):
    """The cost is quadratic in factors and offsets, so that its central difference is its slope. It has no slope along
    any of them, and none along any motion of the poses."""
    _, _, found = study
    problem, size, q = found.problem, found.size, found.motion.q
    least, pose = problem.cost(size, q), problem.sized(size)
    for step in np.eye(len(found.names))[:: len(found.names) // 9] * 1e-3:
        there, back = (problem.cost(size + way * step, q) for way in (1, -1))
        assert abs(there - back) < 1e-6 * (there + back - 2 * least)
    step = rng.normal(size=(len(q), len(pose.free))) * 1e-5
    there, back = (problem.cost(size, pose.moved(q, way * step)) for way in (1, -1))
    assert abs(there - back) < 1e-4 * (there + back - 2 * least)


def test_the_model_shows_what_was_seen(study, ball_leg):
    """The markers of the model that is returned, in the poses that are, are where the errors say; its bodies are those
    of `scale_model`."""
    _, trial, found = study
    assert found.marker_names == trial.names
    assert np.isnan(found.marker_error[10:40, 3]).all()
    seen = shown(found.model, found.motion)
    away = np.linalg.norm(seen.positions - trial.positions, axis=-1)
    assert np.allclose(away, found.marker_error, atol=1e-12, equal_nan=True)
    assert scale_model(ball_leg, factors=found.by_body).system == found.model.system
    assert "thigh 1." in repr(found)


def test_bad_input(leg, rng):
    trial = shown(leg, wandering(leg, rng, frames=3))
    for arguments, words in (
        ({"scaled_axes": {}}, "no factor"),
        ({"scaled_axes": {"a": {"thih": "X"}}}, "no body 'thih'; nearest: thigh"),
        ({"scaled_axes": {"a": {"thigh": "XW"}}}, "the factor 'a': axes of 'thigh' are of X, Y, Z"),
        ({"scaled_axes": {"a": {"thigh": "X"}, "b": {"thigh": "XY"}}}, "stretched along X by both 'a' and 'b'"),
        ({"prior": ScalePrior(expected={"thih": 1.0})}, "no factor 'thih'"),
        ({"prior": ScalePrior(fixed=["absent"])}, "no marker 'absent'"),
    ):
        with pytest.raises(ValueError, match=words):
            estimate_scale(leg, trial, **arguments)
    for arguments, words in (
        ({"expected": {"thigh": 0.0}}, "must be positive"),
        ({"noise": 0.0}, "noise must be positive"),
        ({"factor_deviation": np.inf}, "factor_deviation must be"),
    ):
        with pytest.raises(ValueError, match=words):
            ScalePrior(**arguments)
    with pytest.raises(ValueError, match="two frames or more, not 1"):
        estimate_scale(leg, replace(trial, time=trial.time[:1], positions=trial.positions[:1]))
