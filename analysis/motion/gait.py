"""Gait: when the feet meet and leave the ground, curves over the gait cycle, and the numbers of each stride.

Axes are those of models: y points up. The walk is straight, along one horizontal direction d, and d x y is
to the right.

From forces, a foot is in contact from the time at which the upward force passes `threshold` until it falls below
`release`, a Schmitt trigger. So noise between the two makes no events. Thresholds of 10 to 20 N are usual [O. Tirosh,
W. A. Sparrow, Identifying heel contact and toe-off using forceplate thresholds with a range of digital-filter cutoff
frequencies, J. Appl. Biomech. 19, 2003].

From markers, a heel strikes where the heel is farthest in front of the pelvis, and a toe leaves where the toe is
farthest behind it:

    heel strike: maximum of d . (heel - pelvis)        toe off: minimum of d . (toe - pelvis)

This is the coordinate-based rule of [J. A. Zeni, J. G. Richards, J. S. Higginson, Two simple methods for determining
gait events during treadmill and overground walking using kinematic data, Gait & Posture 27, 2008]. It is one of
walking: a runner's foot still moves back after toe off.

A gait cycle, or stride, of a side lasts from one of its heel strikes to the next.
"""

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.core import (
    Array,
    ArrayLike,
    Solved,
    check_types,
    frozen,
    indices_of,
    pandas as pd,
    real_array,
    scipy,
    time_table,
    warn_user,
    xarray as xr,
)
from myoquat.data.motions import Forces, Markers, MotionLike, motion_of
from myoquat.data.motions.series import check_names, even_times, gaps_of, interpolated
from myoquat.data.reports import ImplausibleWarning
from myoquat.data.tables import column_units
from myoquat.joints.vectors import vector
from myoquat.muscle.loads import world_point
from myoquat.muscle.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FIGURES = "myoquat.core.figures"  # matplotlib, half a second, is imported when a figure is drawn
MIN_SHOWN_RANGE = 0.02  # of the value of a parameter, on the axis of its strides
PERCENT = np.linspace(0.0, 100.0, 101)
SIDES = ("right", "left")
SUFFIXES = {"right": "_r", "left": "_l"}
SIDE_IN_NAME = re.compile(r"(?:^|[_. ])(r|l|right|left)(?=$|[_. ])", re.IGNORECASE)
UP, LEVEL = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])  # axes of the vertical, and across it
MIN_PROMINENCE = 0.25  # of the range of a coordinate: lower extrema are not those of a step
MIN_STEP_S = 0.25  # [s] between two heel strikes of a foot, and two toe offs
Y_UP = "axes have y upwards, axes='x z -y' (--axes) turns a laboratory whose z points up"
LONGEST_GAP_S = 0.1  # [s] without a marker that is bridged
MIN_TRAVEL_M = 1.0  # of the pelvis; where it moves less, feet tell the direction of the walk
MIN_STRIDE_M = 0.2  # in the mean; where heel strikes are nearer to each other, the walk is on a treadmill
MIN_UPRIGHT = 0.5  # height of the pelvis above the heels, as a part of the distance between them
MIN_WALKING_STANCE = 54.0  # percent of the stride; where stance is shorter, the gait is no walk
LABEL_WIDTH = 20.0  # percent of the cycle that the label of an event covers in a figure
LONG_STRIDE = 1.5  # times the median: an event is missing within
UNITS = {
    "stride_time": "s", "step_time": "s", "stance_time": "s", "swing_time": "s", "double_support_time": "s",
    "cadence": "steps/min", "stance_share": "%", "double_support_share": "%",
    "stride_length": "m", "step_length": "m", "step_width": "m", "speed": "m/s",
}  # fmt: skip


# ---- Events -----------------------------------------------------------------------------------------------------


