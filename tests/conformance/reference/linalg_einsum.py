# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of Einsum: by its definition, a sum over all combinations of indices."""

import itertools
import math

import numpy

from case_suite import Tensor, drawn, from_array, varied
from linalg_products import sum_of_products
from number_formats import FLOATS, INTS

DTYPES = ["i32", "i64", "f16", "bf16", "f32", "f64", "c64"]
OP = "tf.Einsum"


def zero(dtype):
    return 0j if dtype == "c64" else 0 if dtype in INTS else 0.0


def labels_of(part, rank, ellipsis_rank):
    """A name for each dimension; those of '...' are numbered from the last one."""
    if "..." not in part:
        return list(part)
    before, after = part.split("...")
    own = ellipsis_rank if rank is None else rank - len(before) - len(after)
    return list(before) + [f"...{i}" for i in range(own - 1, -1, -1)] + list(after)


def einsum(equation, *inputs):
    dtype = inputs[0].dtype
    left, right = equation.replace(" ", "").split("->")
    parts = left.split(",")
    labels = [labels_of(part, len(x.shape), None) for part, x in zip(parts, inputs)]
    sizes = {}
    for names, x in zip(labels, inputs):
        for name, size in zip(names, x.shape):
            sizes[name] = size if sizes.get(name, 1) == 1 else sizes[name]
    ellipsis_rank = sum(name.startswith("...") for name in sizes)
    output = labels_of(right, None, ellipsis_rank)
    free = list(dict.fromkeys(output))
    summed = [name for name in sizes if name not in free]
    result = numpy.full([sizes[name] for name in output], zero(dtype), dtype=object)
    arrays = [x.array() for x in inputs]

    def element(array, names, index):
        return array[tuple(0 if array.shape[i] == 1 else index[name] for i, name in enumerate(names))]

    one = 1 + 0j if dtype == "c64" else 1 if dtype in INTS else 1.0
    for numbers in itertools.product(*(range(sizes[name]) for name in free)):
        index = dict(zip(free, numbers))
        factors = ([], [])
        for more in itertools.product(*(range(sizes[name]) for name in summed)):
            index.update(zip(summed, more))
            factors[0].append(element(arrays[0], labels[0], index))
            factors[1].append(element(arrays[1], labels[1], index) if len(arrays) > 1 else one)
        result[tuple(index[name] for name in output)] = sum_of_products(dtype, *factors)
    return from_array(dtype, result)


def small(dtype, shape, seed):
    """Integers up to 2, so that sums of few products are exact in every dtype, however they are put together."""
    if dtype in INTS:
        return varied(dtype, shape, seed)
    values = [int(v) % 5 - 2 for v in varied("i32", shape, seed).values]
    return Tensor(dtype, shape, [complex(v, (v * 3 + 1) % 3 - 1) if dtype == "c64" else float(v) for v in values])


def call(suite, name, equation, inputs, tags=(), ulp=0, abs_tolerance=0):
    tags = list(tags) + (["empty"] if any(0 in x.shape for x in inputs) else [])
    suite.case(f"Einsum_{name}", OP, list(inputs), einsum(equation, *inputs), {"equation": equation}, tags=tags,
               ulp=ulp, abs_tolerance=abs_tolerance)


# Equations with shapes; all dtypes take the first ones.
COMMON = [("ij,jk->ik", (2, 3), (3, 4)), ("bij,bkj->bki", (2, 2, 3), (2, 4, 3)), ("ij->", (3, 2)), ("ij->ji", (3, 2)),
          ("ii->i", (3, 3)), ("i,j->ji", (3,), (2,)), ("ij,ij->i", (2, 5), (2, 5)),
          ("...i,ij->...j", (2, 3, 2), (2, 4)),
          ("ij,kj->k", (3, 2), (2, 2)), ("i->ii", (3,)), (",->", (), ())]
