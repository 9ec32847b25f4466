# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of cumulative sums and products."""

import math

from case_suite import Suite, Tensor, common_errors, drawn, from_array, scalar, varied, vector
from number_formats import FLOATS, INTS, NUMBERS, Fraction, convert, round_to

OPS = {"Cumsum": ("tf.Cumsum", 0), "Cumprod": ("tf.Cumprod", 1)}


def combine(kind, x, y):
    return x + y if kind == "Cumsum" else x * y


def exact(dtype, value):
    """As a number to compute with exactly; pairs of them for complex numbers."""
    if dtype == "c64":
        return ExactComplex(Fraction(value.real), Fraction(value.imag))
    if dtype in INTS or not math.isfinite(value):
        return value
    return Fraction(value)


class ExactComplex:
    def __init__(self, re, im):
        self.re, self.im = re, im

    def __add__(self, other):
        return ExactComplex(self.re + other.re, self.im + other.im)

    def __mul__(self, other):
        return ExactComplex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)


def rounded(dtype, value):
    if dtype == "c64":
        return complex(round_to("f32", value.re), round_to("f32", value.im))
    return convert(dtype, value)


def scan_line(kind, dtype, values, exclusive, reverse):
    start = OPS[kind][1]
    total = ExactComplex(Fraction(start), Fraction(0)) if dtype == "c64" else start
    if dtype in FLOATS and not all(map(math.isfinite, values)):
        total = float(start)
        values = list(map(float, values))
    result = []
    for value in reversed(values) if reverse else values:
        before = total
        total = combine(kind, total, value if isinstance(total, float) else exact(dtype, value))
        result.append(rounded(dtype, before if exclusive else total))
    return result[::-1] if reverse else result


def scan(kind, x, axis, exclusive=False, reverse=False):
    array = x.array()
    result = array.copy()
    axis %= len(x.shape)
    outer = [range(n) for i, n in enumerate(x.shape) if i != axis]

    def visit(index):
        if len(index) < len(outer):
            for i in outer[len(index)]:
                visit(index + (i,))
            return
        at = index[:axis] + (slice(None),) + index[axis:]
        result[at] = scan_line(kind, x.dtype, array[at].tolist(), exclusive, reverse)

    visit(())
    return from_array(x.dtype, result)


def call(suite, kind, name, x, axis, exclusive=None, reverse=None, axis_dtype="i32", tags=(), ulp=0, abs_tolerance=0,
         axis_tensor=None):
    attrs = {key: value for key, value in [("exclusive", exclusive), ("reverse", reverse)] if value is not None}
    tags = list(tags) + (["empty"] if 0 in x.shape else [])
    y = scan(kind, x, axis, bool(exclusive), bool(reverse))
    suite.case(f"{kind}_{name}", OPS[kind][0], [x, axis_tensor or scalar(axis_dtype, axis)], y, attrs, tags=tags,
               ulp=ulp, abs_tolerance=abs_tolerance)


def few_bits(dtype, shape, seed):
    """Elements of which no product of eight has more bits than any dtype holds."""
    if dtype in INTS:
        return varied(dtype, shape, seed)
    values = [[1, -1, 2, 0.5, -2, 1, 1.5, -1][int(u.real * 4) % 8] for u in varied("f32", shape, seed).values]
    if dtype == "c64":
        values = [complex(v, [0, 0, 1, 0, -1, 0, 1, 0][int(v * 4) % 8]) for v in values]
    return Tensor(dtype, shape, values)


def values_for(kind, dtype, shape, seed):
    return varied(dtype, shape, seed) if kind == "Cumsum" else few_bits(dtype, shape, seed)


SHAPES = [(5,), (2, 3), (2, 1, 3), (2, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2), (1, 2, 1, 2, 1, 2, 1, 2)]


