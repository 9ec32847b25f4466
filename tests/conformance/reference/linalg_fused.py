# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of _FusedMatMul."""

import decimal
import math

import elementary
from case_suite import Tensor, drawn, varied
from number_formats import FLOATS, Fraction, round_to

Decimal = decimal.Decimal
DTYPES = FLOATS
ACTIVATIONS = ["Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid", "GeluExact", "GeluApproximate"]
OP = "tf._FusedMatMul"


def _decimal(value):
    return value if isinstance(value, Decimal) else Decimal(value)


def activate(name, x, alpha):
    """Of a finite float, as a float or a Decimal."""
    if name == "Relu":
        return max(x, 0.0)
    if name == "Relu6":
        return min(max(x, 0.0), 6.0)
    if name == "LeakyRelu":
        return x if x > 0 else Fraction(x) * Fraction(round_to("f32", alpha))
    if name == "Elu":
        return x if x >= 0 else elementary.expm1(x)
    if name == "Tanh":
        return elementary.tanh(x)
    if name == "Sigmoid":
        return elementary.sigmoid(x)
    with decimal.localcontext() as context:
        context.prec = 60
        if name == "GeluExact":
            # erf of a number with more digits than a float has: the float next to it, and the slope there.
            inner = _decimal(x) / Decimal(2).sqrt()
            near = float(inner)
            slope = 2 / _decimal(math.pi).sqrt() * (-_decimal(near) ** 2).exp()
            return _decimal(x) / 2 * (1 + _decimal(elementary.erf(near)) + slope * (inner - _decimal(near)))
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        inner = (2 / pi).sqrt() * (_decimal(x) + Decimal("0.044715") * _decimal(x) ** 3)
        return _decimal(x) / (1 + (-2 * inner).exp())


def fused(a, b, bias, activation, alpha, transpose_a, transpose_b, added):
    rows = a.array().T if transpose_a else a.array()
    columns = b.array() if transpose_b else b.array().T
    values = []
    more = iter(added.values if added else [0.0] * (rows.shape[0] * columns.shape[0]))
    for row in rows:
        for column, offset in zip(columns, bias.values):
            terms = [Fraction(x) * Fraction(y) for x, y in zip(row.tolist(), column.tolist())]
            total = sum(terms, Fraction(offset)) + Fraction(next(more))
            exact = activate(activation, float(total), alpha) if activation else total
            values.append(round_to(a.dtype, exact))
    return Tensor(a.dtype, (rows.shape[0], columns.shape[0]), values)


def call(suite, name, a, b, bias, activation=None, alpha=None, transpose_a=False, transpose_b=False, ulp=0,
         abs_tolerance=0, tags=(), added=None):
    attrs = {"fused_ops": ["BiasAdd"] + (["Add"] if added else []) + ([activation] if activation else [])}
    attrs.update({key: True for key, value in [("transpose_a", transpose_a), ("transpose_b", transpose_b)] if value})
    if alpha is not None:
        attrs["leakyrelu_alpha"] = alpha
    y = fused(a, b, bias, activation, 0.2 if alpha is None else alpha, transpose_a, transpose_b, added)
    tags = list(tags) + (["empty"] if 0 in a.shape + b.shape else [])
    inputs = [a, b, bias] + ([added] if added else [])
    suite.case(f"_FusedMatMul_{name}", OP, inputs, y, attrs, ulp=ulp, abs_tolerance=abs_tolerance, tags=tags)


def tolerance(dtype, activation):
    """In ULP, and absolute: GeluExact cancels where x is below 0, as 1 + erf(x) does."""
    if activation in (None, "Relu", "Relu6"):
        return 0, 0
    if dtype in ("f16", "bf16"):
        return 1, (2.0**-22 if activation == "GeluExact" else 0)
    step = 2.0**-52 if dtype == "f64" else 2.0**-23
    return 4, (4 * step if activation in ("GeluExact", "GeluApproximate") else 0)


def small(dtype, shape, seed):
    """Multiples of 1/4 up to 2."""
    return Tensor(dtype, shape, [v / 4 for v in varied(dtype, shape, seed).values])


# (m, k, n)
SIZES = [(1, 1, 1), (1, 5, 7), (7, 6, 1), (1, 3, 40), (4, 2, 3), (13, 9, 17), (40, 3, 35), (2, 300, 3), (30, 20, 33)]


