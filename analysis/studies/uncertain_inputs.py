"""The uncertain inputs of a recorded trial, as stated distributions, and their samples.

Each source is one random element of many independent numbers. The design is that of Saltelli. Of rows A and B every
source is exchanged in turn. Therefore rows (sources + 2) samples give the bands and the share of each source in the
variance [A. Saltelli and others, Variance based sensitivity analysis of model output, Comput. Phys. Commun. 181, 2010].

From markers to motions, and the motions that a trial has with other markers.

Of a recorded motion without markers, the model's own markers at its poses stand for those that were seen. The
differences of the poses that are fitted to them move the recorded ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from myoquat.analysis.motion import FitOptions, FittedMotion, inverse_kinematics, smooth
from myoquat.analysis.recruitment import consistent_derivatives
from myoquat.analysis.studies.design import Axis, Design
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Markers, Motion
from myoquat.joints.vectors import matvec
from myoquat.muscle import Model, Parameters

__all__ = ["SOURCES", "MotionSteps", "RecordedTrial", "Samples", "UncertainInputs", "VariedNumbers"]

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


OF_MASS = ("mass", *(f"inertia.{axes}" for axes in ("xx", "yy", "zz", "xy", "xz", "yz")))
CENTRE = tuple(f"center_of_mass.{axis}" for axis in "xyz")
ADDED = ("attachments",)  # the others are factors
OF_MUSCLES = ("strengths", "attachments")


@dataclass(frozen=True)
class VariedNumbers:
    """The parameters of a model's uncertain sources: of each source the columns (n,) and, for each column, the number
    of its independent draw."""

    parameters: Parameters
    columns: dict[str, tuple[Array, Array]]

    @classmethod
    def of(cls, model: Model, sources: Sequence[str]) -> "VariedNumbers | None":
        """Those of some of the sources; None where the model has none of their numbers."""
        known = set(Parameters.of(model, "bodies.*").names)
        if model.muscles:
            known |= set(Parameters.of(model, "muscles.*").names)
        names: list[str] = []
        columns = {}
        for source in (s for s in _DRAWS if s in sources):
            own = [(name, k) for k, draw in enumerate(_DRAWS[source](model)) for name in draw if name in known]
            if own:
                columns[source] = np.arange(len(names), len(names) + len(own)), np.array([k for _, k in own])
                names += [name for name, _ in own]
        return cls(Parameters.of(model, names), columns) if names else None

    def drawn(self, samples: Samples, keys: dict[str, int]) -> Array:
        """(n,) the parameters of a sample."""
        p = self.parameters.defaults.copy()
        for source, (columns, draws) in self.columns.items():
            normal = samples.generator(source, keys[source]).standard_normal(draws.max() + 1)
            change = getattr(samples.inputs, source) * normal[draws]
            p[columns] = p[columns] + change if source in ADDED else p[columns] * np.exp(change)
        return p


# ---- of each source, the names that each of its independent draws changes ------------------------------------------


def _strengths(model: Model) -> list[list[str]]:
    return [[f"muscles.{m.name}.max_isometric_force"] for m in model.muscles]


def _attachments(model: Model) -> list[list[str]]:
    ends = [(m.name, k) for m in model.muscles for k in (0, len(m.path.points) - 1)]
    return [[f"muscles.{name}.path.{k}.position.{axis}"] for name, k in ends for axis in "xyz"]


def _inertias(model: Model) -> list[list[str]]:
    bodies = [b.name for b in model.system.bodies if b.mass > 0]
    return [[f"bodies.{name}.{number}" for number in draw] for name in bodies for draw in (OF_MASS, CENTRE)]


_DRAWS = {"strengths": _strengths, "attachments": _attachments, "inertias": _inertias}


OF_MARKERS = ("marker_placement", "marker_noise")


@dataclass(frozen=True)
class MotionSteps:
    """The steps from markers to a motion with derivatives.

    weights      of `inverse_kinematics`
    coordinates  wanted ones, of `inverse_kinematics`
    options      of `inverse_kinematics`
    cutoff       [Hz] of `smooth`
    method       of `smooth`
    consistent   whether `consistent_derivatives` follows
    order        of `smooth`

    >>> from myoquat.analysis.studies import MotionSteps
    >>> MotionSteps(cutoff=3.0).method
    'rotations'
    """

    weights: Mapping[str, float] | None = None
    coordinates: Mapping[str, ArrayLike] | None = None
    options: FitOptions = field(default_factory=FitOptions)
    cutoff: float | None = 6.0
    method: Literal["rotations", "angles"] = "rotations"
    consistent: bool = False
    order: int = 4

    def fitted(self, model: Model, markers: Markers, start: Array | None = None) -> FittedMotion:
        """The motion that fits the markers, near poses start (t, nq)."""
        options = self.options if start is None else replace(self.options, start=start)
        return inverse_kinematics(model, markers, self.weights, coordinates=self.coordinates, options=options)

    def moving(self, model: Model, motion: Motion) -> Motion:
        """The motion with u and udot."""
        found = smooth(motion, self.cutoff, order=self.order, model=model, method=self.method)
        return consistent_derivatives(model, found) if self.consistent else found


class RecordedTrial:
    """Markers, or a motion, of a model, and the poses that belong to other markers."""

    def __init__(self, model: Model, recording: Markers | Motion, steps: MotionSteps) -> None:
        self.model, self.steps = model, steps
        if isinstance(recording, Markers):
            self.markers, self.fit = recording, steps.fitted(model, recording)
            self.poses: Motion = self.fit
        else:
            self.poses = Motion(model.system, recording.time, recording.q)
            self.markers = _own_markers(model, self.poses)
            self.steps = replace(steps, weights=None, coordinates=None)
            if self.markers.names:
                self.fit = self.steps.fitted(model, self.markers, self.poses.q)

    def usable(self, sources: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the sources that the trial has: without markers none of them."""
        return tuple(name for name in sources if self.markers.names or name not in OF_MARKERS)

    def poses_of(self, samples: Samples, keys: dict[str, int]) -> Motion:
        """The poses of a sample."""
        if not any(name in keys for name in OF_MARKERS):
            return self.poses
        positions = self.markers.positions.copy()
        if "marker_placement" in keys:
            shift = samples.generator("marker_placement", keys["marker_placement"]).standard_normal(positions.shape[1:])
            positions += self._carried(samples.inputs.marker_placement * shift)
        if "marker_noise" in keys:
            noise = samples.generator("marker_noise", keys["marker_noise"]).standard_normal(positions.shape)
            positions += samples.inputs.marker_noise * noise
        fit = self.steps.fitted(self.model, replace(self.markers, positions=positions), self.fit.q)
        system = self.model.system
        return Motion(system, self.poses.time, system.integrate(self.poses.q, system.difference(self.fit.q, fit.q)))

    def moving(self, samples: Samples, keys: dict[str, int]) -> Motion:
        """The motion of a sample, with u and udot."""
        return self.steps.moving(self.model, self.poses_of(samples, keys))

    def _carried(self, shift: Array) -> Array:
        """(t, n, 3) shifts (n, 3) along the axes of the markers' bodies, in the laboratory."""
        poses, of_body = self.model.system.poses(self.fit.q), {m.name: m.body for m in self.model.markers}
        found = np.zeros(self.markers.positions.shape)
        for k, name in enumerate(self.markers.names):
            if name in of_body:
                found[:, k] = matvec(poses[of_body[name]][0], shift[k])
        return found


def _own_markers(model: Model, motion: Motion) -> Markers:
    """The model's markers at the poses of a motion."""
    poses, count = model.system.poses(motion.q), len(motion.time)
    seen = [poses[m.body][1] + matvec(poses[m.body][0], np.array(m.position)) for m in model.markers]
    positions = np.stack([np.broadcast_to(x, (count, 3)) for x in seen], axis=1) if seen else np.zeros((count, 0, 3))
    return Markers(motion.time, tuple(m.name for m in model.markers), positions)
