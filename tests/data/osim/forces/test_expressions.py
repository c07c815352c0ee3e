"""Expressions of forces: their grammar, which is that of Lepton, and what is no expression."""

import math
import re

import numpy as np
import pytest

from myoquat.joints import ModelError
from myoquat.muscle import Model
from myoquat.muscle.expressions import FUNCTIONS, evaluate
from myoquat.muscle.forces import CoordinateExpression
from tests.data.osim.two_bodies import SYSTEM


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1+2*3^2", 19.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("2^3^2", 512.0),
        ("2^-x*8", 2.0),
        ("-x*-x", 4.0),
        ("1-2-3", -4.0),
        ("8/4/2", 1.0),
        ("(1+x)*3", 9.0),
        (" 1.5e1 + .5E-1 ", 15.05),
        ("min(x,y)+max(x,y)", -1.0),
        ("step(x)+step(y)+delta(0)+delta(x)", 2.0),
        ("square(y)+cube(x)+recip(x)+abs(y)", 9 + 8 + 0.5 + 3),
        ("sec(x)*cos(x)+csc(x)*sin(x)+cot(x)*tan(x)", 3.0),
        ("asin(sin(1))+acos(cos(1))+atan(tan(1))", 3.0),
        ("log(exp(x))+sqrt(x*x)", 4.0),
        ("cosh(x)^2-sinh(x)^2-tanh(0)", 1.0),
    ],
)
def test_the_grammar_is_leptons(text, value):
    assert evaluate(text, {"x": np.array(2.0), "y": np.array(-3.0)}) == pytest.approx(value, rel=1e-12)


def test_random_expressions_are_what_python_makes_of_them(rng):
    """Sums, products, powers and signs, as Python reads them with ** for ^."""
    for _ in range(200):
        parts = [str(rng.choice(["x", "-x", "(x", f"{rng.uniform(0.1, 3):.3f}"])) for _ in range(6)]
        text = "".join(part + str(rng.choice(list("+-*/"))) for part in parts) + "1.5^x"
        text += ")" * text.count("(")
        tree = compile(re.sub(r"\^", "**", text), "test", "eval")
        assert evaluate(text, {"x": np.array(1.7)}) == pytest.approx(eval(tree, {"x": 1.7}), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2*speed", "unknown name 'speed'; known: q, qdot; functions: sqrt"),
        ("erf(q)", "the function 'erf' is unknown"),
        ("__import__(q)", "the function '__import__' is unknown"),
        ("q.real", "'.' is not expected there"),
        ("q[0]", r"'\[' is not expected there"),
        ("2*", "invalid syntax"),
        ("(q", "was never closed"),
        ("q)", "unmatched"),
        ("min(q)", "min takes 2 arguments, not 1"),
        ("sin(q,q)", "sin takes 1 argument, not 2"),
        ("q;q=2", "';' is not expected there"),
        ("", "invalid syntax"),
        ("+q", "signs that are not expected there"),
        ("(" * 5000 + "q" + ")" * 5000, "more than 4000 characters"),
        ("q**2", "invalid syntax"),
        ("1_5*q", "invalid syntax"),
        ("min(*q, q)", "signs that are not expected there"),
        ("sin(q, ^2)", "signs that are not expected there"),
        ("q if q", "'if' is not expected there"),
        ("(" * 500 + "q" + ")" * 500, "nested more than 60 deep"),
        ("-" * 500 + "q", "nested more than 60 deep"),
        ("2" + "^2" * 500, "nested more than 60 deep"),
    ],
)
def test_what_is_no_expression_raises_a_named_error(text, message):
    with pytest.raises(ModelError, match=message) as caught:
        Model(SYSTEM, forces=(CoordinateExpression("f", "a1", text),))
    assert "force 'f'" in str(caught.value)


def test_every_function_is_known():
    """All of Lepton's but erf and erfc."""
    assert len(FUNCTIONS) == 23
    assert all(math.isfinite(float(evaluate(f"{name}({'0.5' + ',0.4' * (n - 1)})", {"x": np.array(0.0)})))
               for name, (n, _) in FUNCTIONS.items())  # fmt: skip
