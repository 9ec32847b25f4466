# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of crops, projections, suppression of boxes, and the gradients of resizing. Places are in f32, as the ops say."""

import math

import numpy

import image
from case_suite import Suite, Tensor, common_errors, drawn, from_array, scalar, varied, vector
from number_formats import FLOATS, INTS, Fraction, int_range, round_to, wrap

F32 = numpy.float32
CROP_DTYPES = image.DTYPES
TRANSFORM_DTYPES = ["u8", "i32", "i64"] + FLOATS


def as_f32(tensor):
    return numpy.array([round_to("f32", float(v) if isinstance(v, float) else Fraction(v)) for v in tensor.values],
                       dtype=F32).reshape(tensor.shape)


def half_away(value):
    if not math.isfinite(value):
        return value
    return F32(math.copysign(math.floor(abs(float(value)) + 0.5), value))


def crop_places(start, end, size, count):
    last = F32(size - 1)
    if count > 1:
        step = (F32(end) - F32(start)) * last / F32(count - 1)
        return [F32(start) * last + F32(i) * step for i in range(count)]
    return [F32(0.5) * (F32(start) + F32(end)) * last]


def crop_cases(suite):
    op = "CropAndResize"

    def call(name, x, boxes, which, size, attrs=None, tags=()):
        attrs = attrs or {}
        pixels, outside = as_f32(x), F32(attrs.get("extrapolation_value", 0.0))
        y = numpy.full((len(boxes), *size, x.shape[3]), outside, dtype=F32)
        with numpy.errstate(all="ignore"):
            for b, (box, n) in enumerate(zip(boxes, which)):
                for i, row in enumerate(crop_places(box[0], box[2], x.shape[1], size[0])):
                    for j, column in enumerate(crop_places(box[1], box[3], x.shape[2], size[1])):
                        if not (0 <= row <= x.shape[1] - 1 and 0 <= column <= x.shape[2] - 1):
                            continue
                        if attrs.get("method") == "nearest":
                            y[b, i, j] = pixels[n, int(half_away(row)), int(half_away(column))]
                            continue
                        top, left = F32(math.floor(row)), F32(math.floor(column))
                        bottom, right = math.ceil(row), math.ceil(column)
                        corners = [pixels[n, int(r), int(c)] for r in (top, bottom) for c in (left, right)]
                        upper = corners[0] + (corners[1] - corners[0]) * (column - left)
                        lower = corners[2] + (corners[3] - corners[2]) * (column - left)
                        y[b, i, j] = upper + (lower - upper) * (row - top)
        inputs = [x, Tensor("f32", (len(boxes), 4), [float(F32(v)) for box in boxes for v in box]), vector("i32", which),
                  vector("i32", size)]
        suite.case(f"{op}_{name}", f"tf.{op}", inputs, Tensor("f32", y.shape, [float(v) for v in y.reshape(-1)]), attrs,
                   tags=list(tags) + (["empty"] if 0 in y.shape else []))

    boxes = [(0.0, 0.0, 1.0, 1.0), (0.25, 0.5, 0.75, 1.0), (1.0, 0.0, 0.0, 1.0), (-0.5, 0.25, 0.5, 1.5), (0.3, 0.3, 0.3, 0.3)]
    for dtype in CROP_DTYPES:
        x = varied(dtype, (2, 4, 5, 3), 1) if dtype not in ("i32", "i64") else drawn(dtype, (2, 4, 5, 3), 1, -50, 50)
        for method in ("bilinear", "nearest"):
            call(f"{dtype}_{method}", x, boxes[:3], [0, 1, 1], [3, 2], {"method": method})
    x = varied("f32", (2, 5, 3, 2), 2)
    for number, size in enumerate([[1, 1], [4, 6], [1, 5], [7, 1], [5, 3]]):
        for method in ("bilinear", "nearest"):
            call(f"size{number}_{method}", x, boxes, [0, 1, 0, 1, 1], size, {"method": method, "extrapolation_value": 7.5})
    call("default", x, boxes, [1] * 5, [2, 2])
    call("pixel", varied("f32", (1, 1, 1, 1), 3), boxes, [0] * 5, [2, 3])
    call("no_boxes", x, [], [], [2, 2])
    call("no_channels", varied("f32", (1, 2, 2, 0)), boxes[:1], [0], [2, 2])
    call("nowhere", x, [(math.nan, 0.0, 1.0, 1.0), (math.inf, 0.0, 1.0, 1.0), (3.0, 3.0, 4.0, 4.0)], [0, 0, 0], [2, 2])
    call("large", drawn("f32", (2, 13, 17, 3), 4, -1, 1), boxes, [0, 1, 0, 1, 0], [9, 8], tags=["large"])
    one, which, size = Tensor("f32", (1, 4), [0.0, 0.0, 1.0, 1.0]), vector("i32", [0]), vector("i32", [2, 2])

    def wrong(name, inputs, text, attrs=None):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text, attrs)

    wrong("rank", [varied("f32", (2, 2, 1)), one, which, size], "image must have four dimensions, got image: f32[2,2,1]")
    wrong("no_rows", [varied("f32", (1, 0, 2, 1)), one, which, size],
          "image must have at least one row and one column, got image: f32[1,0,2,1]")
    wrong("boxes", [x, vector("f32", [0.0] * 4), which, size],
          "boxes must have shape [n,4] and box_ind [n], got boxes: f32[4], box_ind: i32[1]")
    wrong("beyond", [x, one, vector("i32", [2]), size], "box_ind must be in [0, 2), got 2 at element 0")
    wrong("size", [x, one, which, vector("i32", [2, 0])],
          "crop_size must have a height and a width of at least 1, got [2,0]")
    wrong("method", [x, one, which, size], "attribute method must be one of 'bilinear', 'nearest', got 'cubic'",
          {"method": "cubic"})
    common_errors(suite, f"tf.{op}", [x, one, which, size], ["image"], CROP_DTYPES,
                  required="one of T, method, extrapolation_value")


