# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of sparse and ragged tensors as their parts."""

import itertools
import math

import numpy

from case_suite import Suite, Tensor, common_errors, from_array, scalar, varied, vector
from number_formats import DTYPES, FLOATS, INTS, REALS, Fraction, round_to, wrap


def matrix(dtype, rows, columns=None):
    return Tensor(dtype, (len(rows), columns if columns is not None else len(rows[0])), [v for row in rows for v in row])


def to_dense_cases(suite):
    op = "SparseToDense"

    def call(name, indices, shape, values, default, validate=None, tags=()):
        y = numpy.full(shape, default.values[0], dtype=object)
        rows = indices.array().reshape(-1, len(shape)) if shape else numpy.zeros((indices.shape[0], 0))
        for i, row in enumerate(rows):
            y[tuple(int(k) for k in row)] = values.values[i if values.shape else 0]
        suite.case(f"{op}_{name}", f"tf.{op}", [indices, vector(indices.dtype, list(shape)), values, default],
                   from_array(values.dtype, y), None if validate is None else {"validate_indices": validate},
                   tags=list(tags) + (["empty"] if 0 in shape else []))

    for dtype in DTYPES:
        for index in ("i32", "i64"):
            call(f"{dtype}_{index}", matrix(index, [[0, 1], [1, 0], [2, 3]]), (3, 4), varied(dtype, (3,), 1),
                 varied(dtype, (), 2))
        call(f"{dtype}_one_value", vector("i64", [0, 3]), (5,), varied(dtype, (), 3), varied(dtype, (), 4))
        call(f"{dtype}_unordered", matrix("i32", [[1, 2], [0, 1], [1, 2], [0, 0]]), (2, 3), varied(dtype, (4,), 6),
             varied(dtype, (), 7), False)
    call("scalar_index", scalar("i32", 2), (4,), scalar("f32", 1.5), scalar("f32", 0.0))
    call("scalar_index_vector", scalar("i32", 2), (4,), vector("f32", [1.5]), scalar("f32", 0.0))
    call("nothing", Tensor("i64", (0, 2), []), (2, 3), vector("f32", []), scalar("f32", 7.0))
    call("empty", Tensor("i64", (0, 2), []), (2, 0), vector("f32", []), scalar("f32", 7.0))
    call("rank4", matrix("i64", [[0, 1, 0, 1], [1, 0, 1, 0]]), (2, 2, 2, 2), vector("i32", [5, 6]), scalar("i32", -1))
    call("unordered", matrix("i64", [[1, 1], [0, 0], [1, 1]]), (2, 2), vector("f32", [1.0, 2.0, 3.0]), scalar("f32", 0.0), False)
    call("unordered_scalar_index", scalar("i64", 2), (4,), scalar("f32", 1.5), scalar("f32", 0.5), False)
    call("unordered_one_value", vector("i64", [3, 0, 3]), (5,), scalar("f32", 1.5), scalar("f32", 0.5), False)
    call("unordered_nothing", Tensor("i64", (0, 2), []), (2, 3), vector("f32", []), scalar("f32", 7.0), False)
    call("unordered_empty", Tensor("i64", (0, 2), []), (2, 0), vector("f32", []), scalar("f32", 7.0), False)
    call("unordered_no_dimensions", Tensor("i64", (2, 0), []), (), vector("f32", [1.0, 2.0]), scalar("f32", 7.0), False)
    call("unordered_large", matrix("i32", [[i * 11 % 90, i * 7 % 50] for i in range(130)]), (90, 50),
         varied("f32", (130,), 5), scalar("f32", 0.0), False, tags=["large"])
    call("large", matrix("i32", [[i, i * 7 % 50] for i in range(90)]), (90, 50), varied("f32", (90,), 5), scalar("f32", 0.0),
         tags=["large"])
    indices, shape = matrix("i64", [[0, 1], [1, 0]]), vector("i64", [2, 2])
    values, zero = vector("f32", [1.0, 2.0]), scalar("f32", 0.0)

    def wrong(name, inputs, text):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text)

    wrong("beyond", [matrix("i64", [[0, 1], [1, 2]]), shape, values, zero],
          "sparse_indices must be in [0, 2) for dimension 1, got 2 for element 1")
    wrong("negative", [matrix("i64", [[-1, 1], [1, 2]]), shape, values, zero],
          "sparse_indices must be in [0, 2) for dimension 0, got -1 for element 0")
    for name, rows in [("repeated", [[0, 1], [0, 1]]), ("descending", [[1, 0], [0, 1]])]:
        wrong(name, [matrix("i64", rows), shape, values, zero],
              "sparse_indices must be in ascending order without repetition, which they are not at element 1")
    wrong("rank3", [Tensor("i64", (1, 1, 2), [0, 1]), shape, values, zero],
          "sparse_indices must have at most two dimensions, got sparse_indices: i64[1,1,2]")
    wrong("depth", [matrix("i64", [[0], [1]]), shape, values, zero],
          "sparse_indices must have one number for each dimension of the result, got sparse_indices: i64[2,1], "
          "output_shape: [2,2]")
    wrong("values", [indices, shape, vector("f32", [1.0]), zero],
          "sparse_values must be a scalar or have one element for each index, got sparse_indices: i64[2,2], "
          "sparse_values: f32[1]")
    wrong("default", [indices, shape, values, vector("f32", [1.0])],
          "default_value must be a scalar, got default_value: f32[1]")
    wrong("shape", [indices, vector("i64", [2, -2]), values, zero], "sizes must be at least 0, got output_shape: [2,-2]")
    common_errors(suite, f"tf.{op}", [indices, shape, values, zero], ["sparse_indices"], ["i32", "i64"],
                  required="one of validate_indices, T, Tindices")


