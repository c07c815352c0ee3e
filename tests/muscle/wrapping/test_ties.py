"""Where both ways around a surface are equally long the rate of the length jumps, and the path is near a jump."""

import numpy as np
import pytest

from myoquat.muscle import WrapCylinder, WrapSphere


@pytest.mark.parametrize("surface", [WrapSphere(body="ground", radius=0.05), WrapCylinder(body="ground", radius=0.05)])
def test_a_tie_of_both_ways_around_is_near_a_jump(surface):
    jump = surface.contact(np.array([-0.1, 1e-4, 0.0]), np.array([0.2, 0.0, 0.0])).jump
    np.testing.assert_allclose(jump, [1e-4, 2e-4], rtol=1e-3)
