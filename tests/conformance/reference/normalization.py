# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops that normalize."""

import decimal
import math

import numpy

import normalization_local
from case_suite import Suite, Tensor, common_errors, drawn, from_array, scalar, varied, vector
from number_formats import FLOATS, Fraction, round_to

Decimal = decimal.Decimal
BATCH_NORM_DTYPES = ["f16", "bf16", "f32"]
# What is near 0 is a difference of numbers that are not.
PRECISION = {"f16": 2.0**-12, "bf16": 2.0**-10, "f32": 2.0**-18, "f64": 2.0**-47}


def f32(value):
    return Fraction(round_to("f32", value))


def tags_for(x):
    return ["empty"] if 0 in x.shape else []


def moments(values):
    """Mean and mean squared difference from it, as Fractions; NaN if a number is none."""
    if not values or not all(map(math.isfinite, values)):
        return math.nan, math.nan
    exact = [Fraction(v) for v in values]
    unit = max(v.denominator for v in exact)  # a power of two, as all of them
    counts = [int(v * unit) for v in exact]
    total, n = sum(counts), len(counts)
    # n times the sum of squared differences is n times the sum of squares, less the square of the sum.
    return Fraction(total, n * unit), Fraction(n * sum(c * c for c in counts) - total * total, (n * unit) ** 2)


def square_root(value):
    with decimal.localcontext(decimal.Context(prec=60)):
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


def normalized(values, mean, variance, epsilon, scales, offsets):
    """(value - mean) / sqrt(variance + epsilon) * scale + offset, for each."""
    if isinstance(mean, float) or isinstance(variance, float):
        return [math.nan] * len(values)
    deviation = square_root(variance + f32(epsilon))
    return [(Fraction(v) - mean) / deviation * Fraction(s) + Fraction(o) if math.isfinite(v) else v
            for v, s, o in zip(values, scales, offsets)]