def reshape_cases(suite):
    op = "SparseReshape"

    def call(name, rows, old, new, tags=()):
        known = math.prod(size for size in new if size != -1)
        sizes = [math.prod(old) // known if size == -1 else size for size in new]
        moved = [list(numpy.unravel_index(numpy.ravel_multi_index(row, old), sizes)) for row in rows]
        suite.case(f"{op}_{name}", f"tf.{op}", [matrix("i64", rows, len(old)), vector("i64", old), vector("i64", new)],
                   [matrix("i64", [[int(v) for v in row] for row in moved], len(new)), vector("i64", sizes)],
                   tags=list(tags) + ([] if rows else ["empty"]))

    rows = [[0, 0, 1], [1, 2, 3], [0, 1, 0]]
    for number, new in enumerate([[24], [-1], [4, 6], [6, -1], [3, 2, 4], [1, 24, 1], [2, 2, 2, 3], [-1, 1, 2]]):
        call(f"to{number}", rows, [2, 3, 4], new)
    call("nothing", [], [2, 3], [3, 2])
    call("large", [[i % 9, i % 11] for i in range(0, 99, 3)], [9, 11], [33, 3], ["large"])
    good, old = matrix("i64", rows), vector("i64", [2, 3, 4])

    def wrong(name, text, new, indices=good, old=old):
        suite.error(f"{op}_{name}", f"tf.{op}", [indices, old, new], text)

    wrong("size", "input_shape and new_shape must be of the same number of elements, got 24 and 25", vector("i64", [5, 5]))
    wrong("inferred", "input_shape and new_shape must be of the same number of elements, got 24 and 5 times -1",
          vector("i64", [5, -1]))
    wrong("two_unknown", "new_shape must have -1 at most once", vector("i64", [-1, -1]))
    wrong("zero", "the other sizes of new_shape must not be 0 where one is -1", vector("i64", [0, -1]))
    wrong("negative", "sizes must be at least 0, got new_shape with -2", vector("i64", [-2, 12]))
    wrong("beyond", "input_indices must be in [0, 3) for dimension 1, got 3 for element 0", vector("i64", [24]),
          matrix("i64", [[0, 3, 0]]))
    wrong("matrix", "new_shape must be a vector, got new_shape: i64[1,1]", matrix("i64", [[24]]))
    wrong("columns", "input_indices must be a matrix with a column for each element of input_shape, got input_indices: "
          "i64[3,3], input_shape: i64[2]", vector("i64", [24]), good, vector("i64", [4, 6]))


def fill_cases(suite):
    op = "SparseFillEmptyRows"

    def call(name, rows, values, shape, default, tags=()):
        out, taken, filled, places = [], [], [], [0] * len(rows)
        for row in range(shape[0]):
            mine = [i for i, index in enumerate(rows) if index[0] == row]
            filled.append(not mine)
            for i in mine:
                places[i] = len(out)
                out.append(rows[i])
                taken.append(values.values[i])
            if not mine:
                out.append([row] + [0] * (len(shape) - 1))
                taken.append(default.values[0])
        outputs = [matrix("i64", out, len(shape)), vector(values.dtype, taken), vector("bool", filled), vector("i64", places)]
        suite.case(f"{op}_{name}", f"tf.{op}",
                   [matrix("i64", rows, len(shape)), values, vector("i64", shape), default], outputs,
                   tags=list(tags) + ([] if out else ["empty"]))

    for dtype in DTYPES:
        call(dtype, [[0, 1], [3, 0], [3, 2]], varied(dtype, (3,), 1), [5, 4], varied(dtype, (), 2))
    call("unordered", [[2, 1], [0, 0], [2, 0], [0, 3]], varied("f32", (4,), 3), [4, 4], scalar("f32", -1.0))
    call("all_empty", [], vector("f32", []), [3, 2], scalar("f32", 2.0))
    call("no_rows", [], vector("f32", []), [0, 2], scalar("f32", 2.0))
    call("none_empty", [[0, 0], [1, 0]], vector("f32", [1.0, 2.0]), [2, 2], scalar("f32", 2.0))
    call("vector", [[1], [3]], vector("f32", [1.0, 2.0]), [5], scalar("f32", 9.0))
    call("rank3", [[1, 0, 1], [1, 1, 0]], vector("f32", [1.0, 2.0]), [3, 2, 2], scalar("f32", 9.0))
    indices, values = matrix("i64", [[0, 1], [2, 0]]), vector("f32", [1.0, 2.0])
    shape, zero = vector("i64", [3, 2]), scalar("f32", 0.0)

    def wrong(name, inputs, text):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text)

    wrong("beyond", [matrix("i64", [[0, 1], [3, 0]]), values, shape, zero], "rows must be in [0, 3), got 3 for element 1")
    wrong("row_of_none", [indices, values, vector("i64", [0, 2]), zero], "rows must be in [0, 0), got 0 for element 0")
    wrong("default", [indices, values, shape, vector("f32", [0.0])],
          "default_value must be a scalar, got default_value: f32[1]")
    wrong("sizes", [indices, values, vector("i64", [3, 2, 1]), zero], "indices must be [n,rank], values [n] and dense_shape "
          "[rank] with a rank of at least 1, got indices: i64[2,2], values: f32[2], dense_shape: i64[3]")
    common_errors(suite, f"tf.{op}", [indices, values, shape, zero], ["indices"], ["i64"], required="one of T")


