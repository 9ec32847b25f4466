# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops that rearrange elements or ask for shapes."""

import itertools
import math

import numpy

import shape_batches
import shape_blocks
import shape_pads
import shape_parts
import shape_slices
from case_suite import Suite, Tensor, common_errors, drawn, from_array, scalar, varied, vector
from number_formats import DTYPES, FLOATS, int_range

SHAPES = [(), (5,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2)]


def ints(values, dtype="i32"):
    return vector(dtype, list(values))


def spelt(values):
    """As error texts have a vector."""
    return "[" + ",".join(map(str, values)) + "]"


def tags_for(*tensors):
    return ["empty"] if any(0 in tensor.shape for tensor in tensors) else []


def reshape_cases(suite):
    def call(name, x, shape, dtype="i32", tags=()):
        y = Tensor(x.dtype, x.array().reshape(shape).shape, x.values)
        suite.case(f"Reshape_{name}", "tf.Reshape", [x, ints(shape, dtype)], y, tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (2, 6)), (3, 4))
    for dtype in ("i32", "i64"):
        call(f"shape_{dtype}", varied("f32", (2, 6)), (4, -1), dtype)
    for name, source, target in [
            ("scalar_to_vector", (), (1,)), ("scalar_to_rank6", (), (1,) * 6), ("to_scalar", (1, 1), ()),
            ("infer_first", (4, 6), (-1, 3)), ("infer_all", (2, 3), (-1,)), ("infer_one", (6,), (2, -1, 3)),
            ("rank6", (2, 3, 4), (2, 1, 3, 2, 1, 2)), ("from_rank6", (1, 2, 1, 3, 1, 2), (12,)),
            ("rank8", (4,), (1,) * 7 + (4,)),
            ("empty", (0,), (0, 5)), ("empty_to_larger", (2, 0), (0, 7, 3)), ("empty_infer", (0, 3), (-1, 3)),
            ("empty_infer_zero", (0,), (-1,)), ("same", (2, 3), (2, 3))]:
        call(name, varied("f32", source), target)
    call("inplace", varied("f32", (5, 8)), (8, 5), tags=["inplace"])
    call("large", drawn("f32", (30, 40), 3, -1, 1), (-1, 60), tags=["large"])

    def wrong(name, x, shape, text, dtype="i32"):
        shape = shape if isinstance(shape, Tensor) else ints(shape, dtype)
        suite.error(f"Reshape_{name}", "tf.Reshape", [x, shape], text)

    x = varied("f32", (2, 3))
    for name, shape in [("fewer", (2, 2)), ("more", (2, 4)), ("no_divisor", (4, -1)), ("zero", (0, 6)), ("scalar", ())]:
        wrong(name, x, shape, f"tensor and shape must have the same number of elements, got tensor: {x}, "
              f"shape: {spelt(shape)}")
    for name, shape in [("two_unknown", (-1, -1)), ("negative", (2, -3)), ("minimum", (int_range("i32")[0],))]:
        wrong(name, x, shape, f"sizes must be at least 0, or -1 for one of them, got shape: {spelt(shape)}")
    wrong("zero_and_unknown", varied("f32", (0,)), (0, -1),
          "the other sizes must not be 0 where one is -1, got shape: [0,-1]")
    wrong("overflow", x, (2**40, 2**40),
          "there must be at most 2^63-1 elements, got shape: [1099511627776,1099511627776]", "i64")
    wrong("matrix", x, Tensor("i32", (1, 2), [3, 2]), "shape must be a vector, got shape: i32[1,2]")
    wrong("scalar_shape", x, scalar("i32", 6), "shape must be a vector, got shape: i32[]")
    wrong("too_long", x, (1,) * 9, "shape must have at most 8 elements, got shape: i32[9]")
    wrong("float_shape", x, vector("f32", [6.0]), "argument 1 (shape) must be one of {i32, i64}, got f32[1]")
    common_errors(suite, "tf.Reshape", [x, ints((6,))], ["tensor"], DTYPES, required="one of T, Tshape")


