"""The center or the axis of the joint between two segments, from their markers alone: SCoRE, SARA, and a sphere fit.

The markers of a segment are a rigid cloud. Its poses (R, t) and (S, d) of the proximal and of the distal segment map
components in the segment to those of the ground, x = R y + t. The axes of a segment are the ground's in the first frame
that shows all of its markers; its origin is the mean of its markers.

A center has constant components u and v in the two segments, so that R u + t = S v + d in every frame:

    minimise  sum_i |R_i u + t_i - S_i v - d_i|^2

This is the symmetrical estimate of a center of rotation, SCoRE [R. M. Ehrig, W. R. Taylor, G. N. Duda, M. O. Heller, A
survey of formal methods for determining the centre of rotation of ball joints, J. Biomech. 39, 2006]. Noise of the
markers makes R_i (1 + E_i) of R_i and draws the center towards the markers. The sum of the means of E_i^T E_i, taken
from the normal equations, takes that away [W. A. Fuller, Measurement Error Models, 1987, sec. 2.2]. The means follow
from the scatter of the markers on their rigid segments.

About a fixed axis the matrix of [R_i, -S_i] has a null vector. Its halves are the direction of the axis in the two
segments. This is SARA [the same, A survey of formal methods for determining functional joint axes, J. Biomech. 40,
2007], here of the normal equations without the noise.

Seen from the proximal segment, every marker k of the distal one moves on a sphere about the center m:

    minimise  sum_k sum_i (|x_ki - m|^2 - r_k^2)^2

whose solution is linear in m [S. S. H. U. Gamage, J. Lasenby, New least squares solutions for estimating the average
centre of rotation and the axis of rotation, J. Biomech. 35, 2002]. Noise of variance s^2 draws m towards the markers;
2 s^2 sum_k (mean x_k - m) on the right-hand side takes that away [K. Halvorsen, Bias compensated least squares estimate
of the center of rotation, J. Biomech. 36, 2003]. Noise of the proximal poses adds the covariance X C X^T, X = [x_ki],
of their turns C. Noise of a covariance P_ki adds the mean of 2 P_ki to the matrix, and that of 2 P_ki x_ki +
(x_ki - mean x_k) trace P_ki to the right-hand side.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from myoquat.core import Array, check_types, frozen, indices_of, pandas as pd, scipy, warn_user
from myoquat.data.motions import Markers
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import FloatingJoint, SphericalJoint
from myoquat.joints.vectors import joined, matvec, skew, vecmat
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.model import Model

METHODS = ("score", "sphere")
CONVERGED = 1e-12  # relative change at which the shape of a segment, or a sphere's center, is found
HIDDEN = "which hides the turns about one axis: a center needs larger turns about two axes, or more frames"
HIDDEN_TURN = "which hides the turn: an axis needs a larger one, or more frames"
MIN_SIGNAL = 0.3  # of an eigenvalue of the normal equations: so much is not noise
MAX_ITERATIONS = 200  # each takes away all but a fraction of the error that falls with the noise


@frozen(eq=False)
class Segment:
    """Markers that move as a rigid body.

    names               (n,) of the markers
    reference           (n, 3) [m] where they are in the segment's own axes
    rotations, origins  (t, 3, 3), (t, 3) [m] the poses, NaN in frames that show fewer than three of the markers
    noise               [m] the deviation of the markers from the rigid shape, in each direction

    >>> import numpy as np
    >>> from myoquat.analysis.motion import Segment
    >>> thigh = Segment(("a", "b", "c"), np.eye(3), np.eye(3)[None], np.array([[0.0, 0.0, 1.0]]))
    >>> thigh.at(np.array([0.1, 0.2, 0.0])).tolist()
    [[0.1, 0.2, 1.0]]
    """

    names: tuple[str, ...]
    reference: Array
    rotations: Array
    origins: Array
    noise: float = 0.0

    @property
    def turn_covariance(self) -> Array:
        """(3, 3) [rad^2] of the small angles, in the segment's axes, by which noise of the markers turns its poses."""
        x = self.reference
        return self.noise**2 * np.linalg.inv(np.sum(x * x) * np.eye(3) - x.T @ x)

    @property
    def seen(self) -> Array:
        """(t,) whether a frame has a pose."""
        return np.isfinite(self.origins[:, 0])

    def at(self, point: Array) -> Array:
        """(t, 3) [m] where a point (3,) of the segment is on the ground."""
        return self.rotations @ point + self.origins


