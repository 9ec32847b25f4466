# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of linear algebra."""

import math

import linalg_diagonal
import linalg_einsum
import linalg_fused
from case_suite import Suite, Tensor, common_errors, drawn, varied
from linalg_products import batch_matmul, matmul
from number_formats import FLOATS, limits

# In the order of error texts.
MATMUL_DTYPES = ["u8", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64"]
BATCH_MATMUL_DTYPES = ["u8", "u16", "i16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64"]


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


def batch_call(suite, name, x, y, adj_x=None, adj_y=None, tags=(), ulp=0, abs_tolerance=0):
    attrs = {key: value for key, value in [("adj_x", adj_x), ("adj_y", adj_y)] if value is not None}
    output = batch_matmul(x, y, bool(adj_x), bool(adj_y))
    tags = list(tags) + (["empty"] if 0 in x.shape + y.shape else [])
    suite.case(f"BatchMatMulV2_{name}", "tf.BatchMatMulV2", [x, y], output, attrs, tags=tags, ulp=ulp,
               abs_tolerance=abs_tolerance)


# Batch dimensions of x and y.
BATCHES = [((), ()), ((2,), ()), ((), (3,)), ((2,), (2,)), ((1,), (3,)), ((2, 1), (3,)), ((2, 3), (2, 3)),
           ((2, 1, 2), (3, 1)), ((2, 1, 2), (1, 3, 1)), ((1, 2, 1, 2), (2, 1, 1, 1)), ((2, 1, 1, 2, 1), (2, 1, 1, 3)),
           ((1, 2, 1, 2, 1, 2), (2, 1, 1, 2)), ((1, 1), (1,)), ((0,), (1,)), ((2, 0), (0,)), ((1, 2), (0, 1))]


def batch_cases(suite):
    for dtype in BATCH_MATMUL_DTYPES:
        for adj_x in (False, True):
            for adj_y in (False, True):
                x = varied(dtype, (2, 3, 2) if adj_x else (2, 2, 3), 1)
                y = varied(dtype, (2, 4, 3) if adj_y else (2, 3, 4), 2)
                batch_call(suite, f"{dtype}_{'a' if adj_x else 'n'}{'a' if adj_y else 'n'}", x, y, adj_x, adj_y)
        batch_call(suite, f"{dtype}_stretched", varied(dtype, (2, 1, 2, 2), 3), varied(dtype, (3, 2, 2), 4))
        batch_call(suite, f"{dtype}_empty_inner", varied(dtype, (2, 2, 0)), varied(dtype, (2, 0, 3)))
    for number, (x_batch, y_batch) in enumerate(BATCHES):
        for adj_y in (False, True):
            x = varied("f32", x_batch + (2, 3), 5)
            y = varied("f32", y_batch + ((2, 3) if adj_y else (3, 2)), 6)
            batch_call(suite, f"batch{number}{'_adj' if adj_y else ''}", x, y, False, adj_y, tags=["broadcast"])
            x = varied("f32", x_batch + (3, 2), 5)
            batch_call(suite, f"batch{number}_adj_x{'_adj' if adj_y else ''}", x, y, True, adj_y, tags=["broadcast"])
    for m, k, n in SIZES[:10] + [(0, 2, 3), (2, 2, 0), (0, 0, 0)]:
        batch_call(suite, f"f32_{m}x{k}x{n}", varied("f32", (3, m, k), 7), varied("f32", (3, k, n), 8))
        batch_call(suite, f"f32_{m}x{k}x{n}_shared_y", varied("f32", (3, m, k), 7), varied("f32", (k, n), 8))
        batch_call(suite, f"f32_{m}x{k}x{n}_shared_x", varied("f32", (m, k), 7), varied("f32", (3, n, k), 8), False,
                   True)
    for dtype in ("f32", "f16", "i32", "c64"):
        x, y = varied(dtype, (40, 3, 5), 9), varied(dtype, (40, 5, 2), 10)
        batch_call(suite, f"{dtype}_many", x, y, tags=["large"])
    x, y = drawn("f32", (2, 20, 100), 7, -1, 1), drawn("f32", (2, 12, 100), 8, -1, 1)
    batch_call(suite, "random", x, y, False, True, tags=["large"], ulp=1, abs_tolerance=math.ldexp(100.0, -23))
    x, y = drawn("f32", (3, 9000), 9, -1, 1), drawn("f32", (2, 9000), 10, -1, 1)
    batch_call(suite, "long", x, y, False, True, tags=["large"], abs_tolerance=math.ldexp(9000.0, -24))
    x = varied("f32", (2, 4, 4), 11)
    batch_call(suite, "alias", x, x, tags=["alias"])
    batch_call(suite, "alias_adjoint", x, x, True, False, tags=["alias"])
    batch_call(suite, "inplace", x, varied("f32", (2, 4, 4), 12), tags=["inplace"])
    batch_call(suite, "defaults_given", x, varied("f32", (2, 4, 4), 12), False, False)
    for dtype in FLOATS:
        x = Tensor(dtype, (1, 2, 2), [math.inf, 0.0, math.nan, -math.inf])
        y = Tensor(dtype, (2, 2, 1), [1.0, 2.0, -0.0, -1.0])
        batch_call(suite, f"{dtype}_special", x, y, tags=["special"])


def batch_errors(suite):
    def wrong(name, x, y, text, attrs=None):
        suite.error(f"BatchMatMulV2_{name}", "tf.BatchMatMulV2", [varied("f32", x), varied("f32", y)], text, attrs)

    wrong("inner", (2, 2, 3), (2, 2, 3), "inner dimensions must agree, got x: f32[2,2,3], y: f32[2,2,3]")
    wrong("inner_adj_x", (2, 3), (3, 3), "inner dimensions must agree, got x: f32[2,3] transposed, y: f32[3,3]",
          {"adj_x": True})
    wrong("inner_adj", (4, 2, 3), (3, 3), "inner dimensions must agree, got x: f32[4,2,3] transposed, y: f32[3,3] "
          "transposed", {"adj_x": True, "adj_y": True})
    wrong("x_vector", (3,), (3, 2), "x must have at least two dimensions, got x: f32[3]")
    wrong("y_scalar", (2, 3), (), "y must have at least two dimensions, got y: f32[]")
    wrong("batch", (2, 2, 3), (3, 3, 2), "batch dimensions must be broadcastable, got x: f32[2,2,3], y: f32[3,3,2]")
    wrong("batch_empty", (0, 2, 3), (2, 3, 2), "batch dimensions must be broadcastable, got x: f32[0,2,3], "
          "y: f32[2,3,2]")
    x, y = varied("f32", (1, 2, 3)), varied("f32", (3, 2))
    suite.error("BatchMatMulV2_mixed_dtypes", "tf.BatchMatMulV2", [x, varied("f64", (3, 2))],
                "argument 1 (y) must be f32 like argument 0 (x), got f64[3,2]")
    suite.error("BatchMatMulV2_adj_int", "tf.BatchMatMulV2", [x, y], "attribute adj_y must be bool, got i64",
                {"adj_y": 1})
    common_errors(suite, "tf.BatchMatMulV2", [x, y], ["x"], BATCH_MATMUL_DTYPES, required="one of T, adj_x, adj_y")


def suite():
    result = Suite()
    matmul_cases(result)
    matmul_errors(result)
    batch_cases(result)
    batch_errors(result)
    linalg_fused.add_cases(result)
    linalg_einsum.add_cases(result)
    linalg_diagonal.add_cases(result)
    return result
