# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Tangent, hyperbolic functions and inverses, like elementary.py."""

import math

from elementary import DIGITS, Decimal, bounded_exp, digits_for, in_precision, pi, sin_cos


def tan(x):
    if x == 0 or not math.isfinite(x):
        return x if x == 0 else math.nan
    sin, cos = sin_cos(x)
    with in_precision(digits_for(x)):
        return sin / cos


def sinh(x):
    if x == 0 or not math.isfinite(x):
        return x
    with in_precision(2 * digits_for(x)):
        return (bounded_exp(Decimal(x)) - bounded_exp(-Decimal(x))) / 2


def cosh(x):
    if not math.isfinite(x):
        return abs(x)
    with in_precision(DIGITS):
        return (bounded_exp(Decimal(x)) + bounded_exp(-Decimal(x))) / 2


def arctangent(x, digits):
    """Of a Decimal, with as many digits as the precision of the context has."""
    if abs(x) > 1:
        return (pi(digits) / 2).copy_sign(x) - arctangent(1 / x, digits)
    halvings = 0
    while abs(x) > Decimal("0.05"):  # atan(x) = 2 atan(x / (1 + sqrt(1 + x^2)))
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    total, power, n = Decimal(0), x, 1
    while power != 0 and power.adjusted() > x.adjusted() - digits:
        total += power / n
        power, n = -power * x * x, n + 2
    return total * 2**halvings


def atan(x):
    if x == 0 or math.isnan(x):
        return x
    digits = digits_for(x) if math.isfinite(x) else DIGITS
    with in_precision(digits + 20):
        return arctangent(Decimal(x), digits + 20) if math.isfinite(x) else (pi(digits) / 2).copy_sign(Decimal(x))


def asin(x):
    if x == 0 or not abs(x) <= 1:
        return x if x == 0 else math.nan
    digits = 2 * digits_for(x)
    with in_precision(digits):
        cosine = ((1 - Decimal(x)) * (1 + Decimal(x))).sqrt()
        return (pi(digits) / 2).copy_sign(Decimal(x)) if cosine == 0 else arctangent(Decimal(x) / cosine, digits)


def acos(x):
    if not abs(x) < 1:
        return 0.0 if x == 1 else pi(DIGITS) if x == -1 else math.nan
    digits = 2 * DIGITS
    with in_precision(digits):
        return 2 * arctangent(((1 - Decimal(x)) / (1 + Decimal(x))).sqrt(), digits)


def asinh(x):
    if x == 0 or not math.isfinite(x):
        return x
    with in_precision(2 * digits_for(x)):
        a = abs(Decimal(x))
        return (a + (a * a + 1).sqrt()).ln().copy_sign(Decimal(x))


def acosh(x):
    if not x > 1 or x == math.inf:
        return 0.0 if x == 1 else x if x == math.inf else math.nan
    with in_precision(2 * digits_for(x)):
        a = Decimal(x)
        return (a + (a * a - 1).sqrt()).ln()


def atanh(x):
    if x == 0 or not abs(x) < 1:
        return x if x == 0 else math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    with in_precision(2 * digits_for(x)):
        return ((1 + Decimal(x)) / (1 - Decimal(x))).ln() / 2


def atan2(y, x):
    if math.isnan(x) or math.isnan(y):
        return math.nan
    # Multiples of pi/4 where a zero or an infinity decides.
    left = math.copysign(1, x) < 0
    if y == 0 or x == math.inf and not math.isinf(y):
        eighths = 4 if left else 0
    elif x == -math.inf:
        eighths = 3 if math.isinf(y) else 4
    elif math.isinf(y):
        eighths = 1 if x == math.inf else 2
    elif x == 0:
        eighths = 2
    else:
        digits = DIGITS + digits_for(y) + digits_for(x)
        with in_precision(digits):
            angle = arctangent(Decimal(y) / Decimal(x), digits)
            return angle + pi(digits).copy_sign(Decimal(y)) if left else angle
    return (pi(DIGITS) * eighths / 4).copy_sign(Decimal(y)) if eighths else math.copysign(0.0, y)