@frozen(eq=False)
class GaitEvents(Solved):
    """Heel strikes and toe offs of the sides "right" and "left".

    heel_strikes, toe_offs  by side, increasing times (n,) [s]
    span                    first and last time [s] of the recording
    source                  "forces" or "markers"

    >>> from myoquat.analysis.motion import GaitEvents
    >>> walk = GaitEvents({"right": [0.1, 1.2], "left": [0.6]}, {"right": [0.8], "left": [0.2]}, (0.0, 1.5), "forces")
    >>> walk.strides("right").tolist(), walk.success
    ([[0.1, 1.2]], True)
    """

    heel_strikes: Mapping[str, Array]
    toe_offs: Mapping[str, Array]
    span: tuple[float, float]
    source: str

    def __post_init__(self) -> None:
        for name in ("heel_strikes", "toe_offs"):
            _check_sides(name, getattr(self, name))
            times = {side: real_array(name, getattr(self, name).get(side, np.zeros(0))) for side in SIDES}
            for side, values in times.items():
                if values.ndim != 1 or not (np.isfinite(values).all() and (np.diff(values) > 0).all()):
                    raise ValueError(f"{name} of the {side} foot must be finite times that increase")
            object.__setattr__(self, name, times)

    def __repr__(self) -> str:
        numbers = {side: len(self.strides(side)) for side in SIDES}
        counts = ", ".join(f"{n} stride{'s' * (n != 1)} of the {side} foot" for side, n in numbers.items())
        problems = self.problems()
        return f"<GaitEvents from {self.source}, {counts}{'; ' + problems[0] if problems else ''}>"

    @property
    def success(self) -> bool:
        """Whether heel strikes and toe offs alternate on each side, and some side has a stride. See `problems`."""
        return not self.problems()

    def problems(self) -> tuple[str, ...]:
        """A sentence for each event that is missing: two heel strikes without a toe off between them, two toe offs
        without a heel strike, and strides of more than 1.5 times the median."""
        found = []
        for side in SIDES:
            rows = self._merged(side)
            for (a, one), (b, two) in pairwise(rows):
                if one == two:
                    other = "toe off" if one == "heel strike" else "heel strike"
                    found.append(f"the {side} foot has no {other} between {a:.3f} and {b:.3f} s")
            strides = self.strides(side)
            lengths = strides[:, 1] - strides[:, 0]
            for (a, b), length in zip(strides, lengths, strict=True):
                if length > LONG_STRIDE * np.median(lengths):
                    found.append(f"a stride of the {side} foot from {a:.3f} to {b:.3f} s is longer than others")
        if not any(len(self.strides(side)) for side in SIDES):
            found.append("no foot has two heel strikes")
        return tuple(found)

    def strides(self, side: str) -> Array:
        """(n, 2) [s] first and last time of each gait cycle of a side."""
        strikes = self.heel_strikes[side]
        return vector([strikes[:-1], strikes[1:]])

    def contacts(self, side: str) -> Array:
        """(n, 2) [s] from each heel strike to the toe off that follows; ends are those of the recording where the foot
        is on the ground there. Contacts that miss an event are left out."""
        rows = [(self.span[0], "heel strike"), *self._merged(side), (self.span[1], "toe off")]
        pairs = [(a, b) for (a, one), (b, two) in pairwise(rows) if (one, two) == ("heel strike", "toe off")]
        return np.array(pairs if len(rows) > 2 else []).reshape(-1, 2)

    def _merged(self, side: str) -> list[tuple[float, str]]:
        """All events of a side with their names, by time."""
        rows = [(float(t), "heel strike") for t in self.heel_strikes[side]]
        return sorted([*rows, *((float(t), "toe off") for t in self.toe_offs[side])])

    def to_dataframe(self) -> "pd.DataFrame":
        """Columns "time" [s], "side" and "event", by time."""
        rows = sorted((time, side, event) for side in SIDES for time, event in self._merged(side))
        return pd.DataFrame(rows, columns=["time", "side", "event"])

    def to_xarray(self) -> "xr.Dataset":
        """The time [s] of each event, with its side and its name."""
        table = self.to_dataframe().rename(columns={"event": "name"}).rename_axis("event")
        return _with_units(table.to_xarray().set_coords(["side", "name"]), {"time": "s"})

    def plot(self) -> "Figure":
        """A matplotlib Figure of the contacts of both feet over time."""
        figures = importlib.import_module(FIGURES)
        figure: Figure = figures.Picture(figsize=(7.5, 1.7), layout="constrained")
        axis = figure.subplots()
        for row, (side, style) in enumerate(zip(SIDES, figures.curve_styles(2), strict=True)):
            color, bars = style["color"], [(a, b - a) for a, b in self.contacts(side)]
            axis.broken_barh(bars, (row - 0.3, 0.6), facecolors=color, alpha=0.35)
            for name, times, mark, size in (
                ("heel strike", self.heel_strikes, "|", 18),
                ("toe off", self.toe_offs, "o", 4),
            ):
                axis.plot(times[side], np.full(len(times[side]), row), mark, color=color, markersize=size,
                          markeredgewidth=1.6, label=None if row else name)  # fmt: skip
        figures.plain_axis(axis, "time [s]")
        axis.set_yticks(range(len(SIDES)), SIDES)
        axis.invert_yaxis()
        axis.set_xlim(*self.span)
        figures.legend_beside(axis)
        return figure


def _check_sides(owner: str, sides: Iterable[str]) -> None:
    for side in sides:
        if side not in SIDES:
            raise ValueError(f"{owner}: a side is 'right' or 'left', not {side!r}")


def gait_events_from_forces(
    forces: Forces,
    sides: Mapping[str, str] | None = None,
    *,
    threshold: float = 20.0,
    release: float = 10.0,
    shortest: float = 0.05,
) -> GaitEvents:
    """Heel strikes and toe offs from the upward forces on the feet.

    sides      load -> "right" or "left"; forces of one side are added. By default loads on bodies that end in _r or _l
    threshold  [N] at which a contact begins, linear between the rows
    release    [N] below which it ends
    shortest   [s] contacts that last less are left out, and so are gaps between two contacts of a foot

    ValueError for loads that the record lacks or that no side is known of, and for forces in axes of bodies. Forces
    that act mostly to a side or down give an ImplausibleWarning.

    >>> import numpy as np
    >>> from myoquat.analysis import motion as mo
    >>> time = np.linspace(0.0, 1.0, 101)
    >>> push = np.zeros((101, 1, 3))
    >>> push[20:81, 0, 1] = 800.0  # N
    >>> plate = mo.Forces(time, ("plate1",), ("",), push, 0 * push, 0 * push)
    >>> mo.gait_events_from_forces(plate, {"plate1": "right"}).heel_strikes["right"].round(5)
    array([0.19025])
    """
    check_types(forces=(forces, Forces))
    if not 0 < release <= threshold:
        raise ValueError(f"0 < release <= threshold is needed, not {release:g} and {threshold:g} N")
    chosen = dict(sides) if sides is not None else _sides_of_bodies(forces)
    columns = indices_of("load", chosen, forces.names)
    for k, (name, side) in zip(columns, chosen.items(), strict=True):
        _check_sides(f"the load {name!r}", [side])
        if (frame := forces.force_frames[k]) != "ground":
            raise ValueError(f"the load {name!r} is in the axes of {frame!r}; forces in the ground's axes are needed")
    size = np.nan_to_num(forces.force[:, columns]).sum(axis=(0, 1))
    if size[1] < np.abs(size).max():
        axis = "downwards" if np.argmax(np.abs(size)) == 1 else f"along {'xyz'[np.argmax(np.abs(size))]}"
        _warn(f"the forces on the feet act mostly {axis}; {Y_UP}, and forces are those on the person")
    strikes, offs = {}, {}
    for side in SIDES:
        upward = forces.force[:, [k for k, own in zip(columns, chosen.values(), strict=True) if own == side], 1]
        strikes[side], offs[side] = _contacts(forces.time, upward.sum(axis=1), threshold, release, shortest)
    return GaitEvents(strikes, offs, _span(forces.time), "forces")


