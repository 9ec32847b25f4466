#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Compares the results of conformance cases on several targets, bit for bit (NU-3).

usage: compare_bits.py [--most N] FILE FILE...

The files are what conformance_runner and run.mjs write with --bits: lines "FAMILY NAME OP HASH", where the hash may also
be "error", which was expected, "failed", or "skipped" where a target cannot make the call. Prints each case that differs
(N of them at most, 100 by default; 0: all) with the files that agree with one another, then a line for each op, then
"N cases, N differ, N skipped": the last are those that not all targets could be compared for. Cases that failed, or that
a file lacks, count as differing. The exit status is 1 if any differs or there are none.
"""

import argparse
import collections
import pathlib
import sys


def read(path):
    """The word of each case by (family, name, op), in order."""
    words = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        parts = line.split(" ")
        if len(parts) != 4:
            sys.exit(f"compare_bits: {path}:{number}: expected FAMILY NAME OP HASH, got {line!r}")
        words[tuple(parts[:3])] = parts[3]
    return words


def names_of(paths):
    """What the paths differ by."""
    parts = [path.with_suffix("").parts for path in paths]
    if len(set(map(len, parts))) != 1 or len(set(parts)) != len(parts):
        return list(map(str, paths))
    places = [i for i, names in enumerate(zip(*parts)) if len(set(names)) > 1]
    return ["/".join(names[i] for i in places) for names in parts]


def groups(files, case):
    """The names of the files that have the same word, as "NAME|NAME: WORD" each; [] if the case is all right."""
    by_word = collections.defaultdict(list)
    for name, words in files:
        by_word[words.get(case, "missing")].append(name)
    by_word.pop("skipped", None)
    if len(by_word) < 2 and not {"failed", "missing"} & set(by_word):
        return []
    return [f"{'|'.join(names)}: {word}" for word, names in by_word.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=100, metavar="N", help="how many cases are shown; 0: all")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args()
    if len(args.files) < 2:
        parser.error("expected two files or more")

    files = list(zip(names_of(args.files), map(read, args.files)))
    cases = {case: None for _, words in files for case in words}
    shown, differing = 0, collections.Counter()
    for case in cases:
        parts = groups(files, case)
        if not parts:
            continue
        family, name, op = case
        differing[op] += 1
        if not args.most or shown < args.most:
            print(f"{family} {name} {op}  " + "  ".join(parts))
            shown += 1
    total = sum(differing.values())
    if shown < total:
        print(f"and {total - shown} more")
    per_op = collections.Counter(op for _, _, op in cases)
    for op, count in sorted(differing.items()):
        print(f"{op}: {count} of {per_op[op]} differ")
    skipped = sum(any(words.get(case) == "skipped" for _, words in files) for case in cases)
    print(f"{len(cases)} cases, {total} differ, {skipped} skipped")
    return 1 if total or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
