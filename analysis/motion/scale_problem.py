"""The least-squares problem of a person's size: factors of bodies, offsets of markers, and a pose for every frame.

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

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from myoquat.analysis.motion.problem import PoseProblem
from myoquat.analysis.motion.structure import Data
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.motion import kinematics, world_poses
from myoquat.muscle.model import Model
from myoquat.muscle.scaling import scaled

__all__ = ["ScaleProblem", "Size"]

FRAMES_PER_BLOCK = 128  # whose derivatives are in memory at the same time
DIFFERENCE_STEP = 1e-4  # of a factor, in finite differences of constraints
MAX_VIOLATION = 1e-10  # |phi| of the constraints of a pose that is used
RANK_TOLERANCE = 1e-9  # of the largest eigenvalue of a frame's normal matrix, below which a direction is not determined


class Size(NamedTuple):
    """Factors (k,) and offsets (m, 3) [m]."""

    factors: Array
    offsets: Array


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


@dataclass(frozen=True, eq=False)
class ScaleProblem:
    """The estimated quantities: the axes by body that each factor scales, and the indices of the markers with an
    offset.

    poses   the least-squares problem of the poses of the unscaled model, and data (t, ...) of the frames
    mean, deviations (p,)  of factors, then offsets, before the trial is seen
    noise   sigma [m]
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

    def by_body(self, factors: Array) -> dict[str, Array]:
        """The factors (3,) of every body that is scaled."""
        found: dict[str, Array] = {}
        for s, bodies in zip(factors, self.scaled_axes, strict=True):
            for body, axes in bodies.items():
                for axis in axes:
                    found.setdefault(body, np.ones(3))["XYZ".index(axis)] = s
        return found

    def sized(self, size: Size) -> PoseProblem:
        """The least-squares problem of the poses of the model in that size."""
        model = scaled(self._skeleton, self.by_body(size.factors))
        positions = {m.name: np.array(m.position) for m in model.markers}
        markers = tuple(
            replace(m, position=tuple(positions[m.name] + d))
            for m, d in zip(self.poses.markers, size.offsets, strict=True)
        )
        couplers = {coupler.name: coupler for coupler in model.couplers}
        driven = tuple(couplers[c.name] for c in self.poses.couplers)
        return replace(self.poses, system=model.system, markers=markers, couplers=driven, constraints=model.constraints)

    @cached_property
    def _skeleton(self) -> Model:
        """The model without what has no influence on the markers."""
        return replace(
            self.model, muscles=(), forces=(), constraints=self.poses.constraints, actuators=(), inputs=(), groups=(),
            markers=self.poses.markers,
        )  # fmt: skip

    def residuals(self, problem: PoseProblem, q: Array, rows: slice = slice(None)) -> Array:
        """(t, m, 3) x - p, zero where a marker was not seen."""
        given = Data(*(part[rows] for part in self.frames))
        q = problem.allowed(q)
        poses = world_poses(problem.system.tree, kinematics(problem.system.tree, q))
        found = [np.broadcast_to(r, (len(q), 3)) for r in problem.marker_residuals(poses, given)]
        return np.where(given.position_weights[..., None] > 0, np.stack(found, axis=-2), 0.0)

    def onto(self, size: Size, q: Array) -> Array:
        """(t, nq) poses brought onto the constraints of the model in that size, which is positive."""
        return self.sized(size).brought(q, self.frames.time) if self.poses.constraints else q

    def cost(self, size: Size, q: Array) -> float:
        """What is minimised; infinite for factors that are not positive, and poses off the constraints."""
        if not (size.factors > 0).all():
            return np.inf
        sized = self.sized(size)
        if not (np.abs(_violation(sized, q, self.frames.time)) <= MAX_VIOLATION).all():
            return np.inf
        r = self.residuals(sized, q)
        prior = (self.vector(size) - self.mean) / self.deviations
        return float((self.weights[..., None] * r * r).sum() + prior @ prior)

    def vector(self, size: Size) -> Array:
        """(p,) the factors, and the offsets that are sought."""
        return np.concatenate([size.factors, size.offsets[list(self.moving)].ravel()])

    def changed(self, size: Size, step: Array) -> Size:
        """The size after a step (p,)."""
        k = len(size.factors)
        offsets = size.offsets.copy()
        offsets[list(self.moving)] += step[k:].reshape(-1, 3)
        return Size(size.factors + step[:k], offsets)

    def arrow(self, size: Size, q: Array) -> Arrow:
        """The equations of a step from a size and poses (t, nq)."""
        problem = self.sized(size)
        others = [self.sized(self.changed(size, e)) for e in np.eye(len(self.mean))[: len(size.factors)]]
        prior = self.deviations**-2.0
        A, h = np.diag(prior), prior * (self.mean - self.vector(size))
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
            N = np.linalg.pinv(_transposed(J) @ J, rcond=RANK_TOLERANCE, hermitian=True) @ _transposed(J)
            poses.append((N @ r)[..., 0])
            coupling.append(N @ P + moved)
            left = P - J @ (N @ P)  # P^T W P - B^T N^+ B = P^T W (P - J N^+ B)
            A += np.einsum("tip,tik->pk", P, left, optimize=True)
            h += np.einsum("tip,ti->p", left, r[..., 0])
        return Arrow((A + A.T) / 2, h, np.concatenate(poses), np.concatenate(coupling))

    def _along(self, problem: PoseProblem, q: Array, rows: slice, J: Array, r: Array) -> tuple[Array, Array, Array]:
        """(J (t, i, n) without coordinates that press against their bounds, A^+ (t, n, k), I - A^+ A (t, n, n))."""
        back, along = problem.pseudo_inverse(q, self.frames.time[rows])
        open_ = np.ones((len(q), J.shape[-1]))
        for row, one in problem.open_rows(q, (along @ (_transposed(J) @ r))[..., 0]):
            open_[:, row] = one
        if not open_.all():
            back, along = problem.pseudo_inverse(q, self.frames.time[rows], open_)
        return J * open_[:, None, :], back, along

    def _held_by_size(self, size: Size, q: Array, rows: slice) -> Array:
        """(t, k, p) dphi/d(s, d) of the constraints, by central differences."""
        time, count = self.frames.time[rows], len(self.mean)
        moves = [DIFFERENCE_STEP * e for e in np.eye(count)[: len(size.factors)]] if self.poses.constraints else []
        pairs = [(self.changed(size, move), self.changed(size, -move)) for move in moves]
        columns = [(_violation(self.sized(a), q, time) - _violation(self.sized(b), q, time)) / (2 * DIFFERENCE_STEP)
                   for a, b in pairs]  # fmt: skip
        if not columns:
            return np.zeros((len(q), 0, count))
        rest = np.zeros((*columns[0].shape, count - len(columns)))
        return np.concatenate([np.stack(columns, axis=-1), rest], axis=-1)

    def _by_size(self, problem: PoseProblem, others: list[PoseProblem], q: Array, rows: slice, r: Array) -> Array:
        """(t, m, 3, p) dp/d(s, d)."""
        k = len(others)
        P = np.zeros((*r.shape, len(self.mean)))
        for j, other in enumerate(others):
            P[..., j] = r - self.residuals(other, q, rows)
        poses = world_poses(problem.system.tree, kinematics(problem.system.tree, q))
        for i, marker in enumerate(self.moving):
            frame = problem.system.tree.frames[problem.markers[marker].body]
            R = poses[frame.link][0] @ frame.R if frame.link >= 0 else frame.R
            P[:, marker, :, k + 3 * i : k + 3 * i + 3] = R
        return P


def _violation(problem: PoseProblem, q: Array, time: Array) -> Array:
    """(t, k) phi of the constraints of a problem, (t, 0) without any."""
    return np.zeros((len(q), 0)) if problem.equations is None else problem.equations.position(q, time)


def _flat(A: Array) -> Array:
    """(t, 3 m, n) of (t, m, 3, n)."""
    return A.reshape(len(A), -1, A.shape[-1])


def _transposed(A: Array) -> Array:
    return np.swapaxes(A, -1, -2)
