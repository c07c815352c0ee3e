"""Random systems: trees of any joint types, for tests, benchmarks and examples."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from myoquat.core import Array, check_types
from myoquat.joints import (
    SEQUENCES,
    ArticulatedSystem,
    Axis,
    Body,
    ConstantCurvatureJoint,
    CustomJoint,
    EllipsoidJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    Joint,
    PlanarJoint,
    PrismaticJoint,
    ReversedJoint,
    RevoluteJoint,
    SphericalJoint,
    UniversalJoint,
    random_quaternions,
)
from myoquat.joints.functions import Constant, Linear, MultivariatePolynomial, Polynomial
from myoquat.joints.vectors import upper

Rng: TypeAlias = "np.random.Generator"


def _axis(rng: Rng) -> tuple[float, float, float]:
    x, y, z = rng.normal(size=3)
    return float(x), float(y), float(z)


def _custom(rng: Rng) -> CustomJoint:
    """Four coordinates; axes that are not orthogonal; a coordinate that both turns and slides."""
    bent = Polynomial((0.1, 1.0, 0.2, 0.1))
    return CustomJoint(
        ("a", "b", "c", "d"),
        rotations=(Axis(_axis(rng), 0, bent), Axis(_axis(rng), 1), Axis(_axis(rng), 3, Linear(1.5, 0.1))),
        translations=(
            Axis(_axis(rng), 2, Polynomial((0.0, 1.0, 0.3))),
            Axis(_axis(rng), (3, 0), MultivariatePolynomial(2, 2, (0.1, 0.2, 0.4, -0.1, 0.3, 0.2))),
            Axis(_axis(rng), None, Constant(0.3)),
        ),
        units=("rad", "rad", "m", "rad"),
    )


def _ellipsoid(rng: Rng) -> EllipsoidJoint:
    x, y, z = rng.uniform(0.1, 0.4, 3)
    return EllipsoidJoint((float(x), float(y), float(z)), str(rng.choice(SEQUENCES)))


KINDS: "dict[str, Callable[[Rng], Joint]]" = {
    "fixed": lambda rng: FixedJoint(), "floating": lambda rng: FloatingJoint(),
    "revolute": lambda rng: RevoluteJoint(_axis(rng)), "prismatic": lambda rng: PrismaticJoint(_axis(rng)),
    "spherical": lambda rng: SphericalJoint(), "euler": lambda rng: EulerJoint(str(rng.choice(SEQUENCES))),
    "planar": lambda rng: PlanarJoint(_axis(rng)), "universal": lambda rng: UniversalJoint(_axis(rng), _axis(rng)),
    "custom": _custom, "ellipsoid": _ellipsoid,
    "constant_curvature": lambda rng: ConstantCurvatureJoint(float(rng.uniform(0.1, 0.5)), _axis(rng)),
    "reversed": lambda rng: ReversedJoint(_custom(rng))
}  # fmt: skip


def random_joint(rng: Rng, kinds: Sequence[str] = tuple(KINDS)) -> Joint:
    """A joint of one of `kinds`, its axes random."""
    return KINDS[str(rng.choice(list(kinds)))](rng)


def random_system(
    bodies: int, rng: Rng, kinds: Sequence[str] = tuple(KINDS), *, passive: bool = False,
    velocity_frame: str = "child", shuffle: bool = True,
) -> ArticulatedSystem:  # fmt: skip
    """A tree of `bodies` bodies 'b0', 'b1', ... on joints of `kinds`; the ground carries one or more branches.

    passive  with damping, springs and rotor inertias on some joints
    shuffle  children may precede their parents

    >>> import numpy as np
    >>> from myoquat.joints import random_system
    >>> system = random_system(3, np.random.default_rng(0), kinds=("spherical",))
    >>> len(system.bodies), system.nq, system.nu
    (3, 12, 9)
    """
    check_types(bodies=(bodies, (int, np.integer)), rng=(rng, np.random.Generator))
    made = [_body(i, rng, kinds, passive) for i in range(bodies)]
    order = [f"b{i}" for i in (rng.permutation(bodies) if shuffle else range(bodies))]
    return ArticulatedSystem(tuple(made), velocity_frame=velocity_frame, joint_order=order)


def _body(i: int, rng: Rng, kinds: Sequence[str], passive: bool) -> Body:
    A = rng.normal(size=(3, 3)) * 0.3
    moments = A @ A.T
    inertia = (np.trace(moments) * np.eye(3) - moments) + 0.02 * np.eye(3)  # of a cloud of points: physical
    parent = "ground" if i == 0 or rng.random() < 0.1 else f"b{rng.integers(max(0, i - 4), i)}"
    present = rng.random(3) < 0.3 if passive else np.zeros(3, dtype=bool)
    damping, stiffness, rotor = np.where(present, (0.3, 0.5, 0.2), 0.0)
    return Body(
        f"b{i}", parent, random_joint(rng, kinds), _floats(rng.normal(size=3) * 0.3),
        _floats(random_quaternions((), rng)), float(rng.uniform(0.5, 3.0)), _floats(rng.normal(size=3) * 0.2),
        _floats(upper(inertia)), damping=float(damping), stiffness=float(stiffness), rotor_inertia=float(rotor)
    )  # fmt: skip


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(map(float, values))
