"""The size of a person, and where the markers sit, from a trial in which the person moves; see
`myoquat.analysis.motion.scale_estimate` for what is minimised.

The least-squares problem of a person's size: factors of bodies, offsets of markers, and a pose for every frame.

minimise  sum_t sum_k w_k |x_tk - p_k(q_t, s, d)|^2 / sigma^2 + sum_j (s_j - m_j)^2 / a_j^2 + sum_k |d_k|^2 / b_k^2

over factors s_j, offsets d_k [m] of markers on their bodies, in the bodies' axes, and the free coordinates of q_t. They
are the most probable ones for markers with independent normal errors of standard deviation sigma / sqrt(w_k) in each
direction. Before the trial is seen, s and d are normal with means m and 0 and standard deviations a and b.

A marker of the body B is at p = R_B (S_B p_B + d) + o_B, and all origins o are linear in the factors. At given
rotations p is linear in (s, d). Its derivatives by s are therefore differences over any step, without error.

The pose of a frame depends on no other frame's, and is eliminated (Schur complement; the arrow of bundle adjustment, B.
Triggs et al., Bundle Adjustment: A Modern Synthesis, Vision Algorithms 1999, sec. 6). A frame has the residuals r, J =
dp/dq, P = dp/d(s, d) and weights W. With N = J^T W J and B = J^T W P,

    (Lambda + sum P^T W P - B^T N^+ B) delta = Lambda (mean - (s, d)) + sum P^T W r - B^T N^+ J^T W r
    delta_q = N^+ (J^T W r - B delta)

N^+ is the pseudo-inverse, so that coordinates that no marker of a frame shows do not move in it. The inverse of the
matrix at the left is the covariance of (s, d), to first order.

Constraints phi(q, s) = 0 of the model hold in every frame. With A = dphi/dq and C = dphi/ds poses move by (I - A^+ A) y
- A^+ C delta. Therefore J (I - A^+ A) and P - J A^+ C replace J and P above. Newton's method brings poses onto the
constraints of the new size.
"""

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, ArrayLike, Solved, check_types, frozen, indices_of, pandas as pd
from myoquat.data.motions import Markers, Motion
from myoquat.joints.motion import kinematics, world_poses
from myoquat.joints.ranges import Positive, check_ranges
from myoquat.muscle.model import Model
from myoquat.muscle.scaling import scaled

from .inverse_kinematics import inverse_kinematics
from .problem import PoseProblem
from .scaling import check_axes
from .solver import normalized
from .structure import Data

FRAMES_PER_BLOCK = 128  # whose derivatives are in memory at the same time
DIFFERENCE_STEP = 1e-4  # of a factor, in finite differences of constraints
MAX_VIOLATION = 1e-10  # |phi| of the constraints of a pose that is used
RANK_TOLERANCE = 1e-9  # of the largest eigenvalue of a frame's normal matrix, below which a direction is not determined


class Arrow(NamedTuple):
    """The reduced equations of a step, and the matrices that give the steps of the poses.

    matrix    (p, p) of the reduced equations
    right     (p,) their right-hand side
    poses     (t, n) N^+ J^T W r
    coupling  (t, n, p) N^+ B
    """

    matrix: Array
    right: Array
    poses: Array
    coupling: Array


