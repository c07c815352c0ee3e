"""Redundancy of force laws that are not affine in the activation: the conditions of the posed problem, evaluated here
without the solver, and the least effort by enumeration and by many starts of SciPy's solver."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from myoquat.analysis.muscles import Reserve, redundancy
from myoquat.analysis.muscles.convex import Status
from myoquat.data import Motion
from myoquat.dynamics import inverse_dynamics
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle import (
    Model,
    Muscle,
    PathPoint,
    muscle_forces,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.laws import Millard2012, Thelen2003

STRENGTH = 8.0  # [N m] of the reserves
LEAST = 0.01
ENDS = (  # of arm muscles across the shoulder, the elbow, or both: bodies and points
    ("ground", (0.05, -0.02), "upper", (0.02, -0.15)), ("ground", (-0.05, -0.02), "upper", (-0.02, -0.15)),
    ("upper", (0.025, -0.12), "lower", (0.02, -0.06)), ("upper", (-0.025, -0.12), "lower", (-0.025, 0.02)),
    ("ground", (0.04, 0.0), "lower", (0.025, -0.05)), ("ground", (-0.04, -0.01), "lower", (-0.022, 0.02)),
)  # fmt: skip


def arm(kind):
    """Two links in a plane, hinges, and six muscles, with fast and slow fibers."""
    system = ArticulatedSystem((
        Body("upper", "ground", RevoluteJoint((0, 0, 1)), mass=1.8, center_of_mass=(0, -0.14, 0),
             inertia=(0.01, 0.002, 0.01, 0, 0, 0)),
        Body("lower", "upper", RevoluteJoint((0, 0, 1)), (0, -0.29, 0), mass=1.2, center_of_mass=(0, -0.18, 0),
             inertia=(0.02, 0.001, 0.02, 0, 0, 0)),
    ))  # fmt: skip
    middle = np.array([[0.5, 1.0]])
    points = [tuple(PathPoint(body, (*at, 0.0)) for body, at in ((e[0], e[1]), (e[2], e[3]))) for e in ENDS]
    bare = Model(system, tuple(Muscle(f"m{k}", path, Thelen2003(1.0, 0.1, 0.1)) for k, path in enumerate(points)))
    muscles = []
    for k, (path, length) in enumerate(zip(points, path_lengths(bare, middle)[0], strict=True)):
        numbers = (500.0 + 60 * k, 0.5 * length, 0.5 * length)
        common = {"max_contraction_velocity": 6.0 + k % 3, "tendon": "rigid", "minimum_activation": LEAST}
        law = Millard2012(*numbers, damping=0.1, **common) if kind == "millard" else Thelen2003(*numbers, **common)
        muscles.append(Muscle(f"m{k}", path, law))
    return Model(system, tuple(muscles))


def smooth(model, rate, frames):
    """Swings of both joints [Hz], so fast that some fibers shorten at more than their greatest speed."""
    t, w = np.linspace(0.0, 1.1 / rate, frames), 2 * np.pi * rate
    turn = w * t[:, None] + np.array([0.0, 0.8])
    size, middle = np.array([0.55, 0.9]), np.array([0.4, 1.1])
    return Motion(model, t, middle + size * np.sin(turn), size * w * np.cos(turn), -size * w**2 * np.sin(turn))


def frames_of(motion, rows):
    return Motion(motion.system, *(getattr(motion, name)[rows] for name in ("time", "q", "u", "udot")))


class Posed:
    """One frame, evaluated on its own: forces by NumPy, torques of a unit tension, and the torque of the motion."""

    def __init__(self, model, motion, k):
        self.model, self.q, self.u = model, motion.q[k], motion.u[k]
        self.arms = -path_jacobian(model, self.q, backend="numpy").T
        self.at = path_lengths(model, self.q, backend="numpy"), -self.u @ self.arms
        self.torque = inverse_dynamics(model, self.q, self.u, motion.udot[k])

    def forces(self, a):
        rows = zip(self.model.muscles, *self.at, np.moveaxis(a, -1, 0), strict=True)
        return np.stack([muscle.law.force(l, v, own) for muscle, l, v, own in rows], axis=-1)

    def slopes(self, a, side, h=1e-6):
        """One-sided differences of second order of the forces."""
        steps = [self.forces(np.clip(a + side * n * h, LEAST, 1.0)) for n in range(3)]
        return side * (-3 * steps[0] + 4 * steps[1] - steps[2]) / (2 * h)

    def effort(self, a):
        """That of activations, reserves making up for the rest."""
        rest = (self.torque - self.arms @ self.forces(a)) / STRENGTH
        return float((a**2).sum() + (rest**2).sum())


def reserves_of(model):
    return [Reserve(name, STRENGTH) for name in model.system.velocity_names]


@pytest.fixture(scope="module", params=["millard", "thelen"])
def fast(request):
    """A model, a fast motion, and what redundancy finds."""
    model = arm(request.param)
    motion = smooth(model, 2.5, 60)
    return model, motion, redundancy(model, motion, reserves=reserves_of(model), backend="numpy")


def test_fast_motions_meet_the_conditions_of_the_posed_problem(fast):
    """Equations, bounds, and stationarity: no activation can move either way for less effort at the prices given."""
    model, motion, found = fast
    assert np.isin(found.status, (Status.SOLVED, Status.LOCAL)).all()
    flat = 0
    for k in range(len(motion.time)):
        posed, a, c = Posed(model, motion, k), found.activation[k], found.reserve[k] / STRENGTH
        F = muscle_forces(model, motion.q[k], motion.u[k], a, backend="numpy")
        np.testing.assert_allclose(F, found.force[k], rtol=1e-9, atol=1e-7)
        size = max(np.abs(posed.torque).max(), 1.0)
        np.testing.assert_allclose(posed.arms @ F + STRENGTH * c, posed.torque, atol=2e-9 * size)
        assert a.min() >= LEAST
        assert a.max() <= 1
        assert found.effort[k] == pytest.approx((a**2).sum() + (c**2).sum(), rel=1e-9)
        price = found.price[k]
        np.testing.assert_allclose(2 * c, STRENGTH * price, rtol=1e-4, atol=1e-4)
        up, down = (2 * a - (price @ posed.arms) * posed.slopes(a, side) for side in (1.0, -1.0))
        tolerance = 1e-4 * max(np.abs(2 * a).max(), 1.0)
        assert (up[a < 1 - 1e-5] > -tolerance).all()
        assert (down[a > LEAST + 1e-5] < tolerance).all()
        flat += int((posed.forces(np.full(6, 0.2)) <= 0).sum())
    assert flat > 20  # muscles that do not pull over a range of activations


def on_and_off(posed, laws_at):
    """The least effort of muscles that are affine where they pull at all: of all choices of those that do."""
    start, slope = laws_at
    best = np.inf
    for choice in product((False, True), repeat=len(start)):
        on = np.array(choice)
        if ((posed.forces(np.full(len(on), LEAST)) > 1e-9) & ~on).any():
            continue
        rest = LEAST**2 * float((~on).sum())
        low = np.minimum(np.maximum(-start[on] / slope[on], LEAST), 1 - 1e-12)
        if not on.any():
            best = min(best, rest + float(((posed.torque / STRENGTH) ** 2).sum()))
            continue
        A = np.vstack([posed.arms[:, on] * slope[on] / STRENGTH, np.eye(int(on.sum()))])
        b = np.concatenate([(posed.torque - posed.arms[:, on] @ start[on]) / STRENGTH, np.zeros(int(on.sum()))])
        best = min(best, rest + 2 * lsq_linear(A, b, (low, np.ones(len(low))), tol=1e-13).cost)
    return best


def many_starts(posed, rng):
    """The least effort that SciPy's solver finds from many starts."""

    def value(a):
        rest = (posed.torque - posed.arms @ posed.forces(a)) / STRENGTH
        slope = (posed.forces(np.minimum(a + 1e-7, 1)) - posed.forces(np.maximum(a - 1e-7, LEAST))) / (
            np.minimum(a + 1e-7, 1) - np.maximum(a - 1e-7, LEAST)
        )
        return (a**2).sum() + (rest**2).sum(), 2 * a - 2 * slope * (posed.arms.T @ rest) / STRENGTH

    starts = [np.full(6, x) for x in (LEAST, 0.5, 1.0)] + [rng.uniform(LEAST, 1, 6) ** (1 + k % 2) for k in range(6)]
    bounds = [(LEAST, 1.0)] * 6
    return min(minimize(value, a, jac=True, method="L-BFGS-B", bounds=bounds).fun for a in starts)


