"""Elementary functions on the lanes of a vector."""

__all__: list[str] = []
