"""A leg with a free pelvis for recorded motions: hips of three turns, a knee that drives a patella, an ankle."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from myoquat.analysis.motion import landmarks
from myoquat.data import Markers, Motion, Orientations
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.functions import SimmSpline
from myoquat.joints.quaternion import quaternion_exp, quaternion_from_matrix, quaternion_multiply, rotation_matrix
from myoquat.joints.types import Axis, CustomJoint, RevoluteJoint
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coordinate, Coupler, Marker, follow

X, Y, Z = np.eye(3).tolist()


def turns(names, slides=()):
    """Three turns about z, x and y, then slides along x, y and z, as OpenSim's pelvis and hip have them."""
    rotations = tuple(Axis(tuple(a), i) for i, a in enumerate((Z, X, Y)))
    translations = tuple(Axis(tuple(a), i + 3) for i, a in enumerate((X, Y, Z)[: len(slides)]))
    return CustomJoint((*names, *slides), rotations, translations, ("rad",) * 3 + ("m",) * len(slides))


def body(name, parent, joint, **more):
    names = joint.coordinates if isinstance(joint, CustomJoint) else (f"{name}_angle",)
    inertia = (0.02, 0.03, 0.04, 0.001, 0.0, 0.002)
    return Body(name, parent, joint, mass=2.0, center_of_mass=(0.01, -0.1, 0.02), inertia=inertia,
                coordinate_names=names, **more)  # fmt: skip


@pytest.fixture(scope="session")
def leg() -> Model:
    """The leg in the angles of a file. 23 markers; knee and patella are coupled, the toe is locked."""
    pelvis = turns(("tilt", "list", "spin"), ("tx", "ty", "tz"))
    # fmt: off
    bodies = (
        body("pelvis", "ground", pelvis),
        body("thigh", "pelvis", turns(("flexion", "adduction", "rotation")), position=(0.0, -0.1, 0.1)),
        body("shank", "thigh", RevoluteJoint(), position=(0.0, -0.4, 0.0)),
        body("patella", "thigh", RevoluteJoint(), position=(0.05, -0.38, 0.0)),
        body("foot", "shank", RevoluteJoint((0.1, 0.0, 0.9949874371066199)), position=(0.0, -0.4, 0.0)),
        body("toe", "foot", RevoluteJoint(), position=(0.15, -0.05, 0.0)),
    )
    # fmt: on
    system = ArticulatedSystem(bodies, gravity=(0.0, -9.81, 0.0), name="leg")
    rng = np.random.default_rng(5)
    counts = {"pelvis": 5, "thigh": 4, "shank": 4, "patella": 3, "foot": 4, "toe": 3}
    markers = [
        Marker(f"{name}{k}", name, tuple(rng.uniform(-0.15, 0.15, 3))) for name, n in counts.items() for k in range(n)
    ]
    spline = SimmSpline((-2.0, -1.0, 0.0, 1.0), (-1.2, -0.5, 0.0, 0.2))
    return Model(
        system,
        name="leg",
        coordinates=(
            Coordinate("shank_angle", (-2.0, 0.1), clamped=True),
            Coordinate("toe_angle", (-1.0, 1.0), locked=True),
        ),
        couplers=(Coupler("knee", "patella_angle", "shank_angle", spline, 0.7),),
        markers=tuple(markers),
        start_q=tuple(np.where(np.array(system.coordinate_names) == "toe_angle", 0.2, 0.0)),
    )


@pytest.fixture(scope="session")
def ball_leg(leg) -> Model:
    """The same with quaternions at pelvis and hip."""
    return leg.with_rotations("quaternion")


@pytest.fixture(params=["leg", "ball_leg"])
def model(request) -> Model:
    """The leg in angles, and with quaternions."""
    return request.getfixturevalue(request.param)


def wandering(model: Model, rng: Any, frames: int = 200, speed: float = 3.0) -> Motion:
    """Quaternions wander over the whole sphere, hinges within their ranges, couplers followed, at 100 Hz."""
    system, time = model.system, np.arange(frames) / 100
    names, u_names = system.coordinate_names, system.velocity_names
    q = np.tile(model.start, (frames, 1))
    phases, waves = rng.uniform(0, 6, (3, system.nu)), rng.normal(size=(3, system.nu)) * speed
    for k in range(1, frames):
        u = sum(waves[i] * np.sin((i + 1) * 2 * time[k] + phases[i]) for i in range(3))
        u[[i for i, n in enumerate(u_names) if "toe" in n]] = 0.0
        q[k] = system.integrate(q[k - 1], u / 100)
    q[:, names.index("shank_angle")] = -1 + 0.9 * np.sin(7 * time)
    follow(model.couplers, system, q)
    return Motion(system, time, q)


def edited(path, *pairs):
    """The path of a file in which texts are replaced: old and new ones by turns."""
    text = path.read_text()
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def shown(model: Model, motion: Any, noise: float = 0.0, rng: Any = None) -> Markers:
    """The markers of a model along a motion, or at poses q (t, nq), 60 of them per second, with errors."""
    motion = motion if isinstance(motion, Motion) else Motion(model.system, np.arange(len(motion)) / 60, motion)
    found = landmarks(model, motion, [marker.name for marker in model.markers])
    rng = np.random.default_rng(1) if rng is None else rng
    return replace(found, positions=found.positions + noise * rng.normal(size=found.positions.shape))


def felt(model: Model, motion: Motion, sensors: Any, noise: float = 0.0) -> Orientations:
    """What sensors on bodies say, with errors of a standard deviation [rad] about each axis."""
    poses, rng, rows = model.system.poses(motion.q), np.random.default_rng(2), []
    for sensor in sensors:
        R = poses[sensor.body][0] @ rotation_matrix(np.array(sensor.orientation))
        turns = quaternion_exp(noise * rng.normal(size=(len(motion.time), 3)))
        rows.append(quaternion_multiply(quaternion_from_matrix(R), turns))
    return Orientations(motion.time, tuple(sensor.name for sensor in sensors), np.stack(rows, axis=1))
