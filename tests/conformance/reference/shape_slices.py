# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of StridedSlice, as Python's own indexing has it, and ReverseV2."""

import numpy

from case_suite import Tensor, common_errors, drawn, from_array, scalar, varied, vector
from number_formats import DTYPES, int_range


def tags_for(*tensors):
    return ["empty"] if any(0 in tensor.shape for tensor in tensors) else []


MASKS = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"]


def spell(index):
    """begin, end, strides and the masks of a Python index: a tuple of slices, numbers, None and Ellipsis."""
    vectors, masks = ([], [], []), dict.fromkeys(MASKS, 0)
    for i, part in enumerate(index):
        if part is Ellipsis:
            masks["ellipsis_mask"] |= 1 << i
            numbers = (0, 0, 1)
        elif part is None:
            masks["new_axis_mask"] |= 1 << i
            numbers = (0, 0, 1)
        elif isinstance(part, slice):
            masks["begin_mask"] |= (part.start is None) << i
            masks["end_mask"] |= (part.stop is None) << i
            numbers = (part.start or 0, part.stop or 0, 1 if part.step is None else part.step)
        else:
            masks["shrink_axis_mask"] |= 1 << i
            numbers = (part, part + 1, 1)
        for one, number in zip(vectors, numbers):
            one.append(number)
    return vectors, {name: mask for name, mask in masks.items() if mask}


def strided_slice_cases(suite):
    def call(name, x, index, dtype="i32", tags=(), overrides=None):
        vectors, masks = spell(index)
        y = from_array(x.dtype, x.array()[index])
        suite.case(f"StridedSlice_{name}", "tf.StridedSlice", [x] + [vector(dtype, one) for one in vectors], y,
                   {**masks, **(overrides or {})}, tags=list(tags) + tags_for(x, y))

    s, all_of, new, rest = slice, slice(None), None, Ellipsis
    for dtype in DTYPES:
        call(dtype, varied(dtype, (4, 6)), (s(1, 3), s(0, 6, 2)))
        call(f"{dtype}_backwards", varied(dtype, (3, 9)), (s(None, None, -1), s(None, None, -1)))
        call(f"{dtype}_rows", varied(dtype, (40, 3)), (s(16, 24),))
    for dtype in ("i16", "i32", "i64"):
        call(f"index_{dtype}", varied("f32", (7,)), (s(-6, -1, 2),), dtype)
    x = varied("f32", (3, 4, 5))
    for name, index in [
            ("none", ()), ("all", (all_of,) * 3), ("ellipsis", (rest,)), ("ellipsis_last", (s(1, 2), rest)),
            ("ellipsis_first", (rest, s(1, 3))), ("ellipsis_middle", (s(1, 3), rest, s(None, None, 2))),
            ("ellipsis_of_nothing", (all_of, rest, all_of, s(2, 4))), ("shrink", (1,)), ("shrink_last", (rest, -1)),
            ("shrink_all", (2, -1, 0)), ("shrink_middle", (all_of, 2)), ("new_first", (new,)),
            ("new_last", (rest, new)), ("new_middle", (s(0, 2), new, 1)), ("new_twice", (new, 1, new, rest, new)),
            ("new_after_ellipsis", (rest, new, s(1, 2), new)), ("new_before_ellipsis", (new, 2, rest)),
            ("step_2", (s(0, 3, 2), s(1, 4, 2), s(0, 5, 3))), ("step_beyond", (s(0, 3, 100),)),
            ("backwards", (s(2, 0, -1), s(3, None, -2), s(None, 1, -3))), ("backwards_all", (s(None, None, -1),) * 3),
            ("backwards_inner", (rest, s(None, None, -1))), ("backwards_step_2", (rest, s(4, None, -2))),
            ("negative_begin", (s(-2, None), s(-100, 2))), ("negative_end", (s(0, -1), s(1, -2))),
            ("beyond", (s(0, 100), s(2, 2**31 - 1), s(-(2**31), 4))), ("begin_beyond", (s(5, 9),)),
            ("backwards_beyond", (s(100, -100, -1), s(2**31 - 1, -(2**31), -1))), ("nothing", (s(2, 1),)),
            ("nothing_backwards", (s(1, 2, -1),)), ("same", (s(1, 1),)), ("one", (s(1, 2), s(2, 3), s(3, 4)))]:
        call(name, x, index)
    call("scalar", varied("f32", ()), ())
    call("scalar_ellipsis", varied("f32", ()), (rest,))
    call("scalar_new", varied("f32", ()), (new, new))
    call("to_rank8", varied("f32", (2, 3)), (new, new, s(0, 1), new, new, new, new))
    call("rank4", varied("f32", (2, 3, 4, 2)), (1, s(None, None, 2), rest))
    call("rank5", varied("f32", (2, 2, 3, 2, 3)), (s(1, None), 0, s(None, None, -2), rest, new))
    call("rank6", varied("f32", (2, 1, 3, 2, 2, 3)), (rest, s(None, None, -1), 1, s(1, 3)))
    call("rank8", varied("u8", (2,) * 8), (s(None, None, -1), 1) * 4)
    call("extreme_i64", varied("f32", (5,)), (s(2**63 - 1, -(2**63), -(2**63)),), "i64")
    call("extreme_i64_up", varied("f32", (5,)), (s(-(2**63), 2**63 - 1, 2**63 - 1),), "i64")
    call("extreme_i16", varied("f32", (5,)), (s(-32768, 32767, 2),), "i16")
    call("of_empty", varied("f32", (0, 3)), (s(0, 2), s(1, 3)))
    call("of_empty_backwards", varied("f32", (0, 3)), (s(None, None, -1),))
    call("inplace", varied("f32", (20, 5)), (s(4, 20),), tags=["inplace"])
    call("whole_inplace", varied("f32", (20, 5)), (new, rest), tags=["inplace"])
    call("shared", drawn("f32", (48, 32), 9, -1, 1), (s(8, 47),), tags=["large"])
    call("large", drawn("f32", (60, 50), 6, -1, 1), (s(57, 3, -2), s(1, None, 2)), tags=["large"])
    call("large_backwards_u8", drawn("u8", (9, 260), 6, 0, 256), (rest, s(None, None, -1)), tags=["large"])
    # Which mask counts where several are set, and what a masked number may be.
    y = Tensor("f32", (4, 5), x.values[20:40])
    suite.case("StridedSlice_shrink_over_begin_mask", "tf.StridedSlice", [x] + [vector("i32", [n]) for n in (1, 9, 1)],
               y, {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 1})
    suite.case("StridedSlice_shrink_ignores_end", "tf.StridedSlice", [x] + [vector("i32", [n]) for n in (1, -9, 7)], y,
               {"shrink_axis_mask": 1})
    suite.case("StridedSlice_new_over_shrink", "tf.StridedSlice", [x] + [vector("i32", [n]) for n in (9, 0, 0)],
               Tensor("f32", (1, 3, 4, 5), x.values), {"new_axis_mask": 1, "shrink_axis_mask": 1})
    suite.case("StridedSlice_ellipsis_over_all", "tf.StridedSlice", [x] + [vector("i32", [n]) for n in (9, 0, 0)], x,
               {"ellipsis_mask": 1, "new_axis_mask": 1, "shrink_axis_mask": 1})
    call("unused_mask_bits", x, (s(1, 2),), overrides={"begin_mask": 6, "shrink_axis_mask": 64, "new_axis_mask": 2})
    strided_slice_errors(suite)


