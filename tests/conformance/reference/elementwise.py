# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the element-wise ops."""

import cmath
import math

import elementary
from case_suite import Suite, Tensor, scalar, varied, vector
from elementwise_cases import add_binary_cases, add_unary_cases, mapped
from number_formats import (DTYPES, FLOATS, INTS, NUMBERS, REALS, SIGNED_INTS, Fraction, int_range, round_complex,
                            round_to, wrap)

FLOAT_OR_COMPLEX = FLOATS + ["c64"]
SIGNED_REALS = [dtype for dtype in REALS if dtype not in ("u8", "u16", "u32", "u64")]
SIGNED_NUMBERS = SIGNED_REALS + ["c64"]

# ---- What one element becomes: functions of the dtype and of elements, which give a number still to be rounded.


def exactly(x, y, ieee, exact):
    """The result of an operation of finite numbers, exactly; by IEEE 754 in f64 where it is no number, or zero."""
    result = ieee(x, y)
    return result if result == 0 or not math.isfinite(result) else exact(Fraction(x), Fraction(y))


def ieee_divide(x, y):
    if y != 0 or math.isnan(x):
        return x / y if y != 0 else math.nan
    return math.nan if x == 0 else math.copysign(math.inf, x) * math.copysign(1.0, y)


def complex_parts(function):
    """An operation that treats the parts of complex numbers alike."""

    def of_parts(*args):
        return complex(function(*[a.real for a in args]), function(*[a.imag for a in args]))

    return of_parts


def add(dtype, x, y):
    if dtype == "c64":
        return complex_parts(lambda a, b: round_to("f32", Fraction(a) + Fraction(b)))(x, y)
    return x + y if dtype in INTS else exactly(x, y, lambda a, b: a + b, lambda a, b: a + b)


def negate(dtype, x):
    return complex(-x.real, -x.imag) if dtype == "c64" else -x


def subtract(dtype, x, y):
    return x - y if dtype in INTS else add(dtype, x, negate(dtype, y))


def exact_complex(x):
    return Fraction(x.real), Fraction(x.imag)


def multiply(dtype, x, y):
    if dtype == "c64":
        (a, b), (c, d) = exact_complex(x), exact_complex(y)
        return complex(round_to("f32", a * c - b * d), round_to("f32", a * d + b * c))
    return x * y if dtype in INTS else exactly(x, y, lambda a, b: a * b, lambda a, b: a * b)


def divide(dtype, x, y):
    if dtype == "c64":
        (a, b), (c, d) = exact_complex(x), exact_complex(y)
        norm = c * c + d * d
        return complex(round_to("f32", (a * c + b * d) / norm), round_to("f32", (b * c - a * d) / norm))
    return exactly(x, y, ieee_divide, lambda a, b: a / b)


def squared_difference(dtype, x, y):
    if dtype in INTS:
        return (x - y) ** 2
    if dtype == "c64":
        (a, b), (c, d) = exact_complex(x), exact_complex(y)
        return complex(round_to("f32", (a - c) ** 2 + (b - d) ** 2), 0.0)
    return exactly(x, y, lambda a, b: (a - b) * (a - b), lambda a, b: (a - b) ** 2)


def floor_divide(dtype, x, y):
    if dtype in INTS:
        return x // y
    quotient = round_to(dtype, divide(dtype, x, y))
    return float(math.floor(quotient)) if math.isfinite(quotient) and quotient != 0 else quotient


def floor_mod(dtype, x, y):
    if dtype in INTS:
        return x % y
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return math.nan
    remainder = math.fmod(x, y)
    if remainder == 0 or (remainder < 0) == (y < 0):
        return remainder
    return y if math.isinf(y) else Fraction(remainder) + Fraction(y)


def divide_no_nan(dtype, x, y):
    return divide(dtype, x, y) if y != 0 else 0


def truncated_mod(dtype, x, y):
    if dtype in INTS:
        return abs(x) % abs(y) * (1 if x >= 0 else -1)
    return math.nan if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0 else math.fmod(x, y)


def maximum(_, x, y):
    return math.nan if x != x or y != y else max(x, y)


def minimum(_, x, y):
    return math.nan if x != x or y != y else min(x, y)


