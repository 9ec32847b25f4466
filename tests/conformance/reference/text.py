# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of ops on strings."""

import re

from case_suite import Suite, Tensor, common_errors, scalar, vector

MASK = (1 << 64) - 1
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def rotate(x, bits):
    return (x >> bits | x << (64 - bits)) & MASK


def fold(x):
    return x ^ x >> 47


def number(data, at, size=8):
    return int.from_bytes(data[at:at + size], "little")


def mix(u, v, factor):
    a = fold((u ^ v) * factor & MASK)
    return fold((v ^ a) * factor & MASK) * factor & MASK


def block(data, at, a, b):
    w, x, y, z = (number(data, at + 8 * i) for i in range(4))
    a = a + w & MASK
    b = rotate(b + a + z & MASK, 21)
    c = a
    a = a + x + y & MASK
    return a + z & MASK, b + rotate(a, 44) + c & MASK


def short_fingerprint(data):
    n = len(data)
    factor = K2 + 2 * n & MASK
    if n >= 8:
        a, b = number(data, 0) + K2 & MASK, number(data, n - 8)
        return mix(rotate(b, 37) * factor + a & MASK, (rotate(a, 25) + b) * factor & MASK, factor)
    if n >= 4:
        return mix(n + (number(data, 0, 4) << 3) & MASK, number(data, n - 4, 4), factor)
    if n == 0:
        return K2
    y, z = data[0] + (data[n >> 1] << 8), n + (data[n - 1] << 2)
    return fold((y * K2 ^ z * K0) & MASK) * K2 & MASK


def fingerprint(data):
    """FarmHash's Fingerprint64, by its authors' definition."""
    n = len(data)
    if n <= 16:
        return short_fingerprint(data)
    if n <= 64:
        factor = K2 + 2 * n & MASK
        a, b = number(data, 0) * (K1 if n <= 32 else K2) & MASK, number(data, 8)
        c, d = number(data, n - 8) * factor & MASK, number(data, n - 16) * K2 & MASK
        y = rotate(a + b & MASK, 43) + rotate(c, 30) + d & MASK
        z = mix(y, a + rotate(b + K2 & MASK, 18) + c & MASK, factor)
        if n <= 32:
            return z
        e, f = number(data, 16) * factor & MASK, number(data, 24)
        g, h = (y + number(data, n - 32)) * factor & MASK, (z + number(data, n - 24)) * factor & MASK
        return mix(rotate(e + f & MASK, 43) + rotate(g, 30) + h & MASK, e + rotate(f + a & MASK, 18) + g & MASK, factor)
    y = 81 * K1 + 113 & MASK
    z = fold(y * K2 + 113 & MASK) * K2 & MASK
    x = 81 * K2 + number(data, 0) & MASK
    v, w = (0, 0), (0, 0)

    def step(at, factor, scale):
        nonlocal x, y, z, v, w
        x = rotate(x + y + v[0] + number(data, at + 8) & MASK, 37) * factor & MASK
        y = rotate(y + v[1] + number(data, at + 48) & MASK, 42) * factor & MASK
        x ^= w[1] * scale & MASK
        y = y + v[0] * scale + number(data, at + 40) & MASK
        z = rotate(z + w[0] & MASK, 33) * factor & MASK
        v = block(data, at, v[1] * factor & MASK, x + w[0] & MASK)
        w = block(data, at + 32, z + w[1] & MASK, y + number(data, at + 16) & MASK)
        x, z = z, x

    end = (n - 1) // 64 * 64
    for at in range(0, end, 64):
        step(at, K1, 1)
    factor = K1 + ((z & 0xFF) << 1) & MASK
    w = (w[0] + (n - 1 & 63) & MASK, w[1])
    v = (v[0] + w[0] & MASK, v[1])
    w = (w[0] + v[0] & MASK, w[1])
    step(n - 64, factor, 9)
    return mix(mix(v[0], w[0], factor) + fold(y) * K0 + z & MASK, mix(v[1], w[1], factor) + x & MASK, factor)


# Known answers, of TensorFlow's tests.
assert fingerprint(b"Hello") == 15404698994557526151
assert fingerprint(b"World") == 18308117990299812472


