"""Curves of a trial with bands, and the share of each of its uncertain inputs in their variance.

Each source is one random element of many independent numbers. The design is that of Saltelli. Of rows A and B every
source is exchanged in turn. Therefore rows (sources + 2) samples give the bands and the share of each source in the
variance [A. Saltelli and others, Variance based sensitivity analysis of model output, Comput. Phys. Commun. 181, 2010].

Of a recorded motion without markers, the model's own markers at its poses stand for those that were seen. The
differences of the poses that are fitted to them move the recorded ones.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
import pandas as pd

from myoquat.analysis.motion import FittedMotion, inverse_kinematics, smooth
from myoquat.analysis.recruitment import consistent_derivatives
from myoquat.analysis.recruitment.convex import are_met, solve_programs
from myoquat.analysis.recruitment.joint_loads import JointLoads
from myoquat.analysis.recruitment.redundancy import Effort
from myoquat.analysis.recruitment.redundancy.actuators import Reserves
from myoquat.analysis.recruitment.redundancy.coupled import recruited
from myoquat.analysis.recruitment.redundancy.equations import secants
from myoquat.analysis.recruitment.stability import StabilityRule
from myoquat.core import (
    Array,
    ArrayLike,
    Curve,
    Curves,
    check_items,
    check_types,
    figure_label,
    frozen,
    indices_of,
    time_table,
)
from myoquat.data.motions import Forces, Markers, Motion
from myoquat.data.tables import column_units
from myoquat.joints.evaluation import traced_once
from myoquat.joints.ranges import NotNegative, Range, check_ranges
from myoquat.joints.vectors import matvec
from myoquat.muscle import Model, Parameters
from myoquat.muscle.loads import world_point

from .engine import VariedDemands
from .results import saltelli_indices
from .specification import Axis, Design

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SOURCES = ("marker_placement", "marker_noise", "strengths", "attachments", "inertias")
MIN_SAMPLES = 8
KEYS = 2**53  # a share in [0, 1) as a whole number


@frozen
class UncertainInputs:
    """Standard deviations of a trial's inputs, each independent of all others; 0 leaves a source out.

    marker_placement  [m] of each marker along each axis of its body, the same in all frames: skin and palpation.
    marker_noise      [m] of each marker along each axis of the laboratory, of each frame by itself: the cameras.
    strengths         of the logarithm of each muscle's greatest isometric force: log-normal with the model's as median.
    attachments       [m] of the first and the last point of each muscle's path, along each axis of their bodies; a
                      fitted path has none.
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

    marker_placement: NotNegative = 0.005
    marker_noise: NotNegative = 0.0005
    strengths: NotNegative = 0.2
    attachments: NotNegative = 0.003
    inertias: NotNegative = 0.1
    samples: int = 1000
    seed: int = 0
    level: Annotated[float, Range(0.0, 1.0, open_low=True, open_high=True)] = 0.9
    frames: int | None = 101

    def __post_init__(self) -> None:
        check_ranges(self, None)
        if not self.sources:
            raise ValueError(f"all deviations are zero; at least one of {', '.join(SOURCES)} must be positive")
        if self.samples < MIN_SAMPLES:
            raise ValueError(f"samples must be at least {MIN_SAMPLES}, not {self.samples}")
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


@frozen
class Draw:
    """The random numbers of a sample by source; equal keys are the same numbers."""

    inputs: UncertainInputs
    keys: dict[str, int]

    def deviations(self, source: str, *shape: int) -> Array:
        """Normal numbers with the deviation of the source."""
        generator = np.random.default_rng([self.inputs.seed, SOURCES.index(source), self.keys[source]])
        return getattr(self.inputs, source) * generator.standard_normal(shape)


def draws_of(inputs: UncertainInputs, sources: Sequence[str]) -> list[list[Draw]]:
    """Saltelli's design over some of the sources: A, B, and A with each source of B, whose rows are draws. Their number
    is a power of 2, at least 2."""
    matrices = len(sources) + 2
    rows = int(2 ** max(np.ceil(np.log2(inputs.samples / matrices)), 1))
    axes = tuple(Axis(name, (k,), quantile=np.asarray) for k, name in enumerate(sources))
    design = Design("saltelli", axes, np.zeros(len(axes)), rows, inputs.seed)
    keys = (design.values(0, design.count) * KEYS).astype(np.int64).reshape(matrices, rows, len(axes))
    return [[Draw(inputs, dict(zip(sources, row, strict=True))) for row in matrix] for matrix in keys.tolist()]


