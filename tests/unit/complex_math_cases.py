#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Writes complex_math_cases.h: arguments and results of complex functions, computed by mpmath with 2,000 bits.

usage: complex_math_cases.py >complex_math_cases.h
Needs mpmath. All parts are f32 numbers; results are rounded once, to the nearest. Arguments for which that is nearer
than 0.02 ULP to a tie, or overflows, are left out, and so are those for which complex_math.h promises less.
"""

import math
import random
import struct

import mpmath
from mpmath import mp, mpc, mpf

CASES = 48
PI = math.pi
# Stands for 0, so that there are two of them.
ZERO = mpf(2) ** -700

FUNCTIONS = {
    "Sqrt": mpmath.sqrt, "Rsqrt": lambda z: 1 / mpmath.sqrt(z), "Exp": mpmath.exp,
    "Expm1": lambda z: mpmath.exp(z) - 1, "Log": mpmath.log, "Log1p": lambda z: mpmath.log(1 + z), "Sin": mpmath.sin,
    "Cos": mpmath.cos, "Tan": mpmath.tan, "Asin": mpmath.asin, "Acos": mpmath.acos, "Atan": mpmath.atan,
    "Sinh": mpmath.sinh, "Cosh": mpmath.cosh, "Tanh": mpmath.tanh, "Asinh": mpmath.asinh, "Acosh": mpmath.acosh,
    "Atanh": mpmath.atanh, "Sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
}


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def scaled(low, high):
    """A number of either sign, of which the exponent is drawn evenly."""
    return random.choice((-1, 1)) * math.ldexp(random.uniform(1, 2), random.randint(low, high))


def small_or_zero():
    return random.choice((scaled(-149, -1), scaled(-30, -5), 0.0, -0.0))


def near(x, y):
    """A point near (x, y), in any of its mirror images."""
    return random.choice((-1, 1)) * (x + small_or_zero()), random.choice((-1, 1)) * (y + small_or_zero())


def circle():
    """A point near the unit circle: its logarithm, arc tangents and the like cancel."""
    angle = random.uniform(0, 2 * PI)
    size = 1 + scaled(-40, -2)
    return size * math.cos(angle), size * math.sin(angle)


def turned(z):
    return z[1], z[0]


def exponential(limit):
    """The real part is what overflows."""
    turn = random.choice((random.uniform(-10, 10), scaled(-149, 127), PI / 2 * random.randint(-1000, 1000)))
    return random.choice((random.uniform(-limit, limit), scaled(-149, 2), small_or_zero())), turn


def zero_of_expm1():
    """A point that e^z - 1 is small beside; not all of that is to cancel."""
    angle = random.uniform(-1, 1) * 2.0 ** random.randint(-20, 0)
    return -math.log(math.cos(angle)) * (1 + scaled(-10, -1)), angle


def argument(name):
    anywhere = random.choice(((scaled(-149, 127), scaled(-149, 127)), (scaled(-8, 8), scaled(-8, 8)),
                              (random.uniform(-3, 3), random.uniform(-3, 3)), (scaled(-3, 30), small_or_zero()),
                              (small_or_zero(), scaled(-3, 30))))
    if name in ("Exp", "Sinh", "Cosh"):
        return exponential(88)
    if name in ("Sin", "Cos"):
        return turned(exponential(88))
    if name == "Expm1":
        return random.choice((exponential(88), zero_of_expm1(), (scaled(-149, -1), scaled(-149, -1))))
    if name == "Sigmoid":
        return random.choice((exponential(100), near(0, PI), near(0, 0)))
    if name == "Tanh":
        return random.choice((exponential(50), near(0, PI / 2), near(0, 0)))
    if name == "Tan":
        return turned(argument("Tanh"))
    if name == "Log":
        return random.choice((anywhere, circle(), near(1, 0), near(0, 1)))
    if name == "Log1p":
        x, y = circle()
        return random.choice((anywhere, (x - 1, y), near(0, 0), (-1.0, small_or_zero()),
                              (-0.5 * y * y * (1 + scaled(-30, -5)), y)))
    if name in ("Sqrt", "Rsqrt"):
        return anywhere
    return random.choice((anywhere, circle(), near(1, 0), near(0, 1), near(0, 0)))  # inverse functions


def arguments_of_pow():
    if random.random() < 0.5:
        return circle() + random.choice(((scaled(-3, 10), scaled(-3, 10)), (float(random.randint(-9, 9)), 0.0)))
    return scaled(-8, 8), scaled(-8, 8), scaled(-5, 3), random.choice((scaled(-5, 3), 0.0))


def exact(x):
    return mpf(x) if x != 0 else math.copysign(1, x) * ZERO


def rounded(value):
    """The nearest f32; None if that is nearly a tie, or overflows."""
    if abs(value) < mpf(2) ** -200:
        return math.copysign(0.0, value)
    ulp = mpf(2) ** max(int(mpmath.floor(mpmath.log(abs(value), 2))) - 23, -149)
    result = mpmath.nint(value / ulp)
    if abs(value / ulp - result) > 0.48 or abs(result * ulp) >= mpf(2) ** 128:
        return None
    return math.copysign(float(result * ulp), value)


def is_promised(name, args, result):
    re, im = abs(result.real), abs(result.imag)
    if name == "Pow":
        return min(re, im) > mpf(2) ** -20 * max(re, im)
    if name == "Expm1":
        return re > mpf(2) ** -20 * abs(mpmath.expm1(args[0]))
    if name == "Sigmoid":
        power, cosine = mpmath.exp(-abs(args[0])), mpmath.cos(args[1])
        return args[0] > 0 or abs(power + cosine) > mpf(2) ** -20 * min(power, 1 + cosine)
    if name == "Log1p" and rounded(result.real) == 0:
        return False  # of either sign
    return not (name in ("Log", "Log1p", "Atan", "Atanh") and max(re, im) > 200)  # a pole


def results(name, args):
    """The parts of the result as f32 numbers, or None if the case is left out."""
    z = mpc(exact(args[0]), exact(args[1]))
    value = FUNCTIONS[name](z) if name != "Pow" else mpmath.exp(mpc(args[2], args[3]) * mpmath.log(z))
    parts = rounded(value.real), rounded(value.imag)
    return None if None in parts or not is_promised(name, args, value) else parts


def rows(name):
    found = []
    while len(found) < CASES:
        args = tuple(f32(x) for x in (arguments_of_pow() if name == "Pow" else argument(name)))
        parts = results(name, args)
        if parts is not None:
            found.append((args, parts))
    return found


def text(x):
    return x.hex().replace("0000000p", "p")


def main():
    mp.prec = 2000
    random.seed(20261124)
    print("""// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Generated by complex_math_cases.py. Not to be edited.

