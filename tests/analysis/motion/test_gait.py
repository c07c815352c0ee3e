"""Gait events, cycles and parameters of synthetic walks whose events and steps are known."""

from dataclasses import replace
from types import SimpleNamespace

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

import myoquat as mq
from myoquat.analysis import motion as mo
from myoquat.analysis.motion.gait import UNITS
from myoquat.apps.command import main as command_line
from myoquat.apps.commands.gait import _curves
from myoquat.data.reports import ImplausibleWarning

FEET = {"right": ("RHEE", "RTOE"), "left": ("LHEE", "LTOE")}
HEELS = {side: pair[0] for side, pair in FEET.items()}
SEEDS, FEW = st.integers(0, 2**32 - 1), settings(max_examples=20, deadline=None)
PLATES = {"right plate": "right", "left plate": "left"}


def walk(rng, duration=8.0, rate=100.0, belt=False, angle=0.0, sudden=True):
    """Markers of a straight walk in a direction, or on a belt, and its events, stride length and step width.

    A foot stands still from its heel strike to its toe off, and swings. Where it lands suddenly, with its velocity of
    the swing, the heel is farthest in front of the pelvis at heel strike, and the toe farthest behind at toe off."""
    period, stance = rng.uniform(0.9, 1.3), rng.uniform(0.55, 0.68)
    stride, width = rng.uniform(1.0, 1.6), rng.uniform(0.05, 0.25)
    time = np.arange(0, duration, 1 / rate)
    speed, shift = stride / period, rng.uniform(0.1, 0.4) * period
    forward = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    right = np.cross(forward, [0.0, 1.0, 0.0])
    way = np.zeros_like(time) if belt else speed * time
    columns = {"SACR": way[:, None] * forward + [0.0, 1.0, 0.0]}
    strikes, offs = {}, {}
    for side, phase, aside in (("right", 0.0, 0.5), ("left", 0.5, -0.5)):
        t0 = shift + phase * period - 2 * period
        all_strikes = t0 + period * np.arange(int(duration / period) + 5)
        all_offs = all_strikes + stance * period
        strikes[side] = all_strikes[(all_strikes > 0.15) & (all_strikes < duration - 0.15)]
        offs[side] = all_offs[(all_offs > 0.15) & (all_offs < duration - 0.15)]
        cycle = (time - t0) / period
        for name, reach in zip(FEET[side], (0.0, 0.22), strict=True):
            along = placed(cycle, stance, sudden) * stride + reach + t0 * speed + 0.3 - belt * speed * time
            height = 0.08 * np.maximum(np.sin(np.pi * (cycle % 1 - stance) / (1 - stance)), 0.0) * (cycle % 1 > stance)
            columns[name] = along[:, None] * forward + aside * width * right + height[:, None] * [0.0, 1.0, 0.0]
    positions = np.stack(list(columns.values()), axis=1)
    return (
        mo.Markers(time, tuple(columns), positions),
        strikes,
        offs,
        {"stride": stride, "width": width, "speed": speed},
    )


def placed(cycle, stance, sudden):
    """Strides that a foot has gone: constant in stance; in swing linear, or from rest to rest."""
    s = np.clip((cycle % 1 - stance) / (1 - stance), 0.0, 1.0)
    return np.floor(cycle) + (s if sudden else 10 * s**3 - 15 * s**4 + 6 * s**5)


def loads(time, strikes, offs, top=800.0, ramp=0.02):
    """Forces that rise linearly from 0 at each heel strike to `top` after `ramp` [s], and fall to 0 at each toe off."""
    push = np.zeros((len(time), 2))
    for k, side in enumerate(("right", "left")):
        edges = sorted([*((t, 1) for t in strikes[side]), *((t, 0) for t in offs[side])])
        on = bool(edges) and edges[0][1] == 0
        knots, values = [time[0]], [top * on]
        for t, up in edges:
            knots += [t, t + ramp] if up else [t - ramp, t]
            values += [0.0, top] if up else [top, 0.0]
        push[:, k] = np.interp(time, knots, values)
    return plates(time, push, tuple(PLATES), ("calcn_r", "calcn_l"))


def plates(time, upwards, names, bodies):
    """Forces (t, k) along y at the origin."""
    push = np.multiply.outer(upwards, [0.0, 1.0, 0.0])
    return mo.Forces(time, names, bodies, push, 0 * push, 0 * push)


