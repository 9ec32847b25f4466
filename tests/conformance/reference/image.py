# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops that resize images."""

import math

import numpy

from case_suite import Suite, Tensor, common_errors, drawn, from_array, varied, vector
from number_formats import FLOATS, Fraction, round_to

# In the order of DType.
DTYPES = ["u8", "i8", "u16", "i16", "i32", "i64"] + FLOATS
F32 = numpy.float32
MODES = [{}, {"align_corners": True}, {"half_pixel_centers": True}]


def mode_name(attrs):
    return next(iter(attrs), "plain").replace("_", "")


def scale(size, new_size, align):
    if align and new_size > 1:
        return F32(size - 1) / F32(new_size - 1)
    return F32(size) / F32(new_size)


def places(size, new_size, align_corners=False, half_pixel_centers=False):
    """Where the rows of the result are for ResizeBilinear, in f32."""
    factor = scale(size, new_size, align_corners)
    half = F32(0.5 if half_pixel_centers else 0)
    return [(F32(i) + half) * factor - half for i in range(new_size)]


def nearest(size, new_size, align_corners=False, half_pixel_centers=False):
    factor = scale(size, new_size, align_corners)
    half = F32(0.5 if half_pixel_centers else 0)
    found = [(F32(i) + half) * factor for i in range(new_size)]
    rounded = [math.floor(Fraction(float(p)) + Fraction(1, 2)) if align_corners else math.floor(p) for p in found]
    return [min(max(p, 0), size - 1) for p in rounded]


def lerp(lower, upper, weight):
    """Exact for numbers; f32 arithmetic's outcome if one of them is none."""
    if all(math.isfinite(v) for v in (lower, upper)):
        return Fraction(lower) + (Fraction(upper) - Fraction(lower)) * Fraction(weight)
    with numpy.errstate(invalid="ignore"):
        return float(F32(lower) + (F32(upper) - F32(lower)) * F32(weight))


def bilinear(images, size, attrs):
    batch, height, width, channels = images.shape
    x = images.array()
    y = numpy.empty((batch, size[0], size[1], channels), dtype=object)

    def taps(old, new):
        for place in places(old, new, **attrs):
            lower = math.floor(place)
            yield max(lower, 0), min(math.ceil(place), old - 1), float(place - F32(lower))

    for i, (top, bottom, y_weight) in enumerate(taps(height, size[0])):
        for j, (left, right, x_weight) in enumerate(taps(width, size[1])):
            for index in numpy.ndindex(batch, channels):
                n, c = index
                corner = [round_to("f32", x[n, r, s, c]) for r in (top, bottom) for s in (left, right)]
                upper, lower = lerp(corner[0], corner[1], x_weight), lerp(corner[2], corner[3], x_weight)
                y[n, i, j, c] = round_to("f32", lerp(upper, lower, y_weight))
    return from_array("f32", y)


def neighbours(images, size, attrs):
    rows, columns = nearest(images.shape[1], size[0], **attrs), nearest(images.shape[2], size[1], **attrs)
    return from_array(images.dtype, images.array()[:, rows][:, :, columns])


OPS = {"ResizeBilinear": bilinear, "ResizeNearestNeighbor": neighbours}