@frozen(eq=False)
class _Joint:
    """A point of a joint in two segments; None in a distal segment that shows no pose."""

    time: Array
    proximal: Segment
    distal: Segment
    in_proximal: Array
    in_distal: Array | None

    @property
    def positions(self) -> Array:
        """(t, 3) [m] on the ground, the mean of where both segments see it, or where the proximal one does in frames
        that show it alone; NaN in other frames."""
        return self._seen_by(self.proximal, self.distal)

    def _seen_by(self, proximal: Segment, distal: Segment) -> Array:
        own = proximal.at(self.in_proximal)
        if self.in_distal is None:
            return own
        other = distal.at(self.in_distal)
        return np.where(np.isfinite(other), (own + other) / 2, own)

    def _by_segment(self, columns: str, *others: Array) -> "pd.DataFrame":
        """The point in each segment, and other columns."""
        points = np.array([self.in_proximal] if self.in_distal is None else [self.in_proximal, self.in_distal])
        index = pd.Index(["proximal", "distal"][: len(points)], name="segment")
        return pd.DataFrame(np.hstack([points, *others]), index, columns.split())

    def added_to(self, markers: Markers, name: str) -> Markers:
        """A recording with the point as one more marker, so that `Measurement` and `inverse_kinematics` read it.

        It may be another trial of the person, such as a static one: the point is where its segments are. ValueError
        for a recording that lacks a marker of the segments.
        """

        def moved(segment: Segment) -> Segment:
            x = markers.positions[:, indices_of("marker", segment.names, markers.names)]
            return Segment(segment.names, segment.reference, *_poses(segment.reference, x, np.isfinite(x[..., 0])))

        point = self._seen_by(moved(self.proximal), moved(self.distal))
        added = np.concatenate([markers.positions, point[:, None]], axis=1)
        return replace(markers, names=(*markers.names, name), positions=added)


@frozen(eq=False)
class JointCenter(_Joint):
    """The center of a ball joint in two segments.

    in_proximal, in_distal  (3,) [m] in the axes of the segments; `in_distal` is None where the distal segment has
                            fewer than three markers, which show no pose
    covariance              (6, 6) [m^2] of both, (3, 3) of `in_proximal` alone, to first order in errors of markers
                            that are independent from frame to frame. Skin that slides with the joint is not, so that
                            the deviations are then a lower bound
    noise                   [m] deviation of what is left over, in each direction

    >>> import numpy as np
    >>> from myoquat.analysis.motion import JointCenter, Segment
    >>> one = Segment(("a", "b", "c"), np.eye(3), np.eye(3)[None], np.zeros((1, 3)))
    >>> hip = JointCenter(np.zeros(1), one, one, np.array([0.1, 0.0, 0.0]), None, 1e-6 * np.eye(3), 0.001)
    >>> hip.positions.tolist(), hip.deviations.round(6).tolist()
    ([[0.1, 0.0, 0.0]], [[0.001, 0.001, 0.001]])
    """

    covariance: Array
    noise: float

    @property
    def deviations(self) -> Array:
        """(2, 3) or (1, 3) [m] standard errors of `in_proximal` and `in_distal`."""
        return np.sqrt(np.diag(self.covariance)).reshape(-1, 3)

    def to_model(self, proximal: str = "proximal", distal: str = "distal") -> Model:
        """Two bodies without mass, with these names and their markers: the proximal one floats and carries the distal
        one on a ball joint at the center. ValueError where the distal segment has fewer than three markers."""
        if self.in_distal is None:
            raise ValueError(f"a model needs three markers on the distal segment, which has {len(self.distal.names)}")
        bodies = (
            Body(proximal, "ground", FloatingJoint()),
            Body(distal, proximal, SphericalJoint(), position=tuple(self.in_proximal)),
        )
        placed = [
            Marker(name, body, tuple(position - origin))
            for body, segment, origin in ((proximal, self.proximal, 0.0), (distal, self.distal, self.in_distal))
            for name, position in zip(segment.names, segment.reference, strict=True)
        ]
        return Model(ArticulatedSystem(bodies), markers=tuple(placed))

    def to_dataframe(self) -> "pd.DataFrame":
        """The components "x", "y", "z" [m] and their standard errors, one row for each segment."""
        return self._by_segment("x y z error_x error_y error_z", self.deviations)


