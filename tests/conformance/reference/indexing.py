# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops that select elements by index, or find the indices of elements."""

import math

import numpy

import indexing_choice
import indexing_nd
from case_suite import Suite, Tensor, common_errors, drawn, from_array, scalar, varied, vector
from number_formats import DTYPES, FLOATS, NUMBERS


def gather(params, indices, axis, batch_dims=0):
    axis %= len(params.shape)
    if batch_dims < 0:
        batch_dims += len(indices.shape)
    p, i = params.array(), indices.array()
    if batch_dims == 0:
        return from_array(params.dtype, numpy.take(p, numpy.array(i, dtype=numpy.int64), axis))
    batch = i.shape[:batch_dims]
    shape = p.shape[:axis] + i.shape[batch_dims:] + p.shape[axis + 1:]
    y = numpy.empty(shape, dtype=object)
    for index in numpy.ndindex(batch):
        y[index] = numpy.take(p[index], numpy.array(i[index], dtype=numpy.int64), axis - batch_dims)
    return from_array(params.dtype, y)


def gather_cases(suite):
    def call(name, params, indices, axis=0, batch_dims=None, axis_dtype="i32", tags=()):
        y = gather(params, indices, axis, batch_dims or 0)
        attrs = None if batch_dims is None else {"batch_dims": batch_dims}
        empty = ["empty"] if 0 in params.shape + indices.shape else []
        suite.case(f"GatherV2_{name}", "tf.GatherV2", [params, indices, scalar(axis_dtype, axis)], y, attrs,
                   tags=list(tags) + empty)

    def at(shape, limit, dtype="i32"):
        return Tensor(dtype, shape, [(5 * i + 2) % limit for i in range(math.prod(shape))])

    for dtype in DTYPES:
        call(f"{dtype}_rows", varied(dtype, (4, 3)), vector("i32", [3, 0, 0, 2]))
        call(f"{dtype}_columns", varied(dtype, (2, 5)), vector("i32", [4, 1]), 1)
    for dtype in ("i16", "i32", "i64"):
        call(f"indices_{dtype}", varied("f32", (6, 2)), vector(dtype, [5, 0, 3]))
    for axis in range(-3, 3):
        call(f"rank3_axis{axis}".replace("-", "m"), varied("f32", (3, 4, 2)), at((2, 2), 2), axis)
    for rank in range(5):
        call(f"indices_rank{rank}", varied("f32", (5, 2)), at((2, 1, 2, 3)[:rank], 5))
    for rank, axis in [(1, 0), (4, 2), (5, 2), (6, 5)]:
        call(f"params_rank{rank}", varied("f32", (3, 2, 3, 1, 2, 3)[:rank]), at((4,), 3), axis)
    call("axis_i64", varied("f32", (2, 3)), at((2,), 3), 1, axis_dtype="i64")
    call("scalar_index", varied("f32", (4, 3)), scalar("i32", 2))
    call("scalar_index_of_vector", varied("f32", (4,)), scalar("i32", 2))
    call("no_indices", varied("f32", (4, 3)), vector("i32", []))
    call("no_indices_of_empty", varied("f32", (0, 3)), vector("i32", []))
    call("empty_slices", varied("f32", (4, 0)), at((3,), 4))
    call("batch1", varied("f32", (2, 4)), at((2, 3), 4), 1, 1)
    call("batch1_rank3", varied("f32", (2, 4, 3)), at((2, 3), 4), 1, 1)
    call("batch1_axis2", varied("f32", (2, 3, 4)), at((2, 2), 4), 2, 1)
    call("batch2", varied("f32", (2, 2, 4)), at((2, 2, 3), 4), 2, 2)
    call("batch_negative", varied("f32", (2, 4)), at((2, 3), 4), 1, -1)
    call("batch_negative_2", varied("f32", (2, 4)), at((2, 3), 4), 1, -2)
    call("batch_all", varied("f32", (2, 4)), at((2,), 4), 1, 1)
    call("batch_0", varied("f32", (2, 4)), at((2,), 2), 0, 0)
    call("batch_empty", varied("f32", (0, 4)), Tensor("i32", (0, 3), []), 1, 1)
    call("inplace", varied("f32", (20, 3)), at((20,), 20), tags=["inplace"])
    call("large", drawn("f32", (70, 13), 4, -1, 1), at((90,), 70), tags=["large"])
    call("large_columns", drawn("f32", (13, 70), 4, -1, 1), at((90,), 70), 1, tags=["large"])
    gather_errors(suite)


