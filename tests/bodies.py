"""Bodies of small models on joints or afloat, motions without speed, and changes of all muscles."""

from dataclasses import replace

import numpy as np

from myoquat.data import Forces, Motion
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import FloatingJoint, PrismaticJoint, RevoluteJoint, SphericalJoint

ORIGIN = (0.0, 0.0, 0.0)
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0), "-z": (0.0, 0.0, -1.0)}


def on_joint(name, joint, coordinate=None, parent="ground", position=ORIGIN, *, mass=1.0, inertia=0.0, **more):
    """A body of 1 kg, whose coordinate may have a name. Its inertia is one moment, three, or all six numbers."""
    moments = (*inertia, *ORIGIN)[:6] if isinstance(inertia, tuple) else (inertia,) * 3 + ORIGIN
    names = None if coordinate is None else (coordinate,)
    return Body(name, parent, joint, position, mass=mass, inertia=moments, coordinate_names=names, **more)


def on_hinge(name, axis="z", *placed, **more):
    return on_joint(name, RevoluteJoint(AXES.get(axis, axis)), *placed, **more)


def on_slide(name, axis="x", *placed, **more):
    return on_joint(name, PrismaticJoint(AXES.get(axis, axis)), *placed, **more)


def on_ball(name, **more):
    return on_joint(name, SphericalJoint(), **more)


def afloat(name, **more):
    return on_joint(name, FloatingJoint(), **more)


def limbs(mass=1.0, **coordinates):
    """Bones on hinges about z, of which each hangs 0.4 m below the one before: names of bones and coordinates."""
    bone = {"mass": mass, "center_of_mass": (0.0, -0.2, 0.0), "inertia": 0.01 * mass}
    above = zip(coordinates.items(), ("ground", *coordinates), (0.0, *(-0.4,) * len(coordinates)), strict=False)
    bodies = (on_hinge(name, "z", angle, parent, (0.0, y, 0.0), **bone) for (name, angle), parent, y in above)
    return ArticulatedSystem(tuple(bodies), gravity=(0.0, -9.81, 0.0))


def pushing(body, time, force, point=ORIGIN, frames=("ground", "ground")):
    """A load "push" with forces (3,) or (t, 3) at points, in the axes of one frame and about the origin of another."""
    force, point = (np.broadcast_to(np.asarray(x, dtype=float), (len(time), 3))[:, None] for x in (force, point))
    return Forces(time, ("push",), (body,), force, point, 0 * force, frames[:1], frames[1:])


def at_rest(model, time=(0.0, 0.1), poses=None):
    """A motion without speed in poses, or one of all times, the neutral one if none is given."""
    system = getattr(model, "system", model)
    still = np.zeros((len(time), system.nu))
    return Motion(system, time, system.integrate(system.neutral() if poses is None else poses, still), still, still)


def with_muscles(model, **changes):
    """The model whose muscles have other fields: one value for all, or a function of the muscle."""
    muscles = [replace(m, **{k: v(m) if callable(v) else v for k, v in changes.items()}) for m in model.muscles]
    return replace(model, muscles=tuple(muscles))