OF_MASS = ("mass", *(f"inertia.{axes}" for axes in ("xx", "yy", "zz", "xy", "xz", "yz")))
CENTRE = tuple(f"center_of_mass.{axis}" for axis in "xyz")
ADDED = ("attachments",)  # the others are factors


@frozen
class VariedNumbers:
    """The parameters of a model's uncertain sources: of each source the columns (n,) and, for each column, the number
    of its independent draw."""

    parameters: Parameters
    columns: dict[str, tuple[Array, Array]]

    @classmethod
    def of(cls, model: Model, sources: Sequence[str]) -> "VariedNumbers":
        """Those of some of the sources, without columns of sources whose numbers the model does not have."""
        known = set(Parameters.of(model, "bodies.*").names)
        if model.muscles:
            known |= set(Parameters.of(model, "muscles.*").names)
        ends = [f"muscles.{m.name}.path.{k}.position" for m in model.muscles for k in (0, len(m.path.points) - 1)]
        bodies = [f"bodies.{b.name}" for b in model.system.bodies if b.mass > 0]
        changed = {  # of each source, the names that each of its independent draws changes
            "strengths": [[f"muscles.{m.name}.max_isometric_force"] for m in model.muscles],
            "attachments": [[f"{end}.{axis}"] for end in ends for axis in "xyz"],
            "inertias": [[f"{body}.{number}" for number in draw] for body in bodies for draw in (OF_MASS, CENTRE)],
        }
        names: list[str] = []
        columns = {}
        for source in (s for s in changed if s in sources):
            own = [(name, k) for k, draw in enumerate(changed[source]) for name in draw if name in known]
            if own:
                columns[source] = np.arange(len(names), len(names) + len(own)), np.array([k for _, k in own])
                names += [name for name, _ in own]
        return cls(Parameters.of(model, names), columns)

    def drawn(self, draw: Draw) -> Array:
        """(n,) the parameters of a sample."""
        p = self.parameters.defaults.copy()
        for source, (columns, numbers) in self.columns.items():
            change = draw.deviations(source, numbers.max() + 1)[numbers]
            p[columns] = p[columns] + change if source in ADDED else p[columns] * np.exp(change)
        return p


OF_MARKERS = SOURCES[:2]
OF_TORQUES = (*OF_MARKERS, "inertias")
M = TypeVar("M")