ONE = [("->", ()), ("a->a", (4,)), ("a->", (4,)), ("ab->ab", (2, 3)), ("ab->a", (2, 3)), ("ab->b", (2, 3)),
       ("ii->", (4, 4)), ("iji->j", (3, 2, 3)), ("iij->ji", (2, 2, 3)), ("ijj->ij", (2, 3, 3)), ("iii->i", (3, 3, 3)),
       ("abc->cab", (2, 3, 4)), ("abc->ca", (2, 3, 4)), ("abc->b", (2, 3, 4)), ("abcd->dbca", (2, 1, 3, 2)),
       ("...->...", (2, 3)), ("...ab->...ba", (2, 3, 4)), ("a...->...", (2, 3, 4)), ("a...b->b...a", (2, 3, 4)),
       ("...ii->...i", (2, 3, 3)), ("ab...->...b", (2, 3)), ("a->aa", (1,)), ("ab->aab", (2, 3)), ("ab->bab", (2, 3)),
       ("i...->i...", (2,)), ("abcdefgh->hgfedcba", (1, 2, 1, 2, 1, 2, 1, 2)), ("aBc->Bca", (2, 3, 2)),
       ("ab -> ba", (2, 3)), ("aab->b", (3, 3, 2)), ("aabb->ab", (2, 2, 3, 3))]