@frozen(eq=False)
class ScaleProblem:
    """The estimated quantities: the axes by body that each factor scales, and the indices of the markers with an
    offset.

    poses   the least-squares problem of the poses of the unscaled model, and data (t, ...) of the frames
    mean, deviations (p,)  of factors, then offsets, before the trial is seen
    noise   sigma [m]

    A size (p,) holds the factors, then the offsets [m] of the markers that have one.
    """

    model: Model
    poses: PoseProblem
    data: Array
    scaled_axes: tuple[Mapping[str, str], ...]
    moving: tuple[int, ...]
    mean: Array
    deviations: Array
    noise: float

    @cached_property
    def frames(self) -> Data:
        """The data by name."""
        return self.poses.unpacked(self.data)

    @property
    def weights(self) -> Array:
        """(t, m) w / sigma^2."""
        return self.frames.position_weights / self.noise**2

    def by_body(self, size: Array) -> dict[str, Array]:
        """The factors (3,) of every body that is scaled."""
        found: dict[str, Array] = {}
        for s, bodies in zip(size, self.scaled_axes, strict=False):
            for body, axes in bodies.items():
                for axis in axes:
                    found.setdefault(body, np.ones(3))["XYZ".index(axis)] = s
        return found

    def offsets(self, size: Array) -> Array:
        """(m, 3) [m] of all markers."""
        found = np.zeros((len(self.poses.markers), 3))
        found[list(self.moving)] = size[len(self.scaled_axes) :].reshape(-1, 3)
        return found

    def sized(self, size: Array) -> PoseProblem:
        """The least-squares problem of the poses of the model in that size."""
        model = scaled(self._skeleton, self.by_body(size))
        markers = tuple(
            replace(m, position=tuple(np.array(m.position) + d))
            for m, d in zip(model.markers, self.offsets(size), strict=True)
        )
        return replace(
            self.poses, system=model.system, markers=markers, couplers=model.couplers, constraints=model.constraints
        )

    @cached_property
    def _skeleton(self) -> Model:
        """The model without what has no influence on the markers."""
        return replace(
            self.model, muscles=(), forces=(), constraints=self.poses.constraints, couplers=self.poses.couplers,
            actuators=(), inputs=(), groups=(), markers=self.poses.markers,
        )  # fmt: skip

    def residuals(self, problem: PoseProblem, q: Array, rows: slice = slice(None)) -> Array:
        """(t, m, 3) x - p, zero where a marker was not seen."""
        given = Data(*(part[rows] for part in self.frames))
        q = problem.allowed(q)
        poses = world_poses(problem.system.tree, kinematics(problem.system.tree, q))
        found = [np.broadcast_to(r, (len(q), 3)) for r in problem.marker_residuals(poses, given)]
        return np.where(given.position_weights[..., None] > 0, np.stack(found, axis=-2), 0.0)

    def onto(self, size: Array, q: Array) -> Array:
        """(t, nq) poses brought onto the constraints of the model in that size, which is positive."""
        return self.sized(size).brought(q, self.frames.time) if self.poses.constraints else q

    def cost(self, size: Array, q: Array) -> float:
        """What is minimised; infinite for factors that are not positive, and poses off the constraints."""
        if not self.possible(size):
            return np.inf
        sized = self.sized(size)
        if not (np.abs(_violation(sized, q, self.frames.time)) <= MAX_VIOLATION).all():
            return np.inf
        r = self.residuals(sized, q)
        prior = (size - self.mean) / self.deviations
        return float((self.weights[..., None] * r * r).sum() + prior @ prior)

    def possible(self, size: Array) -> bool:
        """Whether all factors are positive."""
        return bool((size[: len(self.scaled_axes)] > 0).all())

    def arrow(self, size: Array, q: Array) -> Arrow:
        """The equations of a step from a size and poses (t, nq)."""
        problem = self.sized(size)
        others = [self.sized(size + e) for e in np.eye(len(size))[: len(self.scaled_axes)]]
        prior = self.deviations**-2.0
        A, h = np.diag(prior), prior * (self.mean - size)
        poses, coupling = [], []
        for start in range(0, len(q), FRAMES_PER_BLOCK):
            rows = slice(start, start + FRAMES_PER_BLOCK)
            r = self.residuals(problem, q[rows], rows)
            w = np.sqrt(self.weights[rows])[..., None]
            P = self._by_size(problem, others, q[rows], rows, r)
            J = _flat(w[..., None] * problem.marker_jacobian(q[rows]))
            P, r = _flat(w[..., None] * P), (w * r).reshape(len(w), -1, 1)
            J, back, along = self._along(problem, q[rows], rows, J, r)
            moved = back @ self._held_by_size(size, q[rows], rows)
            P, J = P - J @ moved, J @ along
            N = np.linalg.pinv(J.mT @ J, rcond=RANK_TOLERANCE, hermitian=True) @ J.mT
            poses.append((N @ r)[..., 0])
            coupling.append(N @ P + moved)
            left = P - J @ (N @ P)  # P^T W P - B^T N^+ B = P^T W (P - J N^+ B)
            A += np.einsum("tip,tik->pk", P, left, optimize=True)
            h += np.einsum("tip,ti->p", left, r[..., 0])
        return Arrow((A + A.T) / 2, h, np.concatenate(poses), np.concatenate(coupling))

    def _along(self, problem: PoseProblem, q: Array, rows: slice, J: Array, r: Array) -> tuple[Array, Array, Array]:
        """(J (t, i, n) without coordinates that press against their bounds, A^+ (t, n, k), I - A^+ A (t, n, n))."""
        time = self.frames.time[rows]
        back, along = problem.pseudo_inverse(q, time)
        open_ = np.broadcast_to(problem.open_to(q, (along @ (J.mT @ r))[..., 0]), (len(q), J.shape[-1]))
        if not open_.all():
            back, along = problem.pseudo_inverse(q, time, open_)
        return J * open_[:, None, :], back, along

    def _held_by_size(self, size: Array, q: Array, rows: slice) -> Array:
        """(t, k, p) dphi/d(s, d) of the constraints, by central differences."""
        time = self.frames.time[rows]
        found = np.zeros((*_violation(self.poses, q, time).shape, len(size)))
        for k in range(len(self.scaled_axes) if self.poses.constraints else 0):
            step = DIFFERENCE_STEP * np.eye(len(size))[k]
            after, before = (_violation(self.sized(size + way * step), q, time) for way in (1, -1))
            found[..., k] = (after - before) / (2 * DIFFERENCE_STEP)
        return found

    def _by_size(self, problem: PoseProblem, others: list[PoseProblem], q: Array, rows: slice, r: Array) -> Array:
        """(t, m, 3, p) dp/d(s, d)."""
        k = len(others)
        P = np.zeros((*r.shape, len(self.mean)))
        for j, other in enumerate(others):
            P[..., j] = r - self.residuals(other, q, rows)
        poses = problem.system.poses(q)
        for i, marker in enumerate(self.moving):
            P[:, marker, :, k + 3 * i : k + 3 * i + 3] = poses[problem.markers[marker].body][0]
        return P