def power(dtype, x, y):
    if dtype in INTS:
        return pow(x, y, 1 << 64)
    if dtype == "c64":
        return round_complex(complex(x) ** complex(y))
    return elementary.power(x, y)


def sign(dtype, x):
    if dtype == "c64":
        return round_complex(x / abs(x)) if x != 0 else 0j
    return x if x != x else (x > 0) - (x < 0)


def rounded(dtype, x):
    if dtype == "c64":
        return complex(rounded("f32", x.real), rounded("f32", x.imag))
    if dtype in INTS or x == 0 or not math.isfinite(x):
        return x
    return math.copysign(float(round(x)), x)


def toward(function):
    def apply(_, x):
        return x if x == 0 or not math.isfinite(x) else math.copysign(float(function(x)), x)

    return apply


def with_complex(real, complex_function):
    """A function of elementary.py, and that of complex numbers to f64."""

    def apply(dtype, x):
        return round_complex(complex_function(x)) if dtype == "c64" else real(x)

    return apply


def complex_expm1(x):
    half = math.sin(x.imag / 2)
    return complex(math.expm1(x.real) * math.cos(x.imag) - 2 * half * half, math.exp(x.real) * math.sin(x.imag))


# Op, dtypes, function, tolerance in ULP as the definition states it (NU-1; f16 and bf16: 1), where most of its values
# are. None: a bool for each element.
UNARY = [
    ("Abs", SIGNED_REALS, lambda _, x: abs(x), 0, (-9, 9)),
    ("Neg", SIGNED_NUMBERS, negate, 0, (-9, 9)),
    ("Sign", SIGNED_NUMBERS, sign, 0, (-9, 9)),
    ("Square", NUMBERS, lambda dtype, x: multiply(dtype, x, x), 0, (-9, 9)),
    ("Sqrt", FLOAT_OR_COMPLEX, with_complex(elementary.sqrt, cmath.sqrt), 0, (0, 50)),
    ("Rsqrt", FLOAT_OR_COMPLEX, with_complex(elementary.rsqrt, lambda x: 1 / cmath.sqrt(x)), 1, (0.01, 50)),
    ("Reciprocal", FLOAT_OR_COMPLEX, lambda dtype, x: divide(dtype, 1.0, x), 0, (-9, 9)),
    ("Exp", FLOAT_OR_COMPLEX, with_complex(elementary.exp, cmath.exp), 1, (-20, 20)),
    ("Expm1", FLOAT_OR_COMPLEX, with_complex(elementary.expm1, complex_expm1), 2, (-2, 2)),
    ("Log", FLOAT_OR_COMPLEX, with_complex(elementary.log, cmath.log), 1, (0, 30)),
    ("Log1p", FLOAT_OR_COMPLEX, with_complex(elementary.log1p, lambda x: cmath.log(1 + x)), 1, (-0.99, 3)),
    ("Sin", FLOAT_OR_COMPLEX, with_complex(elementary.sin, cmath.sin), 2, (-10, 10)),
    ("Cos", FLOAT_OR_COMPLEX, with_complex(elementary.cos, cmath.cos), 2, (-10, 10)),
    ("Tanh", FLOAT_OR_COMPLEX, with_complex(elementary.tanh, cmath.tanh), 3, (-5, 5)),
    ("Sigmoid", FLOAT_OR_COMPLEX, with_complex(elementary.sigmoid, lambda x: 1 / (1 + cmath.exp(-x))), 2, (-9, 9)),
    ("Erf", FLOATS, lambda _, x: elementary.erf(x), 2, (-4, 4)),
    ("Relu", REALS, lambda _, x: x if x > 0 or x != x else 0, 0, (-9, 9)),
    ("Floor", FLOATS, toward(math.floor), 0, (-9, 9)),
    ("Ceil", FLOATS, toward(math.ceil), 0, (-9, 9)),
    ("Round", SIGNED_NUMBERS, rounded, 0, (-9, 9)),
    ("Rint", FLOATS, rounded, 0, (-9, 9)),
    ("LogicalNot", ["bool"], lambda _, x: not x, 0, None),
]
PREDICATES = [
    ("IsNan", FLOATS, lambda _, x: math.isnan(x), 0, (-9, 9)),
    ("IsInf", FLOATS, lambda _, x: math.isinf(x), 0, (-9, 9)),
    ("IsFinite", FLOATS, lambda _, x: math.isfinite(x), 0, (-9, 9)),
]
BINARY = [
    ("AddV2", NUMBERS, add, 0),
    ("Sub", NUMBERS, subtract, 0),
    ("Mul", NUMBERS, multiply, 0),
    ("RealDiv", FLOAT_OR_COMPLEX, divide, 0),
    ("DivNoNan", FLOAT_OR_COMPLEX, divide_no_nan, 0),
    ("Mod", ["i32", "i64"] + FLOATS, truncated_mod, 0),
    ("FloorDiv", REALS, floor_divide, 0),
    ("FloorMod", REALS, floor_mod, 0),
    ("Maximum", REALS, maximum, 0),
    ("Minimum", REALS, minimum, 0),
    ("Pow", SIGNED_NUMBERS, power, 1),
    ("SquaredDifference", SIGNED_NUMBERS, squared_difference, 3),
    ("LogicalAnd", ["bool"], lambda _, x, y: x and y, 0),
    ("LogicalOr", ["bool"], lambda _, x, y: x or y, 0),
    ("LogicalXor", ["bool"], lambda _, x, y: x != y, 0),
]
COMPARISONS = [
    ("Equal", DTYPES, lambda _, x, y: x == y, 0),
    ("NotEqual", DTYPES, lambda _, x, y: x != y, 0),
    ("Less", REALS, lambda _, x, y: x < y, 0),
    ("LessEqual", REALS, lambda _, x, y: x <= y, 0),
    ("Greater", REALS, lambda _, x, y: x > y, 0),
    ("GreaterEqual", REALS, lambda _, x, y: x >= y, 0),
]


