"""Closed-loop mechanisms from collections of benchmarks, for `benchmarks.own.closed_loops`.

Andrews' squeezing mechanism: parameters, start and reference as in the Test Set for IVP Solvers (F. Mazzia,
C. Magherini, University of Bari, release 2.4; from E. Hairer, G. Wanner, Solving ODEs II, section VII.7). The chain of
four-bar loops and Bricard's mechanism: library of computational benchmark problems in multibody dynamics (IFToMM
technical committee; M. Gonzalez et al., Multibody System Dynamics 16, 2006), thin homogeneous rods of 1 m and 1 kg.
The flyball governor: problem A05 of the same library, whose couplers are stiff springs; and the same with rigid ones.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.integrate import solve_ivp

from myoquat.dynamics.constraints import Constraint, Distance, ParallelAxes, PointLoop
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types import PrismaticJoint, RevoluteJoint
from myoquat.muscle import Model, Muscle, PathPoint
from myoquat.muscle.laws import ForceLaw

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
    """F = stiffness (l - rest) + damping ldot, also when pushed."""

    kind: ClassVar[str] = "benchmark_spring"
    stiffness: float
    rest: float
    damping: float = 0.0

    def force(self, length: Any, speed: Any, activation: Any, state: Any = None) -> Any:
        return self.stiffness * (length - self.rest) + self.damping * speed + 0.0 * activation


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
    """(7,) the Test Set's order beta, Theta, gamma, Phi, delta, Omega, epsilon in the order of `andrews`."""
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


# A05: rods of 1 m with 5 kg at their ends, hinged on top of a shaft of 1 m; couplers of .5 m from their middles to a
# slider; prisms of 3000 kg/m^3, rods and shaft of .01 m, the slider of .1 m. The shaft turns at 2 pi rad/s; the rods
# start 30 degrees below the horizontal, the slider in the middle of the shaft.
ROD, BALL, SLIDER, SHAFT = 0.3, 5.0, 3.0, 0.3
STIFFNESS, DAMPING, COUPLER = 8e5, 4e4, 0.5
_TILT, _SPIN = np.pi / 3, 2 * np.pi  # of the rods from the shaft


def governor(stiff: bool) -> tuple[Model, list[Constraint], np.ndarray, np.ndarray]:
    """(model, constraints, q0, u0): shaft angle, rod angles from the shaft, slider below the top [m]."""
    thin, z = 0.01**2 / 6, (0.0, 0.0, 1.0)
    beam = (1 + 0.01**2) / 12
    across = ROD * beam + ROD * BALL / (ROD + BALL) * 0.25  # with the ball, about their common centre
    com = (0.0, 0.0, -(ROD / 2 + BALL) / (ROD + BALL))
    rod = {"mass": ROD + BALL, "center_of_mass": com, "inertia": (across, across, ROD * thin, 0.0, 0.0, 0.0)}
    bodies = (
        Body(
            "shaft", "ground", RevoluteJoint(z), mass=SHAFT,
            inertia=(SHAFT * beam, SHAFT * beam, SHAFT * thin, 0.0, 0.0, 0.0),
        ),
        Body("rod1", "shaft", RevoluteJoint((0.0, -1.0, 0.0)), **rod),
        Body("rod2", "shaft", RevoluteJoint((0.0, 1.0, 0.0)), **rod),
        Body(
            "slider", "shaft", PrismaticJoint((0.0, 0.0, -1.0)), mass=SLIDER,
            inertia=(SLIDER * 0.1**2 / 6,) * 3 + (0.0,) * 3,
        ),
    )  # fmt: skip
    system = ArticulatedSystem(bodies, gravity=(0.0, 0.0, -9.81), name="governor")
    start = np.array([0.0, _TILT, _TILT, np.cos(_TILT)]), np.array([_SPIN, 0.0, 0.0, 0.0])
    names = ("rod1", "rod2")
    if not stiff:
        rods: list[Constraint] = [Distance(n, "slider", (0.0, 0.0, -0.5), (0.0, 0.0, 0.0), COUPLER) for n in names]
        return Model(system), rods, *start
    law = Spring(STIFFNESS, COUPLER, DAMPING)
    ends = [(PathPoint(n, (0.0, 0.0, -0.5)), PathPoint("slider", (0.0, 0.0, 0.0))) for n in names]
    springs = tuple(Muscle(f"coupler {n}", path, law, activation=0.0) for n, path in zip(names, ends, strict=True))
    return Model(system, springs), [], *start


def governor_reference(duration: float, stiff: bool) -> np.ndarray:
    """(4,) q at the end, from Lagrange's equations in the fewest coordinates, by SciPy's Radau.

    Rigid: theta alone, the slider at cos(theta); stiff: theta and the slider s. The angular momentum of the shaft,
    J(theta) psi' with J = J0 + 2 I sin^2(theta), is constant.
    """
    thin = 0.01**2 / 6
    I = ROD * (1 + 0.01**2) / 12 + ROD / 4 + BALL  # of a rod with its ball, about the hinge
    axial, moment = ROD * thin, ROD / 2 + BALL
    J0 = SHAFT * thin + SLIDER * 0.1**2 / 6

    def J(theta: float) -> float:
        return float(J0 + 2 * (I * np.sin(theta) ** 2 + axial * np.cos(theta) ** 2))

    L = J(_TILT) * _SPIN

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        _, theta, s, dtheta, ds = x
        sine, cosine, spin = np.sin(theta), np.cos(theta), L / J(theta)
        push = 2 * (I - axial) * spin**2 * sine * cosine - 2 * moment * 9.81 * sine  # on theta, of rods and balls
        if stiff:
            along, gap = 0.5 * sine, s - 0.5 * cosine
            l = np.hypot(along, gap)
            dl = (along * 0.5 * cosine * dtheta + gap * (ds + 0.5 * sine * dtheta)) / l
            F = STIFFNESS * (l - COUPLER) + DAMPING * dl
            turning = (push - 2 * F * (along * 0.5 * cosine + gap * 0.5 * sine) / l) / (2 * I)
            return np.array([spin, dtheta, ds, turning, 9.81 - 2 * F * gap / l / SLIDER])
        push -= SLIDER * 9.81 * sine + SLIDER * sine * cosine * dtheta**2
        return np.array([spin, dtheta, -sine * dtheta, push / (2 * I + SLIDER * sine**2), 0.0])

    x0 = np.array([0.0, _TILT, np.cos(_TILT), 0.0, 0.0])
    with np.errstate(over="ignore"):  # SciPy's differences along the angle, on which nothing depends
        end = solve_ivp(rate, (0, duration), x0, "Radau" if stiff else "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return np.array([end[0], end[1], end[1], end[2]])
