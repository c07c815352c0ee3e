"""Machine code for a recipe: from the cache if it is there, else compiled and put there."""

import functools
import itertools
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import BoundedTable, digest, frozen, package_digest, version_of
from myoquat.kernels import codegen
from myoquat.kernels.codegen.driver import ENTRY
from myoquat.kernels.codegen.ir import Module, Units
from myoquat.kernels.codegen.parts import Size
from myoquat.kernels.tracing.context import keeps_code
from myoquat.kernels.tracing.tape import Signature, Traced

from .cache import LIMIT_BYTES, Cache
from .llvm import Assembler, Loaded, versions
from .settings import Target, cache_folder, lane_count, target, thread_count

MAX_KEPT_CODES = 256


class Recipe:
    """How a kernel is written: a plan, which is made only where the cache has no machine code under `key`.

    make   makes the plan, a traced formula or a step loop. Its `notes` are what is to be known of the code beside its
           size, in words of JSON; the cache keeps them with it
    write  defines ENTRY of a plan in a module
    key    everything that the plan depends on, as `content` of `myoquat.kernels.compile`; None: the plan tells it
    """

    def __init__(self, make: Callable[[], Any], write: Callable[[Any, Module], Size], key: str | None = None) -> None:
        self._make, self._write, self.key = make, write, key

    @functools.cached_property
    def plan(self) -> Any:
        """The plan itself, such as a traced formula."""
        return self._make()

    @property
    def is_planned(self) -> bool:
        """Whether the plan is made."""
        return "plan" in vars(self)

    @property
    def identity(self) -> str:
        """Text that two recipes share only if they write the same code."""
        found: str = self.plan.identity if self.key is None else digest("deferred", self.key)
        return found

    def write(self, module: Module) -> Size:
        """Define ENTRY."""
        return self._write(self.plan, module)

    def __reduce__(self) -> tuple[Any, ...]:
        return _recipe, (self.plan, self._write)

    @classmethod
    def of_formula(cls, make: Callable[[], Traced], key: str | None = None) -> "Recipe":
        """The recipe of a kernel that evaluates a formula for each state."""
        return cls(make, codegen.write_kernel, key)


def _recipe(plan: Any, write: Callable[[Any, Module], Size]) -> Recipe:
    """A recipe from its pickled parts."""
    return Recipe(lambda: plan, write)


@frozen
class Code:
    """A recipe in machine code, with the recipe's notes."""

    entry: Any
    size: Size
    notes: dict[str, Any]
    source: str
    seconds: float
    key: str


_codes: BoundedTable[Code] = BoundedTable(MAX_KEPT_CODES)


def build(recipe: Recipe, prototype: Any, target: Target, lanes: int, folder: Path | None) -> Code:
    """Load the code of `recipe` from the cache folder, or compile and store it."""
    key = digest(recipe.identity, json.dumps(_circumstances(target, lanes), sort_keys=True))
    if not keeps_code.get():
        return _built(recipe, prototype, target, lanes, folder, key)
    return _codes.get(key, lambda: _built(recipe, prototype, target, lanes, folder, key))


def _built(recipe: Recipe, prototype: Any, target: Target, lanes: int, folder: Path | None, key: str) -> Code:
    start = time.perf_counter()
    cache = Cache(folder)
    stored = stored_code(cache, key)
    if stored is None:
        with Assembler(target, thread_count()) as assembler:
            units = Units(assembler.give)
            size = recipe.write(Module(lanes, target.fma, target.lanes, units))
            units.finish()
            notes, objects = recipe.plan.notes(), assembler.objects()
        header = {"size": asdict(size), "notes": notes, "objects": [*map(len, objects)]}
        cache.store(key, header, b"".join(objects))
        source = "compiled"
    else:
        size, notes, objects = stored
        source = "cache"
    function = Loaded(objects, target, ENTRY).function(prototype)
    return Code(function, size, notes, source, time.perf_counter() - start, key)


def stored_code(cache: Cache, key: str) -> tuple[Size, dict[str, Any], list[bytes]] | None:
    """Size, notes and object files of a kernel in the cache; None if there is none, or its header is not what `build`
    wrote."""
    entry = cache.load(key)
    if entry is None:
        return None
    header, code = entry
    try:
        size, notes, lengths = Size(**header["size"]), header["notes"], header["objects"]
        Signature.of(notes)
        ends = [*itertools.accumulate(lengths)]
        if min(lengths) <= 0 or ends[-1] != len(code) or min(size.slots, size.operations, size.price) < 0:
            return None
        return size, notes, [code[end - n : end] for n, end in zip(lengths, ends, strict=True)]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def assembly(recipe: Recipe, target: Target, lanes: int) -> str:
    """The LLVM assembly that a recipe writes."""
    module = Module(lanes, target.fma, target.lanes)
    recipe.write(module)
    return module.text()


def _circumstances(target: Target, lanes: int) -> dict[str, Any]:
    """All that machine code depends on beside the recipe."""
    return {
        "target": asdict(target),
        "lanes": lanes,
        "system": platform.system(),
        "numpy": np.__version__,
        "package": package_digest(),
        **versions(),
    }


# ---- What kernels run on: for a person who asks, and for a report of a fault -----------------------------------


_VARIABLES = ("MYOQUAT_CPU", "MYOQUAT_LANES", "MYOQUAT_THREADS", "MYOQUAT_CACHE")


def info() -> dict[str, Any]:
    """Lanes, threads, processor and its features, cache folder and size, versions, and the environment's settings.

    >>> from myoquat import kernels
    >>> sorted(kernels.info())[:4]
    ['cache', 'cache_bytes', 'cache_limit_bytes', 'cpu']
    """
    built_for = target()
    folder = cache_folder()
    return {
        "lanes": lane_count(None, built_for),
        "threads": thread_count(),
        "cpu": built_for.cpu,
        "features": [f[1:] for f in built_for.features.split(",") if f.startswith("+")],
        "fma": built_for.fma,
        "triple": built_for.triple,
        "cache": "off" if folder is None else str(folder),
        "cache_bytes": Cache(folder).size(),
        "cache_limit_bytes": LIMIT_BYTES,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "casadi": version_of("casadi"),
            **versions(),
        },
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }
