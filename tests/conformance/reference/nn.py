# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the neural-network ops."""

import decimal
import math

import numpy

import elementary
from activation import SELU_SCALE, SELU_SCALE_ALPHA
from case_suite import Suite, Tensor, common_errors, drawn, from_array, varied, vector
from number_formats import FLOATS, INTS, NUMBERS, REALS, Fraction, convert, round_to

Decimal = decimal.Decimal
FLOAT_OR_COMPLEX = FLOATS + ["c64"]
SHAPES = [(5,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2)]


def tags_for(*tensors):
    return ["empty"] if any(0 in tensor.shape for tensor in tensors) else []


def channel_axis(x, data_format):
    return 1 if data_format == "NCHW" else len(x.shape) - 1


def plus(dtype, values):
    if dtype == "c64":
        return complex(round_to("f32", sum(Fraction(v.real) for v in values)),
                       round_to("f32", sum(Fraction(v.imag) for v in values)))
    if dtype in FLOATS and (sum(values) == 0 or not math.isfinite(sum(values))):
        return sum(values, -0.0)
    return convert(dtype, sum(values if dtype in INTS else map(Fraction, values)))


def bias_cases(suite):
    def add(name, value, bias, data_format=None, tags=()):
        axis = channel_axis(value, data_format)
        shaped = bias.array().reshape([-1 if i == axis else 1 for i in range(len(value.shape))])
        x, b = numpy.broadcast_arrays(value.array(), shaped)
        y = Tensor(value.dtype, x.shape, [plus(value.dtype, pair) for pair in zip(x.flat, b.flat)])
        suite.case(f"BiasAdd_{name}", "tf.BiasAdd", [value, bias], y, data_format and {"data_format": data_format},
                   tags=list(tags) + tags_for(value))

    def gradient(name, x, data_format=None, tags=(), ulp=0):
        rows = numpy.moveaxis(x.array(), channel_axis(x, data_format), 0)
        y = vector(x.dtype, [plus(x.dtype, row.reshape(-1).tolist()) for row in rows])
        suite.case(f"BiasAddGrad_{name}", "tf.BiasAddGrad", [x], y, data_format and {"data_format": data_format},
                   tags=list(tags) + tags_for(x), ulp=ulp)

    for dtype in NUMBERS:
        add(dtype, varied(dtype, (3, 4), 1), varied(dtype, (4,), 2))
        add(f"{dtype}_nchw", varied(dtype, (2, 3, 2, 2), 1), varied(dtype, (3,), 2), "NCHW")
        gradient(dtype, varied(dtype, (5, 4), 1))
        gradient(f"{dtype}_nchw", varied(dtype, (2, 3, 2, 2), 1), "NCHW")
    for rank in range(2, 7):
        shape = (2, 3, 2, 1, 2, 3)[:rank]
        for data_format in ("NHWC", "NCHW"):
            channels = shape[1] if data_format == "NCHW" else shape[-1]
            add(f"rank{rank}_{data_format.lower()}", varied("f32", shape, 3), varied("f32", (channels,), 4),
                data_format)
            gradient(f"rank{rank}_{data_format.lower()}", varied("f32", shape, 3), data_format)
    for name, shape, channels in [("empty", (0, 3), 3), ("no_channels", (2, 0), 0)]:
        add(name, varied("f32", shape), varied("f32", (channels,)))
        gradient(name, varied("f32", shape))
    add("inplace", varied("f32", (6, 7), 5), varied("f32", (7,), 6), tags=["inplace"])
    add("large", drawn("f32", (30, 33), 5, -1, 1), drawn("f32", (33,), 6, -1, 1), tags=["large"])
    add("special", Tensor("f32", (2, 2), [math.inf, math.nan, -math.inf, -0.0]), vector("f32", [-math.inf, -0.0]),
        tags=["special"])
    gradient("inplace", varied("f32", (6, 7), 5), tags=["inplace"])
    gradient("large", drawn("f32", (200, 13), 5, 0, 1), tags=["large"], ulp=4)
    bias_errors(suite)


