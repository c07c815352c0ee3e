"""What kernels and step loops share: the machine code of a recipe, and the count of calls."""

import os
from typing import Any

from myoquat.kernels.codegen.driver import PROTOTYPE

from .build import Code, Recipe, assembly, build
from .execution import FramePool
from .settings import Target, cache_folder, lane_count, target, thread_count

_total_calls = 0


def calls() -> int:
    """How many kernel calls this process has made.

    >>> from myoquat import kernels
    >>> square = kernels.compile(lambda x: x * x, {"x": ()})
    >>> before = kernels.calls()
    >>> one, many = square(2.0), square([1.0, 2.0, 3.0])
    >>> kernels.calls() - before  # a batch is one call
    2
    """
    return _total_calls


def count_call() -> None:
    """Note one more call of compiled code."""
    global _total_calls
    _total_calls += 1


class Executable:
    """The machine code of a recipe, and the facts about it. `more`: what its class takes beside the recipe."""

    def __init__(
        self,
        recipe: Recipe,
        more: tuple[Any, ...] = (),
        *,
        lanes: int | None = None,
        threads: int | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        self._recipe, self._more = recipe, more
        self._options: dict[str, Any] = {
            "lanes": lanes,
            "threads": threads,
            "cache": None if cache is None else os.fspath(cache),
        }
        self._target: Target = target()
        self._threads = thread_count(threads)
        self.lanes = lane_count(lanes, self._target)
        self._code: Code = build(recipe, PROTOTYPE, self._target, self.lanes, cache_folder(cache))
        self._frames = FramePool(self._code.size.slots, self.lanes)
        self.build_seconds = self._code.seconds
        self.calls = 0

    @property
    def threads(self) -> int:
        """Threads that a call may use if it has work enough."""
        return self._threads

    @property
    def instructions(self) -> int:
        """Operations per state, of a step loop per step, after rewriting. This is an upper bound: a loop (`while_loop`)
        counts with its maximum number of iterations, of which most states take a few."""
        return self._code.size.operations

    @property
    def program(self) -> str:
        """Text that two kernels share only if they compute the same."""
        return self._recipe.identity

    @property
    def source(self) -> str:
        """'compiled' or 'cache': where the machine code came from."""
        return self._code.source

    @property
    def ir(self) -> str:
        """The LLVM assembly, written anew."""
        return assembly(self._recipe, self._target, self.lanes)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), (self._recipe, *self._more), self._options)


def _rebuilt(own_type: type[Executable], parts: tuple[Any, ...], options: dict[str, Any]) -> Executable:
    """Code from its pickled parts, built for the machine that it arrives on."""
    return own_type(*parts, **options)
