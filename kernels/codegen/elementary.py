"""Elementary functions of a kernel: own vector code, and the C library lane by lane for powers, arcsine, arccosine and
huge angles.

Every function becomes one internal function of the module, written at its first use. A lane's bits therefore depend
neither on the caller nor on the number of lanes.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from myoquat.kernels.symbolic.operations import MARKS, OPERATIONS

from .ir import Builder, Value

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
_MAX_LINEAR_ARGUMENT = 2.0**-54  # below it f(x) = x to the last bit for expm1, log1p, sinh, tanh, asinh, sin, ...


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
    return _at_edges(b, x, 0.0, _log_of_positive(b, x))


def _at_edges(b: Builder, x: Value, pole: float, result: Value) -> str:
    """A logarithm with its values at infinity, at its pole and below."""
    result = b.select(b.compare("oeq", x, math.inf), math.inf, result)
    result = b.select(b.compare("oeq", x, pole), -math.inf, result)
    return b.select(b.compare("ult", x, pole), math.nan, result)


def _one_more(b: Builder, x: Value) -> tuple[str, str]:
    """(1 + x rounded, what the rounding lost)."""
    total = b.add(x, 1.0)
    large = b.compare("ogt", x, 1.0)
    return total, b.select(large, b.sub(1.0, b.sub(total, x)), b.sub(x, b.sub(total, 1.0)))


def log1p(b: Builder, x: Value) -> str:
    """ln(1 + x): ln of the rounded sum, plus what the rounding lost, over the sum."""
    total, lost = _one_more(b, x)
    result = _at_edges(b, x, -1.0, _log_of_positive(b, total, b.div(lost, total)))
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


def asinh(b: Builder, x: Value) -> str:
    """ln(1 + t), t = a + a^2 / (1 + sqrt(a^2 + 1)), of a = |x|; ln(a) + ln(2) where a^2 + 1 is a^2 in floats."""
    a = b.abs(x)
    far = b.compare("ogt", a, 2.0**28)
    near = b.select(far, 1.0, a)
    square = b.mul(near, near)
    t = b.add(near, b.div(square, b.add(b.sqrt(b.add(square, 1.0)), 1.0)))
    total, lost = _one_more(b, t)
    correction = b.select(far, math.log(2.0), b.div(lost, total))
    result = _log_of_positive(b, b.select(far, a, total), correction)
    result = b.select(b.compare("oeq", a, math.inf), math.inf, result)
    result = b.select(b.compare("olt", a, _MAX_LINEAR_ARGUMENT), a, result)
    return b.copysign(result, x)


# ---- sin, cos, tan and their inverses on the lanes of a vector -------------------------------------------------
# Arguments up to 1e13 are reduced by pi/2 in three parts (Cody and Waite), each product's rounding error recovered. A
# lane beyond takes the C library's function in a branch that is never entered otherwise. The polynomials are those of
# FreeBSD's msun (Sun Microsystems 1993): k_sin.c, k_cos.c, s_atan.c. Special values follow C's annex F.


_MAX_REDUCED_ARGUMENT = 1e13  # beyond it the quadrant, from x (2 / pi) in one rounding, may leave |r| well above pi/4
_MAX_LINEAR_ANGLE = 2.0**-27  # below it sin(x) = tan(x) = x to half an ulp
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


def _reduced_angle(b: Builder, x: str) -> tuple[str, str, str]:
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
    quadrant, r, low = _reduced_angle(b, x)
    z = b.mul(r, r)
    s, c = _sin_kernel(b, r, low, z), _cos_kernel(b, r, low, z)
    odd = b.integer_compare("ne", b.integer("and", quadrant, 1), 0)
    sine, cosine = b.select(odd, c, s), b.select(odd, s, c)
    sine_sign = b.integer("shl", b.integer("and", quadrant, 2), 62)
    cosine_sign = b.integer("shl", b.integer("and", b.integer("add", quadrant, 1), 2), 62)
    sine = b.float_of(b.integer("xor", b.bits(sine), sine_sign))
    cosine = b.float_of(b.integer("xor", b.bits(cosine), cosine_sign))
    return b.select(b.compare("olt", b.abs(x), _MAX_LINEAR_ANGLE), x, sine), cosine


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


# ---- calls -------------------------------------------------------------------------------------------------


_VECTOR: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        sin, cos, sincos, tan, atan, atan2, exp, expm1, log, log1p, sinh, cosh, tanh, asinh
    )
}  # fmt: skip
ARITY: dict[str, int] = {row.name: row.arity for row in OPERATIONS.values() if not row.code and row.name not in MARKS}

PACKABLE = frozenset(_VECTOR)  # those that compute all lanes at the price of one


def call(b: Builder, name: str, *arguments: str) -> str:
    """The elementary function `name` (a key of ARITY) of float lanes."""
    return _called(b, name, b, arguments)[0]


def call_sincos(b: Builder, x: str) -> tuple[str, str]:
    """sin and cos of one argument at the price of little more than one; the same bits as the two apart."""
    sine, cosine = _called(b, "sincos", b, [x])
    return sine, cosine


def call_packed(b: Builder, name: str, rows: list[list[str]]) -> list[list[str]]:
    """A function in PACKABLE of several argument lists of a builder with one lane, up to the module's width: one call
    on a vector. The results of each list; two, sine and cosine, for "sincos". Lanes are independent, so the bits are
    those of single calls."""
    wide = b.module.builder(b.module.width)
    columns = [_vector(b, wide.T, [row[k] for row in rows]) for k in range(len(rows[0]))]
    parts = _called(b, name, wide, columns)
    return [[b.let(f"extractelement {wide.T} {part}, i64 {i}") for part in parts] for i in range(len(rows))]


def _vector(b: Builder, vector: str, scalars: list[str]) -> str:
    """The scalars in the first lanes; the others hold the first one, a valid argument."""
    value = b.let(f"insertelement {vector} poison, double {scalars[0]}, i64 0")
    zeros = f"<{b.module.width} x i32> zeroinitializer"
    value = b.let(f"shufflevector {vector} {value}, {vector} poison, {zeros}")
    for i, scalar in enumerate(scalars[1:], start=1):
        value = b.let(f"insertelement {vector} {value}, double {scalar}, i64 {i}")
    return value


def _called(b: Builder, name: str, wide: Builder, arguments: Sequence[str]) -> list[str]:
    """The results of a function on vectors of as many lanes as `wide` has, which is written at its first use."""
    T, module = wide.T, b.module
    start = "lanes" if wide.lanes == module.lanes else "packed" if wide.lanes == module.width else f"packed{wide.lanes}"
    pair = f"{{{T}, {T}}}"
    returned = pair if name == "sincos" else T

    def write() -> None:
        inside, parameters = module.builder(wide.lanes), [f"%x{k}" for k in range(len(arguments))]
        function = _VECTOR.get(name)
        found = function(inside, *parameters) if function else per_lane(inside, name, *parameters)
        if returned == pair:
            first = inside.let(f"insertvalue {pair} poison, {T} {found[0]}, 0")
            found = inside.let(f"insertvalue {pair} {first}, {T} {found[1]}, 1")
        inside.line(f"ret {returned} {found}")
        listed = ", ".join(f"{T} {x}" for x in parameters)
        module.define(f"{start}_{name}", returned, listed, inside, shared=True)

    module.once(f"{start}_{name}", write)
    value = b.let(f"call {returned} @{start}_{name}({', '.join(f'{T} {x}' for x in arguments)})")
    return [b.let(f"extractvalue {pair} {value}, {k}") for k in range(2)] if returned == pair else [value]
