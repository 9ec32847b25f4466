# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of SpaceToBatchND and BatchToSpaceND."""

import math

import numpy

from case_suite import Tensor, common_errors, from_array, varied, vector
from number_formats import DTYPES


def nothing(dtype):
    return "" if dtype == "string" else False if dtype == "bool" else 0j if dtype == "c64" else 0


def batched_place(index, block, batch):
    """Where an element of the padded tensor goes."""
    position = 0
    for i, size in enumerate(block):
        position = position * size + index[i + 1] % size
    return (position * batch + index[0], *[index[i + 1] // size for i, size in enumerate(block)], *index[len(block) + 1:])


def space_to_batch(x, block, paddings):
    pads = [(0, 0)] + list(paddings) + [(0, 0)] * (len(x.shape) - len(block) - 1)
    padded = numpy.full([size + a + b for size, (a, b) in zip(x.shape, pads)], nothing(x.dtype), dtype=object)
    padded[tuple(slice(a, a + size) for size, (a, _) in zip(x.shape, pads))] = x.array()
    shape = [padded.shape[0] * math.prod(block)] + [s // b for s, b in zip(padded.shape[1:], block)]
    result = numpy.empty(shape + list(padded.shape[len(block) + 1:]), dtype=object)
    for index in numpy.ndindex(padded.shape):
        result[batched_place(index, block, padded.shape[0])] = padded[index]
    return from_array(x.dtype, result)


def batch_to_space(x, block, crops):
    batch = x.shape[0] // math.prod(block)
    whole = numpy.empty([batch] + [s * b for s, b in zip(x.shape[1:], block)] + list(x.shape[len(block) + 1:]), dtype=object)
    for index in numpy.ndindex(whole.shape):
        whole[index] = x.array()[batched_place(index, block, batch)]
    cut = [slice(None)] + [slice(a, whole.shape[i + 1] - b) for i, (a, b) in enumerate(crops)]
    return from_array(x.dtype, whole[tuple(cut)])


def matrix(dtype, pairs):
    return Tensor(dtype, (len(pairs), 2), [number for pair in pairs for number in pair])


def add_cases(suite):
    def call(op, name, x, block, margins, index="i32", tags=()):
        y = (space_to_batch if op == "SpaceToBatchND" else batch_to_space)(x, block, margins)
        empty = ["empty"] if 0 in y.shape else []
        suite.case(f"{op}_{name}", f"tf.{op}", [x, vector(index, block), matrix(index, margins)], y,
                   tags=list(tags) + empty)

    for dtype in DTYPES:
        call("SpaceToBatchND", dtype, varied(dtype, (2, 3, 4, 2), 1), [2, 2], [(1, 0), (0, 2)])
        call("BatchToSpaceND", dtype, varied(dtype, (8, 2, 3, 2), 2), [2, 2], [(1, 0), (0, 2)])
    for number, (shape, block, paddings) in enumerate([
            ((3,), [], []), ((2, 4), [2], [(0, 0)]), ((1, 6, 2), [3], [(0, 0)]), ((1, 3, 5), [3, 2], [(2, 1), (0, 1)]),
            ((2, 2, 2, 2), [1, 1, 2], [(0, 0), (1, 2), (0, 0)]), ((1, 1, 1, 3), [2, 2], [(0, 1), (3, 0)]),
            ((1, 2, 2, 2, 2), [2, 1, 2, 1], [(0, 0), (0, 0), (2, 0), (0, 0)]), ((0, 2, 2), [2, 2], [(0, 0), (0, 0)]),
            ((2, 0, 3), [2, 3], [(1, 1), (0, 0)]), ((1, 2, 3), [5], [(4, 4)]), ((1, 2), [4], [(9, 5)])]):
        for index in ("i32", "i64"):
            call("SpaceToBatchND", f"{index}_{number}", varied("f32", shape, 3), block, paddings, index)
    for number, (shape, block, crops) in enumerate([
            ((3,), [], []), ((4, 2), [2], [(0, 0)]), ((6, 2, 2), [3], [(1, 2)]), ((6, 1, 3), [3, 2], [(0, 2), (1, 1)]),
            ((4, 2, 2, 2), [1, 1, 2], [(1, 0), (0, 1), (1, 1)]), ((4, 1, 1, 3), [2, 2], [(0, 1), (1, 0)]),
            ((4, 2, 2), [2], [(2, 2)]), ((0, 2, 2), [2, 2], [(0, 0), (0, 0)]), ((5, 2, 3), [5], [(4, 4)])]):
        for index in ("i32", "i64"):
            call("BatchToSpaceND", f"{index}_{number}", varied("f32", shape, 4), block, crops, index)
    call("SpaceToBatchND", "large", varied("u8", (2, 20, 30, 3), 5), [2, 3], [(1, 1), (0, 0)], tags=["large"])
    call("BatchToSpaceND", "large", varied("u8", (12, 10, 10, 3), 6), [2, 3], [(1, 1), (0, 0)], tags=["large"])
    errors(suite)


def errors(suite):
    x, block, zeros = varied("f32", (4, 4, 6, 1)), vector("i32", [2, 2]), matrix("i32", [(0, 0), (0, 0)])
    for op, name in [("SpaceToBatchND", "paddings"), ("BatchToSpaceND", "crops")]:
        def wrong(case, inputs, text, op=op):
            suite.error(f"{op}_{case}", f"tf.{op}", inputs, text)

        wrong("rank", [varied("f32", (4, 4)), block, zeros], "input must have more dimensions than block_shape has "
              "elements, got input: f32[4,4], block_shape: [2,2]")
        wrong("block_zero", [x, vector("i32", [2, 0]), zeros], "sizes of a block must be at least 1, got block_shape: [2,0]")
        wrong("block_matrix", [x, zeros, zeros], "block_shape must be a vector, got block_shape: i32[2,2]")
        for number, bad in enumerate([matrix("i32", [(0, 0)]), vector("i32", [0, 0]), Tensor("i32", (2, 1), [0, 0])]):
            wrong(f"margins{number}", [x, block, bad], f"{name} must have shape [2,2], got {name}: {bad}")
        wrong("negative", [x, block, matrix("i32", [(0, 0), (-1, 0)])], f"{name} must be at least 0, got -1 at element 2")
        attr = {"SpaceToBatchND": "Tpaddings", "BatchToSpaceND": "Tcrops"}[op]
        common_errors(suite, f"tf.{op}", [x, block, zeros], ["input"], None, required=f"one of T, Tblock_shape, {attr}")
    suite.error("SpaceToBatchND_indivisible", "tf.SpaceToBatchND", [x, block, matrix("i32", [(0, 0), (1, 0)])],
                "sizes of a block must divide the padded dimensions, got input: f32[4,4,6,1], block_shape: [2,2], where "
                "dimension 2 is padded to 7")
    suite.error("BatchToSpaceND_indivisible", "tf.BatchToSpaceND", [x, vector("i32", [2, 3]), zeros],
                "the size of a block must divide the batch, got input: f32[4,4,6,1], block_shape: [2,3]")
    suite.error("BatchToSpaceND_crops", "tf.BatchToSpaceND", [x, block, matrix("i32", [(5, 4), (0, 0)])],
                "crops must leave at least 0 of each dimension, got 5 and 4 of 8 in dimension 1")
