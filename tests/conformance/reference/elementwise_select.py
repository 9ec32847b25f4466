# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of tf.SelectV2 and tf.AddN."""

import math

import numpy

from case_suite import Suite, Tensor, common_errors, drawn, dtype_set, specials, varied, vector
from number_formats import DTYPES, INTS, NUMBERS, Fraction, convert, round_to


def select(condition, t, e):
    c, a, b = numpy.broadcast_arrays(condition.array(), t.array(), e.array())
    return Tensor(t.dtype, c.shape, [x if p else y for p, x, y in zip(c.flat, a.flat, b.flat)])


def select_cases(suite):
    for dtype in DTYPES:
        c, t, e = varied("bool", (3, 4), 1), varied(dtype, (3, 4), 2), varied(dtype, (3, 4), 3)
        suite.case(f"SelectV2_{dtype}", "tf.SelectV2", [c, t, e], select(c, t, e))
        c, t, e = varied("bool", (3, 1), 1), varied(dtype, (4,), 2), varied(dtype, (), 3)
        suite.case(f"SelectV2_{dtype}_broadcast", "tf.SelectV2", [c, t, e], select(c, t, e), tags=["broadcast"])
    shapes = {"scalars": ((), (), ()), "condition_scalar": ((), (2, 3), (2, 3)),
              "condition_row": ((3,), (2, 3), (2, 3)),
              "condition_larger": ((2, 3), (3,), (2, 1)), "rank6": ((1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1), (2,)),
              "empty": ((0, 3), (3,), ()), "empty_values": ((1,), (0,), (1,)),
              "rank3": ((2, 1, 1), (1, 3, 1), (1, 1, 4))}
    for name, (c_shape, t_shape, e_shape) in shapes.items():
        c, t, e = varied("bool", c_shape, 4), varied("f32", t_shape, 5), varied("f32", e_shape, 6)
        suite.case(f"SelectV2_{name}", "tf.SelectV2", [c, t, e], select(c, t, e), tags=["broadcast"])
    c = varied("bool", (29,), 7)
    t, e = vector("f32", specials("f32") + [1.0, 2.0]), vector("f32", [2.0, 1.0] + specials("f32"))
    suite.case("SelectV2_special", "tf.SelectV2", [c, t, e], select(c, t, e), tags=["special"])
    for name, tags in [("inplace", ["inplace"]), ("alias", ["alias"])]:
        c, t = varied("bool", (9, 9), 8), varied("f32", (9, 9), 9)
        e = t if name == "alias" else varied("f32", (9, 9), 10)
        suite.case(f"SelectV2_{name}", "tf.SelectV2", [c, t, e], select(c, t, e), tags=tags)
    c, t, e = varied("bool", (999,), 12), drawn("f32", (999,), 13, -1, 1), drawn("f32", (999,), 14, -1, 1)
    suite.case("SelectV2_large", "tf.SelectV2", [c, t, e], select(c, t, e), tags=["large"])
    c, t, e = varied("bool", (2,)), varied("f32", (2,)), varied("f32", (2,))
    common_errors(suite, "tf.SelectV2", [c, t, e], ["condition"], ["bool"], required="one of T")
    other = varied("f64", (2,))
    suite.error("SelectV2_mixed_dtypes", "tf.SelectV2", [c, t, other],
                f"argument 2 (e) must be f32 like argument 1 (t), got {other}")
    for name, shapes in [("t_e", ((2,), (2,), (3,))), ("condition", ((3,), (2,), (2,))), ("all", ((2,), (3,), (4,)))]:
        c, t, e = varied("bool", shapes[0]), varied("f32", shapes[1]), varied("f32", shapes[2])
        suite.error(f"SelectV2_shapes_{name}", "tf.SelectV2", [c, t, e],
                    f"shapes must be broadcast compatible, got condition: {c}, t: {t}, e: {e}")


def add_n(tensors):
    dtype = tensors[0].dtype
    sums = []
    for values in zip(*[tensor.values for tensor in tensors]):
        if dtype == "c64":
            total = complex(round_to("f32", sum(Fraction(v.real) for v in values)),
                            round_to("f32", sum(Fraction(v.imag) for v in values)))
        elif dtype in INTS:
            total = sum(values)
        elif all(math.isfinite(v) for v in values):
            total = sum(Fraction(v) for v in values)
        else:
            total = sum(values)
        sums.append(convert(dtype, total))
    return Tensor(dtype, tensors[0].shape, sums)


def add_n_cases(suite):
    for dtype in NUMBERS:
        for count in (1, 2, 3, 5):
            tensors = [varied(dtype, (3, 5), seed=50 + i) for i in range(count)]
            suite.case(f"AddN_{dtype}_{count}", "tf.AddN", tensors, add_n(tensors))
    for shape in [(), (0,), (2, 0, 3), (1, 2, 1, 3, 1, 2), (700,)]:
        tensors = [varied("f32", shape, seed=60 + i) for i in range(3)]
        suite.case(f"AddN_shape_{'x'.join(map(str, shape)) or 'scalar'}", "tf.AddN", tensors, add_n(tensors),
                   tags=["empty"] if 0 in shape else [])
    tensors = [varied("f32", (33,), seed=70)] * 4
    suite.case("AddN_alias", "tf.AddN", tensors, add_n(tensors), tags=["alias"])
    suite.case("AddN_alias_inplace", "tf.AddN", tensors, add_n(tensors), tags=["alias", "inplace"])
    tensors = [varied("f32", (33,), seed=70 + i) for i in range(17)]
    suite.case("AddN_inplace_17", "tf.AddN", tensors, add_n(tensors), tags=["inplace"])
    suite.case("AddN_N_given", "tf.AddN", tensors[:2], add_n(tensors[:2]), {"N": 2})
    x = vector("f32", [math.inf, math.inf, math.nan, -0.0, 0.0])
    y = vector("f32", [-math.inf, 1.0, 1.0, -0.0, -0.0])
    suite.case("AddN_special", "tf.AddN", [x, y], vector("f32", [math.nan, math.inf, math.nan, -0.0, 0.0]),
               tags=["special"])
    x, y = varied("f32", (2, 3)), varied("f32", (3,))
    suite.error("AddN_shapes", "tf.AddN", [x, x, y],
                f"inputs must have the same shape, got inputs[0]: {x}, inputs[2]: {y}")
    suite.error("AddN_none", "tf.AddN", [], "expected at least 1 argument for inputs, got 0")
    suite.error("AddN_wrong_N", "tf.AddN", [x, x], "expected 3 arguments for inputs as attribute N says, got 2",
                {"N": 3})
    suite.error("AddN_N_0", "tf.AddN", [x], "attribute N must be at least 1, got 0", {"N": 0})
    other = varied("i32", (2, 3))
    suite.error("AddN_mixed_dtypes", "tf.AddN", [x, other],
                f"argument 1 (inputs) must be f32 like argument 0 (inputs), got {other}")
    other = varied("bool", (2, 3))
    suite.error("AddN_bool", "tf.AddN", [other],
                f"argument 0 (inputs) must be one of {dtype_set(NUMBERS)}, got {other}")


def suite():
    result = Suite()
    select_cases(result)
    add_n_cases(result)
    return result
