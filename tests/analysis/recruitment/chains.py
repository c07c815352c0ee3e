"""Two chains of bodies that a pin holds together, with all that acts between bodies of a recorded motion."""

import numpy as np

from myoquat.analysis.recruitment import consistent_motion
from myoquat.data import Motion
from myoquat.dynamics.constraints import PointLoop, assemble
from myoquat.joints import ArticulatedSystem
from myoquat.joints.functions import Linear
from myoquat.joints.types import EulerJoint, RevoluteJoint
from myoquat.muscle import Model, Muscle, PathPoint
from myoquat.muscle.coordinates import Coordinate, Coupler
from myoquat.muscle.forces import Bushing, PointSpring
from myoquat.muscle.laws import Millard2012
from tests.analysis.recruitment.shoulders import limb

Z = (0.0, 0.0, 1.0)
LAW = Millard2012(300.0, optimal_fiber_length=0.3, tendon_slack_length=0.2, tendon="rigid")
TIP = (0.0, -0.4, 0.02)
SYSTEM = ArticulatedSystem((
    limb("A", "ground", EulerJoint("XYZ"), (0.0, 1.0, 0.0), ("a1", "a2", "a3")),
    limb("B", "A", EulerJoint("XYZ"), (0.0, -0.4, 0.0), ("b1", "b2", "b3")),
    limb("C", "ground", EulerJoint("XYZ"), (0.5, 1.0, 0.0), ("c1", "c2", "c3")),
    limb("D", "C", RevoluteJoint(Z), (0.0, -0.4, 0.0), ("d",)),
    limb("E", "D", RevoluteJoint(Z), (0.0, -0.3, 0.0), ("e",)),
    limb("F", "E", RevoluteJoint((1.0, 0.0, 0.0)), (0.0, -0.3, 0.0), ("f",)),
), gravity=(0.0, -9.80665, 0.0))  # fmt: skip
# The tip of one chain is held at a point of the other, which carries a hand. A muscle on each, a spring and a bushing
# between them, a coupler and a lock.
CHAINS = Model(
    SYSTEM,
    (
        Muscle("one", (PathPoint("ground", (0.1, 1.1, 0.0)), PathPoint("B", (0.03, -0.2, 0.0))), LAW),
        Muscle("two", (PathPoint("A", (0.05, -0.1, 0.0)), PathPoint("E", (0.03, -0.1, 0.02))), LAW),
    ),
    coordinates=(Coordinate("f", locked=True),),
    couplers=(Coupler("gear", "e", "d", Linear(0.4)),),
    constraints=(PointLoop("B", "C", TIP, (-0.3, -0.5, 0.1), name="pin"),),
    forces=(
        PointSpring("band", "A", "D", (0.0, -0.2, 0.0), (0.0, -0.1, 0.0), stiffness=300.0, rest_length=0.3),
        Bushing("disc", "ground", "E", (0.5, 0.2, 0.0), rotational_stiffness=(5.0, 6.0, 7.0),
                translational_stiffness=(50.0, 60.0, 70.0), rotational_damping=(0.1, 0.2, 0.3),
                translational_damping=(1.0, 2.0, 3.0)),
    ),
)  # fmt: skip
LOCKED = CHAINS.system.coordinate_names.index("f")


def free_to_move(values):
    """The values (..., 12), zero for the locked coordinate."""
    return values * (np.arange(12) != LOCKED)


def moving(rng, frames=6):
    """A motion on the constraints with any accelerations, and tensions."""
    q = assemble(CHAINS, SYSTEM.neutral() + free_to_move(rng.uniform(-0.2, 0.2, (frames, 12))))
    rates = free_to_move(rng.normal(size=(2, frames, 12)))
    motion = consistent_motion(CHAINS, Motion(SYSTEM, 0.01 * np.arange(frames), q, *rates))
    return motion, rng.uniform(10, 300, (frames, 2))
