"""An independent trajectory of `two_link`: (n,) times "t" and (n, 14) states "x"."""

import json
from pathlib import Path

import numpy as np

ORACLE = json.loads((Path(__file__).parents[2] / "data" / "two_link_trajectory.json").read_text())


def states(trajectory):
    """(..., 14) q and u."""
    return np.concatenate([trajectory.q, trajectory.u], axis=-1)
