# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops that join tensors or take them apart: ConcatV2, Split, SplitV, Pack, Unpack."""

import numpy

from case_suite import Tensor, common_errors, drawn, from_array, scalar, varied, vector
from number_formats import DTYPES


def tags_for(*tensors):
    return ["empty"] if any(0 in tensor.shape for tensor in tensors) else []


def axis_name(axis):
    return f"axis{axis}".replace("-", "m")


def concat_cases(suite):
    def call(name, tensors, axis, dtype="i32", tags=(), attrs=None):
        y = from_array(tensors[0].dtype, numpy.concatenate([tensor.array() for tensor in tensors], axis))
        suite.case(f"ConcatV2_{name}", "tf.ConcatV2", tensors + [scalar(dtype, axis)], y, attrs,
                   tags=list(tags) + tags_for(*tensors))

    def some(*shapes, dtype="f32"):
        return [varied(dtype, shape, seed=i + 1) for i, shape in enumerate(shapes)]

    for dtype in DTYPES:
        call(f"{dtype}_rows", some((2, 3), (1, 3), dtype=dtype), 0)
        call(f"{dtype}_columns", some((2, 3), (2, 1), (2, 2), dtype=dtype), 1)
    for axis in (0, 1, 2, -1, -2, -3):
        shapes = [[2, 3, 2], [2, 3, 2]]
        shapes[1][axis] = 4
        call(f"rank3_{axis_name(axis)}", some(*map(tuple, shapes)), axis)
    for rank in (1, 4, 5, 6, 8):
        shape = (2, 1, 2, 1, 2, 1, 2, 1)[:rank]
        call(f"rank{rank}_last", some(shape, shape), -1)
        call(f"rank{rank}_first", some(shape, shape, shape), 0)
    call("one_empty", some((2, 3), (0, 3), (1, 3)), 0)
    call("all_empty", some((0, 3), (0, 3)), 0)
    call("empty_elsewhere", some((0, 3), (0, 2)), 1)
    call("axis_i64", some((2,), (3,)), 0, "i64")
    call("many", some(*[(1, 2)] * 19), 0)
    call("alias", [varied("f32", (3, 2))] * 3, 1, tags=["alias"])
    call("N_given", some((2,), (3,)), 0, attrs={"N": 2})
    call("inplace", some((5, 4), (5, 4)), 0, tags=["inplace"])
    call("large", [drawn("f32", (20, 17), 7, -1, 1), drawn("f32", (20, 31), 8, -1, 1)], 1, tags=["large"])

    def wrong(name, tensors, axis, text, attrs=None):
        axis = axis if isinstance(axis, Tensor) else scalar("i32", axis)
        suite.error(f"ConcatV2_{name}", "tf.ConcatV2", tensors + [axis], text, attrs)

    x = some((2, 3), (2, 3))
    for axis in (2, -3):
        wrong(axis_name(axis), x, axis, f"axis must be in [-2, 2), got {axis}")
    wrong("scalars", some((), ()), 0, "values must have at least one dimension, got values[0]: f32[]")
    wrong("shapes", some((2, 3), (2, 4)), 0,
          "values must have the same shape except for dimension 0, got values[0]: f32[2,3], values[1]: f32[2,4]")
    wrong("ranks", some((2, 3), (3,)), 0,
          "values must have the same shape except for dimension 0, got values[0]: f32[2,3], values[1]: f32[3]")
    wrong("third", some((2, 3), (4, 3), (2, 2)), 0,
          "values must have the same shape except for dimension 0, got values[0]: f32[2,3], values[2]: f32[2,2]")
    wrong("axis_vector", x, vector("i32", [0, 1]), "expected one integer for axis, got i32[2]")
    wrong("axis_float", x, scalar("f32", 0.0), "argument 2 (axis) must be one of {i32, i64}, got f32[]")
    wrong("mixed_dtypes", [x[0], varied("i32", (2, 3))], 0,
          "argument 1 (values) must be f32 like argument 0 (values), got i32[2,3]")
    wrong("one_value", x[:1], 0, "expected at least 2 arguments for values, got 1")
    wrong("wrong_N", x, 0, "expected 3 arguments for values as attribute N says, got 2", {"N": 3})


