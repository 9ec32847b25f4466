# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of TopKV2 and UniqueV2."""

import math

import numpy

from case_suite import Tensor, common_errors, drawn, from_array, scalar, specials, varied, vector
from number_formats import DTYPES, FLOATS, REALS


def tags_for(*tensors):
    return ["empty"] if any(0 in tensor.shape for tensor in tensors) else []


def largest(values, k):
    """Where the k largest are: NaN first, then in descending order, the lower index first."""
    def key(i):
        return (0, 0, i) if values[i] != values[i] else (1, -values[i], i)

    return sorted(range(len(values)), key=key)[:k]


def top_k_cases(suite):
    def call(name, x, k, k_dtype="i32", attrs=None, tags=()):
        index_type = (attrs or {}).get("index_type", "i32")
        array = x.array()
        values = numpy.empty(x.shape[:-1] + (k,), dtype=object)
        indices = numpy.empty(values.shape, dtype=object)
        for row in numpy.ndindex(x.shape[:-1]):
            chosen = largest(array[row], k)
            indices[row] = chosen
            values[row] = [array[row][i] for i in chosen]
        suite.case(f"TopKV2_{name}", "tf.TopKV2", [x, scalar(k_dtype, k)],
                   [from_array(x.dtype, values), from_array(index_type, indices)], attrs,
                   tags=list(tags) + tags_for(x, Tensor("i32", (k,), [0] * k)))

    for dtype in REALS:
        call(dtype, varied(dtype, (3, 12)), 4)
        call(f"{dtype}_all", varied(dtype, (20,)), 20)
        call(f"{dtype}_large", drawn(dtype, (2, 300), 5, *((0, 200) if dtype.startswith("u") else (-100, 100))), 9,
             tags=["large"])
        if dtype in FLOATS:
            call(f"{dtype}_special", vector(dtype, specials(dtype)), 16, tags=["special"])
            call(f"{dtype}_nan", vector(dtype, [1.0, math.nan, math.inf, math.nan, -math.inf]), 5, tags=["special"])
            call(f"{dtype}_zeros", vector(dtype, [-1.0, -0.0, 0.0, -0.0, 0.0]), 3, tags=["special"])
    for k in (0, 1, 2, 6, 7):
        call(f"k{k}", varied("f32", (2, 7)), k)
    for dtype in ("i16", "i32", "i64"):
        call(f"k_{dtype}", varied("f32", (7,)), 3, dtype)
        call(f"index_{dtype}", varied("f32", (7,)), 3, attrs={"index_type": dtype})
    for sort in (True, False):
        call(f"sorted_{sort}", varied("f32", (9,)), 4, attrs={"sorted": sort})
    for rank in (1, 3, 4, 5, 6, 8):
        call(f"rank{rank}", varied("f32", (2, 1, 2, 1, 1, 2, 1)[:rank - 1] + (5,)), 2)
    call("ties", vector("i32", [3, 1, 3, 3, 1, 2, 3]), 3)
    call("ties_large", Tensor("i8", (700,), [i % 3 for i in range(700)]), 250, tags=["large"])
    call("equal_large", Tensor("f32", (700,), [0.5] * 700), 5, tags=["large"])
    call("ascending_large", Tensor("i32", (900,), list(range(900))), 7, tags=["large"])
    call("descending_large", Tensor("i32", (900,), list(range(900, 0, -1))), 7, tags=["large"])
    call("many_large", drawn("i64", (900,), 4, -2**40, 2**40), 400, tags=["large"])
    call("most_large", drawn("f32", (900,), 4, -1, 1), 890, tags=["large"])
    for k in (1, 3, 25):
        call(f"parallel_{k}", drawn("f32", (40, 3001), 4, -1, 1), k, tags=["large"])
    call("parallel_i64", drawn("i64", (30, 2000), 4, 0, 500), 20, tags=["large"])
    call("no_rows", varied("f32", (0, 3)), 2)
    call("empty_rows", varied("f32", (2, 0)), 0)
    call("inplace", varied("f32", (5, 9)), 9, tags=["inplace"])
    x = varied("f32", (2, 3))
    for k in (4, -1):
        suite.error(f"TopKV2_k{k}".replace("-", "m"), "tf.TopKV2", [x, scalar("i32", k)],
                    f"k must be in [0, 3], the last dimension of input, got k: {k}, input: f32[2,3]")
    suite.error("TopKV2_scalar", "tf.TopKV2", [scalar("f32", 1.0), scalar("i32", 0)],
                "input must have at least one dimension, got input: f32[]")
    suite.error("TopKV2_k_vector", "tf.TopKV2", [x, vector("i32", [1, 2])], "expected one integer for k, got i32[2]")
    suite.error("TopKV2_k_float", "tf.TopKV2", [x, scalar("f32", 1.0)],
                "argument 1 (k) must be one of {i16, i32, i64}, got f32[]")
    suite.error("TopKV2_index_type", "tf.TopKV2", [x, scalar("i32", 1)],
                "attribute index_type must be one of {i16, i32, i64}, got u8", {"index_type": "u8"})
    suite.error("TopKV2_index_too_narrow", "tf.TopKV2", [varied("f32", (0, 2**15 + 1)), scalar("i32", 1)],
                "indices must fit in i16, got input: f32[0,32769]; set index_type to a wider one",
                {"index_type": "i16"})
    common_errors(suite, "tf.TopKV2", [x, scalar("i32", 1)], ["input"], REALS,
                  required="one of sorted, T, Tk, index_type")