def _sides_of_bodies(forces: Forces) -> dict[str, str]:
    """The side of every load on a body that ends in _r or _l."""
    found = {
        name: side
        for name, body in zip(forces.names, forces.bodies, strict=True)
        for side in SIDES
        if body.endswith(SUFFIXES[side])
    }
    if not found:
        raise ValueError(
            f"no load acts on a body that ends in _r or _l; sides={{load: 'right'}} says which foot it is of; there "
            f"are {', '.join(forces.names)}"
        )
    return found


def _contacts(time: Array, force: Array, threshold: float, release: float, shortest: float) -> tuple[Array, Array]:
    """Times of heel strikes and toe offs: the switching times of a Schmitt trigger."""
    switched = np.select([force >= threshold, ~(force >= release)], [1.0, 0.0], np.nan)
    states = pd.Series(switched).ffill().fillna(0.0).to_numpy() > 0
    for contact in (False, True):  # short gaps between two contacts, then short contacts
        for a, b in gaps_of(states == contact):
            if a > 0 and b < len(states) and time[b] - time[a] < shortest:
                states[a:b] = not contact
    edges = np.array(gaps_of(states), dtype=int).reshape(-1, 2).T
    strikes, offs = edges[0][edges[0] > 0], edges[1][edges[1] < len(states)]
    return _crossings(time, force, strikes, threshold), _crossings(time, force, offs, release)


def _crossings(time: Array, force: Array, rows: Array, level: float) -> Array:
    """The times at which the force passes a level between rows and those before, by straight lines."""
    before, after = force[rows - 1], force[rows]
    share = np.clip((level - before) / (after - before), 0.0, 1.0)
    return time[rows - 1] + share * (time[rows] - time[rows - 1])


def gait_events_from_markers(
    markers: Markers,
    feet: Mapping[str, tuple[str, str]],
    pelvis: Sequence[str],
    *,
    direction: ArrayLike | None = None,
    cutoff: float | None = 6.0,
) -> GaitEvents:
    """Heel strikes and toe offs from markers alone, by the coordinate-based rule of Zeni and others (2008).

    feet       side -> (heel, toe): names of markers, {"right": ("RHEE", "RTOE"), "left": ("LHEE", "LTOE")}
    pelvis     markers whose mean stands for the sacrum
    direction  of the walk in the ground's axes, of which the horizontal part counts. By default the way of the pelvis,
               or of the feet from heel to toe where it moves less than 1 m, as on a treadmill
    cutoff     of a low-pass filter [Hz], 6 as in the source; None for none

    Gaps of at most 0.1 s are bridged. An ImplausibleWarning names others, near which there are no events, a pelvis that
    is not above the heels, a toe behind its heel, and a stance as short as that of runners. Times lie between frames,
    where a parabola through three frames has its extremum. An extremum counts if its prominence is a quarter of the
    coordinate's range.
    ValueError for markers that the recording lacks, and a direction that cannot be found.

    >>> import numpy as np
    >>> from myoquat.analysis import motion as mo
    >>> time = np.arange(0, 301) / 100
    >>> swing = np.interp(time % 1, [0.0, 0.6, 1.0], [0.3, -0.3, 0.3])
    >>> x = np.stack([0 * time, swing, swing + 0.2], axis=-1)  # of the sacrum, the heel, the toe, on a treadmill
    >>> y = np.ones_like(x) * [1.0, 0.1, 0.1]
    >>> walk = mo.Markers(time, ("SACR", "HEE", "TOE"), np.stack([x, y, 0 * x], axis=-1))
    >>> events = mo.gait_events_from_markers(walk, {"right": ("HEE", "TOE")}, ["SACR"], cutoff=None)
    >>> events.heel_strikes["right"].round(2), events.toe_offs["right"].round(2)
    (array([1., 2.]), array([0.6, 1.6, 2.6]))
    """
    check_types(markers=(markers, Markers))
    along = None if direction is None else _unit(direction)
    _check_sides("feet", feet)
    if not feet or not pelvis:
        raise ValueError("a heel, a toe and a marker of the pelvis are needed at least")
    forward = _unit(_forward(markers, feet, pelvis)) if along is None else along
    bridged = markers.select(tuple(dict.fromkeys([*pelvis, *(name for pair in feet.values() for name in pair)])))
    bridged = bridged.resampled(markers.time, LONGEST_GAP_S)
    smooth = bridged if cutoff is None else bridged.low_passed(cutoff, order=2)
    middle = smooth.select(tuple(pelvis)).positions.mean(axis=1) @ forward
    _check_plausible(bridged, feet, pelvis, forward)
    strikes, offs = {}, {}
    for side, (heel, toe) in feet.items():
        ahead = smooth.select((heel, toe)).positions @ forward - middle[:, None]
        strikes[side], offs[side] = _peaks(markers.time, ahead[:, 0]), _peaks(markers.time, -ahead[:, 1])
    events = GaitEvents(strikes, offs, _span(markers.time), "markers")
    stance = gait_parameters(events).table["stance_share"].mean()
    if stance < MIN_WALKING_STANCE:
        _warn(f"stance is {stance:.0f} % of the stride: toe offs of a run come late by this rule, take its forces")
    return events


