"""What all records over time share: their times, names, gaps, and the axes in which vectors are given."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from myoquat.core import (
    Array,
    ArrayLike,
    assign,
    indices_of,
    pandas as pd,
    real_array,
    real_array_with_gaps,
    time_table,
    xarray as xr,
)
from myoquat.data.rows import named_parts, wrong_time
from myoquat.joints.ranges import check_array

TIME_TOLERANCE_S = 1e-9  # [s] by which equal times may differ: round-off of filters, sums of steps, and texts of files
TIME_JITTER = 0.05  # of a step: how far rounded times of a file may be from even ones
ROTATION_TOLERANCE = 1e-9  # of R^T R - 1


class TimeRecord:
    """Base of records whose arrays all have an axis of `time` (t,) [s] first."""

    time: Array

    def rows(self, rows: Array | slice) -> Self:
        """Some of the rows, by their numbers or where a mask is true."""
        arrays = {f.name: x for f in fields(self) if isinstance(x := getattr(self, f.name), np.ndarray)}  # type: ignore[arg-type]
        return replace(self, **{name: x[rows] for name, x in arrays.items()})  # type: ignore[type-var]

    def between(self, start: float, end: float) -> Self:
        """The rows from `start` to `end` [s], both included."""
        return self.rows(rows_within(self.time, start, end))


class Recording(TimeRecord):
    """Base of what was recorded of several markers, sensors or channels: `names`, and values over `time`, NaN for none.

    A subclass has the fields `time`, `names` and one of values (t, n, ...), and says:

    noun    what has a name: a marker, a sensor or a channel
    field   the field of the values
    parts   the name and the labels of their last axis, none where they have two
    label   of the values in xarray
    units   of the values
    blending  how values are interpolated, other than by straight lines (`interpolated`)
    """

    noun: ClassVar[str]
    field: ClassVar[str]
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    label: ClassVar[str]
    blending: ClassVar[tuple[Any, ...]] = ()
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        assign(self, time=check_time(self.time), names=check_names(self.noun, self.names))
        shape = (len(self.time), len(self.names), *map(len, self.parts.values()))
        assign(self, **{self.field: check_series(self.field, self._values, shape, gaps=True)})

    def __repr__(self) -> str:
        about = f"axes of {self.frame}" if hasattr(self, "frame") else f"in {self._attributes['units']}"
        return f"<{type(self).__name__} {len(self.names)} {self.noun}s, {frames_in(self.time)}, {about}>"

    @property
    def missing(self) -> Array:
        """(t, n) where there is no value."""
        missing = np.isnan(self._values)
        return missing[..., 0] if self.parts else missing

    @property
    def _values(self) -> Array:
        return getattr(self, self.field)

    @property
    def _attributes(self) -> dict[str, str]:
        return {key: getattr(self, key) for key in ("units", "frame") if hasattr(self, key)}

    def select(self, names: list[str] | tuple[str, ...]) -> Self:
        """Only these names, in this order; ValueError with the nearest ones for one that is not there."""
        return self._with(names=tuple(names), values=self._values[:, indices_of(self.noun, names, self.names)])

    def resampled(self, time: ArrayLike, longest_gap: float) -> Self:
        """Values at other times, by straight lines between the frames that hold them; orientations turn evenly about
        one axis (slerp).

        NaN outside the record and in gaps of more than `longest_gap` [s] between neighbouring frames: what is bridged
        is said by the caller. A raw EMG signal loses what is faster than the new rate, unlike an envelope.
        """
        at = check_time(time)
        return self._with(interpolated(self.time, self._values, at, longest_gap, *self.blending), time=at)

    def _with(self, values: Array, **changes: Any) -> Self:
        return replace(self, **{self.field: values}, **changes)  # type: ignore[type-var]

    # ---- other forms ----------------------------------------------------------------------------------------

    def to_dataframe(self) -> "pd.DataFrame":
        """Columns of the names, or (name, part), over the index time [s]; `attrs["units"]`."""
        columns: pd.Index = pd.Index(self.names)
        if self.parts:
            columns = pd.MultiIndex.from_product([self.names, *self.parts.values()], names=[self.noun, *self.parts])
        return time_table(self.time, self._values, columns, units=self._attributes["units"])

    def to_xarray(self) -> "xr.DataArray":
        """(time, name) or (time, name, part), with units."""
        labels = {self.noun: list(self.names), **{axis: list(parts) for axis, parts in self.parts.items()}}
        coordinates = {"time": ("time", self.time, {"units": "s"}), **labels}
        return xr.DataArray(self._values, coordinates, ("time", *labels), self.label, self._attributes)

    @classmethod
    def from_xarray(cls, array: "xr.DataArray") -> Self:
        """From an array as `to_xarray` makes it."""
        array = array.transpose("time", cls.noun, *cls.parts).sel(
            {axis: list(parts) for axis, parts in cls.parts.items()}
        )
        known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
        about = {key: value for key, value in array.attrs.items() if key in known}
        names = tuple(map(str, array[cls.noun].values))
        return cls(array["time"].values, names, array.values, **about)  # type: ignore[call-arg]


class SpatialRecording(Recording):
    """One whose values have components in the axes of a `frame`."""

    frame: str

    @classmethod
    def from_dataframe(cls, frame: "pd.DataFrame", axes_of: str = "ground") -> Self:
        """From columns (name, part) over the index time [s], as `to_dataframe` makes them; ValueError for others."""
        (parts,) = cls.parts.values()
        names = tuple(named_parts(frame, cls.noun, parts))
        values = frame.to_numpy(dtype=float).reshape(len(frame), len(names), len(parts))
        return cls(frame.index.to_numpy(dtype=float), names, values, axes_of)  # type: ignore[call-arg]


def rows_within(time: Array, start: float, end: float) -> Array:
    """(t,) whether times lie from `start` to `end` [s], both included, to TIME_TOLERANCE_S."""
    return (time >= start - TIME_TOLERANCE_S) & (time <= end + TIME_TOLERANCE_S)


def row_at(time: Array, at: float) -> int:
    """The last row that is not later than a time [s], to TIME_TOLERANCE_S; the first row for an earlier time."""
    return max(int(np.searchsorted(time, at + TIME_TOLERANCE_S, side="right")) - 1, 0)


def check_time(time: ArrayLike) -> Array:
    """(t,) times [s] as floats; ValueError, with the row, unless they are finite and increase."""
    times = check_array("time", time)
    if times.ndim != 1:
        raise ValueError(f"time has shape {times.shape}; (t,) is needed")
    if (row := wrong_time(times)) is not None:
        before = f"; the time before is {times[row - 1]:.10g}" if row else ""
        raise ValueError(f"time must be finite and increase: time[{row}] is {times[row]:.10g}{before}")
    return times


def check_names(noun: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names as a tuple; ValueError for one that is empty or comes twice."""
    found = tuple(map(str, names))
    known: set[str] = set()
    for i, name in enumerate(found):
        if not name:
            raise ValueError(f"{noun} {i} has no name")
        if name in known:
            raise ValueError(f"the {noun} {name!r} comes twice")
        known.add(name)
    return found


