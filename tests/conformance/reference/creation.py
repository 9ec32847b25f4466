# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops that make tensors."""

import math

import numpy

from case_suite import Suite, Tensor, common_errors, dtype_set, drawn, from_array, scalar, specials, varied, vector
from number_formats import DTYPES, FLOATS, NUMBERS, Fraction, convert, int_range, limits, round_to

SHAPES = [(), (5,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2)]
EMPTY_SHAPES = [(0,), (2, 0, 3)]


def shape_name(shape):
    return "x".join(map(str, shape)) or "scalar"


def tags_for(shape):
    return ["empty"] if 0 in shape else []


def const_cases(suite):
    def call(name, value, tags=()):
        suite.case(f"Const_{name}", "tf.Const", [], value, {"value": value.to_json(), "dtype": value.dtype}, tags=tags)

    for dtype in DTYPES:
        call(dtype, varied(dtype, (2, 3)))
        call(f"{dtype}_large", varied(dtype, (11, 13)), tags=["large"])
        if dtype in FLOATS:
            call(f"{dtype}_special", vector(dtype, specials(dtype)), tags=["special"])
    for shape in SHAPES + EMPTY_SHAPES + [(1,) * 8]:
        call(f"of_{shape_name(shape)}", varied("f32", shape), tags=tags_for(shape))
    call("empty_strings", varied("string", (0,)), tags=["empty"])
    x = varied("f32", (2,))
    suite.error("Const_wrong_dtype", "tf.Const", [], "value must be of the dtype that attribute dtype says, got value: "
                "f32[2], dtype: i32", {"value": x.to_json(), "dtype": "i32"})
    suite.error("Const_no_value", "tf.Const", [], "attribute value is required, expected value: tensor",
                {"dtype": "f32"})
    suite.error("Const_no_dtype", "tf.Const", [], "attribute dtype is required, expected dtype: type",
                {"value": x.to_json()})
    suite.error("Const_value_number", "tf.Const", [], "attribute value must be tensor, got i64",
                {"value": 1, "dtype": "i32"})
    suite.error("Const_with_input", "tf.Const", [x], "expected 0 arguments, got 1",
                {"value": x.to_json(), "dtype": "f32"})


def fill_cases(suite):
    def call(name, dims, value, index="i32", tags=()):
        y = Tensor(value.dtype, dims, value.values * math.prod(dims))
        suite.case(f"Fill_{name}", "tf.Fill", [vector(index, list(dims)), value], y, tags=list(tags) + tags_for(dims))

    for dtype in DTYPES:
        call(dtype, (2, 3), Tensor(dtype, (), varied(dtype, (3,)).values[:1]))
    for shape in SHAPES + EMPTY_SHAPES + [(1, 1, 1, 1, 1, 1, 1, 2)]:
        call(f"of_{shape_name(shape)}", shape, scalar("f32", 1.5))
    call("dims_i64", (3, 2), scalar("i32", 7), "i64")
    for value in (math.nan, math.inf, -0.0, 2.0**-149):
        call(f"special_{value}".replace("-", "m"), (2,), scalar("f32", value), tags=["special"])
    call("large", (30, 40), scalar("f32", -2.5), tags=["large"])
    call("empty_string", (2,), scalar("string", ""))
    suite.error("Fill_value_vector", "tf.Fill", [vector("i32", [2]), vector("f32", [1.0])],
                "value must be a scalar, got value: f32[1]")
    suite.error("Fill_negative", "tf.Fill", [vector("i32", [2, -1]), scalar("f32", 1.0)],
                "sizes must be at least 0, got dims: [2,-1]")
    suite.error("Fill_scalar_dims", "tf.Fill", [scalar("i32", 2), scalar("f32", 1.0)],
                "dims must be a vector, got dims: i32[]")
    suite.error("Fill_rank9", "tf.Fill", [vector("i32", [1] * 9), scalar("f32", 1.0)],
                "dims must have at most 8 elements, got dims: i32[9]")
    suite.error("Fill_overflow", "tf.Fill", [vector("i64", [2**40, 2**40]), scalar("f32", 1.0)],
                f"there must be at most 2^63-1 elements, got dims: [{2**40},{2**40}]")
    common_errors(suite, "tf.Fill", [vector("i32", [2]), scalar("f32", 1.0)], ["dims"], ["i32", "i64"],
                  required="one of T, index_type")


