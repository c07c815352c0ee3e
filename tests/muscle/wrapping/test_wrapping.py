"""Paths around surfaces: the shortest there are, with Jacobians that belong to them, everywhere and in any order."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from models import CASES, CYLINDER, ELLIPSOID, SPHERE, model, poses, system
from volume import draws

from benchmarks.wrapping import certificate
from myoquat.joints import (
    ArticulatedSystem,
    ModelError,
    constrained_to_spatial,
    quaternion_exp,
    quaternion_from_matrix,
    quaternion_multiply,
    rotation_matrix,
)
from myoquat.muscle import (
    ConditionalPoint,
    Model,
    Muscle,
    MusclePath,
    PathFlag,
    PathPoint,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    path_flags,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.display import stick_figures
from tests.bodies import on_slide

WHOLE = model()
SOME = model("sphere", "cylinder_side", "ellipsoid", "two")


# ---- against the shortest of all locally shortest paths ----------------------------------------------------


def reference(model, q):
    """(n,) the lengths of one path by shooting, from each active point to the next past the surfaces between them."""
    path, frames, total = model.muscles[0].path, model.system.poses(q), np.zeros(len(q))
    active = np.array([np.broadcast_to(p.active(model.system, q), len(q)) for p in path.points])
    for pattern in np.unique(active, axis=1).T:
        rows = np.flatnonzero((pattern == active.T).all(axis=1))
        for first, last in pairwise(np.flatnonzero(pattern)):
            wraps = [w for w in path.wraps if w.points is None or w.points[0] <= first < last <= w.points[1]]
            ends = [_world(frames[p.body], np.array(p.position)) for p in (path.points[first], path.points[last])]
            total[rows] += _shot(wraps, *(np.broadcast_to(x, (len(q), 3))[rows] for x in ends), frames, rows)
    return total


def _shot(wraps, A, B, frames, rows):
    """(n,) `certificate.shot`, to which a torus comes last and beside another surface, here a tiny one far away."""
    if isinstance(wraps[0], WrapTorus):
        A, B, wraps = B, A, [*(wraps[:0:-1] or [replace(SPHERE, position=(9.0, 9.0, 9.0))]), wraps[0]]
    types, columns = [], [A, B]
    for wrap in wraps:
        R, c = _pose(wrap, frames)
        ahead = wrap.ahead if isinstance(wrap, WrapCylinder) else None
        if ahead is not None:  # in the reference it is x
            R = R @ np.column_stack([ahead, np.cross((0.0, 0.0, 1.0), ahead), (0.0, 0.0, 1.0)])
        types.append(wrap.kind if ahead is None else "sided cylinder")
        for x in (c, quaternion_from_matrix(R), np.array(wrap.numbers())):
            columns.append(x[rows] if x.ndim > 1 else np.tile(x, (len(rows), 1)))
    return certificate.shot(tuple(types), np.concatenate(columns, axis=1))


def _world(pose, x):
    return pose[1] + pose[0] @ x


def _pose(wrap, frames):
    """Axes and centre of a surface in the world."""
    R, p = frames[wrap.body]
    return R @ rotation_matrix(np.array(wrap.orientation)), p + R @ np.array(wrap.position)


@pytest.fixture(scope="module")
def seen():
    """Poses, and lengths and flags of the paths of all cases there."""
    q = poses(2000, seed=2)
    return q, path_lengths(WHOLE, q), path_flags(WHOLE, q)


@pytest.mark.parametrize("name", list(CASES))
def test_lengths_are_the_shortest(name, seen):
    m, number = model(name), list(CASES).index(name)
    q, lengths, flags = seen[0], seen[1][:, number], seen[2][:, number]
    usual = np.isin(flags, (0, 1))
    if name in ("sphere_side", "cylinder_side"):  # held on its side, a path is a geodesic, but no minimum
        usual &= ~_held(m, q)
    count, straight = draws(32, 200), draws(8, 20)
    rows = [np.flatnonzero(usual & (flags == 1))[: count - straight], np.flatnonzero(usual & (flags == 0))[:straight]]
    q, lengths = q[np.concatenate(rows)], lengths[np.concatenate(rows)]
    assert len(q) == count
    np.testing.assert_allclose(lengths, reference(m, q), rtol=0, atol=1e-8)


def _held(m, q):
    """(n,) whether the straight line passes the centre straight behind, on the side that the quadrant forbids."""
    (wrap,) = m.muscles[0].path.wraps
    frames = m.system.poses(q)
    R, c = _pose(wrap, frames)
    a, b = ((_world(frames[p.body], np.array(p.position)) - c) @ R for p in m.muscles[0].path.points)
    behind = False
    if wrap.kind == "cylinder":  # the cross-section decides, and a path between ends behind runs past the front
        a, b = a * (1, 1, 0), b * (1, 1, 0)
        behind = np.maximum(a @ wrap.ahead, b @ wrap.ahead) < 0
    n = np.cross(a, b)
    ahead = wrap.ahead - n * (n @ wrap.ahead / (n * n).sum(-1))[:, None]
    aside = np.cross(n, ahead)
    x, y = (a * aside).sum(-1), (b * aside).sum(-1)
    t = x / (x - y)  # where the line crosses the one along `ahead` through the centre
    return behind | (t > 0) & (t < 1) & (((a + t[:, None] * (b - a)) * ahead).sum(-1) < 0)


def test_a_sphere_holds_a_path_on_its_side():
    """The long way round, in the plane of the ends and the centre: the circle's formula by angles."""
    m, r = model("sphere_side"), SPHERE.radius
    q = poses(2000, seed=2)
    q = q[_held(m, q) & (path_flags(m, q)[:, 0] == 1)]
    assert len(q) > 20
    for x, l in zip(q, path_lengths(m, q)[:, 0], strict=True):
        frames = m.system.poses(x)
        a, b = (_world(frames[p.body], np.array(p.position)) - SPHERE.position for p in m.muscles[0].path.points)
        sizes = np.array([np.linalg.norm(a), np.linalg.norm(b)])
        turned = 2 * np.pi - np.arccos(a @ b / sizes.prod()) - np.arccos(r / sizes).sum()
        np.testing.assert_allclose(l, np.sqrt(sizes**2 - r**2).sum() + r * turned, rtol=1e-12)


