"""The moving shoulder of the first page and of the README.

    python docs/site_animation.py    writes data/figures/shoulder.webp

The library's shoulder raises its arm and lowers it again, while the scapula glides on the ribs. Muscles are coloured by
the activations of least effort that hold the arm in each pose.
"""

from pathlib import Path

import numpy as np

import myoquat as mq
from myoquat.analysis.recruitment import redundancy
from myoquat.data import Motion
from myoquat.dynamics.constraints import assemble

FILE = Path(__file__).parents[1] / "data" / "figures" / "shoulder.webp"
FRAMES, RATE = 41, 14
ABDUCTION, CLAVICLE = np.radians(78.0), np.radians(16.0)


def raised(model: mq.Model) -> Motion:
    """The arm at rest in poses from hanging to abduction, the clavicle with it, and back."""
    share = 0.5 - 0.5 * np.cos(np.pi * np.arange(FRAMES) / (FRAMES - 1))
    q, poses = model.start, []
    for s, before in zip(share, [0.0, *share[:-1]], strict=True):
        q = model.system.integrate(q, (s - before) * np.array([0, 0, CLAVICLE, 0, 0, 0, 0, 0, ABDUCTION - CLAVICLE]))
        q = assemble(model, q)
        poses.append(q)
    cycle = np.array([*poses, *poses[-2:0:-1]])
    still = np.zeros((len(cycle), model.system.nu))
    return Motion(model, np.arange(len(cycle)) / RATE, cycle, still, still)


def main() -> None:
    """Write the film."""
    model = mq.load_model("thoracoscapular")
    found = redundancy(model, raised(model), reserves=2.0)
    mq.film(model, found, FILE, rate=RATE, size=(480, 400), overwrite=True)
    print(f"{FILE.name}: {FILE.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
