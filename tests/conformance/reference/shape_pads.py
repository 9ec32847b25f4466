# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of PadV2 and MirrorPad."""

import math

import numpy

from case_suite import Tensor, common_errors, drawn, from_array, scalar, varied, vector
from number_formats import DTYPES, FLOATS


def tags_for(*tensors):
    return ["empty"] if any(0 in tensor.shape for tensor in tensors) else []


def rows(paddings, dtype="i32"):
    return Tensor(dtype, (len(paddings), 2), [n for row in paddings for n in row])


SHAPES = [
    ("scalar", (), []), ("vector", (3,), [(2, 1)]), ("nothing", (2, 3), [(0, 0), (0, 0)]),
    ("before", (3, 3), [(2, 0), (0, 0)]), ("after", (2, 3), [(0, 0), (0, 2)]),
    ("rank3", (2, 1, 3), [(0, 1), (0, 0), (2, 0)]), ("images", (1, 3, 4, 3), [(0, 0), (1, 2), (2, 1), (0, 0)]),
    ("images_first", (1, 2, 3, 4), [(0, 0), (0, 0), (1, 2), (3, 1)]), ("outer", (3, 2, 5), [(1, 2), (0, 0), (0, 0)]),
    ("rank5", (2, 2, 1, 2, 3), [(1, 0), (0, 0), (0, 0), (0, 1), (1, 2)]),
    ("rank6", (1, 2, 1, 2, 2, 2), [(0, 0), (1, 0), (0, 0), (0, 1), (1, 1), (0, 0)]),
    ("rank8", (1, 2, 1, 2, 1, 1, 2, 2), [(0, 0), (1, 1), (0, 0), (0, 1), (0, 0), (0, 0), (1, 0), (1, 1)])]


def padding_errors(suite, op, make):
    """What paddings must be for each op; `make` gives the inputs for paddings."""
    short = op.split(".")[1]
    attrs = {"mode": "SYMMETRIC"} if short == "MirrorPad" else None

    def wrong(name, shape, values, text):
        suite.error(f"{short}_{name}", op, make(Tensor("i64", shape, values)), text, attrs)

    wrong("negative", (2, 2), [0, 0, -1, 0], "paddings must be at least 0 and dimensions at most 2^63-1, got input: "
          "f32[2,3], paddings of dimension 1: [-1,0]")
    wrong("dimension_overflow", (2, 2), [2**63 - 1, 0, 0, 0], "paddings must be at least 0 and dimensions at most "
          f"2^63-1, got input: f32[2,3], paddings of dimension 0: [{2**63 - 1},0]")
    for name, shape in [("rows", (3, 2)), ("columns", (2, 3)), ("flat", (4,)), ("no_rows", (0, 2))]:
        wrong(name, shape, [0] * math.prod(shape), "paddings must have two elements for each dimension of input, got "
              f"input: f32[2,3], paddings: {Tensor('i64', shape, [0] * math.prod(shape))}")
    inputs = make(rows([(0, 0), (0, 0)]))
    suite.error(f"{short}_float_paddings", op, make(Tensor("f32", (2, 2), [0.0] * 4)),
                "argument 1 (paddings) must be one of {i32, i64}, got f32[2,2]", attrs)
    required = "one of T, Tpaddings, mode" if attrs else "one of T, Tpaddings"
    common_errors(suite, op, inputs, ["input"], DTYPES, attrs, required)


def pad_v2_cases(suite):
    def call(name, x, paddings, value=None, dtype="i32", tags=()):
        value = value or Tensor(x.dtype, (), varied(x.dtype, (9,), 3).values[-1:])
        y = numpy.empty([dim + sum(row) for dim, row in zip(x.shape, paddings)], dtype=object)
        y[...] = value.values[0]
        y[tuple(slice(row[0], row[0] + dim) for dim, row in zip(x.shape, paddings))] = x.array()[()]
        suite.case(f"PadV2_{name}", "tf.PadV2", [x, rows(paddings, dtype), value], from_array(x.dtype, y),
                   tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (2, 3)), [(1, 0), (2, 1)])
    for name, shape, paddings in SHAPES:
        call(name, varied("f32", shape), paddings)
    call("more_than_the_size", varied("f32", (2, 1)), [(5, 0), (0, 7)])
    call("empty", varied("f32", (0, 2)), [(1, 1), (0, 1)])
    call("still_empty", varied("f32", (0, 2)), [(0, 0), (1, 1)])
    call("paddings_i64", varied("f32", (2, 3)), [(1, 0), (2, 1)], dtype="i64")
    for dtype in FLOATS:
        for name, value in [("nan", math.nan), ("minus_inf", -math.inf), ("minus_zero", -0.0)]:
            call(f"{dtype}_{name}", varied(dtype, (2,)), [(1, 2)], scalar(dtype, value), tags=["special"])
    call("c64_minus_zero", varied("c64", (2,)), [(1, 2)], scalar("c64", complex(-0.0, math.inf)), tags=["special"])
    call("inplace", varied("f32", (4, 5)), [(0, 0), (0, 0)], tags=["inplace"])
    call("large", drawn("f32", (25, 31), 6, -1, 1), [(3, 4), (2, 5)], tags=["large"])
    x, value = varied("f32", (2, 3)), scalar("f32", 1.0)
    zeros = rows([(0, 0), (0, 0)])
    suite.error("PadV2_value_vector", "tf.PadV2", [x, zeros, vector("f32", [1.0])],
                "constant_values must be a scalar, got constant_values: f32[1]")
    suite.error("PadV2_value_dtype", "tf.PadV2", [x, zeros, scalar("f64", 1.0)],
                "argument 2 (constant_values) must be f32 like argument 0 (input), got f64[]")
    suite.error("PadV2_count_overflow", "tf.PadV2", [x, rows([(2**40, 0), (2**40, 0)], "i64"), value],
                "the result must have at most 2^63-1 elements, got input: f32[2,3], paddings: i64[2,2]")
    padding_errors(suite, "tf.PadV2", lambda paddings: [x, paddings, value])


