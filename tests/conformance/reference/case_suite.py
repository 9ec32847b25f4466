# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Tensors and cases, and how they are written: the format of the case files is described in ../README.md."""

import json
import math

import numpy

from number_formats import FLOAT_FORMATS, INT_FORMATS, convert, int_range, limits, round_to, spell


class Tensor:
    """A dtype, a shape and row-major elements; how the elements were drawn, if they were."""

    def __init__(self, dtype, shape, values, random=None):
        self.dtype = dtype
        self.shape = tuple(int(dim) for dim in shape)
        self.values = list(values)
        self.random = random
        if len(self.values) != math.prod(self.shape):
            raise ValueError(f"{len(self.values)} elements for {dtype}{list(self.shape)}")

    def array(self):
        """The elements as a NumPy array of objects."""
        flat = numpy.empty(len(self.values), dtype=object)
        flat[:] = self.values
        return flat.reshape(self.shape)

    def to_json(self):
        tensor = {"dtype": self.dtype, "shape": list(self.shape)}
        if self.random is not None:
            return {**tensor, "random": self.random}
        return {**tensor, "data": [part for value in self.values for part in spell(self.dtype, value)]}

    def __str__(self):
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def from_array(dtype, array):
    array = numpy.asarray(array, dtype=object)
    return Tensor(dtype, array.shape, array.reshape(-1).tolist())


def scalar(dtype, value):
    return Tensor(dtype, (), [value])


def vector(dtype, values):
    return Tensor(dtype, (len(values),), values)


class Pcg32:
    """PCG32 XSH-RR on stream 54, seeded as its reference implementation does."""

    INCREMENT = 54 << 1 | 1
    MASK = (1 << 64) - 1

    def __init__(self, seed):
        self.state = 0
        self.draw()
        self.state = (self.state + seed) & self.MASK
        self.draw()

    def draw(self):
        old = self.state
        self.state = (old * 6364136223846793005 + self.INCREMENT) & self.MASK
        xored = ((old >> 18 ^ old) >> 27) & 0xFFFFFFFF
        rotation = old >> 59
        return (xored >> rotation | xored << (-rotation & 31)) & 0xFFFFFFFF

    def uniform(self, low, high):
        return low + (high - low) * (self.draw() >> 8) * 2.0**-24


def drawn(dtype, shape, seed, low, high):
    """A tensor that cases spell as `random`."""
    generator = Pcg32(seed)
    values = [generator.uniform(low, high) for _ in range(math.prod(shape))]
    elements = [round_to(dtype, v) if dtype in FLOAT_FORMATS else convert(dtype, math.trunc(v)) for v in values]
    return Tensor(dtype, shape, elements, {"seed": seed, "low": low, "high": high})


_WORDS = ["", "a", "b", "ab", "A", "\u00e4", "long enough not to fit anywhere", "0", " ", "\u6f22\u5b57", "ba",
          "\U0001f600"]


def varied(dtype, shape, seed=1):
    """Elements of all kinds that the dtype has, but for NaN and infinities: few bits each, so that sums and products of
    some are exact."""
    generator = Pcg32(seed)
    count = math.prod(shape)
    if dtype == "string":
        return Tensor(dtype, shape, [_WORDS[generator.draw() % len(_WORDS)] for _ in range(count)])
    if dtype == "bool":
        return Tensor(dtype, shape, [bool(generator.draw() >> 16 & 1) for _ in range(count)])
    if dtype in INT_FORMATS:
        low, high = int_range(dtype)
        extremes = [low, high, 0, low + 1, high - 1]

        def integer():
            kind = generator.draw() >> 8
            if kind % 4 == 0:
                return extremes[generator.draw() % len(extremes)]
            if kind % 4 == 1:
                return low + (generator.draw() << 32 | generator.draw()) % (high - low + 1)
            return max(low, generator.draw() % 21 - 10)

        return Tensor(dtype, shape, [integer() for _ in range(count)])

    def real():
        return (generator.draw() >> 8) % 65 / 4 - 8

    if dtype == "c64":
        return Tensor(dtype, shape, [complex(real(), real()) for _ in range(count)])
    return Tensor(dtype, shape, [real() for _ in range(count)])


def specials(dtype):
    """The numbers of a floating-point dtype that are easily got wrong."""
    tiny, largest_subnormal, normal, largest, epsilon = limits(dtype)
    positive = [0.0, tiny, largest_subnormal, normal, epsilon, 0.5, 1 - epsilon / 2, 1.0, 1 + epsilon, 1.5, 2.5,
                largest]
    return [sign * value for value in positive for sign in (1.0, -1.0)] + [math.inf, -math.inf, math.nan]


class Suite:
    """The cases of one family, in order."""

    def __init__(self):
        self.cases = []
        self.names = set()

    def _add(self, name, op, inputs, attrs, rest):
        if name in self.names:
            raise ValueError(f"two cases named {name}")
        self.names.add(name)
        case = {"name": name, "op": op, "attrs": attrs or {}, "inputs": [tensor.to_json() for tensor in inputs]}
        self.cases.append({**case, **{key: value for key, value in rest.items() if value}})

    def case(self, name, op, inputs, outputs, attrs=None, ulp=0, abs_tolerance=0, tags=()):
        """A call that gives `outputs`, one tensor or a list."""
        outputs = outputs if isinstance(outputs, list) else [outputs]
        tolerance = {"ulp": ulp, "abs": abs_tolerance} if ulp or abs_tolerance else None
        self._add(name, op, inputs, attrs, {"tolerance": tolerance, "tags": list(tags)})
        self.cases[-1]["outputs"] = [tensor.to_json() for tensor in outputs]

    def error(self, name, op, inputs, text, attrs=None):
        """A call that gives an error, whose text begins with the op in brackets."""
        self._add(name, op, inputs, attrs, {"tags": ["error"]})
        self.cases[-1]["error"] = f"[{op}] {text}"

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            for case in self.cases:
                file.write(json.dumps(case, ensure_ascii=True, separators=(",", ":"), allow_nan=False) + "\n")


def dtype_set(dtypes):
    """As error texts spell it."""
    return "{" + ", ".join(dtypes) + "}"


def common_errors(suite, op, inputs, names, dtypes, attrs=None, required=None, is_set=False):
    """Wrong calls that every op tells apart, of which `inputs` is a right one: names are those of its arguments, and
    dtypes those that the first may have, as a set even if it is one; required: the text's list of attributes."""
    short = op.split(".", 1)[1]
    if inputs:
        expected = f"{len(inputs)} argument" + ("s" if len(inputs) > 1 else "")
        suite.error(f"{short}_too_few", op, inputs[:-1], f"expected {expected}, got {len(inputs) - 1}", attrs)
        suite.error(f"{short}_too_many", op, inputs + inputs[-1:], f"expected {expected}, got {len(inputs) + 1}", attrs)
    bad = next((dtype for dtype in ["string", "bool", "c64", "f32"] if dtypes and dtype not in dtypes), None)
    if bad is not None:
        wrong = varied(bad, inputs[0].shape)
        only = f"must be {dtypes[0]}" if len(dtypes) == 1 and not is_set else f"must be one of {dtype_set(dtypes)}"
        suite.error(f"{short}_wrong_dtype", op, [wrong] + inputs[1:], f"argument 0 ({names[0]}) {only}, got {wrong}",
                    attrs)
    if required is not None:
        suite.error(f"{short}_unknown_attr", op, inputs, f"attribute no_such is not defined, expected {required}",
                    {**(attrs or {}), "no_such": 1})
