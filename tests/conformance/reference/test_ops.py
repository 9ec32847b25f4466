# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops for tests and examples."""

import math

from case_suite import Suite, Tensor, common_errors, drawn, scalar, specials, varied, vector
from number_formats import DTYPES, convert, spell

DENSE_DTYPES = ["bool", "i32", "i64", "f32", "f64", "string"]


def attr(dtype, values):
    """An attribute of any kind: a list, or one value."""
    if isinstance(values, list):
        return {"dtype": dtype, "data": [part for value in values for part in spell(dtype, value)]}
    return {"dtype": dtype, "data": spell(dtype, values)[0]}


def create_cases(suite):
    op = "test.create_dense_tensor"
    for dtype in DENSE_DTYPES:
        x = varied(dtype, (2, 3))
        suite.case(f"create_{dtype}", op, [], x, {"shape": [2, 3], "values": attr(dtype, x.values)})
        one = x.values[0]
        suite.case(f"create_{dtype}_one_value", op, [], Tensor(dtype, (2, 3), [one] * 6),
                   {"shape": [2, 3], "values": attr(dtype, one)})
        suite.case(f"create_{dtype}_list_of_one", op, [], Tensor(dtype, (3,), [one] * 3),
                   {"shape": [3], "values": attr(dtype, [one])})
    for shape in [(), (1, 1), (2, 1, 2), (1, 2, 1, 2), (1, 1, 2, 1, 2), (2, 1, 1, 1, 1, 2)]:
        x = varied("f32", shape)
        suite.case(f"create_rank{len(shape)}", op, [], x, {"shape": list(shape), "values": attr("f32", x.values)})
    empty = Tensor("f32", (0, 2), [])
    suite.case("create_empty", op, [], empty, {"shape": [0, 2], "values": attr("f32", [])}, tags=["empty"])
    suite.case("create_empty_one_value", op, [], empty, {"shape": [0, 2], "values": attr("f32", 1.0)}, tags=["empty"])
    suite.case("create_special", op, [], vector("f32", specials("f32")),
               {"shape": [len(specials("f32"))], "values": attr("f32", specials("f32"))}, tags=["special"])
    two = attr("f32", [1.0, 2.0])
    suite.error("create_too_few", op, [], "attribute values must have 3 elements or 1 for shape [3], got 2",
                {"shape": [3], "values": two})
    suite.error("create_too_many_for_one", op, [], "attribute values must have 1 element for shape [], got 2",
                {"shape": [], "values": two})
    suite.error("create_negative", op, [], "dimension 0 of shape [-2] must not be negative",
                {"shape": [-2], "values": two})
    suite.error("create_no_shape", op, [], "attribute shape is required, expected shape: list(int)", {"values": two})
    suite.error("create_no_values", op, [], "attribute values is required, expected values: any", {"shape": [2]})
    suite.error("create_shape_number", op, [], "attribute shape must be list(i64), got i64",
                {"shape": 2, "values": two})
    suite.error("create_with_input", op, [scalar("f32", 1.0)], "expected 0 arguments, got 1",
                {"shape": [2], "values": two})


def add_cases(suite):
    for op in ("test.add", "test.add.denseonly"):
        short = op.split(".", 1)[1]

        def call(name, x, y, tags=(), op=op, short=short):
            values = [convert(x.dtype, a + b) for a, b in zip(x.values, y.values)]
            suite.case(f"{short}_{name}", op, [x, y], Tensor(x.dtype, x.shape, values),
                       tags=list(tags) + (["empty"] if 0 in x.shape else []))

        for dtype in ("i32", "f32"):
            call(dtype, varied(dtype, (2, 3), 1), varied(dtype, (2, 3), 2))
            call(f"{dtype}_inplace", varied(dtype, (20,), 1), varied(dtype, (20,), 2), tags=["inplace"])
        for rank, shape in enumerate([(), (3,), (2, 1), (2, 1, 2), (1, 2, 1, 2), (1, 1, 2, 1, 2), (2, 1, 1, 1, 1, 2)]):
            call(f"rank{rank}", varied("f32", shape, 1), varied("f32", shape, 2))
        call("empty", varied("f32", (0,)), varied("f32", (0,)))
        x = varied("f32", (4, 5), 3)
        call("alias", x, x, tags=["alias"])
        call("alias_inplace", x, x, tags=["alias", "inplace"])
        call("special", vector("f32", [math.inf, math.nan, -0.0]), vector("f32", [-math.inf, 1.0, -0.0]),
             tags=["special"])
        call("large", varied("f32", (900,), 4), varied("f32", (900,), 5), tags=["large"])
        x, y = varied("f32", (2, 3)), varied("f32", (3,))
        suite.error(f"{short}_shapes", op, [x, y], "shapes must be equal, got x: f32[2,3], y: f32[3]")
        y = varied("i32", (2, 3))
        suite.error(f"{short}_mixed_dtypes", op, [x, y], "argument 1 (y) must be f32 like argument 0 (x), got i32[2,3]")
        common_errors(suite, op, [x, x], ["x"], ["i32", "f32"], required="one of T")


def other_cases(suite):
    def odd(name, x, tags=()):
        y = vector("i32", [value for value in x.values if value % 2])
        suite.case(f"odd_collector_{name}", "test.odd_collector", [x], y, tags=tags)

    odd("some", vector("i32", [1, 2, 3, -1, -2, 0, 2**31 - 1, -(2**31)]))
    odd("none", vector("i32", [2, 4]))
    odd("empty", vector("i32", []), tags=["empty"])
    odd("inplace", varied("i32", (40,)), tags=["inplace"])
    odd("large", drawn("i32", (1500,), 3, -1000, 1000), tags=["large"])
    suite.error("odd_collector_matrix", "test.odd_collector", [varied("i32", (2, 2))],
                "x must be a vector, got x: i32[2,2]")
    common_errors(suite, "test.odd_collector", [vector("i32", [1])], ["x"], ["i32"], required="no attributes")
    for dtype in DTYPES:
        x = varied(dtype, (2, 3))
        suite.case(f"async_noop_{dtype}", "test.async.noop", [x], x)
        suite.case(f"error_tensor_{dtype}", "test.error.tensor", [x], [x, x], {"num_values": 2})
        suite.case(f"print_{dtype}", "test.print", [x], [])
    suite.case("async_noop_inplace", "test.async.noop", [varied("f32", (50,))], varied("f32", (50,)), tags=["inplace"])
    suite.case("print_empty", "test.print", [vector("f32", [])], [], tags=["empty"])
    suite.case("print_large", "test.print", [drawn("f32", (500,), 3, -1, 1)], [], tags=["large"])
    x = varied("f32", (2,))
    suite.error("error_tensor_alone", "test.error.tensor", [x], "this result is an error, as it is meant to be")
    suite.error("error_tensor_negative", "test.error.tensor", [x], "attribute num_values must be at least 0, got -1",
                {"num_values": -1})
    common_errors(suite, "test.error.tensor", [x], ["x"], None, required="one of T, num_values")
    common_errors(suite, "test.async.noop", [x], ["x"], None, required="one of T")
    common_errors(suite, "test.print", [x], ["x"], None, required="one of T")


def suite():
    result = Suite()
    create_cases(result)
    add_cases(result)
    other_cases(result)
    return result
