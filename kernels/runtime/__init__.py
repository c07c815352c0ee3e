"""Compile, cache and call kernels: batches, threads, single states, step loops."""
