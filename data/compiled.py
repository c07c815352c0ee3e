"""What other programs give in memory instead of in a file."""

from typing import Any, Protocol, runtime_checkable

__all__ = ["CompiledModel", "ModelSpec"]


@runtime_checkable
class CompiledModel(Protocol):
    """A `mujoco.MjModel`, or what has its arrays."""

    nq: int
    nv: int
    nbody: int
    opt: Any


@runtime_checkable
class ModelSpec(Protocol):
    """A `mujoco.MjSpec`: what compiles into a `CompiledModel`."""

    def compile(self) -> CompiledModel: ...
