"""Several blocks of states together: active lanes move side by side, and no result changes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from packed_loop import iterate

from myoquat import kernels
from myoquat.kernels.codegen.compaction import BLOCKS_PER_CALL
from myoquat.kernels.codegen.slots import arrays_of, at_once, in_time
from myoquat.kernels.control_flow.out_of_line_call import out_of_line_call
from myoquat.kernels.tracing.tape import Ends, Node, Tape, arguments

SIZES = [1, 2, 7, 8, 9, 8 * BLOCKS_PER_CALL - 1, 8 * BLOCKS_PER_CALL, 8 * BLOCKS_PER_CALL + 1, 203]


def longer(z, given):
    """A step that is worth a compaction: nine of the logistic map, and one less to go in the last number."""
    y, left = z[..., :-1], z[..., -1:]
    for _ in range(9):
        y = given * y * (1.0 - y)
    return np.concatenate([y, np.maximum(left - 1.0, 0.0)], axis=-1)


def _start(x):
    return np.concatenate([x[..., :1], 1.0 - 0.7 * x[..., :1], x[..., 2:]], axis=-1)


def counted(x):
    """x = (y, r, how often): a loop that states leave one after the other, some of which never enter it."""
    return iterate(longer, _start(x), x[..., 1:2], 12, where=x[..., 0] < 0.8, left=-1)


def once(x):
    """A step that few take."""
    return iterate(longer, _start(x), x[..., 1:2], 1, where=x[..., 2] > 4.0)


def converging(x):
    """Newton's method for a cube root of 1 + x, until it stands still."""

    def root(z, given):
        for _ in range(3):
            z = z - (z * z * z - given) / (3.0 * z * z)
        return z

    return iterate(root, 1.0 + 0.0 * x[..., :2], 1.0 + 40.0 * x[..., :2] ** 4, 30, 1e-9)


def nested(x):
    """Loops in loops, of which the outer one is left at other times than the inner ones."""

    def outer(z, given):
        inner = iterate(longer, z, given, 5, where=z[..., 0] > 0.3, left=-1)
        again = iterate(longer, inner * np.array([1.0, 0.9, 1.0]), given, 1, where=z[..., 1] > 0.4)
        return np.concatenate([inner[..., :1], 0.5 * again[..., 1:2], z[..., 2:] - 1.0], axis=-1)

    return iterate(outer, _start(x), x[..., 1:2], 9, where=x[..., 2] != 2.0, left=-1)


def function(x):
    """A formula that is a function of its own, with a loop inside, called for other numbers."""
    twice = [out_of_line_call(_counted, (), y, 3) for y in (x, x * np.array([0.9, 1.0, 1.0]))]
    return np.concatenate([*twice, once(x)], axis=-1)


def _counted(x):
    return counted(x)


FORMULAS = {f.__name__: f for f in (counted, once, converging, nested, function)}


@pytest.fixture
def states(rng):
    return np.stack([rng.uniform(0.1, 0.9, 203), rng.uniform(2.0, 3.9, 203), rng.integers(0, 6, 203)], axis=-1)


@pytest.mark.parametrize("name", FORMULAS)
def test_lanes_do_not_change_a_bit(name, states):
    wide, *others = (kernels.compile(FORMULAS[name], {"x": 3}, lanes=n, cache="off") for n in (8, 4, 2, 1))
    assert "lanes_ended" in wide.ir
    found = wide(states)
    for other in others:
        np.testing.assert_array_equal(other(states), found)
    np.testing.assert_allclose(found[:, -1], FORMULAS[name](states)[:, -1], atol=1e-9)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_state_is_the_same_whatever_is_beside_it(name, states, rng):
    kernel = kernels.compile(FORMULAS[name], {"x": 3}, lanes=8)
    found = kernel(states)
    for size in SIZES:
        np.testing.assert_array_equal(kernel(states[:size]), found[:size])
    order = rng.permutation(len(states))
    np.testing.assert_array_equal(kernel(states[order]), found[order])
    np.testing.assert_array_equal(kernel(np.repeat(states, 2, axis=0)[::2]), found)  # rows with gaps
    np.testing.assert_array_equal([kernel.single()(x) for x in states[:20]], found[:20])


def test_numbers_are_those_of_numpy(states):
    """In integers, which are exact: where the orbit is a sum."""

    def summed(z, given):
        y = z[..., :-1]
        for k in range(20):
            y = y + given * (k % 3)
        return np.concatenate([y, z[..., -1:] - 1.0], axis=-1)

    def formula(x):
        return iterate(summed, x[..., [0, 0, 2]], x[..., 1:2], 4, where=x[..., 1] > 5.0, left=2)

    x = np.round(10 * states) * [1.0, 0.1, 0.1]
    x[:, 1] = np.round(x[:, 1])
    np.testing.assert_array_equal(kernels.compile(formula, {"x": 3})(x), formula(x))


