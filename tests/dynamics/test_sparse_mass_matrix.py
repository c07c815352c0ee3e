"""The entries of the mass matrix that a tree has, and its factors."""

import numpy as np
import pytest

from myoquat import kernels
from myoquat.dynamics import composite, mass_matrix, sparse_mass_matrix
from myoquat.joints.multibody.sampling import random_system

SYSTEM = random_system(5, np.random.default_rng(1), ("spherical", "revolute"))
Q = SYSTEM.random(4, np.random.default_rng(2))


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_entries_and_factors_give_the_mass_matrix(backend):
    found = sparse_mass_matrix(SYSTEM, Q, backend=backend)
    n, expected = SYSTEM.nu, mass_matrix(SYSTEM, Q)
    M, L, D = (np.zeros((len(Q), n, n)) for _ in range(3))
    M[:, found.rows, found.columns] = found.mass
    M = np.maximum(np.abs(M), np.abs(np.swapaxes(M, 1, 2))) * np.sign(M + np.swapaxes(M, 1, 2))
    assert np.abs(M - expected).max() < 1e-12
    below = found.rows != found.columns
    L[:, found.rows[below], found.columns[below]] = found.factor[:, below]
    L += np.eye(n)
    diagonal = found.rows[~below]
    D[:, diagonal, diagonal] = 1 / found.factor[:, ~below]
    assert np.abs(np.swapaxes(L, 1, 2) @ D @ L - expected).max() < 1e-12 * np.abs(expected).max()


def test_branches_have_no_entries_between_them():
    found = sparse_mass_matrix(SYSTEM, Q)
    dense = mass_matrix(SYSTEM, Q)
    assert found.mass.shape[-1] == (np.abs(dense).max(axis=0) > 0)[np.tril_indices(SYSTEM.nu)].sum()


@pytest.mark.parametrize("types", [("floating", "spherical", "revolute"), ("euler", "fixed", "constant_curvature")])
def test_pairs_of_joints_in_loops_give_the_same_matrix(types, monkeypatch):
    system = random_system(5, np.random.default_rng(3), types)
    q = system.random(9, np.random.default_rng(4))
    expected = composite.mass(system, q)
    monkeypatch.setattr(composite, "MIN_LOOPED_PRODUCTS", 0)
    found = kernels.compile(lambda q: composite.mass(system, q), {"q": system.nq}, ["M"])(q)
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()
    assert np.array_equal(found, np.swapaxes(found, -1, -2))