def bias_errors(suite):
    def wrong(name, value, bias, text, attrs=None):
        suite.error(f"BiasAdd_{name}", "tf.BiasAdd", [value, bias], text, attrs)

    def length(axis, value, bias):
        return (f"bias must be a vector with an element for each index of dimension {axis} of value, "
                f"got value: {value}, bias: {bias}")

    x, bias = varied("f32", (2, 3)), varied("f32", (3,))
    short, matrix, cube = varied("f32", (2,)), varied("f32", (1, 3)), varied("f32", (2, 3, 4))
    wrong("bias_length", x, short, length(1, x, short))
    wrong("bias_matrix", x, matrix, length(1, x, matrix))
    wrong("bias_length_nchw", cube, short, length(1, cube, short), {"data_format": "NCHW"})
    wrong("bias_length_nhwc", cube, bias, length(2, cube, bias))
    wrong("bias_of_one", x, varied("f32", (1,)), length(1, x, varied("f32", (1,))))
    wrong("vector", bias, bias, "value must have at least two dimensions, got value: f32[3]")
    wrong("format", x, bias, "attribute data_format must be one of 'NHWC', 'NCHW', got 'nhwc'", {"data_format": "nhwc"})
    wrong("format_int", x, bias, "attribute data_format must be string, got i64", {"data_format": 1})
    wrong("mixed_dtypes", x, varied("f64", (3,)), "argument 1 (bias) must be f32 like argument 0 (value), got f64[3]")
    common_errors(suite, "tf.BiasAdd", [x, bias], ["value"], NUMBERS, required="one of T, data_format")
    suite.error("BiasAddGrad_vector", "tf.BiasAddGrad", [bias],
                "out_backprop must have at least two dimensions, got out_backprop: f32[3]")
    suite.error("BiasAddGrad_format", "tf.BiasAddGrad", [x],
                "attribute data_format must be one of 'NHWC', 'NCHW', got ''", {"data_format": ""})
    common_errors(suite, "tf.BiasAddGrad", [x], ["out_backprop"], NUMBERS, required="one of T, data_format")


def softmax_row(row):
    """(softmax, logsoftmax) as Decimals and infinities. Where the logit is -inf, they are 0 and -inf; a row with NaN or
    +inf, or with nothing but -inf, gives NaN."""
    if not all(v < math.inf for v in row) or all(v == -math.inf for v in row):
        return [math.nan] * len(row), [math.nan] * len(row)
    with decimal.localcontext(decimal.Context(prec=60, Emin=-999999, Emax=999999)):
        top = max(map(Decimal, row))
        powers = [Decimal(0) if v == -math.inf else max(Decimal(v) - top, Decimal(-3000)).exp() for v in row]
        log_sum = sum(powers).ln()
        logarithms = [v if v == -math.inf else Decimal(v) - top - log_sum for v in row]
        return [p / sum(powers) for p in powers], logarithms


def softmax(x, index):
    rows = x.array().reshape(-1, x.shape[-1]) if x.values else []
    return Tensor(x.dtype, x.shape, [round_to(x.dtype, v) for row in rows for v in softmax_row(row.tolist())[index]])


