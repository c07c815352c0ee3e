"""EMG: electrical activity of muscles over time, recorded or as an envelope."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from myoquat.core import Array, frozen, indices_of, pandas as pd, scipy
from myoquat.data import c3d
from myoquat.data.files import existing
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in

from .formats import load_table, save_table
from .series import Recording, check_cutoff, even_times


@frozen(eq=False, repr=False)
class Emg(Recording):
    """signal (t, n) of channels `names` (n,) at `time` (t,) [s], NaN where there is none, in `units`: "V", or "1" where
    it has been normalized. Hidden entries of a masked array become NaN.

    Raises ValueError for times that do not increase, names that come twice, other shapes, infinite numbers.

    >>> from myoquat.data import Emg
    >>> Emg([0.0, 0.1], ("soleus",), [[0.2], [-0.4]]).rectified().normalized({"soleus": 0.6}).signal[:, 0].round(3)
    array([0.5, 0.5])
    """

    noun: ClassVar[str] = "channel"
    field: ClassVar[str] = "signal"
    label: ClassVar[str] = "emg"
    time: Array
    names: tuple[str, ...]
    signal: Array
    units: str = "V"

    def renamed(self, muscles: Mapping[str, str]) -> "Emg":
        """Channels called after muscles: {channel: muscle}; others keep their names. ValueError for a channel that is
        not there."""
        indices_of("channel", muscles, self.names)
        return replace(self, names=tuple(muscles.get(name, name) for name in self.names))

    # ---- what is done with a recording ----------------------------------------------------------------------

    def band_passed(self, low: float = 20.0, high: float = 450.0, order: int = 4) -> "Emg":
        """The signal between two frequencies [Hz], without delay.

        A Butterworth filter of that order runs forwards and backwards (SciPy's `butter` and `sosfiltfilt`), so that the
        amplitude at both frequencies is half.

        ValueError for times that are not even, and for a signal with gaps or too short. It is raised too for
        frequencies outside of (0, half the sampling rate) or in the wrong order.
        """
        rate = check_cutoff(even_times(self.time, 2), high, "high")
        if not 0 < low < high:
            raise ValueError(f"0 < low < high is needed, not {low}, {high}")
        return self._filtered(np.asarray(scipy.signal.butter(order, [low, high], "bandpass", fs=rate, output="sos")))

    def rectified(self) -> "Emg":
        """The absolute value of the signal less its mean over the record."""
        with np.errstate(invalid="ignore"):
            mean = np.nanmean(self.signal, axis=0) if len(self.time) else np.zeros(len(self.names))
        return replace(self, signal=np.abs(self.signal - mean))

    def low_passed(self, cutoff: float = 6.0, order: int = 4) -> "Emg":
        """The signal below a frequency [Hz], without delay, as `band_passed` filters. Of a rectified one it is the
        envelope, whose undershoots are set to 0 where the signal has nothing below 0."""
        rate = check_cutoff(even_times(self.time, 2), cutoff)
        found = self._filtered(np.asarray(scipy.signal.butter(order, cutoff, fs=rate, output="sos")))
        return found if (self.signal < 0).any() else replace(found, signal=np.maximum(found.signal, 0.0))

    def envelope(self, low: float = 20.0, high: float = 450.0, cutoff: float = 6.0) -> "Emg":
        """`band_passed`, `rectified`, `low_passed`, one after the other."""
        return self.band_passed(low, high).rectified().low_passed(cutoff)

    def normalized(self, reference: "Emg | Mapping[str, float] | None" = None) -> "Emg":
        """The signal over its greatest value in a reference: an envelope of a maximal contraction, values by channel,
        or None for its own greatest values. In units "1".

        ValueError for a channel that the reference lacks, and a greatest value that is not positive.
        """
        if isinstance(reference, Mapping):
            indices_of("channel", self.names, list(reference))
            most = np.array([float(reference[name]) for name in self.names])
        else:
            most = np.nanmax((reference or self).select(self.names).signal, axis=0, initial=-np.inf)
        for name, value in zip(self.names, most, strict=True):
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"the greatest value of {name!r} must be positive, not {value:g}")
        return replace(self, signal=self.signal / most, units="1")

    def _filtered(self, sections: Array) -> "Emg":
        gaps = np.isnan(self.signal).any(axis=0)
        if gaps.any():
            name = self.names[int(np.argmax(gaps))]
            raise ValueError(f"the channel {name!r} has gaps; take a part of the record, or other channels")
        return replace(self, signal=scipy.signal.sosfiltfilt(sections, self.signal, axis=0))

    # ---- other forms ----------------------------------------------------------------------------------------

    @classmethod
    def from_dataframe(cls, frame: "pd.DataFrame", units: str | None = None) -> "Emg":
        """From a column per channel over the index time [s]; units are the frame's own (`.attrs`) or "V" if they are
        not given."""
        names = tuple(map(str, frame.columns))
        given = units or frame.attrs.get("units", "V")
        return cls(frame.index.to_numpy(dtype=float), names, frame.to_numpy(dtype=float), given)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a .sto, .mot or .csv file, of which only the last can hold gaps. FileExistsError for an existing file
        unless `overwrite`."""
        save_table(self.to_dataframe(), path, overwrite=overwrite)


def load_emg(path: str | Path, channels: list[str] | tuple[str, ...] | None = None, units: str | None = None) -> Emg:
    """The channels of a .sto, .mot, .csv or .c3d file, all if none are named.

    units: what the numbers are, as the file says it, or "V" where it does not, if None. Of a .c3d file, whose analog
    channels also are those of force plates, channels in "mV" and "uV" become volts. Raises ModelError for a file that
    is broken or of another type, and for channels of several units. ValueError for a channel that is not there.

    >>> import pathlib, tempfile
    >>> from myoquat.data import Emg, load_emg
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "walk.csv"
    >>> Emg([0.0, 0.1], ("soleus",), [[0.2], [-0.4]]).save(path)
    >>> load_emg(path)
    <Emg 1 channels, 2 frames, 0 to 0.1 s, in V>
    """
    path = existing(path)
    if path.suffix.lower() == ".trc":
        raise ModelError("a .trc file holds markers", file=path)
    frame = c3d.read_c3d_channels(path, channels) if path.suffix.lower() == ".c3d" else load_table(path)
    with errors_in(path):
        found = Emg.from_dataframe(frame, units)
        return found if channels is None else found.select(tuple(channels))
