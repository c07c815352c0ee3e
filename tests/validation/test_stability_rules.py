"""Stability rules: what each allows, against the others and against an optimizer of its own."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from myoquat.analysis.recruitment import CentralForce, Coupled, EllipticCone, JointCone, SocketMarkers, redundancy
from myoquat.analysis.recruitment.convex import Status
from myoquat.analysis.studies import MuscleTrial
from myoquat.data import Motion
from myoquat.muscle import ExponentialMuscle
from myoquat.muscle.coordinates import Marker
from tests.analysis.recruitment.shoulders import shoulder
from tests.bodies import at_rest
from tests.volume import draws
from validation.rules import BorderCone, ConditionalPenalty, CurvedPenalty, PlanarPenalty

JOINT, INTO, TO_RIM = "arm", (-1.0, 0.15, -0.1), (0.1, 1.0, 0.3)


# ten muscles around a ball joint, all of which press it towards -x
LIGHT = shoulder(lambda k: ExponentialMuscle(0.2, 400.0 + 20 * k), 10)
MODEL = replace(LIGHT, system=LIGHT.system.with_body("arm", mass=3.0, center_of_mass=(0.02, -0.25, 0.01)))


@pytest.fixture(scope="module")
def motion() -> Motion:
    turns = 0.3 * np.random.default_rng(3).normal(size=(4, 3))
    q = np.array([MODEL.system.integrate(MODEL.system.neutral(), turn) for turn in turns])
    return at_rest(MODEL, np.arange(4) / 10, q)


@pytest.fixture
def solved(motion):
    return lambda *rules: redundancy(MODEL, motion, reserves=5.0, cones=rules, backend="numpy")


def test_all_rules_bind(solved):
    """The tests below would show nothing if the force pointed into the socket anyway."""
    free = solved()
    assert (solved(JointCone(JOINT, INTO, 0.3)).effort > free.effort * 1.01).any()


def test_an_ellipse_of_equal_ratios_is_a_circle(solved):
    circle = solved(JointCone(JOINT, INTO, 0.3))
    ellipse = solved(EllipticCone(JOINT, INTO, TO_RIM, (np.tan(0.3), np.tan(0.3))))
    np.testing.assert_allclose(ellipse.activation, circle.activation, atol=1e-7)
    np.testing.assert_allclose(ellipse.margin, circle.margin, atol=1e-7)


def test_an_ellipse_holds_the_force(solved):
    rule = EllipticCone(JOINT, INTO, TO_RIM, (0.15, 0.4))
    found = solved(rule)
    along, first, second = np.moveaxis(found.pressed[:, 0] @ rule.frame.T, -1, 0)
    assert (found.status == Status.SOLVED).all()
    inside = (first / 0.15) ** 2 + (second / 0.4) ** 2 <= along**2 * (1 + 1e-9)
    assert inside.all()
    assert (np.abs(found.margin) < 1e-8).any()


def test_a_central_force_is_a_cone_without_width(solved):
    line = solved(CentralForce(JOINT, INTO))
    narrow = solved(JointCone(JOINT, INTO, 1e-4))
    across = line.pressed[:, 0] @ CentralForce(JOINT, INTO).frame[1:].T
    np.testing.assert_allclose(across, 0.0, atol=1e-8)
    np.testing.assert_allclose(line.effort, narrow.effort, rtol=2e-3)
    assert (line.effort >= narrow.effort * (1 - 1e-9)).all()
    assert line.velocities[-2:] == ("arm.across_1", "arm.across_2")


def test_a_central_force_says_what_it_costs(solved):
    """The price of the equation e1 . f = 0 is the change of the effort with what the force may be there."""
    found = solved(CentralForce(JOINT, INTO))
    n, e1, _ = CentralForce(JOINT, INTO).frame
    step = 1e-4
    turned = [solved(CentralForce(JOINT, tuple(n + sign * step * e1))) for sign in (1, -1)]
    met = np.all([each.status == Status.SOLVED for each in (found, *turned)], axis=0)
    slope = (turned[0].effort - turned[1].effort) / (2 * step)
    assert met.sum() > 2
    np.testing.assert_allclose(slope[met], (found.price[:, -2] * (found.pressed[:, 0] @ n))[met], rtol=1e-3)


@pytest.mark.parametrize(
    "rule",
    [PlanarPenalty(JOINT, INTO, 0.5), CurvedPenalty(JOINT, INTO, 0.5, radius=0.1, offset=0.06),
     ConditionalPenalty(JOINT, INTO, 0.2, ratio=0.25)],
    ids=["planar", "curved", "conditional"],
)  # fmt: skip
def test_no_optimizer_does_better_under_a_penalty(solved, rule):
    found = solved(rule)
    assert (found.bound <= found.effort * (1 + 1e-9)).all()
    np.testing.assert_allclose(found.effort, found.bound, rtol=0.05)
    frames = range(draws(2, len(found.effort)))
    other, effort = [_by_slsqp(found, rule, t) for t in frames], found.effort[frames]
    assert (effort <= np.array(other) * (1 + 1e-6)).all()
    np.testing.assert_allclose(effort, other, rtol=1e-4 if rule.cost(np.ones(1)) != 0.2 else 0.2)


def _by_slsqp(found, rule, t: int) -> float:
    """The least effort and penalty of frame t by sequential quadratic programming, from three starts."""
    m = found.activation.shape[1]
    columns = np.concatenate([found.gains[t], found.reserves[0].strength * np.eye(3)])
    needed = columns.T @ np.concatenate([found.activation[t], found.reserve[t] / 5.0])
    lines = np.concatenate([found.joint_gains[t, :, 0], np.zeros((3, 3))])
    rest = found.pressed[t, 0] - found.activation[t] @ lines[:m]

    def total(x):
        along, first, second = rule.frame @ (x @ lines + rest)
        return x @ x + float(rule.cost(np.array([np.hypot(first, second) / along]))[0])

    equal = {"type": "eq", "fun": lambda x: columns.T @ x - needed, "jac": lambda x: columns.T}
    starts = [np.full(m + 3, 0.2), np.zeros(m + 3), np.concatenate([found.activation[t], found.reserve[t] / 5.0])]
    ends = [minimize(total, x, constraints=[equal], bounds=[(0, 1)] * m + [(None, None)] * 3, method="SLSQP",
                     options={"ftol": 1e-13, "maxiter": 500}) for x in starts]  # fmt: skip
    met = [end.fun for end in ends if np.abs(columns.T @ end.x - needed).max() < 1e-7]
    return min(met)


def test_a_penalty_without_weight_costs_nothing(solved):
    free, found = solved(), solved(PlanarPenalty(JOINT, INTO, 0.0))
    np.testing.assert_allclose(found.effort, free.effort, rtol=1e-7)


def test_leaving_a_socket_at_a_high_price_is_staying_in(solved):
    inside = solved(JointCone(JOINT, INTO, float(np.arctan(0.25))))
    found = solved(ConditionalPenalty(JOINT, INTO, 1e4, ratio=0.25))
    np.testing.assert_allclose(found.effort, inside.effort, rtol=1e-7)
    np.testing.assert_allclose(found.activation, inside.activation, atol=1e-5)


def test_a_round_border_is_a_cone(solved):
    circle = solved(JointCone(JOINT, INTO, 0.3))
    border = solved(BorderCone(JOINT, INTO, TO_RIM, polynomial=(np.tan(0.3),)))
    np.testing.assert_allclose(border.effort, circle.effort, rtol=1e-7)
    assert (border.status == Status.SOLVED).all()


def test_no_force_within_a_border_that_is_not_convex_takes_less(solved):
    rule = BorderCone(JOINT, INTO, TO_RIM, polynomial=(0.3, -0.09, 0.0143))  # r from 0.16 to 0.3
    found = solved(rule)
    assert (found.margin > -1e-9).all()
    assert (found.bound <= found.effort * (1 + 1e-9)).all()
    n, e1, e2 = rule.frame
    least = np.full(len(found.effort), np.inf)
    for angle in np.arange(12) * np.pi / 6:
        for part in (0.6, 1.0):
            r = part * float(rule.ratio(angle))
            tried = solved(CentralForce(JOINT, tuple(n + r * (np.cos(angle) * e1 + np.sin(angle) * e2))))
            least = np.where(tried.status == Status.SOLVED, np.minimum(least, tried.effort), least)
    assert (found.effort <= least * (1 + 1e-7)).all()
    np.testing.assert_allclose(found.effort, least, rtol=0.05)


def test_the_border_of_the_glenoid():
    """The ratios of the published polynomial at its own angles [percent, degrees], from the superior edge on."""
    rule = BorderCone("glenoid", (0, 0, 1), (1, 0, 0))
    past = np.radians([0.0, 90.0, 180.0, 270.0])
    np.testing.assert_allclose(rule.ratio(rule.start + past), [0.50916, 0.27299, 0.53378, 0.29604], atol=1e-5)


def test_a_curved_socket_of_no_offset_costs_nothing():
    """From the centre of the sphere every line meets it at right angles."""
    assert CurvedPenalty("arm", (0, 0, 1), offset=0.0).cost(np.array([0.1, 3.0])) == pytest.approx(0.0, abs=1e-20)


def test_a_flat_socket_is_the_limit_of_a_curved_one():
    flat = CurvedPenalty("arm", (0, 0, 1), radius=1e5, offset=1e5 - 0.03).cost(np.array([0.2, 1.0]))
    np.testing.assert_allclose(flat, PlanarPenalty("arm", (0, 0, 1)).cost(np.array([0.2, 1.0])), rtol=1e-4)


def test_markers_show_the_socket():
    markers = (Marker("head", "ground", (0.0, 0.0, 0.0)), Marker("centre", "ground", (0.0, 0.0, 0.05)),
               Marker("rim", "ground", (0.02, 0.0, 0.05)))  # fmt: skip
    marked = replace(MODEL, markers=markers)
    found = SocketMarkers.of(marked, "arm", "head", "centre", "rim")
    assert found.direction == (0.0, 0.0, 0.05)
    assert found.axis == (0.02, 0.0, 0.0)
    assert found.distance == 0.05
    assert found.half_angle == pytest.approx(np.arctan(0.4))
    with pytest.warns(UserWarning, match="'centre' lies 50 mm from the center of the joint .* seem to be swapped"):
        SocketMarkers.of(marked, "arm", "centre", "head", "rim")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: EllipticCone("arm", (0, 0, 1), (0, 0, 2), (0.3, 0.3)), "axis must not lie along direction"),
        (lambda: EllipticCone("arm", (0, 0, 1), (1, 0, 0), (0.3, 0.0)), "ratios must be two positive numbers"),
        (lambda: CentralForce("arm", (0, 0, 0)), "direction must be a vector"),
        (lambda: BorderCone("arm", (0, 0, 1), (1, 0, 0), polynomial=(0.1, -0.1)), "must be positive at all angles"),
        (lambda: PlanarPenalty("arm", (0, 0, 1), -1.0), "weight must not be negative"),
        (lambda: ConditionalPenalty("arm", (0, 0, 1), ratio=0.0), "ratio must lie in"),
        (lambda: CurvedPenalty("arm", (0, 0, 1), radius=0.1, offset=0.1), "0 <= offset < radius"),
    ],
)
def test_what_is_no_rule_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_two_searches_at_once_are_refused(solved):
    with pytest.raises(ValueError, match="one rule at most can be searched"):
        solved(PlanarPenalty(JOINT, INTO), BorderCone(JOINT, INTO, TO_RIM))


def test_a_search_over_a_whole_trial_is_refused(motion):
    with pytest.raises(ValueError, match="PlanarPenalty"):
        redundancy(MODEL, motion, reserves=5.0, cones=[PlanarPenalty(JOINT, INTO)], dynamics=Coupled())


def test_a_study_takes_no_rule_that_is_searched(motion):
    assert MuscleTrial(motion, cones=[CentralForce(JOINT, INTO)]).cones
    with pytest.raises(ValueError, match="PlanarPenalty"):
        MuscleTrial(motion, cones=[PlanarPenalty(JOINT, INTO)])