def softmax_cases(suite):
    for index, op in enumerate(("Softmax", "LogSoftmax")):
        def call(name, x, tags=(), ulp=4, index=index, op=op):
            # What is near 0 is a difference of numbers that are not.
            precision = {"f16": 2.0**-14, "bf16": 2.0**-14, "f32": 2.0**-20, "f64": 2.0**-49}[x.dtype] if index else 0
            if x.dtype in ("f16", "bf16"):
                ulp = 1
            suite.case(f"{op}_{name}", f"tf.{op}", [x], softmax(x, index), tags=list(tags) + tags_for(x), ulp=ulp,
                       abs_tolerance=precision)

        for dtype in FLOATS:
            call(dtype, varied(dtype, (3, 5), 1))
            call(f"{dtype}_wide", varied(dtype, (2, 40), 2))
            call(f"{dtype}_far_apart",
                 Tensor(dtype, (3, 3), [0.0, 100.0, -100.0, 200.0, 199.0, 190.0, -250.0, -250.0, -251.0]))
            rows = [[1.0, math.nan, 2.0], [math.inf, 1.0, 0.0], [math.nan, math.inf, 0.0], [1.0, 2.0, 3.0]]
            call(f"{dtype}_special", Tensor(dtype, (4, 3), [v for row in rows for v in row]), tags=["special"])
            masked = [[1.0, -math.inf, 2.0], [-math.inf, -math.inf, -7.0], [-math.inf] * 3, [-math.inf, math.nan, 0.0],
                      [-math.inf, math.inf, 0.0]]
            call(f"{dtype}_masked", Tensor(dtype, (5, 3), [v for row in masked for v in row]), tags=["special"])
            call(f"{dtype}_largest", Tensor(dtype, (2, 2), [6e4, 6e4, -6e4, 6e4] if dtype == "f16" else
                                            [round_to(dtype, v) for v in (3e38, 3e38, -3e38, 3e38)]))
        for shape in SHAPES:
            call(f"rank{len(shape)}", varied("f32", shape, 3))
        call("one_class", varied("f32", (4, 1)))
        call("empty", varied("f32", (0, 3)))
        call("no_classes", varied("f32", (2, 0)))
        call("inplace", varied("f32", (6, 7), 4), tags=["inplace"])
        call("large", drawn("f32", (20, 50), 5, -4, 4), tags=["large"], ulp=6)
        x = varied("f32", ())
        suite.error(f"{op}_scalar", f"tf.{op}", [x], "logits must have at least one dimension, got logits: f32[]")
        common_errors(suite, f"tf.{op}", [varied("f32", (2, 3))], ["logits"], FLOATS, required="one of T")


def cross_entropy_cases(suite):
    op = "SparseSoftmaxCrossEntropyWithLogits"

    def call(name, features, labels, tags=(), ulp=4):
        rows = features.array().reshape(len(labels.values), -1) if features.values else []
        losses, gradients = [], []
        for row, label in zip(rows, labels.values):
            probabilities, logarithms = softmax_row(row.tolist())
            losses.append(round_to(features.dtype, -logarithms[label]))
            gradients += [round_to(features.dtype, p - (i == label)) for i, p in enumerate(probabilities)]
        precision = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-20, "f64": 2.0**-49}[features.dtype]
        suite.case(f"SparseCrossEntropy_{name}", f"tf.{op}", [features, labels],
                   [vector(features.dtype, losses), Tensor(features.dtype, features.shape, gradients)],
                   tags=list(tags) + tags_for(features), ulp=ulp, abs_tolerance=precision)

    for dtype in FLOATS:
        for index in ("i32", "i64"):
            call(f"{dtype}_{index}", varied(dtype, (4, 5), 1), vector(index, [0, 4, 2, 2]))
        call(f"{dtype}_wide", varied(dtype, (3, 40), 2), vector("i64", [39, 0, 17]))
        call(f"{dtype}_far_apart", Tensor(dtype, (2, 3), [0.0, 100.0, -100.0, 200.0, 199.0, 190.0]),
             vector("i32", [1, 2]))
    rows = [[1.0, math.nan, 2.0], [math.inf, 1.0, 0.0]]
    nans = [math.nan] * 6
    suite.case("SparseCrossEntropy_special", f"tf.{op}", [Tensor("f32", (2, 3), [v for row in rows for v in row]),
                                                          vector("i32", [0, 1])],
               [vector("f32", nans[:2]), Tensor("f32", (2, 3), nans)], tags=["special"])
    # The loss of a label that is masked is infinite.
    masked = [[1.0, -math.inf, 2.0], [-math.inf, -math.inf, -7.0], [0.5, -math.inf, 3.0]]
    call("masked", Tensor("f32", (3, 3), [v for row in masked for v in row]), vector("i64", [2, 2, 1]),
         tags=["special"])
    call("one_class", varied("f32", (3, 1)), vector("i64", [0, 0, 0]))
    call("empty", varied("f32", (0, 3)), vector("i64", []))
    call("empty_no_classes", varied("f32", (0, 0)), vector("i64", []))
    call("inplace", varied("f32", (6, 7), 4), vector("i64", [6, 5, 4, 3, 2, 1]), tags=["inplace"])
    call("large", drawn("f32", (20, 40), 5, -4, 4), vector("i64", [i * 2 for i in range(20)]), tags=["large"], ulp=6)

    def wrong(name, features, labels, text):
        suite.error(f"SparseCrossEntropy_{name}", f"tf.{op}", [features, labels], text)

    x, labels = varied("f32", (2, 3)), vector("i64", [0, 1])
    wrong("label_beyond", x, vector("i64", [0, 3]), "labels must be in [0, 3), got 3 in row 1")
    wrong("label_negative", x, vector("i32", [-1, 0]), "labels must be in [0, 3), got -1 in row 0")
    wrong("vector", varied("f32", (3,)), labels, "features must be a matrix, got features: f32[3]")
    wrong("rank3", varied("f32", (1, 2, 3)), labels, "features must be a matrix, got features: f32[1,2,3]")
    for name, bad in [("labels_short", vector("i64", [0])), ("labels_matrix", Tensor("i64", (2, 1), [0, 1]))]:
        wrong(name, x, bad,
              "labels must be a vector with one element for each row of features, got features: f32[2,3], "
              f"labels: {bad}")
    wrong("no_classes", varied("f32", (2, 0)), labels, "features must have at least one class, got features: f32[2,0]")
    wrong("labels_float", x, vector("f32", [0.0, 1.0]), "argument 1 (labels) must be one of {i32, i64}, got f32[2]")
    common_errors(suite, f"tf.{op}", [x, labels], ["features"], FLOATS, required="one of T, Tlabels")


