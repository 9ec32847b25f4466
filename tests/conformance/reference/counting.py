# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of ops that count numbers and find their places in an order."""

import math

import numpy

from case_suite import Suite, Tensor, common_errors, from_array, scalar, varied, vector
from number_formats import FLOATS, INTS, REALS, convert, int_range

WEIGHTS = ["i32", "i64", "f32", "f64"]


def integers(dtype, shape, below, seed):
    generator = numpy.random.RandomState(seed)
    return Tensor(dtype, shape, generator.randint(0, below, math.prod(shape)).tolist())


def bins(counted, weights, size, dtype, is_binary=False):
    result = [0] * size
    for i, value in enumerate(counted):
        if value < size:
            result[value] = 1 if is_binary else result[value] + (weights[i] if weights else 1)
    return [convert(dtype, value) for value in result]


def bincount_cases(suite):
    def call(name, arr, size, weights, tags=()):
        y = vector(weights.dtype, bins(arr.values, weights.values, size, weights.dtype))
        empty = ["empty"] if 0 in (size, len(arr.values)) else []
        suite.case(f"Bincount_{name}", "tf.Bincount", [arr, scalar("i32", size), weights], y, tags=list(tags) + empty)

    for dtype in WEIGHTS:
        arr = integers("i32", (17,), 6, 1)
        call(f"{dtype}_counts", arr, 6, vector(dtype, []))
        call(f"{dtype}_weights", arr, 6, varied(dtype, (17,), 2))
        call(f"{dtype}_beyond", arr, 3, varied(dtype, (17,), 3))
    for number, shape in enumerate([(), (5,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2)]):
        call(f"rank{number}", integers("i32", shape, 4, 4), 5, varied("f32", shape, 5))
    call("no_elements", vector("i32", []), 3, vector("f32", []))
    call("no_bins", vector("i32", [0, 3]), 0, vector("f32", []))
    call("empty_matrix_weights", vector("i32", [0, 2]), 3, Tensor("f32", (0, 2), []))
    call("large", integers("i32", (3000,), 500, 6), 490, vector("i32", []), tags=["large"])
    for dtype in WEIGHTS:
        call(f"large_{dtype}_counts", integers("i32", (1500,), 60, 21), 50, vector(dtype, []), tags=["large"])
        weights = Tensor(dtype, (1500,), integers("i32", (1500,), 1 << 13, 22).values)
        call(f"large_{dtype}_weights", integers("i32", (1500,), 60, 23), 50, weights, tags=["large"])
    call("many_bins", integers("i32", (900,), 5000, 24), 4900, vector("i32", []), tags=["large"])
    # Of 64 bits, which sums carry into.
    call("carries", vector("i32", [1, 0, 1, 1, 0]), 2, vector("i64", [2**32 - 1, -1, 1, 2**40 - 1, -2**33]))

    arr, size, none = vector("i32", [1, 2, 0]), scalar("i32", 3), vector("f32", [])

    def wrong(name, inputs, text):
        suite.error(f"Bincount_{name}", "tf.Bincount", inputs, text)

    wrong("negative", [vector("i32", [1, -2, -3]), size, none], "arr must not be negative, got -2 at element 1")
    wrong("size_negative", [arr, scalar("i32", -1), none], "size must be at least 0, got size: -1")
    wrong("size_vector", [arr, vector("i32", [3, 3]), none], "expected one integer for size, got i32[2]")
    wrong("weights_shape", [arr, size, varied("f32", (2,))],
          "weights must be empty or have the shape of arr, got arr: i32[3], weights: f32[2]")
    common_errors(suite, "tf.Bincount", [arr, size, none], ["arr"], ["i32"], required="one of T")


def dense_bincount_cases(suite):
    def call(name, x, size, weights, binary=None, tags=()):
        rows = x.shape[0] if len(x.shape) == 2 else 1
        length = len(x.values) // rows if rows else 0
        y = []
        for row in range(rows):
            part = slice(row * length, (row + 1) * length)
            y += bins(x.values[part], weights.values[part], size, weights.dtype, bool(binary))
        shape = (rows, size) if len(x.shape) == 2 else (size,)
        empty = ["empty"] if 0 in shape or not x.values else []
        suite.case(f"DenseBincount_{name}", "tf.DenseBincount", [x, scalar(x.dtype, size), weights],
                   Tensor(weights.dtype, shape, y), None if binary is None else {"binary_output": binary},
                   tags=list(tags) + empty)

    for index in ("i32", "i64"):
        for dtype in WEIGHTS:
            for shape in [(9,), (3, 7)]:
                x = integers(index, shape, 6, 7)
                name = f"{index}_{dtype}_rank{len(shape)}"
                call(f"{name}_counts", x, 5, vector(dtype, []))
                call(f"{name}_weights", x, 6, varied(dtype, shape, 8), False)
                call(f"{name}_binary", x, 6, varied(dtype, shape, 9), True)
    call("scalar", scalar("i32", 2), 4, vector("f32", []))
    for number, shape in enumerate([(0,), (0, 3), (3, 0)]):
        call(f"empty{number}", Tensor("i64", shape, []), 2, vector("f32", []))
    call("no_bins", integers("i32", (2, 2), 3, 1), 0, vector("f32", []))
    call("large", integers("i64", (40, 50), 30, 6), 30, varied("f32", (40, 50), 3), tags=["large"])

    x, size, none = Tensor("i64", (2, 2), [1, 2, 0, 1]), scalar("i64", 3), vector("f32", [])

    def wrong(name, inputs, text):
        suite.error(f"DenseBincount_{name}", "tf.DenseBincount", inputs, text)

    wrong("negative", [Tensor("i64", (2, 2), [1, 0, -(2**40), 1]), size, none],
          f"input must not be negative, got {-2**40} at element 2")
    wrong("rank3", [Tensor("i64", (1, 1, 1), [1]), size, none],
          "input must have at most two dimensions, got input: i64[1,1,1]")
    wrong("size_negative", [x, scalar("i64", -2), none], "size must be at least 0, got size: -2")
    wrong("size_other_dtype", [x, scalar("i32", 3), none],
          "argument 1 (size) must be i64 like argument 0 (input), got i32[]")
    wrong("overflow", [x, scalar("i64", 2**62), none],
          f"the result must have at most 2^63-1 elements, got input: i64[2,2], size: {2**62}")
    wrong("weights_shape", [x, size, varied("f32", (4,))],
          "weights must be empty or have the shape of input, got input: i64[2,2], weights: f32[4]")
    common_errors(suite, "tf.DenseBincount", [x, size, none], ["input"], ["i32", "i64"],
                  required="one of Tidx, T, binary_output")