def segment_cases(suite, op):
    is_mean = op.endswith("Mean")
    dtypes = FLOATS if is_mean else REALS

    def call(name, data, indices, segments, index="i32", segment="i32", tags=()):
        count = segments[-1] + 1 if segments else 0
        y = numpy.full((count, *data.shape[1:]), 0, dtype=object)
        for i, s in zip(indices, segments):
            y[s] = y[s] + numpy.vectorize(Fraction, otypes=[object])(data.array()[i])
        for s in range(count):
            if is_mean and s in segments:
                y[s] = y[s] / segments.count(s)
        for at in numpy.ndindex(y.shape):
            y[at] = wrap(data.dtype, int(y[at])) if data.dtype in INTS else round_to(data.dtype, Fraction(y[at]))
        suite.case(f"{op}_{name}", f"tf.{op}", [data, vector(index, indices), vector(segment, segments)],
                   from_array(data.dtype, y), ulp=1 if is_mean else 0, tags=list(tags) + (["empty"] if 0 in y.shape else []))

    for dtype in dtypes:
        call(dtype, varied(dtype, (4, 3), 1), [0, 2, 1, 3, 0], [0, 0, 1, 1, 3])
    for index, segment in itertools.product(("i32", "i64"), repeat=2):
        call(f"{index}_{segment}", varied("f32", (3, 2), 2), [2, 0, 2], [1, 1, 2], index, segment)
    for number, shape in enumerate([(4,), (3, 2, 2), (2, 1, 2, 1, 2), (3, 0)]):
        call(f"shape{number}", varied("f32", shape, 3), [1, 0, 1], [0, 2, 2])
    call("nothing", varied("f32", (3, 2)), [], [])
    call("large", varied("f32", (20, 30), 4), [i * 7 % 20 for i in range(60)], [i // 5 for i in range(60)], tags=["large"])
    data, indices, segments = varied("f32", (3, 2)), vector("i32", [0, 1]), vector("i32", [0, 1])

    def wrong(name, inputs, text):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text)

    wrong("beyond", [data, vector("i32", [0, 3]), segments], "indices must be in [0, 3), got 3 at element 1")
    wrong("descending", [data, indices, vector("i32", [1, 0])],
          "segment_ids must be at least 0 and ascend, got 0 after 1 at element 1")
    wrong("negative", [data, indices, vector("i32", [-1, 0])],
          "segment_ids must be at least 0 and ascend, got -1 after 0 at element 0")
    wrong("sizes", [data, indices, vector("i32", [0])], "indices and segment_ids must be vectors of the same size, got "
          "indices: i32[2], segment_ids: i32[1]")
    wrong("scalar", [scalar("f32", 1.0), indices, segments], "data must have at least one dimension, got data: f32[]")
    common_errors(suite, f"tf.{op}", [data, indices, segments], ["data"], dtypes, required="one of T, Tidx, Tsegmentids")


def range_cases(suite):
    op = "RaggedRange"

    def call(name, starts, limits, deltas, splits=None, tags=()):
        rows = max([len(t.values) for t in (starts, limits, deltas) if t.shape], default=1)
        if any(t.shape == (0,) for t in (starts, limits, deltas)):
            rows = 0
        values, ends = [], [0]
        for row in range(rows):
            start, limit, delta = (Fraction(t.values[row if t.shape else 0]) for t in (starts, limits, deltas))
            count = max(0, math.ceil((limit - start) / delta))
            values += [start + i * delta for i in range(count)]
            ends.append(len(values))
        dtype = starts.dtype
        out = [int(v) if dtype in INTS else round_to(dtype, v) for v in values]
        suite.case(f"{op}_{name}", f"tf.{op}", [starts, limits, deltas], [vector(splits or "i64", ends), vector(dtype, out)],
                   splits and {"Tsplits": splits}, tags=list(tags))

    for dtype in ["i32", "i64"] + FLOATS:
        def numbers(values, dtype=dtype):
            return vector(dtype, values if dtype in INTS else [float(v) for v in values])

        call(f"{dtype}_vectors", numbers([0, 5, 8, 3, -4]), numbers([3, 5, 2, 9, 4]), numbers([1, 1, -2, 4, 3]))
        for splits in ("i32", "i64"):
            call(f"{dtype}_{splits}", scalar(dtype, numbers([2]).values[0]), numbers([5, 2, 9]), scalar(dtype, numbers([2]).values[0]),
                 splits)
        call(f"{dtype}_scalars", *[scalar(dtype, numbers([v]).values[0]) for v in (1, 4, 1)])
        if dtype in FLOATS:
            call(f"{dtype}_fractions", vector(dtype, [0.5, 0.0]), vector(dtype, [2.0, -1.0]), vector(dtype, [0.25, -0.5]))
    low, high = -(2**63), 2**63 - 1
    call("extremes", vector("i64", [low, high - 1, low + 1]), vector("i64", [high, high, low]),
         vector("i64", [2**62, 1, -1]))
    call("no_rows", vector("i32", []), vector("i32", []), vector("i32", []))
    good = vector("i32", [1, 2])

    def wrong(name, inputs, text):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text)

    wrong("zero", [good, good, vector("i32", [1, 0])], "deltas must not be 0, got 0 for row 1")
    wrong("sizes", [good, vector("i32", [1, 2, 3]), good], "starts, limits and deltas must have the same size, got starts: "
          "i32[2], limits: i32[3], deltas: i32[2]")
    wrong("matrix", [matrix("i32", [[1]]), good, good], "starts, limits and deltas must be scalars or vectors, got i32[1,1]")
    wrong("too_long", [scalar("i64", low), scalar("i64", high), scalar("i64", 1)],
          "there must be no more numbers than i64 can count, which row 0 exceeds")
    common_errors(suite, f"tf.{op}", [good, good, good], ["starts"], ["i32", "i64"] + FLOATS, required="one of T, Tsplits")