def gather_errors(suite):
    def wrong(name, params, indices, axis, text, attrs=None):
        axis = axis if isinstance(axis, Tensor) else scalar("i32", axis)
        suite.error(f"GatherV2_{name}", "tf.GatherV2", [params, indices, axis], text, attrs)

    params, indices = varied("f32", (4, 3)), vector("i32", [0, 1])
    wrong("beyond", params, vector("i32", [0, 4]), 0, "indices must be in [0, 4), got 4 at position [1]")
    wrong("negative", params, vector("i32", [-1, 0]), 0, "indices must be in [0, 4), got -1 at position [0]")
    wrong("beyond_i64", params, vector("i64", [1, 0, 2**32]), 1,
          f"indices must be in [0, 3), got {2**32} at position [2]")
    wrong("beyond_i16", params, vector("i16", [0, -32768]), 1, "indices must be in [0, 3), got -32768 at position [1]")
    wrong("beyond_matrix", params, Tensor("i32", (2, 2), [0, 1, 9, 2]), 0,
          "indices must be in [0, 4), got 9 at position [1,0]")
    wrong("beyond_scalar", params, scalar("i32", 7), 0, "indices must be in [0, 4), got 7 at position []")
    wrong("of_nothing", varied("f32", (0, 3)), vector("i32", [0]), 0,
          "indices must be in [0, 0), got 0 at position [0]")
    wrong("scalar_params", varied("f32", ()), indices, 0, "params must have at least one dimension, got params: f32[]")
    for axis in (2, -3):
        wrong(f"axis{axis}".replace("-", "m"), params, indices, axis, f"axis must be in [-2, 2), got {axis}")
    wrong("axis_vector", params, indices, vector("i32", [0, 1]), "expected one integer for axis, got i32[2]")
    wrong("float_indices", params, vector("f32", [0.0]), 0,
          "argument 1 (indices) must be one of {i16, i32, i64}, got f32[1]")
    for name, batch_dims, axis in [("after_axis", 1, 0), ("beyond_rank", 2, 1), ("negative", -2, 1)]:
        wrong(f"wrong_batch_{name}", params, indices, axis,
              "batch_dims must be at most axis and the rank of indices, got "
              f"batch_dims: {batch_dims}, axis: {axis}, params: f32[4,3], indices: i32[2]", {"batch_dims": batch_dims})
    wrong("batch_mismatch", params, Tensor("i32", (2, 2), [0] * 4), 1,
          "params and indices must agree in the first 1 dimensions, got params: f32[4,3], indices: i32[2,2]",
          {"batch_dims": 1})
    wrong("rank9", varied("f32", (1,) * 6), Tensor("i32", (1,) * 4, [0]), 0,
          "the result must have at most 8 dimensions, got params: f32[1,1,1,1,1,1], indices: i32[1,1,1,1]")
    common_errors(suite, "tf.GatherV2", [params, indices, scalar("i32", 0)], ["params"], DTYPES,
                  required="one of batch_dims, Tparams, Tindices, Taxis")


def unique_cases(suite):
    def call(name, x, out_idx=None, tags=()):
        found, idx = [], []
        for value in x.values:
            place = next((i for i, other in enumerate(found) if other == value), len(found))
            if place == len(found):
                found.append(value)
            idx.append(place)
        suite.case(f"Unique_{name}", "tf.Unique", [x], [vector(x.dtype, found), vector(out_idx or "i32", idx)],
                   out_idx and {"out_idx": out_idx}, tags=list(tags) + ([] if idx else ["empty"]))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (30,), 4))
        call(f"{dtype}_empty", varied(dtype, (0,)))
        call(f"{dtype}_same", Tensor(dtype, (5,), varied(dtype, (3,)).values[:1] * 5))
    call("out_i32", varied("i32", (9,)), "i32")
    call("out_i64", varied("i32", (9,)), "i64")
    call("all_distinct", vector("i32", list(range(40, 0, -1))))
    call("large", Tensor("i64", (1200,), [(i * i) % 331 for i in range(1200)]), tags=["large"])
    call("inplace", varied("f32", (40,)), tags=["inplace"])
    for dtype in FLOATS:
        call(f"{dtype}_special", vector(dtype, [0.0, -0.0, math.nan, math.inf, math.nan, -math.inf, math.inf, 1.0]),
             tags=["special"])
        call(f"{dtype}_negative_zero_first", vector(dtype, [-0.0, 0.0, 1.0]), tags=["special"])
    call("c64_special",
         vector("c64", [complex(0.0, -0.0), complex(-0.0, 0.0), complex(math.nan, 0), complex(math.nan, 0)]))
    for shape in [(), (2, 3)]:
        x = varied("f32", shape)
        suite.error(f"Unique_rank{len(shape)}", "tf.Unique", [x], f"x must be a vector, got x: {x}")
    suite.error("Unique_out_f32", "tf.Unique", [varied("f32", (2,))],
                "attribute out_idx must be one of {i32, i64}, got f32", {"out_idx": "f32"})
    common_errors(suite, "tf.Unique", [varied("f32", (2,))], ["x"], DTYPES, required="one of T, out_idx")


def where_cases(suite):
    def call(name, x, tags=()):
        array = x.array()
        rows = [index for index in numpy.ndindex(x.shape) if array[index] != 0]
        y = Tensor("i64", (len(rows), len(x.shape)), [i for row in rows for i in row])
        suite.case(f"Where_{name}", "tf.Where", [x], y, tags=list(tags) + (["empty"] if 0 in x.shape else []))

    for dtype in ["bool"] + NUMBERS:
        values = varied(dtype, (3, 5), 6).values
        zero = False if dtype == "bool" else type(values[0])(0)
        call(dtype, Tensor(dtype, (3, 5), [zero if i % 3 == 1 else value for i, value in enumerate(values)]))
    for shape in [(), (7,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2), (1,) * 8]:
        call(f"rank{len(shape)}", varied("bool", shape, 9))
    call("true_scalar", scalar("bool", True))
    call("false_scalar", scalar("bool", False))
    call("none", Tensor("bool", (3, 3), [False] * 9))
    call("all", Tensor("bool", (3, 3), [True] * 9))
    call("empty", varied("bool", (0,)))
    call("empty_middle", varied("f32", (2, 0, 3)))
    call("large", varied("bool", (23, 50), 10), tags=["large"])
    for dtype in FLOATS:
        call(f"{dtype}_special", vector(dtype, [0.0, -0.0, math.nan, math.inf, -math.inf, 1.0]), tags=["special"])
    call("c64_parts", vector("c64", [0j, 1 + 0j, 1j, complex(0.0, -0.0), complex(math.nan, 0.0)]))
    common_errors(suite, "tf.Where", [varied("bool", (2,))], ["input"], ["bool"] + NUMBERS, required="one of T")


def suite():
    result = Suite()
    gather_cases(result)
    unique_cases(result)
    where_cases(result)
    indexing_nd.add_cases(result)
    indexing_choice.add_cases(result)
    return result