def layer_norm_cases(suite):
    op = "tandem.LayerNorm"

    def call(name, x, scale, bias, epsilon=None, tags=(), ulp=4):
        cols = x.shape[-1]
        values = []
        for row in (x.array().reshape(-1, cols).tolist() if x.values else []):
            values += normalized(row, *moments(row), 1e-5 if epsilon is None else epsilon, scale.values, bias.values)
        y = Tensor(x.dtype, x.shape, [round_to(x.dtype, v) for v in values])
        ulp = 1 if x.dtype in ("f16", "bf16") else ulp
        suite.case(f"LayerNorm_{name}", op, [x, scale, bias], y, None if epsilon is None else {"epsilon": epsilon},
                   ulp=ulp, abs_tolerance=PRECISION[x.dtype], tags=list(tags) + tags_for(x))

    def parameters(dtype, cols):
        return varied(dtype, (cols,), 21), varied(dtype, (cols,), 22)

    for dtype in FLOATS:
        for cols in (2, 5, 8, 33):
            call(f"{dtype}_{cols}", varied(dtype, (3, cols), cols), *parameters(dtype, cols))
        # A variance far below epsilon; numbers far from 0.
        call(f"{dtype}_constant", Tensor(dtype, (2, 4), [3.0] * 4 + [-0.5] * 4), *parameters(dtype, 4))
        call(f"{dtype}_offset", Tensor(dtype, (2, 4), [128.0, 129.0, 130.0, 131.0, -96.0, -97.0, -98.0, -99.0]),
             *parameters(dtype, 4))
        rows = [[1.0, math.nan, 2.0], [1.0, 3.0, 2.0], [math.nan] * 3]
        call(f"{dtype}_nan", Tensor(dtype, (3, 3), sum(rows, [])), *parameters(dtype, 3), tags=["special"])
        special = Tensor(dtype, (3, 3), [math.inf, 1.0, 0.0, math.inf, -math.inf, 0.0, -math.inf, 2.0, 2.0])
        suite.case(f"LayerNorm_{dtype}_infinite", op, [special, *parameters(dtype, 3)],
                   Tensor(dtype, (3, 3), [math.nan] * 9), tags=["special"])
    for shape in [(5,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2)]:
        call(f"rank{len(shape)}", varied("f32", shape, 3), *parameters("f32", shape[-1]))
    call("one_column", varied("f32", (4, 1), 3), *parameters("f32", 1))
    call("no_rows", varied("f32", (0, 3)), *parameters("f32", 3))
    call("no_columns", varied("f32", (3, 0)), *parameters("f32", 0))
    for epsilon in (0.0, 0.5, 100.0, 1e-12):
        call(f"epsilon_{epsilon:g}".replace("-", "m"), varied("f32", (2, 6), 4), *parameters("f32", 6), epsilon)
    call("inplace", varied("f32", (6, 7), 5), *parameters("f32", 7), tags=["inplace"])
    x = varied("f32", (9,), 5)
    call("alias", x, x, x, tags=["alias"])
    call("alias_inplace", x, x, x, tags=["alias", "inplace"])
    call("large", drawn("f32", (50, 70), 6, -4, 4), *parameters("f32", 70), tags=["large"])
    # Rows that are taken in parts; most of the result is 0, which is short to spell.
    for dtype in FLOATS:
        cols = 4201
        few = Tensor(dtype, (cols,), [2.0 if i % 101 == 0 else 0.0 for i in range(cols)])
        call(f"{dtype}_long", drawn(dtype, (1, cols), 7, -2, 6), few, Tensor(dtype, (cols,), [0.0] * cols),
             tags=["large"])

    x, scale, bias = varied("f32", (2, 3)), varied("f32", (3,)), varied("f32", (3,))
    suite.error("LayerNorm_scalar", op, [varied("f32", ()), scale, bias],
                "x must have at least one dimension, got x: f32[]")
    for name, bad in [("short", varied("f32", (2,))), ("one", varied("f32", (1,))), ("matrix", varied("f32", (1, 3))),
                      ("scalar", varied("f32", ()))]:
        text = " must be a vector with an element for each index of the last dimension of x, got x: f32[2,3], "
        suite.error(f"LayerNorm_scale_{name}", op, [x, bad, bias], f"scale{text}scale: {bad}")
        suite.error(f"LayerNorm_bias_{name}", op, [x, scale, bad], f"bias{text}bias: {bad}")
    suite.error("LayerNorm_mixed_dtypes", op, [x, varied("f64", (3,)), bias],
                "argument 1 (scale) must be f32 like argument 0 (x), got f64[3]")
    suite.error("LayerNorm_epsilon_text", op, [x, scale, bias], "attribute epsilon must be f32, got string",
                {"epsilon": "small"})
    common_errors(suite, op, [x, scale, bias], ["x"], FLOATS, required="one of T, epsilon")


def layer_norm_grad(gradients, x, scale, epsilon):
    """The three gradients."""
    cols = x.shape[-1]
    rows = x.array().reshape(-1, cols).tolist() if x.values else []
    dy_rows = gradients.array().reshape(-1, cols).tolist() if x.values else []
    dx, scale_gradients, bias_gradients = [], [Fraction(0)] * cols, [Fraction(0)] * cols
    for row, dy in zip(rows, dy_rows):
        mean, variance = moments(row)
        square = variance + f32(epsilon)
        deviation = square_root(square)
        differences = [Fraction(v) - mean for v in row]
        scaled = [Fraction(d) * Fraction(s) for d, s in zip(dy, scale.values)]
        total, product = sum(scaled) / cols, sum(d * v for d, v in zip(scaled, differences)) / (cols * square)
        dx += [round_to(x.dtype, (d - total - v * product) / deviation) for d, v in zip(scaled, differences)]
        scale_gradients = [g + Fraction(d) * v / deviation for g, d, v in zip(scale_gradients, dy, differences)]
        bias_gradients = [g + Fraction(d) for g, d in zip(bias_gradients, dy)]
    return [Tensor(x.dtype, x.shape, dx)] + [vector(x.dtype, [round_to(x.dtype, v) for v in g])
                                             for g in (scale_gradients, bias_gradients)]