def expand_dims_cases(suite):
    def call(name, x, axis, dim=None, tags=()):
        y = from_array(x.dtype, numpy.expand_dims(x.array(), axis))
        suite.case(f"ExpandDims_{name}", "tf.ExpandDims", [x, dim or scalar("i32", axis)], y,
                   tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (2, 3)), 1)
    for shape in SHAPES:
        for axis in sorted({0, len(shape), -1, -len(shape) - 1, len(shape) // 2}):
            call(f"rank{len(shape)}_axis{axis}".replace("-", "m"), varied("f32", shape), axis)
    call("dim_i64", varied("f32", (2,)), -1, scalar("i64", -1))
    call("dim_vector", varied("f32", (2,)), 0, vector("i32", [0]))
    call("empty", varied("f32", (0, 2)), 1)
    call("inplace", varied("f32", (30,)), 0, tags=["inplace"])
    x = varied("f32", (2, 3))
    for axis in (3, -4, 100):
        suite.error(f"ExpandDims_axis{axis}".replace("-", "m"), "tf.ExpandDims", [x, scalar("i32", axis)],
                    f"dim must be in [-3, 3), got {axis}")
    suite.error("ExpandDims_two", "tf.ExpandDims", [x, ints((0, 1))], "expected one integer for dim, got i32[2]")
    suite.error("ExpandDims_rank8", "tf.ExpandDims", [varied("f32", (1,) * 8), scalar("i32", 0)],
                "input must have at most 7 dimensions, got input: f32[1,1,1,1,1,1,1,1]")
    suite.error("ExpandDims_float", "tf.ExpandDims", [x, scalar("f32", 0.0)],
                "argument 1 (dim) must be one of {i32, i64}, got f32[]")
    common_errors(suite, "tf.ExpandDims", [x, scalar("i32", 0)], ["input"], DTYPES, required="one of T, Tdim")


def squeeze_cases(suite):
    def call(name, x, dims=None, tags=()):
        array = x.array()
        y = numpy.squeeze(array, axis=tuple(dims)) if dims else numpy.squeeze(array)
        suite.case(f"Squeeze_{name}", "tf.Squeeze", [x], from_array(x.dtype, y),
                   None if dims is None else {"squeeze_dims": list(dims)}, tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (1, 3, 1)))
    for shape in SHAPES + [(1, 1, 1), (1,)]:
        call(f"all_{'x'.join(map(str, shape)) or 'scalar'}", varied("f32", shape))
    for dims in [(0,), (2,), (-1,), (-4, 2), (0, 2), (), (0, 0)]:
        dims_name = "_".join(map(str, dims)).replace("-", "m") or "none"
        if dims == (0, 0):
            x = varied("f32", (1, 3, 1, 1))
            suite.case("Squeeze_twice", "tf.Squeeze", [x], Tensor("f32", (3, 1, 1), x.values), {"squeeze_dims": [0, 0]})
        else:
            call(f"dims_{dims_name}", varied("f32", (1, 3, 1, 1)), dims)
    call("empty", varied("f32", (0, 1, 2)))
    call("inplace", varied("f32", (1, 30)), tags=["inplace"])
    x = varied("f32", (1, 3))
    suite.error("Squeeze_not_one", "tf.Squeeze", [x], "dimensions to squeeze must be 1, got input: f32[1,3], "
                "squeeze_dims: [1]", {"squeeze_dims": [1]})
    suite.error("Squeeze_out_of_range", "tf.Squeeze", [x], "elements of squeeze_dims must be in [-2, 2), got 2",
                {"squeeze_dims": [2]})
    suite.error("Squeeze_of_scalar", "tf.Squeeze", [scalar("f32", 1.0)],
                "elements of squeeze_dims must be in [0, 0), got 0", {"squeeze_dims": [0]})
    suite.error("Squeeze_not_list", "tf.Squeeze", [x], "attribute squeeze_dims must be list(i64), got i64",
                {"squeeze_dims": 0})
    common_errors(suite, "tf.Squeeze", [x], ["input"], DTYPES, required="one of T, squeeze_dims")


def transpose_cases(suite):
    def call(name, x, perm, dtype="i32", tags=()):
        y = from_array(x.dtype, numpy.transpose(x.array(), perm))
        suite.case(f"Transpose_{name}", "tf.Transpose", [x, ints(perm, dtype)], y, tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(f"{dtype}_matrix", varied(dtype, (3, 5)), (1, 0))
        call(f"{dtype}_rank3", varied(dtype, (2, 3, 4)), (2, 0, 1))
        call(f"{dtype}_inner_kept", varied(dtype, (3, 2, 4)), (1, 0, 2))
    for perm in itertools.permutations(range(3)):
        call("rank3_" + "".join(map(str, perm)), varied("f32", (2, 3, 4)), perm)
    for perm in [(0, 1, 2, 3), (3, 2, 1, 0), (0, 2, 1, 3), (1, 3, 0, 2), (0, 3, 1, 2), (0, 2, 3, 1)]:
        call("rank4_" + "".join(map(str, perm)), varied("f32", (2, 3, 4, 5)), perm)
    call("rank0", varied("f32", ()), ())
    call("rank1", varied("f32", (5,)), (0,))
    call("rank5", varied("f32", (2, 1, 3, 2, 2)), (4, 1, 3, 0, 2))
    call("rank6", varied("f32", (2, 1, 3, 1, 2, 2)), (5, 3, 1, 0, 2, 4))
    call("rank8", varied("u8", (2,) * 8), (7, 6, 5, 4, 3, 2, 1, 0))
    call("perm_i64", varied("f32", (2, 3)), (1, 0), "i64")
    call("empty", varied("f32", (2, 0, 3)), (2, 1, 0))
    call("inplace", varied("f32", (9, 9)), (1, 0), tags=["inplace"])
    call("ones", varied("f32", (1, 7, 1)), (2, 1, 0))
    call("large", drawn("f32", (37, 41), 5, -1, 1), (1, 0), tags=["large"])
    call("large_u8", drawn("u8", (67, 33), 5, 0, 256), (1, 0), tags=["large"])
    call("large_f64", drawn("f64", (5, 9, 19), 5, -1, 1), (2, 1, 0), tags=["large"])
    x = varied("f32", (2, 3))
    for name, perm in [("twice", (0, 0)), ("negative", (-1, 0)), ("beyond", (0, 2))]:
        suite.error(f"Transpose_{name}", "tf.Transpose", [x, ints(perm)],
                    f"perm must have each of the dimensions of x once, got x: f32[2,3], perm: {spelt(perm)}")
    for name, perm in [("too_short", ints((0,))), ("too_long", ints((0, 1, 2))),
                       ("matrix", Tensor("i32", (2, 1), [0, 1]))]:
        suite.error(f"Transpose_{name}", "tf.Transpose", [x, perm],
                    f"perm must have one element for each dimension of x, got x: f32[2,3], perm: {perm}")
    suite.error("Transpose_float", "tf.Transpose", [x, vector("f32", [1.0, 0.0])],
                "argument 1 (perm) must be one of {i32, i64}, got f32[2]")
    common_errors(suite, "tf.Transpose", [x, ints((1, 0))], ["x"], DTYPES, required="one of T, Tperm")


def slice_cases(suite):
    def call(name, x, begin, size, dtype="i32", tags=()):
        index = tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begin, size))
        y = from_array(x.dtype, x.array()[index])
        suite.case(f"Slice_{name}", "tf.Slice", [x, ints(begin, dtype), ints(size, dtype)], y,
                   tags=list(tags) + tags_for(x, y))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (4, 5)), (1, 2), (2, 3))
        call(f"{dtype}_rows", varied(dtype, (40, 3)), (16, 0), (8, 3))
    for name, shape, begin, size in [
            ("scalar", (), (), ()), ("vector", (9,), (3,), (4,)), ("to_end", (9,), (3,), (-1,)),
            ("all", (2, 3), (0, 0), (-1, -1)),
            ("nothing", (4, 3), (2, 1), (0, 2)), ("at_end", (4,), (4,), (0,)), ("at_end_rest", (4,), (4,), (-1,)),
            ("of_empty", (0, 3), (0, 1), (0, 2)), ("column", (4, 5), (0, 3), (-1, 1)), ("row", (4, 5), (3, 0), (1, -1)),
            ("rank3", (3, 4, 5), (1, 0, 2), (2, 3, 2)), ("rank4", (2, 3, 4, 2), (0, 1, 1, 0), (2, 1, 2, 2)),
            ("rank5", (2, 2, 3, 2, 3), (1, 0, 1, 0, 1), (1, 2, 2, -1, 2)),
            ("rank6", (2, 1, 3, 2, 2, 3), (0, 0, 1, 1, 0, 1), (2, 1, 2, 1, 2, 2)),
            ("rank8", (2,) * 8, (0, 1) * 4, (2, 1) * 4)]:
        call(name, varied("f32", shape), begin, size)
    call("index_i64", varied("f32", (4, 5)), (1, 2), (2, -1), "i64")
    call("inplace", varied("f32", (20, 5)), (4, 0), (16, 5), tags=["inplace"])
    call("large", drawn("f32", (60, 50), 6, -1, 1), (7, 3), (31, 33), tags=["large"])
    x = varied("f32", (4, 5))
    for name, begin, size in [("too_long", (1, 2), (2, 4)), ("negative_begin", (-1, 0), (1, 1)),
                              ("begin_beyond", (0, 6), (1, -1)),
                              ("size_negative", (0, 0), (-2, 1)), ("overflow", (1, 0), (int_range("i32")[1], 1))]:
        suite.error(f"Slice_{name}", "tf.Slice", [x, ints(begin), ints(size)],
                    f"the slice must lie within input, got input: f32[4,5], begin: {spelt(begin)}, size: {spelt(size)}")
    for name, begin, size, bad in [("begin_short", (0,), (1, 1), "begin"), ("size_long", (0, 0), (1, 1, 1), "size")]:
        given = ints(begin) if bad == "begin" else ints(size)
        suite.error(f"Slice_{name}", "tf.Slice", [x, ints(begin), ints(size)],
                    f"{bad} must have one element for each dimension of input, got input: f32[4,5], {bad}: {given}")
    suite.error("Slice_mixed_indices", "tf.Slice", [x, ints((0, 0)), ints((1, 1), "i64")],
                "argument 2 (size) must be i32 like argument 1 (begin), got i64[2]")
    suite.error("Slice_float", "tf.Slice", [x, vector("f32", [0.0, 0.0]), ints((1, 1))],
                "argument 1 (begin) must be one of {i32, i64}, got f32[2]")
    common_errors(suite, "tf.Slice", [x, ints((0, 0)), ints((1, 1))], ["input"], DTYPES, required="one of T, Index")