# ---- Jacobians, kernels, order -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def smooth():
    """Poses, and where the lengths of all cases are smooth: (n, m)."""
    q = poses(4000, seed=3)
    return q, (path_flags(WHOLE, q, near=2e-3) & (PathFlag.JUMP | PathFlag.UNSOLVED | PathFlag.INSIDE)) == 0


def test_jacobian_is_the_derivative_of_the_length(smooth):
    q, good = (x[: draws(1000, 4000)] for x in smooth)
    J = path_jacobian(WHOLE, q)
    for j in range(4):
        u = np.eye(4)[j]
        h = 1e-5
        l = {k: path_lengths(WHOLE, _moved(q, k * h * u)) for k in (-2, -1, 1, 2)}
        slope = (8 * (l[1] - l[-1]) - (l[2] - l[-2])) / (12 * h)
        kink = np.abs(l[2] - 2 * l[1] + 2 * l[-1] - l[-2]) > 1e-13  # a touch begins or ends within the step
        error = np.abs(slope - J[..., j])
        assert error[good & ~kink].max() < 1e-8
        assert error[good].max() < 1e-4
        assert kink[good].mean() < 5e-4  # 1.2e-4 of 4,000 poses, at most


def _moved(q, u):
    """Coordinates after the turn u[:3] of the shoulder and u[3] of the elbow."""
    Q = quaternion_multiply(q[:, :4], quaternion_exp(np.broadcast_to(u[:3], (len(q), 3))))
    return np.concatenate([Q, q[:, 4:] + u[3]], axis=1)


def test_all_jacobians_agree(smooth):
    q = smooth[0][:300]
    J, J_Q = path_jacobian(SOME, q), path_jacobian(SOME, q, "quaternion")
    np.testing.assert_allclose(J_Q @ SOME.system.rate_matrix(q), J, atol=1e-14)
    J_star = path_jacobian(SOME, q, "constrained", eliminated=0)
    spatial = constrained_to_spatial(J_star[..., :3], q[:, None, :4])
    np.testing.assert_allclose(spatial, J[..., :3], atol=1e-10)


def test_kernels_give_what_numpy_gives(smooth):
    q = smooth[0][: draws(4, 200)]
    for f in (path_lengths, path_jacobian):
        np.testing.assert_allclose(f(WHOLE, q), f(WHOLE, q, backend="numpy"), atol=1e-13, rtol=0)
    np.testing.assert_array_equal(path_flags(WHOLE, q, near=2e-3), path_flags(WHOLE, q, near=2e-3, backend="numpy"))


def test_no_pose_remembers_another():
    q = poses(501, seed=4)
    order = np.random.default_rng(0).permutation(len(q))
    for f in (path_lengths, path_jacobian):
        np.testing.assert_array_equal(f(WHOLE, q[order]), f(WHOLE, q)[order])
        np.testing.assert_array_equal(f(WHOLE, q[7]), f(WHOLE, q)[7])