def integer_errors(suite):
    for op in ("FloorDiv", "FloorMod", "Mod"):
        def wrong(name, x, y, place, op=op):
            suite.error(f"{op}_{name}", f"tf.{op}", [x, y], f"y must not be zero, got y{place} = 0")

        for dtype in INTS if op != "Mod" else ["i32", "i64"]:
            wrong(f"{dtype}_by_zero", vector(dtype, [1, 2, 3]), vector(dtype, [1, 0, 2]), "[1]")
        x = Tensor("i32", (2, 3), [1, 2, 3, 4, 5, 6])
        wrong("by_scalar_zero", vector("i32", [1, 2]), scalar("i32", 0), "")
        wrong("by_zeros_in_matrix", x, Tensor("i32", (2, 3), [1, 2, 3, 4, 5, 0]), "[1,2]")
        wrong("by_first_of_zeros", x, Tensor("i32", (2, 3), [1, 2, 3, 0, 5, 0]), "[1,0]")
        wrong("by_zero_in_row", x, vector("i32", [1, 0, 2]), "[1]")
        wrong("by_zero_in_column", x, Tensor("i32", (2, 1), [1, 0]), "[1,0]")
        wrong("by_zero_of_higher_rank", vector("i32", [1, 2, 3]), Tensor("i32", (2, 1, 1), [3, 0]), "[1,0,0]")
        empty = vector("i32", [])
        suite.case(f"{op}_empty_by_zero", f"tf.{op}", [empty, scalar("i32", 0)], empty, tags=["empty"])
    for dtype in SIGNED_INTS:
        suite.error(f"Pow_{dtype}_negative", "tf.Pow", [vector(dtype, [2, 3]), vector(dtype, [1, -1])],
                    "y must not be negative, got y[1] = -1")
    suite.error("Pow_negative_in_matrix", "tf.Pow", [scalar("i64", 2), Tensor("i64", (2, 2), [0, 1, -7, -8])],
                "y must not be negative, got y[1,0] = -7")
    suite.error("Pow_negative_scalar", "tf.Pow", [vector("i32", [2, 3]), scalar("i32", -3)],
                "y must not be negative, got y = -3")


