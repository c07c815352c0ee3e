"""Programs: table loops against the same stages in NumPy."""

import numpy as np
import pytest

from myoquat.kernels import Program

BODIES, MUSCLES = 4, 11


def poses(q):
    return np.stack([np.sin(q), np.cos(q), q * q], axis=-1)


def muscle(ends, activation, strength, offset, gravity):
    """A force along the line between two shifted points, on both."""
    line = ends[1] - ends[0] + offset
    length = np.sqrt(line @ line + 1.0)
    force = strength * activation * line / length + gravity
    return {"force": np.stack([force, -force]), "length": length}


def total(load, length):
    return load * 2.0, np.sum(length)


RNG = np.random.default_rng(4)
ENDS = np.array([RNG.choice(BODIES, 2, replace=False) for _ in range(MUSCLES)])
STRENGTH, OFFSET = RNG.uniform(1, 2, MUSCLES), RNG.normal(size=(MUSCLES, 3))


@pytest.fixture
def program():
    made = Program("limb", {"q": BODIES, "a": MUSCLES, "gravity": (1, 3)})
    made.formula(poses, ["q"], {"pose": (BODIES, 3)})
    made.reserve({"length": MUSCLES})
    made.table(
        muscle,
        MUSCLES,
        gather={
            "ends": ("pose", ENDS),
            "activation": ("a", np.arange(MUSCLES)),
            "gravity": ("gravity", np.zeros(MUSCLES, dtype=int)),
        },
        parameters={"strength": STRENGTH, "offset": OFFSET},
        add={"force": ("load", ENDS)},
        store={"length": ("length", np.arange(MUSCLES))},
        buffers={"load": (BODIES, 3)},
    )
    made.formula(total, ["load", "length"], ["doubled", "sum"])
    return made


@pytest.fixture
def states():
    rng = np.random.default_rng(6)
    return rng.normal(size=(21, BODIES)), rng.uniform(size=(21, MUSCLES)), rng.normal(size=(1, 3))


def test_a_table_is_a_loop_over_its_elements(program, states):
    """The same sums, element after element, in NumPy."""
    doubled, length, load = program.compile(["doubled", "sum", "load"])(*states)
    for k, (q, a) in enumerate(zip(*states[:2], strict=True)):
        wanted, lengths = np.zeros((BODIES, 3)), 0.0
        for ends, activation, strength, offset in zip(ENDS, a, STRENGTH, OFFSET, strict=True):
            found = muscle(poses(q)[ends], activation, strength, offset, states[2][0])
            wanted[ends] += found["force"]
            lengths += found["length"]
        np.testing.assert_allclose(load[k], wanted, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(doubled[k], 2.0 * wanted, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(length[k], lengths, rtol=1e-13)


def test_lanes_give_the_same_bits_and_no_state_remembers_the_last(program, states):
    results = [program.compile(["load"], lanes=lanes)(*states) for lanes in (1, 2, 4, 8)]
    assert all(np.array_equal(r, results[0]) for r in results)
    kernel = program.compile(["load"], lanes=8)
    assert np.array_equal(kernel(*states), kernel(*states))


def test_a_table_walks_a_chain():
    """Each element reads the row that the one before it stored."""
    count = 30
    made = Program("chain", {"x": ()})
    made.formula(lambda x: np.stack([x] + [x * 0.0] * count), ["x"], {"value": (count + 1,)})
    rows = np.arange(count)
    made.table(
        lambda before, gain: gain * before + 1.0,
        count,
        gather={"before": ("value", rows)},
        parameters={"gain": np.full(count, 0.5)},
        store={"output0": ("value", rows + 1)},
    )
    value = made.compile(["value"])(np.array([4.0, 8.0]))
    wanted = 2.0 + (np.array([4.0, 8.0])[:, None] - 2.0) * 0.5 ** np.arange(count + 1)
    np.testing.assert_allclose(value, wanted, rtol=1e-14)


def test_a_row_that_all_elements_read_is_there_for_each():
    """They may join it to numbers of their own."""
    made = Program("pairs", {"x": (1, 2)})
    made.table(
        lambda row, own: np.concatenate([row, own], axis=-1),
        3,
        gather={"row": ("x", np.zeros(3, dtype=int))},
        parameters={"own": np.arange(3.0)[:, None]},
        store={"output0": ("joined", np.arange(3))},
        buffers={"joined": (3, 3)},
    )
    joined = made.compile(["joined"])(np.array([[7.0, 8.0]]))
    np.testing.assert_array_equal(joined, [[7, 8, 0], [7, 8, 1], [7, 8, 2]])


def test_mistakes_are_named():
    made = Program("p", {"x": (3, 2)})
    with pytest.raises(ValueError, match="no buffer 'y'"):
        made.formula(lambda y: y, ["y"])
    with pytest.raises(ValueError, match=r"rows of 'r' reach from 0 to 3; 'x' has rows 0 to 2"):
        made.table(lambda r: r, 2, gather={"r": ("x", [0, 3])}, store={"output0": ("x", [0, 1])})
    with pytest.raises(ValueError, match=r"parameter 'w' has shape \(3,\); \(2, ...\) is needed"):
        made.table(lambda w: w, 2, parameters={"w": np.ones(3)}, store={"output0": ("x", [0, 1])})
    with pytest.raises(ValueError, match=r"output 'output0' has shape \(\); its rows of 'x' have \(2,\)"):
        made.table(lambda r: r[0], 2, gather={"r": ("x", [0, 1])}, store={"output0": ("x", [0, 1])})
    with pytest.raises(ValueError, match="already has a buffer 'x'"):
        made.formula(lambda x: x, ["x"], ["x"])
