"""The systems of the dynamics benchmarks: chains of spherical joints, and a body with two legs and two arms."""

from typing import Any

import numpy as np

from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import FloatingJoint, RevoluteJoint, SphericalJoint


def chain(n: int) -> ArticulatedSystem:
    """n rods of 0.3 m and 1 kg, each hanging on the end of the one before by a spherical joint."""
    place = (0.0, 0.0, -0.3)
    bodies = [
        Body(
            name=f"b{k}",
            parent=f"b{k - 1}" if k else "ground",
            position=place if k else (0.0, 0.0, 0.0),
            joint=SphericalJoint(),
            mass=1.0,
            center_of_mass=(0.0, 0.0, -0.15),
            inertia=_rod(1.0, 0.3, 0.03),
        )
        for k in range(n)
    ]
    return ArticulatedSystem(tuple(bodies), name=f"chain of {n}")


def person() -> ArticulatedSystem:
    """12 bodies, 27 velocities: a floating pelvis, hips, knees, ankles, trunk, shoulders, elbows."""
    bodies = [_body("pelvis", "ground", FloatingJoint(), (0, 0, 0), 11, (0, 0, 0.05), (0.1, 0.09, 0.1, 0, 0, 0))]
    for side, y in (("l", 1.0), ("r", -1.0)):
        bodies += [
            _body(
                f"thigh_{side}", "pelvis", SphericalJoint(), (0, 0.09 * y, -0.07), 9, (0, 0, -0.17), _rod(9, 0.42, 0.07)
            ),
            _body(f"shank_{side}", f"thigh_{side}", _HINGE, (0, 0, -0.42), 3.7, (0, 0, -0.19), _rod(3.7, 0.43, 0.05)),
            _body(
                f"foot_{side}",
                f"shank_{side}",
                _HINGE,
                (0, 0, -0.43),
                1.2,
                (0.05, 0, -0.03),
                (1e-3, 5e-3, 5e-3, 0, 0, 0),
            ),
        ]
    bodies += [_body("trunk", "pelvis", SphericalJoint(), (-0.05, 0, 0.12), 34, (0, 0, 0.28), (1.4, 1.2, 0.4, 0, 0, 0))]
    for side, y in (("l", 1.0), ("r", -1.0)):
        bodies += [
            _body(f"arm_{side}", "trunk", SphericalJoint(), (0, 0.18 * y, 0.45), 2, (0, 0, -0.16), _rod(2, 0.3, 0.04)),
            _body(f"forearm_{side}", f"arm_{side}", _HINGE, (0, 0, -0.3), 1.5, (0, 0, -0.15), _rod(1.5, 0.27, 0.03)),
        ]
    return ArticulatedSystem(tuple(bodies), name="tree of 12 bodies")


def random_state(system: ArticulatedSystem, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (count, nq), and u and tau (count, nu) standard normal."""
    rng = np.random.default_rng(0)
    return system.random(count, rng), rng.standard_normal((count, system.nu)), rng.standard_normal((count, system.nu))


_HINGE = RevoluteJoint(axis=(0.0, 1.0, 0.0))


def _body(name: str, parent: str, joint: Any, position: Any, mass: float, center: Any, inertia: Any) -> Body:
    numbers = [tuple(map(float, values)) for values in (position, center, inertia)]
    return Body(
        name=name,
        parent=parent,
        joint=joint,
        position=numbers[0],
        mass=float(mass),
        center_of_mass=numbers[1],
        inertia=numbers[2],
    )


def _rod(m: float, l: float, r: float) -> tuple[float, ...]:
    """Inertia of a cylinder along z about its centre: xx, yy, zz, xy, xz, yz."""
    across = m * (3 * r * r + l * l) / 12
    return across, across, m * r * r / 2, 0.0, 0.0, 0.0
