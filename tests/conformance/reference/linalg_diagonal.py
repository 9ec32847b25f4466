# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of bands and diagonals of matrices and tensors."""

import math

import numpy

from case_suite import Tensor, common_errors, from_array, scalar, varied, vector
from number_formats import FLOATS, NUMBERS

DTYPES = ["bool"] + NUMBERS


def zero(dtype):
    return False if dtype == "bool" else 0j if dtype == "c64" else 0.0 if dtype in FLOATS else 0


def tags_for(x, tags=()):
    return list(tags) + (["empty"] if 0 in x.shape else [])


def band_case(suite, name, x, lower, upper, index="i64", tags=()):
    y = x.array().copy()
    for at in numpy.ndindex(y.shape):
        i, j = at[-2:]
        if not ((lower < 0 or i - j <= lower) and (upper < 0 or j - i <= upper)):
            y[at] = zero(x.dtype)
    suite.case(f"MatrixBandPart_{name}", "tf.MatrixBandPart", [x, scalar(index, lower), scalar(index, upper)],
               from_array(x.dtype, y), tags=tags_for(x, tags))


def diag_case(suite, name, x, tags=()):
    k = x.shape[-1]
    y = numpy.full(x.shape + (k,), zero(x.dtype), dtype=object)
    for at in numpy.ndindex(x.shape):
        y[at + at[-1:]] = x.array()[at]
    suite.case(f"MatrixDiag_{name}", "tf.MatrixDiag", [x], from_array(x.dtype, y), tags=tags_for(x, tags))


def part_case(suite, name, x, tags=()):
    k = min(x.shape[-2:])
    y = numpy.empty(x.shape[:-2] + (k,), dtype=object)
    for at in numpy.ndindex(y.shape):
        y[at] = x.array()[at + at[-1:]]
    suite.case(f"MatrixDiagPart_{name}", "tf.MatrixDiagPart", [x], from_array(x.dtype, y), tags=tags_for(x, tags))


MATRICES = [(3, 3), (2, 4), (4, 2), (1, 5), (5, 1), (2, 3, 2), (2, 1, 2, 3), (1, 2, 1, 3, 2), (2, 1, 1, 2, 2, 2),
            (1, 1, 2, 1, 1, 1, 2, 2), (0, 3), (3, 0), (0, 2, 2), (2, 0, 2), (0, 0)]


def add_cases(suite):
    for dtype in DTYPES:
        for number, (lower, upper) in enumerate([(0, 0), (0, -1), (-1, 0), (1, 1), (-1, -1), (2, 0)]):
            band_case(suite, f"{dtype}_{number}", varied(dtype, (2, 3, 4), 1), lower, upper)
        diag_case(suite, f"{dtype}_vector", varied(dtype, (3,), 2))
        diag_case(suite, f"{dtype}_batch", varied(dtype, (2, 4), 3))
        part_case(suite, f"{dtype}_wide", varied(dtype, (2, 2, 3), 4))
        part_case(suite, f"{dtype}_tall", varied(dtype, (3, 2), 5))
    for number, shape in enumerate(MATRICES):
        x = varied("f32", shape, 6)
        rows, cols = shape[-2:]
        for lower, upper in sorted({(0, 0), (-1, 0), (rows, cols), (min(1, rows), -5), (max(rows - 1, 0), 0)}):
            band_case(suite, f"shape{number}_{lower}_{upper}", x, lower, upper, "i32" if number % 2 else "i64")
        part_case(suite, f"shape{number}", x)
    for number, shape in enumerate([(1,), (5,), (2, 3), (2, 1, 3), (1, 2, 1, 2), (2, 1, 2, 1, 2), (1, 1, 2, 1, 2, 1, 3),
                                    (0,), (0, 3), (3, 0), (2, 0, 1)]):
        diag_case(suite, f"shape{number}", varied("f32", shape, 7))
    specials = Tensor("f32", (2, 2), [math.nan, math.inf, -math.inf, -0.0])
    band_case(suite, "special", specials, 0, 0, tags=["special"])
    diag_case(suite, "special", specials, tags=["special"])
    part_case(suite, "special", specials, tags=["special"])
    large = varied("u8", (3, 40, 33), 8)
    band_case(suite, "large", large, 5, 3, tags=["large"])
    part_case(suite, "large", large, tags=["large"])
    diag_case(suite, "large", varied("u8", (3, 65), 9), tags=["large"])
    x = varied("f32", (3, 4, 4), 10)
    band_case(suite, "inplace", x, 1, 0, tags=["inplace"])
    band_case(suite, "inplace_whole", x, -1, -1, tags=["inplace"])
    part_case(suite, "inplace", x, tags=["inplace"])
    suite.case("MatrixBandPart_band_vectors", "tf.MatrixBandPart", [x, vector("i64", [-1]), vector("i64", [-1])], x)
    tensor_cases(suite)
    add_errors(suite)