def strided_slice_errors(suite):
    x = varied("f32", (3, 4))

    def wrong(name, begin, end, strides, text, attrs=None):
        inputs = [one if isinstance(one, Tensor) else vector("i32", list(one)) for one in (begin, end, strides)]
        suite.error(f"StridedSlice_{name}", "tf.StridedSlice", [x] + inputs, text, attrs)

    for name, begin, end, strides in [("short_begin", (0,), (1, 1), (1, 1)), ("short_end", (0, 0), (1,), (1, 1)),
                                      ("long_strides", (0,), (1,), (1, 1))]:
        wrong(name, begin, end, strides, "begin, end and strides must be vectors of one length, got "
              f"begin: i32[{len(begin)}], end: i32[{len(end)}], strides: i32[{len(strides)}]")
    wrong("scalar_begin", scalar("i32", 0), scalar("i32", 1), scalar("i32", 1),
          "begin, end and strides must be vectors of one length, got begin: i32[], end: i32[], strides: i32[]")
    wrong("too_many_indices", (0, 0, 0), (1, 1, 1), (1, 1, 1),
          "there must be at most one index for each dimension of input, got input: f32[3,4], begin: [0,0,0]")
    wrong("too_many_with_ellipsis", (0, 0, 0, 0), (1,) * 4, (1,) * 4,
          "there must be at most one index for each dimension of input, got input: f32[3,4], begin: [0,0,0,0]",
          {"ellipsis_mask": 2})
    wrong("too_long", (0,) * 33, (1,) * 33, (1,) * 33, "begin must have at most 32 elements, got begin: i32[33]",
          {"new_axis_mask": 2**33 - 1})
    wrong("two_ellipses", (0, 0), (1, 1), (1, 1), "ellipsis_mask must be set for at most one index, got 3",
          {"ellipsis_mask": 3})
    stride = "strides must not be 0, and positive where shrink_axis_mask is set, got strides: "
    wrong("stride_0", (0, 0), (1, 1), (1, 0), stride + "[1,0]")
    wrong("stride_0_masked", (0,), (1,), (0,), stride + "[0]", {"begin_mask": 1, "end_mask": 1})
    wrong("shrink_backwards", (0,), (1,), (-1,), stride + "[-1]", {"shrink_axis_mask": 1})
    wrong("shrink_beyond", (0, 4), (1, 5), (1, 1), "begin must be in [-4, 4) for dimension 1 of input, got input: "
          "f32[3,4], begin: [0,4]", {"shrink_axis_mask": 2})
    wrong("shrink_before", (-4,), (-3,), (1,), "begin must be in [-3, 3) for dimension 0 of input, got input: "
          "f32[3,4], begin: [-4]", {"shrink_axis_mask": 1})
    wrong("shrink_minimum", (int_range("i32")[0],), (0,), (1,), "begin must be in [-3, 3) for dimension 0 of input, "
          "got input: f32[3,4], begin: [-2147483648]", {"shrink_axis_mask": 1})
    wrong("rank9", (0,) * 7, (0,) * 7, (1,) * 7, "the result must have at most 8 dimensions, got input: f32[3,4], "
          "new_axis_mask: 127", {"new_axis_mask": 127})
    wrong("mixed_indices", (0,), vector("i64", [1]), (1,), "argument 2 (end) must be i32 like argument 1 (begin), got "
          "i64[1]")
    wrong("float", vector("f32", [0.0]), (1,), (1,), "argument 1 (begin) must be one of {i16, i32, i64}, got f32[1]")
    common_errors(suite, "tf.StridedSlice", [x] + [vector("i32", [n]) for n in (0, 1, 1)], ["input"], DTYPES,
                  required="one of T, Index, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask")


