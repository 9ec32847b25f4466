# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of activations that are element-wise, and of limits."""

import math

import elementary
from case_suite import Suite, common_errors, drawn, scalar, specials, varied, vector
from elementary import DIGITS, Decimal, bounded_exp, digits_for, in_precision, pi
from elementwise_cases import add_unary_cases, mapped, op_name, special_operands, tolerance_for, usual_values
from number_formats import FLOATS, NUMBERS, REALS, Fraction, round_to

SELU_SCALE = Decimal("1.0507009873554804934193349852946")
SELU_SCALE_ALPHA = Decimal("1.7580993408473768599402175208123")
DEFAULT_ALPHA = round_to("f32", 0.2)


def scaled(x, slope):
    """x times a slope, which is finite: exactly, but for what IEEE 754 decides."""
    product = x * slope
    return product if product == 0 or not math.isfinite(product) else Fraction(x) * Fraction(slope)


def prelu(_, x, slope):
    return x if x >= 0 else scaled(x, slope)


def leaky_relu(alpha):
    return lambda dtype, x: prelu(dtype, x, alpha)


def elu(_, x):
    return elementary.expm1(x) if x < 0 else x


def selu(_, x):
    if x == 0 or not math.isfinite(x):
        return -SELU_SCALE_ALPHA if x == -math.inf else x
    with in_precision(digits_for(x)):
        return SELU_SCALE_ALPHA * elementary.expm1(x) if x < 0 else SELU_SCALE * Decimal(x)


def softplus(_, x):
    if not math.isfinite(x):
        return 0.0 if x == -math.inf else x
    with in_precision(2 * digits_for(x) + 400):
        return Decimal(x) if x > 2000 else (1 + bounded_exp(Decimal(x))).ln()


def softsign(_, x):
    if x == 0 or not math.isfinite(x):
        return math.copysign(1, x) if math.isinf(x) else x
    return Fraction(x) / (1 + abs(Fraction(x)))


def relu6(_, x):
    return x if x != x else min(max(x, 0), 6)


def gelu(_, x):
    if x == 0 or not math.isfinite(x):
        return -0.0 if x == -math.inf else x
    if abs(x) > 60:
        return x if x > 0 else -0.0
    # erf(z) = 2 / sqrt(pi) e^(-z^2) (z + 2 z^3 / 3 + 4 z^5 / 15 + ...), which has no cancellation; as many more digits
    # as 1 - erf(z) loses.
    digits = digits_for(x) + int(x * x / 4) + 20
    with in_precision(digits):
        square = Decimal(x) * Decimal(x)
        total, term, n = Decimal(0), Decimal(x), 1
        while term.adjusted() > total.adjusted() - digits - 5 or n < 5:
            total += term
            n += 2
            term = term * square / n
        density = (-square / 2).exp() / (2 * pi(digits)).sqrt()
        return Decimal(x) * (Decimal(1) / 2 + density * total)


def gelu_tanh(_, x):
    if x == 0 or not math.isfinite(x):
        return -0.0 if x == -math.inf else x
    if abs(x) > 60:
        return x if x > 0 else -0.0
    with in_precision(2 * DIGITS):
        z = Decimal(x)
        twice = (8 / pi(2 * DIGITS)).sqrt() * (z + Decimal("0.044715") * z * z * z)
        return z / (1 + bounded_exp(-twice))


UNARY = [
    ("Relu6", REALS, relu6, 0, (-9, 9)),
    ("LeakyRelu", FLOATS, leaky_relu(DEFAULT_ALPHA), 1, (-9, 9)),
    ("Elu", FLOATS, elu, 2, (-9, 9)),
    ("Selu", FLOATS, selu, 2, (-9, 9)),
    ("Softplus", FLOATS, softplus, 2, (-20, 20)),
    ("Softsign", FLOATS, softsign, 2, (-9, 9)),
    ("Gelu", FLOATS, gelu, 4, (-6, 6)),
]


