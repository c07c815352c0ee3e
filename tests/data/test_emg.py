"""EMG: round trips, filters against the formulas of their sources, and what is refused."""

import numpy as np
import pytest
from fuzz.captures import capture

from myoquat.data import Emg, load_emg
from myoquat.joints.errors import ModelError

RATE = 1000.0
TIME = np.arange(2000) / RATE


def tone(frequency, size=1.0):
    return size * np.sin(2 * np.pi * frequency * TIME)


@pytest.fixture
def emg(rng):
    return Emg(TIME, ("gastroc", "soleus"), rng.normal(size=(2000, 2)) * [1e-4, 2e-4])


def test_filters_halve_at_their_frequencies_without_delay():
    """Of two passes 1 / (1 + (f / cutoff)^(2 order)) is left, with the frequencies of the bilinear transform."""
    given = Emg(TIME, ("a", "b", "c"), np.stack([tone(6.0), tone(40.0), tone(100.0)], axis=1))
    inner = slice(600, 1400)
    low = given.low_passed(6.0, order=4).signal
    warped = np.tan(np.pi * np.array([6.0, 40.0, 100.0]) / RATE) / np.tan(np.pi * 6.0 / RATE)
    for k in range(3):
        expected = given.signal[:, k] / (1 + warped[k] ** 8)
        assert np.allclose(low[inner, k], expected[inner], atol=2e-4)
    band = given.band_passed(40.0, 200.0).signal
    assert np.allclose(band[inner, 1], 0.5 * tone(40.0)[inner], atol=2e-3)
    assert np.allclose(band[inner, 2], tone(100.0)[inner], atol=1e-2)
    assert np.abs(band[inner, 0]).max() < 1e-4


def test_the_envelope_of_a_swelling_tone_is_its_mean_modulus():
    """2 / pi of the amplitude, of a tone whose amplitude changes slowly."""
    amplitude = 1 + 0.5 * np.sin(2 * np.pi * TIME)
    found = Emg(TIME, ("a",), (amplitude * tone(137.0) + 3.0)[:, None]).envelope(cutoff=10.0)
    assert np.allclose(found.signal[300:-300, 0], 2 / np.pi * amplitude[300:-300], atol=1e-3)
    share = found.normalized()
    assert share.units == "1"
    assert share.signal.max() == 1.0
    assert np.allclose(found.normalized({"a": 2.0}).signal, found.signal / 2)
    assert np.allclose(found.normalized(Emg(TIME, ("b", "a"), np.full((2000, 2), 4.0))).signal, found.signal / 4)


def test_round_trips(emg, tmp_path):
    for ending in (".sto", ".csv"):
        emg.save(tmp_path / f"a{ending}")
        back = load_emg(tmp_path / f"a{ending}", ["soleus"])
        assert np.array_equal(back.signal[:, 0], emg.signal[:, 1])
    for back in (Emg.from_dataframe(emg.to_dataframe()), Emg.from_xarray(emg.to_xarray())):
        assert (back.names, back.units) == (emg.names, emg.units)
        assert np.array_equal(back.signal, emg.signal)
    assert emg.between(0.5, 0.6).renamed({"soleus": "soleus_r"}).names == ("gastroc", "soleus_r")
    assert np.allclose(emg.resampled([0.0005], 0.1).signal, emg.signal[:2].mean(axis=0))
    assert repr(emg) == "<Emg 2 channels, 2000 frames, 0 to 1.999 s, in V>"


def test_channels_of_a_capture(tmp_path):
    """Volts of millivolts, at the rate of the channels; those of force plates beside them have other units."""
    signal, path = np.arange(150.0).reshape(1, 3, 50), tmp_path / "walk.c3d"
    capture(np.ones((4, 1, 5)), "mm", signal, ["TA", "SOL", "Fz"], ["mV", "V", "N"]).write(str(path))
    found = load_emg(path, ["SOL", "TA"])
    assert found.units == "V"
    assert np.allclose(found.signal, np.stack([signal[0, 1], signal[0, 0] * 1e-3], axis=1))
    assert np.allclose(np.diff(found.time), 1e-3)
    with pytest.raises(ModelError, match="several units, N, V"):
        load_emg(path)
    with pytest.raises(ValueError, match="no channel 'SLO'"):
        load_emg(path, ["SLO"])


def test_bad_input(emg, tmp_path):
    for call, words in (
        (lambda: emg.band_passed(20.0, 600.0), "high must lie between 0 and half the sampling rate, 500 Hz"),
        (lambda: emg.low_passed(-1.0), "cutoff must lie between 0"),
        (lambda: emg.select(["solus"]), "no channel 'solus'"),
        (lambda: Emg(TIME[[0, 1, 5]], ("a",), np.zeros((3, 1))).low_passed(), "the times are not even"),
        (lambda: Emg(TIME, ("a",), np.where(TIME == 1, np.nan, 0.0)[:, None]).low_passed(), "'a' has gaps"),
        (lambda: Emg(TIME, ("a",), np.zeros((2000, 1))).normalized(), "greatest value of 'a' must be positive"),
        (lambda: emg.normalized({"soleus": 1.0}), "no channel 'gastroc'"),
        (lambda: Emg(TIME, ("a", "a"), np.zeros((2000, 2))), "twice"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    (tmp_path / "a.trc").touch()
    with pytest.raises(ModelError, match="holds markers"):
        load_emg(tmp_path / "a.trc")