# ---- at lift-off, on both sides, at edges ------------------------------------------------------------------


def hinge(wrap, b=(0.1, 0.0, 0.0), a=(-0.1, 0.0, 0.0), **more):
    """A path from the ground to a body that slides along y of the ground's frame, past a surface at the origin."""
    slide = on_slide("slide", "y", "y")
    return Model(
        ArticulatedSystem((slide,)),
        (Muscle("m", MusclePath((PathPoint("ground", a), PathPoint("slide", b)), wraps=(wrap,)), **more),),
    )


ROUND = {
    "sphere": WrapSphere(body="ground", radius=0.03),
    "cylinder": WrapCylinder(body="ground", radius=0.03),
    "ellipsoid": WrapEllipsoid(body="ground", radii=(0.04, 0.03, 0.02)),
}


@pytest.mark.parametrize("case", list(ROUND))
def test_length_and_jacobian_are_continuous_at_lift_off(case):
    m = hinge(ROUND[case])
    y = np.linspace(0.005, 0.12, 4001)[:, None]
    on = (path_flags(m, y)[:, 0] & 1).astype(bool)
    edge = np.flatnonzero(np.diff(on))
    assert len(edge) == 1
    low, high = y[edge[0], 0], y[edge[0] + 1, 0]
    for _ in range(40):
        middle = 0.5 * (low + high)
        touching = bool(path_flags(m, [middle])[0] & 1)
        low, high = (middle, high) if touching else (low, middle)
    side = np.array([[low], [high]])
    assert abs(np.diff(path_lengths(m, side)[:, 0])[0]) < 1e-14
    assert abs(np.diff(path_jacobian(m, side)[:, 0, 0])[0]) < 1e-7  # grows with the root of the distance from lift-off


def test_quadrants_choose_sides_and_keep_them():
    free, up, down = (hinge(replace(ROUND["cylinder"], quadrant=side)) for side in ("all", "+y", "-y"))
    y = np.array([[-0.02], [0.02]])
    l, l_up, l_down = (path_lengths(m, y)[:, 0] for m in (free, up, down))
    np.testing.assert_allclose(l, np.minimum(l_up, l_down), rtol=1e-15)
    assert (l_up > l_down).tolist() == [True, False]
    np.testing.assert_allclose(l_up, l_down[::-1], rtol=1e-14)
    # beyond the surface a path is held on its side, and is straight on it
    assert [bool(f & PathFlag.WRAPPED) for f in path_flags(up, [[-0.09], [0.09]])[:, 0]] == [True, False]


def test_an_ellipsoid_is_passed_on_the_shorter_side_in_every_quadrant():
    y = np.linspace(-0.05, 0.05, 21)[:, None]
    lengths = [path_lengths(hinge(replace(ROUND["ellipsoid"], quadrant=side)), y) for side in ("all", "+y", "-y")]
    np.testing.assert_array_equal(lengths[1:], lengths[:1] * 2)


def test_a_quarter_turn_on_the_cylinder_in_closed_form():
    wrap = WrapCylinder(body="ground", radius=1.0, quadrant="+y")
    m = Model(
        system(),
        (
            Muscle(
                "m",
                MusclePath(
                    (PathPoint("ground", (-1.0, -2.0, 0.0)), PathPoint("ground", (2.0, 1.0, 1.0))), wraps=(wrap,)
                ),
            ),
        ),
    )
    flat = 2 + np.pi / 2 + 2
    np.testing.assert_allclose(path_lengths(m, m.system.neutral())[0], np.hypot(flat, 1.0), rtol=1e-15)


def test_equal_shapes_give_equal_paths():
    """A sphere is an ellipsoid of equal radii, and a path square to a cylinder goes around it as around a sphere."""
    y = np.linspace(-0.05, 0.06, 101)[:, None]
    ball = path_lengths(hinge(ROUND["sphere"]), y)
    np.testing.assert_allclose(
        path_lengths(hinge(WrapEllipsoid(body="ground", radii=(0.03,) * 3)), y), ball, atol=1e-13
    )
    np.testing.assert_allclose(path_lengths(hinge(ROUND["cylinder"]), y), ball, atol=1e-15)


def test_the_end_of_a_cylinder_is_passed_and_flagged():
    ends = {"a": (-0.1, 0.01, 0.06), "b": (0.1, 0.0, 0.06)}
    for length, wrapped in ((0.13, True), (0.11, False), (0.1201, True)):
        m = hinge(replace(ROUND["cylinder"], length=length), **ends)
        flag = path_flags(m, [0.0], near=1e-3).item()
        assert bool(flag & PathFlag.WRAPPED) == wrapped
        assert bool(flag & PathFlag.JUMP) == (length == 0.1201)


