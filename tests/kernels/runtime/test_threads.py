"""Threads over ranges of states."""

import threading

import pytest

from myoquat.kernels.runtime.execution import split_and_run
from myoquat.kernels.tracing.context import shared_trace, sharing_traces


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("states", [17, 1000])
def test_every_state_is_done_once(threads, states):
    done, lock = [], threading.Lock()

    def task(begin, end):
        assert begin % 8 == 0
        with lock:
            done.extend(range(begin, end))

    split_and_run(task, states, 8, threads, nanoseconds=1e9)
    assert sorted(done) == list(range(states))


def test_the_caller_works_beside_the_others():
    meeting, seen = threading.Barrier(2, timeout=20), set()

    def task(begin, end):
        seen.add(threading.current_thread().name)
        if begin in (0, 80):  # the first chunks of the first two of eight parts
            meeting.wait()

    split_and_run(task, 640, 8, 2, nanoseconds=1e9)
    assert threading.current_thread().name in seen
    assert any(name.startswith("kernels") for name in seen)


@pytest.mark.parametrize("first", [0, 320])
def test_a_fault_in_a_part_reaches_the_caller(first):
    def task(begin, end):
        if begin >= first:
            raise FloatingPointError(f"from {begin}")

    with pytest.raises(FloatingPointError, match="from"):
        split_and_run(task, 640, 8, 2, nanoseconds=1e9)


def test_little_work_stays_with_the_caller():
    names = []
    split_and_run(lambda begin, end: names.append((threading.current_thread(), begin, end)), 640, 8, 4, nanoseconds=9e5)
    assert names == [(threading.current_thread(), 0, 640)]


def test_a_trace_that_another_thread_throws_out_meanwhile_is_found():
    """Of a table with one place: between the question whether a key is there and its value it was a KeyError."""

    def others():
        with sharing_traces("content"):
            shared_trace("test of threads", "another", 1, lambda: 2)

    class Asked:
        asked = 0

        def __hash__(self):
            self.asked += 1
            if self.asked == 2:  # the key was there a moment ago
                thread = threading.Thread(target=others)
                thread.start()
                thread.join(timeout=0.2)
            return 1

    key = Asked()
    with sharing_traces("content"):
        key.asked = 2
        assert shared_trace("test of threads", key, 1, lambda: 1) == 1
        key.asked = 0
        assert shared_trace("test of threads", key, 1, lambda: 3) == 1
