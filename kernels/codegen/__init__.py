"""From a program to LLVM assembly."""

__all__: list[str] = []
