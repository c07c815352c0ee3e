"""Operations behind a condition are left out where no lane needs them, and results keep their bits."""

import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels.codegen.lower import skipped_region
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.tracing.trace import trace

ROWS = np.linspace(0.5, 1.5, 5)[:, None]


def _contact(row, numbers):
    """(3,) the length and the angle of an arc where there is one, and a number that is always needed."""
    height, side = row[..., 0] - numbers[..., 0], row[..., 1]
    on = (height > 0) & (side > 0)
    angle = np.arctan2(height, side) + np.sqrt(height * height + side * side) / (1.0 + side * side)
    length = numbers[..., 0] * angle + np.sin(angle)
    near = on & (length < 2.0)
    values = np.where(near, length, 0.0), np.where(on, angle, 0.0), side * height
    return np.stack(values, axis=-1)


def _contacts(x):
    rows = np.stack([np.stack([x[..., k], x[..., k + 1]], axis=-1) for k in range(5)], axis=-2)
    return map_rows(_contact, rows, ROWS, 3)


def test_narrowest_condition_guards_the_operations_that_follow_from_it():
    tape = trace(_contact, {"row": 2, "numbers": 1}, ["values"]).tape
    region = skipped_region(tape)
    assert tape.nodes[region.condition].operation == "and"
    inside, before = ({tape.nodes[i].operation for i in part} for part in (region.inside, region.before))
    assert {"atan2", "sqrt", "sin"} <= inside
    assert not {"atan2", "sqrt", "sin"} & before
    every = [i for i, node in enumerate(tape.nodes) if node.operation not in ("const", "input")]
    assert sorted([*region.before, *region.inside, *region.after]) == every


def test_short_operations_stay_without_a_branch():
    tape = trace(lambda x: np.where(x[0] > 0, x[1] * x[2], 0.0), {"x": 3}, ["y"]).tape
    assert skipped_region(tape) is None


@pytest.mark.parametrize("lanes", [1, 2, None])
def test_results_keep_their_bits_whichever_lanes_hold_the_condition(lanes):
    kernel = kernels.compile(_contacts, {"x": 6}, ["values"], lanes=lanes)
    single = kernels.compile(_contact, {"row": 2, "numbers": 1}, ["values"], lanes=lanes)
    x = np.random.default_rng(0).normal(size=(40, 6)) + np.repeat([-9.0, 0.0, 0.5, 9.0], 10)[:, None]
    found = kernel(x)
    for k in range(5):
        row = np.ascontiguousarray(x[:, k : k + 2])
        assert np.array_equal(found[:, k], single(row, np.broadcast_to(ROWS[k], (40, 1))))
    assert np.allclose(found, _contacts(x), rtol=1e-14, atol=1e-14)
