"""Kinematics of a model's frames, points and mass, on batches through compiled kernels.

The model is a Model or an ArticulatedSystem. Arrays have leading batch axes that broadcast, and are checked once.

frame    a body or the ground, by name or index
point    (..., 3) [m] in the frame's axes; its origin if left out
axes     the components of the vectors: "world", or "local" for the frame's own axes
backend  "numpy" evaluates the same formula in NumPy

Six-vectors are (linear, angular). All functions raise ValueError for arrays of a wrong shape, KeyError for an unknown
frame name, and IndexError for a frame number out of range. They raise TypeError for an index of another type.
"""

from collections.abc import Callable

import numpy as np

from myoquat.core import Array, ArrayLike, Pair
from myoquat.joints import ModelError, frames

from .evaluation import Call, SystemLike
from .vectors import joined_matrices, matvec

ORIGIN = (0.0, 0.0, 0.0)
AXES = ("world", "local")


def frame_pose(model: SystemLike, q: ArrayLike, frame: str | int, *, backend: str = "kernel") -> Pair:
    """(R (..., 3, 3), p (..., 3) [m]): R takes the frame's components to the world's, p is its origin.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> R, p = mq.joints.frame_pose(model, np.array([1.0, 0, 0, 0] * 2), "B")
    >>> p + 0.0  # the lower link hangs 1 m below the ground
    array([ 0.,  0., -1.])
    """
    call = Call(model).q(q)
    name = call.frame(frame)

    def pose(q: Array) -> Pair:
        return frames.pose(call.system, q, name, np.zeros(3))

    def both(q: Array) -> Array:
        R, p = pose(q)
        return joined_matrices([R, p[..., None]])

    if call.symbolic:  # CasADi's arrays of three axes cannot be taken apart
        return call.run("frame_pose", lambda q: pose(q)[0], 2), call.run("frame_pose", lambda q: pose(q)[1], 1)
    result = call.run("frame_pose", both, 2, variant=name, backend=backend)
    return result[..., :3], result[..., 3]


def point_position(
    model: SystemLike, q: ArrayLike, frame: str | int, point: ArrayLike = ORIGIN, *, backend: str = "kernel"
) -> Array:
    """(..., 3) where a point of a frame is in the world [m].

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> mq.joints.point_position(model, np.array([1.0, 0, 0, 0] * 2), "B", (0, 0, -1.0)) + 0.0
    array([ 0.,  0., -2.])
    """
    call = Call(model).q(q).vector("point", point)
    name = call.frame(frame)
    return call.run(
        "point_position", lambda q, point: frames.pose(call.system, q, name, point)[1], 1, variant=name, backend=backend
    )


def frame_jacobian(
    model: SystemLike, q: ArrayLike, frame: str | int, point: ArrayLike = ORIGIN, *, axes: str = "world",
    backend: str = "kernel",
) -> Array:  # fmt: skip
    """(..., 6, nu) J with J u = (velocity of the point [m/s], angular velocity of the frame [rad/s]).

    >>> import myoquat as mq
    >>> rod = mq.ArticulatedSystem((mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0),))
    >>> mq.joints.frame_jacobian(rod, [0.0], "rod", point=[0.5, 0, 0]).ravel() + 0.0
    array([ 0. ,  0. , -0.5,  0. ,  1. ,  0. ])
    """
    call = Call(model).q(q).vector("point", point)
    return _of_point(call, "frame_jacobian", frames.jacobian, frame, axes, 2, backend)


def frame_jacobian_rate(
    model: SystemLike, q: ArrayLike, u: ArrayLike, frame: str | int, point: ArrayLike = ORIGIN, *,
    axes: str = "world", backend: str = "kernel",
) -> Array:  # fmt: skip
    """(..., 6, nu) dJ/dt along u, of the components in `axes`. In world axes J udot + Jdot u is the acceleration. In
    local axes it is the rate of the local components, which lacks omega x v.

    >>> import myoquat as mq
    >>> rod = mq.ArticulatedSystem((mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0),))
    >>> mq.joints.frame_jacobian_rate(rod, [0.0], [3.0], "rod", point=[0.5, 0, 0]).ravel() + 0.0
    array([-1.5,  0. ,  0. ,  0. ,  0. ,  0. ])
    """
    call = Call(model).q(q).u(u).vector("point", point)
    return _of_point(call, "frame_jacobian_rate", frames.jacobian_rate, frame, axes, 2, backend)


def frame_velocity(
    model: SystemLike, q: ArrayLike, u: ArrayLike, frame: str | int, point: ArrayLike = ORIGIN, *,
    axes: str = "world", backend: str = "kernel",
) -> Array:  # fmt: skip
    """(..., 6) velocity of the point [m/s] and angular velocity of the frame [rad/s].

    >>> import myoquat as mq
    >>> rod = mq.ArticulatedSystem((mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0),))
    >>> mq.joints.frame_velocity(rod, [0.0], [3.0], "rod", point=[0.5, 0, 0]) + 0.0
    array([ 0. ,  0. , -1.5,  0. ,  3. ,  0. ])
    """
    call = Call(model).q(q).u(u).vector("point", point)
    formula = lambda system, q, u, *where: matvec(frames.jacobian(system, q, *where), u)  # noqa: E731
    return _of_point(call, "frame_velocity", formula, frame, axes, 1, backend)