@pytest.mark.parametrize("case", list(ROUND))
def test_a_point_inside_is_flagged_and_the_path_finite(case):
    m = hinge(ROUND[case], b=(0.001, 0.0, 0.0))
    y = np.array([[0.0], [0.01], [-1e-3], [0.05]])
    flag = path_flags(m, y)[:, 0]
    np.testing.assert_array_equal(flag & PathFlag.INSIDE, [2, 2, 2, 0])
    straight = np.hypot(0.101, y[:3, 0])
    np.testing.assert_allclose(path_lengths(m, y)[:3, 0], straight, rtol=1e-15)
    assert np.isfinite(path_jacobian(m, y)).all()
    centre = hinge(ROUND[case], b=(0.0, 0.0, 0.0))
    assert np.isfinite(path_jacobian(centre, [0.0])).all()


@pytest.mark.parametrize("case", list(ROUND))
def test_ends_on_one_line_with_the_centre(case):
    """Every side is equally short: one is taken, and the length is the limit from either side."""
    m = hinge(ROUND[case])
    l = path_lengths(m, [[-1e-9], [0.0], [1e-9]])[:, 0]
    np.testing.assert_allclose(l, l[1], atol=1e-8)


# ---- files and bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        (replace(SPHERE, body="missing"), "body 'missing' does not exist"),
        (replace(CYLINDER, quadrant="+z"), "quadrant is one of all, "),
        (replace(ELLIPSOID, radii=(0.1, np.nan, 0.1)), "radii must be 3 finite numbers, not"),
        (replace(SPHERE, orientation=(1.0, 1.0, 0.0, 0.0)), "unit quaternion"),
        (replace(SPHERE, position=(0.0, 0.0)), "position must be 3 finite numbers"),
        (replace(SPHERE, points=(1, 1)), "points must be two numbers from 0 to 1"),
    ],
)
def test_impossible_surfaces_are_refused(wrap, words):
    with pytest.raises(ModelError, match=words):
        Model(system(), (Muscle("m", MusclePath(CASES["sphere"][0], wraps=(wrap,))),))


def test_near_must_be_positive():
    with pytest.raises(ValueError, match="near must be positive"):
        path_flags(WHOLE, poses(1), near=0.0)


def test_pictures_run_along_the_surfaces():
    """The drawn path is as long as the path, but for its few straight strokes."""
    q = poses(draws(10, 30), seed=6)
    for stick, flags, lengths in zip(
        stick_figures(WHOLE, q), path_flags(WHOLE, q), path_lengths(WHOLE, q), strict=True
    ):
        for i, points in enumerate(stick.muscles.values()):
            if flags[i] & ~PathFlag.WRAPPED == 0:
                drawn = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
                assert lengths[i] * 0.995 < drawn < lengths[i] * 1.005


def test_surface_whose_first_point_is_off_does_not_act_on_the_piece_that_begins_before_it():
    """OpenSim 4.6 has the same lengths to the last digit."""
    bar = on_slide("bar", "z", "z")
    ends = PathPoint("ground", (-1.0, 0.0, 0.0)), PathPoint("ground", (1.0, 0.02, 0.0))
    off = ConditionalPoint("ground", (0.0, 0.5, 0.0), "z", (2.0, 3.0))
    far = WrapSphere(body="ground", position=(0.5, 0.0, 0.0), radius=0.2, name="far")
    near = WrapSphere(body="ground", position=(-0.4, 0.0, 0.0), radius=0.2, name="near")

    def length(path, *wraps, backend="numpy"):
        bound = Model(ArticulatedSystem((bar,)), (Muscle("m", MusclePath(path, wraps=wraps)),))
        return float(path_lengths(bound, [0.0], backend=backend)[0])

    path, late = (ends[0], off, ends[1]), replace(far, points=(1, 2))
    for backend in ("numpy", "kernel"):
        assert length(path, late, backend=backend) == np.hypot(2.0, 0.02)
        assert length(path, late, near, backend=backend) == length(ends, near)
    assert length(path, far) == length(ends, far) > 2.04
    assert length(path, replace(far, points=(0, 1))) == np.hypot(2.0, 0.02)
    on = replace(off, range=(-1.0, 1.0))
    always = PathPoint("ground", off.position)
    assert length((ends[0], on, ends[1]), late) == length((ends[0], always, ends[1]), late)