def unique_v2_cases(suite):
    def call(name, x, axis, axis_dtype="i64", out_idx=None, tags=()):
        slices = numpy.moveaxis(x.array(), axis[0] if axis else 0, 0)
        found, idx = [], []
        for i in range(slices.shape[0]):
            item = [slices[i]] if slices.ndim == 1 else slices[i].reshape(-1).tolist()
            place = next((n for n, other in enumerate(found) if all(a == b for a, b in zip(other[0], item))),
                         len(found))
            if place == len(found):
                found.append((item, i))
            idx.append(place)
        y = numpy.take(x.array(), [i for _, i in found], axis[0] if axis else 0)
        suite.case(f"UniqueV2_{name}", "tf.UniqueV2", [x, vector(axis_dtype, list(axis))],
                   [from_array(x.dtype, y), vector(out_idx or "i32", idx)], out_idx and {"out_idx": out_idx},
                   tags=list(tags) + tags_for(x))

    def repeating(dtype, shape, period=3):
        """Whose slices along each axis come again after `period`."""
        source = varied(dtype, (period,) * max(len(shape), 1), 4).array()
        y = numpy.empty(shape, dtype=object)
        for index in numpy.ndindex(y.shape):
            y[index] = source[tuple(i % period for i in index)]
        return from_array(dtype, y)

    for dtype in DTYPES:
        call(f"{dtype}_vector", varied(dtype, (30,), 4), (0,))
        call(f"{dtype}_rows", repeating(dtype, (7, 3)), (0,))
        call(f"{dtype}_columns", repeating(dtype, (2, 8)), (1,))
    call("no_axis", varied("i8", (20,), 4), ())
    for axis in range(-3, 3):
        call(f"rank3_axis{axis}".replace("-", "m"), repeating("i32", (5, 4, 7)), (axis,))
    for rank in (1, 4, 5, 6):
        call(f"rank{rank}", repeating("i32", (4, 1, 2, 1, 2, 2)[:rank], 2), (0,))
    call("rank8", repeating("u8", (1, 2, 1, 2, 1, 2, 5, 2), 2), (6,))
    for dtype in ("i32", "i64"):
        call(f"axis_{dtype}", repeating("f32", (5, 2)), (0,), dtype)
        call(f"out_{dtype}", repeating("f32", (5, 2)), (0,), out_idx=dtype)
    for dtype in FLOATS:
        rows = [0.0, 1.0, -0.0, 1.0, math.nan, 1.0, math.inf, 2.0, math.nan, 1.0, math.inf, 2.0]
        call(f"{dtype}_special", Tensor(dtype, (6, 2), rows), (0,), tags=["special"])
    call("empty", varied("f32", (0,)), (0,))
    call("no_rows", varied("f32", (0, 3)), (0,))
    call("empty_rows", varied("f32", (4, 0)), (0,))
    call("all_distinct", Tensor("i32", (70, 2), list(range(140))), (0,))
    call("large", repeating("i32", (60, 20), 7), (0,), tags=["large"])
    call("large_columns", repeating("i32", (20, 60), 7), (1,), tags=["large"])
    call("inplace", varied("f32", (40,)), (0,), tags=["inplace"])
    call("growing", Tensor("i32", (1500, 2), [(i * i) % 1009 for i in range(3000)]), (0,), tags=["large"])
    x = varied("f32", (2, 3))

    def wrong(name, tensor, axis, text):
        suite.error(f"UniqueV2_{name}", "tf.UniqueV2", [tensor, axis], text)

    for axis in (2, -3):
        wrong(f"axis{axis}".replace("-", "m"), x, vector("i64", [axis]), f"axis must be in [-2, 2), got {axis}")
    for name, tensor, axis in [("no_axis_of_matrix", x, vector("i64", [])), ("two_axes", x, vector("i64", [0, 1])),
                               ("scalar_axis", x, scalar("i64", 0)),
                               ("no_axis_of_scalar", scalar("f32", 1.0), vector("i64", []))]:
        wrong(name, tensor, axis, "axis must be a vector of one element, or of none if x is a vector, got "
              f"x: {tensor}, axis: {axis}")
    wrong("axis_of_scalar", scalar("f32", 1.0), vector("i64", [0]), "axis must be in [0, 0), got 0")
    wrong("float_axis", x, vector("f32", [0.0]), "argument 1 (axis) must be one of {i32, i64}, got f32[1]")
    common_errors(suite, "tf.UniqueV2", [x, vector("i64", [0])], ["x"], DTYPES, required="one of T, Taxis, out_idx")


def add_cases(suite):
    top_k_cases(suite)
    unique_v2_cases(suite)