def add_cases(suite):
    for dtype in DTYPES:
        for activation in [None] + ACTIVATIONS:
            ulp, bound = tolerance(dtype, activation)
            name = f"{dtype}_{activation or 'BiasAdd'}"
            for transpose_a, transpose_b in [(False, False), (True, True)]:
                a = small(dtype, (3, 4) if transpose_a else (4, 3), 1)
                b = small(dtype, (5, 3) if transpose_b else (3, 5), 2)
                call(suite, f"{name}{'_tt' if transpose_a else ''}", a, b, small(dtype, (5,), 3), activation, None,
                     transpose_a, transpose_b, ulp, bound)
            call(suite, f"{name}_empty_inner", small(dtype, (2, 0), 1), small(dtype, (0, 3), 2), small(dtype, (3,), 4),
                 activation, ulp=ulp, abs_tolerance=bound)
    for m, k, n in SIZES:
        for activation in (None, "Relu"):
            for dtype in ("f32", "bf16"):
                a, b, bias = small(dtype, (m, k), 5), small(dtype, (k, n), 6), small(dtype, (n,), 7)
                call(suite, f"{dtype}_{m}x{k}x{n}_{activation}", a, b, bias, activation)
    for dtype in DTYPES:
        for activation in [None] + ACTIVATIONS:
            ulp, bound = tolerance(dtype, activation)
            call(suite, f"{dtype}_added_{activation}", small(dtype, (4, 3), 1), small(dtype, (3, 5), 2),
                 small(dtype, (5,), 3), activation, ulp=ulp, abs_tolerance=bound, added=small(dtype, (4, 5), 13))
        for m, k, n in SIZES + [(3, 80, 21), (9, 5, 600)]:
            call(suite, f"{dtype}_{m}x{k}x{n}_added", small(dtype, (m, k), 5), small(dtype, (k, n), 6),
                 small(dtype, (n,), 7), added=small(dtype, (m, n), 14))
    # Columns that are vectors, a few rows; and a product with no inner elements.
    call(suite, "added_columns", small("f32", (3, 70), 5), small("f32", (9, 70), 6), small("f32", (9,), 7), "Relu",
         transpose_b=True, added=small("f32", (3, 9), 14))
    call(suite, "added_empty_inner", small("f32", (2, 0), 5), small("f32", (0, 3), 6), small("f32", (3,), 7), "Relu",
         added=small("f32", (2, 3), 14))
    for m, k, n in [(0, 3, 4), (2, 3, 0), (0, 0, 0)]:
        call(suite, f"empty_{m}x{k}x{n}", small("f32", (m, k), 1), small("f32", (k, n), 1), small("f32", (n,), 1), "Elu")
    for alpha in (0.0, 0.5, -1.0, 2.0):
        call(suite, f"alpha_{alpha}", small("f32", (4, 3), 8), small("f32", (3, 4), 9), small("f32", (4,), 9),
             "LeakyRelu", alpha)
    for activation in ("Tanh", "GeluApproximate", "Elu"):
        a, b, bias = drawn("f32", (5, 30), 1, -1, 1), drawn("f32", (30, 26), 2, -1, 1), drawn("f32", (26,), 3, -1, 1)
        call(suite, f"random_{activation}", a, b, bias, activation, ulp=2, abs_tolerance=60 * 2.0**-23, tags=["large"])
    # Of so many products that a library may compute them, and the rest behind it.
    for m, k, n, activation in [(16, 900, 20, "LeakyRelu"), (16, 900, 19, "Elu"), (16, 900, 20, "Tanh")]:
        for dtype in ("f32", "f64"):
            a, b, bias = drawn(dtype, (m, k), 1, -1, 1), drawn(dtype, (k, n), 2, -1, 1), drawn(dtype, (n,), 3, -1, 1)
            added = drawn(dtype, (m, n), 4, -1, 1) if activation == "LeakyRelu" else None
            call(suite, f"{dtype}_{m}x{k}x{n}_{activation}", a, b, bias, activation, ulp=2,
                 abs_tolerance=math.ldexp(16 * math.sqrt(k), -53 if dtype == "f64" else -24), tags=["large"], added=added)
    x = small("f32", (4, 4), 10)
    call(suite, "alias", x, x, small("f32", (4,), 11), "Relu", tags=["alias"])
    call(suite, "inplace", x, small("f32", (4, 4), 12), small("f32", (4,), 11), "Relu", tags=["inplace"])
    special_cases(suite)
    add_errors(suite)


