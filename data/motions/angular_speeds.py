"""Speeds in states files of OpenSim that are an angular velocity, and not rates of angles.

Its BallJoint, FreeJoint, EllipsoidJoint and ScapulothoracicJoint turn by angles x, y and z about axes of these names,
one after the other, R = Rx(x) Ry(y) Rz(z). Their first three speeds are the components of the angular velocity omega in
the frame on the parent: omega = E (xdot, ydot, zdot).
"""

import numpy as np

from myoquat.core import Array
from myoquat.joints.evaluation import SystemLike
from myoquat.joints.multibody import state
from myoquat.joints.vectors import matrix, matvec
from myoquat.muscle.model import Model


def axes_of_angles(x: Array, y: Array) -> Array:
    """(..., 3, 3) E, on floats and symbols."""
    one, zero = 1.0 + 0.0 * x, 0.0 * x
    return matrix([[one, zero, np.sin(y)], [zero, np.cos(x), -np.sin(x) * np.cos(y)],
                   [zero, np.sin(x), np.cos(x) * np.cos(y)]])  # fmt: skip


def rates_of_angles(x: Array, y: Array, omega: Array) -> Array:
    """(..., 3) E^-1 omega; not finite in gimbal lock, at cos y = 0."""
    w1, w2, w3 = np.moveaxis(omega, -1, 0)
    zdot = (np.cos(x) * w3 - np.sin(x) * w2) / np.cos(y)
    return np.stack([w1 - np.sin(y) * zdot, np.cos(x) * w2 + np.sin(x) * w3, zdot], axis=-1)


def angular_triples(model: SystemLike) -> list[tuple[str, ...]]:
    """The names of x, y and z of each of these joints (`Coordinate.angular`); none of a system alone."""
    names = (c.name for c in (model.coordinates if isinstance(model, Model) else ()) if c.angular)
    return list(zip(names, names, names, strict=True))


def angular_velocities(model: Model, q: Array, u: Array) -> Array:
    """(..., nu) u of a model whose velocities are rates of coordinates, with angular velocities for these joints."""
    found, index = u.copy(), {name: k for k, name in enumerate(model.system.coordinate_names)}
    for names in angular_triples(model):
        at = [index[name] for name in names]
        found[..., at] = matvec(axes_of_angles(q[..., at[0]], q[..., at[1]]), u[..., at])
    return found


def angular_accelerations(model: Model, q: Array, u: Array, udot: Array) -> Array:
    """(..., nu) the rates of `angular_velocities`, E udot + Edot u."""
    return state.rate_along(lambda s: angular_velocities(model, q + s * u, u + s * udot), q)
