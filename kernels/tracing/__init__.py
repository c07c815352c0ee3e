"""From a formula to a program and its derivatives."""

__all__: list[str] = []
