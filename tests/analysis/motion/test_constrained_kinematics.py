"""Inverse kinematics of models with constraints: they hold, and the pose is the best of those on which they do."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from myoquat.analysis.motion import (
    MotionWarning,
    ScalePrior,
    Sensor,
    estimate_scale,
    inverse_kinematics,
    place_markers,
    smooth,
)
from myoquat.analysis.motion.problem import constrained_step
from myoquat.analysis.motion.smoothing import smooth_angles
from myoquat.apps.command import main
from myoquat.apps.opensim_tools import run_setup
from myoquat.data import Motion, load_markers, load_model, load_motion
from myoquat.dynamics.constraints import assemble
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.constraints import Distance, OnSurface, PointLoop, PolynomialCoupler, Weld
from myoquat.joints.errors import ModelError
from myoquat.joints.types import Axis, CustomJoint, PlanarJoint
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coordinate, Marker
from tests.analysis.motion.conftest import felt, shown
from tests.analysis.motion.test_curvature import CONSTRAINTS, chain
from tests.bodies import on_ball, on_hinge
from tests.differences import differences

X, Y, Z = (tuple(row) for row in np.eye(3).tolist())
RATE, NOISE = 100.0, 0.01
SENSORS = (Sensor("first", "upper", (0.6, 0.0, 0.8, 0.0)), Sensor("second", "lower", (1.0, 0.0, 0.0, 0.0)))


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_steps_do_not_depend_on_the_order_and_scale_of_redundant_rows(order):
    """A row given twice, once in other units, before or behind one that nearly depends on it: the KKT system solved
    by NumPy with the two rows that say it all."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(5, 5))
    N, f, first, other = root.T @ root + np.eye(5), rng.normal(size=5), *rng.normal(size=(2, 5))
    near = first + 1e-4 * other
    A, phi = np.array([first, 1e-5 * first, near])[order], 1e-6 * np.array([1.0, 1e-5, 1.0 + 2e-4])[order]
    pair, left = np.array([first, other]), 1e-6 * np.array([1.0, 2.0])
    expected = np.linalg.solve(np.block([[N, pair.T], [pair, np.zeros((2, 2))]]), np.concatenate([f, -left]))[:5]
    np.testing.assert_allclose(constrained_step(N, f, A, phi).v, expected, rtol=1e-7)


def girdle():
    """A clavicle and a scapula that meet at a point: 8 velocities, 3 equations."""
    clavicle = CustomJoint(("protraction", "elevation"), (Axis(Y, 0), Axis(X, 1)), (), ("rad",) * 2)
    blade = CustomJoint(("a", "b", "c", "x", "y", "z"), (Axis(Z, 0), Axis(X, 1), Axis(Y, 2)),
                        (Axis(X, 3), Axis(Y, 4), Axis(Z, 5)), ("rad",) * 3 + ("m",) * 3)  # fmt: skip
    bodies = (
        Body("upper", "ground", clavicle, mass=1.0, coordinate_names=clavicle.coordinates),
        Body("lower", "ground", blade, (0.0, 0.0, 0.1), mass=1.0, coordinate_names=blade.coordinates),
    )
    meeting = PointLoop("upper", "lower", (0.02, 0.01, 0.15), (0.0, 0.02, 0.05), name="meeting")
    return bodies, (meeting,)


def four_bar():
    """A plane linkage closed by a weld of six rows, of which three hold already."""
    names = ("crank", "upper", "lower")
    bodies = tuple(
        on_hinge(name, parent=before, position=(0.0 if k == 0 else length, 0.0, 0.0))
        for k, (name, before, length) in enumerate(zip(names, ("ground", *names), (0.0, 0.2, 0.5), strict=False))
    )
    last = on_hinge("last", position=(0.45, 0.0, 0.0))
    weld = Weld("lower", "last", (0.4, 0.0, 0.0), (0.1, 0.05, 0.0), name="closed")
    return (*bodies, last), (weld,)


