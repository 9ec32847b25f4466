# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of SpaceToDepth and DepthToSpace."""

import numpy

from case_suite import common_errors, drawn, from_array, varied
from number_formats import DTYPES


def space_to_depth(x, block):
    """Of images whose channels come last."""
    n, rows, columns, channels = x.shape
    y = numpy.empty((n, rows // block, columns // block, block * block * channels), dtype=object)
    for index in numpy.ndindex(x.shape):
        image, row, column, channel = index
        depth = (row % block * block + column % block) * channels + channel
        y[image, row // block, column // block, depth] = x[index]
    return y


def depth_to_space(y, block):
    n, rows, columns, depth = y.shape
    channels = depth // (block * block)
    x = numpy.empty((n, rows * block, columns * block, channels), dtype=object)
    for image, row, column, channel in numpy.ndindex(x.shape):
        position = (row % block * block + column % block) * channels + channel
        x[image, row, column, channel] = y[image, row // block, column // block, position]
    return x


def block_cases(suite, op, function, to_depth):
    def call(name, x, block, data_format=None, tags=()):
        array = x.array()
        if data_format == "NCHW":
            y = numpy.moveaxis(function(numpy.moveaxis(array, 1, 3), block), 3, 1)
        else:
            y = function(array, block)
        attrs = {"block_size": block, **({"data_format": data_format} if data_format else {})}
        suite.case(f"{op}_{name}", f"tf.{op}", [x], from_array(x.dtype, y), attrs,
                   tags=list(tags) + (["empty"] if 0 in x.shape else []))

    def images(dtype, n, rows, columns, channels, block, data_format="NHWC"):
        """Of this many blocks, with this many channels where they are fewer."""
        if to_depth:
            rows, columns = rows * block, columns * block
        else:
            channels *= block * block
        return varied(dtype, (n, channels, rows, columns) if data_format == "NCHW" else (n, rows, columns, channels))

    for dtype in DTYPES:
        for data_format in ("NHWC", "NCHW"):
            call(f"{dtype}_{data_format}", images(dtype, 2, 1, 2, 3, 2, data_format), 2, data_format)
    call("default_format", images("f32", 1, 2, 2, 2, 2), 2)
    for block in (2, 3, 4):
        for data_format in ("NHWC", "NCHW"):
            call(f"block{block}_{data_format}", images("f32", 2, 2, 1, 2, block, data_format), block, data_format)
            call(f"block{block}_{data_format}_one_channel", images("f32", 1, 2, 3, 1, block, data_format), block,
                 data_format)
    for data_format in ("NHWC", "NCHW"):
        call(f"no_images_{data_format}", images("f32", 0, 2, 2, 3, 2, data_format), 2, data_format)
        call(f"no_rows_{data_format}", images("f32", 2, 0, 2, 3, 2, data_format), 2, data_format)
        call(f"no_channels_{data_format}", images("f32", 2, 1, 2, 0, 2, data_format), 2, data_format)
        shape = images("f32", 2, 4, 5, 7, 2, data_format).shape
        call(f"large_{data_format}", drawn("f32", shape, 6, -1, 1), 2, data_format, tags=["large"])
        call(f"inplace_{data_format}", images("f32", 1, 3, 3, 3, 2, data_format), 2, data_format, tags=["inplace"])

    def wrong(name, x, block, text, data_format="NHWC"):
        suite.error(f"{op}_{name}", f"tf.{op}", [x], text, {"block_size": block, "data_format": data_format})

    for rank in (0, 3, 5):
        x = varied("f32", (4,) * rank)
        wrong(f"rank{rank}", x, 2, f"input must have 4 dimensions, got input: {x}")
    if to_depth:
        for data_format, shape, dim in [("NHWC", (1, 3, 2, 1), 1), ("NHWC", (1, 2, 5, 1), 2), ("NCHW", (1, 1, 3, 2), 2),
                                        ("NCHW", (1, 1, 2, 3), 3)]:
            x = varied("f32", shape)
            wrong(f"{data_format}_dim{dim}", x, 2, f"dimension {dim} of input must be divisible by block_size, got "
                  f"input: {x}, block_size: 2", data_format)
    else:
        for data_format, shape, dim in [("NHWC", (1, 1, 1, 6), 3), ("NCHW", (1, 6, 1, 1), 1)]:
            x = varied("f32", shape)
            wrong(f"{data_format}_channels", x, 2, f"dimension {dim} of input must be divisible by the square of "
                  f"block_size, got input: {x}, block_size: 2", data_format)
        x = varied("f32", (1, 1, 1, 4))
        wrong("huge_block", x, 2**32, "dimension 3 of input must be divisible by the square of block_size, got input: "
              f"{x}, block_size: {2**32}")
    x = images("f32", 1, 1, 1, 1, 2)
    for block in (1, 0, -2):
        wrong(f"block{block}".replace("-", "m"), x, block, f"attribute block_size must be at least 2, got {block}")
    wrong("format", x, 2, "attribute data_format must be one of 'NHWC', 'NCHW', got 'NCHW_VECT_C'", "NCHW_VECT_C")
    suite.error(f"{op}_no_block", f"tf.{op}", [x], "attribute block_size is required, expected block_size: int >= 2")
    common_errors(suite, f"tf.{op}", [x], ["input"], DTYPES, {"block_size": 2}, "one of T, block_size, data_format")


def add_cases(suite):
    block_cases(suite, "SpaceToDepth", space_to_depth, True)
    block_cases(suite, "DepthToSpace", depth_to_space, False)
