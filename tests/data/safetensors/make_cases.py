#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

"""Writes cases.json beside it: safetensors files, put together from the published description of the format alone, and
what has to be read from them, or why they have to be refused. Both readers are tested by them, in C++ and JavaScript.
usage: make_cases.py [--check]    --check: fail if the file is not what would be written"""

import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).parent


def file_of(header, data=b"", length=None):
    """The bytes of a file: `header` is text, bytes, or an object to write as JSON."""
    if not isinstance(header, (str, bytes)):
        header = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    if isinstance(header, str):
        header = header.encode("utf-8")
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def good(name, content, tensors, metadata=None):
    """A file to be read: tensors as (name, dtype, shape, bytes), in the order of their data."""
    return {
        "name": name,
        "file": content.hex(),
        "tensors": [{"name": n, "dtype": d, "shape": s, "data": b.hex()} for n, d, s, b in tensors],
        "metadata": metadata or {},
    }


def bad(name, content, text, code="DataLoss"):
    """A file to be refused, with an error that has `text` in it."""
    return {"name": name, "file": content.hex(), "code": code, "text": text}


def packed(fmt, *values):
    return struct.pack("<" + fmt, *values)


# dtype of the format, of Tandem, and two elements.
DTYPES = [
    ("U64", "u64", packed("2Q", 0, 2**64 - 1)),
    ("I64", "i64", packed("2q", -(2**63), 2**63 - 1)),
    ("F64", "f64", packed("2d", -0.0, 5e-324)),
    ("C64", "c64", packed("4f", 1.5, -2.5, float("inf"), 0.0)),
    ("F32", "f32", packed("2f", 3.4028234663852886e38, -1e-45)),
    ("U32", "u32", packed("2I", 1, 2**32 - 1)),
    ("I32", "i32", packed("2i", -(2**31), 2**31 - 1)),
    ("BF16", "bf16", packed("2H", 0x3F80, 0x7FC1)),  # 1, a NaN
    ("F16", "f16", packed("2H", 0x3C00, 0x8001)),  # 1, the negative number next to 0
    ("U16", "u16", packed("2H", 7, 65535)),
    ("I16", "i16", packed("2h", -32768, 32767)),
    ("I8", "i8", packed("2b", -128, 127)),
    ("U8", "u8", packed("2B", 0, 255)),
    ("BOOL", "bool", packed("2B", 1, 0)),
]


def every_dtype():
    header, data, tensors = {}, b"", []
    for stored, dtype, values in DTYPES:
        header[stored] = entry(stored, [2], len(data), len(data) + len(values))
        tensors.append((stored, dtype, [2], values))
        data += values
    text = json.dumps(header)
    return good("every dtype", file_of(text + " " * (-len(text) % 8), data), tensors)


def good_cases():
    f32 = packed("2f", 1.0, -2.0)
    i16 = packed("h", 12345)
    two = {"__metadata__": {"format": "pt", "step": "7"}, "w": entry("F32", [2, 1], 0, 8), "b": entry("I16", [], 8, 10)}
    names = ['quote" slash\\ line\n', "\u00e9 \U0001f600", "", "__proto__", "constructor", "nul\0", "a" * 300]
    named = {name: entry("U8", [], i, i + 1) for i, name in enumerate(names)}
    escaped = '{"\\u0061\\/\\b\\f\\n\\r\\t\\"\\\\\\u00e9\\uD83D\\ude00":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}'
    spaced = ' \n\t\r'.join(['{', '"a"', ':', '{', '"dtype"', ':', '"U8"', ',', '"shape"', ':', '[', '1', ',', '2', ']',
                            ',', '"data_offsets"', ':', '[', '0', ',', '2', ']', '}', '}', ''])
    yield every_dtype()
    yield good("two tensors and metadata", file_of(two, f32 + i16),
               [("w", "f32", [2, 1], f32), ("b", "i16", [], i16)], {"format": "pt", "step": "7"})
    yield good("no tensors", file_of("{}"), [])
    yield good("no tensors, padded", file_of("{}      "), [])
    yield good("metadata alone", file_of({"__metadata__": {}}), [])
    yield good("metadata with names that objects have", file_of('{"__metadata__":{"__proto__":"x","toString":""}}'), [],
               {"__proto__": "x", "toString": ""})
    yield good("tensors in another order than their data",
               file_of({"a": entry("U8", [1], 2, 3), "b": entry("U8", [2], 0, 2)}, b"xyz"),
               [("b", "u8", [2], b"xy"), ("a", "u8", [1], b"z")])
    yield good("empty tensors", file_of({"z": entry("F64", [3, 0], 2, 2), "y": entry("U8", [2], 0, 2),
                                         "n": entry("BOOL", [0, 2**53 - 1], 0, 0)}, b"ab"),
               [("n", "bool", [0, 2**53 - 1], b""), ("y", "u8", [2], b"ab"), ("z", "f64", [3, 0], b"")])
    yield good("eight dimensions", file_of({"a": entry("U8", [1, 1, 2, 1, 1, 1, 1, 1], 0, 2)}, b"ab"),
               [("a", "u8", [1, 1, 2, 1, 1, 1, 1, 1], b"ab")])
    # The data begins at byte 8 + 65: no element is where its size would have it.
    odd = {"a": entry("F32", [1], 0, 4), "b": entry("I64", [1], 4, 12)}
    text = json.dumps(odd, separators=(",", ":"))
    yield good("data that is not aligned", file_of(text + " " * ((1 - len(text)) % 8), packed("fq", -0.5, -3)),
               [("a", "f32", [1], packed("f", -0.5)), ("b", "i64", [1], packed("q", -3))])
    yield good("names of all kinds", file_of(named, bytes(range(len(names)))),
               [(name, "u8", [], bytes([i])) for i, name in enumerate(names)])
    yield good("escapes in a name", file_of(escaped, b"x"), [('a/\b\f\n\r\t"\\\u00e9\U0001f600', "u8", [], b"x")])
    yield good("white space", file_of(spaced, b"ab"), [("a", "u8", [1, 2], b"ab")])


