# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases that element-wise ops have in common, from functions of the dtype and of elements."""

import math

import numpy

from case_suite import Tensor, common_errors, drawn, from_array, specials, varied, vector
from number_formats import FLOATS, INTS, Fraction, convert, limits, round_to

# Attributes of ops that have some, besides T.
ATTRIBUTES = {"Equal": ["incompatible_shape_error"], "NotEqual": ["incompatible_shape_error"],
              "LeakyRelu": ["alpha"], "Gelu": ["approximate"]}
# Names of the arguments where they are not x and y.
ARGUMENTS = {"Relu": ["features"], "Relu6": ["features"], "LeakyRelu": ["features"], "Elu": ["features"],
             "Selu": ["features"], "Softplus": ["features"], "Softsign": ["features"], "Atan2": ["y", "x"],
             "NextAfter": ["x1", "x2"]}


def op_name(op):
    return f"tandem.{op}" if op in ("Gelu", "Prelu") else f"tf.{op}"


def typical(dtypes):
    """The dtype of cases that are there for one dtype only."""
    return next((dtype for dtype in ("f32", "i32") if dtype in dtypes), dtypes[0])


def required_text(op, dtypes):
    """How the error about an attribute that is not defined goes on."""
    names = ([] if dtypes == ["bool"] else ["T"]) + ATTRIBUTES.get(op, [])
    return f"one of {', '.join(names)}" if names else "no attributes"


def mapped(function, out_dtype, *tensors):
    """The function of each element, with broadcasting; of the first tensor's dtype."""
    dtype = tensors[0].dtype
    arrays = numpy.broadcast_arrays(*[tensor.array() for tensor in tensors])
    out = numpy.empty(arrays[0].shape, dtype=object)
    for index in numpy.ndindex(out.shape):
        out[index] = convert(out_dtype, function(dtype, *[array[index] for array in arrays]))
    return from_array(out_dtype, out)


def tolerance_for(dtype, ulp, exact=True):
    if dtype in INTS or dtype == "bool":
        return 0
    if dtype == "c64":
        return 4 if not exact else ulp
    return min(ulp, 1) if dtype in ("f16", "bf16") else ulp


def usual_values(dtype, span, count=33):
    """Numbers of a dtype over an interval, with more of them close to 0."""
    if dtype in INTS or dtype == "bool":
        return varied(dtype, (count,), seed=7)
    low, high = span
    if dtype == "c64":
        scale = min(3.0, high)
        parts = [-1, -0.75, -0.25, 0.125, 0.5, 1]
        return vector(dtype, [complex(scale * a, scale * b) for a in parts for b in parts])
    steps = [low + (high - low) * i / (count - 1) for i in range(count)]
    small = [high * 2.0**-k for k in (4, 8, 12, 20)] + [low * 2.0**-k for k in (5, 9, 13, 21)]
    return vector(dtype, [round_to(dtype, value) for value in steps + small])


def unary_values(suite, op, dtypes, function, ulp, span, gives_bool):
    for dtype in dtypes:
        x = usual_values(dtype, span)
        out = "bool" if gives_bool else dtype
        tolerance = 0 if gives_bool else tolerance_for(dtype, ulp, exact=op in ("Neg", "Round"))
        suite.case(f"{op}_{dtype}", op_name(op), [x], mapped(function, out, x), ulp=tolerance)
        if dtype in FLOATS:
            zero_sign_is_open = ["Relu", "Relu6"]
            values = [v for v in specials(dtype) if op not in zero_sign_is_open or v != 0 or math.copysign(1, v) > 0]
            x = vector(dtype, values)
            suite.case(f"{op}_{dtype}_special", op_name(op), [x], mapped(function, out, x), ulp=tolerance,
                       tags=["special"])


def unary_shapes(suite, op, dtypes, function, ulp, span, gives_bool):
    dtype = typical(dtypes)
    out = "bool" if gives_bool else dtype
    tolerance = 0 if gives_bool else tolerance_for(dtype, ulp)

    def some(shape, seed=3):
        if dtype == "bool":
            return varied(dtype, shape, seed)
        return drawn(dtype, shape, seed, *span)

    for rank, shape in enumerate([(), (5,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2)]):
        x = some(shape)
        suite.case(f"{op}_rank{rank}", op_name(op), [x], mapped(function, out, x), ulp=tolerance)
    for name, shape in [("empty", (0,)), ("empty_middle", (2, 0, 3))]:
        x = some(shape)
        suite.case(f"{op}_{name}", op_name(op), [x], mapped(function, out, x), tags=["empty"])
    x = some((37,))
    suite.case(f"{op}_inplace", op_name(op), [x], mapped(function, out, x), ulp=tolerance, tags=["inplace"])
    x = some((7, 149), seed=11)
    suite.case(f"{op}_large", op_name(op), [x], mapped(function, out, x), ulp=tolerance, tags=["large"])