@FEW
@given(seed=SEEDS, belt=st.booleans(), angle=st.floats(-3.1, 3.1))
def test_events_of_markers_are_within_a_frame_of_those_of_the_walk(seed, belt, angle):
    markers, strikes, offs, _truth = walk(np.random.default_rng(seed), belt=belt, angle=angle)
    found = mo.gait_events_from_markers(markers, FEET, ["SACR"], cutoff=None)
    assert found.success
    for side in ("right", "left"):
        for events, known in ((found.heel_strikes[side], strikes[side]), (found.toe_offs[side], offs[side])):
            inner = known[(known > 0.6) & (known < markers.time[-1] - 0.6)]  # prominence needs the neighbouring minima
            assert_allclose([events[np.argmin(abs(events - t))] for t in inner], inner, atol=0.011)
            assert all(np.min(abs(known - t)) < 0.011 for t in events if 0.16 < t < markers.time[-1] - 0.16)


@FEW
@given(seed=SEEDS)
def test_events_of_forces_are_exact_and_noise_below_the_threshold_makes_none(seed):
    rng = np.random.default_rng(seed)
    _, strikes, offs, _ = walk(rng)
    time = np.arange(0, 8.0, 1e-3)
    clean = loads(time, strikes, offs)
    found = mo.gait_events_from_forces(clean)
    for side in ("right", "left"):
        assert_allclose(found.heel_strikes[side], strikes[side] + 0.02 * 20 / 800, atol=1e-9 + 5e-4)
        assert_allclose(found.toe_offs[side], offs[side] - 0.02 * 10 / 800, atol=1e-9 + 5e-4)
    again = mo.gait_events_from_forces(replace(clean, force=clean.force + rng.uniform(-4, 4, clean.force.shape)))
    for side in ("right", "left"):
        assert_allclose(again.heel_strikes[side], found.heel_strikes[side], atol=1e-3)
        assert_allclose(again.toe_offs[side], found.toe_offs[side], atol=1e-3)


def test_hysteresis_and_duration_keep_noise_apart_from_contacts():
    time = np.arange(0, 3.0, 1e-2)
    push = np.zeros(300)
    push[100:180] = 700.0
    push[179:185] = [22.0, 18.0, 22.0, 18.0, 22.0, 12.0]  # above the release
    push[50:52] = 300.0  # a knock of 20 ms
    push[130:132] = 0.0  # a plate that loses two rows
    forces = plates(time, push[:, None], ("a",), ("calcn_r",))
    found = mo.gait_events_from_forces(forces)
    assert_allclose(found.heel_strikes["right"], [0.99 + 0.01 * 20 / 700], atol=1e-9)
    assert_allclose(found.toe_offs["right"], [1.84 + 0.01 * 2 / 12], atol=1e-9)
    twice = mo.gait_events_from_forces(forces, threshold=20.0, release=20.0, shortest=0.0)
    assert len(twice.heel_strikes["right"]) > 3


def test_plates_of_one_side_are_added():
    time = np.arange(0, 2.0, 1e-2)
    push = np.zeros((200, 2))
    push[50:100, 0], push[90:150, 1] = 400.0, 400.0
    forces = plates(time, push, ("plate1", "plate2"), ("", ""))
    found = mo.gait_events_from_forces(forces, {"plate1": "left", "plate2": "left"})
    assert len(found.heel_strikes["left"]) == len(found.toe_offs["left"]) == 1
    with pytest.raises(ValueError, match="no load acts on a body that ends in _r or _l; sides="):
        mo.gait_events_from_forces(forces)
    with pytest.raises(ValueError, match="the load 'plate1': a side is 'right' or 'left', not 'r'"):
        mo.gait_events_from_forces(forces, {"plate1": "r"})
    with pytest.raises(ValueError, match="0 < release <= threshold"):
        mo.gait_events_from_forces(forces, {"plate1": "left"}, release=30.0)
    turned = replace(plates(time, push[:, :1], ("a",), ("calcn_r",)), force_frames=("calcn_r",))
    with pytest.raises(ValueError, match="forces in the ground's axes are needed"):
        mo.gait_events_from_forces(turned)