def hash_cases(suite):
    op = "StringToHashBucketFast"

    def call(name, x, buckets, tags=()):
        values = [fingerprint(text.encode()) % buckets for text in x.values]
        suite.case(f"{op}_{name}", f"tf.{op}", [x], Tensor("i64", x.shape, values), {"num_buckets": buckets},
                   tags=list(tags) + (["empty"] if 0 in x.shape else []))

    letters = "The quick brown fox jumps over the lazy dog, and \u00e4 \u6f22\u5b57 \U0001f600 after that; " * 4
    call("lengths", vector("string", [letters[:n] for n in range(150)]), 2**63 - 1)
    call("few", vector("string", ["a", "b", "c", "d", "Hello", "World"]), 10)
    call("one", vector("string", ["a", ""]), 1)
    call("scalar", scalar("string", "Hello"), 1000)
    call("matrix", Tensor("string", (2, 2), ["a", "", "\u00e4", "abc"]), 7)
    call("empty", Tensor("string", (0, 2), []), 7)
    suite.error(f"{op}_buckets", f"tf.{op}", [vector("string", ["a"])], "attribute num_buckets must be at least 1, got 0",
                {"num_buckets": 0})
    common_errors(suite, f"tf.{op}", [vector("string", ["a"])], ["input"], None, {"num_buckets": 3}, "one of num_buckets")


def split_bytes(text, delimiters, skip_empty):
    if not delimiters:
        return list(text)
    for delimiter in delimiters[1:]:
        text = text.replace(delimiter, delimiters[0])
    return [part for part in text.split(delimiters[0]) if part or not skip_empty]


def split_text(text, separator, most):
    if most == 0:
        return [text]
    parts = text.split(separator or None, most)
    # What TensorFlow does with white space: an empty rest counts, too.
    if not separator and most > 0 and len(parts) == most:
        parts.append("")
    return parts


def split_cases(suite, op, name, function, attr, settings):
    def call(case, x, separator, setting=None, tags=()):
        rows = [function(text, separator, settings[0] if setting is None else setting) for text in x.values]
        indices = [(i, j) for i, parts in enumerate(rows) for j in range(len(parts))]
        outputs = [Tensor("i64", (len(indices), 2), [k for pair in indices for k in pair]),
                   vector("string", [part for parts in rows for part in parts]),
                   vector("i64", [len(rows), max(map(len, rows), default=0)])]
        suite.case(f"{op}_{case}", f"tf.{op}", [x, scalar("string", separator)], outputs,
                   None if setting is None else {attr: setting}, tags=list(tags) + ([] if indices else ["empty"]))

    texts = vector("string", ["a b c", "", " lead", "trail ", "two  spaces", "   ", "x", "a,b;c", ",,", "no"])
    for number, separator in enumerate([" ", ",", "", ";,", "  ", "b", ", "]):
        call(f"default{number}", texts, separator)
        for setting in settings:
            call(f"{number}_{setting}", texts, separator, setting)
    call("nothing", vector("string", []), " ")
    call("all_empty", vector("string", ["", ""]), " ")
    call("large", vector("string", ["word " * (i % 40) for i in range(90)]), " ", tags=["large"])
    x, space = vector("string", ["a b"]), scalar("string", " ")
    suite.error(f"{op}_matrix", f"tf.{op}", [Tensor("string", (1, 1), ["a"]), space],
                "input must be a vector, got input: string[1,1]")
    suite.error(f"{op}_separators", f"tf.{op}", [x, vector("string", [" "])], f"{name} must be a scalar, got {name}: string[1]")
    suite.error(f"{op}_numbers", f"tf.{op}", [vector("i32", [1]), space], "argument 0 (input) must be string, got i32[1]")
    common_errors(suite, f"tf.{op}", [x, space], ["input"], None, required=f"one of {attr}")


def ngrams_of(tokens, widths, separator, left, right, pad_width, preserve):
    result = []
    for width in widths:
        padding = width - 1 if pad_width < 0 else min(pad_width, width - 1)
        padded = [left] * padding + tokens + [right] * padding
        result += [separator.join(padded[i:i + width]) for i in range(len(padded) - width + 1)]
    if preserve and not result and tokens:
        result = [separator.join([left] * max(pad_width, 0) + tokens + [right] * max(pad_width, 0))]
    return result


