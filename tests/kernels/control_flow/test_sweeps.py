"""Jacobians in sweeps against the same written out, against differences, and what makes them shorter."""

import pickle

import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels.control_flow import jacobian_entries
from myoquat.kernels.control_flow.table_loop import map_rows

X = np.random.default_rng(1).normal(size=(11, 6))


def chain(x):
    """Numbers of which each has two neighbours, one of them unused: a banded Jacobian with a structural zero."""
    y = np.stack([np.sin(x[..., i]) * x[..., i + 1] + x[..., i] ** 2 for i in range(4)], axis=-1)
    return np.where(x[..., :1] > 0, y, np.log(np.abs(y)))


def bundle(x):
    """Many numbers of a few combinations of the inputs, and one of all of them: columns by columns is cheaper."""
    s = x[..., :3] + x[..., 3:]
    products = [np.exp(s[..., i] * 0.1 * k) / (1 + s[..., i - 1] ** 2) for i in range(3) for k in range(4)]
    return np.stack([*products, np.sum(s**2, axis=-1), x[..., 0], x[..., 0], s[..., 1] * 0 + 2], axis=-1)


def table(x):
    """Rows of a table inside."""
    rows = np.stack([x[..., i : i + 2] for i in range(5)], axis=-2)
    scales = np.linspace(1, 2, 5)[:, None]
    return map_rows(lambda row, c: np.sin(row[..., :1] * c) * row[..., 1:], rows, scales, 1)[..., 0]


@pytest.fixture
def swept(monkeypatch):
    """All Jacobians made from now on are swept."""

    def switch():
        monkeypatch.setattr(jacobian_entries, "_MAX_UNROLLED_PRODUCTS", -1)
        monkeypatch.setattr(jacobian_entries, "_MAX_UNROLLED_DIRECTIONS", 0)

    return switch


@pytest.mark.parametrize("formula", [chain, bundle, table])
@pytest.mark.parametrize("lanes", [1, 8])
def test_sweeps_give_what_is_written_out(formula, lanes, swept):
    kernel = kernels.compile(formula, {"x": 6}, ["y"], lanes=lanes, cache="off")
    plain, sparse = kernel.jacobian(), kernel.jacobian(sparse=True)
    swept()
    found, entries_found = kernel.jacobian(), kernel.jacobian(sparse=True)
    assert [len(kernel._traced.inner) for kernel in (found, plain)] == [1, 0]
    np.testing.assert_allclose(found(X), plain(X), rtol=1e-13, atol=1e-14)
    assert np.array_equal([entries_found.rows, entries_found.cols], [sparse.rows, sparse.cols])
    np.testing.assert_allclose(entries_found(X), sparse(X), rtol=1e-13, atol=1e-14)
    again = pickle.loads(pickle.dumps(entries_found))
    assert np.array_equal(again.rows, sparse.rows)
    assert np.array_equal(again(X), entries_found(X))


@pytest.mark.parametrize("length", [17, 48, 56, 120, 130])
def test_sweeps_of_any_length_are_copied(length, swept):
    """The registers of the loop over the directions and those of the copies are those of two functions."""
    swept()
    kernel = kernels.compile(
        lambda x: np.sin(x[..., :1] * np.arange(1.0, length + 1)) * x, {"x": length}, lanes=1, cache="off"
    )
    x = np.linspace(0.1, 1.0, length)
    k = np.arange(1.0, length + 1)
    expected = np.diag(np.sin(x[0] * k))
    expected[:, 0] += k * np.cos(x[0] * k) * x
    np.testing.assert_allclose(kernel.jacobian()(x), expected, rtol=1e-12, atol=1e-13)


def edged(x):
    """With a root and a quotient whose derivatives are infinite at 0, beside numbers that are not chosen."""
    y = [np.where(x[..., 0] > 0, np.log(x[..., 0]), x[..., 1]), np.sqrt(x[..., 0]) * x[..., 1], x[..., 0] / x[..., 2]]
    return np.stack([*y, x[..., 1] * x[..., 2]], axis=-1)


def turned(x):
    """The same with more columns than rows."""
    return edged(x)[..., :2] + edged(x)[..., 2:] + x[..., 3:4]


@pytest.mark.parametrize("formula", [edged, turned])
def test_infinite_derivatives_stay_where_they_are(formula, swept):
    """In the entries that have them written out, or fewer: 0 times infinity is not met where nothing moves."""
    at = [[0.0, 2.0, 3.0, 1.0], [1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    kernel = kernels.compile(formula, {"x": 4}, ["y"], cache="off")
    plain = kernel.jacobian()(at)
    swept()
    found = kernel.jacobian()(at)
    finite = np.isfinite(plain)
    assert 0 < finite.mean() < 1
    np.testing.assert_allclose(found[finite], plain[finite], rtol=1e-13)


@pytest.mark.parametrize("first", [lambda k: k.vjp(), lambda k: k.jacobian()])
def test_hessians_in_sweeps_are_symmetric(first, swept):
    """And have a direction less for what is linear. The row of x7 is that of x6."""

    def energy(x):
        s = x[..., :2] + x[..., 2:4]
        return np.sum(np.sin(s), axis=-1) * s[..., 0] ** 2 + x[..., 4] * s[..., 1] + x[..., 5] + x[..., 6] * x[..., 7]

    X = np.random.default_rng(2).normal(size=(11, 8))
    kernel = kernels.compile(energy, {"x": 8}, ["e"], cache="off")
    gradient = first(kernel)
    name = next(iter(gradient.outputs))
    given = (X,) if len(gradient.inputs) == 1 else (X, np.full(len(X), 1.0))
    plain = gradient.jacobian(name, "x")(*given)
    swept()
    hessian = gradient.jacobian(name, "x")
    np.testing.assert_allclose(hessian(*given), plain, rtol=1e-13, atol=1e-14)
    assert np.array_equal(hessian(*given), np.swapaxes(hessian(*given), -1, -2))
    (sweep,) = hessian._traced.inner
    assert len(sweep.types[0].numbers) == 4  # not eight: the rows of others hold the column of x4, and x5 is linear
    third, wanted = hessian.jacobian(wrt="x"), kernel.jacobian().jacobian().jacobian()
    np.testing.assert_allclose(third(*given), wanted(X), rtol=1e-12, atol=1e-13)


def test_patterns_come_from_the_cache(tmp_path):
    """Without running the formula."""
    runs = []

    def formula(x):
        runs.append(1)
        return chain(x)

    made = [
        kernels.compile(formula, {"x": 6}, ["y"], name="chain", content="chain", cache=tmp_path).jacobian(sparse=True)
        for _ in range(2)
    ]
    assert (made[0].source, made[1].source, len(runs)) == ("compiled", "cache", 1)
    assert np.array_equal([made[0].rows, made[0].cols], [made[1].rows, made[1].cols])
    bare = [kernels.compile(chain, {"x": 6}, cache=tmp_path).jacobian(sparse=True) for _ in range(2)]
    assert [kernel.source for kernel in bare] == ["compiled", "cache"]