@FEW
@given(seed=SEEDS, belt=st.booleans(), angle=st.floats(-3.1, 3.1))
def test_parameters_are_those_of_the_walk(seed, belt, angle):
    markers, strikes, offs, truth = walk(np.random.default_rng(seed), belt=belt, angle=angle, sudden=False)
    events = mo.GaitEvents(strikes, offs, (0.0, float(markers.time[-1])), "forces")
    found = mo.gait_parameters(events, markers, HEELS, belt_speed=truth["speed"] if belt else None)
    mean = found.to_dataframe()["both"]
    period = truth["stride"] / truth["speed"]
    assert_allclose(mean[["stride_time", "step_time", "cadence"]], [period, period / 2, 120 / period], atol=1e-9)
    # straight lines between frames of 10 ms
    assert_allclose(mean["stride_length"], truth["stride"], atol=2e-3)
    assert_allclose(mean["step_length"], truth["stride"] / 2, atol=2e-3)
    assert_allclose(mean["step_width"], truth["width"], atol=1e-6)
    assert_allclose(mean["speed"], truth["speed"], atol=2e-3)
    stance = float((offs["right"][-1] - strikes["right"][strikes["right"] < offs["right"][-1]][-1]) / period)
    assert_allclose(mean["stance_share"], 100 * stance, atol=1e-6)
    assert_allclose(mean["double_support_share"], 100 * (2 * stance - 1), atol=1e-6)


def test_a_run_has_no_double_support():
    events = mo.GaitEvents({"right": [0.0, 0.7], "left": [0.35]}, {"right": [0.25], "left": [0.6]}, (0, 1), "forces")
    row = mo.gait_parameters(events).table.iloc[0]
    assert row["double_support_time"] == 0.0
    assert row["stance_time"] == 0.25


def test_strides_have_the_events_strictly_within_them_and_only_those_that_come_once():
    """Double support is the time with both feet on the ground, here counted in steps of 5 ms between the events."""
    rng, instants, known = np.random.default_rng(11), np.arange(0.0025, 4.0, 0.005), 0
    for _ in range(60):
        drawn = [np.sort(rng.choice(np.arange(40), rng.integers(3, 7), replace=False)) / 10 for _ in range(4)]
        strikes, offs = dict(zip(("right", "left"), drawn[:2], strict=True)), {"right": drawn[2], "left": drawn[3]}
        for _, row in mo.gait_parameters(mo.GaitEvents(strikes, offs, (0.0, 4.0), "forces")).table.iterrows():
            side, other = row["side"], {"right": "left", "left": "right"}[row["side"]]
            within = [[t for t in times[foot] if row["start"] < t < row["end"]]
                      for times, foot in ((offs, side), (offs, other), (strikes, other))]  # fmt: skip
            own_off, off, strike = (times[0] if len(times) == 1 else np.nan for times in within)
            assert_allclose(row["stance_time"], own_off - row["start"])
            assert_allclose(row["step_time"], row["end"] - strike)
            inside = instants[(instants > row["start"]) & (instants < own_off)]
            carried = (inside < off) | (inside > strike) if off < strike else (inside > strike) & (inside < off)
            both = np.nan if np.isnan([own_off, off, strike]).any() else 0.005 * np.sum(carried)
            assert_allclose(row["double_support_time"], both, atol=1e-9)
            known += np.isfinite(both)
    assert known > 10


def test_feet_that_do_not_move_on_need_the_speed_of_the_belt():
    markers, strikes, offs, _ = walk(np.random.default_rng(1), belt=True)
    events = mo.GaitEvents(strikes, offs, (0.0, 8.0), "markers")
    with pytest.raises(ValueError, match="the feet do not move on: on a treadmill give belt_speed"):
        mo.gait_parameters(events, markers, HEELS)
    with pytest.raises(ValueError, match="heels: the marker of the left heel is missing"):
        mo.gait_parameters(events, markers, {"right": "RHEE"})
    with pytest.raises(ValueError, match="marker 'HEEL'"):
        mo.gait_parameters(events, markers, {"right": "HEEL", "left": "LHEE"})