TENSOR_DTYPES = ["i32", "i64"] + FLOATS + ["c64"]


def tensor_cases(suite):
    """Diag and DiagPart."""
    def call(name, x, tags=()):
        y = numpy.full(x.shape * 2, zero(x.dtype), dtype=object)
        for at in numpy.ndindex(x.shape):
            y[at * 2] = x.array()[at]
        suite.case(f"Diag_{name}", "tf.Diag", [x], from_array(x.dtype, y), tags=tags_for(x, tags))
        wide = varied(x.dtype, x.shape * 2, 12)
        part = numpy.empty(x.shape, dtype=object)
        for at in numpy.ndindex(x.shape):
            part[at] = wide.array()[at * 2]
        suite.case(f"DiagPart_{name}", "tf.DiagPart", [wide], from_array(x.dtype, part), tags=tags_for(x, tags))

    for dtype in TENSOR_DTYPES:
        call(f"{dtype}_vector", varied(dtype, (5,), 2))
        call(f"{dtype}_matrix", varied(dtype, (2, 3), 3))
    for number, shape in enumerate([(1,), (2, 1, 3), (2, 1, 1, 2), (0,), (2, 0), (0, 3, 1)]):
        call(f"shape{number}", varied("f32", shape, 4))
    call("large", varied("i32", (70,), 5), tags=["large"])
    for shape in [(), (1, 1, 1, 1, 1)]:
        x = varied("f32", shape)
        suite.error(f"Diag_rank{len(shape)}", "tf.Diag", [x],
                    f"diagonal must have from one to 4 dimensions, got diagonal: {x}")
    common_errors(suite, "tf.Diag", [varied("f32", (3,))], ["diagonal"], TENSOR_DTYPES, required="one of T")
    for number, shape in enumerate([(), (3,), (2, 3), (2, 3, 2), (2, 3, 3, 2)]):
        x = varied("f32", shape)
        suite.error(f"DiagPart_wrong{number}", "tf.DiagPart", [x],
                    f"input must have the shape of a diagonal twice, got input: {x}")
    common_errors(suite, "tf.DiagPart", [varied("f32", (3, 3))], ["input"], TENSOR_DTYPES, required="one of T")


def add_errors(suite):
    x, zero_band = varied("f32", (2, 3)), scalar("i64", 0)

    def wrong(name, inputs, text):
        suite.error(f"MatrixBandPart_{name}", "tf.MatrixBandPart", inputs, text)

    wrong("vector", [varied("f32", (3,)), zero_band, zero_band],
          "input must have at least two dimensions, got input: f32[3]")
    wrong("lower_too_large", [x, scalar("i64", 3), zero_band],
          "num_lower must be negative or at most the number of rows, got input: f32[2,3], num_lower: 3")
    wrong("upper_too_large", [x, zero_band, scalar("i64", 4)],
          "num_upper must be negative or at most the number of columns, got input: f32[2,3], num_upper: 4")
    wrong("lower_two", [x, vector("i64", [0, 1]), zero_band], "expected one integer for num_lower, got i64[2]")
    wrong("mixed_indices", [x, scalar("i32", 0), zero_band],
          "argument 2 (num_upper) must be i32 like argument 1 (num_lower), got i64[]")
    common_errors(suite, "tf.MatrixBandPart", [x, zero_band, zero_band], ["input"], DTYPES,
                  required="one of T, Tindex")
    suite.error("MatrixDiag_scalar", "tf.MatrixDiag", [varied("f32", ())],
                "diagonal must have at least one dimension, got diagonal: f32[]")
    common_errors(suite, "tf.MatrixDiag", [varied("f32", (3,))], ["diagonal"], DTYPES, required="one of T")
    suite.error("MatrixDiagPart_vector", "tf.MatrixDiagPart", [varied("f32", (3,))],
                "input must have at least two dimensions, got input: f32[3]")
    common_errors(suite, "tf.MatrixDiagPart", [x], ["input"], DTYPES, required="one of T")