def frames_in(time: Array) -> str:
    """'16 frames, 0 to 1.5 s' of increasing times [s]; '0 frames, no frames' for none."""
    span = f"{time[0]:g} to {time[-1]:g} s" if len(time) else "no frames"
    return f"{len(time)} frames, {span}"


def check_run(run: int | tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of one run as a tuple; ValueError unless they name one of a batch of that shape, () for none."""
    chosen = (run,) if isinstance(run, int) else tuple(run)
    if len(chosen) != len(batch) or any(not 0 <= i < n for i, n in zip(chosen, batch, strict=True)):
        raise ValueError(f"run {chosen} does not name one of a batch {batch}")
    return chosen


def check_series(name: str, values: ArrayLike, shape: tuple[int, ...], gaps: bool = False) -> Array:
    """The values as floats of the given shape; ValueError for another shape, infinities and, without `gaps`, NaN."""
    array = real_array_with_gaps(name, values) if gaps else real_array(name, values)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; {shape} is needed")
    bad = np.isinf(array) if gaps else ~np.isfinite(array)
    if bad.any():
        where = [int(i) for i in np.argwhere(bad)[0]]
        raise ValueError(f"{name}{where} is {array[tuple(where)]}; finite numbers are needed")
    return array


def axes_rotation(axes: ArrayLike | str) -> Array:
    """(3, 3) R with v_model = R v_file, from R itself or from the file's axes along which the model's lie.

    "x z -y" says: the model's x is the file's x, its y the file's z, its z the opposite of the file's y. That is the
    way from a laboratory with z upwards to a model with y upwards. Raises ValueError for other words, and for a matrix
    that is no rotation, such as a triple of axes that is left-handed.

    >>> from myoquat.data import axes_rotation
    >>> axes_rotation("x z -y") @ [1.0, 2.0, 3.0]  # from a laboratory with z upwards to a model with y upwards
    array([ 1.,  3., -2.])
    """
    if isinstance(axes, str):
        words = axes.lower().replace("+", "").split()
        unit = {sign + "xyz"[i]: (-1.0 if sign else 1.0) * np.eye(3)[i] for i in range(3) for sign in ("", "-")}
        if len(words) != 3 or any(word not in unit for word in words):
            raise ValueError(f"axes are three of x, y, z with signs, such as 'x z -y', not {axes!r}")
        R = np.array([unit[word] for word in words])
    else:
        R = check_array("axes", axes)
    if R.shape != (3, 3) or not np.allclose(R.T @ R, np.eye(3), atol=ROTATION_TOLERANCE) or np.linalg.det(R) < 0:
        raise ValueError(f"axes must be a rotation (3, 3) or three right-handed axes such as 'x z -y', not {axes!r}")
    return R


def gaps_of(missing: Array) -> list[tuple[int, int]]:
    """Rows (first, after the last) of every stretch where missing (t,) is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in pairwise(edges)][::2]