def sliding():
    """A ball joint and a hinge whose tip stays on an ellipsoid of the ground."""
    bodies = (
        on_ball("upper", position=(0.0, 0.3, 0.0)),
        on_hinge("lower", Z, parent="upper", position=(0.0, -0.3, 0.0)),
    )
    shell = OnSurface("ground", "lower", second_point=(0.0, -0.25, 0.0), radii=(0.2, 0.3, 0.25), name="shell")
    return bodies, (shell,)


def built(make):
    bodies, constraints = make()
    rng = np.random.default_rng(3)
    markers = [Marker(f"{b.name}{k}", b.name, tuple(rng.uniform(-0.1, 0.1, 3))) for b in bodies for k in range(3)]
    return Model(ArticulatedSystem(bodies), name=make.__name__, constraints=constraints, markers=tuple(markers))


def geared():
    """Three hinges, of which the last turns by twice the product of the others' angles."""
    bodies = tuple(on_hinge(name, position=(float(k), 0.0, 0.0)) for k, name in enumerate(("upper", "lower", "last")))
    return bodies, (PolynomialCoupler("last.angle", ("upper.angle", "lower.angle"), (2.0,), ((1, 1),)),)


MODELS = (girdle, four_bar, sliding, geared)


@pytest.fixture(scope="module", params=MODELS, ids=lambda make: make.__name__)
def model(request):
    return built(request.param)


@cache
def motion_of(model):
    """A motion on the constraints."""
    rng, system, time = np.random.default_rng(8), model.system, np.arange(40) / RATE
    q = assemble(model, system.integrate(model.start, rng.normal(size=system.nu) * 0.3))
    waves, found = rng.normal(size=(2, system.nu)), [q]
    for t in time[1:]:
        u = waves[0] * np.sin(9 * t) + waves[1] * np.cos(5 * t)
        found.append(assemble(model, system.integrate(found[-1], u / RATE)))
    return Motion(system, time, np.array(found))


def recorded(noise=NOISE):
    """The girdle, and what its markers show of a motion."""
    model = built(girdle)
    return model, shown(model, motion_of(model), noise)


def violation(model, motion):
    """The greatest |phi|, of each constraint's own formula."""
    parts = [c.position(model.system, motion.q, motion.time) for c in model.constraints]
    return max(np.abs(part).max() for part in parts)


def cost(model, markers, q):
    """Sum of squared distances at q (..., nq), by the poses alone."""
    poses, total = model.system.poses(q), 0.0
    for k, m in enumerate(model.markers):
        r = markers.positions[:, k] - (poses[m.body][1] + poses[m.body][0] @ np.array(m.position))
        total = total + (r * r).sum(axis=-1)
    return total


def meeting(model, q):
    """phi of the first constraint."""
    return model.constraints[0].position(model.system, q, 0.0)


def slopes(system, q, formula):
    """(..., nu) derivatives of a formula along the velocities."""
    return differences(lambda v: formula(system.integrate(q, v)), np.zeros((len(q), system.nu)))


@pytest.mark.parametrize(
    ("data_of", "method"), [("markers", "batch"), ("both", "sequential"), ("sensors", "batch")], ids=str
)
def test_constraints_hold_in_every_frame(model, data_of, method):
    if data_of == "sensors" and model.name != "girdle":
        return
    motion = motion_of(model)
    data = {"markers": shown(model, motion, NOISE), "sensors": felt(model, motion, SENSORS, 0.03)}
    data["both"] = (data["markers"], data["sensors"])
    fit = inverse_kinematics(model, data[data_of], sensors=() if data_of == "markers" else SENSORS, method=method)
    assert fit.converged.all()
    assert violation(model, fit) < 1e-10
    assert fit.constraint_error.max() < 1e-10
    if data_of == "markers":  # which alone do not hold them
        assert violation(model, inverse_kinematics(replace(model, constraints=()), data[data_of])) > 1e-4


