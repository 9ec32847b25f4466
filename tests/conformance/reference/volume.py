# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of convolutions and pooling of volumes."""

import itertools
import math

import numpy

from case_suite import Suite, common_errors, drawn, from_array, varied, vector
from number_formats import FLOATS, Fraction, round_to
from pooling import finished_element, largest, mean, plus

FORMATS = ("NDHWC", "NCDHW")
PADDINGS = ("VALID", "SAME")


class Windows:
    """Windows on volumes of a shape; `padding` is a name, or three pairs."""

    def __init__(self, shape, window, strides, padding="VALID", data_format="NDHWC", dilations=(1, 1, 1)):
        self.shape, self.window, self.strides, self.padding = shape, window, strides, padding
        self.data_format, self.dilations = data_format, dilations
        self.is_default_format = data_format == "NDHWC"
        self.batch = shape[0]
        self.channels = shape[4] if self.is_default_format else shape[1]
        self.sizes = shape[1:4] if self.is_default_format else shape[2:]
        self.starts = []
        for i in range(3):
            extent = (window[i] - 1) * dilations[i] + 1
            if padding == "SAME":
                count = -(-self.sizes[i] // strides[i])
                before = max(0, (count - 1) * strides[i] + extent - self.sizes[i]) // 2
            else:
                before, after = (0, 0) if padding == "VALID" else padding[i]
                count = (self.sizes[i] + before + after - extent) // strides[i] + 1
            self.starts.append([o * strides[i] - before for o in range(count)])

    def five(self, space, batch, channels):
        return [batch, *space, channels] if self.is_default_format else [batch, channels, *space]

    def attrs(self, pool):
        attrs = {"strides": self.five(self.strides, 1, 1)}
        if pool:
            attrs["ksize"] = self.five(self.window, 1, 1)
        elif self.dilations != (1, 1, 1):
            attrs["dilations"] = self.five(self.dilations, 1, 1)
        if isinstance(self.padding, str):
            attrs["padding"] = self.padding
        else:
            pairs = self.five(self.padding, (0, 0), (0, 0))
            attrs.update(padding="EXPLICIT", explicit_paddings=[p for pair in pairs for p in pair])
        if not self.is_default_format:
            attrs["data_format"] = self.data_format
        return attrs

    def channels_last(self, tensor):
        return tensor.array() if self.is_default_format else numpy.moveaxis(tensor.array(), 1, 4)

    def tensor(self, dtype, array):
        return from_array(dtype, array if self.is_default_format else numpy.moveaxis(array, 4, 1))

    def output_shape(self, channels):
        return tuple(self.five([len(starts) for starts in self.starts], self.batch, channels))

    def outputs(self):
        return itertools.product(*[range(len(starts)) for starts in self.starts])

    def seen(self, output):
        """(tap, place) of the elements within the volume that an output sees."""
        for tap in itertools.product(*map(range, self.window)):
            place = tuple(self.starts[i][output[i]] + tap[i] * self.dilations[i] for i in range(3))
            if all(0 <= place[i] < self.sizes[i] for i in range(3)):
                yield tap, place

    def empty(self, channels, space=None):
        return numpy.empty((self.batch, *(space or [len(s) for s in self.starts]), channels), dtype=object)


def shape_of(data_format, batch, space, channels):
    return (batch, *space, channels) if data_format == "NDHWC" else (batch, channels, *space)


def pool(x, windows, function):
    volume, result = windows.channels_last(x), windows.empty(windows.channels)
    for output in windows.outputs():
        places = [place for _, place in windows.seen(output)]
        for n, c in itertools.product(range(windows.batch), range(windows.channels)):
            result[(n, *output, c)] = round_to(x.dtype, function([volume[(n, *place, c)] for place in places]))
    return windows.tensor(x.dtype, result)


def pool_grad(x, grad, windows, is_max):
    volume, gradients = windows.channels_last(x), windows.channels_last(grad)
    sums = windows.empty(windows.channels, windows.sizes)
    sums[...] = Fraction(0)
    for output in windows.outputs():
        places = [place for _, place in windows.seen(output)]
        for n, c in itertools.product(range(windows.batch), range(windows.channels)):
            gradient = gradients[(n, *output, c)]
            if is_max:
                values = [volume[(n, *place, c)] for place in places]
                top = largest(values)
                chosen = [next(p for p, v in zip(places, values) if v == top or (v != v and top != top))]
            else:
                chosen = places
            share = Fraction(gradient) / len(chosen) if math.isfinite(gradient) else gradient
            for place in chosen:
                sums[(n, *place, c)] = plus(sums[(n, *place, c)], share)
    for index in numpy.ndindex(sums.shape):
        sums[index] = finished_element(x.dtype, sums[index])
    return windows.tensor(x.dtype, sums)


def pool_cases(suite, op):
    is_max, is_grad = op.startswith("Max"), op.endswith("Grad")

    def call(name, x, window, strides, padding="VALID", data_format="NDHWC", tags=(), exact=True):
        windows = Windows(x.shape, window, strides, padding, data_format)
        grad = varied(x.dtype, windows.output_shape(windows.channels), 77)
        ulp = 0 if is_max and (exact or not is_grad) else 1 if exact or x.dtype in ("f16", "bf16") else 4
        tolerance = 0
        if not is_grad:
            inputs, y = [x], pool(x, windows, largest if is_max else mean)
        else:
            inputs = [x, pool(x, windows, largest), grad] if is_max else [vector("i32", x.shape), grad]
            y = pool_grad(x, grad, windows, is_max)
            if not is_max:  # numbers that cancel out
                tolerance = 2.0**-48 if x.dtype == "f64" else 2.0**-18
        if not exact and not (is_max and not is_grad):
            tolerance = 2.0**-18
        empty = ["empty"] if 0 in x.shape else []
        suite.case(f"{op}_{name}", f"tf.{op}", inputs, y, windows.attrs(True), ulp=ulp, abs_tolerance=tolerance,
                   tags=list(tags) + empty)

    for dtype in FLOATS:
        for data_format in FORMATS:
            x = varied(dtype, shape_of(data_format, 2, (3, 2, 4), 3), 1)
            for padding in PADDINGS:
                call(f"{dtype}_{data_format.lower()}_{padding.lower()}", x, (2, 2, 2), (2, 1, 2), padding, data_format)
        call(f"{dtype}_channels", varied(dtype, (1, 2, 2, 2, 19), 2), (2, 1, 2), (1, 1, 1), "SAME")
        values = [1.0, math.inf, -math.inf, math.nan, 2.0, -0.0, -1.0, -math.inf]
        special = from_array(dtype, numpy.array(values * 2, dtype=object).reshape(1, 2, 2, 4, 1))
        call(f"{dtype}_special", special, (1, 2, 2), (1, 1, 1))
    for data_format in FORMATS:
        lower = data_format.lower()
        x = varied("f32", shape_of(data_format, 1, (4, 3, 5), 2), 3)
        for number, (window, strides) in enumerate([((1, 1, 1), (1, 1, 1)), ((3, 1, 2), (1, 2, 3)), ((4, 3, 5), (1, 1, 1)),
                                                    ((1, 1, 1), (2, 2, 2)), ((2, 3, 3), (3, 1, 2))]):
            for padding in PADDINGS:
                call(f"{lower}_window{number}_{padding.lower()}", x, window, strides, padding, data_format)
        for number, paddings in enumerate([((1, 1), (0, 0), (1, 0)), ((0, 1), (1, 1), (0, 0)), ((0, 0),) * 3]):
            call(f"{lower}_explicit{number}", x, (2, 2, 2), (1, 2, 1), paddings, data_format)
        for number, shape in enumerate([(0, (2, 2, 2), 1), (2, (2, 2, 2), 0)]):
            call(f"{lower}_empty{number}", varied("f32", shape_of(data_format, *shape)), (1, 2, 2), (1, 1, 1), "VALID",
                 data_format)
        call(f"{lower}_no_rows", varied("f32", shape_of(data_format, 1, (2, 0, 2), 1)), (1, 2, 2), (1, 1, 1), "SAME",
             data_format)
        call(f"{lower}_large", drawn("f32", shape_of(data_format, 2, (5, 6, 7), 3), 4, -1, 1), (3, 2, 3), (2, 2, 1), "SAME",
             data_format, tags=["large"], exact=False)
    pool_errors(suite, op, is_max, is_grad)


def pool_errors(suite, op, is_max, is_grad):
    name = "orig_input" if is_grad else "input"
    right = {"ksize": [1, 2, 2, 2, 1], "strides": [1] * 5, "padding": "VALID"}
    volume, pooled = varied("f32", (1, 3, 3, 3, 1)), varied("f32", (1, 2, 2, 2, 1))

    def inputs_of(x):
        return [x] if not is_grad else [x, pooled, pooled] if is_max else [vector("i32", x.shape), pooled]

    def wrong(case, text, x=volume, **attrs):
        suite.error(f"{op}_{case}", f"tf.{op}", inputs_of(x), text, {**right, **attrs})

    for shape in [(), (3, 3, 3, 1), (1, 1, 3, 3, 3, 1)]:
        x = varied("f32", shape)
        wrong(f"rank{len(shape)}", f"{name} must have five dimensions, got {name}: {x}", x)
    for attr in ("ksize", "strides"):
        wrong(f"{attr}_long", f"{attr} must have five elements, got {attr}: [1,2,2,2,1,1]", **{attr: [1, 2, 2, 2, 1, 1]})
        wrong(f"{attr}_short", f"length of attribute {attr} must be at least 5, got 4", **{attr: [1, 2, 2, 1]})
        wrong(f"{attr}_batch", f"{attr} must be 1 for batch and channels, got {attr}: [2,2,2,2,1]",
              **{attr: [2, 2, 2, 2, 1]})
        wrong(f"{attr}_channels", f"{attr} must be 1 for batch and channels, got {attr}: [1,2,2,2,3]",
              **{attr: [1, 2, 2, 2, 3]})
        wrong(f"{attr}_zero", f"{attr} must be at least 1, got {attr}: [1,2,0,2,1]", **{attr: [1, 2, 0, 2, 1]})
    wrong("window", f"windows must not be larger than the padded {name}, got {name}: {volume}, ksize: [1,1,4,1,1]",
          ksize=[1, 1, 4, 1, 1])
    wrong("padding", "attribute padding must be one of 'SAME', 'VALID', 'EXPLICIT', got 'FULL'", padding="FULL")
    wrong("format", "attribute data_format must be one of 'NDHWC', 'NCDHW', got 'NHWC'", data_format="NHWC")
    wrong("explicit_without", "explicit_paddings must have ten elements, got explicit_paddings: []", padding="EXPLICIT")
    for case, paddings, text in [
            ("batch", [1] + [0] * 9, "must be 0 for batch and channels, got explicit_paddings: [1,0,0,0,0,0,0,0,0,0]"),
            ("negative", [0, 0, -1] + [0] * 7, "must not be negative, got explicit_paddings: [0,0,-1,0,0,0,0,0,0,0]"),
            ("large", [0, 0, 2] + [0] * 7,
             "must be less than ksize, got explicit_paddings: [0,0,2,0,0,0,0,0,0,0], ksize: [1,2,2,2,1]")]:
        wrong(f"explicit_{case}", f"explicit_paddings {text}", padding="EXPLICIT", explicit_paddings=paddings)
    wrong("explicit_unasked", "explicit_paddings must be empty unless padding is 'EXPLICIT', got explicit_paddings: "
          "[0,0,0,0,0,0,0,0,0,0], padding: 'VALID'", explicit_paddings=[0] * 10)
    if is_grad:
        bad = varied("f32", (1, 2, 2, 3, 1))
        suite.error(f"{op}_grad_shape", f"tf.{op}", inputs_of(volume)[:-1] + [bad],
                    f"grad must be f32[1,2,2,2,1], like the result of pooling, got grad: {bad}", right)
    if is_grad and is_max:
        suite.error(f"{op}_output_shape", f"tf.{op}", [volume, bad, pooled],
                    f"orig_output must be f32[1,2,2,2,1], like the result of pooling, got orig_output: {bad}", right)
    names = ["orig_input_shape"] if is_grad and not is_max else [name]
    common_errors(suite, f"tf.{op}", inputs_of(volume), names, ["i32"] if names == ["orig_input_shape"] else FLOATS, right,
                  "one of ksize, strides, padding, explicit_paddings, data_format, T")


def product_sum(terms):
    return sum((Fraction(a) * Fraction(b) for a, b in terms), Fraction(0))


def convolve(x, w, windows):
    volume, weights = windows.channels_last(x), w.array()
    result = windows.empty(w.shape[4])
    for output in windows.outputs():
        seen = list(windows.seen(output))
        for n, k in itertools.product(range(windows.batch), range(w.shape[4])):
            result[(n, *output, k)] = round_to(x.dtype, product_sum(
                (volume[(n, *place, c)], weights[(*tap, c, k)]) for tap, place in seen for c in range(windows.channels)))
    return windows.tensor(x.dtype, result)


def convolve_grad(x, w, grad, windows, to_input):
    volume, weights, gradients = windows.channels_last(x), w.array(), windows.channels_last(grad)
    sums = windows.empty(windows.channels, windows.sizes) if to_input else numpy.empty(w.shape, dtype=object)
    sums[...] = Fraction(0)
    for output in windows.outputs():
        for tap, place in windows.seen(output):
            for n, c, k in itertools.product(range(windows.batch), range(windows.channels), range(w.shape[4])):
                gradient = Fraction(gradients[(n, *output, k)])
                if to_input:
                    sums[(n, *place, c)] += gradient * Fraction(weights[(*tap, c, k)])
                else:
                    sums[(*tap, c, k)] += gradient * Fraction(volume[(n, *place, c)])
    for index in numpy.ndindex(sums.shape):
        sums[index] = round_to(x.dtype, sums[index])
    return windows.tensor(x.dtype, sums) if to_input else from_array(x.dtype, sums)


def convolution_cases(suite, op):
    def call(name, x, w, strides, padding="VALID", data_format="NDHWC", dilations=(1, 1, 1), sizes="i32", tags=(),
             exact=True):
        windows = Windows(x.shape, w.shape[:3], strides, padding, data_format, dilations)
        grad = varied(x.dtype, windows.output_shape(w.shape[4]), 7)
        if op == "Conv3D":
            inputs, y = [x, w], convolve(x, w, windows)
        elif op == "Conv3DBackpropInputV2":
            inputs, y = [vector(sizes, x.shape), w, grad], convolve_grad(x, w, grad, windows, True)
        else:
            inputs, y = [x, vector("i32", w.shape), grad], convolve_grad(x, w, grad, windows, False)
        empty = ["empty"] if 0 in y.shape else []
        tolerance = 0 if exact else 2.0**-16
        suite.case(f"{op}_{name}", f"tf.{op}", inputs, y, windows.attrs(False), abs_tolerance=tolerance,
                   ulp=0 if exact else 4, tags=list(tags) + empty)

    for dtype in FLOATS:
        for data_format in FORMATS:
            x = varied(dtype, shape_of(data_format, 2, (3, 2, 3), 2), 1)
            for padding in PADDINGS:
                call(f"{dtype}_{data_format.lower()}_{padding.lower()}", x, varied(dtype, (2, 1, 2, 2, 3), 2), (1, 1, 1),
                     padding, data_format)
    for data_format in FORMATS:
        lower = data_format.lower()
        x = varied("f32", shape_of(data_format, 1, (4, 3, 5), 2), 3)
        for number, (window, strides, dilations) in enumerate([
                ((1, 1, 1), (1, 1, 1), (1, 1, 1)), ((2, 2, 2), (2, 1, 3), (1, 1, 1)), ((2, 2, 2), (1, 1, 1), (2, 1, 3)),
                ((3, 1, 2), (1, 2, 2), (1, 1, 2)), ((1, 1, 1), (2, 2, 2), (1, 1, 1))]):
            for padding in PADDINGS:
                call(f"{lower}_window{number}_{padding.lower()}", x, varied("f32", (*window, 2, 3), 4), strides, padding,
                     data_format, dilations)
        call(f"{lower}_explicit", x, varied("f32", (2, 2, 2, 2, 1), 5), (1, 1, 2), ((1, 0), (0, 2), (1, 1)), data_format)
        call(f"{lower}_no_batch", varied("f32", shape_of(data_format, 0, (2, 2, 2), 1)), varied("f32", (1, 2, 1, 1, 2)),
             (1, 1, 1), "VALID", data_format)
        call(f"{lower}_no_channels", varied("f32", shape_of(data_format, 1, (2, 2, 2), 0)), varied("f32", (1, 2, 1, 0, 2)),
             (1, 1, 1), "VALID", data_format)
        call(f"{lower}_no_filters", varied("f32", shape_of(data_format, 1, (2, 2, 2), 2)), varied("f32", (1, 2, 1, 2, 0)),
             (1, 1, 1), "VALID", data_format)
        call(f"{lower}_small_volume", varied("f32", shape_of(data_format, 1, (1, 1, 1), 2)),
             varied("f32", (3, 3, 3, 2, 2), 6), (1, 1, 1), "SAME", data_format)
        call(f"{lower}_large", drawn("f32", shape_of(data_format, 2, (4, 5, 6), 3), 8, -1, 1),
             drawn("f32", (3, 3, 2, 3, 5), 9, -1, 1), (1, 2, 1), "SAME", data_format, tags=["large"], exact=False)
    if op == "Conv3DBackpropInputV2":
        call("sizes_i64", varied("f32", (1, 2, 2, 2, 1)), varied("f32", (1, 2, 1, 1, 2)), (1, 1, 1), sizes="i64")
    convolution_errors(suite, op)


def convolution_errors(suite, op):
    right = {"strides": [1] * 5, "padding": "VALID"}
    x, w, y = varied("f32", (1, 3, 3, 3, 2)), varied("f32", (2, 2, 2, 2, 1)), varied("f32", (1, 2, 2, 2, 1))
    names = ("input", "filter")
    if op == "Conv3DBackpropInputV2":
        names = ("input_sizes", "filter")
    elif op == "Conv3DBackpropFilterV2":
        names = ("input", "filter_sizes")

    def inputs_of(x, w, y=y):
        first = vector("i32", x.shape) if names[0] == "input_sizes" else x
        second = vector("i32", w.shape) if names[1] == "filter_sizes" else w
        return [first, second] + ([] if op == "Conv3D" else [y])

    def wrong(case, text, inputs=None, **attrs):
        suite.error(f"{op}_{case}", f"tf.{op}", inputs or inputs_of(x, w), text, {**right, **attrs})

    bad = varied("f32", (3, 3, 3, 2))
    wrong("input_rank", f"{names[0]} must have five dimensions, got {names[0]}: {bad}", inputs_of(bad, w))
    wrong("filter_rank", f"{names[1]} must have five dimensions, got {names[1]}: {bad}", inputs_of(x, bad))
    other = varied("f32", (2, 2, 2, 3, 1))
    wrong("channels", f"{names[0]} must have as many channels as {names[1]} takes, got {names[0]}: {x}, {names[1]}: "
          f"{other}", inputs_of(x, other))
    wrong("dilations", "dilations must be at least 1, got dilations: [1,0,1,1,1]", dilations=[1, 0, 1, 1, 1])
    wrong("dilations_batch", "dilations must be 1 for batch and channels, got dilations: [2,1,1,1,1]",
          dilations=[2, 1, 1, 1, 1])
    wrong("strides", "strides must have five elements, got strides: [1,1,1,1,1,1]", strides=[1] * 6)
    wide = varied("f32", (2, 5, 2, 2, 1))
    wrong("window", "window must not be larger than the padded input, got rows of input: 3, window: 5, stride: 1, "
          "dilation: 1, padding: 0 + 0", inputs_of(x, wide))
    if op != "Conv3D":
        bad = varied("f32", (1, 2, 2, 3, 1))
        wrong("out_backprop", f"out_backprop must be f32[1,2,2,2,1], like the result of the convolution, got out_backprop: "
              f"{bad}", inputs_of(x, w, bad))
    dtypes = ["i32", "i64"] if op == "Conv3DBackpropInputV2" else FLOATS
    required = "one of strides, padding, explicit_paddings, data_format, dilations, T"
    if op == "Conv3DBackpropInputV2":
        required = "one of Tshape, strides, padding, explicit_paddings, data_format, dilations, T"
    common_errors(suite, f"tf.{op}", inputs_of(x, w), [names[0]], dtypes, right, required)


def suite():
    result = Suite()
    for op in ("MaxPool3D", "AvgPool3D", "MaxPool3DGrad", "AvgPool3DGrad"):
        pool_cases(result, op)
    for op in ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"):
        convolution_cases(result, op)
    return result