@frozen(eq=False)
class JointAxis(_Joint):
    """The axis of a hinge in two segments.

    in_proximal, in_distal                (3,) [m] the point of the axis nearest to the markers of both segments
    direction_proximal, direction_distal  (3,) unit vectors in the axes of the segments, the same turn about both
    deviations                            (2,) [rad] standard errors of the directions in the segments, as in
                                          `JointCenter`
    point_deviations                      (2,) [m] standard errors of the points, across the axis
    noise                                 [m] deviation of what is left over, in each direction

    >>> import numpy as np
    >>> from myoquat.analysis.motion import JointAxis, Segment
    >>> one, z = Segment(("a", "b", "c"), np.eye(3), np.eye(3)[None], np.zeros((1, 3))), np.array([0.0, 0.0, 1.0])
    >>> knee = JointAxis(np.zeros(1), one, one, 0 * z, 0 * z, z, z, np.full(2, 0.01), np.zeros(2), 0.001)
    >>> knee.directions.tolist()
    [[0.0, 0.0, 1.0]]
    """

    direction_proximal: Array
    direction_distal: Array
    deviations: Array
    point_deviations: Array
    noise: float

    @property
    def directions(self) -> Array:
        """(t, 3) unit vectors on the ground, the mean of both; NaN in frames without poses."""
        both = self.proximal.rotations @ self.direction_proximal + self.distal.rotations @ self.direction_distal
        return both / np.linalg.norm(both, axis=-1, keepdims=True)

    def to_dataframe(self) -> "pd.DataFrame":
        """The point "x", "y", "z" and its error across the axis [m], the direction and its error [rad], a row for each
        segment."""
        directions = np.array([self.direction_proximal, self.direction_distal])
        columns = "x y z point_error direction_x direction_y direction_z error"
        return self._by_segment(columns, self.point_deviations[:, None], directions, self.deviations[:, None])


def joint_center(
    markers: Markers, proximal: Sequence[str], distal: Sequence[str], *, method: str = "score"
) -> JointCenter:
    """The center of the ball joint between two segments that are shown by these markers.

    method  "score": both segments move, three or more markers on each. "sphere": spheres about the center as the
            proximal segment sees them; one marker of the distal segment is enough. Both are without the bias that noise
            of the markers has.

    Frames in which a segment shows fewer than three of its markers are left out. Raises ValueError for markers that
    the recording lacks or that both segments have. It is raised for a segment on one line, with too few markers, or
    without a frame that shows all of them. So it is where the segments turn about one axis only (see `joint_axis`), or
    where noise hides the turns.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> pelvis = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0, 0.2]])
    >>> thigh = np.array([[0, -0.2, 0], [0.1, -0.3, 0], [0, -0.3, 0.1]])
    >>> turns = mq.joints.rotation_matrix(mq.joints.quaternion_exp(np.random.default_rng(1).normal(size=(50, 3)) / 3))
    >>> center = np.array([0.05, -0.08, 0.1])
    >>> moved = thigh @ turns.swapaxes(1, 2) + center
    >>> seen = np.concatenate([np.broadcast_to(pelvis, moved.shape), moved], axis=1)
    >>> trial = mo.Markers(np.arange(50) / 50, ("p1", "p2", "p3", "t1", "t2", "t3"), seen)
    >>> hip = mo.joint_center(trial, ("p1", "p2", "p3"), ("t1", "t2", "t3"))
    >>> bool(np.abs(hip.positions - center).max() < 1e-12)
    True
    >>> [body.joint.kind for body in hip.to_model("pelvis", "thigh").system.bodies]
    ['floating', 'spherical']
    """
    if method not in METHODS:
        raise ValueError(f"method is {' or '.join(map(repr, METHODS))}, not {method!r}")
    first, second, columns = _segments(markers, proximal, distal, 1 if method == "sphere" else 3)
    if method == "sphere":
        return _by_spheres(markers, first, second, markers.positions[:, columns])
    still = "the segments turn about one axis only, or not at all: a center needs turns about two axes"
    A, b, noise_part, clean = _equations(first, second, 0, still, HIDDEN)
    inverse = np.linalg.inv(clean)
    solution = np.linalg.solve(clean, np.tensordot(b, A))
    covariance = _covariance(inverse, _scores(A, b, noise_part, solution))
    noise = _deviation(A @ solution - b, b.size - 6)
    return JointCenter(markers.time, first, second, solution[:3], solution[3:], covariance, noise)