def frame_acceleration(
    model: SystemLike, q: ArrayLike, u: ArrayLike, udot: ArrayLike, frame: str | int, point: ArrayLike = ORIGIN, *,
    axes: str = "world", backend: str = "kernel",
) -> Array:  # fmt: skip
    """(..., 6) acceleration of the point [m/s^2] and angular acceleration of the frame [rad/s^2], without gravity.

    >>> import myoquat as mq
    >>> rod = mq.ArticulatedSystem((mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0),))
    >>> q, u, udot = [0.0], [3.0], [0.0]
    >>> mq.joints.frame_acceleration(rod, q, u, udot, "rod", point=[0.5, 0, 0]) + 0.0  # towards the axis
    array([-4.5,  0. ,  0. ,  0. ,  0. ,  0. ])
    """
    call = Call(model).q(q).u(u).velocities("udot", udot).vector("point", point)
    return _of_point(call, "frame_acceleration", frames.acceleration, frame, axes, 1, backend)


def center_of_mass(model: SystemLike, q: ArrayLike, *, backend: str = "kernel") -> Array:
    """(..., 3) centre of mass of all moving bodies [m]; ModelError if they have no mass.

    >>> import myoquat as mq
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> mq.joints.center_of_mass(mq.ArticulatedSystem((rod,)), [0.0]) + 0.0
    array([ 0. ,  0. , -0.5])
    """
    call = Call(model).q(q)
    _need_mass(call)
    return call.run("center_of_mass", lambda q: frames.center(call.system, q), 1, backend=backend)


def center_of_mass_jacobian(model: SystemLike, q: ArrayLike, *, backend: str = "kernel") -> Array:
    """(..., 3, nu) J with J u the velocity of the centre of mass [m/s]; ModelError if there is no mass.

    >>> import myoquat as mq
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> mq.joints.center_of_mass_jacobian(mq.ArticulatedSystem((rod,)), [0.0]).ravel() + 0.0
    array([-0.5,  0. ,  0. ])
    """
    call = Call(model).q(q)
    _need_mass(call)
    return call.run("center_of_mass_jacobian", lambda q: frames.center_jacobian(call.system, q), 2, backend=backend)


def momentum(
    model: SystemLike, q: ArrayLike, u: ArrayLike, about: ArrayLike | None = None, *, backend: str = "kernel"
) -> Array:
    """(..., 6) linear momentum [kg m/s] and angular momentum [kg m^2/s] about the world point `about` (..., 3), the
    centre of mass if left out.

    >>> import myoquat as mq
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> mq.joints.momentum(mq.ArticulatedSystem((rod,)), [0.0], [3.0], about=[0.0, 0, 0]) + 0.0
    array([-3. ,  0. ,  0. ,  0. ,  1.5,  0. ])
    """
    return _momentum("momentum", model, (q, u, about), slice(0, 6), backend)


def angular_momentum(
    model: SystemLike, q: ArrayLike, u: ArrayLike, about: ArrayLike | None = None, *, backend: str = "kernel"
) -> Array:
    """(..., 3) the angular part of `momentum`.

    >>> import myoquat as mq
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> system = mq.ArticulatedSystem((rod,))
    >>> mq.joints.angular_momentum(system, [0.0], [3.0], about=[0.0, 0, 0]) + 0.0  # m l^2 omega
    array([0. , 1.5, 0. ])
    """
    return _momentum("angular_momentum", model, (q, u, about), slice(3, 6), backend)


def _momentum(
    quantity: str, model: SystemLike, given: tuple[ArrayLike, ArrayLike, ArrayLike | None], part: slice, backend: str
) -> Array:
    """A part of the momentum about a point, or about the centre of mass."""
    q, u, about = given
    call = Call(model).q(q).u(u)
    if about is None:
        _need_mass(call)
    else:
        call.vector("about", about)

    def formula(q: Array, u: Array, about: Array | None = None) -> Array:
        point = frames.center(call.system, q) if about is None else about
        return frames.momentum(call.system, q, u, point)[..., part]

    return call.run(quantity, formula, 1, backend=backend)


def _need_mass(call: Call) -> None:
    if frames.total_mass(call.system) == 0.0:
        raise ModelError("no moving body has a mass, so there is no centre of mass")


def _of_point(
    call: Call, quantity: str, function: Callable[..., Array], frame: str | int, axes: str, dims: int, backend: str
) -> Array:
    """function(system, ..., frame, point, axes) of a call whose last argument is the point."""
    name = call.frame(frame)
    if axes not in AXES:
        raise ValueError(f"axes is one of {', '.join(AXES)}, not {axes!r}")
    formula = lambda *given: function(call.system, *given[:-1], name, given[-1], axes)  # noqa: E731
    return call.run(quantity, formula, dims, variant=(name, axes), backend=backend)
