"""Scaling: OpenSim's own on the same model, what a uniform stretch does, and measurements that are recovered."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from myoquat.analysis.motion import Measurement, place_markers, scale_factors, scale_model
from myoquat.data import load_model
from myoquat.joints.multibody.body import Shape
from myoquat.joints.multibody.scaling import scaled_inertia
from myoquat.muscle import Muscle, PathPoint, path_lengths
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.laws.thelen import Thelen2003
from tests.analysis.motion.conftest import shown

SMALL_LEG = Path(__file__).parents[3] / "data" / "small_leg.osim"

SCALE = """
source, target, keep = arguments
model = opensim.Model(source)
state = model.initSystem()
factors = opensim.ScaleSet()
for i, name in enumerate(sorted([b.getName() for b in model.getBodySet()] + ['ground'])):
    s = opensim.Scale(); s.setSegmentName(name); s.setApply(True)
    s.setScaleFactors(opensim.Vec3(*[0.8 + 0.05 * ((7 * i + 3 * k) % 11) for k in range(3)]))
    factors.cloneAndAppend(s)
model.scale(state, factors, keep == 'yes', 60.0)
model.finalizeConnections()
model.printToXML(target)
answer = True
"""


def factors_of(model) -> dict[str, np.ndarray]:
    names = sorted({n for n in model.system.body_names if not n.endswith("_frame")} | {"ground"})
    return {n: np.array([0.8 + 0.05 * ((7 * i + 3 * k) % 11) for k in range(3)]) for i, n in enumerate(names)}


@pytest.mark.peers
@pytest.mark.parametrize("keep", [False, True])
def test_equal_to_opensim(keep, tmp_path, in_opensim, rng):
    """The reference is its Model::scale, with other factors along every axis of every body. Positions, masses,
    inertias, laws, surfaces and markers agree within 1e-6, as do path lengths in other poses."""
    in_opensim(SCALE, str(SMALL_LEG), str(tmp_path / "scaled.osim"), "yes" if keep else "no")
    theirs = load_model(tmp_path / "scaled.osim")
    generic = load_model(SMALL_LEG)
    ours = scale_model(generic, factors=factors_of(generic), mass=60.0, keep_masses=keep)
    for a, b in zip(ours.system.bodies, theirs.system.bodies, strict=True):
        for name in ("position", "orientation", "mass", "center_of_mass", "inertia"):
            assert np.allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-12), (a.name, name)
    assert np.allclose([m.position for m in ours.markers], [m.position for m in theirs.markers], atol=1e-12)
    for a, b in zip(ours.muscles, theirs.muscles, strict=True):
        assert [w.sizes() for w in a.path.wraps] == [pytest.approx(w.sizes(), rel=1e-9) for w in b.path.wraps]
        assert np.allclose([p.position for p in a.path.points], [p.position for p in b.path.points], atol=1e-12)
        for name in ("optimal_fiber_length", "tendon_slack_length", "resting_length"):
            if hasattr(a.law, name):
                assert getattr(a.law, name) == pytest.approx(getattr(b.law, name), rel=1e-6), (a.name, name)
    q = generic.start + rng.uniform(-0.2, 0.2, (20, generic.system.nq))
    assert np.allclose(path_lengths(ours, q), path_lengths(theirs, q), atol=1e-9)


def test_a_uniform_stretch(leg):
    """Lengths by k, masses by k^3, inertias by k^5, however the joints are described."""
    path = (PathPoint("pelvis", (0.0, 0.1, 0.05)), PathPoint("foot", (0.02, 0.0, 0.0)))
    law = Thelen2003(1000.0, 0.3, 0.5, 0.2)
    model = replace(leg, muscles=(Muscle("long", path, law),))
    for described in (model, model.with_rotations("quaternion")):
        big = scale_model(described, factors=dict.fromkeys(("ground", *described.system.body_names), 1.2))
        for a, b in zip(described.system.bodies, big.system.bodies, strict=True):
            assert b.mass == pytest.approx(1.2**3 * a.mass)
            assert np.allclose(b.inertia, 1.2**5 * np.array(a.inertia))
        assert np.allclose(path_lengths(big, described.start), 1.2 * path_lengths(described, described.start))
        assert big.muscles[0].law.optimal_fiber_length == pytest.approx(0.36)
        assert big.muscles[0].law.max_isometric_force == 1000.0
    assert sum(b.mass for b in scale_model(leg, mass=50.0).system.bodies) == pytest.approx(50.0)


def test_a_stretched_cylinder_has_its_own_inertia():
    """A solid cylinder along z, r = 2, l = 5, m = 3, stretched by 1.5 across and 0.8 along is one of r = 3, l = 4."""

    def solid(m, r, length):
        across = m * (length**2 / 12 + r**2 / 4)
        return np.array([across, across, m * r**2 / 2, 0.0, 0.0, 0.0])

    m = 3 * 1.5**2 * 0.8
    assert np.allclose(scaled_inertia(solid(3, 2, 9), 3, m, np.array([1.5, 1.5, 0.8])), solid(m, 3, 7.2))
    assert not scaled_inertia(np.ones(6), 0.0, 0.0, np.ones(3)).any()


def measured(model, *bodies):
    """A measurement of every body by its first two markers."""
    pairs = {b: [m.name for m in model.markers if m.body == b][:2] for b in bodies}
    return [Measurement(b, (tuple(pair),), {b: "XYZ"}) for b, pair in pairs.items()]


def test_measurements_recover_the_factors(ball_leg, rng):
    """Markers of a person who is a stretched model, in any pose: the same model again."""
    known = {"thigh": 1.1, "shank": 0.93, "pelvis": 1.04, "foot": 1.07, "toe": 1.0, "patella": 1.2}
    person = scale_model(ball_leg, factors=known)
    trial = shown(person, [person.system.random(1, rng)[0]] * 2)
    measurements = measured(ball_leg, *known)
    found = scale_factors(ball_leg, trial, measurements)
    assert all(np.allclose(found[name], s, atol=1e-12) for name, s in known.items())
    again = scale_model(ball_leg, trial, measurements)
    for a, b in zip(again.system.bodies, person.system.bodies, strict=True):
        assert np.allclose(a.position, b.position)
        assert np.allclose(a.inertia, b.inertia)
    by_hand = scale_factors(ball_leg, trial, measurements, factors={"thigh": (1, 2, 3)})
    assert by_hand["thigh"].tolist() == [1, 2, 3]
    other = scale_factors(ball_leg, trial, measurements, factors={"thigh": 2}, order=("factors", "measurements"))
    assert np.allclose(other["thigh"], 1.1)


def test_markers_are_placed_where_they_were(ball_leg, rng):
    """Moved markers go to where they were seen; fixed ones, and the pose that they tell, stay."""
    shift = {m.name: rng.normal(size=3) * 0.005 for m in ball_leg.markers}
    moved = [replace(m, position=tuple(np.array(m.position) + shift[m.name])) for m in ball_leg.markers]
    person = replace(ball_leg, markers=tuple(moved))
    trial = shown(person, [person.start] * 2)
    model = replace(ball_leg, markers=tuple(replace(m, fixed=m.body == "toe") for m in ball_leg.markers))
    placed, fit = place_markers(model, trial)
    assert np.isfinite(fit.marker_rms[0])
    error = np.linalg.norm(shown(placed, [fit.q[0]] * 2).positions[0] - trial.positions[0], axis=-1)
    loose = np.array([not m.fixed for m in model.markers])
    assert error[loose].max() < 1e-12
    assert [m for m in placed.markers if m.fixed] == [m for m in model.markers if m.fixed]
    part = trial.select(trial.names[:8])
    assert place_markers(model, part)[0].markers[8:] == model.markers[8:]


def test_slides_and_shapes(leg):
    """A coupled slide grows with the body that it starts from, and cannot where that is stretched unevenly."""
    bodies = tuple(replace(b, joint_name="") for b in leg.system.bodies)
    box = Shape("box", (1.0, 2.0, 3.0), (0.1, 0.0, 0.0))
    system = replace(leg.system, bodies=(*bodies[:-1], replace(bodies[-1], shapes=(box,))))
    model = replace(leg, system=system, couplers=(Coupler("c", "tx", "ty", leg.couplers[0].function, 2.0),))
    assert scale_model(model, factors={"ground": 1.5}).couplers[0].scale == 3.0
    with pytest.raises(ValueError, match="'tx', which starts from the body 'ground': its factors must be equal"):
        scale_model(model, factors={"ground": (1, 2, 1)})
    assert scale_model(model, factors={"toe": (2, 1, 0.5)}).system.bodies[-1].shapes[0].sizes == (2.0, 2.0, 1.5)


def test_bad_input(leg):
    trial = shown(leg, [leg.start] * 2)
    one = measured(leg, "thigh")
    unseen = replace(trial, positions=np.full(trial.positions.shape, np.nan))
    for call, words in (
        (lambda: scale_model(leg, factors={"thih": 1.0}), "no body 'thih'; nearest: thigh"),
        (lambda: scale_model(leg, factors={"thigh": -1.0}), "must be one positive number or three"),
        (lambda: scale_model(leg, mass=0.0), "mass must be positive"),
        (lambda: scale_model(leg, measurements=one), "needs a static trial"),
        (lambda: scale_model(leg, unseen, one), "never seen together"),
        (lambda: scale_model(leg, trial, [Measurement("m", (("absent", "thigh0"),), {})]), "no marker 'absent'"),
        (lambda: Measurement("m", (("a", "b"),), {"thigh": "XW"}), "are of X, Y, Z"),
        (lambda: Measurement("m", ()), "no pair"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
