# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the random ops, whose numbers follow from the generator's definition.

Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

import decimal
import math

import elementary
from case_suite import Suite, Tensor, common_errors, scalar, vector
from number_formats import FLOATS, REALS, int_range, round_to

Decimal = decimal.Decimal
MASK32 = 0xFFFFFFFF


def philox(counter, key):
    """The four words of a counter (four words, lowest first) under a key (two words)."""
    counter, key = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [b >> 32 ^ counter[1] ^ key[0], b & MASK32, a >> 32 ^ counter[3] ^ key[1], a & MASK32]
        key = [(key[0] + 0x9E3779B9) & MASK32, (key[1] + 0xBB67AE85) & MASK32]
    return counter


# Known answers of the generator's authors (Random123, kat_vectors).
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([MASK32] * 4, [MASK32] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def words(seed, count):
    """The first words of the stream of a seed, a pair of signed 64-bit integers."""
    halves = [part >> shift & MASK32 for part in seed for shift in (0, 32)]
    mixed = philox(halves, [0x3EC8F720, 0x02461E29])
    result = []
    for block in range((count + 3) // 4):
        result += philox([block & MASK32, block >> 32, mixed[2], mixed[3]], mixed[:2])
    return result[:count]


def uniform(seed, count, dtype):
    if dtype == "f64":
        drawn = words(seed, 2 * count)
        return [((high & 0xFFFFF) << 32 | low) * 2.0**-52 for high, low in zip(drawn[0::2], drawn[1::2])]
    bits = {"f32": 23, "f16": 10, "bf16": 7}[dtype]
    return [(word & ((1 << bits) - 1)) * 2.0**-bits for word in words(seed, count)]


def normal(seed, count, dtype):
    source = "f64" if dtype == "f64" else "f32"
    even = count + count % 2
    numbers = uniform(seed, even, source)
    result = []
    with decimal.localcontext(decimal.Context(prec=50)):
        for u, v in zip(numbers[0::2], numbers[1::2]):
            radius = (-2 * Decimal(elementary.log(max(u, round_to(source, 1e-7))))).sqrt()
            sin, cos = elementary.sin_cos_of_turns(v)
            result += [radius * sin, radius * cos]
    return [round_to(dtype, round_to(source, number)) for number in result[:count]]


def cases(suite, op, function):
    def call(name, shape, seed, dtype=None, shape_dtype="i32", seed_dtype="i64", tags=()):
        out = dtype or "f32"
        count = math.prod(shape)
        y = Tensor(out, shape, function(seed, count, out))
        tolerance = {}
        if op.endswith("Normal"):
            ulp = 1 if out in ("f16", "bf16") else 4
            tolerance = {"ulp": ulp, "abs_tolerance": 2.0**-50 if out == "f64" else 2.0**-21}
        suite.case(f"{op}_{name}", f"tf.{op}", [vector(shape_dtype, list(shape)), vector(seed_dtype, list(seed))], y,
                   dtype and {"dtype": dtype}, tags=list(tags) + (["empty"] if count == 0 else []), **tolerance)

    for dtype in FLOATS:
        for count in (1, 2, 3, 4, 5, 31):
            call(f"{dtype}_{count}", (count,), (1, 2), dtype)
        call(f"{dtype}_large", (300,), (17, -5), dtype, tags=["large"])
    call("default_dtype", (6,), (1, 2))
    for name, seed in [("zero", (0, 0)), ("one", (0, 1)), ("swapped", (1, 0)), ("negative", (-1, -2)),
                       ("large", (2**62 + 3, -(2**63))),
                       ("high_half", (2**32, 2**33))]:
        call(f"seed_{name}", (5,), seed)
    call("seed_i32", (5,), (7, -7), seed_dtype="i32")
    call("seed_i64_negative", (5,), (7, -7))
    for shape in [(), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2), (0,), (2, 0, 3)]:
        call(f"of_{'x'.join(map(str, shape)) or 'scalar'}", shape, (3, 4))
    call("shape_i64", (2, 3), (3, 4), shape_dtype="i64")
    seed = vector("i64", [1, 2])

    def wrong(name, shape, seed, text, attrs=None):
        suite.error(f"{op}_{name}", f"tf.{op}", [shape, seed], text, attrs)

    wrong("seed_of_three", vector("i32", [2]), vector("i64", [1, 2, 3]), "seed must have shape [2], got seed: i64[3]")
    wrong("seed_scalar", vector("i32", [2]), scalar("i64", 1), "seed must have shape [2], got seed: i64[]")
    wrong("negative_shape", vector("i32", [2, -3]), seed, "sizes must be at least 0, got shape: [2,-3]")
    wrong("scalar_shape", scalar("i32", 2), seed, "shape must be a vector, got shape: i32[]")
    wrong("rank9", vector("i32", [1] * 9), seed, "shape must have at most 8 elements, got shape: i32[9]")
    wrong("overflow", vector("i64", [2**40, 2**40]), seed,
          f"there must be at most 2^63-1 elements, got shape: [{2**40},{2**40}]")
    wrong("dtype_i32", vector("i32", [2]), seed, "attribute dtype must be one of {f16, bf16, f32, f64}, got i32",
          {"dtype": "i32"})
    wrong("seed_float", vector("i32", [2]), vector("f32", [1.0, 2.0]),
          "argument 1 (seed) must be one of {i32, i64}, got f32[2]")
    common_errors(suite, f"tf.{op}", [vector("i32", [2]), seed], ["shape"], ["i32", "i64"],
                  required="one of dtype, T, Tseed")


def integers(seed, count, dtype, low, high):
    if dtype == "i32":
        return [low + word % (high - low) for word in words(seed, count)]
    drawn = words(seed, 2 * count)
    return [low + (second << 32 | first) % (high - low) for first, second in zip(drawn[0::2], drawn[1::2])]


def integer_cases(suite):
    op = "StatelessRandomUniformInt"

    def call(name, shape, seed, dtype, low, high, shape_dtype="i32", seed_dtype="i64", tags=()):
        count = math.prod(shape)
        inputs = [vector(shape_dtype, list(shape)), vector(seed_dtype, list(seed)), scalar(dtype, low),
                  scalar(dtype, high)]
        suite.case(f"{op}_{name}", f"tf.{op}", inputs, Tensor(dtype, shape, integers(seed, count, dtype, low, high)),
                   tags=list(tags) + (["empty"] if count == 0 else []))

    for dtype in ("i32", "i64"):
        low, high = int_range(dtype)
        for count in (1, 2, 3, 4, 5, 31):
            call(f"{dtype}_{count}", (count,), (1, 2), dtype, 0, 10)
        call(f"{dtype}_large", (300,), (17, -5), dtype, -500, 12345, tags=["large"])
        for name, bounds in [("one", (7, 8)), ("negative", (-20, -10)), ("whole", (low, high)), ("upper", (0, high)),
                             ("lower", (low, 0)), ("last", (high - 1, high)), ("first", (low, low + 1))]:
            call(f"{dtype}_range_{name}", (6,), (3, 4), dtype, *bounds)
        for shape in [(), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 1, 3, 1, 2), (0,), (2, 0, 3)]:
            call(f"{dtype}_of_{'x'.join(map(str, shape)) or 'scalar'}", shape, (3, 4), dtype, -3, 4)
        for wide in ("i32", "i64"):
            call(f"{dtype}_shape_{wide}", (2, 3), (3, 4), dtype, 0, 9, shape_dtype=wide)
            call(f"{dtype}_seed_{wide}", (5,), (7, -7), dtype, 0, 9, seed_dtype=wide)
    shape, seed, low, high = vector("i32", [2]), vector("i64", [1, 2]), scalar("i32", 0), scalar("i32", 5)

    def wrong(name, inputs, text):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text)

    wrong("no_range", [shape, seed, high, high], "minval must be less than maxval, got minval: 5, maxval: 5")
    wrong("wrong_way", [shape, seed, high, low], "minval must be less than maxval, got minval: 5, maxval: 0")
    wrong("vector", [shape, seed, vector("i32", [0]), high],
          "minval and maxval must be scalars, got minval: i32[1], maxval: i32[]")
    wrong("mixed", [shape, seed, low, scalar("i64", 5)],
          "argument 3 (maxval) must be i32 like argument 2 (minval), got i64[]")
    wrong("float", [shape, seed, scalar("f32", 0.0), scalar("f32", 1.0)],
          "argument 2 (minval) must be one of {i32, i64}, got f32[]")
    wrong("seed_of_three", [shape, vector("i64", [1, 2, 3]), low, high], "seed must have shape [2], got seed: i64[3]")
    wrong("negative_shape", [vector("i32", [2, -3]), seed, low, high], "sizes must be at least 0, got shape: [2,-3]")
    common_errors(suite, f"tf.{op}", [shape, seed, low, high], ["shape"], ["i32", "i64"],
                  required="one of dtype, T, Tseed")