def tile_cases(suite):
    def call(name, x, multiples, dtype="i32", tags=()):
        y = from_array(x.dtype, numpy.tile(x.array(), multiples) if multiples else x.array())
        suite.case(f"Tile_{name}", "tf.Tile", [x, ints(multiples, dtype)], y, tags=list(tags) + tags_for(x, y))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (2, 3)), (2, 2))
    for name, shape, multiples in [
            ("scalar", (), ()), ("vector", (3,), (4,)), ("once", (2, 3), (1, 1)), ("rows", (2, 3), (3, 1)),
            ("columns", (2, 3), (1, 3)),
            ("none", (2, 3), (0, 2)), ("of_empty", (0, 2), (3, 2)), ("rank3", (2, 1, 3), (2, 3, 1)),
            ("rank4", (1, 2, 1, 2), (2, 1, 3, 2)),
            ("rank5", (1, 2, 1, 2, 1), (2, 1, 2, 1, 2)), ("rank6", (1, 2, 1, 1, 2, 1), (2, 1, 1, 3, 1, 2))]:
        call(name, varied("f32", shape), multiples)
    for dtype in ("i16", "i64"):
        call(f"multiples_{dtype}", varied("f32", (2,)), (3,), dtype)
    call("inplace", varied("f32", (20,)), (1,), tags=["inplace"])
    call("large", drawn("f32", (7, 11), 6, -1, 1), (5, 3), tags=["large"])
    x = varied("f32", (2, 3))
    suite.error("Tile_negative", "tf.Tile", [x, ints((1, -1))], "multiples must be at least 0 and dimensions at most "
                "2^63-1, got input: f32[2,3], multiples: [1,-1]")
    suite.error("Tile_dimension_overflow", "tf.Tile", [x, ints((2**62, 1), "i64")], "multiples must be at least 0 and "
                f"dimensions at most 2^63-1, got input: f32[2,3], multiples: [{2**62},1]")
    suite.error("Tile_count_overflow", "tf.Tile", [x, ints((2**40, 2**40), "i64")],
                f"the result must have at most 2^63-1 elements, got input: f32[2,3], multiples: [{2**40},{2**40}]")
    suite.error("Tile_short", "tf.Tile", [x, ints((1,))],
                "multiples must have one element for each dimension of input, "
                "got input: f32[2,3], multiples: i32[1]")
    common_errors(suite, "tf.Tile", [x, ints((1, 1))], ["input"], DTYPES, required="one of T, Tmultiples")


