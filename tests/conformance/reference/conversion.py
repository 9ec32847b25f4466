# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops that change how a tensor is represented: its elements stay."""

from case_suite import Suite, Tensor, common_errors, specials, varied, vector
from number_formats import DTYPES, FLOATS, convert

SHAPES = [(), (7,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2)]
FIXED_SIZE = [dtype for dtype in DTYPES if dtype != "string"]


def same(suite, op, name, x, tags=()):
    suite.case(f"{op}_{name}", f"tandem.{op}", [x], x, tags=list(tags) + (["empty"] if 0 in x.shape else []))


def sparse(dtype, shape):
    """With a zero for most of the elements."""
    x = varied(dtype, shape, 5)
    zero = convert(dtype, 0)
    return Tensor(dtype, shape, [value if i % 3 == 1 else zero for i, value in enumerate(x.values)])


def suite():
    result = Suite()
    for op in ("ToDense", "ToSparseCoo"):
        for dtype in FIXED_SIZE:
            same(result, op, dtype, sparse(dtype, (4, 5)))
        for shape in SHAPES + [(0,), (2, 0, 3)]:
            same(result, op, f"of_{'x'.join(map(str, shape)) or 'scalar'}", varied("f32", shape))
        for dtype in FLOATS:
            same(result, op, f"{dtype}_special", vector(dtype, specials(dtype)), tags=["special"])
        same(result, op, "inplace", sparse("f32", (9, 9)), tags=["inplace"])
        same(result, op, "all_zero", Tensor("f32", (3, 3), [0.0] * 9))
    for dtype in FIXED_SIZE:
        same(result, "ToScalar", dtype, Tensor(dtype, (2, 3), varied(dtype, (1,), 7).values * 6))
    for shape in SHAPES:
        values = varied("f32", (1,)).values * len(varied("f32", shape).values)
        same(result, "ToScalar", f"of_{'x'.join(map(str, shape)) or 'scalar'}", Tensor("f32", shape, values))
    same(result, "ToScalar", "nan", Tensor("f32", (3,), [float("nan")] * 3), tags=["special"])
    same(result, "ToScalar", "negative_zero", Tensor("f32", (3,), [-0.0] * 3), tags=["special"])
    wrong(result)
    return result


def wrong(suite):
    for name, values, place in [("different", [1.0, 1.0, 2.0], 2), ("zeros", [0.0, -0.0, 0.0], 1)]:
        suite.error(f"ToScalar_{name}", "tandem.ToScalar", [vector("f32", values)],
                    f"elements of x must be equal, bit for bit, got x: f32[3], whose element {place} differs from the "
                    "first")
    suite.error("ToScalar_empty", "tandem.ToScalar", [vector("f32", [])],
                "x must have at least one element, got x: f32[0]")
    for op, types in [("ToDense", "dense, scalar or sparse"), ("ToScalar", "dense or scalar"),
                      ("ToSparseCoo", "dense, scalar or sparse")]:
        suite.error(f"{op}_string", f"tandem.{op}", [vector("string", ["a"])],
                    f"x must be {types} on the host, got x: string[1] as string_host")
    for op in ("ToDense", "ToScalar", "ToSparseCoo"):
        common_errors(suite, f"tandem.{op}", [varied("f32", (2,))], ["x"], DTYPES, required="one of T")
