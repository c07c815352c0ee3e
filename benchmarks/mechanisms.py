"""Published closed-loop mechanisms, for `benchmarks.closed_loops`.

Andrews' squeezing mechanism: parameters, start and reference as in the Test Set for IVP Solvers (F. Mazzia,
C. Magherini, University of Bari, release 2.4; from E. Hairer, G. Wanner, Solving ODEs II, section VII.7). The chain of
four-bar loops and Bricard's mechanism: library of computational benchmark problems in multibody dynamics (IFToMM
technical committee; M. Gonzalez et al., Multibody System Dynamics 16, 2006), thin homogeneous rods of 1 m and 1 kg.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dynamics.constraints import Constraint, ParallelAxes, PointLoop
from joints.system import ArticulatedSystem, Body
from joints.types import RevoluteJoint
from muscle import Model, Muscle, PathPoint
from muscle.laws import ForceLaw

__all__ = ["ANDREWS_END", "Spring", "andrews", "andrews_start", "bricard", "four_bars"]

# beta, Theta, gamma, Phi, delta, Omega, epsilon at t = 0.03 s
ANDREWS_END = (
    0.1581077119629904e2, -0.1575637105984298e2, 0.4082224013073101e-1, -0.5347301163226948, 0.5244099658805304,
    0.5347301163226948, 0.1048080741042263e1,
)  # fmt: skip
_START = (
    -0.0617138900142764496358948458001, 0.0, 0.455279819163070380255912382449, 0.222668390165885884674473185609,
    0.487364979543842550225598953530, -0.222668390165885884674473185609, 1.23054744454982119249735015568,
)  # fmt: skip


@dataclass(frozen=True)
class Spring(ForceLaw):
    """F = stiffness (l - rest), also when pushed."""

    kind: ClassVar[str] = "benchmark_spring"
    stiffness: float
    rest: float

    def force(self, length: Any, speed: Any, activation: Any, state: Any = None) -> Any:
        return self.stiffness * (length - self.rest) + 0.0 * activation


def andrews() -> tuple[Model, list[PointLoop], np.ndarray]:
    """(model, constraints, torque (7,)): bodies K1 ... K7, K4 on K5 and K6 on K7; coordinates by their Greek names."""
    A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
    rr, d, e, zt, zf, u, ss = 7e-3, 28e-3, 2e-2, 4e-2, 2e-2, 4e-2, 35e-3

    def bar(name: str, coordinate: str, parent: str, at: Any, mass: float, com: Any, inertia: float) -> Body:
        return Body(
            name, parent, RevoluteJoint((0.0, 0.0, 1.0)), (*at, 0.0), mass=mass, center_of_mass=(*com, 0.0),
            inertia=(inertia, inertia, inertia, 0.0, 0.0, 0.0), coordinate_names=(coordinate,),
        )  # fmt: skip

    bodies = (
        bar("K1", "beta", "ground", (0, 0), 0.04325, (92e-5, 0), 2.194e-6),
        bar("K2", "Theta", "K1", (rr, 0), 0.00365, (-115e-4, 0), 4.410e-7),
        bar("K3", "gamma", "ground", B, 0.02373, (1874e-5, 1043e-5), 5.255e-6),
        bar("K5", "delta", "ground", A, 0.07050, (2308e-5, 916e-5), 1.169e-5),
        bar("K4", "Phi", "K5", (zt, 0), 0.00706, (0, -(e - 1421e-5)), 5.667e-7),
        bar("K7", "epsilon", "ground", A, 0.05498, (1228e-5, -449e-5), 1.912e-5),
        bar("K6", "Omega", "K7", (0, -u), 0.00706, (zf - 1421e-5, 0), 5.667e-7),
    )
    system = ArticulatedSystem(bodies, gravity=(0.0, 0.0, 0.0), name="andrews")
    ends = (PathPoint("ground", (*C, 0.0)), PathPoint("K3", (2e-2, -18e-3, 0.0)))
    spring = Muscle("spring", ends, Spring(4530.0, 7785e-5), activation=0.0)
    points = {"K3": (0.0, -ss, 0.0), "K4": (0.0, -e, 0.0), "K6": (zf, 0.0, 0.0)}
    loops = [PointLoop("K2", name, (-d, 0.0, 0.0), point, "xy") for name, point in points.items()]
    return Model(system, (spring,)), loops, np.array([0.033, 0, 0, 0, 0, 0, 0])


def andrews_start(values: Any = _START) -> np.ndarray:
    """(7,) the published order beta, Theta, gamma, Phi, delta, Omega, epsilon in the order of `andrews`."""
    beta, Theta, gamma, Phi, delta, Omega, epsilon = values
    return np.array([beta, Theta, gamma, delta, Phi, epsilon, Omega])


def _rod(name: str, parent: str, axis: Any, at: Any, along: Any) -> Body:
    """A thin rod of 1 m and 1 kg from its joint along a unit vector."""
    v = np.array(along, dtype=float)
    I = (np.eye(3) - np.outer(v, v)) / 12
    com = tuple((v / 2).tolist())
    inertia = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return Body(
        name, parent, RevoluteJoint(axis), at, mass=1.0, center_of_mass=com, inertia=tuple(float(x) for x in inertia)
    )


def four_bars(count: int) -> tuple[ArticulatedSystem, list[PointLoop], np.ndarray, np.ndarray]:
    """(system, constraints, q0, u0): `count` four-bar loops in a row, all rods vertical, the top moving at 1 m/s in x.

    Rods of the loops are parallel; whenever all lie in one line the mechanism is singular and could change its branch.
    """
    axis = (0.0, 1.0, 0.0)
    bodies = [_rod("b0", "ground", axis, (0.0, 0.0, 0.0), (0, 0, 1))]
    loops = []
    for i in range(1, count + 1):
        bodies.append(_rod(f"c{i}", f"b{i - 1}", axis, (0.0, 0.0, 1.0), (1, 0, 0)))
        bodies.append(_rod(f"b{i}", "ground", axis, (float(i), 0.0, 0.0), (0, 0, 1)))
        loops.append(PointLoop(f"c{i}", f"b{i}", (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), "xz"))
    system = ArticulatedSystem(tuple(bodies), gravity=(0.0, 0.0, -9.81))
    u0 = np.array([1.0 if body.name[0] == "b" else -1.0 for body in system.bodies])
    return system, loops, np.zeros(system.nq), u0


def bricard() -> tuple[ArticulatedSystem, list[Constraint], np.ndarray]:
    """(system, constraints, q0): five rods and the ground on six hinges. By Gruebler's count it cannot move; one of the
    five equations is redundant, and it can.

    The rods run along +x, -y, +z, -x and +y of a cube; every hinge is perpendicular to both its rods.
    """
    X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    minus_y, minus_x = (0.0, -1.0, 0.0), (-1.0, 0.0, 0.0)
    chain = (  # hinge axis, direction of the rod, where it begins on the one before
        (Y, X, (0.0, 0.0, 0.0)), (Z, minus_y, X), (X, Z, minus_y), (Y, minus_x, Z), (Z, Y, minus_x),
    )  # fmt: skip
    bodies, parent = [], "ground"
    for i, (axis, along, at) in enumerate(chain, start=1):
        bodies.append(_rod(f"r{i}", parent, axis, at, along))
        parent = f"r{i}"
    system = ArticulatedSystem(tuple(bodies), gravity=(0.0, -9.81, 0.0))
    closed: list[Constraint] = [PointLoop("r5", "ground", Y, Z), ParallelAxes("ground", "r5", X, X)]
    return system, closed, np.zeros(5)