def test_no_direction_along_the_constraints_lowers_the_cost(model):
    """Kuhn and Tucker's conditions: grad c is a sum of rows of dphi/dq, both by differences of their own formulas."""
    motion = motion_of(model)
    markers = shown(model, motion, NOISE)
    fit = inverse_kinematics(model, markers)
    gradient = slopes(model.system, fit.q, lambda q: cost(model, markers, q))
    A = slopes(model.system, fit.q, lambda q: model.constraints[0].position(model.system, q, fit.time))
    for g, rows in zip(gradient, A, strict=True):
        multipliers = np.linalg.lstsq(rows.T, g, rcond=1e-6)[0]
        assert np.abs(g - rows.T @ multipliers).max() < 2e-7
        assert np.abs(g).max() > 1e-5  # it is no free minimum
    assert (fit.cost <= cost(model, markers, motion.q)).all()  # nor is it a maximum


@pytest.mark.parametrize("method", ["batch", "sequential"])
def test_a_closed_loop_is_followed_past_singular_poses(method):
    """A search that strays onto another branch of the loop misses the markers by a decimetre."""
    posed, rng = chain(PlanarJoint()), np.random.default_rng(3)
    model = Model(posed.system, markers=posed.markers, constraints=(CONSTRAINTS["points"],))
    rates, phases = rng.uniform(0.3, 1.5, model.system.nu), rng.normal(size=model.system.nu)
    q = assemble(model, 0.6 * np.sin(0.12 * np.arange(24)[:, None] * rates + phases))
    fit = inverse_kinematics(model, shown(model, q), start=q[0], method=method)
    assert fit.marker_rms.max() < 1e-9


def test_constraints_that_are_said_twice_change_nothing():
    model, markers = recorded()
    rod = Distance("upper", "lower", (0.02, 0.01, 0.15), (0.0, 0.02, 0.35), distance=0.3, name="implied")
    twice = replace(model, constraints=(*model.constraints, rod, replace(model.constraints[0], name="again")))
    once, both = inverse_kinematics(model, markers), inverse_kinematics(twice, markers)
    assert both.converged.all()
    assert violation(twice, both) < 1e-10
    np.testing.assert_allclose(both.q, once.q, atol=1e-7)


def test_bounds_and_constraints_hold_together():
    """Clamped coordinates at their bounds, where the forces of the constraint decide whether they are pressed."""
    model, markers = recorded(0.02)
    free = inverse_kinematics(model, markers)
    clamped = ("protraction", "b")
    columns = [model.system.coordinate_names.index(name) for name in clamped]
    low, high = np.quantile(free.q[:, columns], [0.3, 0.8], axis=0)
    ranges = tuple(Coordinate(name, (float(a), float(b)), clamped=True)
                   for name, a, b in zip(clamped, low, high, strict=True))  # fmt: skip
    fit = inverse_kinematics(replace(model, coordinates=ranges), markers)
    at = fit.q[:, columns]
    assert fit.converged.all()
    assert violation(model, fit) < 1e-10
    assert ((at >= low - 1e-12) & (at <= high + 1e-12)).all()
    gradient = slopes(model.system, fit.q, lambda q: cost(model, markers, q))
    A = slopes(model.system, fit.q, lambda q: meeting(model, q))
    at_low, at_high = (np.isclose(at, end, rtol=0, atol=1e-9) for end in (low, high))
    for g, rows, is_low, is_high in zip(gradient, A, at_low, at_high, strict=True):
        held = np.delete(np.arange(8), np.array(columns)[is_low | is_high])
        rest = g - rows.T @ np.linalg.lstsq(rows.T[held], g[held], rcond=1e-6)[0]
        assert np.abs(rest[held]).max() < 2e-7
        assert (rest[columns][is_low] > -1e-7).all()
        assert (rest[columns][is_high] < 1e-7).all()
    assert ((at_low | at_high).sum(axis=0) > 5).all()
    inside = ((free.q[:, columns] >= low) & (free.q[:, columns] <= high)).all(axis=1)
    assert inside.any()
    assert (fit.cost >= free.cost - 1e-12).all()
    np.testing.assert_allclose(fit.q[inside], free.q[inside], atol=1e-6)


