"""MuJoCo's rules for surfaces: which way a path winds, where it touches inside, and where its length jumps."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from models import length_over
from scipy.optimize import minimize_scalar

import myoquat as mq
from myoquat.joints import ModelError
from myoquat.muscle import (
    Model,
    Muscle,
    MusclePath,
    PathFlag,
    PathPoint,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    path_flags,
    path_jacobian,
    path_lengths,
)
from tests.bodies import on_hinge

RADIUS = 0.03


def winding(A, B, ahead):
    """(...) the angle about the z axis of the way from A to B over a point far along `ahead` [homotopy, by hand]."""
    azimuth = lambda x: np.arctan2(x[..., 1], x[..., 0])  # noqa: E731
    half = lambda angle: (angle + np.pi) % (2 * np.pi) - np.pi  # noqa: E731
    side = azimuth(np.asarray(ahead))
    return half(side - azimuth(A)) + half(azimuth(B) - side)


def test_the_path_winds_as_the_way_over_the_side_does(rng):
    A, B = rng.normal(size=(2, 4000, 3)) * 0.08
    apart = (np.hypot(A[:, 0], A[:, 1]) > RADIUS) & (np.hypot(B[:, 0], B[:, 1]) > RADIUS)
    A, B = A[apart], B[apart]
    contact = WrapCylinder(body="", radius=RADIUS, rule="mujoco", quadrant="+x").contact(A, B)
    turn = winding(A, B, (1.0, 0.0, 0.0))
    plain = winding(A, B, A + B)  # of the straight line, over its own middle
    d = (B - A)[:, :2]
    share = np.clip(-np.sum(A[:, :2] * d, axis=1) / np.sum(d * d, axis=1), 0, 1)
    clear = np.linalg.norm(A[:, :2] + share[:, None] * d, axis=1) > RADIUS
    straight = clear & (np.abs(turn - plain) < 1e-9)
    np.testing.assert_array_equal(contact.on, ~straight)
    # unrolled: two tangents and an arc of the winding's remaining angle
    rho = [np.hypot(x[:, 0], x[:, 1]) for x in (A, B)]
    flat = sum(np.sqrt(r * r - RADIUS**2) - RADIUS * np.arccos(RADIUS / r) for r in rho) + RADIUS * np.abs(turn)
    expected = np.hypot(flat, (B - A)[:, 2])
    np.testing.assert_allclose(length_over(contact, A, B)[~straight], expected[~straight], rtol=1e-12)


def test_two_ends_behind_that_clear_the_cylinder_are_joined_straight():
    A, B = np.array([-0.1, 0.04, 0.0]), np.array([-0.01, 0.05, 0.02])
    side, wrap = (
        WrapCylinder(body="", radius=RADIUS, rule=rule, quadrant="+x").contact(A, B) for rule in ("mujoco", "shortest")
    )
    assert not side.on
    assert wrap.on


@pytest.mark.parametrize("surface_type", [WrapSphere, WrapCylinder])
def test_a_path_inside_is_the_shortest_that_touches(surface_type, rng):
    surface = surface_type(body="", radius=RADIUS, rule="inside")
    A, B = rng.normal(size=(2, 60, 3)) * 0.07
    contact = surface.contact(A, B)
    assert 10 < np.sum(contact.on) < 50
    assert not np.any(contact.missed)
    np.testing.assert_array_equal(contact.P, contact.Q)
    for a, b, on, found in zip(A, B, contact.on, length_over(contact, A, B), strict=True):
        if not on:
            continue
        if surface_type is WrapCylinder:
            flat = (a[:2], b[:2])
            rise = b[2] - a[2]
        else:
            e1 = a / np.linalg.norm(a)
            e2 = b - (b @ e1) * e1
            e2 = e2 / np.linalg.norm(e2)
            flat = (np.array([a @ e1, a @ e2]), np.array([b @ e1, b @ e2]))
            rise = 0.0

        def way(psi, flat=flat):
            P = RADIUS * np.array([np.cos(psi), np.sin(psi)])
            return np.linalg.norm(flat[0] - P) + np.linalg.norm(flat[1] - P)

        start = np.arctan2(*(flat[0] / np.linalg.norm(flat[0]) + flat[1] / np.linalg.norm(flat[1]))[::-1])
        best = minimize_scalar(way, bounds=(start - 1.6, start + 1.6), method="bounded", options={"xatol": 1e-10}).fun
        assert found == pytest.approx(np.hypot(best, rise), rel=1e-11)


def beside(rng, count):
    """Two ends (count, 3) each, every other pair on a line that misses the circle by 1e-12 to 0.1 of its radius."""
    A, B = rng.normal(size=(2, count, 3)) * 0.07
    phi, gap = rng.uniform(0, 2 * np.pi, count // 2), 10.0 ** rng.uniform(-12, -1, count // 2)
    radial, along = (
        np.stack([x, y, 0.0 * x], axis=1) for x, y in ((np.cos(phi), np.sin(phi)), (-np.sin(phi), np.cos(phi)))
    )
    for ends in (A, B):
        ends[::2] = RADIUS * (1 + gap[:, None]) * radial + rng.uniform(-0.1, 0.1, (count // 2, 1)) * along
    return A, B


@pytest.mark.parametrize("surface_type", [WrapSphere, WrapCylinder])
def test_both_pieces_meet_the_inner_side_at_one_angle_in_high_precision(surface_type, rng):
    A, B = beside(rng, 400)
    if surface_type is WrapCylinder:
        A[:, 2] = B[:, 2] = 0.0
    contact = surface_type(body="", radius=RADIUS, rule="inside").contact(A, B)
    assert np.sum(contact.on) > 100
    with mpmath.workdps(40):
        for a, b, P in zip(A[contact.on], B[contact.on], contact.P[contact.on], strict=True):
            normal, *pieces = (mpmath.matrix([mpmath.mpf(float(x)) for x in v]) for v in (P, a, b))
            n = normal / mpmath.norm(normal)
            ways = [(end - normal) / mpmath.norm(end - normal) for end in pieces]
            sums = ways[0] + ways[1]
            across = sums - n * (n.T * sums)[0]  # zero where both pieces make one angle with the normal
            assert mpmath.norm(across) < 1e-11


@pytest.mark.peers
@pytest.mark.parametrize("surface_type", [WrapSphere, WrapCylinder])
def test_the_point_inside_is_that_at_which_mujocos_iteration_ends(surface_type, rng):
    geom = surface_type.shape
    bodies = "".join(f'<body mocap="true"><site name="{name}"/></body>' for name in "ab")
    mujoco = pytest.importorskip("mujoco")

    engine = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody>{bodies}<site name="side"/><geom name="ring" type="{geom}" size="{RADIUS} 1"/></worldbody>'
        '<tendon><spatial><site site="a"/><geom geom="ring" sidesite="side"/><site site="b"/></spatial></tendon>'
        "</mujoco>"
    )
    data = mujoco.MjData(engine)
    A, B = beside(rng, 400)
    contact = surface_type(body="", radius=RADIUS, rule="mujoco_inside").contact(A, B)
    for a, b, on, P in zip(A, B, contact.on, contact.P, strict=True):
        data.mocap_pos[:] = a, b
        mujoco.mj_fwdPosition(engine, data)
        assert (data.ten_wrapnum[0] == 4) == on
        if on:
            np.testing.assert_allclose(data.wrap_xpos.reshape(-1, 3)[1], P, rtol=0, atol=1e-13)


def rod(*wraps):
    """A rod that turns about z, with a path from the ground to its end around surfaces of the ground."""
    system = mq.ArticulatedSystem((on_hinge("rod", inertia=1),))
    path = (PathPoint("ground", (-0.08, 0.01, 0.0)), PathPoint("rod", (0.07, 0.0, 0.01)))
    return Model(system, (Muscle("cord", MusclePath(path, wraps=wraps)),))


@pytest.mark.parametrize(
    "surface",
    [
        WrapCylinder(body="ground", radius=RADIUS, rule="mujoco", quadrant="+y"),
        WrapCylinder(body="ground", radius=RADIUS, rule="mujoco3", quadrant="+y"),
        WrapSphere(body="ground", radius=RADIUS, rule="mujoco3", quadrant="+y"),
        WrapCylinder(body="ground", radius=RADIUS, rule="inside"),
        WrapSphere(body="ground", radius=RADIUS, rule="inside"),
    ],
)
def test_the_jacobian_is_the_slope_of_the_length_and_jumps_are_flagged(surface):
    model = rod(surface)
    q = np.linspace(-np.pi, np.pi, 4001)[:, None]
    l, J, flags = path_lengths(model, q)[:, 0], path_jacobian(model, q)[:, 0, 0], path_flags(model, q)[:, 0]
    h = q[1, 0] - q[0, 0]
    slope = (l[2:] - l[:-2]) / (2 * h)
    flagged = (flags & (PathFlag.JUMP | PathFlag.INSIDE)) != 0
    near = flagged[2:] | flagged[1:-1] | flagged[:-2]
    steady = ~near & (np.abs(J[2:] - J[:-2]) < 0.01)
    assert np.mean(steady) > 0.9
    np.testing.assert_allclose(slope[steady], J[1:-1][steady], atol=2e-5)  # kinks of J where the path begins to touch
    jumped = np.abs(np.diff(l)) > 0.2 * h  # the rod's end moves by 0.07 h
    assert np.all(flagged[1:][jumped] | flagged[:-1][jumped])
    assert np.any(jumped) == (surface.rule == "mujoco" or (surface.rule == "mujoco3" and surface.shape == "sphere"))


def test_surfaces_of_one_type_in_a_table_are_the_surfaces_one_by_one(rng):
    """From four surfaces of a type on, one formula serves all in a kernel, each with its own place and sizes."""
    types = (
        (WrapCylinder, {"rule": "mujoco", "quadrant": "-y"}),
        *((sided, {"rule": "mujoco3", "quadrant": "-y"}) for sided in (WrapCylinder, WrapSphere)),
        *((inside, {"rule": "inside"}) for inside in (WrapCylinder, WrapSphere)),
        (WrapCylinder, {"quadrant": "+y", "length": 0.3}),
        (WrapSphere, {"hint": (0.0, 0.02, 0.01)}),
    )
    surfaces = [
        made(body="ground", position=tuple(rng.normal(size=3) * 0.01), radius=0.01 + 0.01 * rng.random(), **more)
        for made, more in types
        for _ in range(5)
    ]
    muscles = tuple(replace(rod(wrap).muscles[0], name=f"m{k}") for k, wrap in enumerate(surfaces))
    model, q = Model(rod().system, muscles), np.linspace(-3, 3, 31)[:, None]
    for function in (path_lengths, path_jacobian):
        np.testing.assert_allclose(function(model, q), function(model, q, backend="numpy"), atol=1e-13)
    np.testing.assert_array_equal(path_flags(model, q), path_flags(model, q, backend="numpy"))


def test_the_surfaces_are_kept_in_files_and_written_for_mujoco(tmp_path):
    wraps = [
        surface_type(body="ground", radius=RADIUS, name=f"w{k}", **more)
        for k, (surface_type, more) in enumerate(
            (
                (WrapCylinder, {"rule": "mujoco", "quadrant": "+y"}),
                (WrapCylinder, {"rule": "mujoco_inside"}),
                (WrapSphere, {"rule": "mujoco_inside", "position": (0.0, 0.01, 0.0)}),
            )
        )
    ]
    muscles = tuple(replace(rod(wrap).muscles[0], name=f"m{k}") for k, wrap in enumerate(wraps))
    model = Model(rod().system, muscles)
    model.save(tmp_path / "x.toml")
    assert mq.load_model(tmp_path / "x.toml") == model
    with pytest.warns(mq.data.UnwrittenWarning):
        model.save(tmp_path / "x.xml")
    back = mq.load_model(tmp_path / "x.xml", wrapping="mujoco")
    kept = [muscle.path.wraps[0] for muscle in back.muscles]
    assert [(wrap.kind, wrap.rule) for wrap in kept] == [(wrap.kind, wrap.rule) for wrap in wraps]
    q = np.linspace(-3, 3, 31)[:, None]
    np.testing.assert_allclose(path_lengths(back, q), path_lengths(model, q), atol=1e-13)


@pytest.mark.parametrize("rule", ["mujoco", "mujoco3", "inside", "mujoco_inside"])
@pytest.mark.parametrize("surface_type", [WrapSphere, WrapCylinder])
def test_a_hint_raises_an_error(surface_type, rule):
    with pytest.raises(ModelError, match="hint"):
        rod(surface_type(body="ground", radius=RADIUS, rule=rule, hint=(0.0, 1.0, 0.0)))


def test_a_rule_that_a_surface_does_not_have_raises_an_error():
    with pytest.raises(ModelError, match="rule is one of shortest, not 'mujoco'"):
        rod(WrapEllipsoid(body="ground", radii=(RADIUS,) * 3, rule="mujoco"))
    with pytest.raises(ModelError, match="no quadrant"):
        rod(WrapSphere(body="ground", radius=RADIUS, rule="inside", quadrant="+x"))


def test_a_side_across_the_plane_of_the_ends_is_beside_a_jump():
    sphere = WrapSphere(body="", radius=RADIUS, rule="mujoco3", quadrant="+z")
    ends = (
        (np.array([0.1, 0.01, 0.0]), np.array([-0.1, 0.01, 0.0])),
        (np.array([0.1, 0, 0.1]), np.array([-0.1, 0, -0.1])),
    )
    for A, B in ends:  # any turn of their plane, and any plane where they lie on one line through the centre
        np.testing.assert_array_equal(sphere.contact(A, B).jump, 0.0)


def test_without_a_side_the_rule_changes_no_path_among_surfaces(rng):
    A, B, *line = rng.normal(size=(4, 2000, 3)) * 0.08
    surfaces = [WrapCylinder(body="", radius=RADIUS, rule=rule) for rule in ("shortest", "mujoco3")]
    first, second = (surface.contact(A, B, tuple(line)) for surface in surfaces)
    for name in ("on", "P", "Q", "arc", "jump"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
