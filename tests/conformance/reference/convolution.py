# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of convolutions and of their gradients."""

import decimal
import functools
import math

import numpy

from case_suite import Suite, Tensor, common_errors, drawn, from_array, varied, vector
from number_formats import FLOATS, Fraction, convert, limits, round_to

Decimal = decimal.Decimal

# In the order of error texts.
CONV_DTYPES = ["i32", "f16", "bf16", "f32", "f64"]
CONV_ATTRS = "T, use_cudnn_on_gpu, strides, padding, explicit_paddings, data_format, dilations"
DEPTHWISE_ATTRS = "T, strides, padding, explicit_paddings, data_format, dilations"


class Axis:
    """A window along one dimension."""

    def __init__(self, size, window, stride, dilation, padding, explicit):
        extent = (window - 1) * dilation + 1
        if padding == "SAME":
            self.outputs = -(-size // stride)
            total = max(0, (self.outputs - 1) * stride + extent - size)
            before = total // 2
        else:
            before, after = explicit if padding == "EXPLICIT" else (0, 0)
            self.outputs = max(0, (size + before + after - extent) // stride + 1)
        self.seen = [[(o, o * stride + w * dilation - before) for o in range(self.outputs)
                      if 0 <= o * stride + w * dilation - before < size] for w in range(window)]


class Windows:
    """What the attributes say of images [batch, rows, columns, channels]; spatial numbers alone are given."""

    def __init__(self, strides=(1, 1), padding="VALID", dilations=None, explicit=None, data_format=None):
        self.strides, self.padding, self.dilations = strides, padding, dilations
        self.explicit, self.data_format = explicit, data_format

    def ordered(self, rows, cols, other):
        return [other, other, rows, cols] if self.data_format == "NCHW" else [other, rows, cols, other]

    def attrs(self):
        attrs = {"strides": self.ordered(*self.strides, 1), "padding": self.padding, "data_format": self.data_format,
                 "dilations": self.dilations and self.ordered(*self.dilations, 1),
                 "explicit_paddings": self.explicit and sum(map(list, self.ordered(*self.explicit, (0, 0))), [])}
        return {key: value for key, value in attrs.items() if value is not None}

    def axes(self, sizes, window):
        return [Axis(sizes[i], window[i], self.strides[i], (self.dilations or (1, 1))[i], self.padding,
                     (self.explicit or (None, None))[i]) for i in range(2)]

    def shape(self, image):
        """Of a tensor with these images, in the order of data_format."""
        n, h, w, c = image
        return (n, c, h, w) if self.data_format == "NCHW" else (n, h, w, c)

    def images(self, tensor):
        """The elements as numbers that add up exactly enough, channels last."""
        array = numbers(tensor)
        return array.transpose(0, 2, 3, 1) if self.data_format == "NCHW" else array

    def tensor(self, dtype, images):
        return from_numbers(dtype, images.transpose(0, 3, 1, 2) if self.data_format == "NCHW" else images)


def numbers(tensor):
    if tensor.dtype == "f64" and all(map(math.isfinite, tensor.values)):
        return numpy.array([Fraction(v) for v in tensor.values] + [None], dtype=object)[:-1].reshape(tensor.shape)
    return tensor.array() if tensor.dtype == "i32" else tensor.array().astype(numpy.float64)


def from_numbers(dtype, array):
    values = [convert(dtype, v) if dtype == "i32" else round_to(dtype, v) for v in array.reshape(-1).tolist()]
    return Tensor(dtype, array.shape, values)


def zeros(dtype, shape):
    return numpy.zeros(shape, dtype=object if dtype in ("f64", "i32") else numpy.float64)


def taps(axes):
    """For each element of the window: its place, and which outputs see which elements of the image through it."""
    for i, rows in enumerate(axes[0].seen):
        for j, cols in enumerate(axes[1].seen):
            if rows and cols:
                outputs = numpy.ix_([o for o, _ in rows], [o for o, _ in cols])
                inputs = numpy.ix_([e for _, e in rows], [e for _, e in cols])
                yield i, j, (slice(None), *outputs), (slice(None), *inputs)


class Dense:
    """tf.Conv2D on arrays, and its gradients; the op's names."""

    forward, backprop_input, backprop_filter = "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"

    @staticmethod
    def out_channels(image, kernel):
        return kernel[3]

    @staticmethod
    def parts(channels, kernel):
        groups = channels // kernel[2]
        width = kernel[3] // groups
        for g in range(groups):
            yield slice(g * kernel[2], (g + 1) * kernel[2]), slice(g * width, (g + 1) * width)

    def apply(self, x, w, axes, out):
        for i, j, outputs, inputs in taps(axes):
            for from_channels, to_channels in self.parts(x.shape[3], w.shape):
                out[outputs + (to_channels,)] += x[inputs + (from_channels,)] @ w[i, j][:, to_channels]

    def apply_to_gradient(self, dy, w, axes, dx):
        for i, j, outputs, inputs in taps(axes):
            for from_channels, to_channels in self.parts(dx.shape[3], w.shape):
                dx[inputs + (from_channels,)] += dy[outputs + (to_channels,)] @ w[i, j][:, to_channels].T

    def sum_windows(self, x, dy, axes, dw):
        for i, j, outputs, inputs in taps(axes):
            for from_channels, to_channels in self.parts(x.shape[3], dw.shape):
                seen = x[inputs + (from_channels,)].reshape(-1, dw.shape[2])
                given = dy[outputs + (to_channels,)].reshape(seen.shape[0], to_channels.stop - to_channels.start)
                dw[i, j][:, to_channels] += seen.T @ given


class Depthwise:
    """tf.DepthwiseConv2dNative."""

    forward, backprop_input = "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput"
    backprop_filter = "DepthwiseConv2dNativeBackpropFilter"

    @staticmethod
    def out_channels(image, kernel):
        return image[3] * kernel[3]

    @staticmethod
    def by_channel(y, w):
        return y.reshape(y.shape[:3] + w.shape[2:])

    def apply(self, x, w, axes, out):
        for i, j, outputs, inputs in taps(axes):
            products = x[inputs][..., None] * w[i, j]
            out[outputs] += products.reshape(products.shape[:3] + (w.shape[2] * w.shape[3],))

    def apply_to_gradient(self, dy, w, axes, dx):
        for i, j, outputs, inputs in taps(axes):
            dx[inputs] += (self.by_channel(dy[outputs], w) * w[i, j]).sum(axis=4)

    def sum_windows(self, x, dy, axes, dw):
        for i, j, outputs, inputs in taps(axes):
            dw[i, j] += (self.by_channel(dy[outputs], dw) * x[inputs][..., None]).sum(axis=(0, 1, 2))


class Problem:
    """One convolution of images [batch, rows, columns, channels], of which all ops of its kind make a case."""

    def __init__(self, kind, image, kernel, windows):
        self.kind, self.image, self.kernel, self.windows = kind, image, kernel, windows
        self.axes = windows.axes(image[1:3], kernel[:2])
        self.output = (image[0], self.axes[0].outputs, self.axes[1].outputs, kind.out_channels(image, kernel))

    def sums(self, x, w):
        """The images that convolve rounds."""
        y = zeros(x.dtype, self.output)
        self.kind.apply(self.windows.images(x), numbers(w), self.axes, y)
        return y

    def convolve(self, x, w):
        return self.windows.tensor(x.dtype, self.sums(x, w))

    def backprop_input(self, w, dy):
        dx = zeros(w.dtype, self.image)
        self.kind.apply_to_gradient(self.windows.images(dy), numbers(w), self.axes, dx)
        return self.windows.tensor(w.dtype, dx)

    def backprop_filter(self, x, dy):
        dw = zeros(x.dtype, self.kernel)
        self.kind.sum_windows(self.windows.images(x), self.windows.images(dy), self.axes, dw)
        return from_numbers(x.dtype, dw)

    def tensors(self, make, ops="yxw"):
        """(x, w, dy), but for what the ops do not take."""
        return (make(self.windows.shape(self.image), 1) if ops != "x" else None,
                make(self.kernel, 2) if ops != "w" else None,
                make(self.windows.shape(self.output), 3) if ops != "y" else None)


def sizes(values):
    return vector("i32", list(values))


def cases(suite, name, problem, dtype, make=None, tags=(), ops="yxw", ulp=0, abs_tolerance=0):
    """The cases of a problem for its ops: the convolution (y) and its gradients (x and w)."""
    x, w, dy = problem.tensors(make or (lambda shape, seed: varied_small(dtype, shape, seed)), ops)
    kind, attrs = problem.kind, problem.windows.attrs()
    tags = list(tags) + (["empty"] if 0 in problem.image + problem.output else [])
    rest = {"attrs": attrs, "tags": tags, "ulp": ulp, "abs_tolerance": abs_tolerance}
    if "y" in ops:
        suite.case(f"{kind.forward}_{name}", f"tf.{kind.forward}", [x, w], problem.convolve(x, w), **rest)
    if "x" in ops:
        suite.case(f"{kind.backprop_input}_{name}", f"tf.{kind.backprop_input}",
                   [sizes(problem.windows.shape(problem.image)), w, dy], problem.backprop_input(w, dy), **rest)
    if "w" in ops and dtype != "i32":
        suite.case(f"{kind.backprop_filter}_{name}", f"tf.{kind.backprop_filter}", [x, sizes(problem.kernel), dy],
                   problem.backprop_filter(x, dy), **rest)


def varied_small(dtype, shape, seed):
    """Numbers whose products and sums are exact in every dtype's computation; i32 wraps around anyhow."""
    if dtype == "i32":
        return varied(dtype, shape, seed)
    return from_array(dtype, numpy.array([v / 4 for v in varied(dtype, shape, seed).values] + [None],
                                         dtype=object)[:-1].reshape(shape))


# Name, image, kernel, windows but for data_format.
DENSE = [
    ("one", (1, 1, 1, 1), (1, 1, 1, 1), {}),
    ("valid", (2, 5, 6, 3), (3, 2, 3, 4), {}),
    ("same", (2, 5, 6, 3), (3, 2, 3, 4), {"padding": "SAME"}),
    ("same_even", (1, 4, 5, 2), (2, 4, 2, 3), {"padding": "SAME"}),
    ("stride2", (1, 7, 8, 2), (3, 3, 2, 3), {"strides": (2, 2)}),
    ("stride2_same", (1, 7, 8, 2), (3, 3, 2, 3), {"strides": (2, 2), "padding": "SAME"}),
    ("strides_differ", (1, 7, 9, 2), (3, 2, 2, 3), {"strides": (3, 2), "padding": "SAME"}),
    ("stride_above_window", (1, 9, 9, 2), (2, 1, 2, 3), {"strides": (4, 3)}),
    ("stride_above_image", (1, 3, 3, 2), (2, 2, 2, 2), {"strides": (5, 7), "padding": "SAME"}),
    ("dilated", (1, 8, 9, 2), (3, 2, 2, 3), {"dilations": (2, 3)}),
    ("dilated_same", (1, 6, 7, 2), (3, 3, 2, 3), {"dilations": (2, 2), "padding": "SAME"}),
    ("dilated_strided", (1, 11, 12, 2), (3, 3, 2, 3), {"strides": (2, 3), "dilations": (3, 2), "padding": "SAME"}),
    ("dilated_strided_common", (1, 13, 13, 2), (3, 3, 2, 2), {"strides": (4, 2), "dilations": (2, 4)}),
    ("dilation_above_image", (1, 4, 4, 2), (3, 3, 2, 2), {"dilations": (1000000, 9), "padding": "SAME"}),
    ("explicit", (1, 5, 6, 2), (3, 3, 2, 3), {"padding": "EXPLICIT", "explicit": ((1, 2), (0, 3))}),
    ("explicit_strided", (1, 5, 6, 2), (3, 2, 2, 3),
     {"padding": "EXPLICIT", "explicit": ((2, 0), (1, 1)), "strides": (2, 2)}),
    ("explicit_beyond_window", (1, 3, 3, 1), (2, 2, 1, 2), {"padding": "EXPLICIT", "explicit": ((4, 3), (0, 5))}),
    ("explicit_none", (1, 3, 4, 2), (2, 2, 2, 2), {"padding": "EXPLICIT", "explicit": ((0, 0), (0, 0))}),
    ("point", (2, 4, 5, 3), (1, 1, 3, 5), {}),
    ("point_strided", (1, 5, 6, 3), (1, 1, 3, 2), {"strides": (2, 3)}),
    ("whole_window", (3, 4, 4, 2), (4, 4, 2, 5), {}),
    ("one_channel", (2, 8, 8, 1), (5, 5, 1, 3), {"padding": "SAME"}),
    ("groups", (2, 4, 3, 6), (3, 2, 2, 9), {"padding": "SAME"}),
    ("groups_strided", (1, 6, 7, 4), (2, 3, 2, 4), {"strides": (2, 2)}),
    ("groups_of_one", (1, 5, 5, 3), (3, 3, 1, 6), {}),
    ("empty_batch", (0, 5, 6, 3), (3, 2, 3, 4), {}),
    ("empty_output", (2, 2, 5, 3), (3, 2, 3, 4), {}),
    ("empty_rows", (2, 0, 5, 3), (1, 2, 3, 4), {"padding": "SAME"}),
    ("wide", (1, 2, 9, 5), (3, 3, 5, 35), {"padding": "SAME"}),
]


def dense_cases(suite):
    kind = Dense()
    for dtype in CONV_DTYPES:
        for name, image, kernel, windows in DENSE:
            for data_format in {"valid": ["NHWC"], "stride2_same": ["NHWC", "NCHW"], "groups": ["NCHW"]}.get(name, []):
                problem = Problem(kind, image, kernel, Windows(**windows, data_format=data_format))
                cases(suite, f"{dtype}_{name}_{data_format.lower()}", problem, dtype)
    for name, image, kernel, windows in DENSE:
        cases(suite, name, Problem(kind, image, kernel, Windows(**windows)), "f32")
        if name not in ("valid", "wide"):
            problem = Problem(kind, image, kernel, Windows(**windows, data_format="NCHW"))
            cases(suite, f"{name}_nchw", problem, "f32")


DEPTHWISE = [
    ("one", (1, 1, 1, 1), (1, 1, 1, 1), {}),
    ("valid", (2, 5, 6, 3), (3, 2, 3, 1), {}),
    ("same", (2, 5, 6, 3), (3, 2, 3, 1), {"padding": "SAME"}),
    ("multiplier", (2, 5, 6, 3), (3, 2, 3, 2), {"padding": "SAME"}),
    ("multiplier_strided", (1, 6, 7, 2), (3, 3, 2, 3), {"strides": (2, 2), "padding": "SAME"}),
    ("stride2", (1, 7, 8, 5), (3, 3, 5, 1), {"strides": (2, 2)}),
    ("strides_differ", (1, 7, 9, 2), (3, 2, 2, 1), {"strides": (3, 2), "padding": "SAME"}),
    ("stride_above_window", (1, 9, 9, 2), (2, 1, 2, 1), {"strides": (4, 3)}),
    ("dilated", (1, 8, 9, 2), (3, 2, 2, 2), {"dilations": (2, 3)}),
    ("dilated_strided", (1, 11, 12, 2), (3, 3, 2, 1), {"strides": (2, 3), "dilations": (3, 2), "padding": "SAME"}),
    ("dilation_above_image", (1, 4, 4, 2), (3, 3, 2, 1), {"dilations": (1000000, 9), "padding": "SAME"}),
    ("explicit", (1, 5, 6, 2), (3, 3, 2, 1), {"padding": "EXPLICIT", "explicit": ((1, 2), (0, 3))}),
    ("explicit_beyond_window", (1, 3, 3, 1), (2, 2, 1, 2), {"padding": "EXPLICIT", "explicit": ((4, 3), (0, 5))}),
    ("one_channel", (2, 8, 8, 1), (5, 5, 1, 3), {"padding": "SAME"}),
    ("wide", (1, 3, 5, 53), (3, 3, 53, 1), {"padding": "SAME"}),
    ("wide_multiplier", (1, 3, 4, 9), (2, 3, 9, 4), {"padding": "SAME"}),
    ("empty_batch", (0, 5, 6, 3), (3, 2, 3, 2), {}),
    ("empty_output", (2, 2, 5, 3), (3, 2, 3, 1), {}),
]


def depthwise_cases(suite):
    kind = Depthwise()
    for dtype in FLOATS:
        for name, image, kernel, windows in DEPTHWISE:
            formats = {"valid": ["NHWC"], "multiplier": ["NHWC", "NCHW"], "multiplier_strided": ["NHWC"],
                       "stride2": ["NCHW"]}
            for data_format in formats.get(name, []):
                problem = Problem(kind, image, kernel, Windows(**windows, data_format=data_format))
                cases(suite, f"{dtype}_{name}_{data_format.lower()}", problem, dtype)
    for name, image, kernel, windows in DEPTHWISE:
        cases(suite, name, Problem(kind, image, kernel, Windows(**windows)), "f32")
        if name not in ("valid", "wide"):
            problem = Problem(kind, image, kernel, Windows(**windows, data_format="NCHW"))
            cases(suite, f"{name}_nchw", problem, "f32")


# Sums of n products of numbers up to 1 in f32, or in f64 and rounded.
def sum_precision(dtype, n):
    return math.ldexp(float(n), -52 if dtype == "f64" else -23)


def drawn_cases(suite):
    """Inputs that are spelled as seeds: large ones, of which the outputs of some ops are small, and inexact ones."""
    same = {"padding": "SAME"}
    for dtype in FLOATS:
        make = functools.partial(draw, dtype)
        problem = Problem(Dense(), (1, 6, 5, 7), (3, 3, 7, 5), Windows(**same))
        cases(suite, f"{dtype}_random", problem, dtype, make, ["large"], "yxw", 1, sum_precision(dtype, 63))
        problem = Problem(Depthwise(), (2, 4, 5, 7), (3, 3, 7, 1), Windows(**same))
        cases(suite, f"{dtype}_random", problem, dtype, make, ["large"], "yxw", 1, sum_precision(dtype, 60))
    make = functools.partial(draw, "f32")
    for name, kind, image, kernel, windows, ops in [
        ("large", Dense(), (2, 16, 17, 200), (3, 3, 200, 16), {"strides": (2, 2)}, "y"),
        ("large_strips", Dense(), (3, 40, 31, 40), (5, 5, 40, 16), {"strides": (6, 6), "padding": "SAME"}, "y"),
        ("large_window", Dense(), (1, 90, 90, 3), (7, 7, 3, 20), {"strides": (9, 9)}, "y"),
        ("large_chunks", Dense(), (40, 28, 28, 1), (5, 5, 1, 4), same, "w"),
        ("large_sum", Dense(), (9, 30, 31, 13), (2, 2, 13, 33), {"strides": (1, 2)}, "w"),
        ("large_gradient", Dense(), (2, 13, 14, 5), (3, 3, 5, 300), {"strides": (2, 1)}, "x"),
        ("large", Depthwise(), (2, 40, 41, 40), (3, 3, 40, 1), same, "w"),
        ("large_strided", Depthwise(), (2, 30, 41, 40), (3, 3, 40, 1), {"strides": (7, 9)}, "y"),
        # Of which most outputs see no padding.
        ("inside", Depthwise(), (1, 18, 21, 3), (3, 3, 3, 1), same, "y"),
        ("inside_strided", Depthwise(), (1, 37, 36, 2), (4, 3, 2, 1), {"strides": (2, 2), **same}, "y"),
        ("inside_dilated", Depthwise(), (1, 24, 23, 2), (3, 3, 2, 1), {"dilations": (3, 2), **same}, "y"),
        ("inside_gradient", Depthwise(), (1, 36, 35, 2), (3, 3, 2, 1), {"strides": (2, 2), **same}, "x"),
        ("large_multiplier", Depthwise(), (3, 50, 51, 9), (5, 5, 9, 3), {"strides": (2, 2)}, "w"),
    ]:
        for data_format in ("NHWC", "NCHW"):
            problem = Problem(kind, image, kernel, Windows(**windows, data_format=data_format))
            terms = {"y": math.prod(kernel[:3]), "x": math.prod(kernel[:2]) * kernel[3],
                     "w": math.prod(problem.output[:3])}[ops]
            # Sums of numbers of both signs stay far below the number of their terms.
            cases(suite, f"{name}_{data_format.lower()}", problem, "f32", make, ["large"], ops, 1,
                  sum_precision("f32", 8 * math.sqrt(terms)))


def draw(dtype, shape, seed):
    return drawn(dtype, shape, seed, -1, 1)


def special_cases(suite):
    inf, nan = math.inf, math.nan
    windows = Windows()
    for kind in (Dense(), Depthwise()):
        for dtype in FLOATS:
            _, _, normal, largest, _ = limits(dtype)
            x = Tensor(dtype, (1, 2, 4, 1), [inf, 1.0, nan, 1.0, -inf, 2.0, largest, -normal])
            w = Tensor(dtype, (1, 1, 1, 2), [1.0, -2.0])
            problem = Problem(kind, (1, 2, 4, 1), (1, 1, 1, 2), windows)
            y = problem.convolve(x, w)
            suite.case(f"{kind.forward}_{dtype}_special", f"tf.{kind.forward}", [x, w], y, windows.attrs(),
                       tags=["special"])
            w = Tensor(dtype, (2, 2, 1, 1), [1.0, 0.5, nan, inf])
            x = Tensor(dtype, (1, 2, 3, 1), [1.0, 2.0, 3.0, 4.0, 5.0, 0.0])
            problem = Problem(kind, (1, 2, 3, 1), (2, 2, 1, 1), windows)
            y = problem.convolve(x, w)
            suite.case(f"{kind.forward}_{dtype}_special_filter", f"tf.{kind.forward}", [x, w], y, windows.attrs(),
                       tags=["special"])
    x = varied_small("f32", (3, 3, 3, 3), 5)
    for kind in (Dense(), Depthwise()):
        problem = Problem(kind, x.shape, x.shape, Windows(padding="SAME"))
        y = problem.convolve(x, x)
        for tags in (["alias"], ["inplace"], ["alias", "inplace"]):
            suite.case(f"{kind.forward}_{'_'.join(tags)}", f"tf.{kind.forward}", [x, x], y, problem.windows.attrs(),
                       tags=tags)
        problem = Problem(kind, (2, 3, 2, 3), (2, 2, 3, 3 if kind.forward == "Conv2D" else 1), Windows(padding="SAME"))
        x2, w, dy = problem.tensors(lambda shape, seed: varied_small("f32", shape, seed))
        attrs = problem.windows.attrs()
        suite.case(f"{kind.backprop_input}_inplace", f"tf.{kind.backprop_input}", [sizes(x2.shape), w, dy],
                   problem.backprop_input(w, dy), attrs,
                   tags=["inplace"])
        suite.case(f"{kind.backprop_filter}_inplace", f"tf.{kind.backprop_filter}", [x2, sizes(w.shape), dy],
                   problem.backprop_filter(x2, dy), attrs,
                   tags=["inplace"])
        attrs = {**attrs, "data_format": "NHWC", "dilations": [1, 1, 1, 1], "explicit_paddings": []}
        suite.case(f"{kind.forward}_defaults_given", f"tf.{kind.forward}", [x2, w], problem.convolve(x2, w), attrs)


def sizes_cases(suite):
    """tf.Conv2DBackpropInput with rows and columns alone."""
    for data_format in ("NHWC", "NCHW"):
        windows = Windows(strides=(2, 2), data_format=data_format)
        problem = Problem(Dense(), (2, 6, 5, 3), (3, 2, 3, 4), windows)
        _, w, dy = problem.tensors(lambda shape, seed: varied_small("f32", shape, seed), "x")
        suite.case(f"Conv2DBackpropInput_two_sizes_{data_format.lower()}", "tf.Conv2DBackpropInput",
                   [sizes((6, 5)), w, dy], problem.backprop_input(w, dy), windows.attrs())


def exact_tanh(x):
    with decimal.localcontext(decimal.Context(prec=40)):
        e = (Decimal(x) * 2).exp()
        return (e - 1) / (e + 1)


def exact_elu(x):
    with decimal.localcontext(decimal.Context(prec=40)):
        return Decimal(x) if x > 0 else Decimal(x).exp() - 1


def exact_sigmoid(x):
    with decimal.localcontext(decimal.Context(prec=40)):
        return 1 / (1 + (-Decimal(x)).exp())


def exact(x):
    return Decimal(Fraction(x).numerator) / Decimal(Fraction(x).denominator)


ACTIVATIONS = {None: exact, "Relu": lambda x: exact(max(x, 0)), "Relu6": lambda x: exact(min(max(x, 0), 6)),
               "Elu": lambda x: exact_elu(exact(x)), "Tanh": lambda x: exact_tanh(exact(x)),
               "Sigmoid": lambda x: exact_sigmoid(exact(x))}


def fused_cases(suite):
    def call(name, dtype, windows, fused_ops, more=None, image=(2, 4, 5, 3), kernel=(2, 3, 3, 5), tags=(),
             kind=Dense()):
        problem = Problem(kind, image, kernel, windows)
        x, w, _ = problem.tensors(lambda shape, seed: varied_small(dtype, shape, seed), "y")
        channels = problem.output[3]
        normalizes = fused_ops[0] == "FusedBatchNorm"
        args = [varied_small(dtype, (channels,), seed) for seed in range(4, 8 if normalizes else 5)]
        # Exact up to here, so that what is computed of it is too: for a normalization, if 1 / sqrt is.
        if normalizes:
            args[3] = Tensor(dtype, (channels,), [[0.25, 4.0, 1.0, 0.0625, 16.0][i % 5] for i in range(channels)])
        sums = problem.sums(x, w).reshape(-1, channels)
        adds = "Add" in fused_ops
        if adds:
            args.append(windows.tensor(dtype, varied_small(dtype, problem.output, 8).array()))
        activation = fused_ops[-1] if len(fused_ops) > (2 if adds else 1) else None
        activate = ACTIVATIONS.get(activation)
        alpha = Fraction(round_to("f32", (more or {}).get("leakyrelu_alpha", Fraction(2, 10))))
        if activate is None:
            def activate(v):
                return exact(v if v > 0 else alpha * v)
        values = []
        added = iter(varied_small(dtype, problem.output, 8).values if adds else [])
        for row in sums.tolist():
            for c, v in enumerate(map(Fraction, row)):
                if normalizes:
                    scale, offset, mean, variance = (Fraction(arg.values[c]) for arg in args[:4])
                    v = (v - mean) * scale / Fraction(math.sqrt(variance)) + offset
                else:
                    v += Fraction(args[0].values[c])
                if adds:
                    v += Fraction(next(added))
                values.append(round_to(dtype, activate(v)))
        result = windows.tensor(dtype, numpy.array(values + [None], dtype=object)[:-1].reshape(problem.output))
        attrs = {**windows.attrs(), "num_args": len(args), "fused_ops": list(fused_ops), **(more or {})}
        half = dtype in ("f16", "bf16")
        is_exact = activation in (None, "Relu", "Relu6")
        suite.case(f"Fused{kind.forward}_{name}", f"tf._Fused{kind.forward}", [x, w, *args], result, attrs,
                   tags=list(tags) + (["empty"] if 0 in image else []), ulp=0 if is_exact else 1 if half else 4,
                   abs_tolerance=0 if is_exact or half else math.ldexp(1.0, -52 if dtype == "f64" else -23))

    no_epsilon = {"epsilon": 0.0}
    for dtype in FLOATS:
        for activation in [None, "Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"]:
            ops = [activation] if activation else []
            name = f"{dtype}_{activation}".lower()
            call(name, dtype, Windows(padding="SAME"), ["BiasAdd"] + ops, image=(1, 3, 4, 3))
        call(f"{dtype}_nchw", dtype, Windows(padding="SAME", data_format="NCHW"), ["BiasAdd", "Relu"])
        call(f"{dtype}_normalized", dtype, Windows(), ["FusedBatchNorm"], no_epsilon)
        for activation in [None, "Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"]:
            ops = ["BiasAdd", "Add"] + ([activation] if activation else [])
            call(f"{dtype}_added_{activation}".lower(), dtype, Windows(padding="SAME"), ops, image=(1, 3, 4, 3))
        call(f"{dtype}_added_nchw", dtype, Windows(data_format="NCHW"), ["BiasAdd", "Add", "Relu"])
        call(f"{dtype}_added_point", dtype, Windows(), ["BiasAdd", "Add"], image=(2, 9, 9, 3), kernel=(1, 1, 3, 21))
        call(f"{dtype}_added_normalized", dtype, Windows(), ["FusedBatchNorm", "Add", "Relu"], no_epsilon)
        call(f"{dtype}_added_normalized_nchw", dtype, Windows(data_format="NCHW"), ["FusedBatchNorm", "Add"], no_epsilon)
    call("added_strided", "f32", Windows(strides=(2, 2), padding="SAME"), ["BiasAdd", "Add", "Relu"])
    call("added_pixel", "f32", Windows(), ["BiasAdd", "Add", "Relu6"], image=(1, 1, 1, 5), kernel=(1, 1, 5, 37))
    call("added_wide", "f32", Windows(), ["BiasAdd", "Add", "Relu"], image=(1, 7, 9, 4), kernel=(1, 1, 4, 75))
    call("added_deep", "f32", Windows(), ["BiasAdd", "Add"], image=(1, 9, 8, 300), kernel=(1, 1, 300, 5))
    call("added_groups", "f32", Windows(), ["BiasAdd", "Add", "Relu"], image=(1, 4, 4, 6), kernel=(2, 2, 3, 4))
    call("added_pixel_groups", "f32", Windows(), ["BiasAdd", "Add"], image=(1, 4, 4, 6), kernel=(1, 1, 3, 4))
    call("added_empty_batch", "f32", Windows(), ["BiasAdd", "Add"], image=(0, 4, 5, 3))
    call("normalized_relu", "f32", Windows(data_format="NCHW"), ["FusedBatchNorm", "Relu"], no_epsilon)
    call("leaky_relu_alpha", "f32", Windows(), ["BiasAdd", "LeakyRelu"], {"leakyrelu_alpha": 0.5})
    call("strided", "f32", Windows(strides=(2, 2), padding="SAME"), ["BiasAdd", "Relu"])
    call("dilated_explicit", "f32", Windows(padding="EXPLICIT", dilations=(2, 1), explicit=((1, 2), (3, 0))),
         ["BiasAdd", "Relu6"])
    call("point_wide", "f32", Windows(), ["BiasAdd", "Tanh"], image=(1, 2, 3, 4), kernel=(1, 1, 4, 37))
    call("groups", "f32", Windows(), ["BiasAdd", "Relu"], image=(1, 4, 4, 6), kernel=(2, 2, 3, 4))
    call("empty_batch", "f32", Windows(), ["BiasAdd", "Relu"], image=(0, 4, 5, 3))
    call("inplace", "f32", Windows(), ["BiasAdd"], tags=["inplace"])

    def depthwise(name, dtype, windows, fused_ops, more=None, image=(2, 4, 5, 3), kernel=(2, 3, 3, 2)):
        call(name, dtype, windows, fused_ops, more, image, kernel, kind=Depthwise())

    for dtype in FLOATS:
        depthwise(f"{dtype}", dtype, Windows(padding="SAME"), ["BiasAdd"])
        depthwise(f"{dtype}_relu6", dtype, Windows(padding="SAME", strides=(2, 2)), ["BiasAdd", "Relu6"])
        depthwise(f"{dtype}_sigmoid", dtype, Windows(), ["BiasAdd", "Sigmoid"], kernel=(2, 2, 3, 1))
        depthwise(f"{dtype}_nchw", dtype, Windows(padding="SAME", data_format="NCHW"), ["BiasAdd", "Relu"])
        depthwise(f"{dtype}_normalized", dtype, Windows(), ["FusedBatchNorm", "LeakyRelu"], no_epsilon)
    depthwise("dilated_explicit", "f32", Windows(padding="EXPLICIT", dilations=(2, 1), explicit=((1, 2), (3, 0))),
              ["BiasAdd", "Relu6"])
    # Large enough that what sees padding is computed by itself, that rows are computed by groups of outputs, of which
    # the last has some of the one before again, and that there are several steps.
    depthwise("large", "f32", Windows(padding="SAME"), ["BiasAdd", "Relu6"], image=(1, 21, 27, 8), kernel=(3, 3, 8, 1))
    depthwise("wide", "f32", Windows(padding="SAME"), ["BiasAdd", "Relu"], image=(1, 20, 20, 97), kernel=(3, 3, 97, 1))
    depthwise("empty_batch", "f32", Windows(), ["BiasAdd", "Relu"], image=(0, 4, 5, 3))


def window_errors(suite, op, inputs):
    """Wrong attributes; `inputs` are right for strides of 1."""
    def wrong(name, text, **attrs):
        attrs = {"strides": [1, 1, 1, 1], "padding": "VALID", **attrs}
        short = op.split(".", 1)[1]
        suite.error(f"{short}_{name}", op, inputs, text, {key: v for key, v in attrs.items() if v is not None})

    wrong("strides_missing", "attribute strides is required, expected strides: list(int)", strides=None)
    wrong("padding_missing", "attribute padding is required, expected padding: {'SAME', 'VALID', 'EXPLICIT'}",
          padding=None)
    wrong("padding_unknown", "attribute padding must be one of 'SAME', 'VALID', 'EXPLICIT', got 'FULL'", padding="FULL")
    wrong("format_unknown", "attribute data_format must be one of 'NHWC', 'NCHW', got 'HWNC'", data_format="HWNC")
    wrong("strides_short", "strides must have four elements, got strides: [1,2]", strides=[1, 2])
    wrong("strides_batch", "strides must be 1 for batch and channels, got strides: [2,1,1,1]", strides=[2, 1, 1, 1])
    wrong("strides_channels", "strides must be 1 for batch and channels, got strides: [1,1,1,3]", strides=[1, 1, 1, 3])
    wrong("strides_channels_nchw", "strides must be 1 for batch and channels, got strides: [1,2,1,1]",
          strides=[1, 2, 1, 1], data_format="NCHW")
    wrong("strides_zero", "strides must be at least 1, got strides: [1,0,1,1]", strides=[1, 0, 1, 1])
    wrong("strides_negative", "strides must be at least 1, got strides: [1,1,-2,1]", strides=[1, 1, -2, 1])
    wrong("dilations_long", "dilations must have four elements, got dilations: [1,1,1,1,1]",
          dilations=[1, 1, 1, 1, 1])
    wrong("dilations_batch", "dilations must be 1 for batch and channels, got dilations: [0,1,1,1]",
          dilations=[0, 1, 1, 1])
    wrong("dilations_zero", "dilations must be at least 1, got dilations: [1,1,0,1]", dilations=[1, 1, 0, 1])
    wrong("explicit_unused", "explicit_paddings must be empty unless padding is 'EXPLICIT', got explicit_paddings: "
          "[0,0,0,0,0,0,0,0], padding: 'VALID'", explicit_paddings=[0] * 8)
    wrong("explicit_missing", "explicit_paddings must have eight elements, got explicit_paddings: []",
          padding="EXPLICIT")
    wrong("explicit_batch", "explicit_paddings must be 0 for batch and channels, got explicit_paddings: "
          "[1,0,0,0,0,0,0,0]", padding="EXPLICIT", explicit_paddings=[1, 0, 0, 0, 0, 0, 0, 0])
    wrong("explicit_channels_nchw", "explicit_paddings must be 0 for batch and channels, got explicit_paddings: "
          "[0,0,0,2,0,0,0,0]", padding="EXPLICIT", explicit_paddings=[0, 0, 0, 2, 0, 0, 0, 0], data_format="NCHW")
    wrong("explicit_negative", "explicit_paddings must not be negative, got explicit_paddings: [0,0,-1,0,0,0,0,0]",
          padding="EXPLICIT", explicit_paddings=[0, 0, -1, 0, 0, 0, 0, 0])
    huge = 2**62
    wrong("dilation_huge", f"window is out of range, got columns of input: 5, window: 2, stride: 1, dilation: {huge}, "
          "padding: 0 + 0", dilations=[1, 1, huge, 1])
    wrong("explicit_huge", "window is out of range, got rows of input: 4, window: 3, stride: 1, dilation: 1, padding: "
          f"{2**63 - 1} + 1", padding="EXPLICIT", explicit_paddings=[0, 0, 2**63 - 1, 1, 0, 0, 0, 0])
    wrong("window_large", "window must not be larger than the padded input, got columns of input: 5, window: 2, "
          "stride: 1, dilation: 6, padding: 0 + 0", dilations=[1, 1, 6, 1])


def shape_errors(suite, kind, is_depthwise):
    attrs = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    x, w = varied("f32", (1, 4, 5, 2)), varied("f32", (3, 2, 2, 1))
    y = varied("f32", (1, 2, 4, 2 if is_depthwise else 1))

    def wrong(op, name, inputs, text, attrs=attrs):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text, attrs)

    def forward(name, x, w, text, attrs=attrs):
        wrong(kind.forward, name, [x, w], text, attrs)

    forward("input_rank", varied("f32", (4, 5, 2)), w, "input must have four dimensions, got input: f32[4,5,2]")
    forward("filter_rank", x, varied("f32", (3, 2)), "filter must have four dimensions, got filter: f32[3,2]")
    forward("filter_empty", x, varied("f32", (0, 2, 2, 1)), "filter must not be empty, got filter: f32[0,2,2,1]")
    if is_depthwise:
        text = "filter must have one index of dimension 2 for each channel of input, got input: {}, filter: {}"
    else:
        text = "channels of input must be a multiple of dimension 2 of filter, got input: {}, filter: {}"
    odd = varied("f32", (1, 1, 3, 1))
    forward("channels", x, odd, text.format(x, odd))
    nchw = {**attrs, "data_format": "NCHW"}
    forward("channels_nchw", x, odd, text.format(x, odd), nchw)
    none = varied("f32", (1, 4, 5, 0))
    forward("no_channels", none, w, text.format(none, w))
    if not is_depthwise:
        grouped, few = varied("f32", (1, 4, 5, 6)), varied("f32", (1, 1, 2, 4))
        forward("groups_uneven", grouped, few, "dimension 3 of filter must be a multiple of the 3 groups of channels, "
                f"got input: {grouped}, filter: {few}")
    window_errors(suite, f"tf.{kind.forward}", [x, w])

    output = f"[1,2,4,{y.shape[3]}]"
    bad = varied("f32", (1, 2, 3, 1))
    mismatch = f"out_backprop must have the shape of the convolution's output {output}, got input: {x}, filter: {w}, " \
               f"out_backprop: {bad}"
    wrong(kind.backprop_input, "mismatch", [sizes(x.shape), w, bad], mismatch)
    wrong(kind.backprop_filter, "mismatch", [x, sizes(w.shape), bad], mismatch)
    flat = varied("f32", (8,))
    for op, inputs in [(kind.backprop_input, [sizes(x.shape), w, flat]),
                       (kind.backprop_filter, [x, sizes(w.shape), flat])]:
        wrong(op, "rank", inputs, "out_backprop must have four dimensions, got out_backprop: f32[8]")
    wrong(kind.backprop_input, "sizes_negative", [sizes((1, 4, -5, 2)), w, y],
          "input_sizes must not be negative, got input_sizes: [1,4,-5,2]")
    wrong(kind.backprop_filter, "sizes_negative", [x, sizes((3, -5, 2, 1)), y],
          "filter_sizes must not be negative, got filter_sizes: [3,-5,2,1]")
    for op, name, inputs in [(kind.backprop_input, "input_sizes", [sizes((1, 4, 5)), w, y]),
                             (kind.backprop_filter, "filter_sizes", [x, sizes((3, 2, 2)), y])]:
        wrong(op, "sizes_short", inputs, f"{name} must have four elements, got {name}: i32[3]")
    scalar_sizes = Tensor("i32", (), [4])
    wrong(kind.backprop_input, "sizes_scalar", [scalar_sizes, w, y],
          "input_sizes must be a vector, got input_sizes: i32[]")
    wrong(kind.backprop_filter, "sizes_scalar", [x, scalar_sizes, y],
          "filter_sizes must be a vector, got filter_sizes: i32[]")
    wrong(kind.backprop_input, "strides_zero", [sizes(x.shape), w, y], "strides must be at least 1, got strides: "
          "[1,0,1,1]", {**attrs, "strides": [1, 0, 1, 1]})
    wrong(kind.backprop_filter, "filter_empty", [x, sizes((3, 2, 2, 0)), y],
          "filter must not be empty, got filter: f32[3,2,2,0]")
    other = varied("f64", w.shape)
    wrong(kind.forward, "mixed_dtypes", [x, other], "argument 1 (filter) must be f32 like argument 0 (input), got "
          f"{other}")
    dtypes = FLOATS if is_depthwise else CONV_DTYPES
    required = "one of " + (DEPTHWISE_ATTRS if is_depthwise else CONV_ATTRS)
    common_errors(suite, f"tf.{kind.forward}", [x, w], ["input"], dtypes, attrs, required)
    common_errors(suite, f"tf.{kind.backprop_filter}", [x, sizes(w.shape), y], ["input"], FLOATS, attrs, required)
    common_errors(suite, f"tf.{kind.backprop_input}", [sizes(x.shape), w, y], ["input_sizes"], ["i32"], attrs, required)


def fused_errors(suite):
    x, w, bias = varied("f32", (1, 4, 5, 2)), varied("f32", (3, 2, 2, 3)), varied("f32", (3,))

    def wrong(name, args, text, kind=Dense(), **more):
        attrs = {"strides": [1, 1, 1, 1], "padding": "VALID", "num_args": len(args), "fused_ops": ["BiasAdd"], **more}
        suite.error(f"Fused{kind.forward}_{name}", f"tf._Fused{kind.forward}", [x, w, *args], text, attrs)

    known = ("fused_ops must be BiasAdd or FusedBatchNorm, alone or followed by Add, by one of Relu, Relu6, Elu, LeakyRelu, "
             "Tanh, Sigmoid, or by both, got fused_ops: ")
    known_of_depthwise = ("fused_ops must be BiasAdd or FusedBatchNorm, alone or followed by one of Relu, Relu6, Elu, "
                          "LeakyRelu, Tanh, Sigmoid, got fused_ops: ")
    wrong("no_ops", [bias], known + "[]", fused_ops=[])
    wrong("unknown_op", [bias], known + "[BiasAdd, Softmax]", fused_ops=["BiasAdd", "Softmax"])
    wrong("no_bias_op", [bias], known + "[Relu]", fused_ops=["Relu"])
    wrong("activation_first", [bias], known + "[Relu, BiasAdd]", fused_ops=["Relu", "BiasAdd"])
    wrong("three_ops", [bias], known + "[BiasAdd, Relu, Relu]", fused_ops=["BiasAdd", "Relu", "Relu"])
    wrong("added_last", [bias], known + "[BiasAdd, Relu, Add]", fused_ops=["BiasAdd", "Relu", "Add"])
    wrong("nothing_to_add", [bias], "args must be two tensors, the bias and what to add, got 1",
          fused_ops=["BiasAdd", "Add"])
    wrong("nothing_to_add_normalized", [bias] * 4, "args must be five tensors, scale, offset, mean, variance and what "
          "to add, got 4", fused_ops=["FusedBatchNorm", "Add"])
    other = varied("f32", (1, 2, 1, 3))
    wrong("added_shape", [bias, other], f"the tensor to add must have the shape of the result [1,2,4,3], got {other}",
          fused_ops=["BiasAdd", "Add"])
    wrong("no_bias", [], "args must be one tensor, the bias, got 0")
    wrong("two_biases", [bias, bias], "args must be one tensor, the bias, got 2")
    wrong("normalization_short", [bias] * 3, "args must be four tensors, scale, offset, mean and variance, got 3",
          fused_ops=["FusedBatchNorm"])
    vector_text = "{0} must be a vector with one element for each output channel, got filter: {1}, {0}: {2}"
    short = varied("f32", (2,))
    wrong("bias_short", [short], vector_text.format("bias", w, short))
    matrix = varied("f32", (3, 1))
    wrong("bias_matrix", [matrix], vector_text.format("bias", w, matrix))
    wrong("mean_short", [bias, bias, short, bias], vector_text.format("mean", w, short), fused_ops=["FusedBatchNorm"])
    wrong("strides", [bias], "strides must be at least 1, got strides: [1,0,1,1]", strides=[1, 0, 1, 1])
    # Of the depthwise one, which has six channels.
    wrong("bias_short", [bias], vector_text.format("bias", w, bias), kind=Depthwise())
    wrong("no_ops", [varied("f32", (6,))], known_of_depthwise + "[]", kind=Depthwise(), fused_ops=[])
    wrong("added", [varied("f32", (6,)), varied("f32", (1, 2, 4, 6))], known_of_depthwise + "[BiasAdd, Add]",
          kind=Depthwise(), fused_ops=["BiasAdd", "Add"])


def suite():
    result = Suite()
    dense_cases(result)
    depthwise_cases(result)
    drawn_cases(result)
    special_cases(result)
    sizes_cases(result)
    fused_cases(result)
    for kind, is_depthwise in [(Dense(), False), (Depthwise(), True)]:
        shape_errors(result, kind, is_depthwise)
    fused_errors(result)
    return result