def test_a_weight_makes_a_constraint_a_task():
    """The gradient of the weighted sum vanishes, the weight pulls the error down, and infinity is the exact one."""
    model, markers = recorded()
    exact = inverse_kinematics(model, markers, constraint_weight=np.inf)
    errors = []
    for weight in (1.0, 100.0, 1e4):
        fit = inverse_kinematics(model, markers, constraint_weight=weight)
        whole = lambda q, w=weight: cost(model, markers, q) + w * (meeting(model, q) ** 2).sum(axis=-1)  # noqa: E731
        np.testing.assert_allclose(fit.cost, whole(fit.q), rtol=1e-9)
        assert np.abs(slopes(model.system, fit.q, whole)).max() < 1e-5 * max(weight, 1) ** 0.5
        errors.append(violation(model, fit))
        assert (fit.cost <= exact.cost + 1e-12).all()
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    np.testing.assert_allclose(fit.q, exact.q, atol=1e-4)
    by_name = inverse_kinematics(model, markers, constraint_weight={"meeting": 1e4})
    np.testing.assert_array_equal(by_name.q, fit.q)
    with pytest.raises(ValueError, match="mee"):
        inverse_kinematics(model, markers, constraint_weight={"meting": 1.0})
    with pytest.raises(ValueError, match="negative"):
        inverse_kinematics(model, markers, constraint_weight=-1.0)


@pytest.mark.parametrize("smoothed", [lambda fit: smooth(fit, 6.0), lambda fit: smooth_angles(fit, 6.0)])
@pytest.mark.parametrize("make", [girdle, geared])
def test_smoothed_motions_stay_on_the_constraints(make, smoothed):
    """phi vanishes to second order along q + u s + udot s^2 / 2."""
    model = built(make)
    fit = inverse_kinematics(model, shown(model, motion_of(model), NOISE))
    moving = smoothed(fit)
    assert violation(model, moving) < 1e-10
    h = 1e-4
    ahead, behind = (meeting(model, moving.q + s * moving.u + s * s / 2 * moving.udot) for s in (h, -h))
    assert np.abs(ahead - behind).max() / (2 * h) < 1e-6 * np.abs(moving.u).max()
    assert np.abs(ahead + behind).max() / h**2 < 1e-4 * np.abs(moving.udot).max()


def test_a_motion_of_a_file_is_reported_and_moved_onto_the_constraints():
    model = built(girdle)
    motion = motion_of(model)
    off = Motion(model.system, motion.time, motion.q + 0.01)
    with pytest.warns(MotionWarning, match="off the constraints"):
        moving = smooth(off, 6.0, model=model)
    assert violation(model, moving) < 1e-10


def test_nothing_is_undetermined_that_a_constraint_ties():
    """Markers on the scapula alone: the clavicle follows, but for its turn about the line to the point."""
    model, markers = recorded()
    markers = markers.select(["lower0", "lower1", "lower2"])
    assert inverse_kinematics(model, markers).undetermined() == ()
    free = inverse_kinematics(replace(model, constraints=()), markers).undetermined()
    assert set(free) == {"protraction_dot", "elevation_dot"}


def test_markers_are_placed_and_sizes_found_on_the_constraints():
    model, markers = recorded(0.002)
    _, pose = place_markers(model, markers.between(0.0, 0.05))
    assert violation(model, pose) < 1e-10
    found = estimate_scale(model, markers, {"lower": {"lower": "XYZ"}}, prior=ScalePrior(0.002, offset_deviation=0.001))
    assert found.converged
    assert violation(found.model, found.motion) < 1e-10
    assert abs(found.factors["lower"] - 1) < 0.1
    exact = estimate_scale(model, recorded(0.0)[1], {"lower": {"lower": "XYZ"}}, prior=ScalePrior(1e-5))
    assert abs(exact.factors["lower"] - 1) < 1e-4
    assert violation(exact.model, exact.motion) < 1e-10


# ---- files, and OpenSim ---------------------------------------------------------------------------------------------

