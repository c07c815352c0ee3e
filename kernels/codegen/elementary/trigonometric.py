"""sin, cos, tan and their inverses on the lanes of a vector.

Arguments up to 1e13 are reduced by pi/2 in three parts (Cody and Waite), each product's rounding error recovered. A
lane beyond takes the C library's function in a branch that is never entered otherwise. The polynomials are those of
FreeBSD's msun (Sun Microsystems 1993): k_sin.c, k_cos.c, e_asin.c, s_atan.c. Special values follow C's annex F.
"""

import math
from collections.abc import Callable

from myoquat.kernels.codegen.elementary.exponential import ROUNDING_SHIFT
from myoquat.kernels.codegen.ir import Builder, Value

__all__ = ["acos", "asin", "atan", "atan2", "cos", "per_lane", "sin", "sincos", "tan"]

_MAX_REDUCED_ARGUMENT = 1e13  # beyond it the quadrant, from x (2 / pi) in one rounding, may leave |r| well above pi/4
_MAX_LINEAR_ARGUMENT = 2.0**-27  # below it sin(x) = tan(x) = x to half an ulp
_PI_HALF = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_EXPONENT = 0x7FF0000000000000
_PI_LOW = 1.2246467991473532e-16
_SIN = [
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
]
_COS = [
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
]
_ASIN_P = [
    1.66666666666666657415e-01,
    -3.25565818622400915405e-01,
    2.01212532134862925881e-01,
    -4.00555345006794114027e-02,
    7.91534994289814532176e-04,
    3.47933107596021167570e-05,
]
_ASIN_Q = [
    1.0,
    -2.40339491173441421878e00,
    2.02094576023350569471e00,
    -6.88283971605453293030e-01,
    7.70381505559019352791e-02,
]
_ATAN = [
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
]


def per_lane(b: Builder, name: str, *arguments: str) -> str:
    """The C library's function `name`, lane after lane."""
    b.module.declare("double", name, ["double"] * len(arguments))
    result = "poison"
    for index in range(b.lanes):
        scalars = ", ".join(f"double {b.lane(a, index)}" for a in arguments)
        result = b.with_lane(result, b.let(f"call double @{name}({scalars})"), index)
    return result


def _far_lanes(b: Builder, x: str, results: list[str], names: list[str]) -> list[str]:
    """`results`, with the C library's values in lanes where |x| > 1e13."""
    far = b.compare("ogt", b.abs(x), _MAX_REDUCED_ARGUMENT)
    before, rare, end = b.block, b.label("far"), b.label("near")
    b.fork(b.any(far), rare, end)
    b.begin(rare)
    replaced = [b.select(far, per_lane(b, name, x), result) for name, result in zip(names, results, strict=True)]
    b.jump(end)
    b.begin(end)
    return [
        b.let(f"phi {b.T} [{old}, %{before}], [{new}, %{rare}]") for old, new in zip(results, replaced, strict=True)
    ]


def _reduced(b: Builder, x: str) -> tuple[str, str, str]:
    """(quadrant bits, r, low): x = quadrant pi/2 + r + low, |r| <= pi/4 and a little."""
    first, second, third = _PI_HALF
    shifted = b.fma(x, 2.0 / math.pi, ROUNDING_SHIFT)
    n = b.sub(shifted, ROUNDING_SHIFT)
    exact = b.residual(x, n, first)  # a multiple of 2^-52 below 1 in magnitude: no rounding
    w = b.mul(n, second)
    r = b.sub(exact, w)
    rounding = b.sub(b.sub(exact, r), w)
    low = b.sub(rounding, b.fma(n, third, b.product_error(n, second, w)))
    return b.bits(shifted), r, low


def _sin_kernel(b: Builder, r: str, low: str, z: str) -> str:
    return b.add(r, b.fma(b.mul(r, z), b.polynomial(z, _SIN), low))


def _cos_kernel(b: Builder, r: str, low: str, z: str) -> str:
    half = b.mul(z, 0.5)
    head = b.sub(1.0, half)
    lost = b.sub(b.sub(1.0, head), half)
    tail = b.fma(b.mul(z, z), b.polynomial(z, _COS), b.neg(b.mul(r, low)))
    return b.add(head, b.add(lost, tail))


