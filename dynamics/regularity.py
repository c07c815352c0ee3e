"""Whether a system's mass matrix can be inverted, and where it fails if not."""

import numpy as np

from myoquat.core import Array, BoundedTable, Pair
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.evaluation import SystemLike
from myoquat.joints.locks import kept_by_content

from .composite import mass
from .factor import ancestors, factor

RANDOM_POSES = 3  # a matrix that is singular at this many random poses is singular by construction
PIVOT_TOLERANCE = 1e-11  # of M = L^T D L, relative to the diagonal of M
MIN_NAMED_SHARE = 0.05  # of the greatest part of a motion: what is named of it
MAX_KEPT_RESULTS = 1024

_least: BoundedTable[float] = BoundedTable(MAX_KEPT_RESULTS)  # by content: see `_least_share`
_singular: BoundedTable[int | None] = BoundedTable(MAX_KEPT_RESULTS)  # the first velocity without inertia of its own


def is_constrained(model: SystemLike) -> bool:
    """Whether a model has couplers or constraints, which may determine the motion of bodies without mass."""
    return bool(getattr(model, "couplers", ()) or getattr(model, "constraints", ()))


def check_regular(system: ArticulatedSystem, constrained: bool = False) -> None:
    """ModelError, naming the velocity, if the mass matrix is singular in every pose. It is raised too if an inertia
    that no body can have makes it not positive definite in some. `constrained`: constraints may determine the motion of
    what has no mass, which is seen at a pose (`check_pose`)."""
    check_definite(system)
    k = singular_velocity(system)
    if k is not None and not constrained:
        raise _error(system, k)


def check_massive(system: ArticulatedSystem, constrained: bool) -> None:
    """ModelError if the mass matrix is singular because a floating body or a moving leaf has no mass. `constrained`:
    constraints may determine the motion of such a body."""
    check_definite(system)
    if constrained:
        return
    k, links = singular_velocity(system), system.tree.links
    carriers = {link.parent for link in links}
    ends = (link.joint.span == "all" or (i not in carriers and link.joint.nu > 0)
            for i, link in enumerate(links) if link.is_weightless)  # fmt: skip
    if k is not None and any(ends):
        raise _error(system, k)


def check_definite(system: ArticulatedSystem) -> None:
    """ModelError, naming the bodies, if inertias that no body can have make the mass matrix indefinite. It is looked at
    in a few random poses. Singular matrices pass."""
    lenient = [body.name for body in system.bodies if body.lenient_inertia]
    if lenient and _least_share(system) < -PIVOT_TOLERANCE:
        raise ModelError(
            "the mass matrix is not positive definite, because of inertias that no rigid body can have: "
            f"{', '.join(lenient)}",
            element=f"body {lenient[0]!r}",
        )


def check_pose(system: ArticulatedSystem, M: Array) -> None:
    """ModelError if the mass matrix M (nu, nu) of a pose is singular. It names the velocities that move together
    without inertia, for example where axes coincide and no body beyond their joints has mass."""
    size, scaled = _scaled(M)
    values, vectors = np.linalg.eigh(scaled)
    if values.min(initial=1.0) > PIVOT_TOLERANCE:
        return
    moves = np.abs(vectors[:, values <= PIVOT_TOLERANCE] / size[:, None])
    share = (moves / moves.max(axis=0)).max(axis=1)
    names = [repr(name) for name, part in zip(system.velocity_names, share, strict=True) if part > MIN_NAMED_SHARE]
    raise ModelError(
        f"the mass matrix is singular at this pose: {', '.join(names)} can move together so that nothing with inertia "
        f"moves{_massless(system)}. Give these bodies a mass and an inertia, or start at another pose. If they are the "
        "angles of one joint, describe it by a quaternion: with_rotations('quaternion')"
    )


def singular_velocity(system: ArticulatedSystem) -> int | None:
    """A velocity whose pivot in M = L^T D L vanishes at random poses; None for a regular matrix."""
    return kept_by_content(_singular, system, lambda: _vanishing_pivot(system))


def _least_share(system: ArticulatedSystem) -> float:
    """The least eigenvalue of M at random poses, over its diagonal."""
    least = lambda: np.linalg.eigvalsh(_scaled(_masses(system))[1]).min(initial=0.0)  # noqa: E731
    return float(kept_by_content(_least, system, least))


def _masses(system: ArticulatedSystem) -> Array:
    """M at random poses."""
    return mass(system, system.random(RANDOM_POSES, np.random.default_rng(0)))


def _scaled(M: Array) -> Pair:
    """The roots of the diagonal, 1 for those that are zero, and M over their products."""
    size = np.sqrt(np.abs(np.einsum("...ii->...i", M)))
    size = np.where(size > 0, size, 1.0)
    return size, M / (size[..., :, None] * size[..., None, :])


def _vanishing_pivot(system: ArticulatedSystem) -> int | None:
    order, M = ancestors(system), np.broadcast_to(_masses(system), (RANDOM_POSES, system.nu, system.nu))
    with np.errstate(all="ignore"):  # ancestors of a velocity whose pivot vanishes come after it
        pivots = 1.0 / np.einsum("...ii->...i", factor(order, M))
    vanish = (pivots <= PIVOT_TOLERANCE * np.einsum("...ii->...i", M)).all(axis=0)
    return next((k for k, _ in reversed(order) if vanish[k]), None)


def _error(system: ArticulatedSystem, k: int) -> ModelError:
    body = system.bodies[system.indices.body_of_velocity(k)]
    return ModelError(
        f"the mass matrix is singular: velocity {system.velocity_names[k]!r} moves nothing that has inertia once the "
        f"joints beyond it are free{_massless(system)}. Give the body a mass and an inertia, or the joint a "
        "rotor inertia; simulate takes constraints that determine the motion, too",
        element=f"body {body.name!r}",
    )


def _massless(system: ArticulatedSystem) -> str:
    """The bodies without mass and inertia, in words."""
    massless = [link.name for link in system.tree.links if link.is_weightless]
    return f"; bodies without mass and inertia: {', '.join(massless)}" if massless else ""
