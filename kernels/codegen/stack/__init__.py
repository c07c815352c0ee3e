"""Stack memory of kernels: slots, their lifetimes and their allocation."""

__all__: list[str] = []
