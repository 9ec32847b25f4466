# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of pooling and its gradients."""

import math

import numpy

from case_suite import Suite, Tensor, common_errors, drawn, from_array, varied, vector
from number_formats import FLOATS, INTS, REALS, Fraction, convert, round_to, wrap

MAX_DTYPES = ["u8", "i8", "u16", "i16", "i32", "i64"] + FLOATS
PADDINGS = ("VALID", "SAME")
FORMATS = ("NHWC", "NCHW")


class Windows:
    """The windows of pooling on images of a shape; `padding` is a name, or [top, bottom, left, right]."""

    def __init__(self, shape, window, strides, padding="VALID", data_format="NHWC"):
        self.shape, self.window, self.strides = shape, window, strides
        self.padding, self.data_format = padding, data_format
        self.is_default_format = data_format == "NHWC"
        sizes = shape[1:3] if self.is_default_format else shape[2:4]
        self.axes = [self.axis(*sizes_, padding if isinstance(padding, str) else padding[2 * i:2 * i + 2])
                     for i, sizes_ in enumerate(zip(sizes, window, strides))]

    @staticmethod
    def axis(size, window, stride, padding):
        """For each window the indices within the image."""
        if padding == "SAME":
            count = -(-size // stride)
            before = max(0, (count - 1) * stride + window - size) // 2
        else:
            before, after = (0, 0) if padding == "VALID" else padding
            count = (size + before + after - window) // stride + 1
        starts = [o * stride - before for o in range(count)]
        return [range(max(start, 0), min(start + window, size)) for start in starts]

    def four(self, spatial, other):
        batch, channel = other
        return [batch, *spatial, channel] if self.is_default_format else [batch, channel, *spatial]

    def attrs(self):
        attrs = {"ksize": self.four(self.window, (1, 1)), "strides": self.four(self.strides, (1, 1))}
        if isinstance(self.padding, str):
            attrs["padding"] = self.padding
        else:
            top, bottom, left, right = self.padding
            pairs = self.four([(top, bottom), (left, right)], ((0, 0), (0, 0)))
            attrs.update(padding="EXPLICIT", explicit_paddings=[p for pair in pairs for p in pair])
        if not self.is_default_format:
            attrs["data_format"] = self.data_format
        return attrs

    def channels_last(self, tensor):
        return tensor.array() if self.is_default_format else numpy.moveaxis(tensor.array(), 1, 3)

    def tensor(self, dtype, array):
        return from_array(dtype, array if self.is_default_format else numpy.moveaxis(array, 3, 1))

    def pooled_shape(self):
        spatial = [len(axis) for axis in self.axes]
        batch, channels = self.shape[0], self.shape[3] if self.is_default_format else self.shape[1]
        return tuple(self.four(spatial, (batch, channels)))

    def __iter__(self):
        """(n, row, column, c) of each result, and the (row, column) of its elements, in order."""
        batch, channels = self.shape[0], self.shape[3] if self.is_default_format else self.shape[1]
        for n in range(batch):
            for y, rows in enumerate(self.axes[0]):
                for x, columns in enumerate(self.axes[1]):
                    for c in range(channels):
                        yield (n, y, x, c), [(row, column) for row in rows for column in columns]


def largest(values):
    return math.nan if any(v != v for v in values) else max(values)


def mean(values):
    if all(map(math.isfinite, values)):
        return sum(map(Fraction, values)) / len(values)
    return sum(values)


def pool(x, windows, function):
    image = windows.channels_last(x)
    shape = windows.pooled_shape()
    result = numpy.empty(shape if windows.is_default_format else (shape[0], shape[2], shape[3], shape[1]), dtype=object)
    for (n, i, j, c), places in windows:
        result[n, i, j, c] = convert(x.dtype, function([image[n, row, column, c] for row, column in places]))
    return windows.tensor(x.dtype, result)


def grad_zeros(windows):
    shape = windows.shape
    zeros = numpy.empty(shape if windows.is_default_format else (shape[0], shape[2], shape[3], shape[1]), dtype=object)
    zeros[...] = Fraction(0)
    return zeros


def finished_element(dtype, value):
    return wrap(dtype, int(value)) if dtype in INTS else round_to(dtype, value)


def finished(windows, dtype, sums):
    flat = numpy.empty(sums.shape, dtype=object)
    for index in numpy.ndindex(sums.shape):
        flat[index] = finished_element(dtype, sums[index])
    return windows.tensor(dtype, flat)


def plus(x, y):
    return x + Fraction(y) if math.isfinite(y) and isinstance(x, Fraction) else float(x) + y


def max_grad(x, grad, windows):
    image, gradients = windows.channels_last(x), windows.channels_last(grad)
    sums = grad_zeros(windows)
    for (n, i, j, c), places in windows:
        values = [image[n, row, column, c] for row, column in places]
        top = largest(values)
        first = next(p for p, v in zip(places, values) if v == top or (v != v and top != top))
        sums[(n, *first, c)] = plus(sums[(n, *first, c)], gradients[n, i, j, c])
    return finished(windows, x.dtype, sums)


def avg_grad(grad, windows):
    gradients = windows.channels_last(grad)
    sums = grad_zeros(windows)
    for (n, i, j, c), places in windows:
        gradient = gradients[n, i, j, c]
        share = Fraction(gradient) / len(places) if math.isfinite(gradient) else gradient
        for row, column in places:
            sums[n, row, column, c] = plus(sums[n, row, column, c], share)
    return finished(windows, grad.dtype, sums)


def image_shape(data_format, batch, height, width, channels):
    return (batch, height, width, channels) if data_format == "NHWC" else (batch, channels, height, width)


class Calls:
    """Adds cases of one op: of images, or for gradients of the results of pooling them."""

    def __init__(self, suite, op):
        self.suite, self.op = suite, op
        self.dtypes = {"MaxPool": MAX_DTYPES, "MaxPoolGrad": REALS}.get(op, FLOATS)
        self.is_max = op.startswith("Max")

    def add(self, name, x, window, strides, padding="VALID", data_format="NHWC", tags=(), grad=None, is_exact=True):
        windows = Windows(x.shape, window, strides, padding, data_format)
        grad = grad or varied(x.dtype, windows.pooled_shape(), 77)
        if self.op == "MaxPool":
            inputs, output = [x], pool(x, windows, largest)
        elif self.op == "AvgPool":
            inputs, output = [x], pool(x, windows, mean)
        elif self.op == "MaxPoolGrad":
            inputs, output = [x, pool(x, windows, largest), grad], max_grad(x, grad, windows)
        else:
            inputs, output = [vector("i32", x.shape), grad], avg_grad(grad, windows)
        ulp, tolerance = 0, 0
        if not self.is_max or (self.op == "MaxPoolGrad" and not is_exact):
            ulp = 1 if is_exact or x.dtype in ("f16", "bf16") else 4
            if self.op != "AvgPool" or not is_exact:  # numbers that cancel out
                tolerance = {"f64": 2.0**-48, "f32": 2.0**-19}.get(x.dtype, 2.0**-19)
        empty = ["empty"] if 0 in x.shape else []
        self.suite.case(f"{self.op}_{name}", f"tf.{self.op}", inputs, output, windows.attrs(), ulp=ulp,
                        abs_tolerance=tolerance, tags=list(tags) + empty)


def pooling_cases(calls):
    add = calls.add
    for dtype in calls.dtypes:
        for data_format in FORMATS:
            lower = data_format.lower()
            for padding in PADDINGS:
                x = varied(dtype, image_shape(data_format, 2, 3, 4, 3), 1)
                add(f"{dtype}_{lower}_{padding.lower()}", x, (2, 2), (2, 2), padding, data_format)
        x = varied(dtype, (1, 1, 2, 70), 2)
        add(f"{dtype}_wide", x, (2, 3), (1, 2), "SAME", "NCHW")
        add(f"{dtype}_wide_step1", x, (2, 3), (1, 1), "VALID", "NCHW")
        for channels in (8, 17, 70) if dtype not in ("i16", "u32", "u64", "i64") else (9,):
            add(f"{dtype}_channels{channels}", varied(dtype, (1, 2, 2, channels), channels), (2, 2), (1, 1), "SAME")
    window_cases(calls)
    for dtype in ("f16", "bf16"):
        for step in (1, 2):
            add(f"{dtype}_rows_by{step}", varied(dtype, (1, 1, 4, 43), 3), (3, 3), (step, step), "SAME", "NCHW")
        add(f"{dtype}_520_channels", varied(dtype, (1, 2, 1, 520), 4), (2, 1), (1, 1))
        add(f"{dtype}_many_rows", varied(dtype, (1, 66, 2, 1), 5), (3, 2), (2, 1), "SAME")
    for data_format in FORMATS:
        lower = data_format.lower()
        for name, sizes in [("no_images", (0, 3, 3, 2)), ("no_channels", (2, 3, 3, 0))]:
            add(f"{name}_{lower}", varied("f32", image_shape(data_format, *sizes)), (2, 2), (1, 1), "VALID",
                data_format)
        for name, sizes in [("no_rows", (2, 0, 3, 2)), ("no_columns", (2, 3, 0, 2))]:
            add(f"{name}_{lower}", varied("f32", image_shape(data_format, *sizes)), (2, 2), (1, 1), "SAME", data_format)
        x = varied("f32", image_shape(data_format, 1, 5, 5, 3), 6)
        add(f"inplace_{lower}", x, (1, 1), (1, 1), "VALID", data_format, tags=["inplace"])
        x = drawn("f32", image_shape(data_format, 2, 11, 13, 5), 7, -1, 1)
        add(f"large_{lower}", x, (3, 3), (2, 2), "SAME", data_format, tags=["large"], is_exact=False)
        add(f"large_step1_{lower}", x, (3, 2), (1, 1), "VALID", data_format, tags=["large"], is_exact=False)
    special_cases(calls)


def window_cases(calls):
    shapes = [(1, 6, 7, 2), (1, 4, 3, 18)]
    for data_format in FORMATS:
        for i, sizes in enumerate(shapes):
            x = varied("f32", image_shape(data_format, *sizes), 8 + i)
            all_windows = [((1, 1), (1, 1)), ((3, 1), (1, 2)), ((1, 4), (2, 1)), ((2, 2), (3, 3)), ((1, 1), (2, 3)),
                           ((3, 3), (2, 2)), ((4, 3), (1, 3)), ((4, 3), (1, 1))]
            for window, strides in all_windows if sizes[3] == 2 else all_windows[1::2]:
                for padding in PADDINGS:
                    name = "x".join(map(str, window)) + "_by_" + "x".join(map(str, strides))
                    add_name = f"{data_format.lower()}_{sizes[3]}_{padding.lower()}_{name}"
                    calls.add(add_name, x, window, strides, padding, data_format)
            for window in [(9, 8), (20, 1), (1, 15), (2**33, 2**59)]:
                name = "x".join(map(str, window))
                calls.add(f"{data_format.lower()}_{sizes[3]}_beyond_{name}", x, window, (1, 2), "SAME", data_format)
            calls.add(f"{data_format.lower()}_{sizes[3]}_whole", x, sizes[1:3], (1, 1), "VALID", data_format)
            for window, strides, padding in [((2, 2), (1, 1), (1, 1, 1, 1)), ((3, 2), (2, 2), (2, 0, 0, 1)),
                                             ((3, 3), (2, 1), (0, 1, 2, 2)), ((2, 5), (3, 2), (0, 0, 4, 3)),
                                             ((2, 2), (2, 2), (0, 0, 0, 0))]:
                name = "_".join(map(str, padding))
                calls.add(f"{data_format.lower()}_{sizes[3]}_explicit_{name}", x, window, strides, list(padding),
                          data_format)
    # Wide rows of one channel, with the columns of a window in several vectors.
    x = varied("f32", (1, 1, 3, 71), 12)
    for window, stride in [(2, 2), (3, 2), (3, 1), (3, 3), (5, 2), (2, 3), (4, 4), (40, 2)]:
        for padding in PADDINGS:
            calls.add(f"row_{padding.lower()}_{window}_by_{stride}", x, (2, window), (1, stride), padding, "NCHW")


def special_cases(calls):
    inf, nan = math.inf, math.nan
    values = [[1.0, 2.0, inf, -1.0, 3.0], [4.0, nan, 5.0, -inf, -inf], [-inf, -inf, 0.5, -inf, -inf],
              [-inf, -inf, nan, 1.0, 2.0]]
    flat = [v for row in values for v in row]
    for dtype in FLOATS:
        for data_format in FORMATS:
            for name, repeat in [("", 1), ("_channels", 17)] if dtype == "f32" else [("", 1)]:
                x = Tensor(dtype, (1, 4, 5, repeat), [v for v in flat for _ in range(repeat)])
                if data_format == "NCHW":
                    x = Tensor(dtype, (1, repeat, 4, 5), flat * repeat)
                for padding in PADDINGS:
                    calls.add(f"{dtype}_{data_format.lower()}_{padding.lower()}_special{name}", x, (2, 2), (1, 1),
                              padding, data_format, tags=["special"] if calls.op == "MaxPool" else [])
    if calls.op == "MaxPoolGrad":
        # Equal elements: the first one counts.
        for data_format in FORMATS:
            for dtype in ("f32", "u8", "f16"):
                for step in (1, 2):
                    ones = Tensor(dtype, image_shape(data_format, 1, 4, 20, 1), [1] * 80)
                    calls.add(f"{dtype}_{data_format.lower()}_equal_by{step}", ones, (3, 3), (step, step), "SAME",
                              data_format)
        lowest = Tensor("i8", (1, 1, 4, 20), [-128] * 80)
        calls.add("lowest", lowest, (3, 3), (2, 2), "SAME", "NCHW")
        calls.add("minus_infinities", Tensor("f32", (1, 1, 4, 20), [-inf] * 80), (3, 3), (2, 2), "SAME", "NCHW")
        x = varied("f32", (1, 2, 2, 3), 9)
        none = Tensor("f32", (1, 1, 1, 3), [100.0] * 3)
        calls.suite.case("MaxPoolGrad_other_output", "tf.MaxPoolGrad", [x, none, varied("f32", (1, 1, 1, 3))],
                         Tensor("f32", x.shape, [0.0] * 12), Windows(x.shape, (2, 2), (1, 1)).attrs())
    if calls.op.endswith("Grad"):
        gradients = Tensor("f32", (1, 3, 4, 1), [inf, 1.0, nan, -inf] * 3)
        calls.add("special_gradients", varied("f32", (1, 4, 5, 1), 3), (2, 2), (1, 1), grad=gradients)


def pooling_errors(calls):
    op = f"tf.{calls.op}"
    is_grad = calls.op.endswith("Grad")
    name = "orig_input" if is_grad else "input" if calls.is_max else "value"

    def inputs_of(x):
        if calls.op == "AvgPoolGrad":
            return [vector("i32", x.shape), varied("f32", (1, 2, 2, 1))]
        return [x, varied("f32", (1, 2, 2, 1)), varied("f32", (1, 2, 2, 1))] if is_grad else [x]

    right = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
    image = varied("f32", (1, 3, 3, 1))

    def wrong(case, text, x=image, **attrs):
        calls.suite.error(f"{calls.op}_{case}", op, inputs_of(x), text, {**right, **attrs})

    for shape in [(), (3,), (3, 3), (3, 3, 1), (1, 1, 3, 3, 1)]:
        x = varied("f32", shape)
        wrong(f"rank{len(shape)}", f"{name} must have four dimensions, got {name}: {x}", x)
    for attr in ("ksize", "strides"):
        wrong(f"{attr}_long", f"{attr} must have four elements, got {attr}: [1,2,2,1,1]", **{attr: [1, 2, 2, 1, 1]})
        wrong(f"{attr}_short", f"length of attribute {attr} must be at least 4, got 3", **{attr: [1, 2, 1]})
        for case, bad in [("batch", [2, 2, 2, 1]), ("channels", [1, 2, 2, 3])]:
            wrong(f"{attr}_{case}", f"{attr} must be 1 for batch and channels, got {attr}: "
                  f"[{','.join(map(str, bad))}]", **{attr: bad})
        for case, bad in [("zero", [1, 0, 2, 1]), ("negative", [1, 2, -1, 1])]:
            wrong(f"{attr}_{case}", f"{attr} must be at least 1, got {attr}: [{','.join(map(str, bad))}]",
                  **{attr: bad})
        wrong(f"{attr}_nchw", f"{attr} must be 1 for batch and channels, got {attr}: [1,2,2,1]",
              **{**right, "data_format": "NCHW", "ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], attr: [1, 2, 2, 1]})
        calls.suite.error(f"{calls.op}_no_{attr}", op, inputs_of(image),
                          f"attribute {attr} is required, expected {attr}: list(int) >= 4", {k: v for k, v in right.items() if k != attr})
    for case, ksize in [("high", [1, 4, 1, 1]), ("wide", [1, 1, 4, 1]), ("very_wide", [1, 1, 2**62, 1])]:
        wrong(f"window_{case}", f"windows must not be larger than the padded {name}, got {name}: {image}, "
              f"ksize: [{','.join(map(str, ksize))}]", ksize=ksize)
    x = varied("f32", (1, 0, 3, 1))
    wrong("no_rows_valid", f"windows must not be larger than the padded {name}, got {name}: {x}, ksize: [1,2,2,1]", x)
    wrong("padding", "attribute padding must be one of 'SAME', 'VALID', 'EXPLICIT', got 'FULL'", padding="FULL")
    wrong("format", "attribute data_format must be one of 'NHWC', 'NCHW', got 'NCHW_VECT_C'",
          data_format="NCHW_VECT_C")
    explicit_errors(wrong, name)
    if is_grad:
        gradient_errors(calls, op, image, right)
    required = "one of ksize, strides, padding, explicit_paddings, data_format, T"
    names = {"AvgPoolGrad": ["orig_input_shape"]}.get(calls.op, [name])
    dtypes = ["i32"] if calls.op == "AvgPoolGrad" else calls.dtypes
    common_errors(calls.suite, op, inputs_of(image), names, dtypes, right, required)


def explicit_errors(wrong, name):
    def explicit(case, paddings, text):
        wrong(case, text, padding="EXPLICIT", explicit_paddings=paddings)

    wrong("explicit_without", "explicit_paddings must have eight elements, got explicit_paddings: []",
          padding="EXPLICIT")
    wrong("explicit_unasked", "explicit_paddings must be empty unless padding is 'EXPLICIT', got explicit_paddings: "
          "[0,0,1,1,1,1,0,0], padding: 'SAME'", padding="SAME", explicit_paddings=[0, 0, 1, 1, 1, 1, 0, 0])
    explicit("explicit_batch", [1, 0, 1, 1, 1, 1, 0, 0],
             "explicit_paddings must be 0 for batch and channels, got explicit_paddings: [1,0,1,1,1,1,0,0]")
    explicit("explicit_channels", [0, 0, 1, 1, 1, 1, 0, 1],
             "explicit_paddings must be 0 for batch and channels, got explicit_paddings: [0,0,1,1,1,1,0,1]")
    explicit("explicit_negative", [0, 0, 1, -1, 1, 1, 0, 0],
             "explicit_paddings must not be negative, got explicit_paddings: [0,0,1,-1,1,1,0,0]")
    for case, paddings in [("before", [0, 0, 2, 0, 0, 0, 0, 0]), ("after", [0, 0, 0, 0, 0, 2, 0, 0]),
                           ("huge", [0, 0, 0, 0, 2**63 - 1, 2**63 - 1, 0, 0])]:
        explicit(f"explicit_{case}", paddings, "explicit_paddings must be less than ksize, got explicit_paddings: "
                 f"[{','.join(map(str, paddings))}], ksize: [1,2,2,1]")
    wrong("explicit_window", f"windows must not be larger than the padded {name}, got {name}: f32[1,3,3,1], "
          "ksize: [1,6,2,1]", padding="EXPLICIT", explicit_paddings=[0, 0, 1, 1, 1, 1, 0, 0], ksize=[1, 6, 2, 1])


def gradient_errors(calls, op, image, right):
    good, bad = varied("f32", (1, 2, 2, 1)), varied("f32", (1, 2, 3, 1))
    like = "must be f32[1,2,2,1], like the result of pooling, got"
    if calls.op == "AvgPoolGrad":
        shape = vector("i32", image.shape)
        calls.suite.error("AvgPoolGrad_grad_shape", op, [shape, bad], f"grad {like} grad: {bad}", right)
        for case, text, sizes in [
                ("shape_matrix", "orig_input_shape must be a vector, got orig_input_shape: i32[1,4]",
                 Tensor("i32", (1, 4), [1, 3, 3, 1])),
                ("shape_negative", "sizes must be at least 0, got orig_input_shape: [1,-3,3,1]", vector("i32", [1, -3, 3, 1]))]:
            calls.suite.error(f"AvgPoolGrad_{case}", op, [sizes, good], text, right)
        return
    calls.suite.error("MaxPoolGrad_output_shape", op, [image, bad, good], f"orig_output {like} orig_output: {bad}",
                      right)
    calls.suite.error("MaxPoolGrad_grad_shape", op, [image, good, bad], f"grad {like} grad: {bad}", right)
    rank = varied("f32", (1, 2, 2))
    calls.suite.error("MaxPoolGrad_grad_rank", op, [image, good, rank], f"grad {like} grad: {rank}", right)
    wrong = varied("f64", (1, 2, 2, 1))
    calls.suite.error("MaxPoolGrad_mixed_dtypes", op, [image, good, wrong],
                      "argument 2 (grad) must be f32 like argument 0 (orig_input), got f64[1,2,2,1]", right)


def argmax_cases(suite):
    op = "MaxPoolWithArgmax"

    def call(name, x, window, strides, padding="VALID", out="i64", with_batch=False, tags=()):
        windows = Windows(x.shape, window, strides, padding)
        image, shape = x.array(), windows.pooled_shape()
        values, places = numpy.empty(shape, dtype=object), numpy.empty(shape, dtype=object)
        _, height, width, channels = x.shape
        for (n, i, j, c), seen in windows:
            elements = [image[n, row, column, c] for row, column in seen]
            top = largest(elements)
            at = next(k for k, v in enumerate(elements) if v == top or (v != v and top != top))
            values[n, i, j, c] = elements[at]
            first = n * height if with_batch else 0
            places[n, i, j, c] = ((first + seen[at][0]) * width + seen[at][1]) * channels + c
        attrs = windows.attrs()
        if out != "i64":
            attrs["Targmax"] = out
        if with_batch:
            attrs["include_batch_in_index"] = True
        empty = ["empty"] if 0 in x.shape else []
        suite.case(f"{op}_{name}", f"tf.{op}", [x], [from_array(x.dtype, values), from_array(out, places)], attrs,
                   tags=list(tags) + empty)

    for dtype in REALS:
        x = varied(dtype, (2, 3, 4, 3), 1)
        for padding in PADDINGS:
            call(f"{dtype}_{padding.lower()}", x, (2, 2), (2, 2), padding)
        call(f"{dtype}_batch", x, (2, 3), (1, 1), "VALID", "i32", True)
    inf, nan = math.inf, math.nan
    for dtype in FLOATS:
        values = [1.0, nan, inf, nan, -inf, -inf, -0.0, 0.0, 2.0, 2.0, -inf, -inf]
        call(f"{dtype}_special", Tensor(dtype, (1, 3, 4, 1), values), (2, 2), (1, 1))
    call("equal", Tensor("f32", (1, 4, 4, 1), [3.0] * 16), (3, 3), (2, 2), "SAME")
    for number, shape in enumerate([(0, 2, 2, 1), (2, 2, 2, 0)]):
        call(f"empty{number}", varied("f32", shape), (2, 2), (1, 1))
    call("large", drawn("f32", (2, 11, 13, 5), 7, -1, 1), (3, 3), (2, 2), "SAME", tags=["large"])
    right = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
    x = varied("f32", (1, 3, 3, 1))

    def wrong(name, text, x=x, **attrs):
        suite.error(f"{op}_{name}", f"tf.{op}", [x], text, {**right, **attrs})

    wrong("rank3", "input must have four dimensions, got input: f32[3,3,1]", varied("f32", (3, 3, 1)))
    wrong("padding", "attribute padding must be one of 'SAME', 'VALID', got 'EXPLICIT'", padding="EXPLICIT")
    wrong("targmax", "attribute Targmax must be one of {i32, i64}, got f32", Targmax="f32")
    wrong("window", "windows must not be larger than the padded input, got input: f32[1,3,3,1], ksize: [1,4,1,1]",
          ksize=[1, 4, 1, 1])
    common_errors(suite, f"tf.{op}", [x], ["input"], REALS, right,
                  "one of ksize, strides, Targmax, padding, include_batch_in_index, T")


def suite():
    result = Suite()
    argmax_cases(result)
    for op in ("MaxPool", "AvgPool", "MaxPoolGrad", "AvgPoolGrad"):
        calls = Calls(result, op)
        pooling_cases(calls)
        pooling_errors(calls)
    return result