def order(value):
    """NaN is the largest."""
    return (1, 0) if value != value else (0, value)


def bound_cases(suite, op):
    def call(name, rows, values, out=None, tags=()):
        y = numpy.empty(values.shape, dtype=object)
        for i, j in numpy.ndindex(values.shape):
            value = order(values.array()[i, j])
            row = [order(element) for element in rows.array()[i]]
            y[i, j] = sum(element < value or (op == "UpperBound" and element == value) for element in row)
        empty = ["empty"] if 0 in values.shape or 0 in rows.shape else []
        suite.case(f"{op}_{name}", f"tf.{op}", [rows, values], from_array(out or "i32", y), out and {"out_type": out},
                   tags=list(tags) + empty)

    def ascending(x):
        return from_array(x.dtype, numpy.array([sorted(row, key=order) for row in x.array().tolist()], dtype=object))

    for dtype in REALS:
        rows = ascending(varied(dtype, (2, 9), 1))
        some = varied(dtype, (2, 4), 2).array()
        values = from_array(dtype, numpy.concatenate([some, rows.array()[:, ::3]], axis=1))
        call(dtype, rows, values)
        call(f"{dtype}_i64", rows, values, "i64")
    for dtype in FLOATS:
        special = [-math.inf, -2.0, -0.0, 0.0, 0.0, 1.0, math.inf, math.nan, math.nan]
        values = [math.nan, math.inf, -math.inf, -0.0, 0.0, 0.5, 2.0, -3.0, 1.0]
        call(f"{dtype}_special", Tensor(dtype, (1, 9), special), Tensor(dtype, (1, 9), values))
    for dtype in INTS:
        low, high = int_range(dtype)
        call(f"{dtype}_extremes", Tensor(dtype, (1, 4), [low, low, high - 1, high]),
             Tensor(dtype, (1, 4), [low, low + 1, high, high - 1]))
    call("equal", Tensor("f32", (1, 5), [2.0] * 5), Tensor("f32", (1, 3), [1.0, 2.0, 3.0]))
    for number, (n, m) in enumerate([(0, 3), (3, 0), (1, 1), (2, 5), (31, 2)]):
        call(f"size{number}", ascending(varied("f32", (3, n), 3)), varied("f32", (3, m), 4))
    call("no_rows", Tensor("f32", (0, 3), []), Tensor("f32", (0, 2), []))
    call("large", ascending(varied("i32", (3, 200), 5)), varied("i32", (3, 70), 6), tags=["large"])

    rows, values = varied("f32", (2, 3)), varied("f32", (2, 2))
    text = "sorted_inputs and values must be matrices with the same number of rows, got sorted_inputs: "
    for number, (a, b) in enumerate([((3,), (2,)), ((2, 3), (3, 2)), ((1, 2, 3), (2, 3)), ((), (2, 2))]):
        a, b = varied("f32", a), varied("f32", b)
        suite.error(f"{op}_shapes{number}", f"tf.{op}", [a, b], f"{text}{a}, values: {b}")
    suite.error(f"{op}_mixed", f"tf.{op}", [rows, varied("f64", (2, 2))],
                "argument 1 (values) must be f32 like argument 0 (sorted_inputs), got f64[2,2]")
    suite.error(f"{op}_out_type", f"tf.{op}", [rows, values], "attribute out_type must be one of {i32, i64}, got i16",
                {"out_type": "i16"})
    common_errors(suite, f"tf.{op}", [rows, values], ["sorted_inputs"], REALS, required="one of T, out_type")


def suite():
    result = Suite()
    bincount_cases(result)
    dense_bincount_cases(result)
    bound_cases(result, "LowerBound")
    bound_cases(result, "UpperBound")
    return result
