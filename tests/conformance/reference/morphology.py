# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of dilation and its gradients."""

import math

import numpy

from case_suite import Suite, Tensor, common_errors, drawn, from_array, varied
from number_formats import FLOATS, INTS, REALS, Fraction, int_range, limits, round_to, wrap


def windows_of(size, window, stride, rate, padding):
    """For each window its (tap, place) within the image."""
    extent = (window - 1) * rate + 1
    if padding == "SAME":
        count = -(-size // stride)
        before = max(0, (count - 1) * stride + extent - size) // 2
    else:
        count, before = (size - extent) // stride + 1, 0
    result = []
    for o in range(count):
        places = [(t, o * stride - before + t * rate) for t in range(window)]
        result.append([(t, p) for t, p in places if 0 <= p < size])
    return result


def lowest(dtype):
    return int_range(dtype)[0] if dtype in INTS else -limits(dtype)[3]


def total(dtype, a, b):
    """As it is compared: integers before they wrap around, but those of 64 bits after."""
    if dtype in INTS:
        return wrap(dtype, a + b) if dtype in ("i64", "u64") else a + b
    if math.isfinite(a) and math.isfinite(b):
        return round_to("f64" if dtype == "f64" else "f32", Fraction(a) + Fraction(b))
    return a + b


def is_above(a, b):
    return a > b or (a != a and b == b)


def best(x, w, rows, columns, n, c):
    """(sum, place in the image, tap) of the first largest sum; None without any."""
    chosen = None
    for i, y in rows:
        for j, z in columns:
            value = total(x.dtype, x.array()[n, y, z, c], w.array()[i, j, c])
            if chosen is None or is_above(value, chosen[0]):
                chosen = (value, (n, y, z, c), (i, j, c))
    return chosen


def finish(dtype, value):
    return wrap(dtype, int(value)) if dtype in INTS else round_to(dtype, value)


def dilation_cases(suite, op):
    def call(name, x, w, strides=(1, 1), rates=(1, 1), padding="VALID", tags=()):
        rows = windows_of(x.shape[1], w.shape[0], strides[0], rates[0], padding)
        columns = windows_of(x.shape[2], w.shape[1], strides[1], rates[1], padding)
        shape = (x.shape[0], len(rows), len(columns), x.shape[3])
        grad = varied(x.dtype, shape, 9)
        y = numpy.empty(shape, dtype=object)
        sums = numpy.full(x.shape if op.endswith("Input") else w.shape, 0, dtype=object)
        for n, i, j, c in numpy.ndindex(shape):
            found = best(x, w, rows[i], columns[j], n, c)
            y[n, i, j, c] = finish(x.dtype, found[0]) if found else lowest(x.dtype)
            if found and op != "Dilation2D":
                at = found[1] if op.endswith("Input") else found[2]
                sums[at] += Fraction(grad.array()[n, i, j, c])
        attrs = {"strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding}
        if op == "Dilation2D":
            inputs, result = [x, w], from_array(x.dtype, y)
        else:
            for index in numpy.ndindex(sums.shape):
                sums[index] = finish(x.dtype, sums[index])
            inputs, result = [x, w, grad], from_array(x.dtype, sums)
        empty = ["empty"] if 0 in result.shape else []
        suite.case(f"{op}_{name}", f"tf.{op}", inputs, result, attrs, tags=list(tags) + empty)

    for dtype in REALS:
        x, w = varied(dtype, (2, 3, 4, 2), 1), varied(dtype, (2, 2, 2), 2)
        for padding in ("VALID", "SAME"):
            call(f"{dtype}_{padding.lower()}", x, w, padding=padding)
    x = varied("f32", (1, 5, 6, 3), 3)
    for number, (window, strides, rates) in enumerate([((1, 1), (1, 1), (1, 1)), ((2, 3), (2, 1), (1, 2)),
                                                       ((3, 2), (1, 3), (2, 1)), ((2, 2), (3, 3), (1, 1)),
                                                       ((5, 6), (1, 1), (1, 1))]):
        for padding in ("VALID", "SAME"):
            call(f"window{number}_{padding.lower()}", x, varied("f32", (*window, 3), 4), strides, rates, padding)
    for dtype in ("f32", "f16", "bf16", "f64", "i8", "i32", "u16", "u64"):
        call(f"{dtype}_nothing_seen", varied(dtype, (1, 3, 1, 1), 5), varied(dtype, (2, 1, 1), 6), (1, 1), (4, 1), "SAME")
    for dtype in FLOATS:
        values = [1.0, math.nan, -math.inf, math.inf, -math.inf, -math.inf, -math.inf, 2.0, math.nan]
        call(f"{dtype}_special", Tensor(dtype, (1, 3, 3, 1), values), Tensor(dtype, (2, 2, 1), [0.0, 1.0, -1.0, 0.5]))
    call("equal", Tensor("f32", (1, 3, 3, 1), [1.0] * 9), Tensor("f32", (2, 2, 1), [0.0] * 4), padding="SAME")
    for number, shape in enumerate([(0, 2, 2, 1), (1, 2, 2, 0)]):
        call(f"empty{number}", varied("f32", shape), varied("f32", (2, 2, shape[3])))
    if op == "Dilation2D":
        call("large", drawn("f32", (2, 9, 11, 5), 7, -4, 4), drawn("f32", (3, 3, 5), 8, -1, 1), padding="SAME",
             tags=["large"])

    right = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}
    x, w, y = varied("f32", (1, 3, 3, 2)), varied("f32", (2, 2, 2)), varied("f32", (1, 2, 2, 2))

    def wrong(name, text, x=x, w=w, y=y, **attrs):
        suite.error(f"{op}_{name}", f"tf.{op}", [x, w] + ([] if op == "Dilation2D" else [y]), text, {**right, **attrs})

    wrong("input_rank", "input must have four dimensions, got input: f32[3,3,2]", x=varied("f32", (3, 3, 2)))
    wrong("filter_rank", "filter must have three dimensions, got filter: f32[2,2]", w=varied("f32", (2, 2)))
    wrong("channels", "input and filter must have the same number of channels, got input: f32[1,3,3,2], filter: f32[2,2,3]",
          w=varied("f32", (2, 2, 3)))
    wrong("empty_filter", "filter must have at least one row and one column, got filter: f32[0,2,2]",
          w=varied("f32", (0, 2, 2)))
    wrong("window", "window must not be larger than the padded input, got rows of input: 3, window: 5, stride: 1, "
          "dilation: 1, padding: 0 + 0", w=varied("f32", (5, 1, 2)))
    wrong("rates", "rates must be at least 1, got rates: [1,0,1,1]", rates=[1, 0, 1, 1])
    wrong("rates_batch", "rates must be 1 for batch and channels, got rates: [2,1,1,1]", rates=[2, 1, 1, 1])
    wrong("strides", "strides must be 1 for batch and channels, got strides: [1,1,1,2]", strides=[1, 1, 1, 2])
    wrong("padding", "attribute padding must be one of 'SAME', 'VALID', got 'EXPLICIT'", padding="EXPLICIT")
    if op != "Dilation2D":
        bad = varied("f32", (1, 2, 3, 2))
        wrong("out_backprop", f"out_backprop must be f32[1,2,2,2], like the result of the dilation, got out_backprop: {bad}",
              y=bad)
    inputs = [x, w] + ([] if op == "Dilation2D" else [y])
    common_errors(suite, f"tf.{op}", inputs, ["input"], REALS, right, "one of T, strides, rates, padding")


def suite():
    result = Suite()
    for op in ("Dilation2D", "Dilation2DBackpropInput", "Dilation2DBackpropFilter"):
        dilation_cases(result, op)
    return result
