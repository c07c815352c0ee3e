"""Elementary functions of kernels: largest error in units of the last place, and nanoseconds per element.

The reference are the C library's functions in long double (64 bits of mantissa or more). They are right to a few of
their own units in the last place. Arguments are random bit patterns: every exponent, denormals, infinities, NaN.
Further ones are random numbers whose exponents are spread evenly where the function is not trivial.

    python -m benchmarks.own.elementary [ARGUMENTS PER FUNCTION]
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat import kernels

_CHUNK = 1_000_000
Sampler = Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]


def _spread(low: float, high: float, signed: bool = True) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Numbers 2^e, e evenly spread from low to high, with random signs."""

    def draw(rng: np.random.Generator, count: int) -> np.ndarray:
        x = np.exp2(rng.uniform(low, high, count))
        return x * rng.choice([-1.0, 1.0], count) if signed else x

    return draw


def _patterns(rng: np.random.Generator, count: int) -> np.ndarray:
    """Doubles of random bits."""
    return rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)


@dataclass(frozen=True)
class Case:
    """A function: its NumPy formula, and where its arguments are interesting."""

    formula: Callable[..., Any]
    spread: Callable[[np.random.Generator, int], np.ndarray]
    timed: tuple[float, float]
    arity: int = 1

    def arguments(self, rng: np.random.Generator, count: int) -> list[np.ndarray]:
        """`count` arguments, a quarter of them random patterns."""
        quarter = count // 4
        return [np.concatenate([_patterns(rng, quarter), self.spread(rng, count - quarter)]) for _ in range(self.arity)]


FUNCTIONS = {
    "sin": Case(np.sin, _spread(-40, 60), (-10, 10)),
    "cos": Case(np.cos, _spread(-40, 60), (-10, 10)),
    "tan": Case(np.tan, _spread(-40, 60), (-10, 10)),
    "exp": Case(np.exp, _spread(-60, 9.6), (-10, 10)),
    "expm1": Case(np.expm1, _spread(-60, 9.6), (-10, 10)),
    "log": Case(np.log, _spread(-1074, 1024, signed=False), (0.1, 10)),
    "log1p": Case(np.log1p, _spread(-60, 60), (-0.9, 10)),
    "sinh": Case(np.sinh, _spread(-60, 9.6), (-10, 10)),
    "cosh": Case(np.cosh, _spread(-60, 9.6), (-10, 10)),
    "asinh": Case(np.arcsinh, _spread(-60, 60), (-10, 10)),
    "tanh": Case(np.tanh, _spread(-60, 6), (-3, 3)),
    "asin": Case(np.arcsin, _spread(-30, 0), (-1, 1)),
    "acos": Case(np.arccos, _spread(-30, 0), (-1, 1)),
    "atan": Case(np.arctan, _spread(-30, 60), (-10, 10)),
    "atan2": Case(np.arctan2, _spread(-30, 30), (-10, 10), arity=2),
    "pow": Case(np.power, _spread(-9, 9), (0.1, 3), arity=2),
}


def run(arguments: int = 1_000_000, names: list[str] | None = None, seed: int = 0) -> list[dict[str, Any]]:
    """One row per function: name, arguments, largest error [ulp], where, and ns per element at the native width."""
    rows = []
    for name in names or FUNCTIONS:
        case = FUNCTIONS[name]
        kernel = _kernel(name, 8)
        error, where = largest_error(kernel, case, arguments, np.random.default_rng(seed))
        row = {"function": name, "arguments": arguments, "ulp": error, "ns": _time(kernel, case)}
        rows.append({"work": "one function, largest error and ns per element", **row, "at": _shown(where)})
    return rows


def _shown(arguments: tuple[float, ...]) -> str:
    return ", ".join(f"{x:.17g}" for x in arguments)


def _kernel(name: str, length: int) -> kernels.Kernel:
    case = FUNCTIONS[name]
    return kernels.compile(case.formula, {f"x{k}": length for k in range(case.arity)}, name=name)


def largest_error(
    kernel: kernels.Kernel, case: Case, count: int, rng: np.random.Generator
) -> tuple[float, tuple[float, ...]]:
    """(largest error in ulp, its arguments) over `count` arguments; infinite if a special value is wrong."""
    worst, where = 0.0, (0.0,) * case.arity
    for begin in range(0, count, _CHUNK):
        size = -(-min(_CHUNK, count - begin) // 8) * 8
        x = case.arguments(rng, size)
        errors = _errors(case, kernel(*(a.reshape(-1, 8) for a in x)).ravel(), x)
        at = int(np.argmax(errors))
        if errors[at] > worst:
            worst, where = float(errors[at]), tuple(float(a[at]) for a in x)
    return worst, where


def _errors(case: Case, value: np.ndarray, x: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        exact = case.formula(*(a.astype(np.longdouble) for a in x))
        rounded = exact.astype(np.float64)
        distance = np.abs(value.astype(np.longdouble) - exact) / np.spacing(np.abs(rounded))
        same = (value == rounded) | (np.isnan(value) & np.isnan(rounded))
        special = ~np.isfinite(rounded) | ~np.isfinite(value)
        overflow = np.isinf(value) & (np.abs(exact) > np.finfo(np.float64).max * (1 - 2.0**-52))
        distance = np.where(special, np.where(same | overflow, 0.0, np.inf), distance)
    return np.where(same, np.minimum(distance, 0.5), distance).astype(np.float64)


def _time(kernel: kernels.Kernel, case: Case) -> float:
    """Median nanoseconds per element, arrays of 512 KiB, in the second-level cache, one thread."""
    rng = np.random.default_rng(1)
    x = [rng.uniform(*case.timed, (8192, 8)) for _ in range(case.arity)]
    out = np.empty((8192, 8))
    times = []
    for _ in range(21):
        start = time.perf_counter()
        for _ in range(10):
            kernel(*x, out=out, threads=1)
        times.append((time.perf_counter() - start) / 10)
    return float(np.median(times)) / out.size * 1e9


def main() -> None:
    """Print the table."""
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    print(f"{'function':>8}  {'ulp':>6}  {'ns':>6}  worst at ({count} arguments each)")
    for name in FUNCTIONS:
        (row,) = run(count, [name])
        print(f"{row['function']:>8}  {row['ulp']:6.3f}  {row['ns']:6.2f}  {row['at']}", flush=True)


if __name__ == "__main__":
    main()