ZEROS = {"bool": False, "string": "", "c64": 0j, **{dtype: 0.0 for dtype in FLOATS}}


def pad_cases(suite):
    def call(name, x, paddings, dtype="i32", tags=()):
        zero = ZEROS.get(x.dtype, 0)
        y = from_array(x.dtype, numpy.pad(x.array(), paddings, constant_values=zero) if paddings else x.array())
        rows = Tensor(dtype, (len(paddings), 2), [n for row in paddings for n in row])
        suite.case(f"Pad_{name}", "tf.Pad", [x, rows], y, tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (2, 3)), [(1, 0), (2, 1)])
    for name, shape, paddings in [
            ("scalar", (), []), ("vector", (3,), [(2, 3)]), ("nothing", (2, 3), [(0, 0), (0, 0)]),
            ("before", (2, 3), [(2, 0), (0, 0)]),
            ("after", (2, 3), [(0, 0), (0, 2)]), ("empty", (0, 2), [(1, 1), (0, 1)]),
            ("still_empty", (0, 2), [(0, 0), (1, 1)]),
            ("rank3", (2, 1, 3), [(0, 1), (1, 0), (2, 0)]), ("rank4", (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)]),
            ("rank5", (1, 2, 1, 2, 1), [(1, 0), (0, 0), (0, 1), (0, 0), (1, 0)]),
            ("rank6", (1, 2, 1, 1, 2, 1), [(0, 0), (1, 0), (0, 0), (0, 1), (1, 1), (0, 0)])]:
        call(name, varied("f32", shape), paddings)
    call("paddings_i64", varied("f32", (2, 3)), [(1, 0), (2, 1)], "i64")
    call("inplace", varied("f32", (4, 5)), [(0, 0), (0, 0)], tags=["inplace"])
    call("large", drawn("f32", (25, 31), 6, -1, 1), [(3, 4), (2, 5)], tags=["large"])
    x = varied("f32", (2, 3))

    def wrong(name, shape, values, text):
        suite.error(f"Pad_{name}", "tf.Pad", [x, Tensor("i64", shape, values)], text)

    wrong("negative", (2, 2), [0, 0, -1, 0], "paddings must be at least 0 and dimensions at most 2^63-1, got input: "
          "f32[2,3], paddings of dimension 1: [-1,0]")
    wrong("dimension_overflow", (2, 2), [2**63 - 1, 0, 0, 0],
          "paddings must be at least 0 and dimensions at most 2^63-1, "
          f"got input: f32[2,3], paddings of dimension 0: [{2**63 - 1},0]")
    for name, shape in [("rows", (3, 2)), ("columns", (2, 3)), ("flat", (4,)), ("no_rows", (0, 2))]:
        wrong(name, shape, [0] * math.prod(shape), "paddings must have two elements for each dimension of input, got "
              f"input: f32[2,3], paddings: {Tensor('i64', shape, [0] * math.prod(shape))}")
    wrong("count_overflow", (2, 2), [2**40, 0, 2**40, 0], "the result must have at most 2^63-1 elements, got input: "
          "f32[2,3], paddings: i64[2,2]")
    common_errors(suite, "tf.Pad", [x, Tensor("i32", (2, 2), [0] * 4)], ["input"], DTYPES,
                  required="one of T, Tpaddings")