def one(fields, data=b"1234"):
    return file_of('{"a":{' + fields + "}}", data)


def bad_lengths():
    at_most = "byte 0: expected a header of at most 100000000 bytes, got a length of "
    for size in range(8):
        yield bad(f"{size} bytes", b"\1" * size, f"expected 8 bytes of header length, got {size}")
    yield bad("a header that is too long", file_of("{}", length=100_000_001), at_most + "100000001")
    yield bad("the longest length", file_of("{}", length=2**64 - 1), at_most + "18446744073709551615")
    yield bad("a length that overflows", file_of("{}", length=2**64 - 8), at_most + "18446744073709551608")
    yield bad("a length beyond the file", file_of("{}", length=3),
              "byte 0: expected a header within the file of 10 bytes, got a length of 3")
    yield bad("no header", file_of(""), "byte 8: expected a header that begins with '{', got the end of the text")


def bad_json():
    yield bad("a space before the header", file_of(" {}"),
              "byte 8: expected a header that begins with '{', got byte 32")
    yield bad("a byte order mark", file_of("\ufeff{}"), "byte 8: expected a header that begins with '{', got byte 239")
    yield bad("an array", file_of("[]"), "byte 8: expected a header that begins with '{', got an array")
    yield bad("an open object", file_of("{"),
              "byte 9: expected a name or the end of the object, got the end of the text")
    yield bad("a wrong bracket", file_of("{]"), "byte 9: expected a name or the end of the object, got ']'")
    yield bad("two objects", file_of("{}{}"), "byte 10: expected spaces behind the header's object, got an object")
    yield bad("a comment", file_of("{/**/}"), "byte 9: expected a name or the end of the object, got '/'")
    yield bad("a comma too many", one('"dtype":"U8",'), "expected a name or the end of the object, got '}'")
    yield bad("a name without quotes", file_of("{a:1}"), "expected a name or the end of the object, got a")
    yield bad("no colon", file_of('{"a"{}}'), "byte 12: expected ':', got an object")
    yield bad("no comma", file_of('{"__metadata__":{}"a":1}'), "expected ',' or '}', got text")
    yield bad("a byte that is not UTF-8", file_of(b'{"\xff":1}'), "byte 10: expected UTF-8, got byte 255")
    yield bad("UTF-8 that is too long", file_of(b'{"\xc0\x80":1}'), "byte 10: expected UTF-8, got byte 192")
    yield bad("half a pair in UTF-8", file_of(b'{"\xed\xa0\x80":1}'), "byte 10: expected UTF-8, got byte 237")
    yield bad("half a pair", file_of('{"\\ud83d":1}'), "expected both halves of a UTF-16 pair")
    yield bad("the other half", file_of('{"\\ude00x":1}'), "expected both halves of a UTF-16 pair")
    yield bad("an unknown escape", file_of('{"\\q":1}'), "byte 11: expected an escape of JSON, got q")
    yield bad("too few digits", file_of('{"\\u00e":1}'), "expected four hexadecimal digits")
    yield bad("a control character", file_of(b'{"\n":1}'),
              "byte 10: expected control characters of strings as escapes, got byte 10")
    yield bad("an open string", file_of('{"abc'), "expected the end of a string, got the end of the text")
    yield bad("text behind a NUL", file_of(b"{}\0hidden"),
              "byte 10: expected spaces behind the header's object, got byte 0")
    yield bad("deep nesting", file_of('{"a":' + "[" * 20_000), "expected an object with dtype, shape and data_offsets")
    yield bad("deep nesting in a shape", one('"shape":' + "[" * 20_000),
              'tensor "a": byte 23: expected integers from 0 on in shape, got an array')


