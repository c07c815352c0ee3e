"""The model and the speeds of the published solutions, on small models."""

import numpy as np

from myoquat.data import Motion
from myoquat.joints import ArticulatedSystem, Body, EllipsoidJoint, Shape
from myoquat.joints.constraints import PointLoop
from myoquat.joints.types import EulerJoint, RevoluteJoint
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coordinate, Marker
from validation.as_solved import HAND_MASS, MOVED, UNSCALED, changes, prepared
from validation.solver_steps import as_set, central_rates, filtered

TIME = np.linspace(0.0, 1.0, 1001)


def test_set_speeds_are_angular_velocities_along_the_axes_of_the_ellipsoid():
    """With w and its rate by differences of rotation matrices, the angles' own rates come back."""
    joint = EllipsoidJoint((0.1, 0.2, 0.15))
    model = Model(ArticulatedSystem((Body("hip", "ground", RevoluteJoint(), coordinate_names=("h",)),
                                     Body("blade", "hip", joint, coordinate_names=("a", "b", "c")))))  # fmt: skip
    phase = np.outer(TIME, [1.0, 2.0, 1.5, 0.7]) + np.array([0.1, 0.4, -0.3, 0.2])
    q, own, second = 0.5 * np.sin(phase), 0.5 * np.cos(phase), -0.5 * np.sin(phase)
    own, second = own * [1.0, 2.0, 1.5, 0.7], second * np.square([1.0, 2.0, 1.5, 0.7])
    R, _ = joint.transform(q[:, 1:])
    turning = np.gradient(R, TIME, axis=0, edge_order=2) @ np.swapaxes(R, -1, -2)
    w = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=-1)
    u = np.column_stack([own[:, 0], w])
    udot = np.column_stack([second[:, 0], np.gradient(w, TIME, axis=0, edge_order=2)])
    found = as_set(model, Motion(model.system, TIME, q, u, udot))
    assert found.u is not None
    assert found.udot is not None
    np.testing.assert_allclose(found.u[2:-2], own[2:-2], atol=1e-5)
    np.testing.assert_allclose(found.udot[2:-2], second[2:-2], atol=1e-4)


def test_filter_halves_its_cutoff_and_keeps_slow_motion():
    """Both passes of the filter together halve the amplitude at the cutoff; far below it nothing changes."""
    model = Model(ArticulatedSystem((Body("arm", "ground", RevoluteJoint(), coordinate_names=("e",)),)))
    time = 0.01 * np.arange(2001)
    for frequency, left in ((3.0, 0.5), (0.3, 1.0)):
        motion = Motion(model.system, time, np.sin(2 * np.pi * frequency * time)[:, None])
        assert abs(np.ptp(filtered(motion, 3.0)[500:1500]) / 2 - left) < 1e-3
    found = central_rates(motion)
    np.testing.assert_allclose(found.u[100], 0.6 * np.pi * np.cos(0.6 * np.pi * time[100]), atol=1e-3)


def test_model_of_the_solutions_differs_from_its_file_as_the_study_says():
    """Mass of the hand, points stretched like the meshes, a marker, and locked coordinates; a second time nothing."""
    bones = {name: (Shape("mesh", factors, file=f"{name}.vtp"),)
             for name, factors in (("clavicle", (1.1, 1.2, 1.3)), ("scapula", (2.0, 2.0, 2.0)))}  # fmt: skip
    free = [Body(name, "ground", EulerJoint("XYZ"), coordinate_names=tuple(f"{name}_{k}" for k in "123"), shapes=shown)
            for name, shown in bones.items()]  # fmt: skip
    bodies = (*free, Body("hand", "scapula", RevoluteJoint(), mass=2.0, coordinate_names=("flexion",)))  # fmt: skip
    loop = PointLoop("clavicle", "scapula", UNSCALED["clavicle"], UNSCALED["scapula"], name="AC")
    markers = (Marker("T8", "clavicle", MOVED["T8"][0]), Marker("hand", "hand", (0.0, 0.1, 0.0)))
    coordinates = (Coordinate("flexion"),)
    model = Model(ArticulatedSystem(bodies), markers=markers, constraints=(loop,), coordinates=coordinates)
    q = 0.1 * np.random.default_rng(1).normal(size=(20, model.system.nq))
    q[:, -1] = 0.3
    angles = Motion(model.system, 0.1 * np.arange(20), q)
    found = prepared(model, angles)
    said = changes(model, found)
    assert found.system.bodies[2].mass == HAND_MASS
    np.testing.assert_allclose(found.constraints[0].first_point, np.multiply(UNSCALED["clavicle"], (1.1, 1.2, 1.3)))
    np.testing.assert_allclose(found.constraints[0].second_point, np.multiply(UNSCALED["scapula"], 2.0))
    assert [c.name for c in found.coordinates if c.locked] == ["flexion"]
    assert found.start[-1] == 0.3
    assert [words.split()[0] for words in said] == ["mass", "points", "marker", "flexion"]
    assert changes(found, prepared(found, angles)) == []
    assert said[2] == "marker T8 moved by 39 mm"