#ifndef TANDEM_TESTS_UNIT_COMPLEX_MATH_CASES_H_
#define TANDEM_TESTS_UNIT_COMPLEX_MATH_CASES_H_

#include "simd/complex_math.h"

namespace tandem::cpu::complex_math {

struct ComplexCase {
  const char* name;
  Complex128 (*fn)(const ScalarMath&, Complex128);
  double x[2];
  float result[2];
};
struct ComplexPowCase {
  double x[2];
  double y[2];
  float result[2];
};

// clang-format off
inline constexpr ComplexCase kComplexCases[] = {""")
    for name in FUNCTIONS:
        for args, parts in rows(name):
            x, y, re, im = (text(number) for number in args + parts)
            print(f'    {{"{name}", &{name}, {{{x}, {y}}}, {{{re}, {im}}}}},')
    print("};\n\ninline constexpr ComplexPowCase kComplexPowCases[] = {")
    for args, parts in rows("Pow"):
        a, b, c, d, re, im = (text(number) for number in args + parts)
        print(f"    {{{{{a}, {b}}}, {{{c}, {d}}}, {{{re}, {im}}}}},")
    print("""};
// clang-format on

}  // namespace tandem::cpu::complex_math

#endif  // TANDEM_TESTS_UNIT_COMPLEX_MATH_CASES_H_""")


if __name__ == "__main__":
    main()
