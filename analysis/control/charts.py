"""Charts of the pose: minimal coordinates of rotations, one rotation vector for each quaternion.

A chart has nu coordinates z. Coordinates of joints without a quaternion are themselves, z = q. A quaternion is Q =
Q_ref exp(z), or exp(z) Q_ref where the model's velocities are in the parent's frame. By construction |Q| = 1. The chart
is regular for |z| < 2 pi. Formulas on arrays with leading batch axes, floats or symbols.
"""

from collections.abc import Iterator

from myoquat.core.typing import Array
from myoquat.joints.multibody.layout import Layout
from myoquat.joints.rotation_vectors import rotation_vector_rate
from myoquat.joints.stacking import joined
from myoquat.joints.types import Joint, SphericalJoint
from myoquat.joints.vectors import matvec

__all__ = ["chart_coordinates", "chart_pose", "displacement", "displacement_rate"]


def chart_pose(layout: Layout, reference: Array, z: Array) -> Array:
    """(..., nq) q at the chart coordinates z (..., nu) about a reference pose (..., nq)."""
    parts = []
    for flat, ball, iq, iu in _parts(layout):
        own, start = z[..., iu], reference[..., iq]
        parts.append(own[..., :flat])
        if ball is not None:
            parts.append(ball.integrate(start[..., flat:], own[..., flat:]))
    return joined(parts) if parts else z


def chart_coordinates(layout: Layout, reference: Array, q: Array) -> Array:
    """(..., nu) z with `chart_pose(reference, z)` = q, the shortest rotation of each quaternion."""
    parts = []
    for flat, ball, iq, _ in _parts(layout):
        own, start = q[..., iq], reference[..., iq]
        parts.append(own[..., :flat])
        if ball is not None:
            parts.append(ball.difference(start[..., flat:], own[..., flat:]))
    return joined(parts) if parts else q


def displacement(layout: Layout, q0: Array, q1: Array) -> Array:
    """(..., nu) from the pose q0 to q1: q1 - q0 of plain coordinates, the rotation vector of each quaternion."""
    parts = []
    for flat, ball, iq, _ in _parts(layout):
        a, b = q0[..., iq], q1[..., iq]
        parts.append(b[..., :flat] - a[..., :flat])
        if ball is not None:
            parts.append(ball.difference(a[..., flat:], b[..., flat:]))
    return joined(parts) if parts else q1 - q0


def displacement_rate(layout: Layout, theta: Array, q: Array, u: Array) -> Array:
    """(..., nu) rate of the displacement theta (..., nu) from a fixed pose to q, at the velocities u (..., nu)."""
    parts = []
    for joint, (flat, ball, iq, iu) in zip(_moving(layout), _parts(layout), strict=True):
        own = u[..., iu]
        if flat:
            N = joint.rate_matrix(q[..., iq])[..., :flat, :]
            parts.append(matvec(N, own))
        if ball is not None:
            parts.append(rotation_vector_rate(theta[..., iu][..., flat:], own[..., flat:], ball.in_child))
    return joined(parts) if parts else u


def _moving(layout: Layout) -> list[Joint]:
    return [joint for joint, _, iu in layout.joints() if iu.stop > iu.start]


def _parts(layout: Layout) -> Iterator[tuple[int, SphericalJoint | None, slice, slice]]:
    """Of every joint that moves: the number of plain coordinates, the ball behind them, slices of q and of u."""
    for joint, iq, iu in layout.joints():
        if iu.stop == iu.start:
            continue
        flat = joint.facts.quaternion
        if flat is None:
            if joint.nq != joint.nu:
                raise ValueError(f"a {joint.kind} joint has no chart: {joint.nq} coordinates, {joint.nu} velocities")
            yield joint.nu, None, iq, iu
        else:
            frame = getattr(joint, "velocity_frame", "child")
            yield flat, SphericalJoint(velocity_frame=frame), iq, iu