# Integers at the ends of their range, whose results wrap around or need more bits than the dtype.
def integer_extremes(suite):
    functions = {"AddV2": add, "Sub": subtract, "Mul": multiply, "FloorDiv": floor_divide, "FloorMod": floor_mod,
                 "Mod": truncated_mod, "Maximum": maximum, "Minimum": minimum, "SquaredDifference": squared_difference,
                 "Less": COMPARISONS[2][2], "GreaterEqual": COMPARISONS[5][2]}
    for dtype in INTS:
        low, high = int_range(dtype)
        values = sorted({low, low + 1, high, high - 1, 0, 1, wrap(dtype, -1), 2, 7, high // 2})
        for op, function in functions.items():
            if op == "SquaredDifference" and dtype not in SIGNED_INTS or op == "Mod" and dtype not in ("i32", "i64"):
                continue
            pairs = [(a, b) for a in values for b in values if b != 0 or op not in ("FloorDiv", "FloorMod", "Mod")]
            x, y = vector(dtype, [a for a, _ in pairs]), vector(dtype, [b for _, b in pairs])
            out = "bool" if op in ("Less", "GreaterEqual") else dtype
            suite.case(f"{op}_{dtype}_extremes", f"tf.{op}", [x, y], mapped(function, out, x, y), tags=["extremes"])


def more_arguments(suite):
    """Where elementary functions are hard: large and tiny arguments, and those next to where they overflow."""
    hard = {
        "Exp": [88.7, 88.72283, 88.73, -87.3, -87.4, -95.0, -103.9, -104.0, 1e-10, -1e-30],
        "Expm1": [88.7, 88.73, -17.0, -19.0, 1e-4, -1e-4, 1e-10, -1e-30, 0.34657, -0.34658],
        "Log": [1e-45, 1e-40, 1.1754944e-38, 0.9999999, 1.0000001, 0.70710677, 1.4142135, 1e30, 3.4e38],
        "Log1p": [-0.9999999, 1e-10, -1e-30, 1e-4, 1e30, 3.4e38, 0.4142135, -0.2928932],
        "Sin": [1e-20, 3.1415927, 6.2831855, 1.5707964, 100.0, 1000.5, 12345.678, 1e5, 1e6, 1e10, 1e20, 3e38],
        "Cos": [1e-20, 3.1415927, 6.2831855, 1.5707964, 100.0, 1000.5, 12345.678, 1e5, 1e6, 1e10, 1e20, 3e38],
        "Tanh": [1e-20, 1e-4, 0.0005, 0.625, 9.0, 9.01, 10.0, 30.0, 89.0, 1e30],
        "Sigmoid": [-88.0, -90.0, -103.0, -110.0, 17.0, 89.0, 1e-20, 1e30, -1e30],
        "Erf": [1e-20, 1e-3, 0.84375, 1.25, 2.857, 3.9, 4.0, 6.0, 9.0, 1e30],
        "Sqrt": [1e-45, 1e-40, 2.0, 3.0, 1e30, 3.4e38],
        "Rsqrt": [1e-45, 1e-40, 2.0, 3.0, 1e30, 3.4e38],
    }
    for op, dtypes, function, ulp, _ in UNARY:
        for dtype in ["f32", "f64"] if op in hard else []:
            signs = [1.0] if op in ("Log", "Sqrt", "Rsqrt", "Exp", "Expm1", "Log1p", "Sigmoid") else [1.0, -1.0]
            values = [round_to(dtype, s * v) for v in hard[op] for s in signs]
            if dtype == "f64":
                values += {"Exp": [709.7, 709.79, -708.4, -740.0, -745.2, -746.0], "Log": [5e-324, 1e-310, 1e308],
                           "Sin": [1e22, 1e300], "Cos": [1e22, 1e300], "Tanh": [19.0, 22.0],
                           "Sigmoid": [-708.0, -740.0, -750.0], "Erf": [5.5, 5.92]}.get(op, [])
            x = vector(dtype, values)
            suite.case(f"{op}_{dtype}_hard", f"tf.{op}", [x], mapped(function, dtype, x), ulp=ulp, tags=["special"])


def power_cases(suite):
    pairs = [(2.0, 0.5), (-2.0, 3.0), (-2.0, 2.0), (-8.0, 1 / 3), (0.5, -3.0), (10.0, 10.0), (1.0000001, 1e6),
             (3.0, -70.0),
             (0.0, 2.0), (-0.0, 3.0), (-0.0, -3.0), (0.0, -2.0), (math.inf, -1.0), (-math.inf, 3.0), (-math.inf, 2.0),
             (math.nan, 0.0), (1.0, math.nan), (-1.0, math.inf), (0.5, math.inf), (2.0, -math.inf), (2.0, 128.0)]
    for dtype in FLOATS:
        x = vector(dtype, [round_to(dtype, a) for a, _ in pairs])
        y = vector(dtype, [round_to(dtype, b) for _, b in pairs])
        suite.case(f"Pow_{dtype}_table", "tf.Pow", [x, y], mapped(power, dtype, x, y), ulp=1,
                   tags=["special"])
    for exponent in (0, 1, 2, 3, 5, 7, 63, 64):
        x = varied("i32", (12,), seed=exponent + 1)
        suite.case(f"Pow_i32_to_{exponent}", "tf.Pow", [x, scalar("i32", exponent)],
                   mapped(power, "i32", x, scalar("i32", exponent)), tags=["broadcast"])


def long_rows(suite):
    """Rows that are not put together to blocks, with arguments that have one element for each."""
    shapes = {"column": ((2, 130), (2, 1)), "left_column": ((2, 1), (2, 130)), "left_scalar": ((), (131,)),
              "right_scalar": ((131,), ()), "row": ((5, 40), (40,)), "short_column": ((4, 40), (4, 1)),
              "middle": ((1, 1, 129), (3, 1)), "channels": ((1, 3, 6, 7), (3, 1, 1)), "outer": ((3, 1), (1, 128)),
              "both_rows": ((2, 1, 33), (1, 3, 33)), "rank6": ((2, 1, 2, 1, 1, 35), (2, 1, 3, 1, 1))}
    for name, (x_shape, y_shape) in shapes.items():
        for op, dtype, function in [("Sub", "f32", subtract), ("Sub", "f16", subtract), ("Sub", "i32", subtract),
                                    ("Greater", "f32", COMPARISONS[4][2]), ("Greater", "bf16", COMPARISONS[4][2])]:
            x, y = varied(dtype, x_shape, 41), varied(dtype, y_shape, 42)
            out = "bool" if op == "Greater" else dtype
            suite.case(f"{op}_{dtype}_long_{name}", f"tf.{op}", [x, y], mapped(function, out, x, y),
                       tags=["broadcast"])


def incompatible_shapes(suite):
    x, y = varied("f32", (2, 3)), varied("f32", (4,))
    for op, result in [("Equal", False), ("NotEqual", True)]:
        for dtype in ("f32", "string", "bool"):
            x, y = varied(dtype, (2, 3)), varied(dtype, (4,))
            suite.case(f"{op}_{dtype}_incompatible", f"tf.{op}", [x, y], scalar("bool", result),
                       {"incompatible_shape_error": False})
        suite.error(f"{op}_incompatible_error", f"tf.{op}", [x, y],
                    f"shapes must be broadcast compatible, got x: {x}, y: {y}", {"incompatible_shape_error": True})
        x = varied("f32", (2, 3))
        suite.case(f"{op}_compatible_tolerant", f"tf.{op}", [x, x],
                   Tensor("bool", (2, 3), [op == "Equal"] * 6), {"incompatible_shape_error": False}, tags=["alias"])


def unknown_ops(suite):
    x = varied("f32", (2,))
    suite.error("unknown_op", "tf.NoSuchOperation", [x], "op tf.NoSuchOperation is not defined")
    suite.error("misspelt_op", "tf.Sigmiod", [x], "op tf.Sigmiod is not defined, did you mean tf.Sigmoid")
    suite.error("op_without_version", "tf.Add", [x, x], "op tf.Add is not defined, did you mean tf.AddV2")


def suite():
    result = Suite()
    for row in UNARY:
        add_unary_cases(result, *row)
    for row in PREDICATES:
        add_unary_cases(result, *row, gives_bool=True)
    for row in BINARY:
        add_binary_cases(result, *row)
    for row in COMPARISONS:
        add_binary_cases(result, *row, gives_bool=True)
    integer_errors(result)
    integer_extremes(result)
    more_arguments(result)
    power_cases(result)
    long_rows(result)
    incompatible_shapes(result)
    unknown_ops(result)
    return result