def features_gradient(limit):
    def apply(dtype, gradient, features):
        return gradient if features > 0 and (limit is None or features < limit) else convert(dtype, 0)

    return apply


def times(gradient, slope):
    """Their product, exactly, but for what IEEE 754 decides; the slope may be a Decimal."""
    product = gradient * float(slope)
    return Fraction(gradient) * Fraction(slope) if product != 0 and math.isfinite(product) else product


def leaky_relu_gradient(alpha):
    return lambda _, gradient, features: gradient if features > 0 else times(gradient, alpha)


def elu_gradient(_, gradient, output):
    return times(gradient, Fraction(output) + 1 if math.isfinite(output) else output) if output < 0 else gradient


def selu_gradient(_, gradient, output):
    if output < 0:
        return times(gradient, Fraction(output) + Fraction(SELU_SCALE_ALPHA) if math.isfinite(output) else output)
    return times(gradient, SELU_SCALE)


def softplus_gradient(_, gradient, features):
    return times(gradient, elementary.sigmoid(features))


def softsign_gradient(_, gradient, features):
    return times(gradient, 1 / (1 + abs(Fraction(features))) ** 2 if math.isfinite(features) else 1 / features**2)


def complex_fraction(x):
    return Fraction(x.real), Fraction(x.imag)


def product(x, y):
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def value_gradient(factor):
    """dy times the derivative as a function of the activation's result y, both pairs of Fractions."""

    def apply(dtype, y, dy):
        re, im = product(complex_fraction(complex(dy)), factor(complex_fraction(complex(y))))
        return complex(round_to("f32", re), round_to("f32", im)) if dtype == "c64" else round_to(dtype, re)

    return apply


def one_less(x):
    return 1 - x[0], -x[1]


# Op, names of the arguments, dtypes, function, ULP.
GRADIENTS = [
    ("ReluGrad", ("gradients", "features"), REALS, features_gradient(None), 0),
    ("Relu6Grad", ("gradients", "features"), REALS, features_gradient(6), 0),
    ("LeakyReluGrad", ("gradients", "features"), FLOATS, leaky_relu_gradient(round_to("f32", 0.2)), 1),
    ("EluGrad", ("gradients", "outputs"), FLOATS, elu_gradient, 2),
    ("SeluGrad", ("gradients", "outputs"), FLOATS, selu_gradient, 2),
    ("SoftplusGrad", ("gradients", "features"), FLOATS, softplus_gradient, 4),
    ("SoftsignGrad", ("gradients", "features"), FLOATS, softsign_gradient, 3),
    ("SigmoidGrad", ("y", "dy"), FLOAT_OR_COMPLEX, value_gradient(lambda y: product(y, one_less(y))), 2),
    ("TanhGrad", ("y", "dy"), FLOAT_OR_COMPLEX, value_gradient(lambda y: one_less(product(y, y))), 2),
]