def range_cases(suite):
    def call(name, dtype, start, limit, delta, ulp=0, abs_tolerance=0, tags=()):
        bounds = [round_to(dtype, v) if dtype in FLOATS else v for v in (start, limit, delta)]
        first, last, step = map(Fraction, bounds)
        if dtype in FLOATS:  # the quotient is rounded to the dtype
            distance = Fraction(round_to(dtype, last - first))
            count = math.ceil(abs(Fraction(round_to(dtype, distance / step))))
        else:
            count = math.ceil((last - first) / step)
        values = [convert(dtype, first + i * step) for i in range(count)]
        suite.case(f"Range_{name}", "tf.Range", [scalar(dtype, v) for v in bounds], vector(dtype, values), ulp=ulp,
                   abs_tolerance=abs_tolerance, tags=list(tags) + tags_for((count,)))

    dtypes = ["i8", "u16", "i16", "i32", "u32", "i64"] + FLOATS
    for dtype in dtypes:
        call(f"{dtype}_up", dtype, 3, 18, 3)
        call(f"{dtype}_up_rest", dtype, 0, 10, 4)
        call(f"{dtype}_empty", dtype, 5, 5, 1)
        call(f"{dtype}_one", dtype, 5, 6, 100)
        if dtype not in ("u16", "u32"):
            call(f"{dtype}_down", dtype, 3, -8, -2)
        if dtype in FLOATS:
            call(f"{dtype}_fraction", dtype, 0, 1, 0.125)
            call(f"{dtype}_tenths", dtype, 0.1, 1, 0.1, ulp=1)
            call(f"{dtype}_thirds_down", dtype, 1, -1, -1 / 3, ulp=1, abs_tolerance=2.0**-53)
        else:
            low, high = int_range(dtype)
            call(f"{dtype}_to_end", dtype, high - 4, high, 1)
            call(f"{dtype}_from_start", dtype, low, low + 5, 2)
            call(f"{dtype}_large_step", dtype, low, high, high)
    call("large", "f32", 0, 1000, 1, tags=["large"])
    call("whole_range", "i8", -128, 127, 1, tags=["large"])
    one = {dtype: convert(dtype, 1) for dtype in dtypes}
    for dtype, text in [("i32", "0"), ("f32", "0")]:
        zero, five = convert(dtype, 0), convert(dtype, 5)
        suite.error(f"Range_{dtype}_delta_0", "tf.Range", [scalar(dtype, v) for v in (zero, five, zero)],
                    f"delta must not be 0, got start: 0, limit: 5, delta: {text}")
        suite.error(f"Range_{dtype}_wrong_way", "tf.Range", [scalar(dtype, v) for v in (five, zero, one[dtype])],
                    "limit must be at least start where delta is positive, got start: 5, limit: 0, delta: 1")
        suite.error(f"Range_{dtype}_wrong_way_down", "tf.Range", [scalar(dtype, v) for v in (zero, five, -one[dtype])],
                    "limit must be at most start where delta is negative, got start: 0, limit: 5, delta: -1")
    one_element = "start, limit and delta must have one element each, got "
    suite.error("Range_vector", "tf.Range", [vector("i32", [0, 1]), scalar("i32", 5), scalar("i32", 1)],
                one_element + "start: i32[2], limit: i32[], delta: i32[]")
    suite.error("Range_empty_limit", "tf.Range", [scalar("i32", 0), vector("i32", []), scalar("i32", 1)],
                one_element + "start: i32[], limit: i32[0], delta: i32[]")
    suite.error("Range_mixed", "tf.Range", [scalar("i32", 0), scalar("f32", 1.0), scalar("i32", 1)],
                "argument 1 (limit) must be i32 like argument 0 (start), got f32[]")
    inputs = [scalar("i32", 0), scalar("i32", 5), scalar("i32", 1)]
    common_errors(suite, "tf.Range", inputs, ["start"], dtypes, required="one of Tidx")