def ragged(splits, values):
    """Nested lists of value slices."""
    rows = [values.array()[i] for i in range(values.shape[0])]
    for ends in reversed(splits):
        rows = [rows[a:b] for a, b in zip(ends, ends[1:])]
    return rows


def parts(rows, levels):
    """Splits for each of `levels` ragged dimensions, and what is left."""
    result = []
    for _ in range(levels):
        ends = [0]
        for row in rows:
            ends.append(ends[-1] + len(row))
        result.append(ends)
        rows = [element for row in rows for element in row]
    return result, rows


def nested(indices, rows):
    if not indices.shape:
        return rows[int(indices)]
    return [nested(part, rows) for part in indices]


def gather_cases(suite):
    op = "RaggedGather"

    def call(name, splits, values, indices, index="i32", split="i64", tags=()):
        rows = ragged(splits, values)
        array = numpy.array(indices, dtype=int)
        levels = len(splits) + array.ndim - 1
        taken = nested(array, rows)
        ends, left = parts(taken, levels)
        shape = (len(left), *values.shape[1:])
        flat = numpy.empty(shape, dtype=object)
        for i, element in enumerate(left):
            flat[i] = element
        inputs = [vector(split, s) for s in splits] + [values, Tensor(index, array.shape, array.reshape(-1).tolist())]
        suite.case(f"{op}_{name}", f"tf.{op}", inputs, [vector(split, e) for e in ends] + [from_array(values.dtype, flat)],
                   {"PARAMS_RAGGED_RANK": len(splits), "OUTPUT_RAGGED_RANK": levels}, tags=list(tags))

    one, two = [[0, 2, 2, 5]], [[0, 2, 3], [0, 3, 3, 5]]
    for dtype in DTYPES:
        call(f"{dtype}_one", one, varied(dtype, (5,), 1), [2, 0, 1, 2])
        call(f"{dtype}_two", two, varied(dtype, (5, 2), 2), [1, 0, 1])
    for index, split in itertools.product(("i32", "i64"), repeat=2):
        call(f"{index}_{split}", one, varied("f32", (5,), 3), [1, 2], index, split)
    call("matrix", one, varied("f32", (5,), 4), [[0, 2], [1, 1], [2, 0]])
    call("cube", two, varied("f32", (5,), 5), [[[0], [1]], [[1], [1]]])
    call("scalar", one, varied("f32", (5,), 6), 2)
    call("scalar_two", two, varied("f32", (5,), 6), 0)
    call("nothing", one, varied("f32", (5,), 7), [])
    values, index = varied("f32", (5,)), vector("i32", [0, 1])
    attrs = {"PARAMS_RAGGED_RANK": 1, "OUTPUT_RAGGED_RANK": 1}

    def wrong(name, inputs, text, attrs=attrs):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text, attrs)

    good = vector("i64", one[0])
    wrong("beyond", [good, values, vector("i32", [0, 3])], "indices must be in [0, 3), got 3 at element 1")
    wrong("negative", [good, values, vector("i32", [-1])], "indices must be in [0, 3), got -1 at element 0")
    wrong("splits_end", [vector("i64", [0, 4]), values, index], "splits must be a vector from 0 to the 5 things that they "
          "divide, got params_nested_splits[0]: i64[2]")
    wrong("splits_descend", [vector("i64", [0, 3, 2, 5]), values, index],
          "splits must ascend, which params_nested_splits[0] do not at element 2")
    wrong("rank", [good, values, index], "OUTPUT_RAGGED_RANK must be 1, got 2", {**attrs, "OUTPUT_RAGGED_RANK": 2})


