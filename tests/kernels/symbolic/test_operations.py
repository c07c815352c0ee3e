"""The table of operations: each row's NumPy function, CasADi function, machine code and derivative agree."""

import casadi
import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels.runtime.build import Recipe
from myoquat.kernels.runtime.kernel import Kernel
from myoquat.kernels.symbolic.operations import MARKS, OPERATIONS
from myoquat.kernels.symbolic.terms import Tracer
from myoquat.kernels.tracing.adjoints import gradients
from myoquat.kernels.tracing.tape import Node, Signature, Tape, Traced, in_casadi, tape_of

ROWS = sorted(OPERATIONS)
FUSED = ("fma", "fms", "fnma")  # made by rewriting, rounded once


POINTS = np.random.default_rng(5).uniform(0.05, 0.95, (40, 3))  # inside the domain of every operation


def points_of(row):
    points = POINTS[:, : row.arity].copy()
    if row.truths:
        points[:, list(row.truths)] = points[:, list(row.truths)] > 0.5
    return points


def traced(row):
    nodes = [*(Node("input", number=k) for k in range(row.arity)), Node(row.name, *range(row.arity))]
    return Traced(Tape(nodes, [row.arity], row.arity), Signature(row.name, {"x": (row.arity,)}, {"y": ()}))


@pytest.mark.parametrize("name", ROWS)
def test_machine_code_agrees_with_the_function_on_floats(name):
    row, points = OPERATIONS[name], points_of(OPERATIONS[name])
    kernel = Kernel(Recipe.of_formula(lambda: traced(row)), cache="off")
    expected = np.asarray(row.evaluate(*points.T), dtype=float)
    np.testing.assert_allclose(kernel(points), expected, rtol=5e-16 if name not in FUSED else 1e-14, atol=1e-16)


@pytest.mark.parametrize("name", [name for name in ROWS if OPERATIONS[name].partials and name not in MARKS])
def test_rules_of_derivatives_agree_with_casadi(name):
    """At points where no argument is chosen on a tie and none is on an edge."""
    row, points = OPERATIONS[name], points_of(OPERATIONS[name])
    tracer = Tracer()
    inputs = tracer.inputs(row.arity)
    (rows,) = gradients(tracer, [tracer.again(name, *inputs)], inputs)
    tape = tape_of(tracer, inputs, rows)
    kernel = Kernel(
        Recipe.of_formula(lambda: Traced(tape, Signature("d", {"x": (row.arity,)}, {"y": (row.arity,)}))),
        cache="off",
    )
    x = [casadi.SX.sym(f"x{k}") for k in range(row.arity)]
    result = in_casadi(Node(name, *range(row.arity)), *x)
    derivative = casadi.Function("d", x, [casadi.jacobian(result, casadi.vertcat(*x))])
    expected = [np.array(derivative(*point)).ravel() for point in points]
    found = kernel(points)
    moving = [k for k in range(row.arity) if k not in row.truths]
    np.testing.assert_allclose(found[:, moving], np.array(expected)[:, moving], rtol=1e-12, atol=1e-14)


def test_every_ufunc_is_spelled_once():
    spelled = [spelling.ufunc for row in OPERATIONS.values() for spelling in row.spellings]
    assert len(set(spelled)) == len(spelled)


def test_an_operation_without_a_derivative_raises_when_it_is_differentiated():
    tracer = Tracer()
    inputs = tracer.inputs(3)
    with pytest.raises(ValueError, match="the operation 'fma' has no derivative"):
        gradients(tracer, [tracer.again("fma", *inputs)], inputs)


@pytest.mark.parametrize("function", [np.fmin, np.fmax])
def test_extremes_that_pass_over_nan_are_no_operations(function):
    """fmin(nan, 1) is 1 in NumPy; as the minimum of a kernel it was nan."""
    with pytest.raises(TypeError, match=f"np.{function.__name__} has no meaning on symbols"):
        kernels.compile(lambda x: function(x, 1.0), {"x": ()})