def joint_axis(markers: Markers, proximal: Sequence[str], distal: Sequence[str]) -> JointAxis:
    """The axis of the hinge between two segments that are shown by three or more markers each.

    The direction is that about which the distal segment turns; its sign is the one with a positive largest component in
    the proximal segment. Frames in which a segment shows fewer than three of its markers are left out. Raises
    ValueError as `joint_center` does, and where the segments do not turn.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> thigh = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.3, 0.1]])
    >>> shank = np.array([[0, -0.2, 0], [0.1, -0.3, 0], [0, -0.3, 0.1]])
    >>> angles = np.linspace(0.0, 1.0, 30)
    >>> turns = mq.joints.rotation_matrix(mq.joints.quaternion_exp(angles[:, None] * [0.0, 0.0, 1.0]))
    >>> moved = shank @ turns.swapaxes(1, 2)
    >>> seen = np.concatenate([np.broadcast_to(thigh, moved.shape), moved], axis=1)
    >>> trial = mo.Markers(angles, tuple("abcdef"), seen)
    >>> mo.joint_axis(trial, tuple("abc"), tuple("def")).directions[0].round(9) + 0.0
    array([0., 0., 1.])
    """
    first, second, _ = _segments(markers, proximal, distal, 3)
    still = "the segments do not turn against each other: an axis needs a turn"
    A, b, noise_part, clean = _equations(first, second, 1, still, HIDDEN_TURN)
    values, vectors = np.linalg.eigh(clean)
    null, across = vectors[:, 0], vectors[:, 1:]
    null = null * np.sign(null[np.argmax(abs(null[:3]))])
    inverse = across / values[1:] @ across.T
    point = inverse @ np.tensordot(b, A)
    lengths = np.linalg.norm(null.reshape(2, 3), axis=-1)
    direction = null.reshape(2, 3) / lengths[:, None]
    # to first order the scores move the null vector, and the point, by the inverse across the null vector
    turned = _across(_covariance(inverse, _scores(A, 0 * b, noise_part, null)), direction) / lengths
    moved = _across(_covariance(inverse, _scores(A, b, noise_part, point)), direction)
    noise = _deviation(A @ point - b, b.size - 5)
    u, v = direction
    return JointAxis(markers.time, first, second, point[:3], point[3:], u, v, turned, moved, noise)