def test_no_effort_is_less_and_the_bound_holds(fast, rng):
    """By enumeration for Millard's muscles, from many starts for Thelen's."""
    model, motion, found = fast
    hard = np.flatnonzero(found.status == Status.LOCAL)[:2]
    for k in sorted({*hard, *range(0, len(motion.time), 15)}):
        posed = Posed(model, motion, k)
        if isinstance(model.muscles[0].law, Millard2012):
            one, near = posed.forces(np.ones(6)), posed.forces(np.full(6, 0.99))
            slope = np.maximum((one - near) / 0.01, 1e-9)
            least = on_and_off(posed, (one - slope, slope))
        else:
            least = many_starts(posed, rng)
        assert found.bound[k] <= least * (1 + 1e-9)
        assert found.bound[k] <= found.effort[k] <= least * (1 + 1e-6)
        if found.status[k] == Status.SOLVED:
            assert found.bound[k] >= found.effort[k] * (1 - 1e-6)


def test_prices_of_solved_frames_prove_their_bound(fast):
    """The Lagrange dual on a grid of activations that is much finer than the solver's."""
    model, motion, found = fast
    grid = np.linspace(LEAST, 1.0, 4001)
    for k in np.flatnonzero(found.status == Status.SOLVED)[::5]:
        posed, price = Posed(model, motion, k), found.price[k]
        F = posed.forces(np.broadcast_to(grid[:, None], (len(grid), 6)))
        muscles = (grid[:, None] ** 2 - F * (price @ posed.arms)).min(axis=0).sum()
        dual = price @ posed.torque + muscles - ((STRENGTH * price) ** 2).sum() / 4
        assert dual == pytest.approx(found.effort[k], rel=1e-6, abs=1e-6)  # of what is between points