def _quadrants(b: Builder, x: str) -> tuple[str, str]:
    """sin(x) and cos(x) for |x| <= 1e13."""
    quadrant, r, low = _reduced(b, x)
    z = b.mul(r, r)
    s, c = _sin_kernel(b, r, low, z), _cos_kernel(b, r, low, z)
    odd = b.integer_compare("ne", b.integer("and", quadrant, 1), 0)
    sine, cosine = b.select(odd, c, s), b.select(odd, s, c)
    sine_sign = b.integer("shl", b.integer("and", quadrant, 2), 62)
    cosine_sign = b.integer("shl", b.integer("and", b.integer("add", quadrant, 1), 2), 62)
    sine = b.float_of(b.integer("xor", b.bits(sine), sine_sign))
    cosine = b.float_of(b.integer("xor", b.bits(cosine), cosine_sign))
    return b.select(b.compare("olt", b.abs(x), _MAX_LINEAR_ARGUMENT), x, sine), cosine


def sincos(b: Builder, x: str) -> tuple[str, str]:
    """(sin x, cos x), each with the bits of `sin` and `cos`."""
    sine, cosine = _far_lanes(b, x, list(_quadrants(b, x)), ["sin", "cos"])
    return sine, cosine


def sin(b: Builder, x: str) -> str:
    """sin(x)."""
    return _far_lanes(b, x, [_quadrants(b, x)[0]], ["sin"])[0]


def cos(b: Builder, x: str) -> str:
    """cos(x)."""
    return _far_lanes(b, x, [_quadrants(b, x)[1]], ["cos"])[0]


def tan(b: Builder, x: str) -> str:
    """sin(x) / cos(x)."""
    sine, cosine = _quadrants(b, x)
    return _far_lanes(b, x, [b.div(sine, cosine)], ["tan"])[0]


# ---- inverses ------------------------------------------------------------------------------------------------


def _asin_parts(b: Builder, x: str) -> tuple[str, str, str, str]:
    """(wide, s, tail, R): wide = |x| > 1/2; there asin(sqrt(z)) = s + tail, z = (1 - |x|)/2; else z = x^2, x + x R."""
    a = b.abs(x)
    wide = b.compare("ogt", a, 0.5)
    z = b.select(wide, b.mul(b.sub(1.0, a), 0.5), b.mul(x, x))
    ratio = b.div(b.mul(z, b.polynomial(z, _ASIN_P)), b.polynomial(z, _ASIN_Q))
    s = b.sqrt(z)
    correction = b.div(b.residual(z, s, s), b.add(s, s))
    correction = b.select(b.compare("oeq", z, 0.0), 0.0, correction)
    return wide, s, b.fma(ratio, s, correction), ratio


def _minus_twice(b: Builder, high: float, low: float, s: str, tail: str) -> str:
    """(high + low) - 2 (s + tail), for high >= 2 s."""
    double_s = b.add(s, s)
    head = b.sub(high, double_s)
    lost = b.sub(b.sub(high, head), double_s)
    return b.add(head, b.sub(b.add(lost, low), b.add(tail, tail)))


def asin(b: Builder, x: str) -> str:
    """asin(x); NaN beyond +-1."""
    wide, s, tail, ratio = _asin_parts(b, x)
    narrow = b.fma(x, ratio, x)
    result = b.select(wide, _minus_twice(b, _PI_HALF[0], _PI_HALF[1], s, tail), narrow)
    return b.copysign(result, x)


def acos(b: Builder, x: str) -> str:
    """acos(x); NaN beyond +-1."""
    wide, s, tail, ratio = _asin_parts(b, x)
    narrow = b.sub(_PI_HALF[0], b.sub(x, b.sub(_PI_HALF[1], b.mul(x, ratio))))
    near_one = b.add(s, tail)
    near_one = b.add(near_one, near_one)
    near_minus_one = _minus_twice(b, math.pi, _PI_LOW, s, tail)
    return b.select(wide, b.select(b.compare("ogt", x, 0.0), near_one, near_minus_one), narrow)


