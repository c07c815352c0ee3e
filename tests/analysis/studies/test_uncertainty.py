"""Bands of uncertain inputs: laws of errors, shares that are known, and the commands."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import myoquat as mq
from myoquat.analysis.fits import fit_paths
from myoquat.analysis.studies import (
    LoadsWanted,
    MotionSteps,
    UncertainInputs,
    uncertain_angles,
    uncertain_loads,
    uncertain_torques,
)
from myoquat.apps.command import main
from myoquat.data import Markers, Motion
from myoquat.muscle import PathPoint, path_jacobian, path_lengths
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.laws import DeGrooteFregly2016
from tests.bodies import on_hinge

TIME = np.linspace(0.0, 1.0, 51)
ONLY = UncertainInputs(0.0, 0.0, 0.0, 0.0, 0.0001, samples=400, frames=5)  # nearly nothing
MASS, DISTANCE, REACH = 2.0, 0.3, 0.4  # [kg], [m], [m]


@pytest.fixture(scope="module")
def model():
    """A forearm on a hinge across gravity with a marker and two muscles on opposite sides."""
    arm = on_hinge("arm", "z", "elbow", mass=MASS, center_of_mass=(DISTANCE, 0, 0), inertia=(0.01, 0.02, 0.02))
    law = DeGrooteFregly2016(800.0, optimal_fiber_length=0.3, tendon_slack_length=0.05, tendon="rigid",
                             minimum_activation=0.0)  # fmt: skip
    muscles = tuple(mq.Muscle(name, (PathPoint("ground", (0, y, 0)), PathPoint("arm", (0.1, 0, 0))), law)
                    for name, y in (("flexor", 0.3), ("extensor", -0.3)))  # fmt: skip
    system = mq.ArticulatedSystem((arm,), gravity=(0, -9.81, 0))
    return mq.Model(system, muscles, markers=(Marker("hand", "arm", (REACH, 0, 0)),))


@pytest.fixture(scope="module")
def held(model):
    return Motion(model, TIME, np.zeros((51, 1)))


def test_placement_and_noise_of_a_marker_turn_the_hinge_by_their_share_of_its_reach(model, held):
    """The angle's variance is the sum of both over the squared reach, and the shares are those of the variances."""
    inputs = replace(ONLY, marker_placement=0.004, marker_noise=0.002, samples=500)
    found = uncertain_angles(model, held, inputs)
    expected = np.degrees(np.hypot(0.004, 0.002) / REACH)
    row = found.shares().loc["elbow"]
    assert row["standard deviation"] == pytest.approx(expected, rel=0.1)
    assert row["marker_placement total"] == pytest.approx(0.8, abs=0.15)
    assert row["marker_noise first"] == pytest.approx(0.2, abs=0.15)
    low, high = found.bands()
    np.testing.assert_allclose(high - low, 2 * 1.645 * expected, rtol=0.2)
    assert found.unit("elbow") == "deg"


def test_torque_at_rest_varies_as_mass_times_distance(model, held):
    """log-normal mass and distance: the torque's logarithm has the sum of their variances."""
    found = uncertain_torques(model, held, inputs=replace(ONLY, inertias=0.1, samples=200))
    torque = found.samples[:2, ..., 0]
    np.testing.assert_allclose(np.log(torque).std(), np.hypot(0.1, 0.1), rtol=0.2)
    assert found.values[0, 0] == pytest.approx(MASS * 9.81 * DISTANCE)
    assert found.units == ("N m",)


def test_tension_of_the_only_muscle_is_set_by_weight_and_path_not_by_its_strength(model, held):
    """One muscle holds the arm: its activation depends on its strength, its tension does not."""
    inputs = UncertainInputs(0.0, 0.0, 0.1, 0.003, 0.1, samples=160, frames=2)
    one = replace(model, muscles=model.muscles[:1])
    shares = uncertain_loads(one, held, None, inputs).shares()
    assert abs(shares.loc["flexor.force", "strengths total"]) < 1e-9
    assert shares.loc["flexor.activation", "strengths total"] > 0.15
    assert shares.loc["flexor.force", "inertias total"] > shares.loc["flexor.force", "attachments total"] > 0


def test_samples_of_markers_and_muscles_are_those_of_the_recorded_trial_and_the_same_again(model, held):
    """With vanishing deviations every sample is the recorded curve; a second run gives the same bits."""
    poses = np.array([[REACH * np.cos(t), REACH * np.sin(t), 0.0] for t in 0.2 * TIME])
    markers = Markers(TIME, ("hand",), poses[:, None])
    tiny = UncertainInputs(1e-12, 1e-12, 1e-12, 1e-12, 1e-12, samples=14, frames=3)
    wanted, steps = LoadsWanted(reserves=1.0), MotionSteps(cutoff=6.0)
    first, second = (uncertain_loads(model, markers, None, tiny, steps, wanted) for _ in range(2))
    np.testing.assert_array_equal(first.samples, second.samples)
    np.testing.assert_allclose(first.samples, np.broadcast_to(first.values, first.samples.shape), atol=1e-6)


