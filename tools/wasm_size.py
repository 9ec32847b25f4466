#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""What a WebAssembly module is made of: its sections, and its functions grouped by name without template arguments.

Needs a module with names: link it with --profiling-funcs. Prints for each group the bytes after gzip of its functions
alone, the bytes before, and the number of functions, most first.
"""

import argparse
import collections
import re
import subprocess
import zlib


def read_leb(data, at):
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return result, at


def sections(data):
    at = 8
    while at < len(data):
        kind = data[at]
        size, at = read_leb(data, at + 1)
        name = str(kind)
        body = data[at : at + size]
        if kind == 0:
            length, start = read_leb(body, 0)
            name = body[start : start + length].decode()
            body = body[start + length :]
        yield name, body
        at += size


def function_names(body):
    at = 0
    while at < len(body):
        kind = body[at]
        size, at = read_leb(body, at + 1)
        end = at + size
        if kind == 1:
            count, at = read_leb(body, at)
            for _ in range(count):
                index, at = read_leb(body, at)
                length, at = read_leb(body, at)
                yield index, body[at : at + length].decode()
                at += length
        at = end


def function_bodies(body):
    count, at = read_leb(body, 0)
    for _ in range(count):
        size, at = read_leb(body, at)
        yield body[at : at + size]
        at += size


def group_of(name):
    name = re.sub(r"\(anonymous namespace\)::|tandem::(cpu::)?(N_\w+::)?", "", name)
    kernel = re.search(r"MakeKernel<(.*)", name)
    if kernel:
        return "kernel " + re.split(r"[<(]", kernel[1].lstrip("&"))[0]
    if "EraseMetadata<" in name:
        return "metadata functions"
    task = re.search(r"FunctionRef<.*?>::FunctionRef<(.*)", name)
    return ("task in " if task else "") + re.split(r"[<(]", task[1] if task else name)[0].split(" ")[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module")
    parser.add_argument("--groups", type=int, default=50, help="how many to print (default: 50)")
    arguments = parser.parse_args()
    with open(arguments.module, "rb") as file:
        parts = dict(sections(file.read()))
    for name, body in parts.items():
        print(f"section {name}: {len(body)} bytes, {len(zlib.compress(body, 9))} after gzip")

    names = dict(function_names(parts.get("name", b"")))
    bodies = list(function_bodies(parts["10"]))
    # Imported functions have the first numbers.
    imported = max(names, default=-1) + 1 - len(bodies)
    mangled = "\n".join(names.get(imported + i, "?") for i in range(len(bodies)))
    readable = subprocess.run(["c++filt"], input=mangled, text=True, capture_output=True, check=True).stdout.split("\n")
    groups = collections.defaultdict(list)
    for name, body in zip(readable, bodies):
        groups[group_of(name)].append(body)
    rows = [(len(zlib.compress(b"".join(all), 9)), sum(map(len, all)), len(all), name) for name, all in groups.items()]
    for row in sorted(rows, reverse=True)[: arguments.groups]:
        print("{:8}{:9}{:6}  {}".format(*row))


if __name__ == "__main__":
    main()
