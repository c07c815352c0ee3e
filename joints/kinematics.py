"""Kinematics of a model's frames, points and mass, on batches through compiled kernels.

The model is a Model or an ArticulatedSystem; arrays have leading batch axes that broadcast and are checked once.
`frame` is a body or the ground, by name or index; `point` (..., 3) [m], in the frame's axes, its origin if left out.
`axes` is "world" or "local", the components in which vectors are given: the frame's own. Six-vectors are (linear,
angular). `backend="numpy"` evaluates the same formula in NumPy. All raise ValueError for arrays that do not fit,
KeyError, IndexError or TypeError for a frame that does not exist or an index of another kind.
"""

from typing import Any

import numpy as np

from myoquat.joints import centroidal, frames
from myoquat.joints._layout import joined
from myoquat.joints.door import Call
from myoquat.joints.vectors import turn_back

__all__ = [
    "angular_momentum",
    "center_of_mass",
    "center_of_mass_jacobian",
    "frame_acceleration",
    "frame_jacobian",
    "frame_jacobian_rate",
    "frame_pose",
    "frame_velocity",
    "momentum",
    "point_position",
]

ORIGIN = (0.0, 0.0, 0.0)
AXES = ("world", "local")


def frame_pose(model: Any, q: Any, frame: str | int, *, backend: str = "kernel") -> tuple[Any, Any]:
    """(R (..., 3, 3), p (..., 3) [m]): R takes the frame's components to the world's, p is its origin."""
    call = Call(model).q(q)
    name = call.frame(frame)

    def formula(q: Any) -> Any:
        R, p = frames.pose(call.system, q, name, np.zeros(3))
        batch = np.broadcast_shapes(R.shape[:-2], p.shape[:-1])
        parts = [np.broadcast_to(x, (*batch, 3, x.shape[-1]), subok=True) for x in (R, p[..., None])]
        return np.concatenate(parts, axis=-1)

    both = call.run("frame_pose", formula, 2, variant=name, backend=backend)
    columns = np.moveaxis(both, -1, 0)  # CasADi's arrays are indexed on their first axis only
    return np.moveaxis(columns[:3], 0, -1), columns[3]


def point_position(model: Any, q: Any, frame: str | int, point: Any = ORIGIN, *, backend: str = "kernel") -> Any:
    """(..., 3) where a point of a frame is in the world [m]."""
    call = Call(model).q(q).vector("point", point)
    name = call.frame(frame)
    return call.run(
        "point_position",
        lambda q, point: frames.pose(call.system, q, name, point)[1],
        1,
        variant=name,
        backend=backend,
    )


def frame_jacobian(
    model: Any, q: Any, frame: str | int, point: Any = ORIGIN, *, axes: str = "world", backend: str = "kernel"
) -> Any:
    """(..., 6, nu) J with J u = (velocity of the point [m/s], angular velocity of the frame [rad/s])."""
    call = Call(model).q(q).vector("point", point)
    name = call.frame(frame)

    def formula(q: Any, point: Any) -> Any:
        J = frames.jacobian(call.system, q, name, point)
        return J if axes == "world" else frames.local(frames.pose(call.system, q, name, point)[0], J)

    return call.run("frame_jacobian", formula, 2, variant=(name, _checked(axes)), backend=backend)


def frame_jacobian_rate(
    model: Any, q: Any, u: Any, frame: str | int, point: Any = ORIGIN, *, axes: str = "world", backend: str = "kernel"
) -> Any:
    """(..., 6, nu) dJ/dt along u, of the components in `axes`. In world axes J udot + Jdot u is the acceleration; in
    local axes it is the rate of the local components, which lacks omega x v."""
    call = Call(model).q(q).u(u).vector("point", point)
    name = call.frame(frame)

    def formula(q: Any, u: Any, point: Any) -> Any:
        rate = frames.jacobian_rate(call.system, q, u, name, point)
        if axes == "world":
            return rate
        J = frames.jacobian(call.system, q, name, point)
        omega = np.sum(J[..., 3:, :] * u[..., None, :], axis=-1)
        return frames.local_rate(frames.pose(call.system, q, name, point)[0], omega, J, rate)

    return call.run("frame_jacobian_rate", formula, 2, variant=(name, _checked(axes)), backend=backend)


