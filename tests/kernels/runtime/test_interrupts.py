"""Large batches in chunks: an interrupt is seen between them, and results do not depend on them."""

import signal
import threading
import time

import numpy as np
import pytest
from packed_loop import iterate

from myoquat import kernels
from myoquat.kernels import LinearInterpolation, Outcome, step_loop
from myoquat.kernels.runtime import execution
from myoquat.kernels.runtime.execution import Cancelled, cancellable, split_and_run


@pytest.fixture
def small_chunks(monkeypatch):
    """As many chunks as there can be: blocks of lanes, and single steps."""

    def set_them():
        for name in ("CHUNK_SECONDS", "FIRST_SECONDS", "MAX_CHUNK_SECONDS"):
            monkeypatch.setattr(execution, name, 0.0)

    return set_them


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_batch_before_it_is_done(interruptible, threads):
    done, main = [], threading.main_thread()

    def task(begin, end):
        done.append((begin, end))
        if threading.current_thread() is main:
            signal.raise_signal(signal.SIGINT)
        else:
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        split_and_run(task, 80_000, 8, threads, nanoseconds=1e12)
    count = len(done)
    assert sum(end - begin for begin, end in done) < 80_000
    time.sleep(0.01)
    assert len(done) == count  # no thread goes on


def test_an_interrupt_ends_one_long_simulation(interruptible):
    loop, steps = step_loop(1, rhs=lambda t, x: -x, cache="off"), 10**11  # which would take minutes
    began = time.perf_counter()
    threading.Timer(0.1, signal.raise_signal, (signal.SIGINT,)).start()
    with pytest.raises(KeyboardInterrupt):
        loop([1.0], h=1e-3, steps=steps, every=steps)
    assert time.perf_counter() - began < 20.0


@pytest.mark.parametrize("threads", [1, 2])
def test_another_thread_can_cancel_a_batch(threads):
    event, done = threading.Event(), []

    def task(begin, end):
        done.append(begin)
        event.set()

    with cancellable(event), pytest.raises(Cancelled):
        split_and_run(task, 80_000, 8, threads, nanoseconds=1e12)
    assert len(done) <= threads


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("lanes", [1, 8])
def test_steps_in_chunks_give_the_same_bits(small_chunks, lanes, threads):
    """With inputs over time, states that stop at a bound, by a bad value and at the start."""
    loop = step_loop(
        2,
        rhs=lambda t, x, w, u: np.stack([x[1], -w * x[0] * x[0] * x[0] + u * np.sin(t)]),
        inputs={"u": ()},
        parameters={"w": ()},
        bound=lambda t, x, w, u: x[0] - 2.0,
        cache="off",
        lanes=lanes,
    )
    rng = np.random.default_rng(5)
    x0, w = rng.normal(size=(21, 2)), rng.uniform(1.0, 9.0, 21)
    x0[3], x0[4] = np.nan, -1e200
    u = LinearInterpolation([0.0, 0.4, 1.1], rng.normal(size=(21, 3)))
    given = {"h": 0.03, "steps": 50, "every": 7, "start": 0.25, "w": w, "u": u, "threads": threads}
    whole = loop(x0, **given)
    small_chunks()
    chunks = loop(x0, **given)
    assert {*whole.reason} == {Outcome.COMPLETED, Outcome.NOT_FINITE, Outcome.BOUND}
    for name in ("times", "states", "final", "stopped", "reason"):
        assert getattr(whole, name).tobytes() == getattr(chunks, name).tobytes()


def test_a_kernel_with_solvers_in_chunks_gives_the_same_bits(small_chunks):
    def root(c):
        return iterate(lambda z, c: 0.5 * (z + c / z), 1.0 + 0.0 * c, c, 60)

    kernel = kernels.compile(root, {"c": 1}, cache="off")
    c = np.random.default_rng(6).uniform(0.0, 1e6, (517, 1))
    whole = kernel(c)
    small_chunks()
    assert kernel(c).tobytes() == whole.tobytes()
    assert kernel(c, threads=2).tobytes() == whole.tobytes()
