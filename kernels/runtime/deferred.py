"""Bodies that are traced only where the cache has no machine code for them."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from myoquat.core.content import digest
from myoquat.kernels.codegen.body import Straight
from myoquat.kernels.codegen.ir import Module
from myoquat.kernels.codegen.parts import Body, Cost, Ports
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.tracing.traced import Pattern, Signature, Traced

__all__ = ["Deferred", "DeferredBody"]


class DeferredBody:
    """A body that is made only when more than its machine code is needed, which the cache has under `key`.

    The key contains everything that the body depends on: see `content` of `myoquat.kernels.compile`.
    """

    def __init__(self, key: str, make: Callable[[], Body]) -> None:
        self.key = key
        self._make = make

    @functools.cached_property
    def body(self) -> Body:
        """The body itself."""
        return self._make()

    @property
    def signature(self) -> Signature:
        return self.body.signature

    @property
    def multi_block(self) -> bool:
        return self.body.multi_block

    def identity(self) -> str:
        return digest("deferred", self.key)

    def write(self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
        return self.body.write(module, name, frame, inputs, outputs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.body,)


class Deferred(DeferredBody):
    """A formula that is traced only when more than its machine code is needed."""

    def __init__(self, key: str, trace: Callable[[], Traced]) -> None:
        super().__init__(key, lambda: Straight(trace()))

    @property
    def traced(self) -> Traced:
        """The formula itself."""
        assert isinstance(self.body, Straight)
        return self.body.traced

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        return self.traced.patterns


def _itself(body: Body) -> Body:
    """A body from its pickled parts."""
    return body