def _check_plausible(
    markers: Markers, feet: Mapping[str, tuple[str, str]], pelvis: Sequence[str], forward: Array
) -> None:
    """Warnings of axes that do not point up, of heels and toes that are interchanged, and of long gaps."""
    where = {name: markers.positions[:, k] for k, name in enumerate(markers.names)}
    middle = np.mean([where[name] for name in pelvis], axis=0)
    above = _mean(middle - np.mean([where[heel] for heel, _ in feet.values()], axis=0))
    if above[1] < MIN_UPRIGHT * np.linalg.norm(above):
        _warn(f"the pelvis is not above the heels; {Y_UP}")
    for side, (heel, toe) in feet.items():
        if _mean(where[toe] - where[heel]) @ forward < 0:
            _warn(f"the toe of the {side} foot, {toe!r}, is behind the heel, {heel!r}, along the walk")
    for name, x in where.items():
        missing = gaps_of(np.isnan(x[:, 0]))
        if missing:
            spans = ", ".join(f"{markers.time[a]:.2f} to {markers.time[b - 1]:.2f} s" for a, b in missing)
            _warn(f"{name!r} is missing from {spans}: events near there are left out")


def _mean(x: Array) -> Array:
    """(3,) over the rows (t, 3) that are known; NaN for none."""
    return pd.DataFrame(x).mean().to_numpy(dtype=float)


def _warn(sentence: str) -> None:
    warn_user(sentence, ImplausibleWarning)


def landmarks(model: Model, motion: MotionLike, names: Sequence[str]) -> Markers:
    """Positions of markers of a model, and of origins of its bodies, along a motion, for functions that take markers.

    ValueError for a name that the model does not have.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> model = mq.load_model("two_link", rotations="sequence")
    >>> still = mo.Motion(model, [0.0, 0.1], [model.start] * 2)
    >>> mo.landmarks(model, still, ["A", "B"]).names
    ('A', 'B')
    """
    check_types(model=(model, Model), names=(names, Sequence))
    motion, names = motion_of(motion), check_names("landmark", names)
    points = {body: (body, np.zeros(3)) for body in model.system.body_names}
    points |= {marker.name: (marker.body, np.array(marker.position)) for marker in model.markers}
    indices_of("marker or body", names, list(points))
    poses = motion.check_system(model).system.poses(motion.q)
    still = np.zeros((len(motion.time), 3))  # of bodies that do not move
    positions = np.stack([world_point(poses, *points[name]) + still for name in names], axis=1)
    return Markers(motion.time, tuple(names), positions)


def _forward(markers: Markers, feet: Mapping[str, tuple[str, str]], pelvis: Sequence[str]) -> Array:
    """(3,) the way of the pelvis, or the feet's direction where it does not move on."""
    way = _way(markers.select(tuple(pelvis)).positions.mean(axis=1))
    if np.linalg.norm(way) >= MIN_TRAVEL_M:
        return way
    ends = [markers.select(tuple(names)).positions for names in feet.values()]
    return pd.DataFrame([_mean(x[:, 1] - x[:, 0]) for x in ends]).sum().to_numpy(dtype=float)


def _unit(direction: ArrayLike) -> Array:
    """(3,) the horizontal part of a direction, of length 1; ValueError for one without such a part."""
    along = real_array("direction", direction)
    if along.shape != (3,):
        raise ValueError(f"direction has shape {along.shape}; (3,) is needed")
    length = np.linalg.norm(along * LEVEL)
    if not length > 0:
        raise ValueError("the direction of the walk cannot be found: give direction=(x, 0, z)")
    return along * LEVEL / length


def _peaks(time: Array, x: Array) -> Array:
    """Times of the prominent maxima of x (t,), NaN where it is not known."""
    height = MIN_PROMINENCE * (np.nanmax(x) - np.nanmin(x)) if np.isfinite(x).any() else np.inf
    found: list[float] = []
    for a, b in gaps_of(np.isfinite(x)):
        if b - a < 16:  # frames: too few for a step
            continue
        at, curve = even_times(time[a:b]), x[a:b]
        step = at[1] - at[0]
        rows, _ = scipy.signal.find_peaks(curve, prominence=height, distance=max(1, round(MIN_STEP_S / step)))
        before, top, after = curve[rows - 1], curve[rows], curve[rows + 1]
        bend = before - 2 * top + after
        found += list(at[rows] + step * 0.5 * (before - after) / np.where(bend < 0, bend, -np.inf))
    return np.array(found)


def _span(time: Array) -> tuple[float, float]:
    if not len(time):
        raise ValueError("the recording has no frames")
    return float(time[0]), float(time[-1])


def _with_units(data: "xr.Dataset", units: Mapping[str, str]) -> "xr.Dataset":
    for name, unit in units.items():
        data[name].attrs["units"] = unit
    return data


# ---- Curves over the gait cycle ---------------------------------------------------------------------------------


