# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops that reduce dimensions to one element."""

import itertools
import math

import numpy

from case_suite import Suite, Tensor, common_errors, drawn, dtype_set, from_array, scalar, varied, vector
from number_formats import FLOATS, INT_FORMATS, INTS, NUMBERS, REALS, Fraction, convert, int_range, round_to, wrap


def exact_or_ieee(values, exact, ieee):
    """Of numbers, exactly; by IEEE 754 if one of them is none."""
    return exact([Fraction(v) for v in values]) if all(map(math.isfinite, values)) else ieee(values)


def total(dtype, values):
    if dtype == "c64":
        return complex(*[round_to("f32", total("f32", part)) for part in
                         ([v.real for v in values], [v.imag for v in values])])
    return sum(values) if dtype in INTS else exact_or_ieee(values, sum, sum)


def mean(dtype, values):
    if not values:
        return 0 if dtype in INTS else complex(math.nan, math.nan) if dtype == "c64" else math.nan
    if dtype == "c64":
        return complex(*[round_to("f32", mean("f32", part)) for part in
                         ([v.real for v in values], [v.imag for v in values])])
    if dtype in INTS:  # summed in 64 bits, and rounded towards 0
        quotient = wrap("i64" if INT_FORMATS[dtype][0] else "u64", sum(values))
        return abs(quotient) // len(values) * (1 if quotient >= 0 else -1)
    return total("f64", values) / len(values)


def product(dtype, values):
    if dtype == "c64":
        re, im = Fraction(1), Fraction(0)
        for v in values:
            re, im = re * Fraction(v.real) - im * Fraction(v.imag), re * Fraction(v.imag) + im * Fraction(v.real)
        return complex(round_to("f32", re), round_to("f32", im))
    return math.prod(values) if dtype in INTS else exact_or_ieee(values, math.prod, math.prod)


def largest(dtype, values):
    if any(v != v for v in values):
        return math.nan
    return max(values, default=-math.inf if dtype in FLOATS else int_range(dtype)[0])


def smallest(dtype, values):
    if any(v != v for v in values):
        return math.nan
    return min(values, default=math.inf if dtype in FLOATS else int_range(dtype)[1])


OPS = {"Sum": (NUMBERS, total), "Mean": (NUMBERS, mean), "Prod": (NUMBERS, product), "Max": (REALS, largest),
       "Min": (REALS, smallest), "All": (["bool"], lambda _, v: all(v)), "Any": (["bool"], lambda _, v: any(v))}


def reduced(op, x, axes, keep_dims=False):
    function = OPS[op][1]
    rank = len(x.shape)
    axes = sorted({axis % rank for axis in axes})
    kept = [axis for axis in range(rank) if axis not in axes]
    array = x.array().transpose(kept + axes)
    outer = tuple(x.shape[axis] for axis in kept)
    y = numpy.empty(outer, dtype=object)
    for index in numpy.ndindex(outer):
        part = array[index]
        values = part.reshape(-1).tolist() if isinstance(part, numpy.ndarray) else [part]
        y[index] = convert(x.dtype, function(x.dtype, values))
    shape = [1 if axis in axes else x.shape[axis] for axis in range(rank)] if keep_dims else outer
    return Tensor(x.dtype, shape, y.reshape(-1).tolist())


def factors(dtype, shape, seed=1):
    """Numbers of which many may be multiplied."""
    x = varied(dtype, shape, seed)
    if dtype in INTS or dtype == "bool":
        return x
    if dtype == "c64":
        choices = [1 + 0j, 1j, -1 + 0j, 1 + 1j, 0.5 + 0j, 2j]
        return Tensor(dtype, shape, [choices[int(abs(v) * 4) % 6] for v in x.values])
    return Tensor(dtype, shape, [[1.0, -1.0, 0.5, 2.0, -2.0, 1.5][int(abs(v) * 4) % 6] for v in x.values])