def classes(logits, samples, seed):
    """What tf.Multinomial draws: the first class at which the sum of exponentials is above the number drawn."""
    rows, width = logits.shape
    drawn = uniform(seed, rows * samples, "f64")
    result = []
    for row in range(rows):
        values = logits.values[row * width:(row + 1) * width]
        largest = max(value for value in values if math.isfinite(value))
        with decimal.localcontext(decimal.Context(prec=50)):
            terms = [(Decimal(value) - Decimal(largest)).exp() if math.isfinite(value) else Decimal(0) for value in values]
        sums = [sum(terms[:i + 1]) for i in range(width)]
        for number in drawn[row * samples:(row + 1) * samples]:
            target = Decimal(number) * sums[-1]
            assert min(abs(total - target) for total in sums if total > 0) > Decimal("1e-10")
            result.append(next(i for i, total in enumerate(sums) if total > target))
    return result


def multinomial_cases(suite, op):
    stateless = op == "StatelessMultinomial"

    def inputs_of(logits, samples, seed, seed_dtype="i64"):
        return [logits, scalar("i32", samples)] + ([vector(seed_dtype, list(seed))] if stateless else [])

    def call(name, logits, samples, seed=(1, 2), out=None, seed_dtype="i64", tags=()):
        attrs = {} if stateless or seed == (0, 0) else {"seed": seed[0], "seed2": seed[1]}
        if out:
            attrs["output_dtype"] = out
        y = Tensor(out or "i64", (logits.shape[0], samples), classes(logits, samples, seed))
        empty = ["empty"] if 0 in y.shape else []
        suite.case(f"{op}_{name}", f"tf.{op}", inputs_of(logits, samples, seed, seed_dtype), y, attrs,
                   tags=list(tags) + empty)

    for dtype in REALS:
        logits = Tensor(dtype, (2, 5), [i % 3 for i in range(10)])
        call(dtype, logits, 7)
        call(f"{dtype}_i32", logits, 7, out="i32")
    for seed in [(0, 0), (5, 0), (0, 5), (-1, -2), (2**62 + 3, -(2**63))]:
        call(f"seed_{seed[0]}_{seed[1]}", Tensor("f32", (1, 4), [0.5, 0.0, -1.0, 0.25]), 9, seed)
    if stateless:
        call("seed_i32", Tensor("f32", (1, 4), [0.5, 0.0, -1.0, 0.25]), 9, (7, -7), seed_dtype="i32")
    for dtype in ("f16", "f32", "f64"):
        special = [-math.inf, 1.0, math.nan, 1.5, math.inf, -math.inf, 1000.0, 1000.5, -1000.0, -math.inf]
        call(f"{dtype}_special", Tensor(dtype, (2, 5), special), 11)
    call("one_class", Tensor("f32", (2, 1), [3.0, -3.0]), 3)
    call("no_samples", Tensor("f32", (2, 3), [1.0] * 6), 0)
    call("no_rows", Tensor("f32", (0, 3), []), 4)
    call("large", Tensor("f32", (3, 40), [float(i % 7) / 2 for i in range(120)]), 70, tags=["large"])

    right = Tensor("f32", (2, 3), [1.0] * 6)

    def wrong(name, inputs, text, attrs=None):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text, attrs)

    wrong("vector", inputs_of(vector("f32", [1.0]), 2, (1, 2)), "logits must be a matrix, got logits: f32[1]")
    wrong("samples_negative", inputs_of(right, -1, (1, 2)), "num_samples must be at least 0, got num_samples: -1")
    wrong("no_classes", inputs_of(Tensor("f32", (2, 0), []), 2, (1, 2)),
          "there must be at least one class, got logits: f32[2,0]")
    wrong("no_finite", inputs_of(Tensor("f32", (2, 2), [1.0, 2.0, -math.inf, math.nan]), 2, (1, 2)),
          "each row of logits must have a finite number, got none in row 1")
    wrong("dtype", inputs_of(right, 2, (1, 2)), "attribute output_dtype must be one of {i32, i64}, got f32",
          {"output_dtype": "f32"})
    if stateless:
        wrong("seed_of_three", [right, scalar("i32", 2), vector("i64", [1, 2, 3])],
              "seed must have shape [2], got seed: i64[3]")
    common_errors(suite, f"tf.{op}", inputs_of(right, 2, (1, 2)), ["logits"], REALS,
                  required="one of T, Tseed, output_dtype" if stateless else "one of seed, seed2, T, output_dtype")


def suite():
    result = Suite()
    cases(result, "StatelessRandomUniform", uniform)
    cases(result, "StatelessRandomNormal", normal)
    integer_cases(result)
    multinomial_cases(result, "Multinomial")
    multinomial_cases(result, "StatelessMultinomial")
    return result