def test_not_a_number_stays_with_its_state(states):
    kernel, broken = kernels.compile(nested, {"x": 3}), states.copy()
    broken[::11] = np.nan
    np.testing.assert_array_equal(
        np.delete(kernel(broken), np.s_[::11], axis=0), np.delete(kernel(states), np.s_[::11], axis=0)
    )


def test_threads_share_states_of_several_blocks(states):
    kernel = kernels.compile(nested, {"x": 3})
    many = np.tile(states, (300, 1))
    np.testing.assert_array_equal(kernel(many, threads=3), kernel(many, threads=1))


def test_short_steps_give_the_same_bits_in_lanes(states):
    def short(z, given):
        return np.concatenate([z[..., :2] * given[..., :2], z[..., 2:] - 1.0], axis=-1)

    def repeated(x):
        return iterate(short, x, x, 5, where=x[..., 0] < 0.7, left=-1)

    wide, single = (kernels.compile(repeated, {"x": 3}, lanes=n, cache="off") for n in (8, 1))
    np.testing.assert_array_equal(wide(states), single(states))


# ---- when arrays are needed --------------------------------------------------------------------------------

SUMS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=30)
CALLS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4), st.booleans()), min_size=1, max_size=6)


@st.composite
def tapes(draw):
    """A tape with calls in the middle of it, what these give and take, and which are late."""
    calls, own = draw(CALLS), draw(st.integers(1, 4))
    nodes, taken, first = [Node("input", number=k) for k in range(own)], [], own
    for gives, takes, _ in calls:
        for a, b in draw(SUMS):
            nodes.append(Node("add", a % len(nodes), b % len(nodes)))
        taken += [draw(st.integers(0, len(nodes) - 1)) for _ in range(takes)]
        nodes += [Node("input", number=first + k) for k in range(gives)]
        first += gives
    for a, b in draw(SUMS):
        nodes.append(Node("add", a % len(nodes), b % len(nodes)))
    outputs = [len(nodes) - 1, *taken]
    return Tape(nodes, outputs, first), [Ends(gives, takes) for gives, takes, _ in calls], [late for *_, late in calls]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(tapes())
def test_everything_is_there_when_it_is_asked_for(given):
    tape, ends, late = given
    soon, schedule = at_once(tape, ends), in_time(tape, ends, late)
    level, due = schedule.levels, schedule.due
    for index, node in enumerate(tape.nodes):
        assert level[index] >= soon.levels[index]
        for i in arguments(node):
            assert level[i] <= level[index] or tape.nodes[i].operation == "input"
    call_of = [-1, *(call for call, e in enumerate(ends) for _ in range(e.takes))]
    for index, call, at in zip(tape.outputs, call_of, due, strict=True):
        assert level[index] <= at
        if call >= 0:
            assert at == call if late[call] else at <= call


@settings(max_examples=100, deadline=None, derandomize=True)
@given(tapes())
def test_arrays_that_are_needed_together_do_not_overlap(given):
    """By following them: what is stored for a call is there when it is called, and its results when they are read."""
    tape, ends, late = given
    schedule = in_time(tape, ends, late)
    offsets, size = arrays_of(tape, ends, [True] * len(ends), schedule)
    slots: list[object] = [None] * size
    first_out, first_in = 1, tape.inputs - sum(e.gives for e in ends)
    stored, results = [], {}
    for call, e in enumerate(ends):
        stored += [(schedule.due[first_out + k], offsets[call] + k, (call, k)) for k in range(e.takes)]
        results |= {first_in + k: (offsets[call] + e.takes + k, (call, "result", k)) for k in range(e.gives)}
        first_out, first_in = first_out + e.takes, first_in + e.gives
    for turn in range(len(ends) + 1):
        for level, slot, what in stored:
            if level == turn:
                slots[slot] = what
        for index in _read_at(tape, schedule, turn):
            slot, what = results.get(int(tape.nodes[index].number), (None, None))
            assert slot is None or slots[slot] == what
        if turn < len(ends):
            e = ends[turn]
            assert slots[offsets[turn] : offsets[turn] + e.takes] == [(turn, k) for k in range(e.takes)]
            for k in range(e.gives):
                slots[offsets[turn] + e.takes + k] = (turn, "result", k)


def _read_at(tape, schedule, turn):
    """The inputs that are read at a level."""
    used = ((i, schedule.levels[index]) for index, node in enumerate(tape.nodes) for i in arguments(node))
    found = itertools.chain(used, zip(tape.outputs, schedule.due, strict=True))
    return [index for index, level in found if level == turn and tape.nodes[index].operation == "input"]