def test_missing_events_are_reported():
    events = mo.GaitEvents(
        {"right": [0.0, 1.0, 2.0, 4.0], "left": [0.5]}, {"right": [0.6, 2.6, 2.8]}, (0.0, 4.0), "forces"
    )
    assert not events.success
    assert events.problems() == (
        "the right foot has no toe off between 1.000 and 2.000 s",
        "the right foot has no heel strike between 2.600 and 2.800 s",
        "a stride of the right foot from 2.000 to 4.000 s is longer than others",
    )
    with pytest.raises(mq.NotSolvedError, match="no toe off between"):
        events.check()
    table = mo.gait_parameters(events).table
    assert np.isnan(table["stance_time"][1])
    assert table["stance_time"][0] == 0.6
    none = mo.GaitEvents({}, {}, (0.0, 1.0), "forces")
    assert none.problems() == ("no foot has two heel strikes",)
    both = replace(events, heel_strikes=events.heel_strikes | {"left": [0.5, 1.5]})
    expected = mo.gait_parameters(both).table.dtypes  # sides without strides do not change the types of columns
    assert table.dtypes.equals(expected)
    assert mo.gait_parameters(none).table.dtypes.equals(expected)
    with pytest.raises(ValueError, match="a side is 'right' or 'left', not 'r'"):
        mo.GaitEvents({"r": [1.0]}, {}, (0.0, 1.0), "forces")
    with pytest.raises(ValueError, match="finite times that increase"):
        mo.GaitEvents({"right": [1.0, 0.5]}, {}, (0.0, 1.0), "forces")


def test_gaps_of_a_tenth_of_a_second_are_bridged_and_longer_ones_have_no_events():
    markers, strikes, _, _ = walk(np.random.default_rng(5))
    positions = markers.positions.copy()
    heel = markers.names.index("RHEE")
    strike = strikes["right"][2]
    positions[(markers.time > strike + 0.2) & (markers.time < strike + 0.28), heel] = np.nan
    bridged = mo.gait_events_from_markers(mo.Markers(markers.time, markers.names, positions), FEET, ["SACR"])
    whole = mo.gait_events_from_markers(markers, FEET, ["SACR"])
    assert_allclose(bridged.heel_strikes["right"], whole.heel_strikes["right"], atol=2e-3)
    positions[(markers.time > strike - 0.2) & (markers.time < strike + 0.2), heel] = np.nan
    with pytest.warns(ImplausibleWarning, match=r"'RHEE' is missing from .* events near there are left out"):
        gap = mo.gait_events_from_markers(mo.Markers(markers.time, markers.names, positions), FEET, ["SACR"])
    assert not ((gap.heel_strikes["right"] > strike - 0.2) & (gap.heel_strikes["right"] < strike + 0.2)).any()
    assert not gap.success


def test_feet_and_axes_that_are_interchanged_give_warnings():
    markers, strikes, offs, _ = walk(np.random.default_rng(3))
    swapped = {"right": FEET["left"], "left": FEET["right"]}
    events = mo.gait_events_from_markers(markers, swapped, ["SACR"])
    with pytest.warns(ImplausibleWarning, match="are right and left interchanged"):
        mo.gait_parameters(events, markers, {side: pair[0] for side, pair in swapped.items()})
    with pytest.warns(ImplausibleWarning, match=r"the toe of the right foot, 'RHEE', is behind the heel, 'RTOE'"):
        mo.gait_events_from_markers(markers, {"right": ("RTOE", "RHEE")}, ["SACR"])
    lying = mo.Markers(markers.time, markers.names, markers.positions[..., [0, 2, 1]])
    with pytest.warns(ImplausibleWarning, match=r"the pelvis is not above the heels.*--axes"):
        mo.gait_events_from_markers(lying, FEET, ["SACR"])
    swing = np.ones((len(markers.time), 3, 3)) * [0.0, 1.0, 0.0]
    swing[:, 1:] = 0.3 * np.sin(9 * markers.time)[:, None, None] * [1.0, 0.0, 0.0] + [[0.0] * 3, [0.2, 0.0, 0.0]]
    run = mo.Markers(markers.time, ("SACR", *FEET["right"]), swing)
    with pytest.warns(ImplausibleWarning, match="stance is 50 % of the stride: toe offs of a run come late"):
        mo.gait_events_from_markers(run, {"right": FEET["right"]}, ["SACR"])
    push = loads(markers.time, strikes, offs)
    for force, words in ((-push.force, "downwards"), (push.force[..., [0, 2, 1]], "along z")):
        with pytest.warns(ImplausibleWarning, match=f"act mostly {words}"):
            mo.gait_events_from_forces(replace(push, force=force))


