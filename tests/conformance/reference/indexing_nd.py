# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of ops with indices in several dimensions: GatherNd, ScatterNd, TensorScatterUpdate, TensorScatterAdd; and of
UnsortedSegmentSum."""

import math

import numpy

from case_suite import Tensor, common_errors, drawn, from_array, scalar, varied, vector
from number_formats import DTYPES, FLOATS, INTS, NUMBERS, Fraction, convert, round_to, wrap


def tags_for(*tensors):
    return ["empty"] if any(0 in tensor.shape for tensor in tensors) else []


def rows_of(indices):
    """The rows of an index tensor, by position."""
    array = indices.array()
    return [(position, tuple(int(i) for i in array[position])) for position in numpy.ndindex(array.shape[:-1])]


def spread(shape, limits, dtype="i32", seed=2):
    """Indices into dimensions of these sizes, in a tensor of shape `shape` and a last dimension for them."""
    values = [(5 * i + seed * (d + 1) + i * i * d) % limit for i in range(math.prod(shape))
              for d, limit in enumerate(limits)]
    return Tensor(dtype, tuple(shape) + (len(limits),), values)


def real_sum(dtype, values):
    """Rounded once."""
    if all(map(math.isfinite, values)):
        return round_to(dtype, sum(map(Fraction, values)))
    return float(sum(values))


def add_up(dtype, values):
    if dtype == "bool":
        return any(values)
    if dtype == "string":
        return "".join(values)
    if dtype in INTS:
        return wrap(dtype, sum(values))
    if dtype == "c64":
        return complex(real_sum("f32", [v.real for v in values]), real_sum("f32", [v.imag for v in values]))
    return real_sum(dtype, values)


def zero(dtype):
    return "" if dtype == "string" else convert(dtype, 0)


def add_at(dtype, array, targets):
    """`array` plus the updates: pairs of an index into its first dimensions and a slice."""
    terms = numpy.empty(array.shape, dtype=object)
    for index in numpy.ndindex(array.shape):
        terms[index] = [array[index]]
    for index, update in targets:
        update = numpy.asarray(update, dtype=object)
        for inner in numpy.ndindex(update.shape):
            terms[index + inner].append(update[inner])
    result = numpy.empty(array.shape, dtype=object)
    for index in numpy.ndindex(array.shape):
        result[index] = add_up(dtype, terms[index])
    return from_array(dtype, result)


def gather_nd_cases(suite):
    def call(name, params, indices, tags=()):
        array = params.array()
        y = numpy.empty(indices.shape[:-1] + params.shape[indices.shape[-1]:], dtype=object)
        for position, index in rows_of(indices):
            y[position] = array[index]
        suite.case(f"GatherNd_{name}", "tf.GatherNd", [params, indices], from_array(params.dtype, y),
                   tags=list(tags) + tags_for(params, indices))

    for dtype in DTYPES:
        call(f"{dtype}_elements", varied(dtype, (3, 4)), spread((5,), (3, 4)))
        call(f"{dtype}_rows", varied(dtype, (4, 3)), spread((3,), (4,)))
    for dtype in ("i16", "i32", "i64"):
        call(f"indices_{dtype}", varied("f32", (2, 3)), spread((4,), (2, 3), dtype))
    for depth in range(4):
        for rank in range(3):
            call(f"depth{depth}_rank{rank}", varied("f32", (2, 3, 4)), spread((2, 3)[:rank], (2, 3, 4)[:depth]))
    call("rank1", varied("f32", (5,)), spread((2, 2), (5,)))
    call("rank6", varied("f32", (2, 1, 3, 1, 2, 2)), spread((3,), (2, 1, 3, 1, 2)))
    call("rank8", varied("u8", (2,) * 8), spread((5,), (2,) * 8))
    call("result_rank8", varied("f32", (2,) * 5), spread((2, 1, 2, 1), (2,)))
    call("no_indices", varied("f32", (2, 3)), spread((0,), (2,)))
    call("no_indices_of_empty", varied("f32", (0, 3)), spread((0,), (2,)))
    call("empty_slices", varied("f32", (2, 0)), spread((3,), (2,)))
    call("inplace", varied("f32", (20, 3)), spread((20,), (20,)), tags=["inplace"])
    call("large", drawn("f32", (30, 20), 4, -1, 1), spread((40, 20), (30, 20)), tags=["large"])
    call("large_rows", drawn("f32", (70, 13), 4, -1, 1), spread((90,), (70,)), tags=["large"])

    def wrong(name, params, indices, text):
        suite.error(f"GatherNd_{name}", "tf.GatherNd", [params, indices], text)

    x = varied("f32", (3, 4))
    for name, dtype, rows, bad, position in [
            ("beyond", "i32", [(0, 0), (3, 1)], "[3,1]", "[1]"),
            ("beyond_last", "i32", [(2, 4), (0, 0)], "[2,4]", "[0]"),
            ("negative", "i32", [(0, -1)], "[0,-1]", "[0]"), ("beyond_i64", "i64", [(2**62, 0)], f"[{2**62},0]", "[0]"),
            ("beyond_i16", "i16", [(0, -32768)], "[0,-32768]", "[0]")]:
        wrong(name, x, Tensor(dtype, (len(rows), 2), [i for row in rows for i in row]),
              f"indices must lie within dimensions [3,4], got {bad} at position {position}")
    wrong("beyond_row", x, Tensor("i32", (2, 2, 1), [0, 1, 2, 3]),
          "indices must lie within dimensions [3], got [3] at position [1,1]")
    wrong("beyond_vector", x, vector("i32", [7]), "indices must lie within dimensions [3], got [7] at position []")
    wrong("of_nothing", varied("f32", (0, 3)), Tensor("i32", (1, 1), [0]),
          "indices must lie within dimensions [0], got [0] at position [0]")
    wrong("scalar_params", varied("f32", ()), vector("i32", [0]),
          "params must have at least one dimension, got params: f32[]")
    wrong("scalar_indices", x, scalar("i32", 0), "indices must have at least one dimension, got indices: i32[]")
    wrong("too_deep", x, Tensor("i32", (1, 3), [0] * 3), "indices must have at most one index for each dimension of "
          "params, got params: [3,4], indices: i32[1,3]")
    wrong("rank9", varied("f32", (1,) * 5), Tensor("i32", (1,) * 6, [0]),
          "the result must have at most 8 dimensions, got params: f32[1,1,1,1,1], indices: i32[1,1,1,1,1,1]")
    wrong("float_indices", x, vector("f32", [0.0]), "argument 1 (indices) must be one of {i16, i32, i64}, got f32[1]")
    common_errors(suite, "tf.GatherNd", [x, vector("i32", [0])], ["params"], DTYPES,
                  required="one of Tparams, Tindices")


ADDABLE = ["bool"] + NUMBERS


def wrong_indices(suite, op, make):
    """What every op that scatters says of indices into f32[3,4]; `make` gives the inputs for indices and updates."""
    short = op.split(".")[1]

    def wrong(name, indices, updates, text):
        suite.error(f"{short}_{name}", op, make(indices, varied("f32", updates)), text)

    wrong("beyond", Tensor("i32", (2, 2), [0, 0, 3, 1]), (2,),
          "indices must lie within dimensions [3,4], got [3,1] at position [1]")
    wrong("negative", Tensor("i64", (2, 2), [0, -1, 9, 9]), (2,),
          "indices must lie within dimensions [3,4], got [0,-1] at position [0]")
    wrong("beyond_row", Tensor("i32", (2, 2, 1), [0, 1, 2, 3]), (2, 2, 4),
          "indices must lie within dimensions [3], got [3] at position [1,1]")
    wrong("scalar_indices", scalar("i32", 0), (4,), "indices must have at least one dimension, got indices: i32[]")
    name = "shape" if short == "ScatterNd" else "tensor"
    wrong("too_deep", Tensor("i32", (1, 3), [0] * 3), (1,), "indices must have at most one index for each dimension of "
          f"{name}, got {name}: [3,4], indices: i32[1,3]")
    for case, shape in [("few_updates", (1, 4)), ("short_updates", (2, 3)), ("flat_updates", (8,)), ("scalar", ())]:
        wrong(f"updates_{case}", Tensor("i32", (2, 1), [0, 1]), shape, f"updates must have shape [2,4], got {name}: "
              f"[3,4], indices: i32[2,1], updates: {varied('f32', shape)}")


def scatter_nd_cases(suite):
    def call(name, indices, updates, shape, tags=(), ulp=0, abs_tolerance=0):
        start = numpy.full(shape, None, dtype=object)
        for index in numpy.ndindex(start.shape):
            start[index] = zero(updates.dtype)
        array = updates.array()
        y = add_at(updates.dtype, start, [(index, array[position]) for position, index in rows_of(indices)])
        suite.case(f"ScatterNd_{name}", "tf.ScatterNd", [indices, updates, vector(indices.dtype, list(shape))], y,
                   tags=list(tags) + tags_for(indices, y), ulp=ulp, abs_tolerance=abs_tolerance)

    for dtype in DTYPES:
        call(f"{dtype}_elements", spread((7,), (2, 3)), varied(dtype, (7,)), (2, 3))
        call(f"{dtype}_rows", spread((5,), (4,)), varied(dtype, (5, 3)), (4, 3))
    for dtype in ("i16", "i32", "i64"):
        call(f"indices_{dtype}", spread((4,), (2, 3), dtype), varied("f32", (4,)), (2, 3))
    for depth in range(4):
        for rank in range(3):
            shape = (2, 3, 4)
            indices = spread((2, 3)[:rank], shape[:depth])
            call(f"depth{depth}_rank{rank}", indices, varied("f32", indices.shape[:-1] + shape[depth:]), shape)
    call("to_scalar", Tensor("i32", (3, 0), []), varied("f32", (3,)), ())
    call("rank6", spread((4,), (2, 1, 3, 1, 2)), varied("f32", (4, 2)), (2, 1, 3, 1, 2, 2))
    call("no_updates", spread((0,), (2,)), varied("f32", (0, 3)), (2, 3))
    call("to_empty", spread((0,), (2,)), varied("f32", (0, 3)), (0, 3))
    call("empty_slices", spread((3,), (2,)), varied("f32", (3, 0)), (2, 0))
    for dtype in FLOATS:
        values = [math.inf, -math.inf, math.inf, math.nan, 1.0, -0.0]
        call(f"{dtype}_special", Tensor("i32", (6, 1), [0, 0, 1, 2, 2, 3]), vector(dtype, values), (5,))
    for dtype, one, small in [("f16", 1.0, 2.0**-11), ("bf16", 1.0, 2.0**-8)]:
        call(f"{dtype}_rounds_once", Tensor("i32", (4, 1), [0] * 4), vector(dtype, [one, small, small, small]), (2,))
    for dtype in ("i32", "string"):
        call(f"{dtype}_same_place", Tensor("i32", (20, 1), [3] * 20), varied(dtype, (20,)), (5,))
    call("string_to_empty", spread((0,), (2,)), varied("string", (0, 3)), (0, 3))
    call("inplace", spread((20,), (20,)), varied("f32", (20, 3)), (20, 3), tags=["inplace"])
    call("large_elements", spread((300,), (40,)), drawn("i32", (300,), 4, -99, 99), (40,), tags=["large"])
    call("large_rows", spread((90,), (30,)), drawn("f32", (90, 13), 4, -1, 1), (30, 13), tags=["large"],
         abs_tolerance=2.0**-19)
    call("large_f16", spread((90,), (30,)), drawn("f16", (90, 13), 4, -1, 1), (30, 13), tags=["large"], ulp=1,
         abs_tolerance=2.0**-21)
    call("parallel", drawn("i32", (60000, 1), 8, 0, 37), drawn("i32", (60000,), 4, -99, 99), (37,), tags=["large"])
    call("parallel_rows", drawn("i64", (9000, 1), 8, 0, 11), drawn("f64", (9000, 9), 4, -99, 99), (11, 9),
         tags=["large"], abs_tolerance=2.0**-30)
    inputs = [Tensor("i32", (1, 1), [0]), varied("f32", (1, 4)), vector("i32", [3, 4])]
    wrong_indices(suite, "tf.ScatterNd", lambda indices, updates: [indices, updates, vector(indices.dtype, [3, 4])])
    for name, shape, text in [
            ("negative_size", [-3, 4], "sizes must be at least 0, got shape: [-3,4]"),
            ("overflow", [2**31 - 1] * 3, "there must be at most 2^63-1 elements, got shape: "
             "[2147483647,2147483647,2147483647]"),
            ("rank9", [1] * 9, "shape must have at most 8 elements, got shape: i32[9]")]:
        suite.error(f"ScatterNd_{name}", "tf.ScatterNd", inputs[:2] + [vector("i32", shape)], text)
    suite.error("ScatterNd_shape_i64", "tf.ScatterNd", inputs[:2] + [vector("i64", [3, 4])],
                "argument 2 (shape) must be i32 like argument 0 (indices), got i64[2]")
    common_errors(suite, "tf.ScatterNd", inputs, ["indices"], ["i16", "i32", "i64"], required="one of T, Tindices")


def tensor_scatter_cases(suite):
    def expected(op, tensor, indices, updates):
        array = updates.array()
        targets = [(index, array[position]) for position, index in rows_of(indices)]
        if op == "TensorScatterAdd":
            return add_at(tensor.dtype, tensor.array(), targets)
        y = tensor.array().copy()
        for index, update in targets:
            y[index] = update
        return from_array(tensor.dtype, y)

    for op, dtypes, index_dtypes in [("TensorScatterUpdate", DTYPES, ["u16", "i16", "i32", "i64"]),
                                     ("TensorScatterAdd", ADDABLE, ["i32", "i64"])]:
        def call(name, tensor, indices, updates=None, tags=(), **tolerance):
            if updates is None:
                updates = varied(tensor.dtype, indices.shape[:-1] + tensor.shape[indices.shape[-1]:], 6)
            y = expected(op, tensor, indices, updates)
            suite.case(f"{op}_{name}", f"tf.{op}", [tensor, indices, updates], y,
                       tags=list(tags) + tags_for(tensor, indices), **tolerance)

        for dtype in dtypes:
            call(f"{dtype}_elements", varied(dtype, (2, 3)), spread((5,), (2, 3)))
            call(f"{dtype}_rows", varied(dtype, (4, 3)), spread((5,), (4,)))
        for dtype in index_dtypes:
            call(f"indices_{dtype}", varied("f32", (2, 3)), spread((4,), (2, 3), dtype))
        for depth in range(4):
            call(f"depth{depth}", varied("f32", (2, 3, 4)), spread((2, 2), (2, 3, 4)[:depth]))
        call("depth1_one_index", varied("f32", (2, 3)), vector("i32", [1]))
        call("rank6", varied("f32", (2, 1, 3, 1, 2, 2)), spread((4,), (2, 1, 3, 1, 2)))
        call("scalar", varied("f32", ()), Tensor("i32", (2, 0), []))
        call("same_place", varied("i32", (5,)), Tensor("i32", (20, 1), [3] * 20))
        call("no_updates", varied("f32", (4, 3)), spread((0,), (4,)))
        call("empty", varied("f32", (0, 3)), spread((0,), (2,)))
        call("inplace", varied("f32", (40, 3)), spread((5,), (40,)), tags=["inplace"])
        call("alias", varied("f32", (4,)), Tensor("i32", (4, 1), [3, 2, 1, 0]), varied("f32", (4,)),
             tags=["alias", "inplace"])
        call("large", drawn("i32", (50, 20), 5, -99, 99), spread((60,), (50,)), drawn("i32", (60, 20), 7, -99, 99),
             tags=["large"])
        call("large_elements", drawn("i32", (200,), 5, -99, 99), spread((300,), (200,)),
             drawn("i32", (300,), 7, -99, 99), tags=["large"])
        call("parallel", drawn("i32", (37,), 5, -99, 99), drawn("i32", (60000, 1), 8, 0, 37),
             drawn("i32", (60000,), 7, -99, 99), tags=["large"])
        x = varied("f32", (3, 4))
        wrong_indices(suite, f"tf.{op}", lambda indices, updates: [x, indices, updates])
        inputs = [x, Tensor("i32", (1, 1), [0]), varied("f32", (1, 4))]
        suite.error(f"{op}_mixed_dtypes", f"tf.{op}", inputs[:2] + [varied("i32", (1, 4))],
                    "argument 2 (updates) must be f32 like argument 0 (tensor), got i32[1,4]")
        common_errors(suite, f"tf.{op}", inputs, ["tensor"], dtypes, required="one of T, Tindices")
    for dtype in FLOATS:
        suite.case(f"TensorScatterUpdate_{dtype}_special", "tf.TensorScatterUpdate",
                   [vector(dtype, [math.nan, 1.0, -0.0, 2.0]), Tensor("i32", (2, 1), [1, 3]),
                    vector(dtype, [-math.inf, -0.0])], vector(dtype, [math.nan, -math.inf, -0.0, -0.0]),
                   tags=["special"])


def segment_sum_cases(suite):
    def call(name, data, ids, count, dtype="i32", tags=(), ulp=0, abs_tolerance=0):
        inner = data.shape[len(ids.shape):]
        start = numpy.full((count,) + inner, None, dtype=object)
        for index in numpy.ndindex(start.shape):
            start[index] = zero(data.dtype)
        array, numbers = data.array(), ids.array()
        targets = [((int(numbers[position]),), array[position]) for position in numpy.ndindex(ids.shape)
                   if numbers[position] >= 0]
        y = add_at(data.dtype, start, targets)
        suite.case(f"UnsortedSegmentSum_{name}", "tf.UnsortedSegmentSum", [data, ids, scalar(dtype, count)], y,
                   tags=list(tags) + tags_for(data, y), ulp=ulp, abs_tolerance=abs_tolerance)

    def ids(shape, limit, dtype="i32"):
        """With some that are negative."""
        return Tensor(dtype, shape, [(7 * i + i * i) % (limit + 1) - 1 for i in range(math.prod(shape))])

    for dtype in NUMBERS:
        call(f"{dtype}_elements", varied(dtype, (9,)), ids((9,), 4), 4)
        call(f"{dtype}_rows", varied(dtype, (6, 3)), ids((6,), 4), 4)
    for dtype in ("i32", "i64"):
        call(f"ids_{dtype}", varied("f32", (6, 2)), ids((6,), 3, dtype), 3)
        call(f"num_{dtype}", varied("f32", (6, 2)), ids((6,), 3), 5, dtype)
    for rank in range(4):
        call(f"ids_rank{rank}", varied("f32", (2, 3, 4)), ids((2, 3, 4)[:rank], 3), 3)
    call("scalar", varied("f32", ()), scalar("i32", 1), 3)
    call("rank6", varied("f32", (2, 1, 3, 1, 2, 2)), ids((2, 1, 3), 4), 4)
    call("all_left_out", varied("f32", (3, 2)), vector("i32", [-1, -5, -(2**31)]), 2)
    call("all_left_out_i64", varied("f32", (3, 2)), vector("i64", [-1, -5, -(2**63)]), 2)
    call("no_segments", varied("f32", (3, 2)), vector("i32", [-1, -1, -1]), 0)
    call("no_data", varied("f32", (0, 2)), vector("i32", []), 3)
    call("empty_slices", varied("f32", (3, 0)), vector("i32", [0, 1, 0]), 2)
    call("one_segment", varied("f32", (20,)), vector("i32", [0] * 20), 1)
    for dtype in FLOATS:
        values = [math.inf, -math.inf, math.inf, math.nan, 1.0, -0.0]
        call(f"{dtype}_special", vector(dtype, values), vector("i32", [0, 0, 1, 2, 2, 3]), 5)
    for dtype, small in [("f16", 2.0**-11), ("bf16", 2.0**-8)]:
        call(f"{dtype}_rounds_once", vector(dtype, [1.0, small, small, small]), vector("i32", [0] * 4), 1)
    call("inplace", varied("f32", (20, 3)), ids((20,), 20), 20, tags=["inplace"])
    call("large", drawn("f32", (100, 12), 5, -1, 1), ids((100,), 30), 30, tags=["large"], abs_tolerance=2.0**-19)
    call("large_elements", drawn("i32", (500,), 5, -99, 99), ids((500,), 60), 60, tags=["large"])
    call("large_bf16", drawn("bf16", (100, 12), 5, -1, 1), ids((100,), 30), 30, tags=["large"], ulp=1,
         abs_tolerance=2.0**-21)
    call("parallel", drawn("i64", (60000,), 4, -99, 99), drawn("i32", (60000,), 8, -5, 37), 37, tags=["large"])
    call("parallel_rows", drawn("bf16", (9000, 9), 4, -9, 9), drawn("i64", (9000,), 8, -3, 11), 11, tags=["large"],
         ulp=1, abs_tolerance=2.0**-5)
    x = varied("f32", (4, 3))

    def wrong(name, data, ids_tensor, count, text):
        count = count if isinstance(count, Tensor) else scalar("i32", count)
        suite.error(f"UnsortedSegmentSum_{name}", "tf.UnsortedSegmentSum", [data, ids_tensor, count], text)

    good = vector("i32", [0, 1, 0, 1])
    wrong("beyond", x, vector("i32", [0, 2, 1, 5]), 2,
          "segment_ids must be below num_segments 2, got 2 at position [1]")
    wrong("beyond_i64", x, vector("i64", [0, 1, 2**40, 5]), 2,
          f"segment_ids must be below num_segments 2, got {2**40} at position [2]")
    wrong("beyond_matrix", x, Tensor("i32", (4, 3), [0] * 7 + [9] + [0] * 4), 9,
          "segment_ids must be below num_segments 9, got 9 at position [2,1]")
    wrong("of_no_segments", x, vector("i32", [-1, -1, 0, -1]), 0,
          "segment_ids must be below num_segments 0, got 0 at position [2]")
    wrong("negative_num", x, good, -1, "num_segments must be at least 0, got -1")
    wrong("num_vector", x, good, vector("i32", [1, 2]), "expected one integer for num_segments, got i32[2]")
    for name, shape in [("short", (3,)), ("long", (4, 3, 1)), ("other", (4, 2))]:
        given = Tensor("i32", shape, [0] * math.prod(shape))
        wrong(f"ids_{name}", x, given, 2, "data must begin with the dimensions of segment_ids, got data: f32[4,3], "
              f"segment_ids: {given}")
    wrong("rank9", varied("f32", (1,) * 8), scalar("i32", 0), 1,
          "data must have at most 7 dimensions, got data: f32[1,1,1,1,1,1,1,1]")
    wrong("overflow", varied("f32", (0, 2**40)), vector("i32", []), scalar("i64", 2**40),
          f"the result must have at most 2^63-1 elements, got data: f32[0,{2**40}], num_segments: {2**40}")
    wrong("float_ids", x, vector("f32", [0.0] * 4), 2, "argument 1 (segment_ids) must be one of {i32, i64}, got f32[4]")
    common_errors(suite, "tf.UnsortedSegmentSum", [x, good, scalar("i32", 2)], ["data"], NUMBERS,
                  required="one of T, Tindices, Tnumsegments")


def add_cases(suite):
    gather_nd_cases(suite)
    scatter_nd_cases(suite)
    tensor_scatter_cases(suite)
    segment_sum_cases(suite)
