# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of complex numbers and their parts."""

import decimal
import math

from case_suite import Suite, Tensor, common_errors, specials, varied, vector
from elementwise_cases import BROADCASTS, mapped

Decimal = decimal.Decimal


def absolute(_, x):
    if math.isinf(x.real) or math.isinf(x.imag):
        return math.inf
    if x != x:
        return math.nan
    with decimal.localcontext(decimal.Context(prec=60)):
        return (Decimal(x.real) ** 2 + Decimal(x.imag) ** 2).sqrt()


PARTS = {"Real": ("input", "f32", lambda _, x: x.real), "Imag": ("input", "f32", lambda _, x: x.imag),
         "Conj": ("input", "c64", lambda _, x: complex(x.real, -x.imag)), "ComplexAbs": ("x", "f32", absolute)}
SHAPES = [(), (5,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2), (0,), (2, 0)]


def part_cases(suite, op, name, out, function):
    def call(case, x, tags=()):
        suite.case(f"{op}_{case}", f"tf.{op}", [x], mapped(function, out, x), ulp=1 if op == "ComplexAbs" else 0,
                   tags=list(tags) + (["empty"] if 0 in x.shape else []))

    for number, shape in enumerate(SHAPES):
        call(f"shape{number}", varied("c64", shape, number))
    parts = specials("f32")
    pairs = [complex(a, b) for a in parts for b in parts]
    call("special", vector("c64", pairs), ["special"])
    call("large", varied("c64", (1013,), 5), ["large"])
    call("inplace", varied("c64", (7, 3), 6), ["inplace"])
    required = "one of T" if op == "Conj" else "one of T, Tout"
    common_errors(suite, f"tf.{op}", [varied("c64", (2, 3))], [name], ["c64"], required=required, is_set=True)


def complex_cases(suite):
    def call(name, x, y, tags=()):
        suite.case(f"Complex_{name}", "tf.Complex", [x, y], mapped(lambda _, a, b: complex(a, b), "c64", x, y), tags=tags)

    for name, (x_shape, y_shape) in BROADCASTS.items():
        call(name, varied("f32", x_shape, 1), varied("f32", y_shape, 2),
             ["broadcast"] + (["empty"] if 0 in x_shape else []))
    parts = specials("f32")
    call("special", vector("f32", [a for a in parts for _ in parts]), vector("f32", parts * len(parts)), ["special"])
    call("large", varied("f32", (1013,), 3), varied("f32", (1013,), 4), ["large"])
    call("inplace", varied("f32", (6, 7), 3), varied("f32", (6, 7), 4), ["inplace"])
    x = varied("f32", (2, 3))
    suite.error("Complex_shapes", "tf.Complex", [x, varied("f32", (2,))],
                "shapes must be broadcast compatible, got real: f32[2,3], imag: f32[2]")
    suite.error("Complex_mixed", "tf.Complex", [x, varied("f64", (2, 3))],
                "argument 1 (imag) must be one of {f32}, got f64[2,3]")
    common_errors(suite, "tf.Complex", [x, x], ["real"], ["f32"], required="one of T, Tout", is_set=True)


def suite():
    result = Suite()
    complex_cases(result)
    for op, (name, out, function) in PARTS.items():
        part_cases(result, op, name, out, function)
    return result
