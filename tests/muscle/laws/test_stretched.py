"""Tendons of many laws at once: against each law's own curve, and SciPy's roots."""

import numpy as np
import pytest
from scipy.optimize import elementwise

from myoquat import kernels
from myoquat.core import unchecked
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.laws import DeGrooteFregly2016, Millard2012, Schutte1993, Thelen2003
from myoquat.muscle.laws.equilibrium import tendon_forces, tendon_strain, tendon_strains
from myoquat.muscle.laws.shared_structure import numbers_of, stacked_laws

MAX_STRAIN = 0.3


@pytest.mark.parametrize("law", [Thelen2003, Millard2012, DeGrooteFregly2016, Schutte1993])
def test_strains_are_where_the_curve_has_the_force(law, rng):
    """Of three tendons of other strains at 40 forces each; slack tendons have no strain, overloaded ones the
    longest."""
    laws = [law(100.0 * k, 0.1, 0.2, tendon_strain=0.03 + 0.01 * k) for k in (1, 2, 3)]
    ((_, stacked),) = stacked_laws(laws)
    force = rng.uniform(0.001, 2.0, (40, 3))
    found = tendon_strains(stacked, force, np.full(3, MAX_STRAIN))
    np.testing.assert_allclose(tendon_forces(stacked, found), force, rtol=1e-9)
    for k, own in enumerate(laws):
        np.testing.assert_allclose(own.tendon_force(1 + found[:, k]), force[:, k], rtol=1e-9)
        root = elementwise.find_root(lambda x, f, own=own: own.tendon_force(1 + x) - f, (0.0, MAX_STRAIN),
                                     args=(force[:, k],), tolerances={"xrtol": 1e-12})  # fmt: skip
        np.testing.assert_allclose(found[:, k], root.x, rtol=1e-11)
    none, most = (tendon_strains(stacked, np.full((1, 3), f), np.full(3, MAX_STRAIN)) for f in (-1.0, 1e9))
    np.testing.assert_array_equal(none, 0.0)
    np.testing.assert_array_equal(most, MAX_STRAIN)


@pytest.mark.parametrize("law", [Thelen2003, DeGrooteFregly2016])
def test_strain_has_the_derivative_of_the_inverse_curve(law, rng):
    """By the force 1 / f_T'(strain), although it is found by a search between two ends; by the longest strain none."""
    own = law(100.0, 0.1, 0.2)

    def formula(rows):
        numbers = {name: x + 0.0 * rows[..., 0] for name, x in numbers_of(own).items()}
        return tendon_strain(unchecked(own, numbers), rows[..., 0], rows[..., 1])

    rows = np.stack([rng.uniform(0.05, 1.5, 40), np.full(40, MAX_STRAIN)], axis=-1)
    kernel = kernels.compile(formula, {"rows": 2}, ["strain"])
    slope = jacobian_at(lambda x: own.tendon_force(1 + x), kernel(rows)[:, None])[:, 0, 0]
    expected = np.stack([1 / slope, 0 * slope], axis=-1)
    np.testing.assert_allclose(kernel.jacobian()(rows), expected, rtol=1e-9)
    np.testing.assert_allclose(jacobian_at(lambda x: formula(x)[..., None], rows)[:, 0], expected, rtol=1e-9)