def map_place(mode, place, size):
    last = F32(size - 1)
    if mode == "CONSTANT" or place != place:
        return place
    if mode != "NEAREST" and not 0 <= place <= last:
        if size <= 1 or math.isinf(place):
            return F32(0)
        double = 2 * size
        if mode == "REFLECT" and place < 0:
            place = F32(double * int(-place / F32(double))) + place
            place = place + F32(double) if place < -size else -place - F32(1)
        elif mode == "REFLECT":
            place = place - F32(double * int(place / F32(double)))
            place = F32(double) - place - F32(1) if place >= size else place
        elif place < 0:
            place = place + (F32(size * int(-place / F32(size - 1))) + F32(size))
        else:
            place = place - F32(size * int(place / F32(size - 1)))
    return min(max(place, F32(0)), last)


def from_f32(dtype, value):
    if dtype in FLOATS:
        return round_to(dtype, float(value))
    low, high = int_range(dtype)
    return 0 if value != value else low if value <= low else high if value >= high else math.trunc(float(value))


def transform_cases(suite):
    op = "ImageProjectiveTransformV3"

    def call(name, x, transforms, size, interpolation, mode=None, fill=0.0, tags=()):
        batch, height, width, channels = x.shape
        numbers, pixels = x.array(), as_f32(x)
        y = numpy.empty((batch, *size, channels), dtype=object)

        def inside(row, column):
            return 0 <= row < height and 0 <= column < width

        with numpy.errstate(all="ignore"):
            for n, i, j in numpy.ndindex(batch, *size):
                t = [F32(v) for v in transforms[n if len(transforms) > 1 else 0]]
                divisor = t[6] * F32(j) + t[7] * F32(i) + F32(1)
                column = (t[0] * F32(j) + t[1] * F32(i) + t[2]) / divisor
                row = (t[3] * F32(j) + t[4] * F32(i) + t[5]) / divisor
                if divisor == 0:
                    y[n, i, j] = from_f32(x.dtype, F32(fill))
                    continue
                row = map_place(mode or "CONSTANT", row, height)
                column = map_place(mode or "CONSTANT", column, width)
                if interpolation == "NEAREST":
                    r, c = half_away(row), half_away(column)
                    y[n, i, j] = numbers[n, int(r), int(c)] if inside(r, c) else from_f32(x.dtype, F32(fill))
                    continue
                if row != row or column != column:
                    y[n, i, j] = from_f32(x.dtype, F32(fill))
                    continue
                top, left = numpy.floor(row), numpy.floor(column)
                values = [pixels[n, int(r), int(c)] if inside(r, c) else numpy.full(channels, F32(fill), dtype=F32)
                          for r in (top, top + F32(1)) for c in (left, left + F32(1))]
                upper = (left + F32(1) - column) * values[0] + (column - left) * values[1]
                lower = (left + F32(1) - column) * values[2] + (column - left) * values[3]
                result = (top + F32(1) - row) * upper + (row - top) * lower
                y[n, i, j] = [from_f32(x.dtype, v) for v in result]
        attrs = {"interpolation": interpolation, **({"fill_mode": mode} if mode else {})}
        inputs = [x, Tensor("f32", (len(transforms), 8), [float(F32(v)) for t in transforms for v in t]),
                  vector("i32", size), scalar("f32", fill)]
        suite.case(f"{op}_{name}", f"tf.{op}", inputs, from_array(x.dtype, y), attrs,
                   tags=list(tags) + (["empty"] if 0 in y.shape else []))

    turned = [0.5, -0.75, 1.5, 0.75, 0.5, -1.25, 0.0, 0.0]
    moved = [1.0, 0.0, 2.5, 0.0, 1.0, -1.5, 0.0, 0.0]
    tilted = [1.0, 0.25, -1.0, 0.125, 1.0, 0.5, 0.0625, -0.125]
    same = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    for dtype in TRANSFORM_DTYPES:
        x = varied(dtype, (2, 3, 4, 2), 1) if dtype != "i64" and dtype != "i32" else drawn(dtype, (2, 3, 4, 2), 1, -99, 99)
        for interpolation in ("NEAREST", "BILINEAR"):
            call(f"{dtype}_{interpolation.lower()}", x, [turned, moved], [3, 4], interpolation, fill=3.0)
    exact = Tensor("i64", (1, 1, 2, 1), [2**62 + 1, -(2**62) - 1])
    call("i64_exact", exact, [same], [1, 2], "NEAREST")
    x = varied("f32", (2, 4, 5, 1), 2)
    for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
        for interpolation in ("NEAREST", "BILINEAR"):
            for number, transform in enumerate([turned, moved, tilted, [3.0, 1.0, -9.0, -2.0, 3.0, 7.0, 0.0, 0.0]]):
                call(f"{mode.lower()}_{interpolation.lower()}_{number}", x, [transform], [6, 5], interpolation, mode, 1.5)
            call(f"{mode.lower()}_{interpolation.lower()}_pixel", varied("f32", (1, 1, 1, 1), 3), [moved], [3, 3],
                 interpolation, mode, -2.0)
            if mode == "CONSTANT":
                call(f"{interpolation.lower()}_nowhere", x,
                     [[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, -0.5, 0.0], [math.nan, 0.0, 0.0, 0.0, math.nan, 0.0, 0.0, 0.0]],
                     [2, 3], interpolation, mode, 4.0)
    call("no_images", varied("f32", (0, 2, 2, 1)), [same], [2, 2], "BILINEAR")
    call("large", varied("f32", (2, 13, 17, 3), 4), [tilted, turned], [15, 12], "BILINEAR", "REFLECT", tags=["large"])
    t, size, zero = Tensor("f32", (1, 8), same), vector("i32", [2, 2]), scalar("f32", 0.0)
    right = {"interpolation": "NEAREST"}

    def wrong(name, inputs, text, attrs=right):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text, attrs)

    wrong("rank", [varied("f32", (2, 2, 1)), t, size, zero], "images must have four dimensions, got images: f32[2,2,1]")
    bad = Tensor("f32", (3, 8), same * 3)
    wrong("transforms", [x, bad, size, zero], "transforms must have shape [1,8] or [batch,8], got images: f32[2,4,5,1], "
          "transforms: f32[3,8]")
    wrong("size", [x, t, vector("i32", [2]), zero], "output_shape must be a vector of a height and a width, got "
          "output_shape: i32[1]")
    wrong("fill", [x, t, size, vector("f32", [0.0])], "fill_value must be a scalar, got fill_value: f32[1]")
    wrong("interpolation", [x, t, size, zero], "attribute interpolation must be one of 'NEAREST', 'BILINEAR', got 'CUBIC'",
          {"interpolation": "CUBIC"})
    common_errors(suite, f"tf.{op}", [x, t, size, zero], ["images"], TRANSFORM_DTYPES, right,
                  "one of dtype, interpolation, fill_mode")


