# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of tangent, hyperbolic functions and inverses, and of the element-wise ops of bits."""

import cmath
import math
import struct

import elementary_inverse
from case_suite import Suite, Tensor, scalar, vector
from elementwise_cases import add_binary_cases, add_unary_cases, mapped
from number_formats import FLOATS, INTS, int_range, round_complex, round_to, wrap

FLOAT_OR_COMPLEX = FLOATS + ["c64"]


def with_complex(name):
    """A function of elementary_inverse.py, and that of complex numbers to f64."""

    def apply(dtype, x):
        return round_complex(getattr(cmath, name)(x)) if dtype == "c64" else getattr(elementary_inverse, name)(x)

    return apply


# As the tables of elementwise.py.
UNARY = [
    ("Tan", FLOAT_OR_COMPLEX, with_complex("tan"), 4, (-10, 10)),
    ("Asin", FLOAT_OR_COMPLEX, with_complex("asin"), 2, (-1, 1)),
    ("Acos", FLOAT_OR_COMPLEX, with_complex("acos"), 2, (-1, 1)),
    ("Atan", FLOAT_OR_COMPLEX, with_complex("atan"), 2, (-9, 9)),
    ("Sinh", FLOAT_OR_COMPLEX, with_complex("sinh"), 2, (-9, 9)),
    ("Cosh", FLOAT_OR_COMPLEX, with_complex("cosh"), 2, (-9, 9)),
    ("Asinh", FLOAT_OR_COMPLEX, with_complex("asinh"), 2, (-9, 9)),
    ("Acosh", FLOAT_OR_COMPLEX, with_complex("acosh"), 2, (1, 9)),
    ("Atanh", FLOAT_OR_COMPLEX, with_complex("atanh"), 2, (-1, 1)),
]


def shift_left(dtype, x, y):
    bits = INT_BITS[dtype]
    return x << y if 0 <= y < bits else 0


def shift_right(dtype, x, y):
    bits = INT_BITS[dtype]
    return x >> (y if 0 <= y < bits else bits)


INT_BITS = {dtype: (int_range(dtype)[1] - int_range(dtype)[0]).bit_length() for dtype in INTS}
BITWISE = [
    ("BitwiseAnd", INTS, lambda _, x, y: x & y, 0),
    ("BitwiseOr", INTS, lambda _, x, y: x | y, 0),
    ("BitwiseXor", INTS, lambda _, x, y: x ^ y, 0),
    ("LeftShift", INTS, shift_left, 0),
    ("RightShift", INTS, shift_right, 0),
]


def hard_arguments(suite):
    """Where the functions are hard: large and tiny arguments, and those next to where the method or the kind of the
    result changes."""
    both_signs = {
        "Tan": [1e-20, 1e-4, 0.7853982, 1.5707964, 3.1415927, 100.0, 1000.5, 12345.678, 1e5, 1e6, 1e10, 1e20, 3e38],
        "Asin": [1e-20, 1e-4, 0.25, 0.49999997, 0.5000001, 0.9, 0.9999999, 1.0, 1.0000001, 2.0],
        "Acos": [1e-20, 1e-4, 0.25, 0.49999997, 0.5000001, 0.9, 0.9999999, 1.0, 1.0000001, 2.0],
        "Atan": [1e-20, 1e-4, 0.41421357, 0.9999999, 1.0000001, 2.4142137, 100.0, 1e7, 1e20, 3e38],
        "Sinh": [1e-20, 1e-4, 0.9999999, 1.0, 2.0, 9.01, 88.72, 88.73, 89.41, 89.42, 100.0],
        "Cosh": [1e-20, 1e-4, 0.9999999, 1.0, 2.0, 9.01, 88.72, 88.73, 89.41, 89.42, 100.0],
        "Asinh": [1e-20, 1e-4, 0.1, 0.5, 1.0, 100.0, 4095.0, 6.7e7, 6.8e7, 1e20, 3e38],
        "Acosh": [1.0, 1.0000001, 1.00001, 1.5, 100.0, 4095.0, 6.7e7, 6.8e7, 1e20, 3e38, 0.9999999],
        "Atanh": [1e-20, 1e-4, 0.1, 0.33333334, 0.5, 0.9, 0.9999999, 1.0, 1.0000001, 2.0],
    }
    more = {"Tan": [1e22, 1e300], "Sinh": [709.7, 710.4, 710.5], "Cosh": [709.7, 710.4, 710.5],
            "Asinh": [1e-160, 1e160, 1e308], "Acosh": [1e160, 1e308, 1 + 2.0**-52]}
    for op, _, function, ulp, _ in UNARY:
        for dtype in ["f32", "f64"]:
            values = both_signs[op] + (more.get(op, []) if dtype == "f64" else [])
            x = vector(dtype, [round_to(dtype, sign * value) for value in values for sign in (1, -1)])
            suite.case(f"{op}_{dtype}_hard", f"tf.{op}", [x], mapped(function, dtype, x), ulp=ulp, tags=["special"])