def frame_velocity(
    model: Any, q: Any, u: Any, frame: str | int, point: Any = ORIGIN, *, axes: str = "world", backend: str = "kernel"
) -> Any:
    """(..., 6) velocity of the point [m/s] and angular velocity of the frame [rad/s]."""
    call = Call(model).q(q).u(u).vector("point", point)
    name = call.frame(frame)

    def formula(q: Any, u: Any, point: Any) -> Any:
        v = np.sum(frames.jacobian(call.system, q, name, point) * u[..., None, :], axis=-1)
        return v if axes == "world" else _local(frames.pose(call.system, q, name, point)[0], v)

    return call.run("frame_velocity", formula, 1, variant=(name, _checked(axes)), backend=backend)


def frame_acceleration(
    model: Any,
    q: Any,
    u: Any,
    udot: Any,
    frame: str | int,
    point: Any = ORIGIN,
    *,
    axes: str = "world",
    backend: str = "kernel",
) -> Any:
    """(..., 6) acceleration of the point [m/s^2] and angular acceleration of the frame [rad/s^2], without gravity."""
    call = Call(model).q(q).u(u).velocities("udot", udot).vector("point", point)
    name = call.frame(frame)

    def formula(q: Any, u: Any, udot: Any, point: Any) -> Any:
        a = frames.acceleration(call.system, q, u, udot, name, point)
        return a if axes == "world" else _local(frames.pose(call.system, q, name, point)[0], a)

    return call.run("frame_acceleration", formula, 1, variant=(name, _checked(axes)), backend=backend)


def center_of_mass(model: Any, q: Any, *, backend: str = "kernel") -> Any:
    """(..., 3) centre of mass of all moving bodies [m]; ModelError if they have no mass."""
    call = Call(model).q(q)
    call.need_mass(centroidal.total_mass(call.system))
    return call.run("center_of_mass", lambda q: centroidal.center(call.system, q), 1, backend=backend)


def center_of_mass_jacobian(model: Any, q: Any, *, backend: str = "kernel") -> Any:
    """(..., 3, nu) J with J u the velocity of the centre of mass [m/s]; ModelError if there is no mass."""
    call = Call(model).q(q)
    call.need_mass(centroidal.total_mass(call.system))
    return call.run("center_of_mass_jacobian", lambda q: centroidal.center_jacobian(call.system, q), 2, backend=backend)


def momentum(model: Any, q: Any, u: Any, about: Any = None, *, backend: str = "kernel") -> Any:
    """(..., 6) linear momentum [kg m/s] and angular momentum [kg m^2/s] about the world point `about` (..., 3), the
    centre of mass if left out."""
    call = Call(model).q(q).u(u)
    if about is None:
        call.need_mass(centroidal.total_mass(call.system))
        return call.run(
            "momentum",
            lambda q, u: centroidal.momentum(call.system, q, u, centroidal.center(call.system, q)),
            1,
            backend=backend,
        )
    call.vector("about", about)
    return call.run("momentum", lambda q, u, about: centroidal.momentum(call.system, q, u, about), 1, backend=backend)


def angular_momentum(model: Any, q: Any, u: Any, about: Any = None, *, backend: str = "kernel") -> Any:
    """(..., 3) the angular part of `momentum`."""
    components = np.moveaxis(momentum(model, q, u, about, backend=backend), -1, 0)
    return np.moveaxis(components[3:], 0, -1)


def _checked(axes: str) -> str:
    if axes not in AXES:
        raise ValueError(f"axes is one of {', '.join(AXES)}, not {axes!r}")
    return axes


def _local(R: Any, vectors: Any) -> Any:
    return joined([turn_back(R, vectors[..., :3]), turn_back(R, vectors[..., 3:])])