def test_what_a_trial_lacks_is_named(model, held):
    bare = replace(model, markers=())
    found = uncertain_torques(bare, held, inputs=UncertainInputs(samples=16))
    assert found.missing == ("marker_placement", "marker_noise")
    assert "not in the trial: marker_placement" in repr(found)
    with pytest.raises(ValueError, match="nothing is uncertain"):
        uncertain_angles(bare, held)
    fitted = bare.with_fitted_paths(fit_paths(bare, np.linspace(-1.0, 1.0, 50)[:, None]))
    found = uncertain_loads(fitted, held, None, UncertainInputs(samples=16, frames=2), None, LoadsWanted(reserves=1.0))
    assert found.missing == ("marker_placement", "marker_noise", "attachments")


def test_inputs_that_make_no_sense_are_named():
    for given, words in (({"strengths": -0.1}, "strengths"), ({"level": 1.0}, "level"), ({"samples": 2}, "samples"),
                         ({"frames": 1}, "frames"), (dict.fromkeys(("marker_placement", "marker_noise", "strengths",
                          "attachments", "inertias"), 0.0), "all deviations are zero")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            UncertainInputs(**given)


def test_commands_store_bands_and_shares_and_show_them(model, tmp_path, capsys):
    """`ik`, `id` and `loads` with --uncertainty write both tables and the sections of the report."""
    moved = Motion(model, TIME, 0.3 * np.sin(3 * TIME)[:, None])
    model.save(tmp_path / "arm.osim")
    moved.save(tmp_path / "arm.mot")
    angle = moved.q[:, 0]
    seen = REACH * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    Markers(TIME, ("hand",), seen[:, None]).save(tmp_path / "arm.trc")
    few = ["--uncertainty", "--uncertain", "samples=14", "--uncertain", "frames=5"]
    file = str(tmp_path / "arm.osim")
    for command, recording in (("ik", "arm.trc"), ("id", "arm.mot"), ("loads", "arm.trc")):
        output, page = tmp_path / f"{command}.sto", tmp_path / f"{command}.html"
        main([command, file, str(tmp_path / recording), str(output), *few, "--report", str(page)])
        bands = pd.read_csv(tmp_path / f"{command}_bands.csv", index_col=0)
        assert len(bands) == 5
        assert (bands.filter(like="_low").to_numpy() <= bands.filter(like="_high").to_numpy() + 1e-12).all()
        assert "marker_placement total" in pd.read_csv(tmp_path / f"{command}_shares.csv").columns
        text = page.read_text()
        assert "Share of each source in the variance" in text
        assert re.search(r"90% of the samples lie in the bands", text)
    assert "uncertainty: " in capsys.readouterr().out


def test_changes_without_uncertainty_and_unknown_ones_are_named(model, tmp_path, capsys):
    model.save(tmp_path / "arm.osim")
    arguments = ["id", str(tmp_path / "arm.osim"), "x.mot", str(tmp_path / "x.sto")]
    with pytest.raises(SystemExit):
        main([*arguments, "--uncertain", "strengths=0.1"])
    assert "give both" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*arguments, "--uncertainty", "--uncertain", "mass=0.1"])
    assert "nearest: marker_placement" in capsys.readouterr().err


def test_proportional_forces_leave_passive_ones_out(model):
    """The forearm is so far down that the flexor is stretched, and its passive force lifts. If forces are proportional
    to activations it does not. Then the activation is the moment over the arm and the active force."""
    down = Motion(model, TIME, np.full((51, 1), -0.4))
    inputs = replace(ONLY, samples=8, frames=2)
    passive, active = (
        uncertain_loads(model, down, inputs=inputs, wanted=LoadsWanted(1.0, proportional=proportional)).values[0, 0]
        for proportional in (False, True)
    )
    law, (length, _), (J, _) = model.muscles[0].law, path_lengths(model, [[-0.4]])[0], path_jacobian(model, [[-0.4]])[0]
    gain = law.force(length, 0.0, 1.0) - law.force(length, 0.0, 0.0)
    needed, arm = MASS * 9.81 * DISTANCE * np.cos(0.4), -J[0]
    assert active == pytest.approx(needed * arm * gain / (1 + (arm * gain) ** 2), rel=1e-6)
    assert passive < active


def test_loads_without_muscles_are_those_of_reserves(model, held):
    """All frames of a long trial are solved, and the hinge carries the weight."""
    bare = replace(model, muscles=(), groups=())
    found = uncertain_loads(bare, held, inputs=replace(ONLY, samples=8, frames=None), wanted=LoadsWanted(1.0))
    lift = found.of([name for name in found.names if name.endswith("_fy")])
    np.testing.assert_allclose(np.abs(lift.values), MASS * 9.81, rtol=1e-9)