def overlap(a, b):
    """In f32."""
    tops = [(min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3])) for c in (a, b)]
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in tops]
    if min(areas) <= 0:
        return F32(0)
    height = max(min(tops[0][2], tops[1][2]) - max(tops[0][0], tops[1][0]), F32(0))
    width = max(min(tops[0][3], tops[1][3]) - max(tops[0][1], tops[1][1]), F32(0))
    both = height * width
    return both / (areas[0] + areas[1] - both)


def select(boxes, scores, limit, iou, threshold, sigma):
    left = [(F32(s), i, 0) for i, s in enumerate(scores) if s > threshold]
    chosen = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda candidate: (candidate[0], -candidate[1]))
        left.remove(best)
        score, box, seen = best
        lowered, dropped = score, False
        for other, _ in reversed(chosen[seen:]):
            common = overlap(boxes[box], boxes[other])
            if sigma > 0:
                lowered = lowered * F32(math.exp(F32(-0.5) / F32(sigma) * common * common))
                if lowered <= threshold:
                    break
            elif common > F32(iou):
                dropped = True
                break
        if dropped:
            continue
        if lowered == score:
            chosen.append((box, score))
        elif lowered > threshold:
            left.append((lowered, box, len(chosen)))
    return chosen


def suppression_cases(suite, version):
    op = f"NonMaxSuppression{version}"

    def call(name, boxes, scores, limit, iou, threshold, sigma=0.0, pad=None, dtype="f32", thresholds="f32", tags=()):
        boxes_of = Tensor(dtype, (len(boxes), 4), [round_to(dtype, v) for box in boxes for v in box])
        scores_of = vector(dtype, [round_to(dtype, s) for s in scores])
        kind = dtype if version == "V5" else thresholds
        limits = [round_to(kind, v) for v in (iou, threshold)]
        corners = [[F32(v) for v in boxes_of.values[4 * i:4 * i + 4]] for i in range(len(boxes))]
        chosen = select(corners, scores_of.values, limit, *limits, round_to(kind, sigma))
        padding = [0] * (limit - len(chosen) if pad and version != "V3" else 0)
        outputs = [vector("i32", [box for box, _ in chosen] + padding)]
        if version == "V5":
            outputs.append(vector(dtype, [round_to(dtype, float(s)) for _, s in chosen] + [0.0] * len(padding)))
        if version != "V3":
            outputs.append(scalar("i32", len(chosen)))
        inputs = [boxes_of, scores_of, scalar("i32", limit)] + [scalar(kind, v) for v in limits]
        if version == "V5":
            inputs.append(scalar(kind, round_to(kind, sigma)))
        suite.case(f"{op}_{name}", f"tf.{op}", inputs, outputs,
                   None if pad is None or version == "V3" else {"pad_to_max_output_size": pad}, ulp=1 if sigma else 0,
                   tags=list(tags))

    boxes = [(0.0, 0.0, 1.0, 1.0), (0.0, 0.1, 1.0, 1.1), (0.0, -0.1, 1.0, 0.9), (0.0, 10.0, 1.0, 11.0), (1.0, 11.1, 0.0, 10.1),
             (0.0, 100.0, 1.0, 101.0), (0.5, 0.5, 0.5, 2.0)]
    scores = [0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.2]
    for dtype in ("f16", "f32"):
        for thresholds in ("f16", "f32") if version != "V5" else [dtype]:
            for limit in (0, 2, 3, 30):
                call(f"{dtype}_{thresholds}_{limit}", boxes, scores, limit, 0.5, 0.0, dtype=dtype, thresholds=thresholds)
    for pad in (False, True):
        call(f"pad_{pad}", boxes, scores, 5, 0.5, 0.4, pad=pad)
    call("threshold", boxes, scores, 10, 0.5, 0.5)
    call("touching", boxes, scores, 10, 0.0, -1.0)
    call("all", boxes, scores, 10, 1.0, -math.inf)
    call("equal_scores", boxes, [0.5] * 7, 10, 0.5, 0.0)
    call("nan", boxes, [math.nan, 0.5, 0.7, math.nan, 0.1, math.inf, -math.inf], 10, 0.5, 0.0)
    call("none", [], [], 3, 0.5, 0.0, pad=True)
    many = [(i % 10 / 2, i % 7 / 2, i % 10 / 2 + 1, i % 7 / 2 + 1) for i in range(70)]
    call("large", many, [(i * 37 % 71) / 71 for i in range(70)], 50, 0.3, 0.1, tags=["large"])
    if version == "V5":
        for sigma in (0.25, 0.5, 1.0):
            call(f"soft_{sigma}", boxes, scores, 6, 0.5, 0.0, sigma)
            call(f"soft_threshold_{sigma}", boxes, scores, 6, 0.5, 0.35, sigma, pad=True)
            call(f"soft_large_{sigma}", many, [(i * 37 % 71) / 71 for i in range(70)], 50, 0.3, 0.1, sigma, tags=["large"])
    b, s, n = Tensor("f32", (2, 4), [0.0] * 8), vector("f32", [0.5, 0.75]), scalar("i32", 2)
    rest = [scalar("f32", 0.5), scalar("f32", 0.0)] + ([scalar("f32", 0.0)] if version == "V5" else [])

    def wrong(name, inputs, text):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text)

    shapes = "boxes must have shape [n,4] and scores [n], got boxes: "
    wrong("boxes", [Tensor("f32", (2, 3), [0.0] * 6), s, n, *rest], shapes + "f32[2,3], scores: f32[2]")
    wrong("scores", [b, vector("f32", [0.5]), n, *rest], shapes + "f32[2,4], scores: f32[1]")
    wrong("limit", [b, s, scalar("i32", -1), *rest], "max_output_size must be at least 0, got max_output_size: -1")
    wrong("iou", [b, s, n, scalar("f32", 1.5), *rest[1:]], "iou_threshold must be in [0, 1], got 1.5")
    wrong("iou_vector", [b, s, n, vector("f32", [0.5]), *rest[1:]], "iou_threshold must be a scalar, got iou_threshold: f32[1]")
    if version == "V5":
        wrong("sigma", [b, s, n, *rest[:2], scalar("f32", -0.5)], "soft_nms_sigma must be at least 0, got -0.5")
    required = {"V3": "one of T, T_threshold", "V4": "one of T, T_threshold, pad_to_max_output_size",
                "V5": "one of T, pad_to_max_output_size"}[version]
    common_errors(suite, f"tf.{op}", [b, s, n, *rest], ["boxes"], ["f16", "f32"], required=required)