def reduction_cases(suite, op):
    dtypes = OPS[op][0]
    some = factors if op == "Prod" else varied
    main = "f32" if "f32" in dtypes else "bool"

    def call(name, x, axes, keep_dims=None, index=None, tags=(), ulp=0, abs_tolerance=0):
        indices = index or vector("i32", list(axes))
        if op == "Mean" and x.dtype == "f64":
            ulp = max(ulp, 1)
        y = reduced(op, x, axes, bool(keep_dims))
        empty = ["empty"] if 0 in x.shape else []
        suite.case(f"{op}_{name}", f"tf.{op}", [x, indices], y, None if keep_dims is None else {"keep_dims": keep_dims},
                   tags=list(tags) + empty, ulp=ulp, abs_tolerance=abs_tolerance)

    for dtype in dtypes:
        call(f"{dtype}_rows", some(dtype, (3, 5)), [0])
        call(f"{dtype}_columns", some(dtype, (3, 5)), [1])
        call(f"{dtype}_all", some(dtype, (2, 3, 2)), [0, 1, 2])
        call(f"{dtype}_empty", some(dtype, (2, 0)), [1])
        call(f"{dtype}_stretch", some(dtype, (2, 37)), [1])
    x = some(main, (2, 3, 4), 8)
    for count in range(4):
        for axes in itertools.combinations(range(3), count):
            name = "_".join(map(str, axes)) or "none"
            call(f"axes_{name}", x, axes)
            call(f"axes_{name}_keep", x, axes, keep_dims=True)
            if axes:
                call(f"axes_{name}_negative", x, [axis - 3 for axis in axes], keep_dims=False)
    call("order_of_axes", x, [2, 0])
    call("mixed_axes", x, [-1, 0])
    call("scalar_axis", x, [1], index=scalar("i32", 1))
    call("scalar_axis_i64", x, [-1], index=scalar("i64", -1))
    call("axes_i64", x, [0, 2], index=vector("i64", [0, 2]))
    for rank, shape in enumerate([(), (7,), (3, 2), (2, 2, 3), (2, 3, 1, 2), (2, 1, 2, 3, 2), (2, 2, 2, 1, 2, 3)]):
        call(f"rank{rank}_every_other", some(main, shape, rank), list(range(0, rank, 2)))
        call(f"rank{rank}_odd", some(main, shape, rank), list(range(1, rank, 2)), keep_dims=True)
    call("rank8", some(main, (2,) * 8), [1, 3, 5, 7])
    for shape, axes in [((0,), [0]), ((0, 3), [0]), ((0, 3), [1]), ((2, 0, 3), [1]), ((2, 0, 3), [0, 2]),
                        ((2, 0, 3), [0, 1, 2]),
                        ((2, 0, 3), [])]:
        call(f"empty_{'x'.join(map(str, shape))}_axes_{'_'.join(map(str, axes)) or 'none'}", some(main, shape), axes)
    call("inplace", some(main, (6, 7)), [0], tags=["inplace"])
    call("inplace_nothing", some(main, (6, 7)), [], tags=["inplace"])
    if main == "f32":
        low = {"Prod": 0.99, "Sum": 0, "Mean": 0}.get(op, -100)
        high = {"Prod": 1.01, "Sum": 1, "Mean": 1}.get(op, 100)
        x = drawn("f32", (1500,), 17, low, high)
        call("large", x, [0], tags=["large"], ulp={"Sum": 4, "Mean": 4, "Prod": 64}.get(op, 0))
        for axis in (0, 1):
            x = drawn("f32", (45, 52), 18, low, high)
            call(f"large_axis{axis}", x, [axis], tags=["large"], ulp={"Sum": 4, "Mean": 4, "Prod": 16}.get(op, 0))
        # More than one invocation, workgroup or launch of a GPU takes; products of so many are nothing but rounding.
        if op != "Prod":
            for name, shape, axes in [("long", (70000,), [0]), ("long_rows", (3, 9001), [1]),
                                      ("tall", (20000, 3), [0]), ("tall_middle", (2, 3000, 4), [1]),
                                      ("planes", (2, 3, 50, 50), [0, 2, 3])]:
                x = drawn("f32", shape, 23, low, high)
                call(name, x, axes, tags=["large"], ulp={"Sum": 4, "Mean": 4}.get(op, 0))
        if op in ("Sum", "Mean"):
            for dtype in FLOATS:
                x = drawn(dtype, (5, 300), 19, -1, 1)
                scale = math.ldexp(300.0 if op == "Sum" else 1.0, {"f64": -52, "f32": -23}.get(dtype, -22))
                call(f"{dtype}_cancelling", x, [1], tags=["large"], ulp=1, abs_tolerance=scale)
    else:
        for name, value in [("true", True), ("false", False)]:
            call(f"all_{name}", Tensor("bool", (5, 33), [value] * 165), [1])
            x = Tensor("bool", (3, 33), [(i % 33 == 32) != value for i in range(99)])
            call(f"all_but_last_{name}", x, [1])
    errors(suite, op, main, dtypes)