def layer_norm_grad_cases(suite):
    op = "tandem.LayerNormGrad"

    def call(name, x, gradients=None, scale=None, epsilon=None, tags=(), precision=16):
        gradients = gradients or varied(x.dtype, x.shape, 31)
        scale = scale or varied(x.dtype, x.shape[-1:], 32)
        outputs = layer_norm_grad(gradients, x, scale, 1e-5 if epsilon is None else epsilon)
        suite.case(f"LayerNormGrad_{name}", op, [gradients, x, scale], outputs,
                   None if epsilon is None else {"epsilon": epsilon}, ulp=4,
                   abs_tolerance=PRECISION[x.dtype] * precision, tags=list(tags) + tags_for(x))

    for dtype in FLOATS:
        for cols in (2, 5, 8, 33):
            call(f"{dtype}_{cols}", varied(dtype, (3, cols), cols))
        x = Tensor(dtype, (2, 4), [128.0, 129.0, 130.0, 132.0, -96.0, -97.0, -98.0, -99.0])
        call(f"{dtype}_offset", x)
        # So many rows that the gradients of scale and bias are summed in parts.
        call(f"{dtype}_rows", varied(dtype, (70, 4), 3), precision=64)
        nans = Tensor(dtype, (2, 2), [math.nan, 1.0, 1.0, 3.0])
        ones = Tensor(dtype, (2, 2), [1.0, -1.0, 1.0, 0.0])
        rest = layer_norm_grad(Tensor(dtype, (1, 2), [1.0, 0.0]), Tensor(dtype, (1, 2), [1.0, 3.0]),
                               vector(dtype, [1.0, 2.0]), 1e-5)[0]
        suite.case(f"LayerNormGrad_{dtype}_nan", op, [ones, nans, vector(dtype, [1.0, 2.0])],
                   [Tensor(dtype, (2, 2), [math.nan] * 2 + rest.values), vector(dtype, [math.nan] * 2),
                    vector(dtype, [2.0, -1.0])], ulp=4, abs_tolerance=PRECISION[dtype])
    for shape in [(5,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2)]:
        call(f"rank{len(shape)}", varied("f32", shape, 3))
    call("one_column", varied("f32", (4, 1), 3), precision=2.0**12)
    call("no_rows", varied("f32", (0, 3)))
    call("no_columns", varied("f32", (3, 0)))
    for epsilon in (0.0, 0.5):
        call(f"epsilon_{epsilon:g}", varied("f32", (2, 6), 4), epsilon=epsilon)
    call("inplace", varied("f32", (6, 7), 5), tags=["inplace"])
    x = varied("f32", (9,), 5)
    call("alias", x, x, x, tags=["alias"])
    call("alias_inplace", x, x, x, tags=["alias", "inplace"])
    call("large", drawn("f32", (40, 50), 6, -4, 4), tags=["large"], precision=64)

    x, scale = varied("f32", (2, 3)), varied("f32", (3,))
    suite.error("LayerNormGrad_scalar", op, [varied("f32", ()), varied("f32", ()), scale],
                "x must have at least one dimension, got x: f32[]")
    wide = varied("f32", (2, 4))
    suite.error("LayerNormGrad_shapes", op, [wide, x, scale],
                "shapes must be equal, got y_backprop: f32[2,4], x: f32[2,3]")
    for bad in (varied("f32", (2,)), varied("f32", (1, 3))):
        suite.error(f"LayerNormGrad_scale_rank{len(bad.shape)}", op, [x, x, bad],
                    "scale must be a vector with an element for each index of the last dimension of x, "
                    f"got x: f32[2,3], scale: {bad}")
    suite.error("LayerNormGrad_mixed_dtypes", op, [x, x, varied("f64", (3,))],
                "argument 2 (scale) must be f32 like argument 0 (y_backprop), got f64[3]")
    common_errors(suite, op, [x, x, scale], ["y_backprop"], FLOATS, required="one of T, epsilon")


def channel_axis(data_format):
    return data_format.index("C")


