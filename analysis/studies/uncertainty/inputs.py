"""The uncertain inputs of a recorded trial, as stated distributions, and their samples.

Each source is one random element of many independent numbers. The design is that of Saltelli. Of rows A and B every
source is exchanged in turn. Therefore rows (sources + 2) samples give the bands and the share of each source in the
variance [A. Saltelli and others, Variance based sensitivity analysis of model output, Comput. Phys. Commun. 181, 2010].
"""

from functools import cached_property

import numpy as np

from myoquat.analysis.studies.definition.design import Design
from myoquat.analysis.studies.definition.vary import Axis
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["SOURCES", "Samples", "UncertainInputs"]

SOURCES = ("marker_placement", "marker_noise", "strengths", "attachments", "inertias")
MIN_SAMPLES = 8
KEYS = 2**53  # a share in [0, 1) as a whole number


@dataclass(frozen=True)
class UncertainInputs:
    """Standard deviations of a trial's inputs, each independent of all others; 0 leaves a source out.

    marker_placement  [m] of each marker along each axis of its body, the same in all frames: skin and palpation.
    marker_noise      [m] of each marker along each axis of the laboratory, of each frame by itself: the cameras.
    strengths         of the logarithm of each muscle's greatest isometric force: log-normal with the model's as median.
    attachments       [m] of the first and the last point of each muscle's path, along each axis of their bodies.
    inertias          of the logarithm of each body's mass, with which its inertia goes, and of the distance of its
                      centre of mass from its joint.

    samples  at least that many are evaluated: the rows of Saltelli's design are the next power of 2.
    seed     of all draws; the same seed gives the same bits.
    level    the share of the samples within the bands.
    frames   at most that many frames, evenly spread, are evaluated; None for all. Filters see all of them.

    The defaults are assumptions of this toolkit; no number is taken from a study. State those of your laboratory. The
    sources are those whose uncertainty studies of gait propagate: markers, body segments and muscles [C. A. Myers, P.
    J. Laz, K. B. Shelburne, B. S. Davidson, A probabilistic approach to quantify the impact of uncertainty propagation
    in musculoskeletal simulations, Ann. Biomed. Eng. 43, 2015], landmarks, muscle tension and muscle geometry [G.
    Valente and others, Are subject-specific musculoskeletal models robust to the uncertainties in parameter
    identification?, PLoS ONE 9, 2014]. Movement of skin over bone during the trial, the greatest source of the first
    study, is not among them.

    ValueError for a deviation that is negative or not finite, all of them zero, a level outside (0, 1), and fewer
    than 8 samples or 2 frames.

    >>> from myoquat.analysis.studies import UncertainInputs
    >>> UncertainInputs(marker_noise=0.0).sources
    ('marker_placement', 'strengths', 'attachments', 'inertias')
    """

    marker_placement: float = 0.005
    marker_noise: float = 0.0005
    strengths: float = 0.2
    attachments: float = 0.003
    inertias: float = 0.1
    samples: int = 1000
    seed: int = 0
    level: float = 0.9
    frames: int | None = 101

    def __post_init__(self) -> None:
        for name in SOURCES:
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ValueError(f"{name} must be finite and not negative, not {getattr(self, name)}")
        if not self.sources:
            raise ValueError(f"all deviations are zero; at least one of {', '.join(SOURCES)} must be positive")
        if self.samples < MIN_SAMPLES:
            raise ValueError(f"samples must be at least {MIN_SAMPLES}, not {self.samples}")
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie between 0 and 1, not {self.level}")
        if self.frames is not None and self.frames < 2:
            raise ValueError(f"frames must be at least 2, or None for all, not {self.frames}")

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources with a positive deviation."""
        return tuple(name for name in SOURCES if getattr(self, name) > 0)

    def times(self, count: int) -> Array:
        """Numbers of the frames that are evaluated, of `count`."""
        if self.frames is None or self.frames >= count:
            return np.arange(count)
        return np.unique(np.linspace(0, count - 1, self.frames).round().astype(int))


@dataclass(frozen=True)
class Samples:
    """Saltelli's design over some of the sources: a sample is a generator of random numbers for each of them."""

    inputs: UncertainInputs
    sources: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Of each matrix: a power of 2, at least 2."""
        return int(2 ** max(np.ceil(np.log2(self.inputs.samples / self.matrices)), 1))

    @property
    def matrices(self) -> int:
        """A, B, and A with each source of B."""
        return len(self.sources) + 2

    @cached_property
    def _shares(self) -> Array:
        """(matrices, rows, sources) in [0, 1)."""
        axes = tuple(Axis(name, (k,), quantile=np.asarray) for k, name in enumerate(self.sources))
        design = Design("saltelli", axes, np.zeros(len(axes)), self.rows, self.inputs.seed)
        found: Array = design.values(0, design.count).reshape(self.matrices, self.rows, len(axes))
        return found

    def keys(self, matrix: int, row: int) -> dict[str, int]:
        """A number of each source: equal numbers are the same draw."""
        shares = self._shares[matrix, row]
        return {name: int(share * KEYS) for name, share in zip(self.sources, shares, strict=True)}

    def generator(self, source: str, key: int) -> np.random.Generator:
        """The random numbers of a draw."""
        return np.random.default_rng([self.inputs.seed, SOURCES.index(source), key])