def _violation(problem: PoseProblem, q: Array, time: Array) -> Array:
    """(t, k) phi of the constraints of a problem, (t, 0) without any."""
    return np.zeros((len(q), 0)) if problem.equations is None else problem.equations.position(q, time)


def _flat(A: Array) -> Array:
    """(t, 3 m, n) of (t, m, 3, n)."""
    return A.reshape(len(A), -1, A.shape[-1])


MAX_GAUSS_NEWTON_STEPS = 50  # of one call
MAX_HALVINGS = 30  # of one step
ROUND_OFF = 1e-13  # of what is minimised, by which it may grow in a step
CONVERGED_STEP = 1e-7  # step of factors, and of offsets [m], in their standard deviations, at which the search ends


@frozen
class ScalePrior:
    """What is known of a person's size, and of the markers, before a trial is seen.

    noise             [m] standard deviation of a marker of weight 1 in each direction; of weight w, noise / sqrt(w).
    expected          prior means of the factors, 1 for those not named.
    factor_deviation  standard deviation of the factors.
    offset_deviation  [m] the same of the offsets of markers on their bodies, in each direction.
    fixed             markers whose positions on the scaled body are known; None: those that are fixed in the model.

    ValueError for deviations and means that are not positive and finite.

    >>> from myoquat.analysis.motion import ScalePrior
    >>> ScalePrior(noise=0.001).factor_deviation
    0.1
    """

    noise: Positive = 0.003
    expected: Mapping[str, float] = field(default_factory=dict)
    factor_deviation: Positive = 0.1
    offset_deviation: Positive = 0.01
    fixed: Collection[str] | None = None

    def __post_init__(self) -> None:
        check_ranges(self, None)
        if not all(np.isfinite(mean) and mean > 0 for mean in self.expected.values()):
            raise ValueError(f"expected factors must be positive and finite, not {dict(self.expected)}")