def broadcast_to_cases(suite):
    def call(name, x, shape, dtype="i32", tags=()):
        y = from_array(x.dtype, numpy.broadcast_to(x.array(), shape))
        suite.case(f"BroadcastTo_{name}", "tf.BroadcastTo", [x, ints(shape, dtype)], y,
                   tags=["broadcast"] + list(tags) + tags_for(x, y))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (3, 1)), (2, 3, 2))
    for name, source, target in [
            ("scalar", (), (2, 3)), ("scalar_scalar", (), ()), ("row", (3,), (2, 3)), ("column", (2, 1), (2, 3)),
            ("same", (2, 3), (2, 3)),
            ("one", (1, 1), (3, 4)), ("to_empty", (1, 3), (0, 3)), ("of_empty", (0,), (2, 0)),
            ("one_to_zero", (1,), (0,)),
            ("rank4", (2, 1, 2), (3, 2, 2, 2)), ("rank5", (2, 1, 1, 2), (2, 2, 2, 1, 2)),
            ("rank6", (2, 1, 2, 1), (1, 2, 2, 2, 2, 2)),
            ("rank8", (2, 1), (1,) * 6 + (2, 3))]:
        call(name, varied("f32", source), target)
    call("shape_i64", varied("f32", (3, 1)), (3, 2), "i64")
    call("inplace", varied("f32", (5, 6)), (5, 6), tags=["inplace"])
    call("large", drawn("f32", (31, 1), 6, -1, 1), (31, 33), tags=["large"])
    x = varied("f32", (2, 3))
    for shape in [(2, 4), (3,), (3, 2), (0, 3), (2, 3, 1)]:
        suite.error("BroadcastTo_to_" + "x".join(map(str, shape)), "tf.BroadcastTo", [x, ints(shape)],
                    f"input must be broadcastable to shape, got input: f32[2,3], shape: {spelt(shape)}")
    suite.error("BroadcastTo_negative", "tf.BroadcastTo", [x, ints((2, -1))],
                "sizes must be at least 0, got shape: [2,-1]")
    suite.error("BroadcastTo_matrix", "tf.BroadcastTo", [x, Tensor("i32", (1, 2), [2, 3])],
                "shape must be a vector, got shape: i32[1,2]")
    suite.error("BroadcastTo_overflow", "tf.BroadcastTo", [scalar("f32", 1.0), ints((2**40, 2**40), "i64")],
                f"there must be at most 2^63-1 elements, got shape: [{2**40},{2**40}]")
    common_errors(suite, "tf.BroadcastTo", [x, ints((2, 3))], ["input"], DTYPES, required="one of T, Tidx")


