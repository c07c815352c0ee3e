"""OpenSim's own inconsistency on one model file, in a process of its own, for `benchmarks.opensim.consistency`.

    python differences.py MODEL STATES.npz RESULTS.npz

STATES holds q (n, coordinates) and `step`. RESULTS gets the moment arms (n, muscles, coordinates) that OpenSim gives,
and the slopes -dl/dq of its own lengths. It also gets names of muscles, and which coordinates are rates of the speeds.
"""

import sys

import numpy as np
import opensim
from reference import Kinematics


def main(file: str, states: str, results: str) -> None:
    """Read, compute, write."""
    opensim.Logger.setLevelString("Off")
    with np.load(states) as given:
        q, step = given["q"], float(given["step"])
    paths = Kinematics(file)
    arms = paths.values(q)["arms"]
    np.savez(
        results,
        arms=np.array(arms)[..., paths.order],
        slopes=paths.differences(q, step),
        muscles=np.array([muscle.getName() for muscle in paths.muscles]),
        plain=paths.plain,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
