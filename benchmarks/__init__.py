"""Speed beside the peers, as ratios on the same work in one run: `python -m benchmarks [NAMES]`.

Each peer has a folder: `opensim`, `mujoco`, `pinocchio`, `jax`, `sympy`; `own` holds measurements of myoquat alone, or
against exact solutions. Comparisons with several peers stand here.

To add a comparison, write one file in the folder of its peer with a function `run()`, and put its name into
`benchmarks.names`. `run()` needs no arguments. It first checks that all routes compute the same numbers, then times
them in turn with `benchmarks.measure.alternate`. It returns its rows, one dict per route. `measure.rows` makes them
from the times: the keys are

    work       what is computed, the same for all routes of a comparison
    route      who computes it and how
    against    the route that ratios refer to; its own ratio is 1
    ratio      how many times as fast as that route, by the medians
    median, low, high, unit    time per item: the median of the repeats, and their quartiles

and a comparison may add its own. Rows without `ratio` are printed, but not drawn. Peers are imported inside the file of
the comparison, which only the request for NAME imports. A peer that is not installed is an ImportError there.
"""