TWO = [("i,i->", (5,), (5,)), ("i,i->i", (5,), (5,)), ("i,j->ij", (3,), (4,)), ("i,->i", (3,), ()), (",i->i", (), (3,)),
       ("ij,jk->ki", (2, 3), (3, 4)), ("ji,jk->ik", (3, 2), (3, 4)), ("ij,kj->ik", (2, 3), (4, 3)),
       ("ji,kj->ki", (3, 2), (4, 3)), ("ij,j->i", (2, 3), (3,)), ("ij,i->j", (2, 3), (2,)), ("j,ij->i", (3,), (2, 3)),
       ("ij,ij->", (2, 3), (2, 3)), ("ij,ji->", (2, 3), (3, 2)), ("ij,ij->j", (4, 3), (4, 3)),
       ("ij,ji->i", (2, 3), (3, 2)), ("ij,ij->ji", (2, 3), (2, 3)), ("ij,i->ij", (2, 3), (2,)),
       ("ij,j->ji", (2, 3), (3,)), ("abi,bj->ab", (2, 3, 2), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
       ("bij,bjk->ikb", (2, 3, 4), (2, 4, 2)), ("bij,bjk->ibk", (2, 3, 4), (2, 4, 2)),
       ("bij,bj->ib", (2, 3, 4), (2, 4)), ("bij,bj->bi", (2, 3, 4), (2, 4)),
       ("bthd,bshd->bhts", (2, 3, 2, 4), (2, 5, 2, 4)), ("bhts,bshd->bthd", (2, 2, 3, 4), (2, 4, 2, 3)),
       ("abc,cd->abd", (2, 3, 4), (4, 2)), ("abc,bd->acd", (2, 3, 4), (3, 2)),
       ("abcd,cdef->abef", (2, 1, 2, 3), (2, 3, 2, 2)),
       ("abcd,dcef->feab", (2, 1, 2, 3), (3, 2, 2, 2)), ("abcd,efbd->aecf", (2, 2, 2, 3), (2, 2, 2, 3)),
       ("acbd,abdc->ab", (2, 3, 2, 2), (2, 2, 2, 3)), ("abc,d->dcba", (2, 1, 3), (2,)), ("ab,cd->", (2, 3), (2, 2)),
       ("abx,by->a", (2, 3, 2), (3, 4)), ("iij,jk->ik", (2, 2, 3), (3, 2)), ("ijj,jk->ik", (2, 3, 3), (3, 2)),
       ("ij,jk->iik", (2, 3), (3, 2)), ("ij,jk->ikk", (2, 3), (3, 2)), ("i,i->ii", (3,), (3,)),
       ("aab,bcc->ac", (2, 2, 3), (3, 2, 2)), ("...ij,...jk->...ik", (2, 2, 3), (2, 3, 2)),
       ("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)), ("...ij,jk...->ik...", (2, 2, 3), (3, 2, 2)),
       ("...,...->...", (2, 3), (3,)), ("...,...->...", (2, 1), (1, 3)), ("i...,i...->...", (2, 3), (2, 1)),
       ("i...,j...->ij...", (2, 3, 1), (2, 2)), ("...ij,jk->i...k", (2, 3, 2, 3), (3, 2)),
       ("ij,jk->ik", (1, 1), (1, 1)),
       ("ij,jk->ik", (1, 3), (3, 1)), ("abij,abjk->abik", (1, 2, 3, 1), (1, 2, 1, 2)),
       ("abcdefgh,hgfedcba->", (1, 2, 1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1, 2, 1)),
       ("abcd,efgh->aebfcgdh", (1, 2, 1, 2), (2, 1, 2, 1)), ("ij , jk -> ik", (2, 2), (2, 2))]
EMPTY = [("ij,jk->ik", (2, 0), (0, 3)), ("ij,jk->ik", (0, 2), (2, 3)), ("ij->", (0, 2)), ("ij->i", (2, 0)),
         ("ij->ji", (2, 0)), ("bij,bjk->bik", (0, 2, 3), (0, 3, 2)), ("i,i->", (0,), (0,)), ("i,j->ij", (0,), (2,)),
         ("...i,i->...", (2, 0), (0,)), ("...,...->...", (0, 1), (2,)), ("ii->i", (0, 0)), ("i->ii", (0,))]


def add_cases(suite):
    for dtype in DTYPES:
        for number, (equation, *shapes) in enumerate(COMMON):
            call(suite, f"{dtype}_{number}", equation, [small(dtype, s, 3 + i) for i, s in enumerate(shapes)])
    for kind, equations in [("one", ONE), ("two", TWO), ("empty", EMPTY)]:
        for number, (equation, *shapes) in enumerate(equations):
            call(suite, f"{kind}{number}", equation, [small("f32", s, 5 + i) for i, s in enumerate(shapes)])
    large_cases(suite)
    x = small("f32", (4, 4), 9)
    call(suite, "alias", "ij,kj->ik", [x, x], tags=["alias"])
    call(suite, "alias_trace", "ij,ji->", [x, x], tags=["alias"])
    call(suite, "inplace", "ij,ij->ij", [x, small("f32", (4, 4), 10)], tags=["inplace"])
    call(suite, "inplace_one", "ij->ij", [x], tags=["inplace"])
    for dtype in FLOATS:
        a = Tensor(dtype, (2, 2), [math.inf, 0.0, math.nan, 1.0])
        b = Tensor(dtype, (2, 2), [1.0, 2.0, 0.0, -math.inf])
        call(suite, f"{dtype}_special", "ij,jk->ik", [a, b])
        call(suite, f"{dtype}_special_sum", "ij->i", [b])
    add_errors(suite)


def large_cases(suite):
    for dtype in ("f32", "f16", "i32"):
        call(suite, f"{dtype}_heads", "bthd,bshd->bhts",
             [small(dtype, (2, 9, 2, 17), 1), small(dtype, (2, 5, 2, 17), 2)], tags=["large"])
        call(suite, f"{dtype}_swapped", "ij,jk->ki", [small(dtype, (17, 20), 1), small(dtype, (20, 33), 2)],
             tags=["large"])
        call(suite, f"{dtype}_elements", "ij,ji->ij", [small(dtype, (20, 33), 1), small(dtype, (33, 20), 2)],
             tags=["large"])
    a, b = drawn("f32", (6, 50), 1, -1, 1), drawn("f32", (50, 7), 2, -1, 1)
    call(suite, "random", "ij,jk->ik", [a, b], tags=["large"], ulp=1, abs_tolerance=math.ldexp(50.0, -23))


def add_errors(suite):
    def wrong(name, equation, shapes, text):
        suite.error(f"Einsum_{name}", OP, [small("f32", s, 1) for s in shapes], text, {"equation": equation})

    form = ("equation must be letters and '...', separated by ',' between inputs and by '->' before the result, got "
            "equation: ")
    wrong("no_arrow", "ij,jk", [(2, 3), (3, 2)], form + "ij,jk")
    wrong("two_arrows", "ij->i->j", [(2, 3)], form + "ij->i->j")
    wrong("comma_in_result", "ij->i,j", [(2, 3)], form + "ij->i,j")
    wrong("digit", "i1->i", [(2, 3)], form + "i1->i")
    wrong("two_dots", "..i->i", [(2, 3)], form + "..i->i")
    wrong("empty_equation", "", [(2, 3)], form)
    wrong("two_ellipses", "...i...->i", [(2, 3)],
          "equation must have '...' once at most in each of its parts, got equation: ...i...->i")
    wrong("nine_letters", "abcdefghi->", [(2, 3)],
          "equation must have at most 8 letters in each of its parts, got equation: abcdefghi->")
    wrong("parts", "ij->ij", [(2, 3), (2, 3)], "equation must have a part for each input, got equation: ij->ij, "
          "inputs: 2")
    wrong("parts_many", "i,j,k->", [(2,)], "equation must have a part for each input, got equation: i,j,k->, inputs: 1")
    wrong("three_inputs", "i,i,i->i", [(2,), (2,), (2,)], "inputs must be one or two tensors, got 3")
    wrong("rank", "ij->i", [(2, 3, 4)],
          "equation must have a letter for each dimension of inputs[0], got equation: ij->i, inputs[0]: f32[2,3,4]")
    wrong("rank_ellipsis", "i,...jk->i", [(2,), (3,)],
          "equation must have a letter for each dimension of inputs[1], got equation: i,...jk->i, inputs[1]: f32[3]")
    wrong("sizes", "ij,jk->ik", [(2, 3), (4, 2)], "dimensions of the same letter must be equal, got 3 and 4 in "
          "equation: ij,jk->ik, inputs[0]: f32[2,3], inputs[1]: f32[4,2]")
    wrong("sizes_of_one", "ij,jk->ik", [(2, 3), (1, 2)], "dimensions of the same letter must be equal, got 3 and 1 in "
          "equation: ij,jk->ik, inputs[0]: f32[2,3], inputs[1]: f32[1,2]")
    wrong("diagonal_sizes", "ii->i", [(2, 3)], "dimensions of the same letter must be equal, got 2 and 3 in equation: "
          "ii->i, inputs[0]: f32[2,3]")
    wrong("broadcast", "...i,...i->...", [(2, 3), (3, 3)], "dimensions that '...' stands for must be broadcastable, "
          "got equation: ...i,...i->..., inputs[0]: f32[2,3], inputs[1]: f32[3,3]")
    wrong("new_letter", "ij->ik", [(2, 3)], "equation must have each letter of its result in an input, got equation: "
          "ij->ik")
    wrong("ellipsis_lost", "...i->i", [(2, 3)], "equation must have '...' in its result if it stands for dimensions, "
          "got equation: ...i->i, inputs[0]: f32[2,3]")
    wrong("result_rank", "abcd,...->abcd...", [(1, 1, 1, 1), (1, 1, 1, 1, 1)],
          "the result must have at most 8 dimensions, got equation: abcd,...->abcd..., inputs[0]: f32[1,1,1,1], "
          "inputs[1]: f32[1,1,1,1,1]")
    suite.error("Einsum_mixed_dtypes", OP, [small("f32", (2,), 1), small("f64", (2,), 1)],
                "argument 1 (inputs) must be f32 like argument 0 (inputs), got f64[2]", {"equation": "i,i->"})
    suite.error("Einsum_u8", OP, [varied("u8", (2,))],
                "argument 0 (inputs) must be one of {i32, i64, f16, bf16, f32, f64, c64}, got u8[2]",
                {"equation": "i->"})
    suite.error("Einsum_no_equation", OP, [small("f32", (2,), 1)],
                "attribute equation is required, expected equation: string")