def straight(time: Array, values: Array, at: Array, *_: Array) -> Array:
    """(s, 1) values (t, 1) at times (s,) by straight lines."""
    return np.interp(at, time, values[:, 0])[:, None]


def interpolated(
    time: Array,
    values: Array,
    at: Array,
    longest: float,
    blend: Callable[[Array, Array, Array, Array, Array], Array] = straight,
    width: int = 1,
) -> Array:
    """(s, ...) values (t, ...) at times (s,), linear or as `blend` has them between rows of `width` numbers each. NaN
    outside the record and between rows that are farther apart than `longest` [s], rows with NaN not counted.

    blend(time, values, at, before, after) takes the known rows (k,) and (k, width), times (s,), and for each the rows
    before and after it, which are the same for a time at a row."""
    columns = values.reshape(len(values), math.prod(values.shape[1:]) // width, width)
    result = np.full((len(at), *columns.shape[1:]), np.nan)
    for k in range(columns.shape[1]):
        known = np.flatnonzero(~np.isnan(columns[:, k, 0]))
        if not len(known):
            continue
        times = time[known]
        after = np.clip(np.searchsorted(times, at - TIME_TOLERANCE_S), 0, len(times) - 1)
        before = np.where(np.abs(times[after] - at) <= TIME_TOLERANCE_S, after, np.maximum(after - 1, 0))
        inside = rows_within(at, times[0], times[-1]) & (times[after] - times[before] <= longest)
        result[inside, k] = blend(times, columns[known, k], at[inside], before[inside], after[inside])
    return result.reshape(len(at), *values.shape[1:])


def even_times(time: Array, least: int = 16) -> Array:
    """Evenly spaced times; ValueError if the given ones are not near them, or fewer than `least`."""
    if len(time) < least:
        raise ValueError(f"at least {least} frames are needed, not {len(time)}")
    even = np.linspace(time[0], time[-1], len(time))
    away = np.abs(time - even)
    if away.max() > TIME_JITTER * (even[1] - even[0]):
        row = int(np.argmax(away))
        off = f"time[{row}] is {time[row]:.6g}, {away[row]:.3g} s from an even grid"
        raise ValueError(f"the times are not even, resample first: {off}")
    return even


def check_cutoff(time: Array, cutoff: float, name: str = "cutoff") -> float:
    """The sampling rate [Hz] of even times; ValueError for a cutoff that is not below half of it."""
    rate = float((len(time) - 1) / (time[-1] - time[0]))
    if not 0 < cutoff < rate / 2:
        raise ValueError(f"{name} must lie between 0 and half the sampling rate, {rate / 2:g} Hz, not {cutoff}")
    return rate