def batch_norm(x, scale, offset, mean, variance, is_training=True, epsilon=1e-4, exponential_avg_factor=1.0,
               data_format="NHWC"):
    """All six results."""
    rows = numpy.moveaxis(x.array(), channel_axis(data_format), 0)
    y = numpy.empty(rows.shape, dtype=object)
    statistics = [[], [], [], []]
    for c in range(rows.shape[0]):
        values = rows[c].reshape(-1).tolist()
        if is_training:
            used = moments(values)
            sample = used[1] if not values else used[1] * len(values) / max(len(values) - 1, 1)
            factor = f32(exponential_avg_factor)
            running = [used[0], sample]
            if factor != 1:
                old = [Fraction(mean.values[c]), Fraction(variance.values[c])]
                running = [(1 - factor) * o + factor * n if isinstance(n, Fraction) else n
                           for o, n in zip(old, running)]
            statistic = running + list(used)
        else:
            used = Fraction(mean.values[c]), Fraction(variance.values[c])
            statistic = list(used) * 2
        for list_, value in zip(statistics, statistic):
            list_.append(round_to("f32", value))
        count = len(values)
        channel = numpy.empty(count, dtype=object)
        channel[:] = normalized(values, *used, epsilon, [scale.values[c]] * count, [offset.values[c]] * count)
        y[c] = channel.reshape(rows.shape[1:])
    y = numpy.moveaxis(y, 0, channel_axis(data_format))
    elements = Tensor(x.dtype, x.shape, [round_to(x.dtype, v) for v in y.reshape(-1).tolist()])
    return [elements] + [vector("f32", s) for s in statistics] + [scalar("f32", 0.0)]


def shape_of(data_format, channels, batch=2, height=2, width=3, depth=2):
    return tuple({"N": batch, "C": channels, "H": height, "W": width, "D": depth}[letter] for letter in data_format)


def positive(shape, seed):
    return Tensor("f32", shape, [abs(v) + 0.25 for v in varied("f32", shape, seed).values])


def parameters(channels):
    """scale, offset, mean, variance"""
    return [varied("f32", (channels,), seed) for seed in (11, 12, 13)] + [positive((channels,), 14)]


