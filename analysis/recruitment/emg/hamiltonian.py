"""Hamiltonian Monte Carlo on a density that Laplace's approximation nearly describes.

With H = L L' the second derivatives at the optimum z0, z = z0 + L'^-1 y. In y the density is nearly a standard normal
one, so that one step size and one length of paths serve all directions. Leapfrog paths of about a quarter period, each
of a random length, accepted by Metropolis' rule [R. M. Neal, MCMC using Hamiltonian dynamics, Handbook of Markov Chain
Monte Carlo, 2011, ch. 5]; the step size is adapted while samples are thrown away [M. D. Hoffman, A. Gelman, The
No-U-Turn sampler, JMLR 15, 2014, sec. 3.2]. A path that diverges stops and is not accepted.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.typing import Array

__all__ = ["Chains", "hamiltonian_monte_carlo"]

LONGEST_PATH = np.pi / 2  # a quarter period of a standard normal density
MOST_STEPS = 32  # of one path
LARGEST_STEP = 1.5  # leapfrog on a standard normal density is stable below 2
TARGET_ACCEPTANCE = 0.8  # share of accepted paths that the step size aims at
GAMMA, DELAY, DECAY = 0.05, 10.0, 0.75  # dual averaging, as in the source
MAX_ENERGY_GAIN = 1000.0  # of a path


@dataclass(frozen=True, eq=False)
class Chains:
    """Markov chains of Hamiltonian Monte Carlo.

    draws     (chains, samples, n)
    step      the step size
    accepted  the mean probability of acceptance
    diverged  number of paths with such a gain of energy that the step was too long
    """

    draws: Array
    step: float
    accepted: float
    diverged: int

    @property
    def potential_scale_reduction(self) -> Array:
        """(n,) split R-hat: near 1 where the halves of all chains tell the same [Gelman and others, Bayesian Data
        Analysis, 3rd ed., 2013, eq. 11.4]."""
        half = self.draws.shape[1] // 2
        parts = np.concatenate([self.draws[:, :half], self.draws[:, half : 2 * half]])
        within = parts.var(axis=1, ddof=1).mean(axis=0)
        between = half * parts.mean(axis=1).var(axis=0, ddof=1)
        result: Array = np.sqrt(((half - 1) / half * within + between / half) / within)
        return result


def hamiltonian_monte_carlo(
    density: Callable[[Array], tuple[Array, Array]], center: Array, precision: Array, *,
    chains: int = 4, samples: int = 250, warm_up: int = 100, seed: int = 0,
) -> Chains:  # fmt: skip
    """Draws from exp(-U): `density` gives U (c,) and its gradient (c, n) at z (c, n), all chains at once.

    center (n,) is the optimum and precision (n, n) the second derivatives there; chains start at draws of that normal
    distribution. The same seed gives the same bits.
    """
    rng = np.random.default_rng(seed)
    L = np.linalg.cholesky(precision)

    def at(y: Array) -> tuple[Array, Array, Array]:
        z = center + scipy.linalg.solve_triangular(L, y.T, trans=1, lower=True, check_finite=False).T
        value, gradient = density(z)
        return z, value, scipy.linalg.solve_triangular(L, gradient.T, lower=True, check_finite=False).T

    y = rng.normal(size=(chains, len(center)))
    state = (y, *at(y))
    tuned = _StepSize(0.3)
    draws = np.empty((chains, samples, len(center)))
    accepted, diverged = [], 0
    for k in range(warm_up + samples):
        step = tuned.trial if k < warm_up else tuned.mean
        state, probability, lost = _path(at, state, step, rng)
        if k < warm_up:
            tuned.learn(float(probability.mean()))
        else:
            draws[:, k - warm_up] = state[1]
            accepted.append(probability.mean())
            diverged += lost
    return Chains(draws, tuned.mean, float(np.mean(accepted)) if accepted else np.nan, diverged)


State = tuple[Array, Array, Array, Array]  # y, z, U and its gradient by y


def _path(at: Callable[[Array], tuple[Array, Array, Array]], state: State, step: float,
          rng: np.random.Generator) -> tuple[State, Array, int]:  # fmt: skip
    """The states after one path of every chain, the probabilities (c,) of acceptance, and how many paths diverged."""
    y, z, value, slope = state
    p = rng.normal(size=y.shape)
    start = value + 0.5 * np.sum(p * p, axis=-1)
    count = min(max(int(np.ceil(rng.uniform(0.5, 1.0) * LONGEST_PATH / step)), 1), MOST_STEPS)
    there, found, ahead, gradient = y, z, value, slope
    lost = np.zeros(len(y), dtype=bool)
    for _ in range(count):
        p = p - 0.5 * step * gradient
        there = there + step * p
        with np.errstate(over="ignore", invalid="ignore"):  # of a path that diverges
            found, ahead, gradient = at(there)
        lost |= ~np.isfinite(ahead) | (ahead - start > MAX_ENERGY_GAIN) | ~np.isfinite(gradient).all(axis=-1)
        stopped = lost[:, None]
        there, gradient = np.where(stopped, y, there), np.where(stopped, slope, gradient)
        p = np.where(stopped, 0.0, p - 0.5 * step * gradient)
    gain = np.where(lost, np.inf, ahead + 0.5 * np.sum(p * p, axis=-1) - start)
    probability = np.exp(-np.maximum(gain, 0.0))
    taken = rng.uniform(size=len(y)) < probability
    pick = taken[:, None]
    new = (np.where(pick, there, y), np.where(pick, found, z), np.where(taken, ahead, value),
           np.where(pick, gradient, slope))  # fmt: skip
    return new, probability, int(lost.sum())


class _StepSize:
    """Dual averaging of the logarithm of the step size."""

    def __init__(self, start: float) -> None:
        self.center, self.error, self.count = np.log(10 * start), 0.0, 0
        self.trial = self.mean = start

    def learn(self, accepted: float) -> None:
        """One more path's probability of acceptance."""
        self.count += 1
        weight = 1 / (self.count + DELAY)
        self.error = (1 - weight) * self.error + weight * (TARGET_ACCEPTANCE - accepted)
        logarithm = self.center - np.sqrt(self.count) / GAMMA * self.error
        decay = self.count**-DECAY
        logarithm = min(logarithm, np.log(LARGEST_STEP))
        self.trial = float(np.exp(logarithm))
        self.mean = float(np.exp(decay * logarithm + (1 - decay) * np.log(self.mean)))