@frozen(eq=False)
class GaitCycles:
    """Curves over 0 to 100 % of the gait cycle, for each side from its own heel strikes.

    names     (k,) curves; those of a side have lost their suffix: `knee_angle` is `knee_angle_r` in cycles of the right
    units     (k,) of them
    values    by side, (cycles, 101, k)
    spans     by side, (cycles, 2) [s]
    toe_offs  by side, (cycles,) percent; NaN where none is known

    >>> import numpy as np
    >>> from myoquat.analysis.motion import GaitCycles
    >>> lift = np.sin(np.linspace(0, np.pi, 101))[:, None]
    >>> cycles = GaitCycles(("lift",), ("m",), {"right": np.stack([lift, 3 * lift])}, {}, {})
    >>> cycles.mean("right")[50], cycles.deviation("right")[50].round(4)
    (array([2.]), array([1.4142]))
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Mapping[str, Array]
    spans: Mapping[str, Array] = field(default_factory=dict)
    toe_offs: Mapping[str, Array] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(values)} of the {side} foot" for side, values in self.values.items())
        return f"<GaitCycles of {len(self.names)} curves, cycles: {counts}>"

    def mean(self, side: str) -> Array:
        """(101, k) over the cycles of a side."""
        return self.values[side].mean(axis=0)

    def deviation(self, side: str) -> Array:
        """(101, k) standard deviation of a sample (n - 1) over the cycles of a side; NaN for one cycle."""
        values = self.values[side]
        if len(values) < 2:
            return np.full(values.shape[1:], np.nan)
        return values.std(axis=0, ddof=1)

    def to_dataframe(self) -> "pd.DataFrame":
        """Columns (side, curve, "mean" | "sd") over the index percent."""
        columns = {
            (side, name, statistic): values[:, k]
            for side in self.values
            for k, name in enumerate(self.names)
            for statistic, values in (("mean", self.mean(side)), ("sd", self.deviation(side)))
        }
        return pd.DataFrame(columns, pd.Index(PERCENT, name="percent")).rename_axis(
            columns=["side", "curve", "statistic"]
        )

    def to_xarray(self) -> "xr.Dataset":
        """curves (cycle, percent, curve), with the side of each cycle and its first and last time [s]."""
        sides = [side for side, values in self.values.items() for _ in values]
        coordinates = {
            "percent": ("percent", PERCENT, {"units": "%"}),
            "curve": list(self.names),
            "units": ("curve", list(self.units)),
            "side": ("cycle", sides),
        }
        parts: dict[str, Any] = {"curves": (("cycle", "percent", "curve"), np.concatenate(list(self.values.values())))}
        if self.spans:
            spans = np.concatenate([self.spans[side] for side in self.values])
            parts |= {"start": ("cycle", spans[:, 0], {"units": "s"}), "end": ("cycle", spans[:, 1], {"units": "s"})}
        return xr.Dataset(parts, coordinates)

    def plot(self, names: Sequence[str] | None = None) -> "Figure":
        """A matplotlib Figure of the mean of each curve, right and left, with bands of one standard deviation, and the
        mean toe off of each side. ValueError for curves that there are not."""
        figures = importlib.import_module(FIGURES)
        chosen = list(self.names) if names is None else list(names)
        sides = list(self.values)
        panels = []
        for k in indices_of("curve", chosen, self.names):
            mean = vector([self.mean(side)[:, k] for side in sides])
            spread = vector([np.nan_to_num(self.deviation(side)[:, k]) for side in sides])
            panels.append(figures.Panel(self.names[k], self.units[k], tuple(sides), mean, spread))
        return figures.draw_panels(PERCENT, panels, "gait cycle [%]", self._marks())

    def _marks(self) -> dict[str, float]:
        """The mean toe off of each side by its label, which only the first of two near ones has."""
        known = {side: times[np.isfinite(times)] for side, times in self.toe_offs.items()}
        means = sorted((float(times.mean()), side) for side, times in known.items() if len(times))
        if len(means) == 2 and means[1][0] - means[0][0] < LABEL_WIDTH:
            return {"toe off": means[0][0], "": means[1][0]}
        return {f"toe off {side}": mean for mean, side in means}


def gait_cycles(
    source: "MotionLike | pd.DataFrame", events: GaitEvents, names: Sequence[str] | None = None
) -> GaitCycles:
    """The curves of a motion or a table in each gait cycle, at 0, 1, ..., 100 %, linear between the rows.

    source  a motion, whose coordinates are taken, angles in degrees, or a table over the time [s]
    names   of the curves, without _r and _l; all by default

    A column with _r or right in its name is seen in the cycles of the right foot, one with _l or left in those of the
    left, others in both.
    Cycles that the source does not cover are left out. ValueError where it covers none, for a curve that exists on one
    side only, if it is named, and for unknown names.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from myoquat.analysis import motion as mo
    >>> walk = mo.GaitEvents({"right": [0.0, 1.0, 2.0], "left": [0.5, 1.5]}, {}, (0.0, 2.0), "forces")
    >>> time = np.linspace(0.0, 2.0, 201)
    >>> table = pd.DataFrame({"knee_r": np.sin(2 * np.pi * time), "knee_l": -np.sin(2 * np.pi * time)}, index=time)
    >>> cycles = mo.gait_cycles(table, walk)
    >>> cycles, cycles.mean("left")[25].round(6)
    (<GaitCycles of 1 curves, cycles: 2 of the right foot, 1 of the left foot>, array([1.]))
    """
    check_types(events=(events, GaitEvents))
    table = curves_over_time(source, "source")
    time = table.index.to_numpy(dtype=float)
    spans = {side: events.strides(side) for side in SIDES}
    spans = {side: inside for side, rows in spans.items()
             if len(inside := rows[(rows[:, 0] >= time[0]) & (rows[:, 1] <= time[-1])])}  # fmt: skip
    if not spans:
        raise ValueError(f"the curves, from {time[0]:g} to {time[-1]:g} s, cover no whole gait cycle")
    first, *others = columns = [_columns_of(table, side) for side in spans]
    common = [name for name in first if all(name in other for other in others)]
    chosen = common if names is None else [common[k] for k in indices_of("curve", names, common)]
    if not chosen:
        raise ValueError(f"no curve is known in the cycles of {' and '.join(spans)}")
    values = {
        side: over_cycles(table[[own[name] for name in chosen]], rows)
        for own, (side, rows) in zip(columns, spans.items(), strict=True)
    }
    offs = {
        side: 100 * (_within(events.toe_offs[side], rows) - rows[:, 0]) / np.diff(rows)[:, 0]
        for side, rows in spans.items()
    }
    return GaitCycles(tuple(chosen), tuple(table.attrs["units"][first[name]] for name in chosen), values, spans, offs)


def curves_over_time(source: "MotionLike | pd.DataFrame", name: str) -> "pd.DataFrame":
    """A motion or a table as columns over the time [s], with the unit of each in `attrs["units"]`; angles of a motion
    are in degrees. `name` is that of the argument in errors: TypeError for other things, ValueError for no rows."""
    if not isinstance(source, pd.DataFrame):
        motion = motion_of(source, name=name)
        panels = importlib.import_module("myoquat.data.motions.figures").coordinate_panels(motion.system, motion.q)
        columns = {own: panel.values[:, k] for panel in panels for k, own in enumerate(panel.names)}
        found = time_table(motion.time, columns)
        found.attrs["units"] = {own: panel.unit for panel in panels for own in panel.names}
    else:
        units = column_units(source)
        found = source.set_axis([str(column) for column in source.columns], axis=1)
        found.attrs["units"] = {own: units[own] for own in found.columns}
    if not len(found):
        raise ValueError(f"{name}: one has no row")
    return found


def over_cycles(table: "pd.DataFrame", spans: ArrayLike) -> Array:
    """(n, 101, k) the columns of a table over the time [s] at each percent of cycles (n, 2), linear between rows."""
    time, values = table.index.to_numpy(dtype=float), table.to_numpy(dtype=float)
    at = np.array([a + PERCENT / 100 * (b - a) for a, b in np.asarray(spans, dtype=float)])
    return vector([np.interp(at, time, column) for column in values.T])


def _columns_of(table: "pd.DataFrame", side: str) -> dict[str, str]:
    """Curve -> column: those of the side, without it in their name, and those of no side."""
    found = {}
    for column in table.columns:
        own = {word[0].lower() for word in SIDE_IN_NAME.findall(column)}
        if own <= {side[0]}:
            found[SIDE_IN_NAME.sub("", column).strip("_. ") or column] = column
    return found


def _within(times: Array, spans: Array, most: float = np.inf) -> Array:
    """(n,) the first of the times strictly within spans (n, 2); NaN where there is none, or more than `most`."""
    first, after = np.searchsorted(times, spans[:, 0], "right"), np.searchsorted(times, spans[:, 1])
    return np.where((after > first) & (after - first <= most), np.append(times, np.nan)[first], np.nan)


def plot_cycles(
    trials: Sequence[Any],
    names: Sequence[str] | None = None,
    *,
    spans: Sequence[tuple[float, float]] | None = None,
    events: Mapping[str, Sequence[float]] | None = None,
    reference: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
) -> "Figure":
    """A Figure of trials over percent of a cycle: the mean of each curve, and a band of one standard deviation.

    trials     motions, whose coordinates are drawn, angles in degrees. Or tables, such as loads or moment arms, over
               the time [s] with the units of their columns in `attrs["units"]`
    names      the curves, all by default
    spans      first and last time [s] of the cycle of each trial, by default the whole trial
    events     by name, the time [s] of an event in each trial: drawn at the average
    reference  mean and standard deviation by the name of a curve, evenly spaced over the cycle: a grey band

    Values between rows are linear. The standard deviation is that of a sample (n - 1); one trial has no band. Raises
    ValueError for unknown names, trials without a row, and spans or events of another number than the trials.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import plot_cycles
    >>> starts = mq.load_model("two_link").start + np.zeros((2, 1))
    >>> runs = mq.simulate(mq.load_model("two_link"), starts, np.array([[0.0] * 6, [0.1] * 6]), 0.1, step=1e-2)
    >>> figure = plot_cycles([runs.to_motion(0), runs.to_motion(1)], ["A.Q0"], events={"late": [0.05, 0.06]})
    >>> figure.axes[0].get_xlabel()
    'cycle [%]'
    """
    check_types(trials=(trials, Sequence))
    if not len(trials):
        raise ValueError("trials: none were given")
    for name, given in (("spans", spans), *((f"events {key!r}", times) for key, times in (events or {}).items())):
        if given is not None and len(given) != len(trials):
            raise ValueError(f"{name}: {len(trials)} are needed, one for each trial, not {len(given)}")
    tables = [curves_over_time(trial, "trials") for trial in trials]
    ends = [(table.index[0], table.index[-1]) for table in tables] if spans is None else spans
    starts, stops = np.array(ends, dtype=float).T
    for first, last in zip(starts, stops, strict=True):
        if not first < last:
            raise ValueError(f"spans: a cycle from {first:g} to {last:g} s has no length")
    chosen = list(tables[0].columns) if names is None else list(names)
    for table in tables:
        indices_of("curve", chosen, list(table.columns))
    each = np.concatenate([over_cycles(table[chosen], [end]) for table, end in zip(tables, ends, strict=True)])
    bands = {}
    for name, band in (reference or {}).items():  # the edges at every percent
        middle, half = (real_array(f"reference {name!r}", values) for values in band)
        at = np.linspace(0.0, 100.0, len(middle))
        bands[name] = np.interp(PERCENT, at, middle - half), np.interp(PERCENT, at, middle + half)
    # an axis for every curve that has a band to compare with, then one for the others of each unit
    figures, units = importlib.import_module(FIGURES), tables[0].attrs["units"]
    spread = each.std(axis=0, ddof=1) if len(each) > 1 else None
    whole = figures.Panel("", "", tuple(chosen), each.mean(axis=0), spread, reference=bands)
    groups = [[k] for k, name in enumerate(chosen) if name in bands]
    groups += [[k for k, name in enumerate(chosen) if name not in bands and units[name] == unit]
               for unit in dict.fromkeys(units.values())]  # fmt: skip
    panels = []
    for first, *others in filter(None, groups):
        panel = whole.of([first, *others], "" if others else chosen[first])
        panels.append(replace(panel, unit=units[chosen[first]]))
    percents = {
        name: float(np.mean(100 * (times - starts) / (stops - starts))) for name, times in (events or {}).items()
    }
    return figures.draw_panels(PERCENT, panels, "cycle [%]", percents)


# ---- Spatiotemporal parameters ----------------------------------------------------------------------------------


@frozen(eq=False)
class GaitParameters:
    """The spatiotemporal parameters of every stride.

    table  a row for each stride: "side", "start", "end" [s], and the parameters of `UNITS`. Shares are percent of the
           stride. A step of a side ends with its heel strike; so does each step that the stride's row has

    >>> from myoquat.analysis import motion as mo
    >>> walk = mo.GaitEvents({"right": [0.0, 1.0], "left": [0.5]}, {"right": [0.6], "left": [0.1]}, (0, 1), "forces")
    >>> mo.gait_parameters(walk).table[["cadence", "stance_share", "double_support_share"]].round(6).to_dict("records")
    [{'cadence': 120.0, 'stance_share': 60.0, 'double_support_share': 20.0}]
    """

    table: "pd.DataFrame"

    def __repr__(self) -> str:
        counts = ", ".join(f"{int((self.table['side'] == side).sum())} {side}" for side in SIDES)
        return f"<GaitParameters of {len(self.table)} strides, {counts}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that are known of some stride."""
        return tuple(name for name in UNITS if self.table[name].notna().any())

    def to_dataframe(self) -> "pd.DataFrame":
        """Mean and standard deviation of each parameter: a row per parameter with its unit, and for each side and for
        both together columns such as "right", "right_sd" and "right_n", the number of strides."""
        groups = {side: self.table[self.table["side"] == side] for side in SIDES} | {"both": self.table}
        columns: dict[str, Any] = {"unit": {name: UNITS[name] for name in self.names}}
        for group, part in groups.items():
            known = part[list(self.names)]
            columns |= {group: known.mean(), f"{group}_sd": known.std(), f"{group}_n": known.count()}
        return pd.DataFrame(columns, pd.Index(self.names, name="parameter"))

    def to_xarray(self) -> "xr.Dataset":
        """Each parameter (stride,) with its units, and side, start and end [s] of the strides."""
        data = self.table.rename_axis("stride").to_xarray().set_coords(["side", "start", "end"])
        return _with_units(data, UNITS | {"start": "s", "end": "s"})

    def plot(self) -> "Figure":
        """A matplotlib Figure with an axis for each parameter: every stride of the right and of the left foot, and
        their means."""
        figures = importlib.import_module(FIGURES)
        names = self.names
        across = min(4, max(len(names), 1))
        figure: Figure
        figure, axes = figures.small_axes(len(names), across, 2.3 * across, 2.0)
        for axis, name in zip(axes, names, strict=True):
            for place, (side, style) in enumerate(zip(SIDES, figures.curve_styles(2), strict=True)):
                values = self.table[name][self.table["side"] == side].dropna().to_numpy(dtype=float)
                offsets = np.linspace(-0.15, 0.15, len(values)) if len(values) > 1 else np.zeros(len(values))
                axis.plot(place + offsets, values, "o", color=style["color"], alpha=0.5, markersize=4)
                if len(values):
                    axis.plot([place - 0.25, place + 0.25], [values.mean()] * 2, color=style["color"], linewidth=1.6)
            figures.plain_axis(axis, title=f"{name.replace('_', ' ')} [{UNITS[name]}]")
            low, high = axis.get_ylim()
            if high - low < MIN_SHOWN_RANGE * (middle := abs(low + high) / 2):  # strides alike, not their round-off
                axis.set_ylim((low + high) / 2 - MIN_SHOWN_RANGE * middle, (low + high) / 2 + MIN_SHOWN_RANGE * middle)
            axis.set_xticks(range(len(SIDES)), SIDES)
            axis.set_xlim(-0.5, 1.5)
        return figure


