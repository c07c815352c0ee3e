"""Running studies: what is simulated, and that the way it is run does not change a bit."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from myoquat.analysis.studies import Study, recompute, study_of, to_table
from myoquat.analysis.studies.store import contents_of
from myoquat.analysis.studies.study import _block_size
from myoquat.data import load_model
from myoquat.dynamics import simulate
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.dynamics.simulation.methods import BY_ACCELERATION
from myoquat.joints import ArticulatedSystem
from myoquat.joints.functions import Constant, Linear
from myoquat.muscle import Model, path_jacobian
from myoquat.muscle.actuators import ActivationCoordinateActuator
from myoquat.muscle.forces import PointSpring, PrescribedForce
from myoquat.muscle.laws.thelen import Thelen2003
from tests.analysis.studies.conftest import assert_simulated
from tests.bodies import on_ball, with_muscles

VARY = {
    "muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True},
    "muscles.*.optimal_length": {"uniform": [0.9, 1.1], "relative": True},
}
EVERYTHING = ("peak_force", "range_of_motion", "peak_speed", "work", "co_contraction", "joint_reaction")


def small(**options):
    return Study("two_link", VARY, **({"samples": 37, "duration": 0.1, "times": 5} | options))


def same(a, b):
    """Equal in every bit, attribute and label."""
    xr.testing.assert_identical(a.load(), b.load())
    return True


def hill():
    return with_muscles(load_model("two_link"), law=Thelen2003(30.0, 1.5, 0.6, 0.1, tendon="rigid"))


TIMES, TABLE = [0.0, 0.05, 0.1], np.linspace(0, 1, 18).reshape(3, 6)
STUDIES = {
    "start, activation and gravity": lambda: Study(
        "two_link",
        {"start_u.A.omega_x": [0.0, 1.0], "muscles.m2.activation": [0.2, 0.9], "gravity.z": [-9.81, -1.6]},
        design="grid", duration=0.1, times=5,
    ),
    "Hill muscles on rigid tendons": lambda: Study(
        hill(),
        {"muscles.*.optimal_fiber_length": {"uniform": [0.9, 1.1], "relative": True},
         "muscles.m1.pennation": {"uniform": [0.0, 0.2]}},
        samples=3, duration=0.1, times=5, summaries=["peak_force"], summary_step=1e-3,
    ),
    "activations over time": lambda: small(samples=2, activation=(TIMES, TABLE.tolist())),
}  # fmt: skip


@pytest.mark.parametrize("name", STUDIES)
def test_every_sample_is_the_simulation_of_the_model_with_its_values(name):
    assert_simulated(STUDIES[name](), **({"activation": (TIMES, TABLE)} if "over time" in name else {}))


def test_units_of_what_varies_and_activations_that_are_given_twice():
    study = Study(hill(), {f"muscles.m1.{n}": [1.0] for n in ("optimal_fiber_length", "pennation")}, design="grid")
    assert list(study.parameters.units) == ["m", "rad"]
    with pytest.raises(ValueError, match="choose one"):
        Study("two_link", {"muscles.m1.activation": [0.1]}, design="grid", activation=(TIMES, TABLE.tolist())).run()


@pytest.mark.parametrize("method", FIXED_STEP)
def test_every_method_sees_what_varies_or_says_that_it_does_not(method):
    vary = {name: {"uniform": [0.8, 1.2], "relative": True} for name in ("bodies.*.mass", "muscles.m2.optimal_length")}
    study = Study("two_link", vary, samples=2, duration=0.05, method=method)
    if method not in BY_ACCELERATION:
        with pytest.raises(ValueError, match="takes the model's numbers as constants"):
            study.run()
        study = Study("two_link", {"start_u.A.omega_x": [0.0, 1.0]}, design="grid", duration=0.05, method=method)
    assert_simulated(study, method=method)


@pytest.mark.parametrize(
    "options", [{}, {"threads": 1}, {"threads": 2}, {"block": 1}, {"block": 5}, {"block": 16, "threads": 2}]
)
def test_no_bit_depends_on_threads_or_blocks_or_a_store(options, tmp_path):
    study = small(summaries=EVERYTHING)
    whole = study.run(threads=1, block=37)
    assert same(whole, study.run(**options))
    if not options:
        assert same(whole, study.run(tmp_path / "results", block=8))


def test_blocks_last_half_a_minute_at_most():
    """A kill loses blocks. Of 500 samples that take 0.3 s each, one block does not hold all."""

    def block(duration, asked=None):
        vary = {"bodies.humerus.mass": {"uniform": [1.0, 2.0]}}
        study = Study("thoracoscapular", vary, samples=500, duration=duration, step=1e-3)
        return _block_size(study, contents_of(study), asked)

    assert [block(0.01), block(2.0), block(1000.0), block(1000.0, 500)] == [500, 64, 8, 500]


def test_any_sample_can_be_computed_again_from_what_is_stored(tmp_path):
    study = small(summaries=("work",))
    found = study.run(tmp_path / "results", block=8)
    again = recompute(tmp_path / "results", 21)
    for name in ("values", "q", "u", "q_final", "work", "status"):
        assert np.array_equal(again[name][0], found[name][21])
    longer = recompute(tmp_path / "results", 21, times=100)
    assert np.array_equal(longer.q[0, 19::20], found.q[21])
    with pytest.raises(IndexError, match="the study has 37"):
        recompute(found, 37)


def test_the_study_comes_back_from_its_results():
    study = small(limits={"A.omega_x": [-9.0, 9.0]}, summaries=("work",), activation=[0.5] * 6)
    found = study.run()
    assert same(study_of(found).run(), found)


def test_failures_are_recorded_and_stop_no_other_sample():
    vary = {"start_u.A.omega_x": [0.0, 30.0, 1e9]}
    study = Study("two_link", vary, design="grid", duration=0.1, times=10, limits={"B.omega_z": [-25.0, 25.0]})
    found = study.run()
    assert found.status[0] == 1
    assert np.isnan(found.stopped_at[0])
    assert found.status[2] > 1
    stopped = [i for i in range(3) if found.status[i] > 1]
    for i in stopped:
        shown = found.time.values <= found.stopped_at[i].item() + 1e-9
        assert np.isnan(found.q_final[i]).all()
        assert np.isfinite(found.q[i][: max(shown.sum() - 1, 0)]).all()
        assert np.isnan(found.q[i][~shown]).all()
    alone = Study("two_link", {"start_u.A.omega_x": [0.0]}, design="grid", duration=0.1, times=10).run()
    assert np.array_equal(alone.q[0], found.q[0])


# ---- summaries ---------------------------------------------------------------------------------------------


def acted_upon():
    """The two links in angles under a force over time, a spring and a delayed actuator."""
    push = PrescribedForce("push", "B", forces=(Linear(30.0, 5.0), Constant(), Constant(-4.0)))
    spring = PointSpring("spring", "ground", "B", (0.1, 0, 0), (0, 0.1, -0.4), 100.0, 0.3)
    base = replace(load_model("two_link", "sequence"), forces=(push, spring),
                   actuators=(ActivationCoordinateActuator("motor", "A.p2", optimal_force=3.0),))  # fmt: skip
    return Study(base, {"bodies.A.mass": [4.0, 6.0]}, design="grid", duration=0.05)


@pytest.mark.parametrize("make", [acted_upon, lambda: small(samples=3)])
def test_summaries_against_the_trajectory(make):
    """Whose reactions are the loads of joints in tests/dynamics/test_everything_acts.py. The work is that of forces
    over lengths."""
    study = replace(make(), summaries=EVERYTHING, summary_step=1e-3)
    found = study.run()
    for i, values in enumerate(study.values()):
        model = study.parameters.bind(values)
        run = simulate(model, duration=study.duration, step=1e-3)
        torques = -run.forces[..., None] * path_jacobian(model, run.q)
        ways = [np.maximum(sign * torques, 0.0).sum(axis=-2) for sign in (1, -1)]
        opposed = 2 * np.minimum(*ways) / np.maximum(sum(ways), 1e-300)
        for name, wanted in (
            ("co_contraction", np.trapezoid(opposed, run.time, axis=0) / study.duration),
            ("peak_force", run.forces.max(axis=0)),
            ("peak_speed", np.abs(run.u).max(axis=0)),
            ("range_of_motion", np.ptp(run.system.difference(run.q[:1], run.q), axis=0)),  # of less than half a turn
            ("joint_reaction", np.linalg.norm(run.reactions[..., :3], axis=-1).max(axis=0)),
        ):
            np.testing.assert_allclose(found[name][i], wanted, rtol=1e-9, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(found.work[i], -np.trapezoid(run.forces, run.lengths, axis=0), rtol=1e-3, atol=1e-6)


def test_range_of_motion_past_half_a_turn():
    """A body that spins freely about its axis of symmetry turns by omega t."""
    ball = on_ball("top", inertia=(1.0, 1.0, 0.5))
    model = Model(ArticulatedSystem((ball,)))
    study = Study(model, {"start_u.top.omega_z": [1.0, 3.5, 6.0]}, design="grid", summaries=("range_of_motion",))
    wanted = np.outer([1.0, 3.5, 6.0], [0, 0, 1])
    np.testing.assert_allclose(study.run().range_of_motion, wanted, atol=1e-9)


def test_co_contraction_of_one_muscle_is_none():
    model = load_model("two_link")
    alone = replace(model, muscles=model.muscles[:1])
    study = Study(alone, {"bodies.A.mass": [5.0]}, design="grid", duration=0.01, summaries=("co_contraction",))
    assert (study.run().co_contraction == 0).all()


# ---- tables ------------------------------------------------------------------------------------------------


def test_tables():
    study = small(summaries=("work",))
    found = study.run()
    table = to_table(found)
    assert len(table) == 37
    assert np.array_equal(table["muscles.m2.optimal_length"], study.values()[:, 7])
    assert np.array_equal(table["work.m3"], found.work[:, 2])
    assert set(table["status"]) == {"ran to the end"}
    assert len(found.to_dataframe())
