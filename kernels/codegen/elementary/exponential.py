"""exp, expm1, log, log1p, sinh, cosh, tanh on the lanes of a vector.

Each writes straight-line code: no table, no branch. Special values (infinities, NaN, signed zeros, denormals, overflow)
follow C's annex F. The coefficients of the logarithm are those of FreeBSD's msun, e_log.c (Sun Microsystems 1993). The
exponential uses its Taylor series, which at |r| <= ln(2)/2 needs 13 terms for 2^-58.
"""

import math

from myoquat.kernels.codegen.ir import Builder, Value

__all__ = ["cosh", "exp", "expm1", "log", "log1p", "sinh", "tanh"]

# 1.5 * 2^52: adding it leaves the nearest whole number in the low bits, NaN included
ROUNDING_SHIFT = 6755399441055744.0
_ROUND_BITS = 0x4338000000000000
_LN2_HIGH = 6.93147180369123816490e-01  # 21 trailing zero bits: its product with a whole number below 2^20 is exact
_LN2_LOW = 1.90821492927058770002e-10
_EXP = [1.0 / math.factorial(k) for k in range(2, 14)]
_LOG = [
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
]
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_MAX_LINEAR_ARGUMENT = 2.0**-54  # below it f(x) = x to the last bit for expm1, log1p, sinh, tanh, sin, ...


def _reduced(b: Builder, x: Value) -> tuple[str, str]:
    """(n, r): x = n ln 2 + r, |r| <= ln(2)/2, n as int64 lanes."""
    shifted = b.fma(x, 1.0 / math.log(2.0), ROUNDING_SHIFT)
    n = b.sub(shifted, ROUNDING_SHIFT)
    r = b.fma(n, -_LN2_LOW, b.fma(n, -_LN2_HIGH, x))
    bits = b.integer("shl", b.bits(shifted), 13)
    return b.integer("ashr", bits, 13), r


def _clamped(b: Builder, x: Value, low: float, high: float) -> str:
    """x held in [low, high]; NaN stays NaN."""
    x = b.select(b.compare("ogt", x, high), high, x)
    return b.select(b.compare("olt", x, low), low, x)


def _power_of_two(b: Builder, n: str) -> str:
    """2^n for n in -1022 ... 1023."""
    return b.float_of(b.integer("shl", b.integer("add", n, 1023), 52))


def _expm1_reduced(b: Builder, r: str) -> str:
    """e^r - 1 for |r| <= ln(2)/2."""
    return b.fma(b.mul(r, r), b.polynomial_wide(r, _EXP), r)


def exp(b: Builder, x: Value, halvings: int = 0) -> str:
    """e^x / 2^halvings. The scaling by 2^n goes in two steps, so that results in the denormal range round once."""
    n, r = _reduced(b, _clamped(b, x, -760.0, 750.0))
    if halvings:
        n = b.integer("sub", n, halvings)
    half = b.integer("ashr", n, 1)
    rest = b.integer("sub", n, half)
    e = b.add(_expm1_reduced(b, r), 1.0)
    return b.mul(b.mul(e, _power_of_two(b, half)), _power_of_two(b, rest))


def expm1(b: Builder, x: Value) -> str:
    """e^x - 1 = 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)): n - 1 keeps the scale finite up to the overflow."""
    n, r = _reduced(b, _clamped(b, x, -50.0, 709.9))
    scale = _power_of_two(b, b.integer("sub", n, 1))
    half = b.fma(scale, _expm1_reduced(b, r), b.sub(scale, 0.5))
    result = b.add(half, half)
    return b.select(b.compare("olt", b.abs(x), _MAX_LINEAR_ARGUMENT), x, result)


def _log_of_positive(b: Builder, x: Value, correction: Value = 0.0) -> str:
    """ln(x) + correction for x > 0 and finite."""
    denormal = b.compare("olt", x, 2.0**-1022)
    scaled = b.select(denormal, b.mul(x, 2.0**54), x)
    bits = b.bits(scaled)
    exponent = b.integer("ashr", b.integer("sub", bits, _SQRT_HALF_BITS), 52)
    m = b.float_of(b.integer("sub", bits, b.integer("shl", exponent, 52)))
    k = b.sub(b.float_of(b.integer("add", exponent, _ROUND_BITS)), ROUNDING_SHIFT)
    k = b.add(k, b.select(denormal, -54.0, 0.0))
    f = b.sub(m, 1.0)
    s = b.div(f, b.add(f, 2.0))
    z = b.mul(s, s)
    series = b.mul(z, b.polynomial(z, _LOG))
    square = b.mul(b.mul(f, f), 0.5)
    low = b.fma(k, _LN2_LOW, correction)
    small = b.sub(b.sub(square, b.fma(s, b.add(square, series), low)), f)
    return b.sub(b.mul(k, _LN2_HIGH), small)


def log(b: Builder, x: Value) -> str:
    """ln(x); -inf at zero, NaN below."""
    result = _log_of_positive(b, x)
    result = b.select(b.compare("oeq", x, math.inf), math.inf, result)
    result = b.select(b.compare("oeq", x, 0.0), -math.inf, result)
    return b.select(b.compare("ult", x, 0.0), math.nan, result)


def log1p(b: Builder, x: Value) -> str:
    """ln(1 + x): ln of the rounded sum, plus what the rounding lost, over the sum."""
    total = b.add(x, 1.0)
    large = b.compare("ogt", x, 1.0)
    lost = b.select(large, b.sub(1.0, b.sub(total, x)), b.sub(x, b.sub(total, 1.0)))
    result = _log_of_positive(b, total, b.div(lost, total))
    result = b.select(b.compare("oeq", x, math.inf), math.inf, result)
    result = b.select(b.compare("oeq", x, -1.0), -math.inf, result)
    result = b.select(b.compare("ult", x, -1.0), math.nan, result)
    return b.select(b.compare("olt", b.abs(x), _MAX_LINEAR_ARGUMENT), x, result)


def sinh(b: Builder, x: Value) -> str:
    """(e^a - e^-a) / 2 of a = |x|, through expm1 below 1."""
    a = b.abs(x)
    near = b.compare("olt", a, 1.0)
    t = expm1(b, b.select(near, a, 0.0))
    small = b.mul(b.add(t, b.div(t, b.add(t, 1.0))), 0.5)
    half = exp(b, a, halvings=1)
    large = b.sub(half, b.div(0.25, half))
    return b.copysign(b.select(near, small, large), x)


def cosh(b: Builder, x: Value) -> str:
    """h + 1 / (4 h), h = e^|x| / 2."""
    half = exp(b, b.abs(x), halvings=1)
    return b.add(half, b.div(0.25, half))


def tanh(b: Builder, x: Value) -> str:
    """With a = |x|: -t / (t + 2), t = e^-2a - 1, below 1; 1 - 2 / (t + 2), t = e^2a - 1, above."""
    a = b.abs(x)
    near = b.compare("olt", a, 1.0)
    twice = b.add(a, a)
    t = expm1(b, b.select(near, b.neg(twice), twice))
    quotient = b.div(b.select(near, b.neg(t), 2.0), b.add(t, 2.0))
    return b.copysign(b.select(near, quotient, b.sub(1.0, quotient)), x)
