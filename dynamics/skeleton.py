"""The planar skeleton: n links in a chain in the x-y plane.

Link k turns by its own angle q_k about joint k, the first joint at the origin. Its absolute angle from the x axis is
q_1 + ... + q_k. Joint k+1 lies at length l_k along the link, its centre of mass at lG_k. Gravity g pulls along -y:

    H qdd + b = tau + J_E^T f_E

The force f_E = (fx, fy) [N] acts on the free end of the last link. The formulas are those of the articulated system of
revolute joints that the links make. Arrays have leading batch axes that broadcast, floats or symbols; floats go through
compiled kernels, or NumPy with backend="numpy".
"""

import math
from functools import partial
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, check_type, frozen
from myoquat.dynamics import composite, factor, inverse
from myoquat.joints import ArticulatedSystem, Body, ModelError, RevoluteJoint, frames
from myoquat.joints.evaluation import Call
from myoquat.joints.vectors import vecmat


@frozen
class PlanarSkeleton:
    """The numbers of the links, in SI units. Raises ModelError for numbers that cannot be.

    lengths   l of each link [m]
    centers   lG, the distance of the centre of mass from the joint [m]
    masses    m [kg]
    inertias  I about the centre of mass [kg m^2]
    gravity   g [m/s^2], along -y

    >>> from myoquat.dynamics import PlanarSkeleton
    >>> leg = PlanarSkeleton(lengths=(0.4, 0.4), centers=(0.2, 0.2), masses=(7.0, 3.0), inertias=(0.1, 0.05))
    >>> leg.n, leg.system().coordinate_names
    (2, ('link1.angle', 'link2.angle'))
    """

    lengths: tuple[float, ...]
    centers: tuple[float, ...]
    masses: tuple[float, ...]
    inertias: tuple[float, ...]
    gravity: float = 9.81

    def __post_init__(self) -> None:
        for key in ("lengths", "centers", "masses", "inertias"):
            values = tuple(float(x) for x in getattr(self, key))
            object.__setattr__(self, key, values)
            if len(values) != self.n or not values or not all(math.isfinite(x) for x in values):
                raise ModelError(f"{key} must be {self.n} finite numbers, at least one, not {values}")
            if key in ("masses", "inertias") and min(values) < 0:
                raise ModelError(f"{key} must not be negative, not {values}")

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.lengths)

    def system(self) -> ArticulatedSystem:
        """The same chain as an articulated system of revolute joints about z, bodies 'link1', 'link2', ..."""
        bodies = [
            Body(
                f"link{k + 1}",
                "ground" if k == 0 else f"link{k}",
                RevoluteJoint((0.0, 0.0, 1.0)),
                position=(0.0 if k == 0 else self.lengths[k - 1], 0.0, 0.0),
                mass=self.masses[k],
                center_of_mass=(self.centers[k], 0.0, 0.0),
                inertia=(0.0, self.inertias[k], self.inertias[k], 0.0, 0.0, 0.0),
            )
            for k in range(self.n)
        ]
        return ArticulatedSystem(tuple(bodies), gravity=(0.0, -self.gravity, 0.0), name="planar_skeleton")


def skeleton_mass(skeleton: PlanarSkeleton, q: ArrayLike, *, backend: str = "kernel") -> Array:
    """(..., n, n) H(q).

    >>> from myoquat.dynamics import PlanarSkeleton, skeleton_mass
    >>> rod = PlanarSkeleton(lengths=(1.0,), centers=(0.5,), masses=(2.0,), inertias=(0.25,))
    >>> skeleton_mass(rod, [0.0])  # I + m (l/2)^2
    array([[0.75]])
    """
    return _run("skeleton_mass", skeleton, lambda system, tip, q: composite.mass(system, q), {"q": q}, 2, backend)


def skeleton_bias(skeleton: PlanarSkeleton, q: ArrayLike, qd: ArrayLike, *, backend: str = "kernel") -> Array:
    """(..., n) b(q, qd), gravity included.

    >>> from myoquat.dynamics import PlanarSkeleton, skeleton_bias
    >>> rod = PlanarSkeleton(lengths=(1.0,), centers=(0.5,), masses=(2.0,), inertias=(0.0,))
    >>> skeleton_bias(rod, [0.0], [0.0])  # m g l/2
    array([9.81])
    """
    formula = lambda system, tip, q, qd: inverse.bias(system, q, qd)  # noqa: E731
    return _run("skeleton_bias", skeleton, formula, {"q": q, "qd": qd}, 1, backend)