def gait_parameters(
    events: GaitEvents,
    markers: Markers | None = None,
    heels: Mapping[str, str] | None = None,
    *,
    direction: ArrayLike | None = None,
    belt_speed: float | None = None,
) -> GaitParameters:
    """Cadence, lengths and times of steps and strides, stance share, speed, step width and double support.

    markers     with the heels of both feet for lengths; without them there are times only
    heels       side -> marker of the heel
    direction   of the walk in the ground's axes, of which the horizontal part counts. By default the way of the heels
                from the first to the last heel strike, or against that of the belt
    belt_speed  [m/s] of a treadmill, which is added to the positions; 0 for steps in place

    A foot is where its heel is at heel strike. Step length and width are the distance from the other foot's place
    before it, along the walk and to its own side: the width is negative where the feet cross. Where it is so in the
    mean, an ImplausibleWarning asks whether right and left are interchanged. Double support is the part of the stride
    in which both feet are on the ground. ValueError for markers that the recording lacks, and for feet that do not
    move on where no `belt_speed` is known.

    >>> import numpy as np
    >>> from myoquat.analysis import motion as mo
    >>> walk = mo.GaitEvents({"right": [0.0, 1.0, 2.0], "left": [0.5, 1.5]}, {}, (0.0, 2.0), "forces")
    >>> time = np.linspace(0.0, 2.0, 201)
    >>> right = np.stack([1.3 * np.floor(time + 1e-9), 0 * time, 0 * time + 0.06], axis=-1)
    >>> left = np.stack([1.3 * np.floor(time + 0.5) - 0.65, 0 * time, 0 * time - 0.06], axis=-1)
    >>> seen = mo.Markers(time, ("RHEE", "LHEE"), np.stack([right, left], axis=1))
    >>> found = mo.gait_parameters(walk, seen, {"right": "RHEE", "left": "LHEE"})
    >>> found.to_dataframe().loc[["stride_length", "step_length", "step_width", "speed"], "both"].round(6).to_list()
    [1.3, 0.65, 0.12, 1.3]
    """
    check_types(events=(events, GaitEvents))
    along = None if direction is None else _unit(direction)
    feet = {side: np.full((len(events.heel_strikes[side]), 2), np.nan) for side in SIDES}
    if markers is not None and any(len(events.strides(side)) for side in SIDES):
        feet = _placements(events, markers, heels or {}, along, belt_speed)
    found = pd.concat([_strides(events, feet, side) for side in SIDES]).sort_values("start", ignore_index=True)
    if (width := found["step_width"].mean()) < 0:
        _warn(f"the feet cross in the mean, step width {width:.3f} m: are right and left interchanged?")
    found.attrs["units"] = {"start": "s", "end": "s"} | UNITS
    return GaitParameters(found)