def split_cases(suite):
    def call(name, x, axis, count, tags=()):
        parts = [from_array(x.dtype, part) for part in numpy.split(x.array(), count, axis)]
        suite.case(f"Split_{name}", "tf.Split", [scalar("i32", axis), x], parts, {"num_split": count},
                   tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(f"{dtype}_rows", varied(dtype, (4, 3)), 0, 2)
        call(f"{dtype}_columns", varied(dtype, (2, 6)), 1, 3)
    for axis in (0, 1, 2, -1, -2, -3):
        call(f"rank3_{axis_name(axis)}", varied("f32", (4, 4, 4)), axis, 2)
    for rank in (1, 4, 5, 6):
        call(f"rank{rank}", varied("f32", (2, 1, 2, 3, 2, 2)[:rank - 1] + (4,)), -1, 4)
    call("one_part", varied("f32", (2, 3)), 0, 1)
    call("empty", varied("f32", (0, 3)), 0, 4)
    call("empty_elsewhere", varied("f32", (4, 0)), 0, 2)
    call("inplace", varied("f32", (32, 2)), 0, 2, tags=["inplace"])
    call("large", drawn("f32", (32, 40), 7, -1, 1), 1, 5, tags=["large"])

    def wrong(name, x, axis, count, text):
        axis = axis if isinstance(axis, Tensor) else scalar("i32", axis)
        suite.error(f"Split_{name}", "tf.Split", [axis, x], text, {"num_split": count})

    x = varied("f32", (4, 3))
    wrong("not_divisible", x, 0, 3,
          "dimension 0 of value must be divisible by num_split, got value: f32[4,3], num_split: 3")
    for axis in (2, -3):
        wrong(axis_name(axis), x, axis, 1, f"split_dim must be in [-2, 2), got {axis}")
    wrong("scalar", varied("f32", ()), 0, 1, "value must have at least one dimension, got value: f32[]")
    wrong("zero_parts", x, 0, 0, "attribute num_split must be at least 1, got 0")
    wrong("axis_i64", x, scalar("i64", 0), 2, "argument 0 (split_dim) must be i32, got i64[]")
    wrong("axis_vector", x, vector("i32", [0, 1]), 2, "expected one integer for split_dim, got i32[2]")
    suite.error("Split_no_count", "tf.Split", [scalar("i32", 0), x],
                "attribute num_split is required, expected num_split: int >= 1")
    common_errors(suite, "tf.Split", [scalar("i32", 0), x], ["split_dim"], ["i32"], {"num_split": 2},
                  "one of num_split, T")


def split_v_cases(suite):
    def call(name, x, sizes, axis, dtype="i64", tags=()):
        known = sum(size for size in sizes if size >= 0)
        whole = [x.shape[axis] - known if size < 0 else size for size in sizes]
        parts = numpy.split(x.array(), numpy.cumsum(whole)[:-1], axis)
        suite.case(f"SplitV_{name}", "tf.SplitV", [x, vector(dtype, list(sizes)), scalar("i32", axis)],
                   [from_array(x.dtype, part) for part in parts], {"num_split": len(sizes)},
                   tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(f"{dtype}_rows", varied(dtype, (6, 3)), (1, 3, 2), 0)
        call(f"{dtype}_columns", varied(dtype, (2, 6)), (4, 2), 1)
    for dtype in ("i8", "i32", "i64"):
        call(f"sizes_{dtype}", varied("f32", (5,)), (2, -1), 0, dtype)
    for axis in (0, 1, 2, -1, -2, -3):
        call(f"rank3_{axis_name(axis)}", varied("f32", (4, 4, 4)), (3, 1), axis)
    for rank in (1, 4, 5, 6, 8):
        call(f"rank{rank}", varied("f32", (2, 1, 2, 1, 1, 2, 1)[:rank - 1] + (5,)), (1, 4), -1)
    call("one_part", varied("f32", (2, 3)), (2,), 0)
    call("one_unknown", varied("f32", (2, 3)), (-1,), 1)
    call("some_empty", varied("f32", (4, 3)), (0, 3, 0, 1, 0), 0)
    call("some_empty_columns", varied("i8", (3, 4)), (0, 3, 0, 1), 1)
    call("unknown_empty", varied("f32", (4, 3)), (4, -1), 0)
    call("unknown_first", varied("f32", (4, 3)), (-1, 1), 0)
    call("many", varied("f32", (2, 21)), (1,) * 21, 1)
    call("empty", varied("f32", (0, 3)), (0, 0), 0)
    call("empty_elsewhere", varied("f32", (4, 0)), (1, 3), 0)
    call("inplace", varied("f32", (32, 2)), (16, 16), 0, tags=["inplace"])
    call("shared", drawn("f32", (48, 32), 9, -1, 1), (36, 12), 0, tags=["large"])
    call("large", drawn("f32", (32, 40), 7, -1, 1), (7, 1, 32), 1, tags=["large"])

    def wrong(name, x, sizes, axis, text, count=None):
        axis = axis if isinstance(axis, Tensor) else scalar("i32", axis)
        sizes = sizes if isinstance(sizes, Tensor) else vector("i64", list(sizes))
        suite.error(f"SplitV_{name}", "tf.SplitV", [x, sizes, axis], text, {"num_split": count or sizes.shape[0]})

    x = varied("f32", (4, 3))
    for name, sizes in [("too_little", (1, 2)), ("too_much", (3, 2))]:
        wrong(name, x, sizes, 0, "size_splits must add up to dimension 0 of value, got value: f32[4,3], size_splits "
              f"that add up to {sum(sizes)}")
    wrong("too_much_known", x, (5, -1), 0, "size_splits must add up to dimension 0 of value, or less where one is -1, "
          "got value: f32[4,3], size_splits that add up to 5")
    for name, sizes, size, place in [("two_unknown", (-1, -1), -1, 1), ("negative", (6, -2), -2, 1),
                                     ("minimum", (-2**63, 4), -2**63, 0)]:
        wrong(name, x, sizes, 0,
              f"size_splits must be at least 0, or -1 for one of them, got {size} at position {place}")
    wrong("overflow", x, (2**62, 2**62), 0,
          f"size_splits must add up to at most 2^63-1, got more with {2**62} at position 1")
    wrong("wrong_count", x, (1, 1, 2), 0,
          "size_splits must be a vector of num_split elements, got size_splits: i64[3], num_split: 2", 2)
    wrong("matrix", x, Tensor("i64", (1, 2), [2, 2]), 0,
          "size_splits must be a vector of num_split elements, got size_splits: i64[1,2], num_split: 1")
    for axis in (2, -3):
        wrong(axis_name(axis), x, (4,), axis, f"split_dim must be in [-2, 2), got {axis}")
    wrong("scalar", varied("f32", ()), (1,), 0, "value must have at least one dimension, got value: f32[]")
    wrong("axis_vector", x, (4,), vector("i32", [0, 1]), "expected one integer for split_dim, got i32[2]")
    wrong("axis_i64", x, (4,), scalar("i64", 0), "argument 2 (split_dim) must be i32, got i64[]")
    wrong("float_sizes", x, vector("f32", [4.0]), 0,
          "argument 1 (size_splits) must be one of {i8, i32, i64}, got f32[1]")
    inputs = [x, vector("i64", [4]), scalar("i32", 0)]
    suite.error("SplitV_no_count", "tf.SplitV", inputs,
                "attribute num_split is required, expected num_split: int >= 1")
    common_errors(suite, "tf.SplitV", inputs, ["value"], DTYPES, {"num_split": 1}, "one of num_split, T, Tlen")


def pack_cases(suite):
    def call(name, tensors, axis=None, tags=()):
        y = from_array(tensors[0].dtype, numpy.stack([tensor.array() for tensor in tensors], axis or 0))
        suite.case(f"Pack_{name}", "tf.Pack", tensors, y, None if axis is None else {"axis": axis},
                   tags=list(tags) + tags_for(*tensors))

    def some(count, shape, dtype="f32"):
        return [varied(dtype, shape, seed=i + 1) for i in range(count)]

    for dtype in DTYPES:
        call(dtype, some(3, (2, 2), dtype))
        call(f"{dtype}_last", some(2, (3,), dtype), -1)
    for shape in [(), (3,), (2, 3), (2, 1, 2)]:
        for axis in range(-len(shape) - 1, len(shape) + 1):
            call(f"rank{len(shape)}_{axis_name(axis)}", some(2, shape), axis)
    for rank in (4, 5, 6, 7):
        call(f"rank{rank}", some(2, (2, 1, 2, 1, 2, 1, 2)[:rank]), 1)
    call("one", some(1, (2, 3)))
    call("many", some(21, ()))
    call("empty", some(2, (0, 3)), 1)
    call("alias", [varied("f32", (4,))] * 3, tags=["alias"])
    call("inplace", some(2, (5, 5)), tags=["inplace"])
    call("large", [drawn("f32", (500,), 7, -1, 1), drawn("f32", (500,), 8, -1, 1)], 1, tags=["large"])
    x = varied("f32", (2, 3))
    for axis in (3, -4):
        suite.error(f"Pack_{axis_name(axis)}", "tf.Pack", [x, x], f"axis must be in [-3, 3), got {axis}",
                    {"axis": axis})
    y = varied("f32", (3, 2))
    suite.error("Pack_shapes", "tf.Pack", [x, x, y],
                "values must have the same shape, got values[0]: f32[2,3], values[2]: f32[3,2]")
    suite.error("Pack_none", "tf.Pack", [], "expected at least 1 argument for values, got 0")
    suite.error("Pack_mixed_dtypes", "tf.Pack", [x, varied("f64", (2, 3))],
                "argument 1 (values) must be f32 like argument 0 (values), got f64[2,3]")
    suite.error("Pack_rank8", "tf.Pack", [varied("f32", (1,) * 8)],
                "values[0] must have at most 7 dimensions, got values[0]: f32[1,1,1,1,1,1,1,1]")
    suite.error("Pack_axis_float", "tf.Pack", [x], "attribute axis must be i64, got f32", {"axis": 0.5})
    suite.error("Pack_axis_list", "tf.Pack", [x], "attribute axis must be i64, got list(i64)", {"axis": [0]})
    suite.error("Pack_unknown_attr", "tf.Pack", [x], "attribute no_such is not defined, expected one of N, T, axis",
                {"no_such": 1})


def unpack_cases(suite):
    def call(name, x, axis=None, tags=()):
        parts = numpy.moveaxis(x.array(), axis or 0, 0)
        attrs = {"num": parts.shape[0], **({} if axis is None else {"axis": axis})}
        results = [from_array(x.dtype, part) for part in parts]
        suite.case(f"Unpack_{name}", "tf.Unpack", [x], results, attrs, tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (3, 4)))
        call(f"{dtype}_last", varied(dtype, (2, 3)), -1)
    for shape in [(3,), (2, 3), (2, 3, 2)]:
        for axis in range(-len(shape), len(shape)):
            call(f"rank{len(shape)}_{axis_name(axis)}", varied("f32", shape), axis)
    for rank in (4, 5, 6, 8):
        call(f"rank{rank}", varied("f32", (2, 1, 2, 1, 2, 1, 2, 1)[:rank]), 2)
    call("empty_parts", varied("f32", (2, 0)))
    call("none", varied("f32", (0, 2)))
    call("inplace", varied("f32", (2, 32)), tags=["inplace"])
    call("large", drawn("f32", (300, 4), 7, -1, 1), 1, tags=["large"])
    x = varied("f32", (2, 3))
    suite.error("Unpack_wrong_num", "tf.Unpack", [x],
                "dimension 0 of value must be num, got value: f32[2,3], num: 3", {"num": 3})
    for axis in (2, -3):
        suite.error(f"Unpack_{axis_name(axis)}", "tf.Unpack", [x], f"axis must be in [-2, 2), got {axis}",
                    {"num": 2, "axis": axis})
    suite.error("Unpack_scalar", "tf.Unpack", [varied("f32", ())],
                "value must have at least one dimension, got value: f32[]", {"num": 1})
    suite.error("Unpack_negative_num", "tf.Unpack", [x], "attribute num must be at least 0, got -1", {"num": -1})
    suite.error("Unpack_no_num", "tf.Unpack", [x], "attribute num is required, expected num: int >= 0")
    common_errors(suite, "tf.Unpack", [x], ["value"], DTYPES, {"num": 2}, "one of num, T, axis")


def add_cases(suite):
    concat_cases(suite)
    split_cases(suite)
    split_v_cases(suite)
    pack_cases(suite)
    unpack_cases(suite)