@frozen
class MotionSteps:
    """The steps from markers to a motion with derivatives.

    weights      of `inverse_kinematics`
    coordinates  wanted ones, of `inverse_kinematics`
    options      others of `inverse_kinematics`, by name
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
    options: Mapping[str, Any] = field(default_factory=dict)
    cutoff: float | None = 6.0
    method: Literal["rotations", "angles"] = "rotations"
    consistent: bool = False
    order: int = 4

    def fitted(self, model: Model, markers: Markers, start: Array | None = None) -> FittedMotion:
        """The motion that fits the markers, near poses start (t, nq)."""
        options = self.options if start is None else {**self.options, "start": start}
        return inverse_kinematics(model, markers, self.weights, coordinates=self.coordinates, **options)

    def moving(self, model: Model, motion: Motion) -> Motion:
        """The motion with u and udot."""
        found = smooth(motion, self.cutoff, order=self.order, model=model, method=self.method)
        return consistent_derivatives(model, found) if self.consistent else found


class UncertainTrial:
    """Markers, or a motion, of a model, and its samples: of the relevant sources those that it has."""

    def __init__(
        self, model: Model, recording: Markers | Motion, inputs: UncertainInputs | None, steps: MotionSteps | None,
        relevant: Sequence[str],
    ) -> None:  # fmt: skip
        check_types(model=(model, Model), recording=(recording, (Markers, Motion)))
        self.model, self.inputs, self.steps = model, inputs or UncertainInputs(), steps or MotionSteps()
        if isinstance(recording, Markers):
            self.markers, self.fit = recording, self.steps.fitted(model, recording)
            self.poses: Motion = self.fit
        else:  # the model's markers at these poses
            self.poses = Motion(model.system, recording.time, recording.q)
            poses, count = model.system.poses(recording.q), len(recording.time)
            seen = [world_point(poses, m.body, m.position) for m in model.markers]
            none = np.zeros((count, 0, 3))
            positions = np.stack([np.broadcast_to(x, (count, 3)) for x in seen], axis=1) if seen else none
            self.markers = Markers(recording.time, tuple(m.name for m in model.markers), positions)
            self.steps = replace(self.steps, weights=None, coordinates=None)
            if seen:
                self.fit = self.steps.fitted(model, self.markers, self.poses.q)
        matter = tuple(name for name in self.inputs.sources if name in relevant)
        self.sources = tuple(
            name
            for name in matter
            if (self.markers.names if name in OF_MARKERS else VariedNumbers.of(model, (name,)).columns)
        )
        if not self.sources:
            lacking = ", ".join(matter) or "the sources"
            raise ValueError(f"nothing is uncertain: the model lacks what {lacking} would change")
        self.missing = tuple(name for name in matter if name not in self.sources)
        self.frames = self.inputs.times(len(self.poses.time))

    def poses_of(self, draw: Draw) -> Motion:
        """The poses of a sample."""
        if not any(name in draw.keys for name in OF_MARKERS):
            return self.poses
        positions = self.markers.positions.copy()
        if "marker_placement" in draw.keys:  # along the axes of the markers' bodies
            shift = draw.deviations("marker_placement", *positions.shape[1:])
            poses, of_body = self.model.system.poses(self.fit.q), {m.name: m.body for m in self.model.markers}
            for k, name in enumerate(self.markers.names):
                if name in of_body:
                    positions[:, k] += matvec(poses[of_body[name]][0], shift[k])
        if "marker_noise" in draw.keys:
            positions += draw.deviations("marker_noise", *positions.shape)
        fit = self.steps.fitted(self.model, replace(self.markers, positions=positions), self.fit.q)
        system = self.model.system
        return Motion(system, self.poses.time, system.integrate(self.poses.q, system.difference(self.fit.q, fit.q)))

    def moving(self, draw: Draw | None = None) -> Motion:
        """The motion, or that of a sample, with u and udot, at the frames that are evaluated."""
        poses = self.poses if draw is None else self.poses_of(draw)
        return self.steps.moving(self.model, poses).rows(self.frames)

    def curves(
        self, nominal: pd.DataFrame, units: Sequence[str], motion_of: Callable[[Draw], M],
        evaluate: Callable[[Draw, M], pd.DataFrame],
    ) -> "UncertainCurves":  # fmt: skip
        """All samples, row by row: those of a row share what belongs to their motion."""
        draws = draws_of(self.inputs, self.sources)
        values = np.empty((len(draws), len(draws[0]), *nominal.shape))
        for row, samples in enumerate(zip(*draws, strict=True)):
            motions: dict[tuple[int | None, ...], M] = {}
            for matrix, draw in enumerate(samples):
                own = tuple(draw.keys.get(name) for name in OF_MARKERS)
                if own not in motions:
                    motions[own] = motion_of(draw)
                values[matrix, row] = evaluate(draw, motions[own]).to_numpy()
        # rows of which all samples are known where the trial itself is
        solved = (np.isfinite(values) | ~np.isfinite(nominal.to_numpy())).all(axis=(0, 2, 3))
        lost = int((~solved).sum())
        if solved.sum() < 2:
            raise ValueError(f"{lost} of {len(solved)} rows have a sample without solution; "
                             "stronger reserves give every sample one")  # fmt: skip
        names = tuple(map(str, nominal.columns))
        return UncertainCurves(nominal.index.to_numpy(dtype=float), names, tuple(units), nominal.to_numpy(),
                               values[:, solved], self.sources, self.inputs.level, lost, self.missing)  # fmt: skip


BAND_COLOR, CURVE_COLOR = "#9db7e8", "#1f3b8f"
CONSTANT = 1e-9  # of the greatest value: outputs that change less have no shares


def central_band(samples: Array, level: float) -> Array:
    """(2, ...) the lower and the upper quantile that hold the share `level` of samples (n, ...)."""
    return np.asarray(np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0))


@frozen(eq=False)
class UncertainCurves(Curves):
    """Curves of a recording, and those of all samples of uncertain inputs.

    time     (t,) [s]
    names    of the curves
    units    of the curves
    values   (t, n) as recorded
    samples  (sources + 2, rows, t, n) of Saltelli's design, without rows with a sample that has no solution
    sources  of the uncertainty
    level    of the bands
    lost     number of rows without a solution
    missing  sources that the trial does not have

    >>> import numpy as np
    >>> from myoquat.analysis.studies import UncertainCurves
    >>> samples = np.random.default_rng(0).normal(size=(3, 64, 5, 1))  # of one source: A, B, and B again
    >>> samples[2] = samples[1]
    >>> found = UncertainCurves(np.arange(5.0), ("knee",), ("deg",), np.zeros((5, 1)), samples, ("strengths",))
    >>> found.shares()["strengths total"].round(1).to_list()
    [1.0]
    >>> found.bands().shape
    (2, 5, 1)
    """

    time: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    samples: Array
    sources: tuple[str, ...]
    level: float = 0.9
    lost: int = 0
    missing: tuple[str, ...] = ()

    def __repr__(self) -> str:
        count = self.samples.shape[0] * self.samples.shape[1]
        rest = f", {self.lost} rows without solution" if self.lost else ""
        absent = f"; not in the trial: {', '.join(self.missing)}" if self.missing else ""
        return f"<UncertainCurves {len(self.names)} curves, {count} samples of {', '.join(self.sources)}{rest}{absent}>"

    def bands(self, level: float | None = None) -> Array:
        """(2, t, n) the lower and the upper quantile that hold the share `level` of the samples, its own if None."""
        part = self.level if level is None else level
        if not 0 < part < 1:
            raise ValueError(f"level must lie between 0 and 1, not {part}")
        every = self.samples.reshape(-1, *self.values.shape)
        return central_band(every, part)

    def shares(self) -> pd.DataFrame:
        """A row per curve: its unit, its standard deviation (mean over time), and Sobol indices of each source.

        They are the first-order and the total index, of the variance summed over time [F. Gamboa and others,
        Sensitivity analysis for multidimensional and functional outputs, Electron. J. Stat. 8, 2014]. NaN for curves
        that do not change. Estimates can lie outside of [0, 1] by their error, which falls with the root of the rows.
        """
        few = self.samples[:, : 2 ** int(np.log2(self.samples.shape[1]))]  # the design's sequence is balanced there
        of_inputs = few[:2].reshape(-1, *self.values.shape)
        variance = of_inputs.var(axis=0)
        size = np.abs(of_inputs).max(axis=(0, 1), initial=0.0)
        changing = np.flatnonzero((np.sqrt(variance) > CONSTANT * size).any(axis=0))
        indices = np.full((2, len(self.names), len(self.sources)), np.nan)
        for n in changing:
            rows = np.flatnonzero(np.sqrt(variance[:, n]) > CONSTANT * size[n])
            each = saltelli_indices(np.moveaxis(few[:, :, rows, n], -1, 0))
            indices[:, n] = np.einsum("t,oti->oi", variance[rows, n] / variance[rows, n].sum(), each)
        table = {"unit": self.units, "standard deviation": np.sqrt(variance).mean(axis=0)}
        for order, found in zip(("first", "total"), indices, strict=True):
            table |= {f"{name} {order}": found[:, k] for k, name in enumerate(self.sources)}
        return pd.DataFrame(table, index=pd.Index(self.names, name="curve"))

    def to_dataframe(self) -> pd.DataFrame:
        """Columns NAME, NAME_low and NAME_high over the index time [s]."""
        columns = [f"{name}{end}" for name in self.names for end in ("", "_low", "_high")]
        return time_table(self.time, np.stack([self.values, *self.bands()], axis=-1), columns)

    def curves(self) -> dict[str, Curve]:
        """value, low and high over (time, curve)."""
        arrays = zip(("value", "low", "high"), (self.values, *self.bands()), strict=True)
        return {name: Curve(("time", "curve"), x, self.units) for name, x in arrays}

    def labels(self) -> dict[str, Any]:
        """Times and names of the curves."""
        return {"time": self.time, "curve": list(self.names)}

    def of(self, names: Sequence[str]) -> "UncertainCurves":
        """Only these curves; ValueError for one that is not there."""
        own = indices_of("curve", names, self.names)
        return replace(
            self, names=tuple(names), units=tuple(self.units[k] for k in own), values=self.values[:, own],
            samples=self.samples[..., own],
        )  # fmt: skip

    def unit(self, name: str) -> str:
        """The unit of a curve."""
        return self.of([name]).units[0]

    def fill(self, axes: "Axes", name: str) -> None:
        """The band of a curve over time."""
        low, high = self.of([name]).bands()
        axes.fill_between(self.time, low[:, 0], high[:, 0], color=BAND_COLOR, lw=0, label=f"{self.level:.0%}")

    def plot(self) -> "Figure":
        """A matplotlib Figure of the curves with their bands over time, an axis for each."""
        figures = importlib.import_module("myoquat.core.figures")  # matplotlib takes half a second
        low, high = self.bands()
        panels = [
            figures.Panel(name, self.units[k], (name,), self.values[:, [k]], reference={name: (low[:, k], high[:, k])})
            for k, name in enumerate(self.names)
        ]
        return figures.draw_panels(self.time, panels)

    def draw(self, axes: "Axes", name: str) -> None:
        """A curve and its band over time."""
        self.fill(axes, name)
        axes.plot(self.time, self.of([name]).values, color=CURVE_COLOR, label="as recorded")
        axes.set_xlabel("time [s]")
        axes.set_ylabel(f"[{self.unit(name)}]")
        axes.set_title(figure_label(name), fontsize=9)


@frozen
class LoadsWanted:
    """What `uncertain_loads` computes.

    reserves      as in `redundancy`
    cones         stability rules, as in `redundancy`
    effort        as in `redundancy`
    joints        those with wanted loads, all if None
    on            "child" or "parent", the body on which the loads act
    frame         of the loads, as in `JointLoads.of`
    proportional  whether a force is the activation times the active fiber's force at 1, as in OpenSim's static
                  optimization

    >>> from myoquat.analysis.studies import LoadsWanted
    >>> LoadsWanted(reserves=1.0, joints=("knee_r",)).frame
    'ground'
    """

    reserves: Reserves = ()
    cones: Sequence[StabilityRule] = ()
    effort: Effort | None = None
    joints: Sequence[str] | None = None
    on: str = "child"
    frame: str = "ground"
    proportional: bool = False

    def __post_init__(self) -> None:
        check_items("cones", self.cones, StabilityRule)


def uncertain_angles(
    model: Model, recording: Markers | Motion, inputs: UncertainInputs | None = None, steps: MotionSteps | None = None
) -> UncertainCurves:
    """The coordinates of a trial [deg, m], with bands for the placement of the markers and their noise.

    recording  markers, or a motion, whose poses the model's own markers stand for (`UncertainTrial`).
    inputs     the deviations; those of muscles and bodies do not change angles.
    steps      how markers become poses; without filter, as `inverse_kinematics` finds them.

    ValueError for a motion of a model without markers, and as `inverse_kinematics` raises it.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import UncertainInputs, uncertain_angles
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), coordinate_names=("elbow",))
    >>> hand = mq.muscle.coordinates.Marker("hand", "arm", (1.0, 0.0, 0.0))
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)), markers=(hand,))
    >>> motion = mq.data.Motion(model, [0.0, 0.1], [[0.2], [0.3]])
    >>> found = uncertain_angles(model, motion, UncertainInputs(marker_noise=0.01, marker_placement=0.0, samples=200))
    >>> found.shares()["standard deviation"].round(1).to_list()  # 0.01 m over 1 m [deg]
    [0.6]
    """
    trial = UncertainTrial(model, recording, inputs, steps, OF_MARKERS)

    def angles(poses: Motion) -> pd.DataFrame:
        return poses.rows(trial.frames).angles(in_degrees=True)

    nominal = angles(trial.poses)
    units = {name: "deg" if unit == "rad" else unit for name, unit in model.system.coordinate_units.items()}
    own = [units.get(str(name), "1") for name in nominal]
    return trial.curves(nominal, own, trial.poses_of, lambda draw, poses: angles(poses))


def uncertain_torques(
    model: Model, recording: Markers | Motion, loads: Forces | None = None, inputs: UncertainInputs | None = None,
    steps: MotionSteps | None = None,
) -> UncertainCurves:  # fmt: skip
    """The generalized forces of inverse dynamics [N m, N] of a trial, with bands for markers and inertias.

    They are those under external loads. Arguments as of `uncertain_angles`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import UncertainInputs, uncertain_torques
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0),
    ...               coordinate_names=("elbow",))
    >>> motion = mq.data.Motion(mq.Model(mq.ArticulatedSystem((arm,))), 0.02 * np.arange(20), np.zeros((20, 1)))
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)))
    >>> uncertain_torques(model, motion, inputs=UncertainInputs(samples=64)).sources
    ('inertias',)
    """
    trial = UncertainTrial(model, recording, inputs, steps, OF_TORQUES)
    bare = trial.poses.check_system(model.without_muscles())
    numbers, moving = VariedNumbers.of(bare, trial.sources), trial.moving()
    base = VariedDemands(bare, moving, loads, ((), ()), numbers.parameters)
    nominal = base.needed.of_coordinates()

    def evaluate(draw: Draw, varied: VariedDemands) -> pd.DataFrame:
        return replace(varied.needed, torque=varied.torque(numbers.drawn(draw))).of_coordinates()

    units = list(column_units(nominal).values())
    return trial.curves(nominal, units, lambda draw: base.along(trial.moving(draw)), evaluate)


@traced_once()
def uncertain_loads(
    model: Model, recording: Markers | Motion, loads: Forces | None = None, inputs: UncertainInputs | None = None,
    steps: MotionSteps | None = None, wanted: LoadsWanted | None = None,
) -> UncertainCurves:  # fmt: skip
    """Activations, tensions and joint loads of least effort, with bands for all sources.

    The curves are 'NAME.activation', 'NAME.force' [N], and those of `JointLoads.to_dataframe` [N, N m, m]. Arguments
    are those of `uncertain_angles`. Tendons are rigid. Of force laws that are not affine in the activation each sample
    has a local solution.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import LoadsWanted, UncertainInputs, uncertain_loads
    >>> model = mq.load_model("two_link")
    >>> still = mq.data.Motion(model, 0.02 * np.arange(20), np.tile(model.start_q, (20, 1)))
    >>> few, wanted = UncertainInputs(samples=16, frames=2), LoadsWanted(reserves=1.0)
    >>> uncertain_loads(model, still, inputs=few, wanted=wanted).sources
    ('strengths', 'attachments', 'inertias')
    """
    trial, wanted = UncertainTrial(model, recording, inputs, steps, SOURCES), wanted or LoadsWanted()
    rigid = trial.poses.check_system(model.with_rigid_tendons())
    numbers = VariedNumbers.of(rigid, trial.sources)
    if not numbers.columns:
        raise ValueError("the model has no strengths, attachments or inertias that could vary")
    base = VariedDemands(rigid, trial.moving(), loads, (wanted.reserves, wanted.cones), numbers.parameters)
    nominal = _solved(base, numbers.parameters.defaults, wanted)
    units = column_units(nominal)
    for name in model.muscle_names:
        units |= {f"{name}.activation": "1", f"{name}.force": "N"}
    return trial.curves(
        nominal, [units[str(name)] for name in nominal], lambda draw: base.along(trial.moving(draw)),
        lambda draw, demands: _solved(demands, numbers.drawn(draw), wanted),
    )  # fmt: skip


def _solved(varied: VariedDemands, p: Array, wanted: LoadsWanted) -> pd.DataFrame:
    """Activations, tensions and loads of least effort with parameters p; NaN in frames without a solution."""
    effort = wanted.effort or Effort()
    demands = varied.of(p, stress=effort.of == "stress")
    model, motion = varied.base.model, varied.motion
    m = len(model.muscles)
    if wanted.proportional:
        _, gain = secants(demands.tensions, np.zeros(m), len(motion.time))
        found = solve_programs(demands.programs(np.zeros(gain.shape), gain, effort))
        force = gain * found.x[:, :m]
    else:
        found = recruited(demands, effort, "kernel", motion.time, alternatives=False).found
        force = demands.tensions(found.x[:, :m])
    own = {f"{name}.activation": found.x[:, k] for k, name in enumerate(model.muscle_names)}
    own |= {f"{name}.force": force[:, k] for k, name in enumerate(model.muscle_names)}
    table = time_table(motion.time, own)
    if wanted.joints is None or wanted.joints:
        wrench = varied.joint_wrenches(force, found.x[:, m:], p)
        carried = JointLoads(
            model, motion, wrench, np.zeros(wrench.shape), np.zeros((len(motion.time), model.system.nu))
        )
        table = pd.concat([table, carried.to_dataframe(wanted.joints, on=wanted.on, frame=wanted.frame)], axis=1)
    table[~are_met(found.status)] = np.nan
    return table
