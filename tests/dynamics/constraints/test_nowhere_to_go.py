"""Constraints where nothing can move, or where no direction leads to them."""

import numpy as np
import pytest

from myoquat.dynamics import simulate
from myoquat.dynamics.constraints import Distance, Weld, assemble
from myoquat.dynamics.constraints.assemble import AssemblyError
from myoquat.joints import ArticulatedSystem, Body, FixedJoint, PrismaticJoint
from myoquat.muscle import Model


def model(joint, *constraints):
    body = Body("body", "ground", joint, mass=1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    return Model(ArticulatedSystem((body,)), constraints=constraints)


def test_a_weld_of_bodies_that_cannot_move_holds_or_is_refused():
    """As where two joints without coordinates hold one body."""
    held = model(FixedJoint(), Weld("ground", "body"))
    assert simulate(held, [], [], 0.1, step=0.01).q.shape[-1] == 0
    assert assemble(held, np.zeros((3, 0))).shape == (3, 0)
    apart = model(FixedJoint(), Weld("ground", "body", second_point=(0.1, 0.0, 0.0)))
    with pytest.raises(ValueError, match=r"off by 0\.1.*no coordinate that could change it"):
        simulate(apart, [], [], 0.1, step=0.01)
    with pytest.raises(AssemblyError):
        assemble(apart, [])


def test_points_on_each_other_do_not_tell_where_to_be_apart():
    """The gradient of their distance is zero."""
    rod = model(PrismaticJoint((1.0, 0.0, 0.0)), Distance("ground", "body", distance=0.2))
    with pytest.raises(ValueError, match=r"no state on the constraints is found nearby: .* give one that is closer"):
        simulate(rod, [0.0], [0.0], 0.1, step=0.01, project_start=True)
    assert simulate(rod, [0.01], [0.0], 0.1, step=0.01, project_start=True).q[0] == pytest.approx([0.2])