@frozen(eq=False, repr=False)
class ScaleEstimate(Solved):
    """The estimated size of a person from a moving trial.

    The covariance counts independent errors of the markers. Skin that slides with a joint's angle is none: with it, the
    estimates are less certain than they say. Only the joints of a body distinguish its factor from a shift of all its
    markers. A body with a single joint, such as a foot, learns little beyond the prior (`to_dataframe`).

    model         the model in that size, its markers where they were found
    motion        the poses of the frames in which markers were seen
    factors       by name
    offsets       (3,) [m] by marker, in the axes of its body, from its scaled position
    size          (p,) of `names`
    covariance    (p, p) of them, to first order
    marker_error  (t, m) [m] remaining distances of `marker_names`, NaN where a marker was not seen
    noise         [m] standard deviation of the markers in each direction by the residuals, to be compared with the
                  assumed one
    converged     whether the search has converged
    steps         their number in the search
    problem       the minimised problem

    >>> from myoquat.analysis.motion import ScaleEstimate
    >>> {"factors", "offsets", "covariance"} <= set(ScaleEstimate.__dataclass_fields__)  # see estimate_scale
    True
    """

    model: Model
    motion: Motion
    factors: dict[str, float]
    offsets: dict[str, Array]
    size: Array
    covariance: Array
    marker_error: Array
    noise: float
    converged: bool
    steps: int
    problem: ScaleProblem

    def __repr__(self) -> str:
        found = ", ".join(f"{name} {s:.4g}" for name, s in self.factors.items())
        end = "" if self.converged else ", not converged"
        return f"<ScaleEstimate {found}; residuals of {self.noise * 1e3:.3g} mm in each direction{end}>"

    @property
    def success(self) -> bool:
        """Whether the search converged."""
        return self.converged

    @property
    def by_body(self) -> dict[str, Array]:
        """The factors (3,) of every body that is scaled."""
        return self.problem.by_body(self.size)

    @property
    def marker_names(self) -> tuple[str, ...]:
        """(m,) the markers of the trial that the model has."""
        return tuple(self.offsets)

    @property
    def names(self) -> tuple[str, ...]:
        """(p,) the factors, then "marker x", "marker y", "marker z" of every marker whose place was sought."""
        moving = [self.marker_names[k] for k in self.problem.moving]
        return (*self.factors, *(f"{name} {axis}" for name in moving for axis in "xyz"))

    @property
    def deviations(self) -> Array:
        """(p,) standard deviations after the trial, to first order, of what `names` names."""
        return np.sqrt(np.diagonal(self.covariance))

    def to_dataframe(self) -> "pd.DataFrame":
        """A row for each of `names`: its value, its standard deviation after and before the trial, and `learned`.

        `learned` is the part of the prior variance that the trial has removed. It is near 0 where the trial says
        nothing.
        """
        before = self.problem.deviations
        columns = {"found": self.size, "deviation": self.deviations, "before": before,
                   "learned": 1 - (self.deviations / before) ** 2}  # fmt: skip
        return pd.DataFrame(columns, index=pd.Index(self.names, name="parameter"))