def ngram_cases(suite):
    op = "StringNGrams"

    def call(name, rows, widths, pad_width=0, separator="|", preserve=False, splits="i64", tags=()):
        attrs = {"separator": separator, "ngram_widths": widths, "left_pad": "LP", "right_pad": "RP",
                 "pad_width": pad_width, "preserve_short_sequences": preserve}
        grams = [ngrams_of(row, widths, separator, "LP", "RP", pad_width, preserve) for row in rows]

        def ends(lists):
            return [0] + [sum(map(len, lists[:i + 1])) for i in range(len(lists))]

        inputs = [vector("string", [t for row in rows for t in row]), vector(splits, ends(rows))]
        outputs = [vector("string", [g for row in grams for g in row]), vector(splits, ends(grams))]
        suite.case(f"{op}_{name}", f"tf.{op}", inputs, outputs, attrs, tags=list(tags))

    rows = [["a", "b", "c", "d"], [], ["e"], ["f", "", "\u00e4"], ["g", "h"]]
    for widths in ([1], [2], [3], [2, 3], [5], [], [1, 7]):
        for pad_width in (-1, 0, 1, 2, 5):
            for preserve in (False, True):
                call(f"{'_'.join(map(str, widths))}_pad{pad_width}_{preserve}", rows, widths, pad_width, preserve=preserve)
    call("i32", rows, [2], 1, splits="i32")
    call("no_separator", rows, [3], -1, separator="")
    call("no_rows", [], [2])
    call("large", [[str(i) for i in range(n)] for n in range(40)], [2, 4], 1, tags=["large"])
    right = {"separator": " ", "ngram_widths": [2], "left_pad": "", "right_pad": "", "pad_width": 0,
             "preserve_short_sequences": False}
    data, splits = vector("string", ["a", "b", "c"]), vector("i64", [0, 1, 3])

    def wrong(name, inputs, text, **attrs):
        suite.error(f"{op}_{name}", f"tf.{op}", inputs, text, {**right, **attrs})

    wrong("width_zero", [data, splits], "ngram_widths must be in [1, 2^31], got 0", ngram_widths=[2, 0])
    wrong("splits_begin", [data, vector("i64", [1, 3])], "data_splits must begin with 0 and ascend, got 1 at element 0")
    wrong("splits_descend", [data, vector("i64", [0, 2, 1, 3])], "data_splits must begin with 0 and ascend, got 1 at element 2")
    wrong("splits_end", [data, vector("i64", [0, 2])], "data_splits must end with the 3 strings of data, got 2")
    wrong("matrix", [Tensor("string", (1, 3), ["a", "b", "c"]), splits],
          "data and data_splits must be vectors, got data: string[1,3], data_splits: i64[3]")
    common_errors(suite, f"tf.{op}", [data, splits], ["data"], None, right, "one of separator, ngram_widths, left_pad, "
                  "right_pad, pad_width, preserve_short_sequences, Tsplits")


def replaced(text, expression, rewrite, everywhere):
    """As RE2 does: no empty match right behind another match."""
    result, at, last = "", 0, None
    while at <= len(text):
        match = expression.search(text, at)
        if match is None:
            break
        result += text[at:match.start()]
        at = match.start()
        if match.end() == at == last:
            result += text[at:at + 1]
            at += 1
            continue
        i = 0
        while i < len(rewrite):
            if rewrite[i] == "\\":
                i += 1
                result += "\\" if rewrite[i] == "\\" else match.group(int(rewrite[i])) or ""
            else:
                result += rewrite[i]
            i += 1
        at = last = match.end()
        if not everywhere:
            break
    return result + text[at:]


# Patterns, and the same for Python's module where they differ.
PATTERNS = [
    ("a", None), ("", None), ("a*", None), ("a+?", None), ("x*", None), ("(a|ab)(c|bcd)(d*)", None), ("(a+)(b+)?", None),
    (".", None), ("(?s).", None), ("[abc]", None), ("[^abc ]+", None), ("[a-cx-z]{2,3}", None), ("[]a]", r"[\]a]"),
    ("[-a]", None), ("[a-]", None), (r"[\d\s]", None), (r"[^\w]", None), (r"\d+", None), (r"\D+", None), (r"\s", None),
    (r"\S+", None), (r"\w+", None), (r"\W", None), (r"\bb", None), (r"\Bb", None), ("^a", None), ("d$", r"d\Z"),
    ("(?m)^.", None), ("(?m).$", None), (r"\Aa", None), (r"d\z", r"d\Z"), ("(?i)AB", None), ("(?i)[A-B]+", None),
    ("(?i:A)b", None), ("a{2}", None), ("a{0}b", None), ("a{1,}", None), ("a{,2}", r"a\{,2\}"), ("(ab){1,2}?", None),
    ("(?P<name>b)(c)", None), ("(?<name>b)(c)", "(?P<name>b)(c)"), ("(?:a|b)+", None), ("a|b|", None), ("|a", None),
    (r"\x61|\x{e4}", "a|\u00e4"), (r"\.|\*|\\", None), (r"\Qa.b\E|c", r"a\.b|c"), ("[[:alpha:]]+", "[A-Za-z]+"),
    ("[[:^digit:]]", "[^0-9]"), ("[[:space:][:punct:]]+", r"[\t-\r !-/:-@\[-`{-~]+"), ("\u00e4|\u6f22", None),
    ("[\u00e0-\u00ff]", None), ("((((a))))", None), ("(a*)*", None), ("(a*)+", None), ("(?U)a+", "a+?"),
    ("(?U)a+?", "a+"), ("(?i)\u00e4", None), ("\t|\n", None), (r"\t|\n", None), ("(?i-i)A", "A"), ("a(?i)B", "a[Bb]"),
]


