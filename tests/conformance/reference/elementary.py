# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Elementary functions of floats, to far more digits than any dtype has, so that rounding the result is exact.

Each takes a float and gives a Decimal, or a float where IEEE 754 and C say so (NaN, infinities, zeros).
"""

import decimal
import functools
import math

Decimal = decimal.Decimal
DIGITS = 60


def in_precision(digits):
    context = decimal.Context(prec=digits, Emin=-999999, Emax=999999)
    return decimal.localcontext(context)


@functools.lru_cache(None)
def pi(digits):
    """By Machin: pi = 16 atan(1/5) - 4 atan(1/239)."""
    with in_precision(digits + 10):

        def atan_of_inverse(n):
            power = total = Decimal(1) / n
            k = 1
            while abs(power) > Decimal(10) ** -(digits + 8):
                power /= -n * n
                k += 2
                total += power / k
            return total

        return 16 * atan_of_inverse(5) - 4 * atan_of_inverse(239)


def digits_for(x):
    """Enough that nothing is lost where the result is about as small, or its argument as large, as x is."""
    return DIGITS + abs(Decimal(x).adjusted())


def bounded_exp(x):
    """Where e to the power of a Decimal is beyond every dtype, another such number."""
    return max(min(x, Decimal(3000)), Decimal(-3000)).exp()


def exp(x):
    if not math.isfinite(x):
        return x if x != -math.inf else 0.0
    with in_precision(DIGITS):
        return bounded_exp(Decimal(x))


def expm1(x):
    if x == 0 or not math.isfinite(x):
        return x if x != -math.inf else -1.0
    with in_precision(digits_for(x)):
        return bounded_exp(Decimal(x)) - 1


def log(x):
    if x == 0:
        return -math.inf
    if x < 0 or not math.isfinite(x):
        return x if x == math.inf else math.nan
    with in_precision(DIGITS):
        return Decimal(x).ln()


def log1p(x):
    if x == -1:
        return -math.inf
    if x < -1 or x == 0 or not math.isfinite(x):
        return x if x == 0 or x == math.inf else math.nan
    with in_precision(digits_for(x)):
        return (1 + Decimal(x)).ln()


def _sin_cos_series(x, digits):
    """(sin, cos) of a Decimal of at most an eighth of a turn."""
    sin, cos, term, n = Decimal(0), Decimal(0), Decimal(1), 0
    while term != 0 and term.adjusted() > -digits:
        cos, sin = cos + term, sin + term * x / (n + 1)
        term = -term * x * x / ((n + 1) * (n + 2))
        n += 2
    return sin, cos


def _turn(sin, cos, quarters):
    """(sin, cos) of an angle that is larger by some quarters of a turn."""
    return [(sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin)][quarters % 4]


def sin_cos(x):
    digits = digits_for(x) + 40
    with in_precision(digits):
        half_pi = pi(digits) / 2
        quarters = (Decimal(x) / half_pi).to_integral_value()
        sin, cos = _sin_cos_series(Decimal(x) - quarters * half_pi, digits + 20)
        return _turn(sin, cos, int(quarters))


def sin(x):
    if x == 0 or not math.isfinite(x):
        return x if x == 0 else math.nan
    return sin_cos(x)[0]


def cos(x):
    if x == 0 or not math.isfinite(x):
        return 1.0 if x == 0 else math.nan
    return sin_cos(x)[1]


def tanh(x):
    if x == 0 or not math.isfinite(x):
        return math.copysign(1.0, x) if math.isinf(x) else x
    with in_precision(digits_for(x)):
        if abs(x) > 100:  # nearer to 1 than any dtype tells apart
            return Decimal(math.copysign(1, x))
        growth = (2 * Decimal(x)).exp()
        return (growth - 1) / (growth + 1)


def sigmoid(x):
    if not math.isfinite(x):
        return x if math.isnan(x) else float(x > 0)
    with in_precision(DIGITS):
        return 1 / (1 + bounded_exp(-Decimal(x)))


def erf(x):
    if x == 0 or not math.isfinite(x):
        return math.copysign(1.0, x) if math.isinf(x) else x
    if abs(x) > 8:
        return Decimal(math.copysign(1, x))
    with in_precision(digits_for(x) + 60):
        total, power, n = Decimal(0), Decimal(x), 0
        while abs(power) > abs(Decimal(x)) * Decimal(10) ** -(DIGITS + 30):
            total += power / (2 * n + 1)
            n += 1
            power *= -Decimal(x) * Decimal(x) / n
        return 2 * total / pi(DIGITS + 60).sqrt()


def sqrt(x):
    if x == 0 or not x > 0 or x == math.inf:
        return x if x == 0 or x == math.inf else math.nan
    with in_precision(DIGITS):
        return Decimal(x).sqrt()


def rsqrt(x):
    if x == 0 or not x > 0 or x == math.inf:
        return math.copysign(math.inf, x) if x == 0 else 0.0 if x == math.inf else math.nan
    with in_precision(DIGITS):
        return 1 / Decimal(x).sqrt()


def power(x, y):
    """As IEEE 754's pow has it."""
    if y == 0 or x == 1:
        return 1.0
    if x == 0 or not math.isfinite(x) or not math.isfinite(y):
        try:
            return math.pow(x, y)
        except ValueError:  # 0 to a negative power
            return math.copysign(math.inf, x) if y % 2 == 1 else math.inf
    if x < 0 and y != int(y):
        return math.nan
    with in_precision(DIGITS + 20):
        magnitude = bounded_exp(Decimal(y) * abs(Decimal(x)).ln())
        return -magnitude if x < 0 and y % 2 == 1 else magnitude


def sin_cos_of_turns(turns):
    """(sin, cos) of a float that is a part of a full turn."""
    with in_precision(DIGITS + 40):
        quarters = (4 * Decimal(turns)).to_integral_value()
        angle = (4 * Decimal(turns) - quarters) * pi(DIGITS + 40) / 2
        sin_rest, cos_rest = _sin_cos_series(angle, DIGITS + 60)
        return _turn(sin_rest, cos_rest, int(quarters))