def batch_norm_cases(suite):
    op = "tf.FusedBatchNormV3"

    def call(name, x, inputs, tags=(), **attrs):
        outputs = batch_norm(x, *inputs, **attrs)
        suite.case(f"FusedBatchNormV3_{name}", op, [x, *inputs], outputs, attrs,
                   ulp=4, abs_tolerance=PRECISION[x.dtype], tags=list(tags) + tags_for(x))

    def both(name, x, inputs, tags=(), **attrs):
        call(f"{name}_training", x, inputs, tags, **attrs)
        call(f"{name}_inference", x, inputs, tags, is_training=False, **attrs)

    for dtype in BATCH_NORM_DTYPES:
        for data_format in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
            x = varied(dtype, shape_of(data_format, 3), 1)
            both(f"{dtype}_{data_format.lower()}", x, parameters(3), data_format=data_format)
        for channels, width in [(1, 5), (5, 3), (16, 2), (65, 2), (260, 1)]:
            for data_format in ("NHWC", "NCHW"):
                if channels > 100 and dtype == "bf16":
                    continue
                x = varied(dtype, shape_of(data_format, channels, 2, 1, width), channels)
                both(f"{dtype}_{data_format.lower()}_channels{channels}", x, parameters(channels),
                     data_format=data_format)
        special = [1.0, 2.0, math.nan, 4.0, -1.0, 0.5, math.nan, 3.0]
        both(f"{dtype}_nan", Tensor(dtype, (1, 2, 2, 2), special), parameters(2), tags=["special"])
        # Large means and small variances.
        offset = Tensor(dtype, (1, 2, 2, 2), [128.0, -96.0, 129.0, -97.0, 130.0, -98.0, 131.0, -96.0])
        both(f"{dtype}_offset", offset, parameters(2))
        both(f"{dtype}_constant", Tensor(dtype, (1, 2, 2, 1), [0.75] * 4), parameters(1))
    x = varied("f32", shape_of("NHWC", 3), 2)
    for factor in (0.0, 0.25, 0.5, 1.0):
        call(f"factor_{factor:g}", x, parameters(3), exponential_avg_factor=factor)
    for epsilon in (0.001, 0.0, 2.0):
        both(f"epsilon_{epsilon:g}", x, parameters(3), epsilon=epsilon)
    scale, offset, mean, variance = parameters(3)
    call("no_statistics", x, [scale, offset, vector("f32", []), vector("f32", [])])
    call("unused_statistics", x, [scale, offset, varied("f32", (7,)), varied("f32", (2,))])
    call("one_element", varied("f32", (1, 1, 1, 3), 3), parameters(3))
    call("one_element_factor", varied("f32", (1, 1, 1, 3), 3), parameters(3), exponential_avg_factor=0.5)
    for data_format in ("NHWC", "NCHW"):
        lower = data_format.lower()
        both(f"no_images_{lower}", varied("f32", shape_of(data_format, 3, batch=0)), parameters(3),
             data_format=data_format)
        both(f"no_rows_{lower}", varied("f32", shape_of(data_format, 3, height=0)), parameters(3),
             data_format=data_format, exponential_avg_factor=0.5)
        both(f"no_channels_{lower}", varied("f32", shape_of(data_format, 0)), parameters(0), data_format=data_format)
        both(f"inplace_{lower}", varied("f32", shape_of(data_format, 5), 4), parameters(5), ["inplace"],
             data_format=data_format)
        both(f"large_{lower}", drawn("f32", shape_of(data_format, 6, 2, 11, 13), 5, -3, 5), parameters(6), ["large"],
             data_format=data_format)
    # So many elements that moments are found in parts; scaled by 0, so that the first result is short to spell.
    for dtype in BATCH_NORM_DTYPES:
        for data_format, channels, height, width in [("NHWC", 3, 100, 57), ("NHWC", 70, 18, 14), ("NHWC", 300, 10, 7),
                                                     ("NCHW", 2, 75, 71)]:
            if dtype != "f32" and channels > (3 if dtype == "bf16" else 70):
                continue
            x = drawn(dtype, shape_of(data_format, channels, 1, height, width), 6, 1, 3)
            zeros = Tensor("f32", (channels,), [0.0] * channels)
            ones = Tensor("f32", (channels,), [1.0] * channels)
            call(f"{dtype}_{data_format.lower()}_parts{channels}", x, [zeros, ones, *parameters(channels)[2:]],
                 ["large"], data_format=data_format)
    x = varied("f32", (1, 1, 1, 4), 7)
    same = varied("f32", (4,), 8)
    call("alias", x, [same] * 4, ["alias"])
    batch_norm_errors(suite, op)


def batch_norm_errors(suite, op):
    x = varied("f32", (1, 2, 2, 3))
    right = parameters(3)

    def wrong(name, text, x=x, attrs=None, **replaced):
        names = ["scale", "offset", "mean", "variance"]
        inputs = [replaced.get(n, value) for n, value in zip(names, right)]
        suite.error(f"FusedBatchNormV3_{name}", op, [x, *inputs], text, attrs)

    def length(name, bad, axis=3, x=x):
        return (f"{name} must be a vector with an element for each index of dimension {axis} of x, got x: {x}, "
                f"{name}: {bad}")

    for shape in [(3,), (2, 3), (2, 2, 3), (1, 1, 2, 2, 3)]:
        bad = varied("f32", shape)
        wrong(f"rank{len(shape)}", f"x must have four dimensions for data_format NHWC, got x: {bad}", bad)
    wrong("rank4_of_5", f"x must have five dimensions for data_format NCDHW, got x: {x}", attrs={"data_format": "NCDHW"})
    short, matrix = varied("f32", (2,)), varied("f32", (1, 3))
    for name in ("scale", "offset"):
        wrong(f"{name}_short", length(name, short), **{name: short})
        wrong(f"{name}_matrix", length(name, matrix), **{name: matrix})
    for name in ("mean", "variance"):
        wrong(f"{name}_short", length(name, short), attrs={"is_training": False}, **{name: short})
        wrong(f"{name}_short_factor", length(name, short), attrs={"exponential_avg_factor": 0.5}, **{name: short})
        wrong(f"{name}_matrix", f"{name} must be a vector, got {name}: {matrix}", **{name: matrix})
    wrong("nchw", length("scale", right[0], 1), attrs={"data_format": "NCHW"})
    wrong("format", "attribute data_format must be one of 'NHWC', 'NCHW', 'NDHWC', 'NCDHW', got 'NWHC'",
          attrs={"data_format": "NWHC"})
    wrong("half_scale", "argument 1 (scale) must be one of {f32}, got f16[3]", scale=varied("f16", (3,)))
    wrong("training_int", "attribute is_training must be bool, got i64", attrs={"is_training": 1})
    common_errors(suite, op, [x, *right], ["x"], BATCH_NORM_DTYPES,
                  required="one of T, U, epsilon, exponential_avg_factor, data_format, is_training")


