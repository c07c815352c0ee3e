"""Formulas inside formulas as functions: the same numbers as in place, in lanes and derivatives, and code once."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from packed_loop import iterate

from myoquat import kernels
from myoquat.kernels.control_flow.out_of_line_call import out_of_line_call
from myoquat.kernels.tracing.derivatives import jacobian_at


@dataclass(frozen=True)
class Bend:
    """Something that a formula knows."""

    factor: object


def bent(bend, x):
    """(..., 2) of x (..., 2)."""
    return np.stack([np.sin(bend.factor * x[..., 0]) * x[..., 1], np.exp(-x[..., 1] * x[..., 1])], axis=-1)


BEND = Bend(1.3)


def formula_of(times):
    def formula(x):
        y = x
        for _ in range(times):
            y = y + out_of_line_call(bent, (BEND,), y[..., ::-1], 2) * x[..., :1]
        return y

    return formula


def test_derivatives_see_the_formula(rng):
    x = rng.normal(size=(5, 2))
    inside = jacobian_at(formula_of(2), x)
    for kernel in (kernels.compile(lambda x: jacobian_at(formula_of(2), x), {"x": 2}),
                   kernels.compile(formula_of(2), {"x": 2}).jacobian()):  # fmt: skip
        np.testing.assert_allclose(kernel(x), inside, rtol=1e-12, atol=1e-14)


def test_the_code_stands_once():
    two, nine = (kernels.compile(formula_of(times), {"x": 2}, lanes=1).ir for times in (2, 9))
    assert nine.count("call void @function_") - two.count("call void @function_") == 7
    assert [len(re.findall("define .*@function_", ir)) for ir in (two, nine)] == [1, 1]


def test_a_solver_inside_is_one_still():
    """With no straight function of it."""

    def root(x):
        return iterate(lambda z, c: 0.5 * (z + c / z), 0.0 * x + 1.0, x, 8)

    kernel = kernels.compile(lambda x: out_of_line_call(root, (), x + 1.0, 1), {"x": 1})
    np.testing.assert_allclose(kernel([[3.0], [8.0]]), [[2.0], [3.0]], rtol=1e-14)
    with pytest.raises(ValueError, match="has no derivative"):
        kernel.jacobian()


def test_what_it_knows_may_be_symbols(rng):
    """Then it stands where it is asked for."""
    x = rng.normal(size=(5, 3))
    formula = lambda x: out_of_line_call(bent, (Bend(x[..., 2]),), x[..., :2], 2)  # noqa: E731
    np.testing.assert_allclose(kernels.compile(formula, {"x": 3})(x), formula(x), rtol=1e-13, atol=1e-14)
