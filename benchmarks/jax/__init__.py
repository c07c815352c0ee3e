"""JAX, with vmap and jit."""
