#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Writes the sources by which a build has the ops of a list alone (TANDEM_OPS): op_selection.h says how.

usage: select_ops.py LIST DEFINITIONS.json SOURCE [HEADER]
       select_ops.py --all DEFINITIONS.json SOURCE
       select_ops.py --first LIST DEFINITIONS.json SOURCE

SOURCE gets the definitions as data, HEADER what the build has. With --first LIST is what the first part of a module has
kernels for, and SOURCE gets what comes later.

LIST is text with an op a line, followed by the dtypes that it is to have kernels for, if not all; `dtypes f32 i32` says
so for all ops that name none, where `all` is none of these; `#` begins a comment. Or it is JSON: a list of names, or an object that gives each name a
list of dtypes, of which an empty one stands for all.
"""

import json
import pathlib
import re
import sys

from op_codegen import selection


class ListError(Exception):
    def __init__(self, line, message):
        super().__init__(message)
        self.line = line


DTYPES = ["bool", "u8", "i8", "u16", "i16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64", "string"]
# TensorFlow's names of them.
ALIASES = {"uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "int32": "i32", "uint32": "u32", "int64": "i64",
           "uint64": "u64", "half": "f16", "bfloat16": "bf16", "float": "f32", "double": "f64", "complex64": "c64"}


def parse_dtype(name, line):
    dtype = ALIASES.get(name, name)
    if dtype not in DTYPES:
        raise ListError(line, f"unknown dtype {name}{nearest(name, DTYPES + list(ALIASES))}")
    return dtype


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, from_a in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, from_b in enumerate(b, 1):
            diagonal, row[j] = row[j], min(diagonal + (from_a != from_b), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def nearest(name, known):
    """What was meant by `name`, for the end of a message, or nothing."""
    def stem(op):
        return re.sub(r"(?<=.)V\d+$", "", op.split(".", 1)[-1]).lower()

    best = min(known, key=lambda other: (distance(stem(name), stem(other)), distance(name, other)))
    return f", did you mean {best}" if distance(stem(name), stem(best)) <= max(1, len(stem(name)) // 3) else ""


def read_text(text):
    """Yields (line, words) of a list that is text."""
    for line, content in enumerate(text.split("\n"), 1):
        words = re.split(r"[\s,:]+", content.split("#", 1)[0].strip())
        if words != [""]:
            yield line, words


def read_json(text):
    """The same of one that is JSON, where the line is that on which the name is found first, or twice."""
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except json.JSONDecodeError as error:
        raise ListError(error.lineno, f"expected JSON, {error.msg[0].lower()}{error.msg[1:]}") from error
    is_object = text.lstrip().startswith("{")
    places = {}
    for item in pairs:
        name, dtypes = item if is_object else (item, [])
        if not isinstance(name, str) or not isinstance(dtypes, list) or any(not isinstance(d, str) for d in dtypes):
            raise ListError(1, f"expected names of ops, or an object of names and lists of dtypes, got {item!r}")
        at = text.find(json.dumps(name), places.get(name, -1) + 1)
        places[name] = at
        yield text.count("\n", 0, max(at, 0)) + 1, [name, *dtypes]


def read_list(text, ops):
    """{name: dtypes or None for all} of the ops in the list; `ops` are all definitions by name."""
    lines = {}
    selected = {}
    default = None
    for line, (name, *dtypes) in read_json(text) if text.lstrip().startswith(("[", "{")) else read_text(text):
        if dtypes == ["all"] and name in ops:
            dtypes = selection.kernel_dtypes(ops[name])
        dtypes = [parse_dtype(dtype, line) for dtype in dtypes]
        if name == "dtypes":
            if default is not None:
                raise ListError(line, "dtypes are given twice")
            if not dtypes:
                raise ListError(line, "expected dtypes after \"dtypes\"")
            default = dtypes
            continue
        if name not in ops:
            raise ListError(line, f"unknown op {name}{nearest(name, ops)}")
        if name in lines:
            raise ListError(line, f"{name} is listed twice, first on line {lines[name]}")
        lines[name] = line
        selected[name] = own_dtypes(ops[name], dtypes, line)
    if not selected:
        raise ListError(1, "expected ops, got none")
    for name, dtypes in selected.items():
        if dtypes is None and default is not None:
            selected[name] = default_dtypes(ops[name], default, lines[name])
    return selected


def own_dtypes(op, dtypes, line):
    """What the op's own line says."""
    if not dtypes:
        return None
    attr = selection.kernel_attr(op)
    if attr is None:
        raise ListError(line, f"{op['name']} has no type attribute, and so takes no dtypes")
    for dtype in dtypes:
        if dtype not in attr["allowed"]:
            raise ListError(line, f"{op['name']} is not for {dtype}, expected some of {', '.join(attr['allowed'])}")
    return dtypes


def default_dtypes(op, dtypes, line):
    """What a line for all ops says of one. Types of indices and such, which have a default, are no matter of it."""
    attr = selection.kernel_attr(op)
    if attr is None or "default" in attr:
        return None
    allowed = [dtype for dtype in dtypes if dtype in attr["allowed"]]
    if not allowed:
        raise ListError(line, f"{op['name']} is for none of the dtypes {', '.join(dtypes)}, expected some of "
                              f"{', '.join(attr['allowed'])} after its name")
    return allowed


def main():
    arguments = sys.argv[1:]
    is_first = arguments[:1] == ["--first"]
    if is_first:
        del arguments[0]
    if not 3 <= len(arguments) <= 4:
        sys.exit(__doc__)
    path, definitions, source, *header = map(pathlib.Path, arguments)
    ops = {op["name"]: op for op in json.loads(definitions.read_text(encoding="utf-8"))["ops"]}
    try:
        selected = dict.fromkeys(ops) if str(path) == "--all" else read_list(path.read_text(encoding="utf-8"), ops)
    except ListError as error:
        sys.exit(f"{path}:{error.line}: {error}")
    except OSError as error:
        sys.exit(f"{path}: the list of ops (TANDEM_OPS) cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        sys.exit(f"{path}: expected a list of ops (TANDEM_OPS) in UTF-8, got other bytes")
    write(source, selection.later_kernels(ops, selected) if is_first else selection.source(ops, selected))
    if header:
        write(header[0], selection.header(ops, selected))


def write(output, text):
    if not output.exists() or output.read_text(encoding="utf-8") != text:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