def question_cases(suite):
    """Shape, Size, Rank."""
    answers = {"Shape": lambda x, out: vector(out, list(x.shape)),
               "Size": lambda x, out: scalar(out, math.prod(x.shape)),
               "Rank": lambda x, out: scalar(out, len(x.shape))}
    for op, answer in answers.items():
        for dtype in DTYPES:
            x = varied(dtype, (2, 3))
            suite.case(f"{op}_{dtype}", f"tf.{op}", [x], answer(x, "i32"))
        for shape in SHAPES + [(0,), (3, 0, 2), (1,) * 8]:
            x = varied("f32", shape)
            name = "x".join(map(str, shape)) or "scalar"
            suite.case(f"{op}_of_{name}", f"tf.{op}", [x], answer(x, "i32"), tags=tags_for(x))
            if op != "Rank":
                suite.case(f"{op}_i64_of_{name}", f"tf.{op}", [x], answer(x, "i64"), {"out_type": "i64"},
                           tags=tags_for(x))
        attrs = "one of T" if op == "Rank" else "one of T, out_type"
        common_errors(suite, f"tf.{op}", [varied("f32", (2,))], ["input"], DTYPES, required=attrs)
        if op != "Rank":
            suite.error(f"{op}_out_type", f"tf.{op}", [varied("f32", (2,))],
                        "attribute out_type must be one of {i32, i64}, got f32", {"out_type": "f32"})


