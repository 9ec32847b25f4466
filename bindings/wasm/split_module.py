#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Splits a linked module in two: one for every page, and one with what only programs need, which is loaded on demand.

The first, the primary, keeps memory, table and exports; the second, the secondary, imports them from "primary" and puts
its functions into the table. Which functions those are is said by two linker maps, of links that differ in their
exports alone: what is in the module only because the functions of programs are exported, nothing else can reach. The
primary ends in a custom section "tandem.build" and the secondary in one "tandem.programs", which have the same text, by
which JavaScript knows that they fit.

usage: split_module.py --bin DIR --linked FILE --map FILE --map-without FILE --exports FILE --primary FILE
                       --secondary FILE [--threads]

The linked module has the linker's names for its functions, and is optimised by what changes no function's identity.
With --threads the primary imports from "placeholder", by the number of its place in the table, what to call in the
place of each function of the secondary; without, those places are empty before the secondary is there.
"""

import argparse
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from wasm_size import function_names, read_leb, sections  # noqa: E402

FEATURES = ("simd", "bulk-memory", "sign-ext", "nontrapping-float-to-int", "mutable-globals")
# As Emscripten optimises a whole module with -Os, after which nothing is left to do but this.
OPTIMISE = ("-Os", "--low-memory-unused", "--zero-filled-memory", "--strip-debug", "--strip-producers")
BUILD_SECTIONS = {"primary": "tandem.build", "secondary": "tandem.programs"}
CUSTOM, ELEMENTS = 0, 9
END, I32_CONST, REF_NULL = 0x0B, 0x41, 0xD0


def fail(text):
    sys.exit(f"split_module: {text}")


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        fail(f"{pathlib.Path(command[0]).name} failed: {(done.stderr + done.stdout)[:2000]}")
    return done.stdout


def leb(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed_leb(value):
    out = bytearray()
    while value > 63:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


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


def without_nulls(body):
    """An element section whose segments leave out what they say is empty, as engines without reference types want."""
    segments = []
    for first, functions in element_segments(body):
        run = []
        for place, function in enumerate([*functions, None], first):
            if function is not None:
                run.append(leb(function))
            elif run:
                segments.append(b"\0" + bytes([I32_CONST]) + signed_leb(place - len(run)) + bytes([END])
                                + leb(len(run)) + b"".join(run))
                run = []
    return leb(len(segments)) + b"".join(segments)


def linked_symbols(path):
    return set(re.findall(r":\((.+)\)$", path.read_text(encoding="utf-8"), re.M))


def find_split(options, linked):
    """The functions that go to the secondary, sorted."""
    added = linked_symbols(options.map) - linked_symbols(options.map_without)
    names = {name for _, name in function_names(dict(sections(linked)).get("name", b""))}
    split = added & names
    exports = set(re.findall(r"^[a-z]\w+", options.exports.read_text(encoding="utf-8"), re.M))
    if not exports <= split:
        fail(f"what is exported for programs alone is used by the rest: {', '.join(sorted(exports - split))}")
    return sorted(split)


def check_calls(graph, split):
    """Nothing but functions of the secondary may call one of them."""
    split = set(split)
    calls = re.findall(r'"(.+)" -> "(.+)"; // call', graph)
    if not calls:
        fail("expected a call graph, got none: this wasm-opt prints it otherwise")
    wrong = sorted(f"{caller} calls {callee}" for caller, callee in calls if callee in split and caller not in split)
    if wrong:
        fail(f"the primary would call the secondary: {'; '.join(wrong)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bin", "linked", "map", "map-without", "exports", "primary", "secondary"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--threads", action="store_true")
    options = parser.parse_args()
    features = [f"--enable-{name}" for name in (*FEATURES, *(("threads",) if options.threads else ()))]
    split = find_split(options, options.linked.read_bytes())
    check_calls(run(options.bin / "wasm-opt", *features, options.linked, "--print-call-graph"), split)

    with tempfile.TemporaryDirectory() as folder:
        parts = {role: pathlib.Path(folder) / role for role in ("primary", "secondary")}
        wanted = pathlib.Path(folder) / "functions"
        wanted.write_text("\n".join(split), encoding="utf-8")
        placeholders = ("--placeholder-namespace=placeholder",) if options.threads else ("--no-placeholders",)
        run(options.bin / "wasm-split", *features, options.linked, f"--split-funcs=@{wanted}", *placeholders,
            "--import-namespace=primary", "-o1", parts["primary"], "-o2", parts["secondary"])
        for path in parts.values():
            path.write_bytes(rebuilt((name, without_nulls(body) if name == str(ELEMENTS) else body)
                                     for name, body in sections(path.read_bytes())))
            run(options.bin / "wasm-opt", *features, *OPTIMISE, path, "-o", path)
        modules = {role: path.read_bytes() for role, path in parts.items()}
    build = hashlib.sha256(modules["primary"] + modules["secondary"]).hexdigest()[:16]
    for role, module in modules.items():
        vars(options)[role].write_bytes(rebuilt([*sections(module), (BUILD_SECTIONS[role], build.encode())]))


if __name__ == "__main__":
    main()