def estimate_scale(
    model: Model, trial: Markers, scaled_axes: Mapping[str, Mapping[str, str]] | None = None,
    weights: Mapping[str, float] | None = None, *, prior: ScalePrior | None = None,
    locked: Collection[str] | None = None, ranges: bool = True, start: ArrayLike | None = None,
    mass: float | None = None, keep_masses: bool = False,
) -> ScaleEstimate:  # fmt: skip
    """Factors of bodies, offsets of markers and poses that fit a moving trial best, all of them at once.

    `scale_model` takes lengths from markers on the skin in one pose. This function estimates the sizes and marker
    positions for which the model can move as the markers did; its constraints hold in every frame. The joints must move
    much in the trial. A few hundred frames are enough, and memory grows with their number.

    trial             markers in metres and in the model's axes; NaN where one was not seen.
    scaled_axes       the axes of bodies that each factor scales, by factor: {"thighs": {"femur_r": "XYZ", "femur_l":
                      "XYZ"}}. None: one factor for each body with a marker in the trial.
    weights           by marker, 1 for those not named.
    prior             the noise, and what is known before the trial; `ScalePrior()` if None.
    mass, keep_masses as of `scale_model`; locked, ranges and start as of `inverse_kinematics`.

    Raises ValueError for bodies, axes, markers and factors that do not exist, for fewer than two frames, and as by
    `inverse_kinematics`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> hinge = mq.joints.RevoluteJoint()
    >>> bodies = (mq.Body("arm", "ground", hinge), mq.Body("hand", "arm", hinge, (1.0, 0.0, 0.0)))
    >>> positions = (("arm", (0.5, 0.1, 0.0)), ("hand", (0.2, 0.0, 0.0)), ("hand", (0.1, 0.1, 0.0)))
    >>> markers = tuple(mq.muscle.coordinates.Marker(f"m{k}", *position) for k, position in enumerate(positions))
    >>> model = mq.Model(mq.ArticulatedSystem(bodies), markers=markers)
    >>> person = mo.scale_model(model, factors={"arm": 1.1, "hand": 0.9})
    >>> poses = person.system.poses(np.random.default_rng(0).uniform(-1, 1, (20, 2)))
    >>> x = np.stack([poses[m.body][1] + poses[m.body][0] @ m.position for m in person.markers], axis=1)
    >>> found = mo.estimate_scale(model, mo.Markers(np.arange(20.0), ("m0", "m1", "m2"), x), prior=mo.ScalePrior(1e-6))
    >>> round(found.factors["arm"], 4)
    1.1
    """
    check_types(model=(model, Model), trial=(trial, Markers), prior=(prior, (ScalePrior, type(None))))
    wanted = _scaled_axes(model, trial, scaled_axes)
    prior = ScalePrior() if prior is None else prior
    indices_of("factor", prior.expected, list(wanted))
    means = np.array([prior.expected.get(name, 1.0) for name in wanted], dtype=float)
    if len(trial.time) < 2:
        raise ValueError(f"a moving trial has two frames or more, not {len(trial.time)}")
    fit = inverse_kinematics(model, trial, weights, locked=locked, ranges=ranges, start=start)
    seen, poses = ~fit.empty, fit.problem
    if poses is None or seen.sum() < 2:
        raise ValueError("the trial shows markers in fewer than two frames")
    held = {m.name for m in model.markers if m.fixed} if prior.fixed is None else {*prior.fixed}
    indices_of("marker", held, [m.name for m in model.markers])
    moving = tuple(k for k, m in enumerate(poses.markers) if m.name not in held)
    mean = np.concatenate([means, np.zeros(3 * len(moving))])
    spread = np.repeat((prior.factor_deviation, prior.offset_deviation), (len(means), 3 * len(moving)))
    axes = tuple(wanted.values())
    problem = ScaleProblem(model, poses, fit.data[seen], axes, moving, mean, spread, prior.noise)
    search = _search(problem, mean, fit.q[seen])
    return _result(problem, search, tuple(wanted), fit.time[seen], (mass, keep_masses))


