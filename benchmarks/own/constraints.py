"""The forms of constrained motion: their cost, and the drawbacks of the classical one, each in numbers.

Cost at n = 30 velocities and k = 10 constraints, many systems in one call. Then: an instability point, where two rows
of A come together; and constraints that contradict each other, with and without priorities.
"""

from typing import Any

import numpy as np

from benchmarks.measure import Route, alternate, rows
from myoquat.dynamics.udwadia_kalaba import augmented, classical, kkt, priorities, working

N, K, BATCH = 30, 10, 200
FORMS = {"classical": classical, "working": working, "augmented": augmented, "kkt": kkt}


def run() -> list[dict[str, Any]]:
    """Rows of cost, then rows of the two cases."""
    rng = np.random.default_rng(0)
    M, Q, A, b = _case(rng, N, K, BATCH)
    found = {name: form(M, Q, A, b).acceleration for name, form in FORMS.items()}
    single = priorities(M[0], Q[0], [(A[0], b[0])])
    for a in found.values():
        np.testing.assert_allclose(a, found["classical"], atol=1e-8)
    np.testing.assert_allclose(single.acceleration, found["classical"][0], atol=1e-8)
    routes = {name: Route(lambda form=form: form(M, Q, A, b), BATCH) for name, form in FORMS.items()}
    routes["priorities, one level"] = Route(lambda: [priorities(M[i], Q[i], [(A[i], b[i])]) for i in range(20)], 20)
    table = rows(f"n = {N}, k = {K}, per system", alternate(routes, 5), "classical", "us")
    return [*table, *_instability(rng), *_contradiction(rng)]


def _case(rng: np.random.Generator, n: int, k: int, batch: int) -> tuple[np.ndarray, ...]:
    B = rng.normal(size=(batch, n, n))
    M = B @ np.swapaxes(B, -1, -2) / n + 0.1 * np.eye(n)
    return M, rng.normal(size=(batch, n)), rng.normal(size=(batch, k, n)), rng.normal(size=(batch, k))


def _instability(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Two rows apart by d, their right sides by a rounding of 1e-12: how large the acceleration becomes."""
    M, Q, A, b = (x[0] for x in _case(rng, 6, 2, 1))
    way = rng.normal(size=6)
    found = []
    for d in (1e-3, 1e-6, 1e-9, 1e-12, 0.0):
        near, sides = np.stack([A[0], A[0] + d * way]), np.array([b[0], b[0] + 1e-12])
        result = working(M, Q, near, sides)
        row = {"work": "instability point: two rows apart by d", "route": f"working, d = {d:g}"}
        found.append(row | {"rank": int(result.rank), "|a|": float(np.linalg.norm(result.acceleration))})
    return found


def _contradiction(rng: np.random.Generator) -> list[dict[str, Any]]:
    """One row that wants 0, the same one that wants 1: what each form leaves of both."""
    M, Q, A, _ = (x[0] for x in _case(rng, 6, 2, 1))
    both, sides = A[[0, 0]], np.array([0.0, 1.0])
    results = {
        "working: the mean": working(M, Q, both, sides),
        "priorities: the first": priorities(M, Q, [(both[:1], sides[:1]), (both[1:], sides[1:])]),
        "weights 3 to 1": priorities(M, Q, [(both, sides)], weights=[[3.0, 1.0]]),
    }
    work = "contradiction: A a = 0 and A a = 1"
    return [
        {"work": work, "route": name, "left of the first": r.residual[0], "left of the second": r.residual[1]}
        for name, r in results.items()
    ]