def broadcast_args_cases(suite):
    for number, (a, b, y) in enumerate([
            ([], [], []), ([3], [], [3]), ([], [2, 3], [2, 3]), ([1], [4], [4]), ([2, 1, 3], [5, 1], [2, 5, 3]),
            ([1, 1], [1], [1, 1]), ([0, 3], [1, 1], [0, 3]), ([1], [0], [0]), ([2, 3, 4, 5], [3, 1, 1], [2, 3, 4, 5]),
            ([1] * 12, [7], [1] * 11 + [7])]):
        for dtype in ("i32", "i64"):
            inputs = [vector(dtype, a), vector(dtype, b)]
            suite.case(f"BroadcastArgs_{dtype}_{number}", "tf.BroadcastArgs", inputs, vector(dtype, y))
            suite.case(f"BroadcastArgs_{dtype}_{number}_swapped", "tf.BroadcastArgs", inputs[::-1], vector(dtype, y))
    good = vector("i32", [2, 3])

    def wrong(name, inputs, text):
        suite.error(f"BroadcastArgs_{name}", "tf.BroadcastArgs", inputs, text)

    wrong("incompatible", [good, vector("i32", [5, 2, 2])],
          "shapes must be broadcast compatible, got 3 and 2 for size 2 of the result")
    wrong("negative", [good, vector("i32", [-1, 3])], "sizes must be at least 0, got s1 with -1")
    wrong("matrix", [Tensor("i32", (1, 2), [2, 3]), good], "s0 and s1 must be vectors, got s0: i32[1,2], s1: i32[2]")
    wrong("mixed", [good, vector("i64", [2])], "argument 1 (s1) must be i32 like argument 0 (s0), got i64[1]")
    common_errors(suite, "tf.BroadcastArgs", [good, good], ["s0"], ["i32", "i64"], required="one of T")


def suite():
    result = Suite()
    reshape_cases(result)
    expand_dims_cases(result)
    squeeze_cases(result)
    transpose_cases(result)
    slice_cases(result)
    tile_cases(result)
    pad_cases(result)
    broadcast_to_cases(result)
    broadcast_args_cases(result)
    question_cases(result)
    shape_parts.add_cases(result)
    shape_slices.add_cases(result)
    shape_pads.add_cases(result)
    shape_blocks.add_cases(result)
    shape_batches.add_cases(result)
    return result