def _scaled_axes(
    model: Model, trial: Markers, given: Mapping[str, Mapping[str, str]] | None
) -> dict[str, dict[str, str]]:
    """The axes by body of every factor."""
    known = (model.system.ground, *model.system.body_names)
    if given is None:
        carrying = {m.body for m in model.markers if m.name in trial.names}
        return {name: {name: "XYZ"} for name in known if name in carrying and name != model.system.ground}
    if not given:
        raise ValueError("scaled_axes names no factor; place_markers finds the markers of a model that is not scaled")
    taken: dict[tuple[str, str], str] = {}
    for name, bodies in given.items():
        indices_of("body", bodies, known)
        check_axes(f"the factor {name!r}", bodies)
        for key in ((body, axis) for body, axes in bodies.items() for axis in axes.upper()):
            if taken.setdefault(key, name) != name:
                raise ValueError(f"{key[0]!r} is stretched along {key[1]} by both {taken[key]!r} and {name!r}")
    return {name: {body: axes.upper() for body, axes in bodies.items()} for name, bodies in given.items()}


_Search = tuple[Array, Array, Arrow, int, bool]  # where it has ended, the equations there, steps, whether it converged


def _search(problem: ScaleProblem, size: Array, q: Array) -> _Search:
    """Gauss-Newton steps on everything together, halved until what is minimised does not grow but by round-off."""
    q = problem.onto(size, q)
    cost = problem.cost(size, q)
    if not np.isfinite(cost):
        raise ValueError("the poses of the trial cannot be brought onto the constraints of the model in that size")
    for count in range(1, MAX_GAUSS_NEWTON_STEPS + 1):
        arrow = problem.arrow(size, q)
        step = np.linalg.solve(arrow.matrix, arrow.right)
        poses = arrow.poses - arrow.coupling @ step
        sized = problem.sized(size)
        done = bool((np.abs(step) * np.sqrt(np.diagonal(arrow.matrix)) < CONVERGED_STEP).all())
        for halving in range(MAX_HALVINGS):
            share = 0.5**halving
            new, moved = size + share * step, sized.moved(q, share * poses)
            if problem.possible(new):
                moved = problem.onto(new, moved)
            new_cost = problem.cost(new, moved)
            if new_cost <= cost * (1 + ROUND_OFF):
                size, q, cost = new, moved, new_cost
                break
        else:
            return size, q, arrow, count, done
        if done:
            return size, q, arrow, count, True
    return size, q, problem.arrow(size, q), MAX_GAUSS_NEWTON_STEPS, False


def _result(
    problem: ScaleProblem, search: _Search, names: tuple[str, ...], time: Array, masses: tuple[float | None, bool]
) -> ScaleEstimate:
    size, q, arrow, steps, converged = search
    person, fitted = scaled(problem.model, problem.by_body(size), *masses), problem.sized(size)
    positions = {m.name: m.position for m in fitted.markers}
    markers = tuple(replace(m, position=positions.get(m.name, m.position)) for m in person.markers)
    person, q = replace(person, markers=markers, file=None), normalized(fitted, fitted.allowed(q))
    r, covariance, seen = problem.residuals(fitted, q), np.linalg.inv(arrow.matrix), problem.weights > 0
    # the fit follows coordinates that the measurements determine, and the share of factors and offsets that these,
    # not the prior, have determined
    J = fitted.marker_jacobian(q) * seen[..., None, None]
    _, along = fitted.pseudo_inverse(q, problem.frames.time)
    followed = np.linalg.matrix_rank(_flat(J) @ along).sum()
    followed += (1 - np.diagonal(covariance) / problem.deviations**2).sum()
    spare, weighted = 3 * seen.sum() - followed, (problem.weights[..., None] * r * r).sum()
    return ScaleEstimate(
        model=person,
        motion=Motion(person.system, time, q),
        factors=dict(zip(names, size.tolist(), strict=False)),
        offsets={m.name: d for m, d in zip(fitted.markers, problem.offsets(size), strict=True)},
        size=size,
        covariance=covariance,
        marker_error=np.where(seen, np.linalg.norm(r, axis=-1), np.nan),
        noise=problem.noise * float(np.sqrt(weighted / spare)) if spare > 0 else np.nan,
        converged=converged,
        steps=steps,
        problem=problem,
    )