def regex_cases(suite):
    op = "StaticRegexReplace"
    texts = ["", "a", "aaa", "abcd", "abab", "xyz abc-12 3", "a.b*c\\d", "line\nabd\n", "\u00e4a\u6f22\U0001f600b", "AbaB ab_b b",
             "]a-[", "tab\there", "a{,2}", "1 22 333"]
    x = vector("string", texts)

    def call(name, pattern, python, rewrite, everywhere=None, x=x, tags=()):
        expression = re.compile(python or pattern, re.ASCII)
        y = [replaced(text, expression, rewrite, everywhere is not False) for text in x.values]
        attrs = {"pattern": pattern, "rewrite": rewrite}
        if everywhere is not None:
            attrs["replace_global"] = everywhere
        suite.case(f"{op}_{name}", f"tf.{op}", [x], Tensor("string", x.shape, y), attrs, tags=list(tags))

    for number, (pattern, python) in enumerate(PATTERNS):
        call(f"{number}", pattern, python, r"<\0>")
        call(f"{number}_first", pattern, python, "_", False)
    call("groups", "(a)(b)?(c)?", None, r"\3\2\1\\.", True)
    call("ten_groups", "(a)" * 2 + "(b)?" * 7 + "(c)?", None, r"[\9\1]")
    call("scalar", "b", None, "", x=scalar("string", "abc"))
    call("matrix", "b", None, "xx", x=Tensor("string", (2, 2), ["b", "", "ab", "bb"]))
    call("empty", "b", None, "", x=Tensor("string", (0, 2), []), tags=["empty"])
    call("large", "(a|aa)+$", r"a+\Z", "x", x=vector("string", ["a" * 200 + "b", "ab" * 300, "a" * 500]), tags=["large"])
    right = {"pattern": "a", "rewrite": "b"}

    def wrong(name, text, **attrs):
        suite.error(f"{op}_{name}", f"tf.{op}", [vector("string", ["a"])], text, {**right, **attrs})

    for number, (pattern, text) in enumerate([
            ("(a", "lacks a ')', at byte 2"), ("a)", "has a ')' without '(', at byte 1"), ("[a", "lacks a ']', at byte 2"),
            ("*a", "has a repetition of nothing, at byte 0"), ("a**", "has a repetition of a repetition, at byte 2"),
            ("a{3,2}", "has a bad number of repetitions, at byte 6"), ("a{1001}", "has a bad number of repetitions, at byte 7"),
            ("[b-a]", "has a range whose end comes before its beginning, at byte 4"), (r"\p", "has an unknown escape, at byte 1"),
            (r"(a)\1", "has an unknown escape, at byte 4"), ("a\\", "has an unknown escape, at byte 2"),
            ("[[:nothing:]]", "has a class of an unknown name, at byte 3"), ("(?<>a)", "has a group with a bad name, at byte 3"),
            ("(?=a)", "has a group of an unknown kind, at byte 2"), ("((a{500}){500}){500}", "is too large, at byte 14"),
            ("(" * 300 + ")" * 300, "is nested too deeply, at byte 201")]):
        wrong(f"pattern{number}", f"pattern {text}", pattern=pattern)
    wrong("rewrite", "a backslash in rewrite must be followed by a digit or a backslash", rewrite=r"\x")
    wrong("rewrite_end", "a backslash in rewrite must be followed by a digit or a backslash", rewrite="a\\")
    wrong("rewrite_group", "rewrite must name groups of pattern, which has 1, got 2", pattern="(a)", rewrite=r"\2")
    common_errors(suite, f"tf.{op}", [x], ["input"], None, right, "one of pattern, rewrite, replace_global")


def suite():
    result = Suite()
    regex_cases(result)
    hash_cases(result)
    split_cases(result, "StringSplit", "delimiter", split_bytes, "skip_empty", [True, False])
    split_cases(result, "StringSplitV2", "sep", split_text, "maxsplit", [-1, 0, 1, 2])
    ngram_cases(result)
    return result