def resize_cases(suite, op):
    def call(name, images, size, attrs=None, tags=(), precision=-19):
        y = OPS[op](images, size, attrs or {})
        is_bilinear = op == "ResizeBilinear"
        empty = ["empty"] if 0 in images.shape else []
        # Differences of elements are rounded relative to these, which may be far larger than what is left.
        largest = max([abs(v) for v in images.values if math.isfinite(v)], default=0)
        tolerance = math.ldexp(1.0, precision) * max(largest, 1) / 8 if is_bilinear else 0
        suite.case(f"{op}_{name}", f"tf.{op}", [images, vector("i32", size)], y, attrs, tags=list(tags) + empty,
                   ulp=4 if is_bilinear else 0, abs_tolerance=tolerance)

    for dtype in DTYPES:
        for channels in (1, 3, 5, 19):
            call(f"{dtype}_channels{channels}", varied(dtype, (1, 2, 3, channels), channels), [3, 4])
    for attrs in MODES:
        for height, width, size in [(3, 4, [6, 8]), (6, 8, [3, 4]), (3, 5, [7, 2]), (4, 4, [4, 4]), (5, 3, [1, 1]),
                                    (1, 1, [3, 2]), (7, 6, [3, 5]), (2, 2, [5, 7]), (3, 3, [2, 2])]:
            name = f"{mode_name(attrs)}_{height}x{width}_to_{size[0]}x{size[1]}"
            call(name, varied("f32", (1, height, width, 2), height), size, attrs)
        call(f"{mode_name(attrs)}_many_channels", varied("f32", (2, 3, 2, 33), 9), [4, 5], attrs)
        call(f"{mode_name(attrs)}_thirds", drawn("f32", (1, 7, 7, 1), 3, -1, 1), [10, 3], attrs)
        call(f"{mode_name(attrs)}_factor_7", varied("u8", (1, 3, 3, 1), 4), [21, 20], attrs)
    for falses in ("align_corners", "half_pixel_centers"):
        call(f"{falses}_false", varied("f32", (1, 2, 2, 1), 5), [3, 3], {falses: False})
    call("batch", varied("f32", (5, 2, 2, 3), 6), [3, 3])
    call("four_channels", varied("f32", (2, 3, 2, 4), 6), [2, 5])
    call("no_images", varied("f32", (0, 2, 2, 3)), [3, 3])
    call("no_channels", varied("f32", (2, 2, 2, 0)), [3, 3])
    call("inplace", varied("f32", (1, 4, 4, 3), 7), [4, 4], tags=["inplace"])
    call("wide", drawn("f32", (1, 2, 60, 1), 8, 0, 255), [2, 2100 if op == "ResizeNearestNeighbor" else 700],
         tags=["large"])
    call("wide_pixels", varied("u8", (1, 2, 300, 8), 8), [1, 300], tags=["large"])
    call("large", varied("u8", (2, 40, 30, 3), 9), [33, 29], {"half_pixel_centers": True}, tags=["large"])
    special = [math.inf, 1.0, math.nan, -math.inf, -0.0, 2.0, 0.5, -1.0, math.inf, math.inf, 3.0, 4.0]
    for dtype in FLOATS:
        call(f"{dtype}_special", Tensor(dtype, (1, 3, 4, 1), special), [3, 4])
        call(f"{dtype}_special_larger", Tensor(dtype, (1, 3, 4, 1), special), [5, 7], {"half_pixel_centers": True})
    resize_errors(suite, op)


def resize_errors(suite, op):
    images, size = varied("f32", (1, 2, 3, 1)), vector("i32", [2, 2])

    def wrong(name, text, images=images, size=size, attrs=None):
        suite.error(f"{op}_{name}", f"tf.{op}", [images, size], text, attrs)

    for shape in [(), (4,), (2, 3), (2, 3, 1), (1, 2, 3, 1, 1)]:
        x = varied("f32", shape)
        wrong(f"rank{len(shape)}", f"images must have four dimensions, got images: {x}", x)
    for name, shape in [("no_rows", (1, 0, 3, 1)), ("no_columns", (1, 3, 0, 1)), ("nothing", (0, 0, 0, 0))]:
        x = varied("f32", shape)
        wrong(name, f"images must have at least one row and one column, got images: {x}", x)
    for name, bad in [("size_short", vector("i32", [2])), ("size_long", vector("i32", [2, 2, 2])),
                      ("size_matrix", Tensor("i32", (1, 2), [2, 2])), ("size_scalar", Tensor("i32", (), [2])),
                      ("size_empty", vector("i32", []))]:
        wrong(name, f"size must be a vector of a height and a width, got size: {bad}", size=bad)
    for height, width in [(0, 2), (2, 0), (-1, 2), (2, -2147483648)]:
        name = f"size_{height}_{width}".replace("-", "m")
        wrong(name, f"size must have a height and a width of at least 1, got [{height},{width}]",
              size=vector("i32", [height, width]))
    wrong("size_i64", "argument 1 (size) must be i32, got i64[2]", size=vector("i64", [2, 2]))
    wrong("both_modes", "align_corners and half_pixel_centers must not both be true",
          attrs={"align_corners": True, "half_pixel_centers": True})
    wrong("mode_int", "attribute align_corners must be bool, got i64", attrs={"align_corners": 1})
    common_errors(suite, f"tf.{op}", [images, size], ["images"], DTYPES,
                  required="one of T, align_corners, half_pixel_centers")


def suite():
    result = Suite()
    for op in OPS:
        resize_cases(result, op)
    return result