def _strides(events: GaitEvents, feet: Mapping[str, Array], side: str) -> "pd.DataFrame":
    """A row for each stride of a side; NaN where an event is missing, or comes twice."""
    other, spans = SIDES[side == "right"], events.strides(side)
    (start, end), length = spans.T, np.diff(spans)[:, 0]
    own_off, off, strike = (
        _within(times, spans, most=1)
        for times in (events.toe_offs[side], events.toe_offs[other], events.heel_strikes[other])
    )
    shared = np.minimum(off, own_off)  # where the other foot leaves last in the stride, it runs
    both = np.where(off < strike, shared - start + np.maximum(own_off - strike, 0.0), np.maximum(shared - strike, 0.0))
    unknown = np.full((1, 2), np.nan)
    between = np.concatenate([feet[other], unknown])[np.searchsorted(events.heel_strikes[other], strike)]
    stride, (step, width) = np.diff(feet[side][:, 0]), (feet[side][1:] - between).T
    return pd.DataFrame({
        "side": pd.Series([side] * len(spans), dtype=str), "start": start, "end": end,
        "stride_time": length, "step_time": end - strike, "stance_time": own_off - start, "swing_time": end - own_off,
        "double_support_time": both, "cadence": 120 / length, "stance_share": 100 * (own_off - start) / length,
        "double_support_share": 100 * both / length,
        "stride_length": stride, "step_length": step, "step_width": width if side == "right" else -width,
        "speed": stride / length,
    })  # fmt: skip