def mirror_pad_cases(suite):
    def call(name, x, paddings, mode, dtype="i32", tags=()):
        y = numpy.pad(x.array(), paddings, mode=mode.lower()) if paddings else x.array()
        suite.case(f"MirrorPad_{mode.lower()}_{name}", "tf.MirrorPad", [x, rows(paddings, dtype)],
                   from_array(x.dtype, y), {"mode": mode}, tags=list(tags) + tags_for(x))

    for mode in ("REFLECT", "SYMMETRIC"):
        for dtype in DTYPES:
            call(dtype, varied(dtype, (3, 4)), [(1, 2), (3, 1)], mode)
        for name, shape, paddings in SHAPES:
            reflect = mode == "REFLECT"
            fitting = [tuple(min(n, dim - reflect) for n in row) for dim, row in zip(shape, paddings)]
            call(name, varied("f32", shape), fitting, mode)
        call("at_most", varied("f32", (3, 2)), [(2, 2), (1, 1)] if mode == "REFLECT" else [(3, 3), (2, 2)], mode)
        call("paddings_i64", varied("f32", (2, 3)), [(1, 0), (2, 1)], mode, "i64")
        call("still_empty", varied("f32", (0, 3)), [(0, 0), (1, 1)], mode)
        call("inplace", varied("f32", (4, 5)), [(0, 0), (0, 0)], mode, tags=["inplace"])
        call("large", drawn("f32", (25, 31), 6, -1, 1), [(3, 4), (20, 29)], mode, tags=["large"])
        call("large_pixels", drawn("u8", (12, 20, 3), 6, 0, 256), [(3, 4), (11, 7), (0, 0)], mode, tags=["large"])
    x = varied("f32", (2, 3))
    for mode, paddings, dim, limit in [("REFLECT", [(0, 0), (3, 0)], 1, 2), ("REFLECT", [(0, 2), (0, 0)], 0, 1),
                                       ("SYMMETRIC", [(0, 0), (0, 4)], 1, 3), ("SYMMETRIC", [(3, 2), (0, 0)], 0, 2)]:
        row = paddings[dim]
        suite.error(f"MirrorPad_{mode.lower()}_too_much_{dim}", "tf.MirrorPad", [x, rows(paddings)],
                    f"paddings must be at most {limit} for dimension {dim} in this mode, got input: f32[2,3], paddings "
                    f"of dimension {dim}: [{row[0]},{row[1]}]", {"mode": mode})
    suite.error("MirrorPad_of_empty", "tf.MirrorPad", [varied("f32", (0,)), rows([(1, 0)])],
                "paddings must be at most 0 for dimension 0 in this mode, got input: f32[0], paddings of dimension 0: "
                "[1,0]", {"mode": "SYMMETRIC"})
    zeros = rows([(0, 0), (0, 0)])
    suite.error("MirrorPad_no_mode", "tf.MirrorPad", [x, zeros],
                "attribute mode is required, expected mode: {'REFLECT', 'SYMMETRIC'}")
    suite.error("MirrorPad_wrong_mode", "tf.MirrorPad", [x, zeros],
                "attribute mode must be one of 'REFLECT', 'SYMMETRIC', got 'EDGE'", {"mode": "EDGE"})
    padding_errors(suite, "tf.MirrorPad", lambda paddings: [x, paddings])


def add_cases(suite):
    pad_v2_cases(suite)
    mirror_pad_cases(suite)