def batch_norm_grad(gradients, x, scale, mean, variance, is_training=True, epsilon=1e-4, data_format="NHWC"):
    """The three gradients, and two empty results."""
    rows = numpy.moveaxis(x.array(), channel_axis(data_format), 0)
    dy_rows = numpy.moveaxis(gradients.array(), channel_axis(data_format), 0)
    dx = numpy.empty(rows.shape, dtype=object)
    scale_gradients, offset_gradients = [], []
    for c in range(rows.shape[0]):
        differences = [Fraction(v) - Fraction(mean.values[c]) for v in rows[c].reshape(-1).tolist()]
        dy = [Fraction(v) for v in dy_rows[c].reshape(-1).tolist()]
        square = Fraction(variance.values[c]) + f32(epsilon)
        deviation = square_root(square)
        total, product = sum(dy), sum(d * v for d, v in zip(dy, differences))
        scale_gradients.append(round_to("f32", product / deviation))
        offset_gradients.append(round_to("f32", total))
        factor = Fraction(scale.values[c]) / deviation
        count = len(dy)
        channel = numpy.empty(count, dtype=object)
        if is_training:
            channel[:] = [factor * (d - total / count - v * product / (count * square))
                          for d, v in zip(dy, differences)]
        else:
            channel[:] = [factor * d for d in dy]
        dx[c] = channel.reshape(rows.shape[1:])
    dx = numpy.moveaxis(dx, 0, channel_axis(data_format))
    elements = Tensor(x.dtype, x.shape, [round_to(x.dtype, v) for v in dx.reshape(-1).tolist()])
    return [elements, vector("f32", scale_gradients), vector("f32", offset_gradients), vector("f32", []),
            vector("f32", [])]