def lin_space_cases(suite):
    def call(name, dtype, start, stop, num, num_dtype="i32", ulp=0, abs_tolerance=0, tags=()):
        start, stop = round_to(dtype, start), round_to(dtype, stop)
        finite = math.isfinite(start) and math.isfinite(stop)
        values = [start]
        for i in range(1, num):
            if not finite:
                step = (stop - start) / (num - 1)
                values.append(start + i * step)
            else:
                exact = Fraction(start) + (Fraction(stop) - Fraction(start)) * i / (num - 1)
                values.append(round_to(dtype, exact))
        if num > 1:
            values[-1] = stop
        suite.case(f"LinSpace_{name}", "tf.LinSpace",
                   [scalar(dtype, start), scalar(dtype, stop), scalar(num_dtype, num)], vector(dtype, values), ulp=ulp,
                   abs_tolerance=abs_tolerance, tags=tags)

    dtypes = ["f16", "bf16", "f32", "f64"]
    for dtype in dtypes:
        call(f"{dtype}_up", dtype, 1, 3, 5)
        call(f"{dtype}_down", dtype, 2, -2, 9)
        call(f"{dtype}_thirds", dtype, 0, 1, 4, ulp=1)
        call(f"{dtype}_tenths", dtype, -0.3, 0.7, 11, ulp=2, abs_tolerance=2.0**-53)
        call(f"{dtype}_one", dtype, 5, 6, 1)
        call(f"{dtype}_two", dtype, 0.1, 0.7, 2)
        call(f"{dtype}_same", dtype, 1.5, 1.5, 4)
        tiny, _, _, most, _ = limits(dtype)
        call(f"{dtype}_whole_range", dtype, -most, most, 5, ulp=1)
        call(f"{dtype}_subnormal", dtype, tiny, 5 * tiny, 5)
        call(f"{dtype}_infinite_stop", dtype, 1, math.inf, 4, tags=["special"])
        call(f"{dtype}_nan_start", dtype, math.nan, 1, 3, tags=["special"])
    call("num_i64", "f32", 0, 4, 5, "i64")
    call("large", "f32", -10, 20, 700, ulp=1, tags=["large"])
    call("large_f64", "f64", 3, 7, 600, ulp=1, tags=["large"])
    start, stop, num = scalar("f32", 0.0), scalar("f32", 1.0), scalar("i32", 3)
    for count in (0, -1):
        suite.error(f"LinSpace_num_{count}".replace("-", "m"), "tf.LinSpace", [start, stop, scalar("i32", count)],
                    f"num must be at least 1, got {count}")
    suite.error("LinSpace_vector", "tf.LinSpace", [vector("f32", [0.0]), stop, num],
                "start and stop must be scalars, got start: f32[1], stop: f32[]")
    suite.error("LinSpace_stop_vector", "tf.LinSpace", [start, vector("f32", [0.0, 1.0]), num],
                "start and stop must be scalars, got start: f32[], stop: f32[2]")
    suite.error("LinSpace_num_vector", "tf.LinSpace", [start, stop, vector("i32", [1, 2])],
                "expected one integer for num, got i32[2]")
    suite.error("LinSpace_mixed", "tf.LinSpace", [start, scalar("f64", 1.0), num],
                "argument 1 (stop) must be f32 like argument 0 (start), got f64[]")
    common_errors(suite, "tf.LinSpace", [start, stop, num], ["start"], dtypes, required="one of T, Tidx")


def like_cases(suite):
    fills = {"ZerosLike": (DTYPES, lambda dtype: "" if dtype == "string" else convert(dtype, 0)),
             "OnesLike": (["bool"] + NUMBERS, lambda dtype: convert(dtype, 1))}
    for op, (dtypes, fill) in fills.items():
        def call(name, x, tags=()):
            y = Tensor(x.dtype, x.shape, [fill(x.dtype)] * len(x.values))
            suite.case(f"{op}_{name}", f"tf.{op}", [x], y, tags=list(tags) + tags_for(x.shape))

        for dtype in dtypes:
            call(dtype, varied(dtype, (2, 3)))
        for shape in SHAPES + EMPTY_SHAPES:
            call(f"of_{shape_name(shape)}", varied("f32", shape))
        call("special", vector("f32", specials("f32")), tags=["special"])
        call("inplace", varied("f32", (40,)), tags=["inplace"])
        call("large", drawn("f32", (999,), 3, -1, 1), tags=["large"])
        common_errors(suite, f"tf.{op}", [varied("f32", (2,))], ["x"], dtypes, required="one of T")


def identity_cases(suite):
    def call(name, x, tags=()):
        suite.case(f"Identity_{name}", "tf.Identity", [x], x, tags=list(tags) + tags_for(x.shape))

    for dtype in DTYPES:
        call(dtype, varied(dtype, (2, 3)))
    for shape in SHAPES + EMPTY_SHAPES:
        call(f"of_{shape_name(shape)}", varied("f32", shape))
    for dtype in FLOATS:
        call(f"{dtype}_special", vector(dtype, specials(dtype)), tags=["special"])
    call("inplace", varied("f32", (40,)), tags=["inplace"])
    common_errors(suite, "tf.Identity", [varied("f32", (2,))], ["input"], DTYPES, required="one of T")