def unary_errors(suite, op, dtypes):
    dtype = typical(dtypes)
    common_errors(suite, op_name(op), [varied(dtype, (3,))], ARGUMENTS.get(op, ["x"]), dtypes,
                  required=required_text(op, dtypes))
    if dtypes != ["bool"]:
        wrong = "f64" if dtype != "f64" else "f32"
        if wrong in dtypes:
            suite.error(f"{op}_attr_contradicts", op_name(op), [varied(dtype, (3,))],
                        f"attribute T must be {dtype} like the arguments, got {wrong}", {"T": wrong})


# Shapes of two arguments that broadcast.
BROADCASTS = {
    "row": ((2, 3), (3,)),
    "column": ((2, 3), (2, 1)),
    "outer": ((4, 1), (1, 5)),
    "outer_reverse": ((1, 5), (4, 1)),
    "scalar_left": ((), (2, 3)),
    "scalar_right": ((2, 3), ()),
    "one_left": ((1,), (2, 3)),
    "scalars": ((), ()),
    "middle": ((2, 1, 4), (3, 1)),
    "rank4": ((2, 1, 3, 1), (1, 4, 1, 2)),
    "rank5": ((2, 1, 2, 1, 3), (2, 1, 3, 1)),
    "rank6": ((1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1)),
    "rank8": ((1, 2, 1, 1, 2, 1, 2, 1), (2, 1, 1, 2, 1, 2, 1, 1)),
    "empty": ((0, 3), (3,)),
    "empty_by_one": ((2, 0), (2, 1)),
    "empty_both": ((0,), (1,)),
}


def divisor(op, tensor):
    """A tensor that may stand on the right of the op: without zeros, or negative exponents."""
    if op in ("FloorDiv", "FloorMod", "Mod", "RealDiv"):
        one = complex(1) if tensor.dtype == "c64" else convert(tensor.dtype, 1)
        return Tensor(tensor.dtype, tensor.shape, [value if value != 0 else one for value in tensor.values])
    if op == "Pow" and tensor.dtype in INTS:
        return Tensor(tensor.dtype, tensor.shape, [abs(value) % 70 for value in tensor.values])
    if op == "Pow" and tensor.dtype == "c64":
        return Tensor(tensor.dtype, tensor.shape, [value / 4 for value in tensor.values])
    return tensor


def dividend(op, tensor):
    """A tensor that may stand on the left: whole numbers to be divided, so that quotients are not nearly whole."""
    if op == "Pow" and tensor.dtype in FLOATS:
        return Tensor(tensor.dtype, tensor.shape, [abs(value) for value in tensor.values])
    if op == "Pow" and tensor.dtype == "c64":
        return Tensor(tensor.dtype, tensor.shape, [value if value != 0 else complex(1) for value in tensor.values])
    return tensor


def binary_values(suite, op, dtypes, function, ulp, gives_bool):
    for dtype in dtypes:
        x = dividend(op, varied(dtype, (40,), seed=5))
        y = divisor(op, varied(dtype, (40,), seed=9))
        if gives_bool:  # some are equal
            y = Tensor(dtype, y.shape, [a if i % 3 == 0 else b for i, (a, b) in enumerate(zip(x.values, y.values))])
        out = "bool" if gives_bool else dtype
        tolerance = 0 if gives_bool else tolerance_for(dtype, ulp, exact=op in ("AddV2", "Sub", "Mul"))
        suite.case(f"{op}_{dtype}", op_name(op), [x, y], mapped(function, out, x, y), ulp=tolerance)
        if dtype not in FLOATS:
            continue
        pairs = [(a, b) for a in special_operands(dtype) for b in special_operands(dtype)]
        if op in ("Maximum", "Minimum"):  # of which zero they give is left open
            pairs = [(a, b) for a, b in pairs if not a == b == 0]
        if op in ("FloorDiv", "FloorMod"):
            # Quotients that round to a whole number which they are not, and signs of zero, are left open.
            pairs = [(a, b) for a, b in pairs if keeps_whole(dtype, a, b)]
        x = vector(dtype, [a for a, _ in pairs])
        y = vector(dtype, [b for _, b in pairs])
        suite.case(f"{op}_{dtype}_special", op_name(op), [x, y], mapped(function, out, x, y), ulp=tolerance,
                   tags=["special"] if op not in ("FloorMod",) else [])


def special_operands(dtype):
    tiny, _, normal, largest, epsilon = limits(dtype)
    return [0.0, -0.0, 1.0, -1.0, 1.5, -2.0, tiny, -normal, largest, -largest, 1 + epsilon, math.inf, -math.inf,
            math.nan]


def keeps_whole(dtype, x, y):
    if y == 0 or not math.isfinite(x) or not math.isfinite(y):
        return True
    exact = Fraction(x) / Fraction(y)
    quotient = round_to(dtype, exact)
    return math.isfinite(quotient) and math.floor(exact) == math.floor(quotient)


