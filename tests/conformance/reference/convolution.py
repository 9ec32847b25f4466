# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of convolutions and of their gradients."""

import math

import numpy

from case_suite import Suite, Tensor, common_errors, drawn, from_array, varied, vector
from number_formats import FLOATS, Fraction, convert, round_to

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

    def results(self, x, w, dy):
        """(y, dx, dw)"""
        dtype = x.dtype
        images, kernel, gradient = self.windows.images(x), numbers(w), self.windows.images(dy)
        y, dx, dw = zeros(dtype, self.output), zeros(dtype, self.image), zeros(dtype, self.kernel)
        self.kind.apply(images, kernel, self.axes, y)
        self.kind.apply_to_gradient(gradient, kernel, self.axes, dx)
        self.kind.sum_windows(images, gradient, self.axes, dw)
        return self.windows.tensor(dtype, y), self.windows.tensor(dtype, dx), from_numbers(dtype, dw)

    def tensors(self, make):
        return (make(self.windows.shape(self.image), 1), make(self.kernel, 2),
                make(self.windows.shape(self.output), 3))


def sizes(values):
    return vector("i32", list(values))


def cases(suite, name, problem, dtype, make=None, tags=(), ops="yxw", ulp=0, abs_tolerance=0):
    """The cases of a problem for its ops: the convolution (y) and its gradients (x and w)."""
    x, w, dy = problem.tensors(make or (lambda shape, seed: varied_small(dtype, shape, seed)))
    y, dx, dw = problem.results(x, w, dy)
    kind, attrs = problem.kind, problem.windows.attrs()
    tags = list(tags) + (["empty"] if 0 in x.shape + y.shape else [])
    rest = {"attrs": attrs, "tags": tags, "ulp": ulp, "abs_tolerance": abs_tolerance}
    if "y" in ops:
        suite.case(f"{kind.forward}_{name}", f"tf.{kind.forward}", [x, w], y, **rest)
    if "x" in ops:
        suite.case(f"{kind.backprop_input}_{name}", f"tf.{kind.backprop_input}", [sizes(x.shape), w, dy], dx, **rest)
    if "w" in ops and dtype != "i32":
        suite.case(f"{kind.backprop_filter}_{name}", f"tf.{kind.backprop_filter}", [x, sizes(w.shape), dy], dw, **rest)


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
    ("groups", (2, 5, 5, 6), (3, 3, 2, 9), {"padding": "SAME"}),
    ("groups_strided", (1, 6, 7, 4), (2, 3, 2, 4), {"strides": (2, 2)}),
    ("groups_of_one", (1, 5, 5, 3), (3, 3, 1, 6), {}),
    ("empty_batch", (0, 5, 6, 3), (3, 2, 3, 4), {}),
    ("empty_output", (2, 2, 5, 3), (3, 2, 3, 4), {}),
    ("empty_rows", (2, 0, 5, 3), (1, 2, 3, 4), {"padding": "SAME"}),
    ("wide", (1, 3, 37, 5), (3, 3, 5, 35), {"padding": "SAME"}),
]


def dense_cases(suite):
    kind = Dense()
    for dtype in CONV_DTYPES:
        for data_format in ("NHWC", "NCHW"):
            form = data_format.lower()
            for name, image, kernel, windows in DENSE[1:3] + DENSE[5:6] + DENSE[22:23]:
                windows = Windows(**windows, data_format=data_format)
                cases(suite, f"{dtype}_{name}_{form}", Problem(kind, image, kernel, windows), dtype)
    for name, image, kernel, windows in DENSE:
        cases(suite, name, Problem(kind, image, kernel, Windows(**windows)), "f32")
        if name != "valid":
            problem = Problem(kind, image, kernel, Windows(**windows, data_format="NCHW"))
            cases(suite, f"{name}_nchw", problem, "f32")


def suite():
    result = Suite()
    dense_cases(result)
    return result
