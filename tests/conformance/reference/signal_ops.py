# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of discrete Fourier transforms, in f64."""

import math

import numpy

from case_suite import Suite, common_errors, from_array, scalar, varied, vector
from number_formats import round_complex, round_to

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 17, 18, 20, 21, 24, 29, 30, 31, 32, 36, 37, 41, 49, 60, 64, 67, 74,
           97, 101, 105, 120, 121, 125, 128]


def numbers(tensor, kind):
    return numpy.array(tensor.values, dtype=kind).reshape(tensor.shape)


def rounded(dtype, array):
    turn = (lambda v: round_complex(complex(v))) if dtype == "c64" else (lambda v: round_to("f32", float(v)))
    flat = numpy.empty(array.size, dtype=object)
    flat[:] = [turn(value) for value in array.reshape(-1)]
    return from_array(dtype, flat.reshape(array.shape))


def tolerance(x):
    """What numbers that cancel out may leave."""
    return math.ldexp(max([abs(value) for value in x.values], default=1) * max(1, x.shape[-1]), -40)


def complex_cases(suite, op):
    function = numpy.fft.fft if op == "FFT" else numpy.fft.ifft

    def call(name, x, tags=()):
        y = function(numbers(x, complex)) if 0 not in x.shape else numpy.empty(x.shape, dtype=complex)
        suite.case(f"{op}_{name}", f"tf.{op}", [x], rounded("c64", y), ulp=1, abs_tolerance=tolerance(x),
                   tags=list(tags) + (["empty"] if 0 in x.shape else []))

    for n in LENGTHS:
        call(f"length{n}", varied("c64", (n,), n))
    for number, shape in enumerate([(2, 3), (2, 1, 4), (1, 2, 2, 5), (2, 1, 2, 1, 6), (1, 2, 1, 2, 1, 3), (0,), (0, 4), (3, 0)]):
        call(f"shape{number}", varied("c64", shape, 2))
    for n in (211, 240, 256, 343, 509):
        call(f"large{n}", varied("c64", (n,), 3), ["large"])
    call("inplace", varied("c64", (3, 8), 4), ["inplace"])
    call("impulse", vector("c64", [1j] + [0j] * 10))
    suite.error(f"{op}_scalar", f"tf.{op}", [scalar("c64", 1j)], "input must have at least one dimension, got input: c64[]")
    common_errors(suite, f"tf.{op}", [varied("c64", (2, 3))], ["input"], ["c64"], required="one of Tcomplex", is_set=True)


def forward(x, n):
    return numpy.fft.rfft(numbers(x, float), n)


def backward(x, n):
    return numpy.fft.irfft(numbers(x, complex), n)


def real_cases(suite, op):
    source, result = ("f32", "c64") if op == "RFFT" else ("c64", "f32")
    function = forward if op == "RFFT" else backward

    def call(name, x, n, tags=()):
        length = n if op == "IRFFT" else n // 2 + 1 if n else 0
        shape = (*x.shape[:-1], length)
        y = numpy.zeros(shape, dtype=complex if result == "c64" else float)
        if 0 not in shape and 0 not in x.shape:
            y = function(x, n)
        suite.case(f"{op}_{name}", f"tf.{op}", [x, vector("i32", [n])], rounded(result, y), ulp=1,
                   abs_tolerance=tolerance(x), tags=list(tags) + (["empty"] if 0 in shape or 0 in x.shape else []))

    def width(n):
        return n if op == "RFFT" else n // 2 + 1

    for n in LENGTHS:
        call(f"length{n}", varied(source, (width(n),), n), n)
    for n in (5, 8, 37):
        call(f"cropped{n}", varied(source, (2, width(n) + 3), n), n)
        call(f"padded{n}", varied(source, (2, max(1, width(n) - 2)), n), n)
    for number, (shape, n) in enumerate([((2, 3), 3), ((2, 1, 4), 6), ((1, 2, 2, 5), 8), ((2, 1, 2, 1, 6), 5), ((0, 4), 4),
                                         ((3, 0), 4), ((2, 3), 0), ((0,), 3)]):
        call(f"shape{number}", varied(source, shape, 2), n)
    for n in (211, 240, 256, 422):
        call(f"large{n}", varied(source, (width(n),), 3), n, ["large"])
    x = varied(source, (2, 3))

    def wrong(name, inputs, text):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text)

    wrong("scalar", [varied(source, ()), vector("i32", [4])], f"input must have at least one dimension, got input: {source}[]")
    for number, length in enumerate([scalar("i32", 4), vector("i32", [4, 4]), vector("i32", [])]):
        wrong(f"length_shape{number}", [x, length], f"fft_length must have shape [1], got fft_length: {length}")
    wrong("negative", [x, vector("i32", [-1])], "fft_length must be at least 0, got fft_length: [-1]")
    wrong("length_i64", [x, vector("i64", [4])], "argument 1 (fft_length) must be i32, got i64[1]")
    common_errors(suite, f"tf.{op}", [x, vector("i32", [4])], ["input"], [source], required="one of Treal, Tcomplex",
                  is_set=True)


def suite():
    result = Suite()
    complex_cases(result, "FFT")
    complex_cases(result, "IFFT")
    real_cases(result, "RFFT")
    real_cases(result, "IRFFT")
    return result
