# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of normalization by the channels nearby, in f64."""

import math

import numpy

from case_suite import Tensor, common_errors, drawn, from_array, varied
from number_formats import round_to

DTYPES = ["f16", "bf16", "f32"]
DEFAULTS = {"depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5}


def settings(attrs):
    values = {**DEFAULTS, **attrs}
    return int(values["depth_radius"]), *[float(round_to("f32", values[key])) for key in ("bias", "alpha", "beta")]


def bases(x, radius, bias, alpha):
    squares = x * x
    result = numpy.empty(x.shape)
    for c in range(x.shape[3]):
        result[..., c] = bias + alpha * squares[..., max(0, c - radius):c + radius + 1].sum(axis=3)
    return result


def add_cases(suite):
    def call(name, x, attrs=None, tags=(), with_gradient=True):
        radius, bias, alpha, beta = settings(attrs or {})
        with numpy.errstate(all="ignore"):
            numbers = x.array().astype(float)
            base = bases(numbers, radius, bias, alpha)
            y = numbers * base**-beta
        result = from_array(x.dtype, numpy.vectorize(lambda v: round_to(x.dtype, float(v)), otypes=[object])(y)
                            if y.size else y)
        empty = ["empty"] if 0 in x.shape else []
        suite.case(f"LRN_{name}", "tf.LRN", [x], result, attrs, ulp=1, tags=list(tags) + empty)
        if not with_gradient:
            return
        grad = varied(x.dtype, x.shape, 31)
        shares = grad.array().astype(float) * result.array().astype(float) / base
        back = numpy.empty(x.shape)
        for c in range(x.shape[3]):
            sums = shares[..., max(0, c - radius):c + radius + 1].sum(axis=3)
            direct = grad.array().astype(float)[..., c] * base[..., c]**-beta
            back[..., c] = direct - 2 * alpha * beta * numbers[..., c] * sums
        output = from_array(x.dtype, numpy.vectorize(lambda v: round_to(x.dtype, float(v)), otypes=[object])(back)
                            if back.size else back)
        suite.case(f"LRNGrad_{name}", "tf.LRNGrad", [grad, x, result], output, attrs, ulp=1, abs_tolerance=2.0**-40,
                   tags=list(tags) + empty)

    for dtype in DTYPES:
        for number, attrs in enumerate([{}, {"depth_radius": 1}, {"bias": 2.0, "alpha": 0.5, "beta": 0.75},
                                        {"beta": 1.0}, {"depth_radius": 0, "beta": 0.6}, {"beta": -0.5}, {"alpha": 0.0},
                                        {"depth_radius": 100, "alpha": 1e-4, "beta": 0.75}]):
            call(f"{dtype}_{number}", varied(dtype, (1, 2, 2, 7), 1), attrs)
        special = Tensor(dtype, (1, 1, 2, 4), [1.0, math.inf, 2.0, -0.0, math.nan, 1.0, 2.0, 0.0])
        call(f"{dtype}_special", special, {"depth_radius": 1}, with_gradient=False)
    for number, shape in enumerate([(1, 1, 1, 1), (2, 3, 1, 5), (0, 2, 2, 3), (1, 2, 2, 0)]):
        call(f"shape{number}", varied("f32", shape, 2))
    call("large", drawn("f32", (2, 5, 7, 19), 3, -2, 2), {"depth_radius": 2, "beta": 0.75}, tags=["large"])
    x = varied("f32", (1, 2, 2, 3))
    required = "one of depth_radius, bias, alpha, beta, T"
    for shape in [(3,), (2, 2, 3)]:
        bad = varied("f32", shape)
        suite.error(f"LRN_rank{len(shape)}", "tf.LRN", [bad], f"input must have four dimensions, got input: {bad}")
        suite.error(f"LRNGrad_rank{len(shape)}", "tf.LRNGrad", [bad] * 3,
                    f"input_image must have four dimensions, got input_image: {bad}")
    suite.error("LRN_radius", "tf.LRN", [x], "depth_radius must be at least 0, got -1", {"depth_radius": -1})
    other = varied("f32", (1, 2, 2, 4))
    suite.error("LRNGrad_shapes", "tf.LRNGrad", [x, x, other], "input_grads and output_image must have the shape of "
                f"input_image, got input_grads: {x}, input_image: {x}, output_image: {other}")
    common_errors(suite, "tf.LRN", [x], ["input"], DTYPES, required=required)
    common_errors(suite, "tf.LRNGrad", [x, x, x], ["input_grads"], DTYPES, required=required)