def batch_norm_grad_cases(suite):
    op = "tf.FusedBatchNormGradV3"
    reserve = scalar("f32", 0.0)

    def call(name, x, gradients=None, tags=(), precision=None, inputs=None, **attrs):
        channels = x.shape[channel_axis(attrs.get("data_format", "NHWC"))]
        scale, _, mean, variance = inputs or parameters(channels)
        gradients = gradients or varied(x.dtype, x.shape, 41)
        for is_training in (True, False):
            outputs = batch_norm_grad(gradients, x, scale, mean, variance, is_training, **attrs)
            suite.case(f"FusedBatchNormGradV3_{name}_{'training' if is_training else 'inference'}", op,
                       [gradients, x, scale, mean, variance, reserve], outputs,
                       attrs if is_training else {"is_training": False, **attrs}, ulp=4,
                       abs_tolerance=(precision or 1) * PRECISION[x.dtype] * 4, tags=list(tags) + tags_for(x))

    for dtype in BATCH_NORM_DTYPES:
        for data_format in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
            call(f"{dtype}_{data_format.lower()}", varied(dtype, shape_of(data_format, 3), 1), data_format=data_format)
        for channels, width in [(1, 5), (16, 2), (65, 1), (260, 1)]:
            for data_format in ("NHWC", "NCHW"):
                if channels > 100 and (dtype == "bf16" or data_format == "NCHW"):
                    continue
                x = varied(dtype, shape_of(data_format, channels, 2, 1, width), channels)
                call(f"{dtype}_{data_format.lower()}_channels{channels}", x, data_format=data_format)
    for data_format in ("NHWC", "NCHW"):
        lower = data_format.lower()
        call(f"no_images_{lower}", varied("f32", shape_of(data_format, 3, batch=0)), data_format=data_format)
        call(f"no_channels_{lower}", varied("f32", shape_of(data_format, 0)), data_format=data_format)
        call(f"inplace_{lower}", varied("f32", shape_of(data_format, 5), 4), tags=["inplace"],
             data_format=data_format)
        call(f"large_{lower}", drawn("f32", shape_of(data_format, 6, 2, 9, 11), 5, -2, 2), tags=["large"],
             precision=16, data_format=data_format)
    for epsilon in (0.5, 0.0):
        call(f"epsilon_{epsilon:g}", varied("f32", (2, 2, 2, 3), 2), epsilon=epsilon)
    x = varied("f32", (1, 2, 3, 2), 6)
    call("alias", x, x, ["alias"])
    call("alias_inplace", x, x, ["alias", "inplace"])
    # So many elements that they are summed in parts; scaled by 0, so that the first result is short to spell.
    for dtype, data_format, channels, height, width in [("f32", "NHWC", 3, 60, 47), ("f16", "NHWC", 70, 13, 10),
                                                        ("f32", "NHWC", 300, 7, 5), ("f32", "NCHW", 1, 91, 92),
                                                        ("bf16", "NCHW", 1, 91, 92)]:
        shape = shape_of(data_format, channels, 1, height, width)
        zeros = Tensor("f32", (channels,), [0.0] * channels)
        call(f"{dtype}_{data_format.lower()}_parts{channels}", drawn(dtype, shape, 6, 1, 3), drawn(dtype, shape, 7, 0, 1),
             ["large"], 16, [zeros, None, *parameters(channels)[2:]], data_format=data_format)
    batch_norm_grad_errors(suite, op, reserve)


def batch_norm_grad_errors(suite, op, reserve):
    x = varied("f32", (1, 2, 2, 3))
    right = [x, x, *[varied("f32", (3,))] * 3, reserve]
    names = ["y_backprop", "x", "scale", "reserve_space_1", "reserve_space_2"]

    def wrong(name, index, bad, text, attrs=None):
        inputs = list(right)
        inputs[index] = bad
        suite.error(f"FusedBatchNormGradV3_{name}", op, inputs, text, attrs)

    small = varied("f32", (1, 2, 2, 1))
    wrong("shapes", 0, small, f"shapes must be equal, got y_backprop: {small}, x: {x}")
    matrix = varied("f32", (2, 3))
    wrong("rank2", 1, matrix, f"x must have four dimensions for data_format NHWC, got x: {matrix}")
    for bad in (varied("f32", (2,)), varied("f32", (1, 3))):
        for index in (2, 3, 4):
            wrong(f"{names[index]}_rank{len(bad.shape)}", index, bad, f"{names[index]} must be a vector with an element "
                  f"for each index of dimension 3 of x, got x: {x}, {names[index]}: {bad}")
    wrong("half_scale", 2, varied("f16", (3,)), "argument 2 (scale) must be f32, got f16[3]")
    wrong("format", 2, right[2], "attribute data_format must be one of 'NHWC', 'NCHW', 'NDHWC', 'NCDHW', got 'CHWN'",
          {"data_format": "CHWN"})
    common_errors(suite, op, right, names, BATCH_NORM_DTYPES, required="one of T, U, epsilon, data_format, is_training")


def suite():
    result = Suite()
    layer_norm_cases(result)
    layer_norm_grad_cases(result)
    batch_norm_cases(result)
    batch_norm_grad_cases(result)
    normalization_local.add_cases(result)
    return result