def quadrants(suite):
    for dtype in ("f32", "f64"):
        values = [round_to(dtype, s * v) for v in (0.001, 0.4, 1.0, 3.0, 1e4, 1e30) for s in (1, -1)]
        pairs = [(a, b) for a in values for b in values]
        y, x = vector(dtype, [a for a, _ in pairs]), vector(dtype, [b for _, b in pairs])
        suite.case(f"Atan2_{dtype}_quadrants", "tf.Atan2", [y, x], mapped(atan2, dtype, y, x), ulp=2)


def atan2(_, y, x):
    return elementary_inverse.atan2(y, x)


def next_after(dtype, x, y):
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if dtype == "f64" or x == y:
        return math.nextafter(x, y)
    # As the integer that its bits make, a positive number is one above the one before.
    if x == 0:
        return math.copysign(2.0**-149, y)
    bits = struct.unpack("<i", struct.pack("<f", x))[0]
    away_from_zero = (y > x) == (x > 0)
    return struct.unpack("<f", struct.pack("<i", bits + (1 if away_from_zero else -1)))[0]


def next_after_steps(suite):
    """Where the step is not like the others: beside zero, powers of two, subnormal numbers, infinity."""
    for dtype, tiny, least, largest in (("f32", 2.0**-149, 2.0**-126, (2 - 2.0**-23) * 2.0**127),
                                        ("f64", 2.0**-1074, 2.0**-1022, (2 - 2.0**-52) * 2.0**1023)):
        values = [0.0, -0.0, tiny, least, 1.0, 2.0, 3.0, largest, math.inf, math.nan]
        values += [-value for value in values[2:-1]]
        pairs = [(a, b) for a in values for b in values]
        x1, x2 = vector(dtype, [a for a, _ in pairs]), vector(dtype, [b for _, b in pairs])
        suite.case(f"NextAfter_{dtype}_steps", "tf.NextAfter", [x1, x2], mapped(next_after, dtype, x1, x2),
                   tags=["special"])


def shift_cases(suite):
    """By every number of places, and by more than there are."""
    for dtype in INTS:
        low, high = int_range(dtype)
        bits = INT_BITS[dtype]
        places = list(range(bits + 2)) + [high] + ([-1, low] if low < 0 else [])
        y = Tensor(dtype, (len(places), 1), places)
        x = vector(dtype, [high, low, 1, wrap(dtype, -2), high // 3])
        for op, _, function, _ in BITWISE[3:]:
            suite.case(f"{op}_{dtype}_places", f"tf.{op}", [x, y], mapped(function, dtype, x, y), tags=["extremes"])
    suite.case("LeftShift_by_scalar", "tf.LeftShift", [vector("i32", [1, -3]), scalar("i32", 4)],
               vector("i32", [16, -48]), tags=["broadcast"])


def suite():
    result = Suite()
    for row in UNARY:
        add_unary_cases(result, *row)
    hard_arguments(result)
    add_binary_cases(result, "Atan2", FLOATS, atan2, 2)
    quadrants(result)
    add_binary_cases(result, "NextAfter", ["f32", "f64"], next_after, 0)
    next_after_steps(result)
    for row in BITWISE:
        add_binary_cases(result, *row)
    add_unary_cases(result, "Invert", INTS, lambda _, x: ~x, 0, (-99, 99))
    shift_cases(result)
    return result