def _by_spheres(markers: Markers, proximal: Segment, distal: Segment, positions: Array) -> JointCenter:
    """The center of the spheres on which markers (t, n, 3) move in the axes of the proximal segment."""
    R, t = proximal.rotations, proximal.origins
    x = (positions - t[:, None]) @ R
    seen = np.isfinite(x[..., 0])
    counts = seen.sum(axis=0)
    if (counts < 4).any():
        raise ValueError(f"a sphere needs four frames of {distal.names[int(np.argmax(counts < 4))]!r}")
    share = seen / counts  # weights of the means over frames
    x = np.where(seen[..., None], x, 0.0)
    means = np.einsum("tn,tni->ni", share, x)
    apart = (x - means) * share[..., None]
    A = 2 * np.einsum("tni,tnj->ij", apart, x)
    if np.linalg.matrix_rank(A, hermitian=True) < 3:
        raise ValueError("the markers of the distal segment stay in a plane: a center needs turns about two axes")
    squares = np.sum(x * x, axis=-1)
    b = np.tensordot(squares, apart)
    turns = skew(x) @ proximal.turn_covariance @ skew(x).mT  # (t, n, 3, 3) what noise of the proximal turns adds
    turned = 2 * np.tensordot(share, turns)
    offset = 2 * np.einsum("tn,tnij,tnj->i", share, turns, x)
    offset += np.tensordot(np.trace(turns, axis1=2, axis2=3), apart)
    center = np.linalg.solve(A, b)
    for _ in range(MAX_ITERATIONS):
        before, rays = center, x - center
        far = np.sum(rays * rays, axis=-1)
        mean = np.sum(share * far, axis=0)
        along = np.einsum("tni,tnij,tnj->tn", rays, turns, rays) / far
        radial = np.sum(share * (far - mean) ** 2, axis=0) / (4 * mean) - np.sum(share * along, axis=0)
        variance = max(float(radial.mean()), 0.0)  # of a marker, in each direction
        scatter = turned + 2 * len(counts) * variance * np.eye(3)
        center = np.linalg.solve(A - turned, b - offset - 2 * variance * (means - center).sum(axis=0))
        if np.linalg.norm(center - before) <= CONVERGED * np.linalg.norm(means - center, axis=-1).max():
            break
    else:
        _warn_of("the center of the spheres", float(np.linalg.norm(center - before)))
    if np.linalg.eigvalsh(A - scatter)[0] < MIN_SIGNAL * np.linalg.eigvalsh(A)[0]:
        size = 1e3 * np.sqrt(np.trace(scatter) / 6 / len(counts))
        raise ValueError(f"the markers scatter by {size:.2g} mm about their spheres, {HIDDEN}")
    rays = x - center
    radii = np.linalg.norm(rays, axis=-1)
    left = (radii - np.sum(share * radii, axis=0))[seen]
    noise = _deviation(left, len(left) - 3 - len(counts))
    of_noise = turns + variance * np.eye(3)
    level = squares - 2 * x @ center
    level = level - np.sum(share * level, axis=0) - np.trace(of_noise, axis1=2, axis2=3)
    scores = vecmat(level, apart)
    scores -= 2 * np.einsum("tn,tnij,tnj->ti", share, of_noise, rays)
    covariance = _covariance(np.linalg.inv(A - scatter), scores[seen.any(axis=1)])
    both = proximal.seen & distal.seen
    if not both.any():
        return JointCenter(markers.time, proximal, distal, center, None, covariance, noise)
    S = distal.rotations[both]
    inside = vecmat((proximal.at(center) - distal.origins)[both], S).mean(axis=0)
    turn = np.einsum("tji,tjk->ik", S, R[both]) / len(S)  # the derivative of `inside` by the center
    own = turn @ covariance @ turn.T + noise**2 / len(S) * np.eye(3)
    joint = np.block([[covariance, covariance @ turn.T], [turn @ covariance, own]])
    return JointCenter(markers.time, proximal, distal, center, inside, joint, noise)


def _segments(
    markers: Markers, proximal: Sequence[str], distal: Sequence[str], least: int
) -> tuple[Segment, Segment, list[int]]:
    """Both segments, of which the distal one has at least `least` markers, and the columns of the distal markers."""
    check_types(markers=(markers, Markers), proximal=(proximal, (tuple, list)), distal=(distal, (tuple, list)))
    shared = [name for name in proximal if name in distal]
    if shared:
        raise ValueError(f"the marker {shared[0]!r} is on both segments")
    columns = [indices_of("marker", names, markers.names) for names in (proximal, distal)]
    first = _segment("proximal", tuple(proximal), markers.positions[:, columns[0]], 3)
    return first, _segment("distal", tuple(distal), markers.positions[:, columns[1]], least), columns[1]


def _segment(which: str, names: tuple[str, ...], x: Array, least: int) -> Segment:
    """The rigid cloud that fits positions (t, n, 3) in every frame, and whose shape is the mean of what is seen."""
    if len(names) < least:
        raise ValueError(f"the {which} segment needs at least {least} markers, not {len(names)}")
    seen = np.isfinite(x[..., 0])
    if len(names) < 3:
        unknown = np.full((len(x), 3), np.nan)
        return Segment(names, np.zeros((len(names), 3)), np.full((len(x), 3, 3), np.nan), unknown)
    complete = np.flatnonzero(seen.all(axis=-1))
    if not len(complete):
        raise ValueError(f"no frame shows all markers of the {which} segment: {', '.join(names)}")
    shape = x[complete[0]] - x[complete[0]].mean(axis=0)
    size = np.linalg.norm(shape)
    if np.linalg.matrix_rank(shape) < 2:
        raise ValueError(f"the markers of the {which} segment are on one line, which shows no turn about it")
    for _ in range(MAX_ITERATIONS):
        R, t = _poses(shape, x, seen)
        back = (x - t[:, None]) @ R
        before, shape = shape, np.nanmean(back, axis=0)
        shape = shape - shape.mean(axis=0)
        if np.linalg.norm(shape - before) <= CONVERGED * size:
            break
    else:
        _warn_of(f"the shape of the {which} segment", float(np.linalg.norm(shape - before)))
    R, t = _poses(shape, x, seen)
    left = x - (shape @ R.mT + t[:, None])
    left = left[np.isfinite(left)]
    return Segment(
        names, shape, R, t, _deviation(left, len(left) - 6 * np.isfinite(t[:, 0]).sum() - 3 * len(names) + 6)
    )


