"""Step loops in machine code: what they evaluate, where they keep it, and their inputs over time."""

__all__: list[str] = []