def special_cases(suite):
    inf, nan = math.inf, math.nan
    identity = [1.0, 0.0, 0.0, 1.0]
    expected = {None: [inf, -inf, nan, 0.0], "Relu": [inf, 0.0, nan, 0.0], "Relu6": [6.0, 0.0, nan, 0.0],
                "LeakyRelu": [inf, -inf, nan, 0.0], "Elu": [inf, -1.0, nan, 0.0], "Tanh": [1.0, -1.0, nan, 0.0],
                "Sigmoid": [1.0, 0.0, nan, 0.5], "GeluExact": [inf, nan, nan, 0.0],
                "GeluApproximate": [inf, nan, nan, 0.0]}
    for dtype in DTYPES:
        for activation, row in expected.items():
            suite.case(f"_FusedMatMul_{dtype}_special_{activation or 'BiasAdd'}", OP,
                       [Tensor(dtype, (1, 2), [0.0, 0.0]), Tensor(dtype, (2, 4), (identity + identity)),
                        Tensor(dtype, (4,), [inf, -inf, nan, 0.0])], Tensor(dtype, (1, 4), row),
                       {"fused_ops": ["BiasAdd"] + ([activation] if activation else [])})


def add_errors(suite):
    a, b, bias = small("f32", (2, 3), 1), small("f32", (3, 4), 2), small("f32", (4,), 3)
    known = ("fused_ops must be BiasAdd, alone or followed by Add, by one of Relu, Relu6, Elu, LeakyRelu, Tanh, Sigmoid, "
             "GeluExact, GeluApproximate, or by both, got fused_ops: ")

    def wrong(name, inputs, text, fused_ops=("BiasAdd",), **attrs):
        suite.error(f"_FusedMatMul_{name}", OP, inputs, text, {"fused_ops": list(fused_ops), **attrs})

    wrong("no_fused_ops", [a, b], known + "[]", [])
    wrong("relu_alone", [a, b], known + "[Relu]", ["Relu"])
    wrong("unknown", [a, b, bias], known + "[BiasAdd, Softmax]", ["BiasAdd", "Softmax"])
    wrong("three", [a, b, bias], known + "[BiasAdd, Relu, Tanh]", ["BiasAdd", "Relu", "Tanh"])
    wrong("batch_norm", [a, b, bias], known + "[FusedBatchNorm]", ["FusedBatchNorm"])
    wrong("add_twice", [a, b, bias], known + "[BiasAdd, Add, Add]", ["BiasAdd", "Add", "Add"])
    wrong("add_last", [a, b, bias], known + "[BiasAdd, Relu, Add]", ["BiasAdd", "Relu", "Add"])
    wrong("add_first", [a, b, bias], known + "[Add, BiasAdd]", ["Add", "BiasAdd"])
    wrong("add_four", [a, b, bias], known + "[BiasAdd, Add, Relu, Relu]", ["BiasAdd", "Add", "Relu", "Relu"])
    wrong("nothing_to_add", [a, b, bias], "args must be two tensors, the bias and what to add, got 1",
          ["BiasAdd", "Add"])
    wrong("added_row", [a, b, bias, small("f32", (1, 4), 1)], "the tensor to add must have the shape of the result "
          "[2,4], got f32[1,4]", ["BiasAdd", "Add", "Relu"])
    wrong("added_dtype", [a, b, bias, small("f64", (2, 4), 1)],
          "argument 3 (args) must be f32 like argument 0 (a), got f64[2,4]", ["BiasAdd", "Add"])
    wrong("no_bias", [a, b], "args must be one tensor, the bias, got 0")
    wrong("two_args", [a, b, bias, bias], "args must be one tensor, the bias, got 2")
    wrong("bias_size", [a, b, small("f32", (3,), 1)], "bias must be a vector with one element for each column of the "
          "product, got product: f32[2,4], bias: f32[3]")
    wrong("bias_matrix", [a, b, small("f32", (1, 4), 1)], "bias must be a vector with one element for each column of "
          "the product, got product: f32[2,4], bias: f32[1,4]")
    wrong("inner", [a, a, bias], "inner dimensions must agree, got a: f32[2,3], b: f32[2,3]")
    wrong("vector", [bias, b, bias], "a must be a matrix, got a: f32[4]")
    wrong("bias_dtype", [a, b, small("f64", (4,), 1)], "argument 2 (args) must be f32 like argument 0 (a), got f64[4]")
    wrong("i32", [varied("i32", (2, 3)), varied("i32", (3, 4)), varied("i32", (4,))],
          "argument 0 (a) must be one of {f16, bf16, f32, f64}, got i32[2,3]")
    wrong("alpha_bool", [a, b, bias], "attribute leakyrelu_alpha must be f32, got bool", leakyrelu_alpha=True)
