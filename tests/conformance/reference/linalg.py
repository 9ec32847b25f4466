# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of linear algebra."""

import math

from case_suite import Suite, Tensor, common_errors, drawn, varied
from number_formats import FLOATS, INTS, Fraction, convert, limits, round_to

# In the order of error texts.
MATMUL_DTYPES = ["u8", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64"]


def sum_of_products(dtype, xs, ys):
    if dtype == "c64":
        re = sum(Fraction(x.real) * Fraction(y.real) - Fraction(x.imag) * Fraction(y.imag) for x, y in zip(xs, ys))
        im = sum(Fraction(x.real) * Fraction(y.imag) + Fraction(x.imag) * Fraction(y.real) for x, y in zip(xs, ys))
        return complex(round_to("f32", re), round_to("f32", im))
    if dtype in INTS:
        return convert(dtype, sum(x * y for x, y in zip(xs, ys)))
    if all(map(math.isfinite, xs)) and all(map(math.isfinite, ys)):
        return round_to(dtype, sum((Fraction(x) * Fraction(y) for x, y in zip(xs, ys)), Fraction(0)))
    return sum((x * y for x, y in zip(xs, ys)), 0.0)


def matmul(a, b, transpose_a=False, transpose_b=False):
    rows = a.array().T if transpose_a else a.array()
    columns = b.array() if transpose_b else b.array().T
    values = [sum_of_products(a.dtype, row.tolist(), column.tolist()) for row in rows for column in columns]
    return Tensor(a.dtype, (rows.shape[0], columns.shape[0]), values)


def call(suite, name, a, b, transpose_a=None, transpose_b=None, tags=(), ulp=0, abs_tolerance=0):
    attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    attrs = {key: value for key, value in attrs.items() if value is not None}
    y = matmul(a, b, bool(transpose_a), bool(transpose_b))
    tags = list(tags) + (["empty"] if 0 in a.shape + b.shape else [])
    suite.case(f"MatMul_{name}", "tf.MatMul", [a, b], y, attrs, tags=tags, ulp=ulp, abs_tolerance=abs_tolerance)


# Shapes (m, k, n) of products; the sums of some are exact in every dtype.
SIZES = [(1, 1, 1), (1, 5, 1), (4, 1, 3), (1, 6, 7), (7, 6, 1), (2, 3, 4), (8, 8, 8), (5, 16, 17), (17, 9, 33),
         (33, 40, 5),
         (3, 300, 2), (16, 64, 16), (1, 130, 31), (31, 70, 1)]


def matmul_cases(suite):
    for dtype in MATMUL_DTYPES:
        for transpose_a in (False, True):
            for transpose_b in (False, True):
                a = varied(dtype, (3, 2) if transpose_a else (2, 3), 1)
                b = varied(dtype, (4, 3) if transpose_b else (3, 4), 2)
                name = f"{dtype}_{'t' if transpose_a else 'n'}{'t' if transpose_b else 'n'}"
                call(suite, name, a, b, transpose_a, transpose_b)
        call(suite, f"{dtype}_uneven", varied(dtype, (9, 21), 3), varied(dtype, (21, 11), 4))
        call(suite, f"{dtype}_empty_inner", varied(dtype, (2, 0)), varied(dtype, (0, 3)))
    for m, k, n in SIZES:
        call(suite, f"f32_{m}x{k}x{n}", varied("f32", (m, k), 5), varied("f32", (k, n), 6))
        call(suite, f"f32_{m}x{k}x{n}_tt", varied("f32", (k, m), 5), varied("f32", (n, k), 6), True, True)
    for m, k, n in SIZES[5:11]:
        call(suite, f"f64_{m}x{k}x{n}", varied("f64", (m, k), 5), varied("f64", (k, n), 6), tags=["large"])
        call(suite, f"f16_{m}x{k}x{n}", varied("f16", (m, k), 5), varied("f16", (k, n), 6), tags=["large"])
        call(suite, f"i32_{m}x{k}x{n}", varied("i32", (m, k), 5), varied("i32", (k, n), 6), tags=["large"])
    for m, k, n in [(0, 3, 4), (2, 3, 0), (0, 0, 0), (0, 0, 4), (2, 0, 0)]:
        call(suite, f"empty_{m}x{k}x{n}", varied("f32", (m, k)), varied("f32", (k, n)))
    for dtype in FLOATS:
        a, b = drawn(dtype, (13, 90), 7, -1, 1), drawn(dtype, (90, 11), 8, -1, 1)
        # Sums of 90 products of at most 1, in f32 or f64; and one rounding.
        precision = math.ldexp(90.0, -52 if dtype == "f64" else -23)
        call(suite, f"{dtype}_random", a, b, tags=["large"], ulp=1, abs_tolerance=precision)
    x = varied("f32", (6, 6), 9)
    call(suite, "alias", x, x, tags=["alias"])
    call(suite, "alias_transposed", x, x, True, False, tags=["alias"])
    call(suite, "inplace", x, varied("f32", (6, 6), 10), tags=["inplace"])
    call(suite, "defaults_given", x, varied("f32", (6, 2), 10), False, False)
    special_cases(suite)


def special_cases(suite):
    inf, nan = math.inf, math.nan
    for dtype in FLOATS:
        _, _, normal, largest, _ = limits(dtype)
        a = Tensor(dtype, (4, 2), [1.0, inf, nan, 0.0, -inf, 1.0, largest, normal])
        b = Tensor(dtype, (2, 3), [1.0, 2.0, 0.0, 1.0, 0.0, 0.5])
        call(suite, f"{dtype}_special", a, b, tags=["special"])


def matmul_errors(suite):
    def wrong(name, a, b, text, attrs=None):
        suite.error(f"MatMul_{name}", "tf.MatMul", [a, b], text, attrs)

    a, b = varied("f32", (2, 3)), varied("f32", (2, 2))
    wrong("inner_mismatch", a, b, "inner dimensions must agree, got a: f32[2,3], b: f32[2,2]")
    wrong("inner_mismatch_ta", varied("f32", (2, 3)), varied("f32", (3, 2)),
          "inner dimensions must agree, got a: f32[2,3] transposed, b: f32[3,2]", {"transpose_a": True})
    wrong("inner_mismatch_tb", a, varied("f32", (3, 2)), "inner dimensions must agree, got a: f32[2,3], b: f32[3,2] "
          "transposed", {"transpose_b": True})
    wrong("inner_mismatch_empty", varied("f32", (2, 0)), varied("f32", (1, 2)),
          "inner dimensions must agree, got a: f32[2,0], b: f32[1,2]")
    wrong("a_vector", varied("f32", (3,)), varied("f32", (3, 2)), "a must be a matrix, got a: f32[3]")
    wrong("b_vector", a, varied("f32", (3,)), "b must be a matrix, got b: f32[3]")
    wrong("a_rank3", varied("f32", (1, 2, 3)), varied("f32", (3, 2)), "a must be a matrix, got a: f32[1,2,3]")
    wrong("b_scalar", a, varied("f32", ()), "b must be a matrix, got b: f32[]")
    wrong("mixed_dtypes", a, varied("f64", (3, 2)), "argument 1 (b) must be f32 like argument 0 (a), got f64[3,2]")
    wrong("i8", varied("i8", (2, 2)), varied("i8", (2, 2)),
          "argument 0 (a) must be one of {u8, u16, i32, u32, i64, u64, f16, bf16, f32, f64, c64}, got i8[2,2]")
    wrong("transpose_int", a, varied("f32", (3, 2)), "attribute transpose_a must be bool, got i64", {"transpose_a": 1})
    common_errors(suite, "tf.MatMul", [a, varied("f32", (3, 2))], ["a"], MATMUL_DTYPES,
                  required="one of transpose_a, transpose_b, T")


def suite():
    result = Suite()
    matmul_cases(result)
    matmul_errors(result)
    return result