def test_a_walk_of_few_or_short_strides_is_not_taken_for_a_treadmill():
    """A patient's stride of 0.5 m between two plates, and a walk with one heel strike of each foot."""
    time = np.linspace(0.0, 1.4, 141)
    heels = np.stack(
        [0.5 * np.floor(time[:, None] - [0.1, 0.6]), 0 * np.ones((141, 2)), [0.1, -0.1] * np.ones((141, 2))], -1
    )
    seen = mo.Markers(time, ("RHEE", "LHEE"), heels)
    walk = mo.GaitEvents({"right": [0.15, 1.15], "left": [0.65]}, {}, (0.0, 1.4), "forces")
    assert_allclose(mo.gait_parameters(walk, seen, HEELS).table["stride_length"], [0.5])
    heels[14:18, 0] = np.nan  # a heel is unknown there, whatever other frames the recording leaves out
    rows = np.r_[:30, 60:141]
    gap = mo.Markers(time[rows], seen.names, heels[rows])
    assert np.isnan(mo.gait_parameters(walk, gap, HEELS, belt_speed=0.0).table["stride_length"]).all()
    none = mo.GaitEvents({"right": [0.15], "left": [0.65]}, {}, (0.0, 1.4), "forces")
    assert not len(mo.gait_parameters(none, seen, HEELS).table)


def test_the_direction_of_a_walk_must_be_found():
    still = mo.Markers(np.arange(20) / 10, ("S", "H", "T"), np.zeros((20, 3, 3)))
    with pytest.raises(ValueError, match="the direction of the walk cannot be found"):
        mo.gait_events_from_markers(still, {"right": ("H", "T")}, ["S"])
    with pytest.raises(ValueError, match=r"direction has shape \(2,\)"):
        mo.gait_events_from_markers(still, {"right": ("H", "T")}, ["S"], direction=[1.0, 0.0])
    with pytest.raises(ValueError, match="a heel, a toe and a marker of the pelvis"):
        mo.gait_events_from_markers(still, {}, ["S"])


def test_curves_are_at_each_percent_of_the_cycles_of_their_side():
    events = mo.GaitEvents(
        {"right": [0.0, 1.0, 2.2], "left": [0.5, 1.5]}, {"right": [0.6, 1.72], "left": [1.1]}, (0.0, 3.0), "forces"
    )
    time = np.linspace(0.0, 3.0, 3001)
    table = pd.DataFrame({"knee_angle_r_moment": time, "knee_angle_l_moment": -time, "tilt": time**2}, index=time)
    found = mo.gait_cycles(table, events)
    assert found.names == ("knee_angle_moment", "tilt")
    assert found.units == ("N m", "")
    share = np.linspace(0.0, 1.0, 101)
    assert_allclose(found.values["right"][:, :, 0], [share, 1.0 + 1.2 * share], atol=1e-9)
    assert_allclose(found.mean("left")[:, 0], -0.5 - share, atol=1e-9)
    assert_allclose(found.deviation("right")[:, 0], np.std([share, 1 + 1.2 * share], axis=0, ddof=1), atol=1e-9)
    assert np.isnan(found.deviation("left")).all()
    assert_allclose(found.toe_offs["right"], [60.0, 60.0])
    frame, data = found.to_dataframe(), found.to_xarray()
    assert_allclose(frame[("right", "tilt", "mean")], found.mean("right")[:, 1])
    assert data.curves.shape == (3, 101, 2)
    assert list(data.side.values) == ["right", "right", "left"]
    short = mo.gait_cycles(table.loc[:1.3], events, ["tilt"])
    assert len(short.values["right"]) == 1
    assert "left" not in short.values
    with pytest.raises(ValueError, match="cover no whole gait cycle"):
        mo.gait_cycles(table.loc[:0.9], events)
    with pytest.raises(ValueError, match="hip"):
        mo.gait_cycles(table, events, ["hip"])
    with pytest.raises(ValueError, match="no curve is known in the cycles of right and left"):
        mo.gait_cycles(table[["knee_angle_r_moment"]], events)


