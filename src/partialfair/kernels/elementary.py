"""exp and log for compiled kernels, from additions and multiplications alone.

The C library's change their last bit from one version to the next. These are within one unit in the last place.
"""

import math

import numpy as np

from partialfair.kernels.compiled import kernel

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts: the first has so few digits that products with an exponent are exact."""
SHIFT = 6755399441055744.0 + 1023.0
"""The low bits of ``x + SHIFT`` hold the nearest integer to x, with the bias of an exponent."""
SERIES = tuple(1.0 / math.factorial(k) for k in range(14))
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
"""Minimax coefficients of ``(log(1 + f) - f + f^2 / 2 - ...) / s`` by ``s^2``, as in fdlibm's log."""


@kernel
def exp_part(x):
    """``exp(x)`` without its power of two: ``exp(x - n ln 2)`` for the integer n nearest to ``x / ln 2``.

    The remainder, at most ln 2 / 2 in size, goes through the Taylor series, whose error is below 1e-16.
    """
    # adding SHIFT leaves no binary digits behind the point: the sum is rounded to the nearest integer, which stays
    n = (x * LOG2_E + SHIFT) - SHIFT
    # reduction in two parts (Cody and Waite): n LN2_HIGH is exact, LN2_LOW brings the digits that LN2_HIGH lacks
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    # Horner's rule for p = 1/2! + r / 3! + ... + r^11 / 13!, so that exp(r) - 1 = r + r^2 p
    p = SERIES[13]
    p = p * r + SERIES[12]
    p = p * r + SERIES[11]
    p = p * r + SERIES[10]
    p = p * r + SERIES[9]
    p = p * r + SERIES[8]
    p = p * r + SERIES[7]
    p = p * r + SERIES[6]
    p = p * r + SERIES[5]
    p = p * r + SERIES[4]
    p = p * r + SERIES[3]
    p = p * r + SERIES[2]
    return p * (r * r) + r


@kernel
def exp(x):
    """``exp(x)`` of a number up to 709; 0 below -708, where the result would be subnormal."""
    if x < -708.0:
        return 0.0
    # 2^n: the low bits of the sum are n + 1023, which moved to the exponent's field are the number 2^n
    bits = np.float64(x * LOG2_E + SHIFT).view(np.int64) << 52
    return (exp_part(x) + 1.0) * np.int64(bits).view(np.float64)


@kernel
def log(x):
    """Natural logarithm of a positive normal number."""
    bits = np.float64(x).view(np.int64)
    # x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2)
    shifted = bits + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    k = float((shifted >> 52) - 1023)
    f = np.int64((shifted & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).view(np.float64) - 1.0
    # log(1 + f) = 2 artanh(s) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)), R a polynomial: fdlibm's e_log.c
    s = f / (2.0 + f)
    z = s * s
    p = _LOG[6]
    p = p * z + _LOG[5]
    p = p * z + _LOG[4]
    p = p * z + _LOG[3]
    p = p * z + _LOG[2]
    p = p * z + _LOG[1]
    p = p * z + _LOG[0]
    # k ln 2 + log(1 + f), the small terms first: k LN2_HIGH is exact and comes last
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + p * z) + k * LN2_LOW)) - f)
