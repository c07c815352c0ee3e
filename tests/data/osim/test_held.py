"""Constraints in OpenSim files: written, read back equal, and the motion that OpenSim gives them."""

import numpy as np
import pytest

from myoquat.dynamics.constraints import (
    AssemblyError,
    CoordinateCoupler,
    Distance,
    PointLoop,
    PointOnLine,
    PolynomialCoupler,
    Weld,
    assemble,
)
from myoquat.joints import ArticulatedSystem
from myoquat.joints.functions import Linear
from myoquat.joints.types import EulerJoint, RevoluteJoint
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coordinate
from tests.data.osim.two_bodies import body, comes_back, on_constraints
from tests.data.tables import rejected, reported

OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
answer = {"names": [c.getName() for c in coordinates], "udot": [], "error": []}
for q, u in zip(*arguments[1]):
    for c, x, v in zip(coordinates, q, u):
        c.setValue(state, x, False)
        c.setSpeedValue(state, v)
    model.realizeAcceleration(state)
    answer["udot"].append([c.getAccelerationValue(state) for c in coordinates])
    error = state.getQErr()
    answer["error"].append(max([abs(error.get(i)) for i in range(error.size())]))
"""


SYSTEM = ArticulatedSystem(
    (
        body("A", "ground", EulerJoint("XYZ"), (0.0, 1.0, 0.0), ("a1", "a2", "a3")),
        body("B", "A", EulerJoint("XYZ"), (0.0, -0.4, 0.0), ("b1", "b2", "b3")),
        body("C", "ground", EulerJoint("XYZ"), (0.5, 1.0, 0.0), ("c1", "c2", "c3")),
        body("D", "C", RevoluteJoint((0.0, 0.0, 1.0)), (0.0, -0.4, 0.0), ("d",)),
    ),
    gravity=(0.0, -9.80665, 0.0),
)
COUNT = 200  # random states that are compared
TIP, REST = (0.0, -0.4, 0.02), (0.2, 0.4, 0.1)
HELD = {
    "point": (PointLoop("B", "ground", TIP, REST, name="pin"),),
    "distance": (Distance("B", "D", TIP, (0.01, -0.3, 0.0), 0.35, name="rod"),),
    "line": (PointOnLine("C", "B", (0.0, -0.2, 0.1), (0.3, 1.0, -0.2), TIP, name="rail"),),
    "weld": (Weld("B", "D", TIP, (0.0, -0.3, 0.0), (0.1, 0.2, -0.1), (0.0, -0.1, 0.3), name="glue"),),
    "polynomial": (
        PolynomialCoupler("d", ("b1", "a3"), (0.1, 0.5, -0.3, 0.2, 0.0, 0.4),
                          ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)), 1.5, name="gear"),
    ),
    "two": (
        PointLoop("B", "ground", TIP, REST, name="pin"),
        CoordinateCoupler("c2", "d", Linear(0.5, 0.1), name="follow"),
    ),
}  # fmt: skip


@pytest.mark.peers
@pytest.mark.parametrize("case", HELD)
def test_opensim_moves_alike(tmp_path, rng, in_opensim, case):
    model = comes_back(Model(SYSTEM, constraints=HELD[case], name="held"), tmp_path)
    held, q, u = on_constraints(model, COUNT, 0.6, rng)
    if case == "polynomial":  # OpenSim answers its first derivative where the second is asked for, which u multiplies
        u = 0 * u
    answer = in_opensim(OPENSIM, tmp_path / "held.osim", [q, u])
    assert answer["names"] == list(SYSTEM.coordinate_names)
    assert max(answer["error"]) < 1e-9
    udot = held.motion(q, u, np.zeros((COUNT, model.system.nu)), np.zeros(COUNT)).acceleration
    scale = np.abs(udot).max()
    np.testing.assert_allclose(udot, answer["udot"], rtol=1e-9, atol=1e-9 * scale)


def test_assembling_keeps_locked_coordinates_and_says_where_it_cannot(rng):
    near = PointLoop("B", "ground", TIP, REST, name="near")
    model = Model(SYSTEM, constraints=(near,), coordinates=(Coordinate("a2", locked=True),))
    q = rng.uniform(-0.4, 0.4, (4, 5, SYSTEM.nq))
    q[..., 0] *= 0.5
    q[..., 1] *= 0.2
    found = assemble(model, q)
    np.testing.assert_array_equal(found[..., 1], q[..., 1])
    np.testing.assert_allclose(found[..., 6:], q[..., 6:], atol=1e-15)  # what the constraint does not touch
    assert np.abs(near.position(SYSTEM, found, np.zeros(()))).max() < 1e-10
    np.testing.assert_array_equal(assemble(model, found), found)
    far = PointLoop("B", "ground", TIP, (3.0, 0.0, 0.0), name="far")
    with pytest.raises(
        AssemblyError, match=r"20 of 20 poses cannot be assembled; at pose 0 point loop 'far'"
    ) as caught:
        assemble(model, q, [far])
    assert caught.value.poses[0] == (0, 0)
    assert caught.value.residual.shape == (4, 5)
    assert np.isnan(assemble(model, q, [far], strict=False)).all()


def test_a_polynomial_of_one_coordinate_is_a_constraint(tmp_path):
    """OpenSim has it among the functions of couplers too."""
    gear = PolynomialCoupler("d", ("b1",), (0.1, 0.5, -0.3), ((0,), (1,), (2,)), 1.5, name="gear")
    assert comes_back(Model(SYSTEM, constraints=(gear,), name="held"), tmp_path).constraints == (gear,)


PINNED = Model(SYSTEM, constraints=HELD["point"], name="held")
test_what_is_not_enforced_or_not_known_is_reported = reported(
    PINNED, "held.osim",
    ('Constraint name="pin">', 'Constraint name="pin"><isEnforced>false</isEnforced>', "isEnforced is false"),
    ("PointConstraint", "RollingOnSurfaceConstraint", r"1 Rolling.* \(constraint; the model moves without it"),
    holds=lambda model: not model.constraints,
)  # fmt: skip
test_constraints_of_bodies_that_are_not_there_are_rejected = rejected(
    PINNED, "held.osim", ("/bodyset/B</socket_body_1>", "/bodyset/X</socket_body_1>", "names '/bodyset/X'")
)