def special_cases(suite):
    rows = [[1.0, math.nan, 2.0], [math.inf, 1.0, -1.0], [-math.inf, math.inf, 0.5], [math.inf, math.inf, 2.0],
            [-math.inf, -2.0, 3.0], [math.nan, math.nan, math.nan], [0.25, 2.0**-126, -0.5],
            [math.inf, math.nan, -math.inf]]
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        for dtype in FLOATS:
            values = [v if dtype != "f16" or v != 2.0**-126 else 2.0**-24 for row in rows for v in row]
            x = Tensor(dtype, (len(rows), 3), values)
            for axis in (0, 1):
                y = reduced(op, x, [axis])
                ulp = 1 if op == "Mean" else 0
                suite.case(f"{op}_{dtype}_special_axis{axis}", f"tf.{op}", [x, vector("i32", [axis])], y,
                           tags=["special"], ulp=ulp)
            # A NaN in every place of a long stretch.
            long = [[math.nan if i == place else float(i % 7) for i in range(20)] for place in range(20)]
            x = Tensor(dtype, (20, 20), [v for row in long for v in row])
            suite.case(f"{op}_{dtype}_nan_anywhere", f"tf.{op}", [x, vector("i32", [1])], reduced(op, x, [1]),
                       tags=["special"])
    for op, value in [("Sum", 2.0**127), ("Sum", -(2.0**127)), ("Prod", 2.0**100)]:
        x = vector("f32", [value] * 4)
        name = "negative" if value < 0 else "positive"
        suite.case(f"{op}_overflow_{name}", f"tf.{op}", [x, vector("i32", [0])], reduced(op, x, [0]), tags=["special"])


def integer_cases(suite):
    for dtype in INTS:
        low, high = int_range(dtype)
        x = Tensor(dtype, (4, 3), [high, high, low, low, high, high, 1, high - 1, low + 1, 3, 3, 3])
        for op in ("Sum", "Prod", "Max", "Min", "Mean"):
            for axis in (0, 1):
                suite.case(f"{op}_{dtype}_wraps_axis{axis}", f"tf.{op}", [x, vector("i32", [axis])],
                           reduced(op, x, [axis]), tags=["extremes"])
    for dtype in ("i8", "i32", "i64"):
        x = Tensor(dtype, (4, 2), [-7, 0, -8, 0, 7, 1, 8, 1])
        suite.case(f"Mean_{dtype}_towards_zero", "tf.Mean", [x, vector("i32", [1])], reduced("Mean", x, [1]))


def errors(suite, op, main, dtypes):
    x = varied(main, (2, 3))
    name = f"tf.{op}"
    for axis in (2, -3):
        suite.error(f"{op}_axis{axis}".replace("-", "m"), name, [x, vector("i32", [axis])],
                    f"reduction_indices must be in [-2, 2), got {axis}")
    for label, axes in [("twice", [1, 1]), ("twice_by_sign", [-1, 1])]:
        suite.error(f"{op}_{label}", name, [x, vector("i32", axes)],
                    f"reduction_indices must name each dimension once, got dimension 1 twice for input: {x}")
    suite.error(f"{op}_axis_of_scalar", name, [varied(main, ()), vector("i32", [0])],
                "reduction_indices must be in [0, 0), got 0")
    suite.error(f"{op}_matrix_of_axes", name, [x, Tensor("i32", (1, 1), [0])],
                "reduction_indices must be a scalar or a vector, got reduction_indices: i32[1,1]")
    suite.error(f"{op}_float_axes", name, [x, vector("f32", [0.0])],
                "argument 1 (reduction_indices) must be one of {i32, i64}, got f32[1]")
    suite.error(f"{op}_keep_dims_int", name, [x, vector("i32", [0])], "attribute keep_dims must be bool, got i64",
                {"keep_dims": 1})
    attrs = "keep_dims, Tidx" if dtypes == ["bool"] else "keep_dims, T, Tidx"
    common_errors(suite, name, [x, vector("i32", [0])], ["input"], dtypes, required=f"one of {attrs}")


def arg_reduced(op, x, axis, out):
    def index_of(values):
        for i, value in enumerate(values):
            if value != value:
                return i
        return values.index(max(values) if op == "ArgMax" else min(values))

    rows = numpy.moveaxis(x.array(), axis, -1)
    y = numpy.empty(rows.shape[:-1], dtype=object)
    for index in numpy.ndindex(y.shape):
        y[index] = index_of(rows[index].tolist())
    return from_array(out, y)