def to_tensor_cases(suite):
    op = "RaggedTensorToTensor"

    def call(name, rows, levels, value_shape, dtype, default, sizes=None, row_ids=False, index="i64", tags=()):
        ends, flat = parts(rows, levels)
        values = Tensor(dtype, (len(flat), *value_shape), [v for element in flat for v in numpy.ravel(element).tolist()])
        widths = [len(rows)] + [max([b - a for a, b in zip(e, e[1:])], default=0) for e in ends]
        wanted = [w if s == -1 else s for s, w in zip(sizes or [-1] * (levels + 1), widths)]
        y = numpy.empty((*wanted, *value_shape), dtype=object)
        y[...] = default.array()

        def fill(part, at):
            if len(at) == levels + 1:
                y[at] = part
                return
            for i, element in enumerate(part[:wanted[len(at)]]):
                fill(element, (*at, i))

        fill(rows, ())
        if row_ids:
            tensors = [scalar(index, len(rows))] + [vector(index, [r for r, (a, b) in enumerate(zip(e, e[1:])) for _ in range(b - a)])
                                                    for e in ends]
            kinds = ["FIRST_DIM_SIZE"] + ["VALUE_ROWIDS"] * levels
        else:
            tensors, kinds = [vector(index, e) for e in ends], ["ROW_SPLITS"] * levels
        shape = scalar("i64", -1) if sizes is None else vector("i64", list(sizes) + [-1] * len(value_shape))
        suite.case(f"{op}_{name}", f"tf.{op}", [shape, values, default, *tensors], from_array(dtype, y),
                   {"row_partition_types": kinds, "num_row_partition_tensors": len(kinds)},
                   tags=list(tags) + (["empty"] if 0 in y.shape else []))

    for dtype in DTYPES:
        v = varied(dtype, (6,), 1).values
        rows = [v[:2], [], v[2:5], v[5:]]
        for row_ids in (False, True):
            call(f"{dtype}_{'ids' if row_ids else 'splits'}", rows, 1, (), dtype, varied(dtype, (), 2), row_ids=row_ids)
    deep = [[[1.0, 2.0], [3.0]], [], [[4.0], [], [5.0, 6.0, 7.0]]]
    zero = scalar("f32", 0.0)
    for row_ids in (False, True):
        kind = "ids" if row_ids else "splits"
        call(f"{kind}_deep", deep, 2, (), "f32", zero, row_ids=row_ids)
        for number, sizes in enumerate([(2, 2, 2), (4, -1, 1), (-1, 4, -1), (5, 3, 4), (-1, 0, -1)]):
            call(f"{kind}_sized{number}", deep, 2, (), "f32", zero, sizes, row_ids)
        pairs = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]
        call(f"{kind}_pairs", pairs, 1, (2,), "f32", zero, row_ids=row_ids)
        call(f"{kind}_pairs_default", pairs, 1, (2,), "f32", vector("f32", [8.0, 9.0]), (3, -1), row_ids)
        call(f"{kind}_i32", deep, 2, (), "f32", zero, row_ids=row_ids, index="i32")
    call("no_rows", [], 1, (), "f32", zero)
    values, splits = vector("f32", [1.0, 2.0, 3.0]), vector("i64", [0, 1, 3])
    attrs = {"row_partition_types": ["ROW_SPLITS"], "num_row_partition_tensors": 1}
    any_shape = scalar("i64", -1)

    def wrong(name, inputs, text, attrs=attrs):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text, attrs)

    wrong("values", [any_shape, vector("f32", [1.0]), zero, splits],
          "values must have as many elements as row_partition_tensors divide, got 1 for 3")
    wrong("splits_descend", [any_shape, values, zero, vector("i64", [0, 4, 3])],
          "row_partition_tensors[0] must ascend, of 2 rows, got 3 at element 2")
    wrong("splits_begin", [any_shape, values, zero, vector("i64", [1, 3])],
          "row_partition_tensors[0] must be the splits of 1 rows, from 0 on, got i64[2]")
    wrong("shape", [vector("i64", [2]), values, zero, splits], "shape must be -1 or a vector of 2 sizes, got shape: i64[1]")
    wrong("size", [vector("i64", [2, -2]), values, zero, splits],
          "sizes must be -1 or at least 0, and those of the values' dimensions agree, got -2 for dimension 1")
    wrong("default", [any_shape, values, vector("f32", [1.0, 2.0]), splits],
          "default_value must broadcast to an element of values, got default_value: f32[2], values: [3]")
    wrong("kind", [any_shape, values, zero, splits], "row_partition_types must begin with 'FIRST_DIM_SIZE' or 'ROW_SPLITS', "
          "got 'ROW_LENGTHS'", {**attrs, "row_partition_types": ["ROW_LENGTHS"]})
    wrong("kinds", [any_shape, values, zero, splits], "row_partition_types must have one element for each of "
          "row_partition_tensors, got 2 for 1", {**attrs, "row_partition_types": ["ROW_SPLITS", "ROW_SPLITS"]})


def suite():
    result = Suite()
    to_dense_cases(result)
    reshape_cases(result)
    fill_cases(result)
    segment_cases(result, "SparseSegmentSum")
    segment_cases(result, "SparseSegmentMean")
    range_cases(result)
    gather_cases(result)
    to_tensor_cases(result)
    return result