def gradient_cases(suite, op):
    is_bilinear = op == "ResizeBilinearGrad"
    dtypes = FLOATS if is_bilinear else ["u8", "i8", "i32"] + FLOATS

    def taps(old, new, attrs):
        for place in image.places(old, new, **attrs):
            lower = math.floor(place)
            yield max(lower, 0), min(math.ceil(place), old - 1), Fraction(float(place - F32(lower)))

    def call(name, dtype, grads, size, attrs=None, tags=()):
        attrs = attrs or {}
        batch, rows, columns, channels = grads.shape
        sums = numpy.full((batch, *size, channels), Fraction(0), dtype=object)
        values = numpy.vectorize(Fraction, otypes=[object])(grads.array()) if grads.values else grads.array()
        if is_bilinear:
            ys, xs = list(taps(size[0], rows, attrs)), list(taps(size[1], columns, attrs))
            for i, (top, bottom, y) in enumerate(ys):
                for j, (left, right, x) in enumerate(xs):
                    for row, column, weight in [(top, left, (1 - y) * (1 - x)), (top, right, (1 - y) * x),
                                                (bottom, left, y * (1 - x)), (bottom, right, y * x)]:
                        sums[:, row, column] = sums[:, row, column] + values[:, i, j] * weight
        else:
            ys = image.nearest(size[0], rows, **attrs)
            xs = image.nearest(size[1], columns, **attrs)
            for i, j in numpy.ndindex(rows, columns):
                sums[:, ys[i], xs[j]] = sums[:, ys[i], xs[j]] + values[:, i, j]
        y = numpy.empty(sums.shape, dtype=object)
        for at in numpy.ndindex(sums.shape):
            y[at] = wrap(dtype, int(sums[at])) if dtype in INTS else round_to(dtype, Fraction(sums[at]))
        second = varied(dtype, y.shape, 9) if is_bilinear else vector("i32", size)
        largest = max([abs(v) for v in grads.values], default=1)
        tolerance = math.ldexp(max(largest, 1) * max(1, rows * columns), -21) if is_bilinear else 0
        suite.case(f"{op}_{name}", f"tf.{op}", [grads, second], from_array(dtype, y), attrs, ulp=4 if is_bilinear else 0,
                   abs_tolerance=tolerance, tags=list(tags) + (["empty"] if 0 in y.shape else []))

    for dtype in dtypes:
        for channels in (1, 3):
            call(f"{dtype}_{channels}", dtype, varied("f32" if is_bilinear else dtype, (2, 3, 4, channels), 1), [2, 3])
    kind = "f32"
    for attrs in image.MODES:
        for old, new in [((6, 8), (3, 4)), ((3, 4), (6, 8)), ((7, 2), (3, 5)), ((4, 4), (4, 4)), ((1, 1), (5, 3)),
                         ((3, 2), (1, 1)), ((2, 2), (5, 7))]:
            name = f"{image.mode_name(attrs)}_{old[0]}x{old[1]}_of_{new[0]}x{new[1]}"
            call(name, kind, varied("f32", (1, *old, 2), old[0]), list(new), attrs)
    call("no_images", kind, varied("f32", (0, 2, 2, 1)), [3, 3])
    call("no_channels", kind, varied("f32", (1, 2, 2, 0)), [3, 3])
    call("large", kind, varied("f32", (2, 11, 13, 3), 5), [17, 9], tags=["large"])
    grads = varied("f32", (1, 2, 2, 1))
    second = varied("f32", (1, 3, 3, 1)) if is_bilinear else vector("i32", [3, 3])

    def wrong(name, inputs, text, attrs=None):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text, attrs)

    wrong("rank", [varied("f32", (2, 2, 1)), second], "grads must have four dimensions, got grads: f32[2,2,1]")
    wrong("no_rows", [varied("f32", (1, 0, 2, 1)), second],
          "grads must have at least one row and one column, got grads: f32[1,0,2,1]")
    wrong("both", [grads, second], "align_corners and half_pixel_centers must not both be true",
          {"align_corners": True, "half_pixel_centers": True})
    if is_bilinear:
        other = varied("f32", (2, 3, 3, 1))
        wrong("batch", [grads, other], f"grads and original_image must have the same batch and channels, got grads: {grads}, "
              f"original_image: {other}")
    else:
        wrong("size", [grads, vector("i32", [0, 3])], "size must have a height and a width of at least 1, got [0,3]")
    common_errors(suite, f"tf.{op}", [grads, second], ["grads"], ["f32"] if is_bilinear else ["u8", "i8", "i32"] + FLOATS,
                  required="one of T, align_corners, half_pixel_centers")


def suite():
    result = Suite()
    gradient_cases(result, "ResizeBilinearGrad")
    gradient_cases(result, "ResizeNearestNeighborGrad")
    crop_cases(result)
    transform_cases(result)
    for version in ("V3", "V4", "V5"):
        suppression_cases(result, version)
    return result