def _placements(
    events: GaitEvents, markers: Markers, heels: Mapping[str, str], forward: Array | None, belt: float | None
) -> dict[str, Array]:
    """(n, 2) [m] where each heel strike of a side is, along the walk and to the right of it."""
    check_types(markers=(markers, Markers))
    for side in SIDES:
        if side not in heels:
            raise ValueError(f"heels: the marker of the {side} heel is missing")
    seen, frames = markers.select([heels[side] for side in SIDES]), np.arange(float(len(markers.time)))
    strikes = (np.interp(events.heel_strikes[side], seen.time, frames, left=-1.0, right=np.inf) for side in SIDES)
    # (n, 2, 3) both heels at the heel strikes of a side; NaN outside the record, and where a frame lacks the marker
    right, left = (interpolated(frames, seen.positions, at, 1.0) for at in strikes)
    struck = {"right": right[:, 0], "left": left[:, 1]}
    way = np.sum([_way(x) for x in struck.values()], axis=0)
    in_place = np.linalg.norm(way) < MIN_STRIDE_M * sum(len(events.strides(side)) for side in SIDES)
    if belt is None and in_place:
        raise ValueError("the feet do not move on: on a treadmill give belt_speed [m/s], 0 for steps in place")
    if forward is None and in_place:  # a belt takes the feet back during stance
        pairs = (right[:, 0], left[:, 0]), (left[:, 1], right[:, 1])  # each heel at its own strikes, and at the other's
        way = np.sum([_mean(own) - _mean(behind) for own, behind in pairs], axis=0)
    forward = _unit(way) if forward is None else forward
    across = vector([forward, np.cross(forward, UP)])
    belt_way = np.array([belt or 0.0, 0.0])
    return {side: struck[side] @ across + events.heel_strikes[side][:, None] * belt_way for side in SIDES}


def _way(x: Array) -> Array:
    """(3,) from the first known of the positions (n, 3) to the last one, horizontally."""
    known = x[np.isfinite(x[:, 0])]
    return LEVEL * (known[-1] - known[0]) if len(known) else np.zeros(3)