def reverse_cases(suite):
    def call(name, x, axes, dtype="i32", tags=()):
        y = from_array(x.dtype, numpy.flip(x.array(), tuple(axes)) if axes else x.array())
        suite.case(f"ReverseV2_{name}", "tf.ReverseV2", [x, vector(dtype, list(axes))], y,
                   tags=list(tags) + tags_for(x))

    for dtype in DTYPES:
        call(f"{dtype}_rows", varied(dtype, (3, 4)), (0,))
        call(f"{dtype}_columns", varied(dtype, (2, 19)), (1,))
        call(f"{dtype}_both", varied(dtype, (3, 5)), (0, 1))
    for axes in [(), (0,), (1,), (2,), (-1,), (-3,), (0, 2), (1, -1), (2, 1, 0)]:
        call("rank3_" + ("_".join(map(str, axes)).replace("-", "m") or "none"), varied("f32", (2, 3, 4)), axes)
    call("scalar", varied("f32", ()), ())
    call("axis_i64", varied("f32", (2, 3)), (1,), "i64")
    for rank in (1, 4, 5, 6, 8):
        call(f"rank{rank}", varied("f32", (2, 1, 3, 2, 1, 2, 1, 2)[:rank]), range(0, rank, 2))
    call("ones", varied("f32", (1, 5, 1)), (0, 2))
    call("empty", varied("f32", (2, 0, 3)), (1, 2))
    call("inplace", varied("f32", (9, 9)), (1,), tags=["inplace"])
    call("nothing_inplace", varied("f32", (9, 9)), (), tags=["inplace"])
    call("large", drawn("f32", (37, 41), 5, -1, 1), (1,), tags=["large"])
    call("large_pixels", drawn("u8", (20, 30, 3), 5, 0, 256), (1,), tags=["large"])
    x = varied("f32", (2, 3))

    def wrong(name, axis, text):
        axis = axis if isinstance(axis, Tensor) else vector("i32", list(axis))
        suite.error(f"ReverseV2_{name}", "tf.ReverseV2", [x, axis], text)

    for axis in (2, -3):
        wrong(f"axis{axis}".replace("-", "m"), (0, axis), f"elements of axis must be in [-2, 2), got {axis}")
    for name, axis in [("twice", (1, 1)), ("twice_negative", (0, -2))]:
        wrong(name, axis, "axis must have each dimension at most once, got tensor: f32[2,3], "
              f"axis: [{axis[0]},{axis[1]}]")
    wrong("scalar_axis", scalar("i32", 0), "axis must be a vector, got axis: i32[]")
    wrong("too_long", (0,) * 9, "axis must have at most 8 elements, got axis: i32[9]")
    wrong("float", vector("f32", [0.0]), "argument 1 (axis) must be one of {i32, i64}, got f32[1]")
    common_errors(suite, "tf.ReverseV2", [x, vector("i32", [0])], ["tensor"], DTYPES, required="one of Tidx, T")


def add_cases(suite):
    strided_slice_cases(suite)
    reverse_cases(suite)
