"""Tendons of many laws at once: against each law's own curve, and SciPy's roots."""

import numpy as np
import pytest
from scipy.optimize import elementwise

from myoquat.muscle.laws import DeGrooteFregly2016, Millard2012, Schutte1993, Thelen2003
from myoquat.muscle.laws.equilibrium import kind_of, numbers_of
from myoquat.muscle.laws.stretched import tendon_forces, tendon_strains

LONGEST = 0.3


@pytest.mark.parametrize("law", [Thelen2003, Millard2012, DeGrooteFregly2016, Schutte1993])
def test_strains_are_where_the_curve_has_the_force(law, rng):
    """Of three tendons of other strains at 40 forces each; slack ones and those that are pulled too far are told."""
    laws = [law(100.0 * k, 0.1, 0.2, tendon_strain=0.03 + 0.01 * k) for k in (1, 2, 3)]
    kind, numbers = kind_of(laws[0]), numbers_of(kind_of(laws[0]), laws)
    force = rng.uniform(0.001, 2.0, (40, 3))
    found = tendon_strains(kind, numbers, force, np.full(3, LONGEST))
    np.testing.assert_allclose(tendon_forces(kind, numbers, found), force, rtol=1e-9)
    for k, own in enumerate(laws):
        np.testing.assert_allclose(own.tendon_force(1 + found[:, k]), force[:, k], rtol=1e-9)
        root = elementwise.find_root(lambda x, f, own=own: own.tendon_force(1 + x) - f, (0.0, LONGEST),
                                     args=(force[:, k],), tolerances={"xrtol": 1e-12})  # fmt: skip
        np.testing.assert_allclose(found[:, k], root.x, rtol=1e-11)
    none, most = (tendon_strains(kind, numbers, np.full((1, 3), f), np.full(3, LONGEST)) for f in (-1.0, 1e9))
    np.testing.assert_array_equal(none, 0.0)
    np.testing.assert_array_equal(most, LONGEST)