SETUP = """<OpenSimDocument Version="40000"><InverseKinematicsTool name="meet">
<model_file>girdle.osim</model_file><marker_file>seen.trc</marker_file><time_range>0 1</time_range>
<constraint_weight>{weight}</constraint_weight><IKTaskSet><objects>{tasks}</objects></IKTaskSet>
<output_motion_file>ik.mot</output_motion_file><report_errors>false</report_errors>
</InverseKinematicsTool></OpenSimDocument>"""

SOLVER = """
path, trc, weight = arguments
model = opensim.Model(path)
state = model.initSystem()
markers = opensim.MarkersReference(trc, opensim.SetMarkerWeights())
solver = opensim.InverseKinematicsSolver(model, markers, opensim.SimTKArrayCoordinateReference(), float(weight))
solver.setAccuracy(1e-9)
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getCoordinateSet().getSize())]
rows = []
for k in range(markers.getMarkerTable().getNumRows()):
    state.setTime(float(markers.getMarkerTable().getIndependentColumn()[k]))
    solver.assemble(state) if k == 0 else solver.track(state)
    rows.append([c.getValue(state) for c in coordinates])
answer = [[c.getName() for c in coordinates], rows]
"""


@pytest.fixture
def folder(tmp_path):
    """Of the girdle, as files."""
    model, markers = recorded()
    model.save(tmp_path / "girdle.osim")
    markers.save(tmp_path / "seen.trc")
    return tmp_path


def test_constraints_hold_in_files_of_the_command_line_and_of_a_setup(folder):
    model, markers = load_model(folder / "girdle.osim"), load_markers(folder / "seen.trc")
    arguments = ["ik", str(folder / "girdle.osim"), str(folder / "seen.trc"), str(folder / "soft.mot")]
    main([*arguments, "--constraint-weight", "1"])
    fit = inverse_kinematics(model, markers, constraint_weight=1.0)
    np.testing.assert_allclose(load_motion(folder / "soft.mot", model).q, fit.q, atol=1e-8)
    tasks = "".join(f'<IKMarkerTask name="{name}"><weight>2</weight></IKMarkerTask>' for name in markers.names)
    for weight, expected in (("Infinity", np.inf), ("3", 3.0 * 2 * len(markers.names))):
        (folder / "ik.xml").write_text(SETUP.format(weight=weight, tasks=tasks))
        run_setup(folder / "ik.xml")
        weights = dict.fromkeys(markers.names, 2.0)
        fit = inverse_kinematics(model, markers, weights, constraint_weight=expected)
        np.testing.assert_allclose(load_motion(folder / "ik.mot", model).q, fit.q, atol=1e-8)
    (folder / "ik.xml").write_text(SETUP.format(weight="-1", tasks=tasks))
    with pytest.raises(ModelError, match="constraint_weight"):
        run_setup(folder / "ik.xml")


@pytest.mark.peers
@pytest.mark.parametrize("weight", ["inf", "20"])
def test_opensim_finds_the_same_poses(folder, in_opensim, weight):
    """Its solver at an accuracy of 1e-9: angles within 0.01 degrees, our cost never above its own."""
    model, markers = load_model(folder / "girdle.osim"), load_markers(folder / "seen.trc")
    names, rows = in_opensim(SOLVER, str(folder / "girdle.osim"), str(folder / "seen.trc"), weight)
    theirs = np.zeros((len(rows), model.system.nq))
    theirs[:, [model.system.coordinate_names.index(name) for name in names]] = rows
    fit = inverse_kinematics(model, markers, constraint_weight=float(weight) * len(markers.names))
    whole = cost(model, markers, theirs)
    if weight != "inf":
        whole += float(weight) * len(markers.names) * (meeting(model, theirs) ** 2).sum(axis=-1)
    assert (fit.cost <= whole * (1 + 1e-8)).all()
    turns = [k for k, name in enumerate(model.system.coordinate_names) if name not in "xyz"]
    assert np.degrees(np.abs(fit.q - theirs)[:, turns]).max() < 0.01
