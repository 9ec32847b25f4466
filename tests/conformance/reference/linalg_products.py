# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Products of matrices, exact and rounded once."""

import math

import numpy

from case_suite import Tensor, from_array
from number_formats import INTS, Fraction, convert, round_to


def sum_of_products(dtype, xs, ys):
    if dtype == "c64":
        re = sum(Fraction(x.real) * Fraction(y.real) - Fraction(x.imag) * Fraction(y.imag) for x, y in zip(xs, ys))
        im = sum(Fraction(x.real) * Fraction(y.imag) + Fraction(x.imag) * Fraction(y.real) for x, y in zip(xs, ys))
        return complex(round_to("f32", re), round_to("f32", im))
    if dtype in INTS:
        return convert(dtype, sum(x * y for x, y in zip(xs, ys)))
    if all(map(math.isfinite, xs)) and all(map(math.isfinite, ys)):
        return round_to(dtype, sum((Fraction(x) * Fraction(y) for x, y in zip(xs, ys)), Fraction(0)))
    return sum((x * y for x, y in zip(xs, ys)), 0.0)


def matmul(a, b, transpose_a=False, transpose_b=False):
    rows = a.array().T if transpose_a else a.array()
    columns = b.array() if transpose_b else b.array().T
    values = [sum_of_products(a.dtype, row.tolist(), column.tolist()) for row in rows for column in columns]
    return Tensor(a.dtype, (rows.shape[0], columns.shape[0]), values)


def batch_matmul(x, y, adj_x=False, adj_y=False):
    def adjoint(array, dtype):
        array = numpy.swapaxes(array, -1, -2)
        return numpy.frompyfunc(lambda v: v.conjugate(), 1, 1)(array) if dtype == "c64" and array.size else array

    left = adjoint(x.array(), x.dtype) if adj_x else x.array()
    right = adjoint(y.array(), y.dtype) if adj_y else y.array()
    batch = numpy.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = numpy.broadcast_to(left, batch + left.shape[-2:])
    right = numpy.broadcast_to(right, batch + right.shape[-2:])
    result = numpy.empty(batch + (left.shape[-2], right.shape[-1]), dtype=object)
    for at in numpy.ndindex(result.shape):
        row, column = left[at[:-2] + (at[-2],)], right[at[:-2] + (slice(None), at[-1])]
        result[at] = sum_of_products(x.dtype, row.tolist(), column.tolist())
    return from_array(x.dtype, result)
