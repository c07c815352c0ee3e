"""Markers: recorded positions of named points over time."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from myoquat.core import Array, ArrayLike, assign, frozen, pandas as pd, scipy, xarray as xr
from myoquat.data import c3d
from myoquat.data.files import check_ending, existing
from myoquat.data.mvnx import read_mvnx
from myoquat.data.reports import ImplausibleValues
from myoquat.data.rows import AXES, marker_table
from myoquat.data.storage import read_motion
from myoquat.data.trc import read_markers, write_markers
from myoquat.joints import ModelError

from .series import SpatialRecording, axes_rotation, check_cutoff, even_times, gaps_of

COMPONENT = re.compile(r"(.+?)(?:[_.:][tv]?)?([xyz1-3])", re.IGNORECASE)  # of a column: the marker and its axis
MAX_SPREAD_M = 100.0  # between markers of one frame: more are other units than the file says
MIN_JUMP_M, JUMP_STEPS = 1e-3, 10.0  # a jump is longer than both: a distance, and so many usual steps of the marker


@frozen(eq=False, repr=False)
class Markers(SpatialRecording):
    """positions (t, n, 3) [m] of markers `names` (n,) at `time` (t,) [s], NaN where a marker was not seen.
    Hidden entries of a masked array become NaN.

    `frame` names the axes of the components, "ground" those of a model's ground. Raises ValueError for times that do
    not increase, names that come twice, other shapes, infinities.

    >>> import numpy as np
    >>> from myoquat.data import Markers
    >>> positions = np.zeros((4, 1, 3))
    >>> positions[1] = np.nan  # not seen
    >>> markers = Markers([0.0, 0.1, 0.2, 0.3], ("heel",), positions)
    >>> markers.gaps().to_dict("records")
    [{'marker': 'heel', 'first': 0.1, 'last': 0.1, 'frames': 1}]
    """

    noun: ClassVar[str] = "marker"
    field: ClassVar[str] = "positions"
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {"axis": AXES}
    label: ClassVar[str] = "position"
    units: ClassVar[str] = "m"
    time: Array
    names: tuple[str, ...]
    positions: Array
    frame: str = "ground"

    def __post_init__(self) -> None:
        super().__post_init__()
        missing = np.isnan(self.positions).any(axis=-1, keepdims=True)
        assign(self, positions=np.where(missing, np.nan, self.positions))

    def gaps(self) -> "pd.DataFrame":
        """Every gap: marker, first and last time [s] at which it was not seen, and the number of frames."""
        rows = [
            (name, self.time[a], self.time[b - 1], b - a)
            for k, name in enumerate(self.names)
            for a, b in gaps_of(self.missing[:, k])
        ]
        return pd.DataFrame(rows, columns=["marker", "first", "last", "frames"])

    def turned(self, axes: ArrayLike | str, frame: str = "ground") -> "Markers":
        """The same positions in other axes, R x, with R as `axes_rotation` takes it: a matrix or "x z -y"."""
        return replace(self, positions=self.positions @ axes_rotation(axes).T, frame=frame)

    def low_passed(self, cutoff: float = 6.0, order: int = 4) -> "Markers":
        """The positions below a frequency [Hz], without delay, each marker between its gaps, which stay.

        A Butterworth filter of that order runs forwards and backwards (SciPy's `butter` and `sosfiltfilt`), so that the
        amplitude at the cutoff is half, as in `Emg.low_passed`. ValueError for times that are not even, and a cutoff
        that is not below half of the sampling rate.
        """
        rate = check_cutoff(even_times(self.time), cutoff)
        sections, found = scipy.signal.butter(order, cutoff, fs=rate, output="sos"), self.positions.copy()
        for k in range(len(self.names)):
            for a, b in gaps_of(~self.missing[:, k]):
                pad = min(3 * (2 * len(sections) + 1), b - a - 1)
                found[a:b, k] = scipy.signal.sosfiltfilt(sections, found[a:b, k], axis=0, padlen=pad)
        return replace(self, positions=found)

    # ---- other forms ----------------------------------------------------------------------------------------

    @classmethod
    def from_xarray(cls, array: "xr.DataArray") -> Self:
        """From (time, marker, axis) as `to_xarray` makes it; ValueError for other units."""
        if array.attrs.get("units") != "m":
            raise ValueError(f"positions in metres are needed, units 'm', not {array.attrs.get('units')!r}")
        return super().from_xarray(array)

    def save(self, path: str | Path, *, units: str = "m", overwrite: bool = False) -> None:
        """Write a .trc file in `units` ("m", "cm", "mm"). FileExistsError for an existing one unless `overwrite`,
        ValueError for another ending."""
        path = check_ending("markers are", path, ".trc")
        write_markers(self.to_dataframe(), path, units=units, overwrite=overwrite)


def load_markers(
    path: str | Path, axes: ArrayLike | str | None = None, *, strict: bool = False, at_origin: str = "missing"
) -> Markers:
    """The markers of a .trc or .c3d file, in metres; a frame in which a marker was not seen is NaN. Of an .mvnx file
    they are the origins of the segments. A table of OpenSim, .sto, holds three columns [m] for each, such as heel_tx,
    heel_ty and heel_tz, or heel_1, heel_2 and heel_3.

    axes: how the axes of the laboratory lie in those of the model, a rotation or words such as "x z -y" (see
    `axes_rotation`). Without it the components stay those of the file: nothing is guessed. Raises ModelError with file
    and line for a file that is broken or of another type, or that does not say its units. Faults that leave no doubt
    raise an ImplausibleWarning, or the error if `strict`: a wrong number of frames, names that are empty or come again,
    which get a number, and text that is not UTF-8.

    at_origin: many programs write 0 0 0 for a marker that was not seen. With "missing", frames in which a marker jumps
    to exactly this point are gaps. One ImplausibleWarning lists them, an error if `strict`. "position" keeps them. A
    marker that stays at this point without a jump, or whenever it is seen, is kept, and listed too.

    >>> import tempfile
    >>> from myoquat.data import Markers, load_markers
    >>> heel = Markers([0.0, 0.01], ("heel",), [[[0.1, 0.02, 0.0]], [[0.11, 0.02, 0.0]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     heel.save(f"{folder}/walk.trc", units="mm")
    ...     markers = load_markers(f"{folder}/walk.trc", axes="x z -y")
    >>> markers.positions[1, 0].round(3) + 0.0  # [m], in the model's axes
    array([ 0.11,  0.  , -0.02])
    """
    if at_origin not in ("missing", "position"):
        raise ValueError(f"at_origin is 'missing' or 'position', not {at_origin!r}")
    path = existing(path)
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".trc": partial(read_markers, strict=strict),
        ".c3d": partial(c3d.read_c3d_points, strict=strict),
        ".mvnx": lambda path: read_mvnx(path).origins(),
        ".sto": partial(_read_table, strict=strict),
    }
    if path.suffix.lower() not in readers:
        raise ModelError(f"markers are read from {', '.join(readers)} files", file=path)
    frame = readers[path.suffix.lower()](path)  # whose names and times the readers checked
    markers = Markers.from_dataframe(frame)
    low, high = (np.where(markers.missing[..., None], end, markers.positions) for end in (np.inf, -np.inf))
    spread = float(np.max(high.max(axis=1) - low.min(axis=1), initial=0.0))
    if spread > MAX_SPREAD_M:
        implausible = ImplausibleValues()
        implausible.count("markers of one frame that are too far from each other: check the units", f"{spread:.3g} m")
        implausible.report(path, strict)
    if at_origin == "missing":
        markers = _without_jumps_to_origin(markers, path, strict)
    return markers if axes is None else markers.turned(axes)


def _read_table(path: Path, strict: bool) -> "pd.DataFrame":
    """The markers of a table whose columns are their components, as `Markers.from_dataframe` takes them."""
    table = read_motion(path, strict, gaps=True)
    parts = [COMPONENT.fullmatch(str(label)) for label in table]
    names = [part[1] for part in parts[::3] if part]
    wanted = [(name, axis) for name in names for axis in AXES]
    found = [(part[1], AXES["123xyz".index(part[2].lower()) % 3]) if part else None for part in parts]
    if not found or found != wanted:
        odd = next((label for label, a, b in zip_longest(table, found, wanted) if a != b), "nothing")
        raise ModelError(f"three columns for each marker are needed, such as A_x, A_y and A_z, not {odd!r}", file=path)
    return marker_table(table.index.to_numpy(float), table.to_numpy(float), names)


class _AtOrigin(ImplausibleValues):
    """Markers at 0 0 0, by what is done with them."""

    opening = "markers at exactly 0 0 0, where many programs put those that were not seen"


def _without_jumps_to_origin(markers: Markers, path: Path, strict: bool) -> Markers:
    """The markers with gaps where they jump to 0 0 0. A report lists them, and those that are always there."""
    doubtful, positions = _AtOrigin(), markers.positions.copy()
    for k, name in enumerate(markers.names):
        x, unseen = markers.positions[:, k], markers.missing[:, k]
        at_origin = (x == 0).all(axis=-1)
        runs = gaps_of(at_origin)
        jumping = [run for run in runs if _jumps(x, *run)]
        if (unseen | at_origin).all() and not unseen.all():
            doubtful.count("kept, because they are always at this point", name)
        elif any(b - a > 1 and (a, b) not in jumping for a, b in runs):
            doubtful.count("kept for more than a frame, because the marker is near this point before or after", name)
        frames = [frame for a, b in jumping for frame in range(a, b)]
        if frames:
            positions[frames, k] = np.nan
            span = f"{markers.time[frames[0]]:g} to {markers.time[frames[-1]]:g} s"
            count = f"{len(frames)} frame{'s' * (len(frames) > 1)}"
            doubtful.count("taken as missing unless at_origin='position'", f"{name} in {count}, {span}")
    doubtful.report(path, strict)
    return replace(markers, positions=positions)


def _jumps(x: Array, first: int, after: int) -> bool:
    """Whether positions (t, 3) jump to rows `first` to `after` - 1, which are at the origin, from the nearest rows."""
    seen = ~np.isnan(x[:, 0]) & (x != 0).any(axis=-1)
    steps = np.linalg.norm(np.diff(x, axis=0), axis=-1)[seen[1:] & seen[:-1]]
    least = max(MIN_JUMP_M, JUMP_STEPS * float(np.median(steps)) if len(steps) else 0.0)
    before, behind = np.flatnonzero(seen[:first]), after + np.flatnonzero(seen[after:])
    near = [*before[-1:], *behind[:1]]
    return bool(near) and all(float(np.linalg.norm(x[row])) > least for row in near)
