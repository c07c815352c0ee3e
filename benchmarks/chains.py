"""Forward dynamics, inverse dynamics and the mass matrix of chains of 2 to 64 spherical joints and of a tree.
Derivatives of forward dynamics of the tree and of chains of 8 and 32.

The kernels of `dynamics` beside Pinocchio's C++ and MuJoCo's C, on one thread. Each computes the same from the same
states: ABA M^-1 (tau - b), RNEA M udot + b, CRBA M. MuJoCo's times hold what it always computes beside: mj_forward
also factors M, mj_inverse and the mass matrix also need its inertias in the world.
"""

import math
import time
from typing import Any

import numpy as np

from benchmarks.measure import Route, alternate, rows
from benchmarks.mujoco.dynamics import DynamicsLoop as MujocoLoop
from benchmarks.own.systems import chain, person, random_state
from benchmarks.pinocchio.dynamics import DERIVATIVES, DynamicsLoop as PinocchioLoop
from myoquat import kernels
from myoquat.dynamics import articulated, composite, factor, inverse
from myoquat.dynamics.sensitivity.recursions import forward_derivatives, inverse_derivatives
from myoquat.joints import ArticulatedSystem

SIZES = (2, 4, 8, 16, 32, 64)
DERIVATIVE_STATES = 64  # of the tree 1.1 MB of results
BLOCK_BYTES = 2**22  # of inputs and results: a block stays in the last cache, and calls cost little beside it
KERNEL, PINOCCHIO, MUJOCO = "kernel", "Pinocchio, C++ loop", "MuJoCo, C loop"
WRITING = "one number written to every result"  # what memory alone takes
RESIDUAL = 1e-12
TOLERANCE = 1e-8  # condition numbers of M reach 2e7


def run(sizes: tuple[int, ...] = SIZES, repeats: int = 5) -> list[dict[str, Any]]:
    """Rows with ns per state and ratios to Pinocchio, and the exponents of n that fit the kernels' times."""
    found = []
    medians: dict[tuple[str, str], list[float]] = {}
    for n in sizes:
        for row in _compare(chain(n), repeats):
            found.append(row)
            medians.setdefault((row["algorithm"], row["route"]), []).append(row["median"])
            if row["route"] == KERNEL:
                medians.setdefault((row["algorithm"], "kernel, operations"), []).append(row["operations"])
    found += _compare(person(), repeats)
    for system, asked in ((person(), 5.0), (chain(8), None), (chain(32), None)):
        found += _compare_derivatives(system, repeats, asked)
    found += _compare_entries(person(), repeats)
    return found + [_exponent(*key, sizes, values) for key, values in medians.items()]


def _compare(system: ArticulatedSystem, repeats: int) -> list[dict[str, Any]]:
    peers = {PINOCCHIO: PinocchioLoop(system), MUJOCO: MujocoLoop(system)}
    found = []
    for algorithm, kernel in _kernels(system).items():
        count = _block(kernel)
        states = random_state(system, count)
        differences = _differences(algorithm, kernel, peers, states)
        routes = {KERNEL: _kernel_route(kernel, states)}
        routes |= {name: _peer_route(peer, algorithm, states) for name, peer in peers.items()}
        if algorithm == "CRBA":
            routes[WRITING] = _writing_route(kernel, states)
        work = f"{algorithm}, {system.name}, per state"
        for row in rows(work, alternate(routes, repeats), PINOCCHIO, algorithm=algorithm):
            operations = kernel.instructions if row["route"] == KERNEL else None
            found.append({**row, "difference": differences.get(row["route"]), "operations": operations})
    return found


def _compare_derivatives(system: ArticulatedSystem, repeats: int, asked: float | None) -> list[dict[str, Any]]:
    """Derivatives of forward dynamics, which MuJoCo has by differences only.

    Pinocchio's lose their digits along chains of spherical joints, as its ABA does: residual is that of the kernel."""
    nu, peer = system.nu, PinocchioLoop(system)
    sizes = {"q": system.nq, "u": nu, "x": nu}
    kernel = kernels.compile(lambda q, u, x: forward_derivatives(system, q, u, x), sizes)
    states = random_state(system, DERIVATIVE_STATES)
    residual = _residual(system, kernel, states)
    routes = {KERNEL: _kernel_route(kernel, states), PINOCCHIO: _peer_route(peer, DERIVATIVES, states)}
    routes[WRITING] = _writing_route(kernel, states)
    work = f"derivatives of ABA, {system.name}, per state"
    return rows(work, alternate(routes, repeats), PINOCCHIO, algorithm="derivatives of ABA", asked=asked,
                residual=residual)  # fmt: skip