def one_hot(indices, depth, on, off, axis):
    rank = len(indices.shape)
    y = numpy.empty(indices.shape + (depth,), dtype=object)
    array = indices.array()
    for index in numpy.ndindex(y.shape):
        y[index] = on.values[0] if array[index[:-1]] == index[-1] else off.values[0]
    return from_array(on.dtype, numpy.moveaxis(y, -1, rank if axis == -1 else axis))


def one_hot_cases(suite):
    def call(name, indices, depth, dtype="f32", axis=None, on=1, off=0, tags=()):
        on, off = ((scalar("string", "on"), scalar("string", "off")) if dtype == "string" else
                   (scalar(dtype, convert(dtype, on)), scalar(dtype, convert(dtype, off))))
        y = one_hot(indices, depth, on, off, -1 if axis is None else axis)
        suite.case(f"OneHot_{name}", "tf.OneHot", [indices, scalar("i32", depth), on, off], y,
                   None if axis is None else {"axis": axis}, tags=list(tags) + tags_for(y.shape))

    for dtype in DTYPES:
        call(dtype, vector("i32", [0, 2, 1, -1, 3]), 3, dtype)
    for index in ("u8", "i8", "i32", "i64"):
        call(f"indices_{index}", vector(index, [2, 0, 1, 100]), 4)
    for shape in [(), (3,), (2, 3), (2, 1, 2)]:
        for axis in range(-1, len(shape) + 1):
            indices = Tensor("i32", shape, [(3 * i) % 5 - 1 for i in range(math.prod(shape))])
            call(f"rank{len(shape)}_axis{axis}".replace("-", "m"), indices, 4, axis=axis)
    for rank in (4, 5, 6, 7):
        shape = (2, 1, 2, 1, 1, 2, 1)[:rank]
        call(f"rank{rank}", Tensor("i64", shape, [i % 3 for i in range(math.prod(shape))]), 2)
    call("other_values", vector("i32", [1, 0]), 3, on=5, off=-2)
    call("depth_0", vector("i32", [1, 0]), 0)
    call("depth_1", vector("i32", [1, 0]), 1)
    call("no_indices", vector("i32", []), 3)
    call("extreme_indices", vector("i64", [2**62, -(2**63), 2**32, 2**32 + 1, 1]), 3)
    call("large", Tensor("i32", (40,), [(7 * i) % 30 for i in range(40)]), 30, tags=["large"])
    indices, depth, on, off = vector("i32", [0, 1]), scalar("i32", 3), scalar("f32", 1.0), scalar("f32", 0.0)

    def wrong(name, inputs, text, attrs=None):
        suite.error(f"OneHot_{name}", "tf.OneHot", inputs, text, attrs)

    wrong("negative_depth", [indices, scalar("i32", -1), on, off], "depth must be at least 0, got -1")
    wrong("depth_vector", [indices, vector("i32", [1, 2]), on, off], "expected one integer for depth, got i32[2]")
    wrong("depth_i64", [indices, scalar("i64", 3), on, off], "argument 1 (depth) must be i32, got i64[]")
    wrong("on_vector", [indices, depth, vector("f32", [1.0]), off],
          "on_value and off_value must be scalars, got on_value: f32[1], off_value: f32[]")
    wrong("mixed_values", [indices, depth, on, scalar("i32", 0)],
          "argument 3 (off_value) must be f32 like argument 2 (on_value), got i32[]")
    for axis in (2, -2):
        wrong(f"axis{axis}".replace("-", "m"), [indices, depth, on, off], f"axis must be in [-1, 1], got {axis}",
              {"axis": axis})
    wrong("float_indices", [vector("f32", [0.0]), depth, on, off],
          f"argument 0 (indices) must be one of {dtype_set(['u8', 'i8', 'i32', 'i64'])}, got f32[1]")
    wrong("rank8", [Tensor("i32", (1,) * 8, [0]), depth, on, off],
          "indices must have at most 7 dimensions, got indices: i32[1,1,1,1,1,1,1,1]")
    wrong("count_overflow", [Tensor("i32", (0, 2**40), []), scalar("i32", 2**31 - 1), on, off],
          "the result must have at most 2^63-1 elements, got indices: i32[0,1099511627776], depth: 2147483647")
    common_errors(suite, "tf.OneHot", [indices, depth, on, off], ["indices"], ["u8", "i8", "i32", "i64"],
                  required="one of axis, T, TI")


def suite():
    result = Suite()
    const_cases(result)
    fill_cases(result)
    range_cases(result)
    lin_space_cases(result)
    like_cases(result)
    identity_cases(result)
    one_hot_cases(result)
    return result