def attribute_cases(suite):
    for dtype in FLOATS:
        for name, alpha in [("zero", 0.0), ("negative", -1.5), ("above_one", 2.0), ("third", 1 / 3), ("huge", 3e38),
                            ("tiny", 1e-40)]:
            alpha = round_to("f32", alpha)
            x = usual_values(dtype, (-9, 9))
            suite.case(f"LeakyRelu_{dtype}_alpha_{name}", "tf.LeakyRelu", [x], mapped(leaky_relu(alpha), dtype, x),
                       {"alpha": alpha}, ulp=1)
        x = usual_values(dtype, (-6, 6))
        ulp = tolerance_for(dtype, 4)
        suite.case(f"Gelu_{dtype}_approximate", "tandem.Gelu", [x], mapped(gelu_tanh, dtype, x), {"approximate": True},
                   ulp=ulp)
        suite.case(f"Gelu_{dtype}_exact", "tandem.Gelu", [x], mapped(gelu, dtype, x), {"approximate": False}, ulp=ulp)
        x = vector(dtype, specials(dtype))
        suite.case(f"Gelu_{dtype}_approximate_special", "tandem.Gelu", [x], mapped(gelu_tanh, dtype, x),
                   {"approximate": True}, ulp=ulp, tags=["special"])
    x = drawn("f32", (7, 149), 11, -6, 6)
    suite.case("Gelu_approximate_large", "tandem.Gelu", [x], mapped(gelu_tanh, "f32", x), {"approximate": True}, ulp=4,
               tags=["large"])
    x = scalar("f32", 1.0)
    suite.error("LeakyRelu_alpha_string", "tf.LeakyRelu", [x], "attribute alpha must be f32, got string",
                {"alpha": "steep"})
    suite.error("Gelu_approximate_string", "tandem.Gelu", [x], "attribute approximate must be bool, got string",
                {"approximate": "tanh"})


def hard_arguments(suite):
    """Where the result is tiny, and where methods change."""
    values = [-1e30, -104.0, -88.8, -20.0, -14.5, -14.2, -13.0, -12.0, -10.7, -9.0, -5.5, -3.66, -2.5, -1.0000001, -1.0,
              -0.75, -0.1, -1e-4, -1e-20, -1e-38, 1e-38, 1e-4, 0.5, 1.0, 2.0, 5.0, 10.0, 14.5, 20.0, 88.7, 88.8, 1e30]
    rows = [(op, function, ulp, None) for op, _, function, ulp, _ in UNARY if op not in ("Relu6", "LeakyRelu")]
    for op, function, ulp, attrs in rows + [("Gelu", gelu_tanh, 4, {"approximate": True})]:
        for dtype in ("f32", "f64"):
            more = [-745.0, -710.0, -39.0, -38.0, -30.0, -21.5, 710.0, 1e300] if dtype == "f64" else []
            x = vector(dtype, [round_to(dtype, value) for value in values + more])
            suite.case(f"{op}_{dtype}_hard{'_approximate' if attrs else ''}", op_name(op), [x],
                       mapped(function, dtype, x), attrs, ulp=ulp, tags=["special"])


def prelu_cases(suite):
    def call(name, x, slope, tags=()):
        suite.case(f"Prelu_{name}", "tandem.Prelu", [x, slope], mapped(prelu, x.dtype, x, slope), tags=tags)

    for dtype in FLOATS:
        call(dtype, varied(dtype, (5, 8), 1), varied(dtype, (5, 8), 2))
        call(f"{dtype}_channels", varied(dtype, (5, 8), 1), varied(dtype, (8,), 2), ["broadcast"])
        pairs = [(a, b) for a in special_operands(dtype) for b in special_operands(dtype)]
        call(f"{dtype}_special", vector(dtype, [a for a, _ in pairs]), vector(dtype, [b for _, b in pairs]),
             ["special"])
    for name, x_shape, slope_shape in [("scalar", (), ()), ("one_slope", (2, 3), ()), ("column", (2, 3), (2, 1)),
                                       ("channels_first", (2, 3, 2, 2), (3, 1, 1)), ("rank1", (7,), (1,)),
                                       ("rank5", (2, 1, 2, 1, 3), (2, 1, 3)),
                                       ("rank6", (1, 2, 1, 3, 1, 2), (1, 2, 1, 1, 1, 2)), ("empty", (0, 3), (3,)),
                                       ("empty_middle", (2, 0, 3), (1, 3)), ("large", (33, 31), (31,)),
                                       ("large_rows", (3, 401), (401,))]:
        call(name, varied("f32", x_shape, 3), varied("f32", slope_shape, 4), ["empty"] if 0 in x_shape else [])
    x = varied("f32", (6, 7), 5)
    call("alias", x, x, ["alias"])
    call("alias_inplace", x, x, ["alias", "inplace"])
    call("inplace", x, varied("f32", (7,), 6), ["inplace"])
    for name, x_shape, slope_shape in [("length", (2, 3), (2,)), ("larger", (3,), (2, 3)), ("rank", (2, 3), (1, 2, 3)),
                                       ("one", (1, 3), (2, 3))]:
        x, slope = varied("f32", x_shape), varied("f32", slope_shape)
        suite.error(f"Prelu_slope_{name}", "tandem.Prelu", [x, slope],
                    f"slope must broadcast to the shape of x, got x: {x}, slope: {slope}")
    x, slope = varied("f32", (2, 3)), varied("f64", (3,))
    suite.error("Prelu_mixed_dtypes", "tandem.Prelu", [x, slope],
                f"argument 1 (slope) must be f32 like argument 0 (x), got {slope}")
    common_errors(suite, "tandem.Prelu", [x, x], ["x"], FLOATS, required="one of T")