def arg_cases(suite, op):
    out_types = ["u16", "i16", "i32", "i64"] if op == "ArgMax" else ["i32", "i64"]

    def call(name, x, axis, out=None, index="i32", tags=()):
        y = arg_reduced(op, x, axis, out or "i64")
        suite.case(f"{op}_{name}", f"tf.{op}", [x, scalar(index, axis)], y, out and {"output_type": out},
                   tags=list(tags) + (["empty"] if 0 in x.shape else []))

    for dtype in ["bool"] + REALS:
        call(f"{dtype}_rows", varied(dtype, (4, 5)), 0)
        call(f"{dtype}_columns", varied(dtype, (4, 5)), 1)
        call(f"{dtype}_stretch", varied(dtype, (3, 70)), -1)
    for out in out_types:
        call(f"output_{out}", varied("f32", (3, 5)), 1, out)
    for index in ("i16", "i32", "i64"):
        call(f"dimension_{index}", varied("f32", (3, 5)), -2, index=index)
    for axis in range(-3, 3):
        call(f"rank3_axis{axis}".replace("-", "m"), varied("f32", (2, 3, 4)), axis)
    for rank in (1, 4, 5, 6):
        call(f"rank{rank}", varied("f32", (3, 2, 4, 1, 2, 3)[:rank]), rank // 2)
    call("ties", Tensor("f32", (2, 6), [1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]), 1)
    call("ties_down", Tensor("i32", (6, 2), [1, 5, 2, 5, 2, 5, 1, 5, 1, 5, 2, 5]), 0)
    call("empty_elsewhere", varied("f32", (0, 3)), 1)
    call("one", varied("f32", (3, 1)), 1)
    call("inplace", varied("f32", (6, 7)), 1, tags=["inplace"])
    call("large", drawn("f32", (1500,), 21, -1, 1), 0, tags=["large"])
    call("large_columns", drawn("f32", (60, 50), 22, -1, 1), 0, tags=["large"])
    call("long", drawn("i32", (70000,), 23, -100, 100), 0, tags=["large"])
    call("long_rows", drawn("i32", (3, 9001), 23, -1000, 1000), 1, tags=["large"])
    call("tall", drawn("i32", (20000, 3), 23, -1000, 1000), 0, tags=["large"])
    for dtype in FLOATS:
        rows = [[1.0, math.nan, 9.0, math.nan], [math.inf, 1.0, math.inf, -math.inf],
                [-math.inf, -math.inf, -1.0, -2.0],
                [math.nan, math.inf, -math.inf, 0.0], [-0.0, 0.0, -0.0, 0.0], [-1.0, -2.0, -1.0, -2.0]]
        x = Tensor(dtype, (len(rows), 4), [v for row in rows for v in row])
        call(f"{dtype}_special", x, 1, tags=["special"])
        call(f"{dtype}_special_rows", x, 0, tags=["special"])
        x = Tensor(dtype, (20, 20), [math.nan if i % 21 == 0 else float(i % 7) for i in range(400)])
        call(f"{dtype}_nan_anywhere", x, 1, tags=["special"])
    x = varied("f32", (2, 3))
    for axis in (2, -3):
        suite.error(f"{op}_axis{axis}_error".replace("-", "m"), f"tf.{op}", [x, scalar("i32", axis)],
                    f"dimension must be in [-2, 2), got {axis}")
    suite.error(f"{op}_scalar", f"tf.{op}", [varied("f32", ()), scalar("i32", 0)],
                "input must have at least one dimension, got input: f32[]")
    suite.error(f"{op}_empty", f"tf.{op}", [varied("f32", (2, 0)), scalar("i32", 1)],
                "dimension 1 must not be empty, got input: f32[2,0]")
    suite.error(f"{op}_two_dimensions", f"tf.{op}", [x, vector("i32", [0, 1])],
                "expected one integer for dimension, got i32[2]")
    suite.error(f"{op}_output_f32", f"tf.{op}", [x, scalar("i32", 0)],
                f"attribute output_type must be one of {dtype_set(out_types)}, got f32", {"output_type": "f32"})
    if op == "ArgMax":
        long = drawn("u8", (1, 40000), 1, 0, 0)
        suite.error("ArgMax_does_not_fit", "tf.ArgMax", [long, scalar("i32", 1)],
                    "indices of dimension 1 must fit in i16, got input: u8[1,40000]", {"output_type": "i16"})
    common_errors(suite, f"tf.{op}", [x, scalar("i32", 0)], ["input"], ["bool"] + REALS,
                  required="one of T, Tidx, output_type")


def suite():
    result = Suite()
    for op in OPS:
        reduction_cases(result, op)
    special_cases(result)
    integer_cases(result)
    for op in ("ArgMax", "ArgMin"):
        arg_cases(result, op)
    return result