def _residual(system: ArticulatedSystem, kernel: kernels.Kernel, states: tuple[np.ndarray, ...]) -> float:
    """The greatest entry of M dudot + dtau, of dudot by the kernel and dtau by inverse dynamics, over that of dtau.

    AssertionError where it is not round-off."""
    (q, u, tau), nu = states, system.nu
    by_motion = inverse_derivatives(system, q, u, articulated.forward(system, q, u, tau))
    dtau, M = by_motion[..., : 2 * nu], by_motion[..., 2 * nu :]
    found = float(np.abs(M @ kernel(*states)[..., : 2 * nu] + dtau).max() / np.abs(dtau).max())
    assert found <= RESIDUAL, f"derivatives of {system.name}: residual {found}"
    return found


def _compare_entries(system: ArticulatedSystem, repeats: int) -> list[dict[str, Any]]:
    """The entries of the mass matrix that the tree has, without the zeros, beside Pinocchio's upper triangle."""
    rows_of, columns = factor.pattern(factor.ancestors(system))
    kernel = kernels.compile(lambda q: composite.mass(system, q)[..., rows_of, columns], {"q": system.nq})
    states = random_state(system, 512)
    routes = {KERNEL: _kernel_route(kernel, states), PINOCCHIO: _peer_route(PinocchioLoop(system), "CRBA", states)}
    work = f"entries of M, {system.name}, per state"
    return rows(work, alternate(routes, repeats), PINOCCHIO, algorithm="entries of M", asked=6.0)


def _kernels(system: ArticulatedSystem) -> dict[str, kernels.Kernel]:
    q, u, x = {"q": system.nq}, {"u": system.nu}, {"x": system.nu}
    return {
        "ABA": kernels.compile(lambda q, u, x: articulated.forward(system, q, u, x), q | u | x),
        "RNEA": kernels.compile(lambda q, u, x: inverse.inverse(system, q, u, x), q | u | x),
        "CRBA": kernels.compile(lambda q: composite.mass(system, q), q),
    }


def _block(kernel: kernels.Kernel) -> int:
    """States whose arrays fill the cache, at least 16, in whole registers."""
    shapes = [*kernel.inputs.values(), *kernel.outputs.values()]
    return min(2**15, max(16, BLOCK_BYTES // (8 * sum(map(math.prod, shapes))) // 8 * 8))


def _kernel_route(kernel: kernels.Kernel, states: tuple[np.ndarray, ...]) -> Route:
    arguments = states[: len(kernel.inputs)]
    out = kernel(*arguments)
    return _repeated(lambda: kernel(*arguments, out=out, threads=1), len(states[0]))


def _writing_route(kernel: kernels.Kernel, states: tuple[np.ndarray, ...]) -> Route:
    out = kernel(*states[: len(kernel.inputs)])
    return _repeated(lambda: out.fill(1.0), len(states[0]))


def _peer_route(peer: Any, algorithm: str, states: tuple[np.ndarray, ...]) -> Route:
    converted = [np.ascontiguousarray(x) for x in peer.state(algorithm, *states)]
    out = peer.out(algorithm, len(states[0]))
    return _repeated(lambda: peer(algorithm, *converted, out), len(states[0]))


def _repeated(call: Any, count: int) -> Route:
    """The call as often as fills about 20 ms."""
    call()
    start = time.perf_counter()
    call()
    times = max(1, round(0.02 / (time.perf_counter() - start)))
    return Route(lambda: [call() for _ in range(times)], times * count)


def _differences(
    algorithm: str, kernel: kernels.Kernel, peers: dict[str, Any], states: tuple[np.ndarray, ...]
) -> dict[str, float]:
    """Largest difference between each peer's numbers and the kernel's, relative to the largest number.

    AssertionError if the kernel agrees with no peer, or, but for ABA, not with all. Pinocchio's articulated inertias
    cancel along chains of spherical joints. Its ABA therefore has no right digit left at n = 64, as its own RNEA says.
    """
    value = kernel(*states[: len(kernel.inputs)])
    found = {}
    for name, peer in peers.items():
        out = peer.out(algorithm, len(states[0]))
        peer(algorithm, *(np.ascontiguousarray(x) for x in peer.state(algorithm, *states)), out)
        expected = peer.result(algorithm, states[0], states[1], value)
        found[name] = float(np.abs(peer.filled(algorithm, out) - expected).max() / np.abs(expected).max())
    agreement = min if algorithm == "ABA" else max
    assert agreement(found.values()) <= TOLERANCE, f"{algorithm}: the kernel differs by {found}"
    return found


def _exponent(algorithm: str, route: str, sizes: tuple[int, ...], values: list[float]) -> dict[str, Any]:
    """Slope of log value over log n, fitted from n = 8 on, and between the last two n.

    The first is above the operations' where code and values outgrow one cache after the other; the last is what
    remains.
    """
    kept = np.log([(n, value) for n, value in zip(sizes, values, strict=True) if n >= 8]).T
    last = np.log([sizes[-2:], values[-2:]])
    return {
        "work": "exponent of n in time or operations",
        "route": route,
        "algorithm": algorithm,
        "fitted, n >= 8": float(np.polyfit(*kept, 1)[0]) if kept.size > 2 else math.nan,
        f"n = {sizes[-2]} to {sizes[-1]}": float(np.diff(last[1])[0] / np.diff(last[0])[0]),
    }