def test_results_have_the_forms_of_all_results():
    markers = walk(np.random.default_rng(2))[0]
    events = mo.gait_events_from_markers(markers, FEET, ["SACR"])
    parameters = mo.gait_parameters(events, markers, HEELS)
    cycles = mo.gait_cycles(markers.to_dataframe()["RHEE"], events)
    for result, words in ((events, "right"), (parameters, "strides"), (cycles, "3 curves")):
        assert isinstance(result.plot(), matplotlib.figure.Figure)
        assert len(result.to_dataframe())
        assert result.to_xarray().sizes
        assert words in repr(result)
    assert events.check() is events
    assert events.to_dataframe()["time"].is_monotonic_increasing
    assert set(parameters.to_xarray()) == set(UNITS)
    assert all(a < b for a, b in events.contacts("right"))


def test_landmarks_are_markers_and_origins_of_bodies_in_motion():
    model = mq.load_model("two_link", rotations="sequence")
    q = model.start + np.linspace(0, 0.4, 5)[:, None]
    motion = mo.Motion(model, np.arange(5) / 10, q)
    found = mo.landmarks(model, motion, ["B"])
    assert_allclose(found.positions[:, 0], model.system.poses(q)["B"][1])
    with pytest.raises(ValueError, match="marker or body"):
        mo.landmarks(model, motion, ["C"])


def test_the_command_writes_events_parameters_and_cycles(tmp_path, capsys):
    markers, strikes, offs, _ = walk(np.random.default_rng(4))
    markers.save(tmp_path / "walk.trc")
    time = np.arange(0, 8.0, 1e-3)
    loads(time, strikes, offs).save(tmp_path / "grf.xml")
    table = pd.DataFrame({"a_r": time, "a_l": time}, index=pd.Index(time, name="time"))
    mq.data.save_table(table, tmp_path / "curves.sto")
    feet = ["--right", "RHEE,RTOE", "--left", "LHEE,LTOE", "--pelvis", "SACR"]
    files = [str(tmp_path / name) for name in ("out.csv", "events.csv", "cycles.csv", "page.html")]
    command = ["gait", files[0], "--markers", str(tmp_path / "walk.trc"), *feet, "--loads", str(tmp_path / "grf.xml")]
    command += ["--events", files[1], "--curves", str(tmp_path / "curves.sto"), "--cycles", files[2]]
    command_line([*command, "--report", files[3]])
    assert "from forces" in capsys.readouterr().out
    written = pd.read_csv(files[0], index_col=0)
    right, left = (markers.select([name]).positions[:, 0, 2].mean() for name in ("RHEE", "LHEE"))
    assert_allclose(written.loc["step_width", "both"], right - left, atol=1e-4)
    assert list(pd.read_csv(files[1]).columns) == ["time [s]", "side", "event"]
    assert {"right a mean", "left a sd"} <= set(pd.read_csv(files[2]).columns)
    assert "Strides" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("ignore", "result"), [(("noise*",), mo.Motion), ((), pd.DataFrame)])
def test_curves_of_the_command_are_a_motion_without_ignored_columns(ignore, result, tmp_path):
    model = mq.load_model("two_link")
    motion = mo.Motion(model, np.arange(5) / 10, np.tile(model.start, (5, 1)))
    table = pd.DataFrame(motion.q, motion.time, model.system.coordinate_names).rename_axis("time")
    mq.data.save_table(table.assign(noise1=0.0), tmp_path / "curves.sto", in_degrees=False)
    found = _curves(SimpleNamespace(model="two_link", ignore=ignore, degrees=None), tmp_path / "curves.sto")
    assert isinstance(found, result)


def test_wrong_options_of_the_command_are_one_sentence(tmp_path, capsys):
    walk(np.random.default_rng(4))[0].save(tmp_path / "walk.trc")
    base = ["gait", str(tmp_path / "out.csv"), "--markers", str(tmp_path / "walk.trc")]
    for wrong, sentence in (
        (["--right", "RHEE"], "--right is HEEL,TOE, not 'RHEE'"),
        (["--direction", "x"], "--direction is X,Y,Z with numbers, not 'x'"),
        (["--right", "RHEE,RTOE", "--belt-speed", "1.3"], "need --right, --left, and --markers or --motion"),
        (["--cycles", str(tmp_path / "c.csv")], "give both"),
        (["--motion", str(tmp_path / "walk.trc")], "not from both"),
        ([], "a heel, a toe and a marker of the pelvis are needed"),
    ):
        with pytest.raises(SystemExit) as stop:
            command_line([*base, *wrong])
        assert stop.value.code == 2
        assert sentence in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command_line(base[:2])
    assert "events need --loads" in capsys.readouterr().err