def clip(dtype, t, low, high):
    if dtype == "c64":
        return complex(clip("f32", t.real, low.real, high.real), clip("f32", t.imag, low.imag, high.imag))
    return math.nan if t != t or low != low or high != high else max(min(t, high), low)


def clip_cases(suite):
    op = "tf.ClipByValue"

    def call(name, t, low, high, tags=()):
        suite.case(f"ClipByValue_{name}", op, [t, low, high], mapped(clip, t.dtype, t, low, high), tags=tags)

    for dtype in NUMBERS:
        t = varied(dtype, (5, 8), 1)
        low, high = (2 + 1j, 5 + 6j) if dtype == "c64" else (2, 5)
        call(f"{dtype}_scalars", t, scalar(dtype, low), scalar(dtype, high), ["broadcast"])
        call(dtype, t, varied(dtype, (5, 8), 2), varied(dtype, (5, 8), 3))
        call(f"{dtype}_rows", t, varied(dtype, (8,), 4), varied(dtype, (5, 1), 5), ["broadcast"])
    for dtype in FLOATS:
        numbers = [v for v in special_operands(dtype) if v not in (1.5, -1.0)]
        # Zeros of either sign are equal: which one is kept is left open.
        triples = [(a, b, c) for a in numbers for b in (-1.0, 0.0, -math.inf, math.nan) for c in (1.0, 0.5, math.nan)]
        call(f"{dtype}_special", *(vector(dtype, [triple[i] for triple in triples]) for i in range(3)))
        x = vector(dtype, [v for v in specials(dtype) for _ in range(3)])
        for name, low, high in [("no_limit", -math.inf, math.inf), ("below", -math.inf, 1.0), ("above", 0.5, math.inf),
                                ("nan_below", math.nan, 1.0), ("nan_above", 0.5, math.nan), ("crossed", 1.0, -1.0)]:
            call(f"{dtype}_special_scalars_{name}", x, scalar(dtype, low), scalar(dtype, high))
    for dtype in NUMBERS:
        low, high = (-1 + 2j, 3 - 2j) if dtype == "c64" else (3, 2)
        call(f"{dtype}_crossed_scalars", varied(dtype, (60,), 12), scalar(dtype, low), scalar(dtype, high))
    for name, shapes in [("scalar", ((), (), ())), ("rank1", ((7,), (1,), (7,))), ("rank3", ((2, 3, 2), (3, 1), ())),
                         ("rank5", ((2, 1, 2, 1, 3), (2, 1, 3), (3,))),
                         ("rank6", ((1, 2, 1, 3, 1, 2), (2, 1, 1, 1, 2), (1,))), ("empty", ((0, 3), (3,), ())),
                         ("empty_middle", ((2, 0, 3), (), (1, 3))), ("large", ((33, 31), (31,), (33, 1))),
                         ("large_scalars", ((1013,), (), ()))]:
        t, low, high = [varied("f32", shape, seed) for seed, shape in enumerate(shapes, 6)]
        call(name, t, low, high, ["empty"] if 0 in t.shape else [])
    t, low, high = [varied("f32", (6, 7), seed) for seed in (9, 10, 11)]
    call("inplace", t, low, high, ["inplace"])
    call("inplace_scalars", t, scalar("f32", -2.0), scalar("f32", 3.0), ["inplace"])
    call("alias", t, t, t, ["alias"])
    call("alias_inplace", t, t, t, ["alias", "inplace"])
    for name, shapes, wrong in [("min", ((2, 3), (2,), ()), 1), ("max", ((2, 3), (), (3, 3)), 2),
                                ("min_larger", ((3,), (2, 3), ()), 1), ("max_larger", ((), (), (1,)), 2)]:
        tensors = [varied("f32", shape) for shape in shapes]
        argument = ("t", "clip_value_min", "clip_value_max")[wrong]
        suite.error(f"ClipByValue_shape_{name}", op, tensors,
                    f"{argument} must broadcast to the shape of t, got t: {tensors[0]}, {argument}: {tensors[wrong]}")
    t, other = varied("f32", (2,)), varied("i32", (2,))
    suite.error("ClipByValue_mixed_dtypes", op, [t, t, other],
                f"argument 2 (clip_value_max) must be f32 like argument 0 (t), got {other}")
    common_errors(suite, op, [t, t, t], ["t"], NUMBERS, required="one of T")


def suite():
    result = Suite()
    for row in UNARY:
        add_unary_cases(result, *row)
    attribute_cases(result)
    hard_arguments(result)
    prelu_cases(result)
    clip_cases(result)
    return result
