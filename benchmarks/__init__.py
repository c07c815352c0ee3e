"""Speed beside the peers, as ratios on the same work in one process: `python -m benchmarks`."""