def _atan_of_ratio(b: Builder, y: Value, x: Value) -> tuple[str, str, str]:
    """(base, q, small) of the angle base + q - small in 0 ... pi/2 of the point (|x|, |y|), base in two parts.

    base is 0, pi/4 or pi/2 to double precision; its low part is inside `small`.
    """
    ay, ax = b.abs(y), b.abs(x)
    steep = b.compare("ogt", ay, ax)
    large, small = b.select(steep, ay, ax), b.select(steep, ax, ay)
    large, small = _tame(b, large, small)
    folded = b.compare("ogt", small, b.mul(large, math.sqrt(2.0) - 1.0))
    numerator, numerator_lost = _two_sum(b, b.select(folded, b.neg(large), 0.0), small)
    denominator, denominator_lost = _two_sum(b, large, b.select(folded, small, 0.0))
    inverse = b.div(1.0, denominator)
    q = b.mul(numerator, inverse)
    residual = b.residual(numerator, q, denominator)
    residual = b.add(residual, b.fma(b.neg(q), denominator_lost, numerator_lost))
    z = b.mul(q, q)
    series = b.mul(b.mul(q, z), b.polynomial(z, _ATAN))
    small_part = b.sub(series, b.mul(residual, inverse))
    eighth, eighth_low = _PI_HALF[0] / 2, _PI_HALF[1] / 2
    base = b.select(steep, b.select(folded, eighth, _PI_HALF[0]), b.select(folded, eighth, 0.0))
    low = b.select(steep, b.select(folded, eighth_low, _PI_HALF[1]), b.select(folded, eighth_low, 0.0))
    q = b.select(steep, b.neg(q), q)
    small_part = b.select(steep, b.neg(small_part), small_part)
    return base, q, b.sub(small_part, low)


def _two_sum(b: Builder, large: str, small: str) -> tuple[str, str]:
    """(large + small rounded, what the rounding lost), for |large| >= |small| or large = 0."""
    total = b.add(large, small)
    return total, b.sub(small, b.sub(total, large))


def _tame(b: Builder, large: str, small: str) -> tuple[str, str]:
    """The pair scaled by a power of two to large in 1 ... 2, so that no remainder underflows; its quotient is kept.

    Infinities become 1 and 0 or 1, a pair of zeros 1 and 0; NaN in either survives.
    """
    infinite = b.compare("oeq", large, math.inf)
    both = b.compare("oeq", small, math.inf)
    exponent = b.integer("and", b.bits(_held_below(b, large, 2.0**1020)), _EXPONENT)
    scale = b.float_of(b.integer("sub", 2046 << 52, exponent))
    limit = b.select(both, 1.0, b.sub(small, small))  # 0, or NaN
    large_out = b.select(infinite, 1.0, b.mul(large, scale))
    small_out = b.select(infinite, limit, b.mul(small, scale))
    return b.select(b.compare("oeq", large_out, 0.0), 1.0, large_out), small_out


def _held_below(b: Builder, x: str, limit: float) -> str:
    return b.select(b.compare("ogt", x, limit), limit, x)


def atan(b: Builder, x: str) -> str:
    """atan(x)."""
    base, q, small = _atan_of_ratio(b, x, 1.0)
    return b.copysign(_angle(b, base, q, small), x)


def atan2(b: Builder, y: str, x: str) -> str:
    """Angle of the point (x, y) in -pi ... pi, with C's answers for zeros and infinities."""
    base, q, small = _atan_of_ratio(b, y, x)
    left = b.integer_compare("slt", b.bits(x), 0)
    base = b.select(left, b.sub(math.pi, base), base)
    q = b.select(left, b.neg(q), q)
    small = b.select(left, b.sub(b.neg(small), _PI_LOW), small)
    return b.copysign(_angle(b, base, q, small), y)


def _angle(b: Builder, base: str, q: str, small: str) -> str:
    """base + q - small, rounded nearly once: |q| <= tan(pi/8) beside a base that is 0 or at least pi/4."""
    head, lost = _two_sum(b, base, q)
    return b.add(head, b.sub(lost, small))


FUNCTIONS: dict[str, Callable[..., str]] = {
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "atan2": atan2,
}