def skeleton_end(skeleton: PlanarSkeleton, q: ArrayLike, *, backend: str = "kernel") -> Pair:
    """(..., 2) where the free end of the last link is, and J_E (..., 2, n) with J_E qd its velocity.

    >>> import numpy as np
    >>> from myoquat.dynamics import PlanarSkeleton, skeleton_end
    >>> arm = PlanarSkeleton(lengths=(0.3, 0.25), centers=(0.15, 0.12), masses=(2.0, 1.0), inertias=(0.02, 0.01))
    >>> position, J = skeleton_end(arm, [0.0, np.pi / 2])
    >>> position.round(3), J.round(3) + 0.0
    (array([0.3 , 0.25]), array([[-0.25, -0.25],
           [ 0.3 ,  0.  ]]))
    """
    formula = lambda system, tip, q: frames.pose(system, q, *tip)[1][..., :2]  # noqa: E731
    place = _run("skeleton_end", skeleton, formula, {"q": q}, 1, backend)
    return place, _run("skeleton_jacobian", skeleton, _jacobian, {"q": q}, 2, backend)


def skeleton_id(
    skeleton: PlanarSkeleton, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_end: ArrayLike | None = None, *,
    backend: str = "kernel",
) -> Array:  # fmt: skip
    """(..., n) tau = H qdd + b - J_E^T f_E of angles q, rates qd and accelerations qdd (..., n), f_E (..., 2).

    Raises ValueError for shapes that do not fit and numbers that are not finite.

    >>> from myoquat.dynamics import PlanarSkeleton, skeleton_id
    >>> rod = PlanarSkeleton(lengths=(1.0,), centers=(0.5,), masses=(2.0,), inertias=(0.0,))
    >>> skeleton_id(rod, [0.0], [0.0], [2.0])  # H qdd + b
    array([10.81])
    """
    given = {"q": q, "qd": qd, "qdd": qdd, "f_end": f_end}
    return _run("skeleton_id", skeleton, _inverse, given, 1, backend)


def skeleton_fd(
    skeleton: PlanarSkeleton, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_end: ArrayLike | None = None, *,
    backend: str = "kernel",
) -> Array:  # fmt: skip
    """(..., n) qdd from H qdd = tau - b + J_E^T f_E, solved by factors of H; arguments as for `skeleton_id`.

    >>> from myoquat.dynamics import PlanarSkeleton, skeleton_fd
    >>> rod = PlanarSkeleton(lengths=(1.0,), centers=(0.5,), masses=(2.0,), inertias=(0.0,))
    >>> skeleton_fd(rod, [0.0], [0.0], [0.0])  # [rad/s^2] -g / (l/2)
    array([-19.62])
    """
    given = {"q": q, "qd": qd, "tau": tau, "f_end": f_end}
    return _run("skeleton_fd", skeleton, _forward, given, 1, backend)


def _run(
    quantity: str, skeleton: PlanarSkeleton, formula: Any, given: dict[str, Any], axes: int, backend: str
) -> Array:
    """The formula (system, tip, **arguments) through its kernel, of checked arguments, those that are None left out.
    The tip is the name of the last body and the end of its link (3,)."""
    check_type("skeleton", skeleton, PlanarSkeleton)
    call = Call(skeleton.system())
    for name, value in given.items():
        if value is not None and name != "f_end":
            call.velocities(name, value)
        elif value is not None:
            call.vector(name, value, ("fx", "fy"))
    tip = f"link{skeleton.n}", np.array([skeleton.lengths[-1], 0.0, 0.0])
    return call.run(quantity, partial(formula, call.system, tip), axes, variant=skeleton, backend=backend)


# ---- formulas on arrays of floats or symbols: those of the articulated system -----------------------------------


Tip = tuple[str, Array]


def _jacobian(system: ArticulatedSystem, tip: Tip, q: Array) -> Array:
    return frames.jacobian(system, q, *tip)[..., :2, :]


def _inverse(system: ArticulatedSystem, tip: Tip, q: Array, qd: Array, qdd: Array, f_end: Array | None = None) -> Array:
    tau = inverse.inverse(system, q, qd, qdd)
    return tau if f_end is None else tau - vecmat(f_end, _jacobian(system, tip, q))


def _forward(system: ArticulatedSystem, tip: Tip, q: Array, qd: Array, tau: Array, f_end: Array | None = None) -> Array:
    push = 0.0 if f_end is None else vecmat(f_end, _jacobian(system, tip, q))
    return factor.forward(system, q, qd, tau + push)
