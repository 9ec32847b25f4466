# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""The dtypes of tensors: ranges, exact rounding, and numbers as case files spell them.

Elements are Python objects: bool, int, float (every value of f16, bf16, f32 and f64 is one), complex and str.
"""

import decimal
import fractions
import math

Decimal = decimal.Decimal
Fraction = fractions.Fraction

# Bits of the significand with the leading one; exponents of the smallest normal and of the largest number.
FLOAT_FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
# Signed, bits.
INT_FORMATS = {
    "u8": (False, 8), "i8": (True, 8), "u16": (False, 16), "i16": (True, 16), "i32": (True, 32), "u32": (False, 32),
    "i64": (True, 64), "u64": (False, 64),
}
# In the order of DType, which is also that of error texts.
DTYPES = ["bool", "u8", "i8", "u16", "i16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64", "string"]
FLOATS = list(FLOAT_FORMATS)
INTS = [name for name in DTYPES if name in INT_FORMATS]
SIGNED_INTS = [name for name in INTS if INT_FORMATS[name][0]]
REALS = INTS + FLOATS
NUMBERS = REALS + ["c64"]


def int_range(dtype):
    """(smallest, largest)"""
    signed, bits = INT_FORMATS[dtype]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def wrap(dtype, value):
    """An integer modulo 2^bits."""
    signed, bits = INT_FORMATS[dtype]
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _exponent(numerator, denominator):
    """floor(log2) of a positive number."""
    guess = numerator.bit_length() - denominator.bit_length()
    least = numerator >= denominator << guess if guess >= 0 else numerator << -guess >= denominator
    return guess if least else guess - 1


def _scaled(numerator, denominator, exponent, rounding):
    """A positive number divided by 2^exponent, rounded to an integer."""
    if exponent >= 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    if rounding is not round:
        return rounding(Fraction(numerator, denominator))
    quotient, rest = divmod(numerator, denominator)
    return quotient + (2 * rest > denominator or 2 * rest == denominator and quotient & 1)


def round_to(dtype, value, rounding=round):
    """An int, Fraction, Decimal or float rounded once to a floating-point dtype: to nearest, halves to even; or, with
    math.trunc as `rounding`, towards 0."""
    precision, min_exponent, max_exponent = FLOAT_FORMATS[dtype]
    if isinstance(value, float):
        if value == 0 or not math.isfinite(value):
            return value
        if dtype == "f64":
            return float(value)
        limit = 2.0 ** (max_exponent + 1)
        if abs(value) >= limit:
            return math.copysign(math.inf, value)
        # Every step is exact in f64 but the rounding to an integer.
        last_bit = max(math.frexp(value)[1] - 1, min_exponent) - (precision - 1)
        rounded = math.ldexp(rounding(math.ldexp(abs(value), -last_bit)), last_bit)
        return math.copysign(rounded if rounded < limit else math.inf, value)
    numerator, denominator = value.as_integer_ratio()
    if numerator == 0:
        return -0.0 if isinstance(value, Decimal) and value.is_signed() else 0.0
    sign = -1.0 if numerator < 0 else 1.0
    last_bit = max(_exponent(abs(numerator), denominator), min_exponent) - (precision - 1)
    significand = _scaled(abs(numerator), denominator, last_bit, rounding)
    if significand.bit_length() + last_bit > max_exponent + 1:
        return sign * math.inf
    return sign * math.ldexp(significand, last_bit)


def round_complex(value):
    """A complex number with its parts rounded to f32."""
    return complex(round_to("f32", value.real), round_to("f32", value.imag))


def convert(dtype, value):
    """A real number as an element of the dtype: floating-point dtypes round, integers wrap around."""
    if dtype == "bool":
        return bool(value)
    if dtype in INT_FORMATS:
        return wrap(dtype, int(value))
    if dtype == "c64":
        return round_complex(complex(value))
    return round_to(dtype, value)


def ulp_of(dtype, value):
    """The distance between the neighbours of a finite number."""
    precision, min_exponent, _ = FLOAT_FORMATS[dtype]
    exponent = min_exponent if value == 0 else max(math.frexp(value)[1] - 1, min_exponent)
    return math.ldexp(1.0, exponent - (precision - 1))


def limits(dtype):
    """Smallest subnormal, largest subnormal, smallest normal, largest number, distance from 1 to the next number."""
    precision, min_exponent, max_exponent = FLOAT_FORMATS[dtype]
    tiny = math.ldexp(1.0, min_exponent - precision + 1)
    normal = math.ldexp(1.0, min_exponent)
    largest = math.ldexp(2.0 - math.ldexp(1.0, 1 - precision), max_exponent)
    return tiny, normal - tiny, normal, largest, math.ldexp(1.0, 1 - precision)


def _spell_real(dtype, value):
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "-0" if math.copysign(1.0, value) < 0 else 0
    if value == int(value) and abs(value) < 2**53:
        return int(value)
    for digits in range(1, 18):  # the shortest that reads back as the same element
        short = float(f"{value:.{digits}g}")
        if round_to(dtype, short) == value:
            return short
    raise AssertionError(value)


def spell(dtype, value):
    """The JSON values, one or two, that stand for an element."""
    if dtype == "string":
        return [value]
    if dtype == "bool":
        return [int(value)]
    if dtype in FLOAT_FORMATS and math.isfinite(value) and round_to(dtype, value) != value:
        raise ValueError(f"{value!r} is no {dtype}")
    if dtype == "c64":
        return spell("f32", value.real) + spell("f32", value.imag)
    if dtype in INT_FORMATS:
        if not int_range(dtype)[0] <= value <= int_range(dtype)[1]:
            raise ValueError(f"{value} is no {dtype}")
        return [int(value) if abs(value) <= 2**53 else str(value)]
    return [_spell_real(dtype, value)]