def _warn_of(what: str, change: float) -> None:
    warn_user(f"{what} still changes by {change:.2g} m after {MAX_ITERATIONS} iterations")


def _poses(shape: Array, x: Array, seen: Array) -> tuple[Array, Array]:
    """The poses R (t, 3, 3), t (t, 3) that bring a shape (n, 3) nearest to what is seen of x (t, n, 3) [W. Kabsch, A
    solution for the best rotation to relate two sets of vectors, Acta Cryst. A 32, 1976]."""
    enough = seen.sum(axis=-1) >= 3
    w = (seen & enough[:, None]) / np.maximum(seen.sum(axis=-1), 1)[:, None]
    x = np.where(seen[..., None], x, 0.0)
    there, here = vecmat(w, x), w @ shape
    H = np.einsum("tn,tni,tnj->tij", w, x - there[:, None], shape - here[:, None])
    U, _, Vt = np.linalg.svd(H)
    U[..., 2] *= np.sign(np.linalg.det(U @ Vt))[:, None]  # a rotation, not a mirror image
    R = U @ Vt
    t = there - matvec(R, here)
    return np.where(enough[:, None, None], R, np.nan), np.where(enough[:, None], t, np.nan)


def _equations(
    proximal: Segment, distal: Segment, null: int, still: str, hidden: str
) -> tuple[Array, Array, Array, Array]:
    """In the frames with both poses: matrices A (t, 3, 6) of [R, -S], and right-hand sides (t, 3) d - t.

    Also what noise adds to the mean of A^T A (6, 6), and the matrix (6, 6) of the normal equations without that.
    `null` directions have no effect. ValueError with the sentence `still` where A shows fewer others, and with `hidden`
    where the least eigenvalue of these is mostly noise.
    """
    both = proximal.seen & distal.seen
    if both.sum() < 3:
        raise ValueError(f"three frames with both segments are needed, not {both.sum()}")
    A = joined([proximal.rotations[both], -distal.rotations[both]])
    if np.linalg.matrix_rank(A.reshape(-1, 6)) < 6 - null:
        raise ValueError(still)
    turns = proximal.turn_covariance, distal.turn_covariance
    noise_part = scipy.linalg.block_diag(*(np.trace(C) * np.eye(3) - C for C in turns))
    normal = np.einsum("tij,tik->jk", A, A)
    clean = normal - len(A) * noise_part
    if np.linalg.eigvalsh(clean)[null] < MIN_SIGNAL * np.linalg.eigvalsh(normal)[null]:
        scatter = f"{1e3 * proximal.noise:.2g} and {1e3 * distal.noise:.2g} mm"
        raise ValueError(f"the markers scatter by {scatter} on the segments, {hidden}")
    return A, (distal.origins - proximal.origins)[both], noise_part, clean


def _scores(A: Array, b: Array, noise_part: Array, x: Array) -> Array:
    """(t, 6) the terms of the normal equations at their solution x, whose mean is 0 and whose scatter is the noise."""
    return vecmat(A @ x - b, A) - noise_part @ x


def _covariance(inverse: Array, scores: Array) -> Array:
    """The covariance of the solution, from the scatter of the scores: noise of the turns grows with the distance
    from the markers, so that what is left over differs by direction [H. White, A heteroskedasticity-consistent
    covariance matrix estimator and a direct test for heteroskedasticity, Econometrica 48, 1980]."""
    frames = len(scores)
    return inverse @ (scores.T @ scores) @ inverse.T * frames / max(frames - 2, 1)


def _across(covariance: Array, direction: Array) -> Array:
    """(2,) the deviations in the segments of a vector of both (6,), across the directions (2, 3)."""
    parts = np.stack([covariance[:3, :3], covariance[3:, 3:]])
    along = np.einsum("si,sij,sj->s", direction, parts, direction)
    return np.sqrt(np.maximum(np.trace(parts, axis1=1, axis2=2) - along, 0.0))


def _deviation(left: Array, freedom: int) -> float:
    return float(np.linalg.norm(left) / np.sqrt(max(freedom, 1)))