def binary_shapes(suite, op, dtypes, function, ulp, gives_bool):
    dtype = typical(dtypes)
    out = "bool" if gives_bool else dtype
    tolerance = 0 if gives_bool else tolerance_for(dtype, ulp)

    def call(name, x, y, tags=(), dtype_out=out):
        suite.case(f"{op}_{name}", op_name(op), [x, y], mapped(function, dtype_out, x, y), ulp=tolerance, tags=tags)

    def operands(x_shape, y_shape, dtype=dtype):
        return dividend(op, varied(dtype, x_shape, seed=21)), divisor(op, varied(dtype, y_shape, seed=22))

    for name, (x_shape, y_shape) in BROADCASTS.items():
        call(name, *operands(x_shape, y_shape), tags=["broadcast"] + (["empty"] if 0 in x_shape else []))
    x = divisor(op, dividend(op, varied(dtype, (3, 5), seed=23)))
    call("alias", x, x, tags=["alias"])
    call("alias_inplace", x, x, tags=["alias", "inplace"])
    call("inplace", *operands((6, 7), (6, 7)), tags=["inplace"])
    call("inplace_right", *operands((7,), (6, 7)), tags=["inplace", "broadcast"])
    if dtype != "bool":
        low = 0.5 if op in ("Pow", "RealDiv", "DivNoNan", "FloorMod", "Mod") else -3
        if op == "FloorDiv":
            x, y = drawn(dtype, (1013,), 31, -9, 9), vector(dtype, [float(2 ** (i % 5 - 2)) for i in range(1013)])
        else:
            x, y = drawn(dtype, (1013,), 31, low, 3), drawn(dtype, (1013,), 32, low, 3)
        if op in ("FloorMod", "Mod"):
            y = vector(dtype, [float(2 ** (i % 5 - 2)) for i in range(1013)])
        call("large", x, y, tags=["large"])
        x, y = drawn(dtype, (33, 31), 33, low, 3), divisor(op, drawn(dtype, (31,), 34, 1, 2))
        if op in ("FloorDiv", "FloorMod", "Mod"):
            y = vector(dtype, [float(2 ** (i % 5 - 2)) for i in range(31)])
        call("large_row", x, y, tags=["large", "broadcast"])
    else:
        call("large", varied(dtype, (1013,), 31), varied(dtype, (1013,), 32), tags=["large"])
    # Broadcasting of every element size.
    for other in [d for d in ("u8", "i16", "f16", "i32", "i64", "f64", "c64", "string") if d in dtypes]:
        x, y = operands((3, 1), (1, 4), other)
        tolerance = 0 if gives_bool else tolerance_for(other, ulp, exact=op in ("AddV2", "Sub", "Mul"))
        call(f"outer_{other}", x, y, tags=["broadcast"], dtype_out="bool" if gives_bool else other)


def binary_errors(suite, op, dtypes):
    dtype = typical(dtypes)
    name = op_name(op)
    first, second = ARGUMENTS.get(op, ["x", "y"])
    good = [divisor(op, varied(dtype, (2, 3))), divisor(op, varied(dtype, (2, 3)))]
    common_errors(suite, name, good, [first, second], dtypes, required=required_text(op, dtypes))
    for label, x_shape, y_shape in [("rows", (2, 3), (2,)), ("inner", (2, 3), (2, 4)), ("empty", (0,), (2,)),
                                    ("rank6", (1, 1, 1, 1, 1, 2), (3,))]:
        x, y = varied(dtype, x_shape), varied(dtype, y_shape)
        suite.error(f"{op}_shapes_{label}", name, [x, y],
                    f"shapes must be broadcast compatible, got {first}: {x}, {second}: {y}")
    if dtypes != ["bool"]:
        other = "f64" if "f64" in dtypes else "i64"
        y = varied(other, (2, 3))
        suite.error(f"{op}_mixed_dtypes", name, [good[0], y],
                    f"argument 1 ({second}) must be {dtype} like argument 0 ({first}), got {y}")
        suite.error(f"{op}_attr_contradicts", name, good,
                    f"attribute T must be {dtype} like the arguments, got {other}", {"T": other})
    else:
        y = varied("i32", (2, 3))
        suite.error(f"{op}_wrong_right", name, [good[0], y], f"argument 1 (y) must be bool, got {y}")


def add_unary_cases(suite, op, dtypes, function, ulp, span, gives_bool=False):
    """function(dtype, x) gives a number still to be rounded; ulp is the tolerance, span where most values are."""
    unary_values(suite, op, dtypes, function, ulp, span, gives_bool)
    unary_shapes(suite, op, dtypes, function, ulp, span, gives_bool)
    unary_errors(suite, op, dtypes)


def add_binary_cases(suite, op, dtypes, function, ulp, gives_bool=False):
    binary_values(suite, op, dtypes, function, ulp, gives_bool)
    binary_shapes(suite, op, dtypes, function, ulp, gives_bool)
    binary_errors(suite, op, dtypes)