def scan_cases(suite, kind):
    for dtype in NUMBERS:
        for exclusive in (False, True):
            for reverse in (False, True):
                flags = f"{dtype}{'_exclusive' if exclusive else ''}{'_reverse' if reverse else ''}"
                call(suite, kind, f"{flags}_line", values_for(kind, dtype, (7,), 1), 0, exclusive, reverse)
                call(suite, kind, f"{flags}_lines", values_for(kind, dtype, (2, 6), 2), -1, exclusive, reverse)
                call(suite, kind, f"{flags}_columns", values_for(kind, dtype, (2, 4, 5), 3), 1, exclusive, reverse)
    for shape in SHAPES:
        for axis in range(-len(shape), len(shape)):
            x = values_for(kind, "f32", shape, 4)
            call(suite, kind, f"rank{len(shape)}_axis{axis}", x, axis, axis_dtype="i64" if axis % 2 else "i32")
    for shape in [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 0)]:
        for axis in range(len(shape)):
            x = Tensor("f32", shape, [])
            call(suite, kind, f"empty_{'x'.join(map(str, shape))}_axis{axis}", x, axis)
    x = values_for(kind, "f32", (3, 4), 5)
    call(suite, kind, "inplace", x, 1, tags=["inplace"])
    call(suite, kind, "inplace_exclusive_reverse", x, 1, True, True, tags=["inplace"])
    call(suite, kind, "inplace_columns", x, 0, True, tags=["inplace"])
    call(suite, kind, "defaults_given", x, 0, False, False)
    call(suite, kind, "axis_vector", x, 1, axis_tensor=vector("i32", [1]))
    call(suite, kind, "one_element", values_for(kind, "f64", (1, 1), 5), 0, True)
    large_cases(suite, kind)
    special_cases(suite, kind)


def large_cases(suite, kind):
    """Long enough for every loop, and for several threads."""
    for dtype in FLOATS + ["i32", "u8", "c64"]:
        for size in (8, 9, 31, 67):
            x = Tensor(dtype, (size,), [1 + i % 3 for i in range(size)] if kind == "Cumsum" else
                       [[2, 0.5, -1][i % 3] if dtype not in INTS else i % 3 + 1 for i in range(size)])
            for flag in range(4):
                call(suite, kind, f"{dtype}_length{size}_{flag}", x, 0, flag % 2 == 1, flag >= 2, tags=["large"])
        rows = Tensor(dtype, (3, 150), [i % 2 for i in range(450)] if kind == "Cumsum" else
                      [[1, -1][i % 2] if dtype not in INTS else 1 + i % 2 for i in range(450)])
        call(suite, kind, f"{dtype}_wide", rows, 0, False, True, tags=["large"])
    for dtype in FLOATS:
        low, high, bound = (-1, 1, 100) if kind == "Cumsum" else (0.9, 1.1, 8)
        step = {"f64": 2.0**-52, "f32": 2.0**-23}.get(dtype, 2.0**-23)
        x = drawn(dtype, (300,), 6, low, high)
        call(suite, kind, f"{dtype}_random", x, 0, tags=["large"], ulp=1, abs_tolerance=300 * bound * step / 8)


def special_cases(suite, kind):
    inf, nan = math.inf, math.nan
    for dtype in FLOATS:
        for number, values in enumerate([[1.0, inf, 2.0, -inf, 1.0], [-inf, 1.0, nan, 2.0], [-0.0, -0.0, 0.0]]):
            for reverse in (False, True):
                x = Tensor(dtype, (len(values),), values)
                call(suite, kind, f"{dtype}_special{number}{'_reverse' if reverse else ''}", x, 0, None, reverse)


def scan_errors(suite, kind):
    op = OPS[kind][0]
    x, axis = varied("f32", (2, 3)), scalar("i32", 0)

    def wrong(name, inputs, text, attrs=None):
        suite.error(f"{kind}_{name}", op, inputs, text, attrs)

    wrong("axis_too_large", [x, scalar("i32", 2)], "axis must be in [-2, 2), got 2")
    wrong("axis_too_small", [x, scalar("i64", -3)], "axis must be in [-2, 2), got -3")
    wrong("scalar", [varied("f32", ()), axis], "axis must be in [0, 0), got 0")
    wrong("axis_two", [x, vector("i32", [0, 1])], "expected one integer for axis, got i32[2]")
    wrong("axis_float", [x, scalar("f32", 0.0)], "argument 1 (axis) must be one of {i32, i64}, got f32[]")
    wrong("exclusive_int", [x, axis], "attribute exclusive must be bool, got i64", {"exclusive": 1})
    common_errors(suite, op, [x, axis], ["x"], NUMBERS, required="one of exclusive, reverse, T, Tidx")


def suite():
    result = Suite()
    for kind in OPS:
        scan_cases(result, kind)
        scan_errors(result, kind)
    return result
