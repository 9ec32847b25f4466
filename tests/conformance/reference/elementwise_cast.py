# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of tf.Cast."""

import math

from case_suite import Suite, Tensor, common_errors, drawn, dtype_set, specials, varied, vector
from number_formats import DTYPES, FLOATS, INTS, Fraction, convert, int_range, limits, round_to


def cast_element(source, target, value):
    if source == "c64":
        if target == "c64":
            return value
        source, value = "f32", value.real
    if target in INTS and source in FLOATS:
        if math.isnan(value):
            return 0
        low, high = int_range(target)
        return low if value < low else high if value > high else math.trunc(value)
    if target == "bool":
        return bool(value != 0)
    return convert(target, value)


def cast(tensor, target):
    return Tensor(target, tensor.shape, [cast_element(tensor.dtype, target, value) for value in tensor.values])


CASTABLE = [dtype for dtype in DTYPES if dtype != "string"]


def cast_cases(suite):
    for source in CASTABLE:
        for target in CASTABLE:
            x = varied(source, (24,), seed=41)
            if source == "c64" and target == "bool":
                x = vector("c64", [0j, 1 + 1j, -0.5 + 0j, 2 - 3j, 1j, complex(-0.0, -2.0), complex(0, math.nan)])
            suite.case(f"Cast_{source}_to_{target}", "tf.Cast", [x], cast(x, target), {"DstT": target})
    for source in FLOATS:
        for target in CASTABLE:
            edges = list(specials(source))
            if target in INTS:
                low, high = int_range(target)
                edges += [round_to(source, v) for v in
                          (low, high, low - 1, high + 1, low - 0.5, high + 0.5, 2.0 * high, 0.999, -0.999)]
            if target in FLOATS:
                tiny, _, normal, largest, epsilon = limits(target)
                half = Fraction(1, 2)
                exact = [1 + half * Fraction(epsilon), 1 + 3 * half * Fraction(epsilon), half * Fraction(tiny),
                         3 * half * Fraction(tiny), half * Fraction(tiny) + Fraction(tiny) / 1024,
                         Fraction(largest) + half * Fraction(largest) * Fraction(epsilon) / (2 - Fraction(epsilon)),
                         Fraction(largest) * (1 + Fraction(epsilon) / 8),
                         Fraction(normal) * (1 - Fraction(epsilon) / 4)]
                edges += [round_to(source, v) for v in exact] + [round_to(source, -v) for v in exact]
            x = vector(source, edges)
            suite.case(f"Cast_{source}_to_{target}_special", "tf.Cast", [x], cast(x, target), {"DstT": target},
                       tags=["special"])
    for source in INTS:  # integers of more bits than the significand
        low, high = int_range(source)
        for target in FLOATS:
            values = [2048, 2049, 2051, 257, 65503, 65504, 65519, 65520, 16777217, 16777219, 2**53 + 1, 2**53 + 3,
                      2**62 + 2**38, 2**62 + 2**38 + 1, high, high - 1, low]
            values = [v for v in values if low <= v <= high] + [-v for v in values if low <= -v <= high]
            x = vector(source, values)
            suite.case(f"Cast_{source}_to_{target}_rounding", "tf.Cast", [x], cast(x, target), {"DstT": target})
    for source, target in [("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16")]:
        values = [round_to(source, v) for v in (1.0, 1 / 3, -1 / 3, 2 / 3, math.pi, -1000.999, 0.1, 1.99999, 3e-3)]
        x = vector(source, values + [0.0, -0.0, math.inf, -math.inf, math.nan])
        y = vector(target, [v if v == 0 or not math.isfinite(v) else round_to(target, v, math.trunc) for v in x.values])
        suite.case(f"Cast_{source}_to_{target}_truncate", "tf.Cast", [x], y, {"DstT": target, "Truncate": True},
                   tags=["special"])
    for shape in [(), (0,), (2, 0), (1, 2, 1, 3, 1, 2), (40, 30)]:
        x = drawn("f32", shape, 43, -300, 300)
        suite.case(f"Cast_shape_{'x'.join(map(str, shape)) or 'scalar'}", "tf.Cast", [x], cast(x, "i32"),
                   {"DstT": "i32"}, tags=["empty"] if 0 in shape else [])
    x = drawn("f32", (50,), 44, -9, 9)
    for target in ("i32", "f32", "f64", "u8"):
        suite.case(f"Cast_inplace_{target}", "tf.Cast", [x], cast(x, target), {"DstT": target}, tags=["inplace"])
    x = varied("f32", (2,))
    suite.error("Cast_no_target", "tf.Cast", [x], "attribute DstT is required, expected "
                "DstT: {bool, u8, i8, u16, i16, i32, u32, i64, u64, f16, bf16, f32, f64, c64}")
    suite.error("Cast_to_string", "tf.Cast", [x], f"attribute DstT must be one of {dtype_set(CASTABLE)}, got string",
                {"DstT": "string"})
    suite.error("Cast_to_number", "tf.Cast", [x], "attribute DstT must be dtype, got i64", {"DstT": 3})
    suite.error("Cast_to_unknown", "tf.Cast", [x], "attribute DstT must be dtype, got string", {"DstT": "f99"})
    suite.error("Cast_wrong_source", "tf.Cast", [x], "attribute SrcT must be f32 like the arguments, got f64",
                {"DstT": "i32", "SrcT": "f64"})
    suite.error("Cast_truncate_not_bool", "tf.Cast", [x], "attribute Truncate must be bool, got i64",
                {"DstT": "i32", "Truncate": 1})
    common_errors(suite, "tf.Cast", [x], ["x"], CASTABLE, {"DstT": "i32"}, "one of SrcT, DstT, Truncate")


def suite():
    result = Suite()
    cast_cases(result)
    return result