def gradient_cases(suite):
    for op, names, dtypes, function, ulp in GRADIENTS:
        by_value = names[0] == "y"

        def call(name, x, y, tags=(), function=function, ulp=ulp, op=op, by_value=by_value):
            values = [convert(x.dtype, function(x.dtype, a, b)) for a, b in zip(x.values, y.values)]
            half = x.dtype in ("f16", "bf16")
            # Differences of the result and a constant.
            cancels = by_value or op in ("EluGrad", "SeluGrad")
            precision = {"f64": 2.0**-50, "f32": 2.0**-21, "c64": 2.0**-18}.get(x.dtype, 2.0**-9) if cancels else 0
            suite.case(f"{op}_{name}", f"tf.{op}", [x, y], Tensor(x.dtype, x.shape, values),
                       tags=list(tags) + tags_for(x), ulp=min(ulp, 1) if half else ulp,
                       abs_tolerance=precision)

        for dtype in dtypes:
            call(dtype, some(dtype, (5, 8), 1, by_value), varied(dtype, (5, 8), 2))
        for shape in [()] + SHAPES:
            call(f"rank{len(shape)}", some("f32", shape, 3, by_value), varied("f32", shape, 4))
        call("empty", varied("f32", (0, 3)), varied("f32", (0, 3)))
        x, y = some("f32", (6, 7), 5, by_value), varied("f32", (6, 7), 6)
        call("inplace", x, y, tags=["inplace"])
        call("alias", x, x, tags=["alias"])
        call("alias_inplace", x, x, tags=["alias", "inplace"])
        low, high = (0, 1) if by_value else (-8, 8)
        call("large", drawn("f32", (999,), 7, low, high), drawn("f32", (999,), 8, -8, 8), tags=["large"])
        if not by_value:
            for dtype in FLOATS:
                features = [0.0, -0.0, 6.0, -1.0, 1.0, 5.75, 6.25, math.inf, -math.inf, math.nan]
                gradients = [1.0, 2.0, 3.0, 4.0, math.inf, math.nan, 7.0, 8.0, 9.0, 10.0]
                call(f"{dtype}_special", vector(dtype, gradients), vector(dtype, features), tags=["special"])
        x, y = varied("f32", (2, 3)), varied("f32", (3,))
        suite.error(f"{op}_shapes", f"tf.{op}", [x, y],
                    f"shapes must be equal, got {names[0]}: f32[2,3], {names[1]}: f32[3]")
        y = varied("f64", (2, 3))
        suite.error(f"{op}_mixed_dtypes", f"tf.{op}", [x, y],
                    f"argument 1 ({names[1]}) must be f32 like argument 0 ({names[0]}), got f64[2,3]")
        required = "one of T, alpha" if op == "LeakyReluGrad" else "one of T"
        common_errors(suite, f"tf.{op}", [x, x], names, dtypes, required=required)
    x, y = varied("f32", (5, 8), 1), varied("f32", (5, 8), 2)
    for alpha in (0.0, -0.5, 3.0):
        values = [round_to("f32", leaky_relu_gradient(alpha)("f32", a, b)) for a, b in zip(x.values, y.values)]
        suite.case(f"LeakyReluGrad_alpha_{alpha:g}", "tf.LeakyReluGrad", [x, y], Tensor("f32", (5, 8), values),
                   {"alpha": alpha})


def some(dtype, shape, seed, is_result):
    """Results of an activation, if that is what is asked for: sixteenths up to 1."""
    x = varied(dtype, shape, seed)
    return from_array(dtype, x.array() / 8) if is_result else x


def suite():
    result = Suite()
    bias_cases(result)
    softmax_cases(result)
    cross_entropy_cases(result)
    gradient_cases(result)
    return result
