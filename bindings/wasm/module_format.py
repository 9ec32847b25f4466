# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Reading and writing what WebAssembly modules are made of: numbers, names, imports, exports, segments.

Sections are by name, as wasm_size.py gives them: those that have a number by that.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from wasm_size import function_names, read_leb, sections  # noqa: E402, F401

CUSTOM, IMPORTS, EXPORTS, START, ELEMENTS, CODE, DATA = 0, 2, 7, 8, 9, 10, 11
# Kinds of imports and exports.
FUNCTION, TABLE, MEMORY, GLOBAL = range(4)
END, I32_CONST, REF_NULL = 0x0B, 0x41, 0xD0
# memory.init of a segment of data, in modules with threads: to an address, from its begin, so many bytes, of its number.
LEB = rb"([\x80-\xff]{0,4}[\x00-\x7f])"
MEMORY_INIT = re.compile(rb"\x41" + LEB + rb"\x41[\x80]{0,4}\x00\x41" + LEB + rb"\xfc\x08" + LEB + rb"\x00", re.S)


def fail(text):
    sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {text}")


def read_signed_leb(data, at):
    value, end = read_leb(data, at)
    bits = 7 * (end - at)
    return value - (1 << bits) if value >> (bits - 1) else value, end


def leb(value, largest_last=127):
    out = bytearray()
    while value > largest_last:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed_leb(value):
    """Of a number from 0 on, whose last byte must not look like that of a negative one."""
    return leb(value, largest_last=63)


def section(kind, body):
    return bytes([kind]) + leb(len(body)) + body


def rebuilt(parts):
    """A module of its sections, as `sections` gives them."""
    out = bytearray(b"\0asm\1\0\0\0")
    for name, body in parts:
        if name.isdigit():
            out += section(int(name), body)
        else:
            out += section(CUSTOM, leb(len(name)) + name.encode() + body)
    return bytes(out)


def read_name(body, at):
    length, at = read_leb(body, at)
    return body[at:at + length].decode(), at + length


def name_bytes(name):
    return leb(len(name.encode())) + name.encode()


def end_of_import(body, at):
    """Where an import ends whose kind is at `at`."""
    kind = body[at]
    at += 1
    if kind == FUNCTION:
        return read_leb(body, at)[1]
    if kind == GLOBAL:
        return at + 2
    if kind == TABLE:
        at += 1
    flags, at = read_leb(body, at)
    _, at = read_leb(body, at)
    return read_leb(body, at)[1] if flags & 1 else at


def read_imports(body):
    """Of each import, the names of its module and its own, and its kind with what follows."""
    count, at = read_leb(body, 0)
    for _ in range(count):
        module, at = read_name(body, at)
        name, at = read_name(body, at)
        end = end_of_import(body, at)
        yield module, name, body[at:end]
        at = end


def read_exports(body):
    """Name, kind and index of each export."""
    count, at = read_leb(body, 0)
    for _ in range(count):
        name, at = read_name(body, at)
        kind = body[at]
        index, at = read_leb(body, at + 1)
        yield name, kind, index


def element_segments(body):
    """Of each segment of an element section, where in the table it begins, and its functions; None for none."""
    count, at = read_leb(body, 0)
    for _ in range(count):
        flags, at = read_leb(body, at)
        if flags not in (0, 4) or body[at] != I32_CONST:
            fail(f"expected segments of one table at fixed places, got one with flags {flags}")
        first, at = read_leb(body, at + 1)
        length, at = read_leb(body, at + 1)
        functions = []
        for _ in range(length):
            if flags == 0:
                function, at = read_leb(body, at)
            elif body[at] == REF_NULL:
                function, at = None, at + 3
            else:
                function, at = read_leb(body, at + 1)
                at += 1
            functions.append(function)
        yield first, functions


def data_segments(parts):
    """Of each segment of data in a module's sections: its address, or None if none is fixed, where its bytes are in the
    section, and how many."""
    segments = []
    body = parts[str(DATA)]
    count, at = read_leb(body, 0)
    for _ in range(count):
        flags, at = read_leb(body, at)
        address = None
        if flags == 0:
            address, at = read_signed_leb(body, at + 1)
            at += 1
        size, at = read_leb(body, at)
        segments.append((address, at, size))
        at += size
    for found in MEMORY_INIT.finditer(parts[str(CODE)]):
        number, _ = read_leb(found[3], 0)
        if number < len(segments) and segments[number][0] is None:
            _, start, size = segments[number]
            segments[number] = (read_signed_leb(found[1], 0)[0], start, size)
    return segments