def bad_entries():
    for value, got in [("null", "null"), ("true", "true"), ("1", "the number 1"), ("-1", "the number -1"),
                       ("0.5", "the number 0.5"), ('"text"', "text"), ("[]", "an array")]:
        yield bad(f"an entry that is {got}", file_of('{"a":' + value + "}"),
                  f'tensor "a": byte 13: expected an object with dtype, shape and data_offsets, got {got}')
    yield bad("no field", one(""), 'tensor "a": expected a field dtype, got none')
    yield bad("no shape", one('"dtype":"U8","data_offsets":[0,4]'), 'tensor "a": expected a field shape, got none')
    yield bad("no offsets", one('"dtype":"U8","shape":[4]'), 'tensor "a": expected a field data_offsets, got none')
    for field, value in [("dtype", '"U8"'), ("shape", "[]"), ("data_offsets", "[0,4]")]:
        yield bad(f"{field} twice", one(f'"{field}":{value},"{field}":{value}'), f"expected {field} once, got it again")
    yield bad("an unknown field", one('"strides":[1]'),
              'tensor "a": expected dtype, shape or data_offsets, got field "strides"')
    for dtype in ["f32", "", "C128", "U8 ", "__proto__"]:
        yield bad(f"dtype '{dtype}'", one(f'"dtype":"{dtype}"'),
                  f'tensor "a": expected a dtype of the format, such as F32 or I64, got "{dtype}"', "Unimplemented")
    yield bad("a number for a dtype", one('"dtype":8'), "expected a dtype's name, got the number 8")
    yield bad("null for a dtype", one('"dtype":null'), "expected a dtype's name, got null")
    for dtype, shape in [("F8_E4M3", 4), ("F8_E5M2", 4), ("F8_E8M0", 4), ("F4", 8)]:
        yield bad(f"dtype {dtype}", one(f'"dtype":"{dtype}","shape":[{shape}],"data_offsets":[0,4]'),
                  f'tensor "a": expected a dtype that Tandem has, got {dtype}', "Unimplemented")
    yield bad("a dtype of half bytes with an odd number", one('"dtype":"F4","shape":[7],"data_offsets":[0,4]'),
              "expected data_offsets that are 7 elements of 4 bits apart for F4[7], got [0, 4]")
    yield bad("a name twice", file_of('{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                                      '"\\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
              'expected each tensor\'s name once, got "a" again')
    yield bad("a bool that is 2", one('"dtype":"BOOL","shape":[4],"data_offsets":[0,4]', b"\0\1\2\1"),
              'tensor "a": expected bools of 0 or 1, got 2 in element 2')
    yield bad("a long name", file_of({"n" * 5000: 1}), "n" * 64 + '"...: byte 5012: expected an object')
    yield bad("a name that would drive a terminal", file_of('{"\\u001b[2J":1}'), 'tensor "\\x1b[2J": ')


def bad_shapes():
    def with_shape(shape, dtype="U8"):
        return one(f'"dtype":"{dtype}","data_offsets":[0,4],"shape":{shape}')

    numbers = "expected integers from 0 on in shape, got the number "
    for number in ["-1", "-0", "4.0", "4e0", "04", "18446744073709551616", "-9223372036854775808"]:
        yield bad(f"a dimension {number}", with_shape(f"[{number}]"), numbers + number)
    yield bad("a dimension of 2^63", with_shape("[9223372036854775808]"),
              "expected dimensions below 2^63, got 9223372036854775808")
    yield bad("a dimension of text", with_shape('["4"]'), "expected integers from 0 on in shape, got text")
    yield bad("a dimension of null", with_shape("[null]"), "expected integers from 0 on in shape, got null")
    yield bad("a comma too many in a shape", with_shape("[4,]"), "expected integers from 0 on in shape, got ']'")
    yield bad("no comma in a shape", with_shape("[4 4]"), "expected ',' or ']', got the number 4")
    yield bad("a number for a shape", with_shape("4"), "expected an array for shape, got the number 4")
    yield bad("nine dimensions", with_shape("[1,1,1,1,1,1,1,1,4]"), "expected at most 8 dimensions, got more",
              "Unimplemented")
    yield bad("2^64 elements", with_shape("[4294967296,4294967296]"),
              "expected a shape with fewer than 2^63 elements, got [4294967296,4294967296]")
    yield bad("2^64 bytes", with_shape("[2305843009213693952]", "F64"),
              "expected data_offsets that are 2305843009213693952 elements of 64 bits apart")
    # 32 bits would take this for 4 bytes.
    yield bad("2^32 + 4 bytes", with_shape("[1073741825]", "F32"),
              "expected data_offsets that are 1073741825 elements of 32 bits apart for F32[1073741825], got [0, 4]")


def bad_offsets():
    def with_offsets(offsets):
        return one('"dtype":"U8","shape":[4],"data_offsets":' + offsets)

    def two(a, b, data):
        return file_of({"a": entry("U8", [2], *a), "b": entry("U8", [2], *b)}, data)

    yield bad("one offset", with_offsets("[0]"), "expected two numbers in data_offsets, got one")
    yield bad("no offset", with_offsets("[]"), "expected two numbers in data_offsets, got none")
    yield bad("three offsets", with_offsets("[0,4,4]"), "expected two numbers in data_offsets, got more")
    yield bad("an offset below 0", with_offsets("[-4,0]"),
              "expected integers from 0 on in data_offsets, got the number -4")
    yield bad("a fraction as offset", with_offsets("[0,4.0]"), "in data_offsets, got the number 4.0")
    yield bad("an object for offsets", with_offsets("{}"), "expected an array for data_offsets, got an object")
    yield bad("offsets in descending order", with_offsets("[4,0]"),
              'tensor "a": expected data_offsets in ascending order, got [4, 0]')
    yield bad("offsets beyond the data", with_offsets("[0,5]"),
              'tensor "a": expected data_offsets within the data of 4 bytes, got [0, 5]')
    yield bad("offsets that overflow", with_offsets("[18446744073709551612,18446744073709551615]"),
              "expected data_offsets within the data of 4 bytes, got [18446744073709551612, 18446744073709551615]")
    yield bad("offsets too near", with_offsets("[0,3]"),
              "expected data_offsets that are 4 elements of 8 bits apart for U8[4], got [0, 3]")
    begins = 'expected data_offsets that begin at {}, where the data before ends, got '
    yield bad("a hole at the begin", two([1, 3], [3, 5], b"12345"), 'tensor "a": ' + begins.format(0) + "[1, 3]")
    yield bad("a hole", two([0, 2], [3, 5], b"12345"), 'tensor "b": ' + begins.format(2) + "[3, 5]")
    yield bad("an overlap", two([0, 2], [1, 3], b"123"), 'tensor "b": ' + begins.format(2) + "[1, 3]")
    yield bad("the same data", two([0, 2], [0, 2], b"12"), 'tensor "b": ' + begins.format(2) + "[0, 2]")
    yield bad("a byte too many", two([0, 2], [2, 4], b"12345"),
              "expected the end of the file after the last tensor, got 1 more bytes")
    yield bad("data without tensors", file_of("{}", b"x"),
              "byte 10: expected the end of the file after the last tensor, got 1 more bytes")


def bad_metadata():
    for value, got in [("null", "null"), ("1", "the number 1"), ('"text"', "text"), ("[]", "an array"),
                       ("true", "true")]:
        yield bad(f"metadata that is {got}", file_of('{"__metadata__":' + value + "}"),
                  f"expected an object of text for __metadata__, got {got}")
    for value, got in [("null", "null"), ("1", "the number 1"), ("-1", "the number -1"), ("0.5", "the number 0.5"),
                       ("{}", "an object"), ("[]", "an array"), ("true", "true")]:
        yield bad(f"a value of metadata that is {got}", file_of('{"__metadata__":{"k":' + value + "}}"),
                  f"expected text as value in __metadata__, got {got}")
    yield bad("a key twice", file_of('{"__metadata__":{"k":"1","k":"2"}}'),
              'expected each key of __metadata__ once, got "k" again')
    yield bad("metadata twice", file_of('{"__metadata__":{},"__metadata__":{}}'),
              "expected __metadata__ once, got it again")


def main():
    sources = [good_cases, bad_lengths, bad_json, bad_entries, bad_shapes, bad_offsets, bad_metadata]
    cases = [case for source in sources for case in source()]
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
    lines = ",\n".join(json.dumps(case) for case in cases)
    text = f'{{"generated_by": "tests/data/safetensors/make_cases.py", "cases": [\n{lines}\n]}}\n'
    path = HERE / "cases.json"
    if "--check" not in sys.argv[1:]:
        path.write_text(text)
    elif path.read_text() != text:
        sys.exit(f"{path} is not what {pathlib.Path(__file__).name} writes: run it, and commit what it writes")


main()
