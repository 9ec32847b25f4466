#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Splits a linked module: one part for every page, and others that are loaded on demand.

The first part, the primary, keeps memory, table and exports; each other one imports them from "primary" and puts its
functions into the table. These are

- programs: which functions those are is said by two linker maps, of links that differ in their exports alone: what is in
  the module only because the functions of programs are exported, nothing else can reach;
- kernels: what only kernels lead to that --first does not name. Relocations, which a third link keeps, tell what leads
  to what; nobody calls those kernels before their part is there (LaterKernels);
- fusion: what only --fusion-exports lead to, or these and programs, which are called when it is there.

Constants that only a part needs are in it, too; that is known where there are relocations.

The primary has one more module, of relaxed SIMD, in its section "tandem.relaxed", for engines that have it.

Each part ends in a custom section, the primary in "tandem.build", the others in "tandem.programs" and so on, which have
the same text, by which JavaScript knows that they fit.

usage: split_module.py --bin DIR --linked FILE --map FILE --map-without FILE --exports FILE --primary FILE
                       --programs FILE [--graph FILE --first FILE --definitions FILE --kernels FILE
                       --fusion FILE --fusion-exports FILE] [--relaxed FILE] [--threads]

The linked module has the linker's names for its functions, and is optimised by what changes no function's identity.
With --threads the primary imports from "placeholder", by the number of its place in the table, what to call in the
place of each function of another part; without, nothing is called there before that part is there.
"""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import tempfile

from module_constants import Constants, bytes_at, data_section, zeroed
from module_format import (CODE, DATA, ELEMENTS, END, EXPORTS, I32_CONST, IMPORTS, TABLE, element_segments, fail,
                           function_names, leb, name_bytes, read_exports, read_imports, read_leb, rebuilt, sections,
                           signed_leb)
from module_graph import ModuleGraph, places_of

import select_ops
from op_codegen import selection

FEATURES = ("simd", "bulk-memory", "sign-ext", "nontrapping-float-to-int", "mutable-globals")
# As Emscripten optimises a whole module with -Os, after which nothing is left to do but this. A function with one caller
# stays one unless it is small: engines compile functions one by one when they are first called, and once more, better,
# what is called often, so that an inner loop must not become a part of what is called once. It compresses better, too.
OPTIMISE = ("-Os", "--one-caller-inline-max-function-size=60", "--low-memory-unused", "--zero-filled-memory",
            "--strip-debug", "--strip-producers")
BUILD_SECTIONS = {"primary": "tandem.build", "programs": "tandem.programs", "kernels": "tandem.kernels",
                  "fusion": "tandem.fusion"}
# What a page's main thread may compile at once, in any browser.
MAX_RELAXED = 4096
# Ops whose kernels compute with the rows of another op: as HasUse of elementwise_rows.h and reduction_rows.cc have it.
USERS_OF_ROWS = {"tf.AddV2": ("tf.AddN", "tf.BiasAdd", "tf.Cumsum"), "tf.Mul": ("tf.Cumprod", "tf.Einsum"),
                 "tf.Sum": ("tf.BiasAddGrad", "tf.Einsum")}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        fail(f"{pathlib.Path(command[0]).name} failed: {(done.stderr + done.stdout)[:2000]}")
    return done.stdout


def relaxed_section(bin_folder, path, threads):
    """The section with a module of relaxed SIMD, which must need nothing but the memory of the one that it is in."""
    features = (*FEATURES, "relaxed-simd", *(("threads",) if threads else ()))
    with tempfile.TemporaryDirectory() as folder:
        optimised = pathlib.Path(folder) / "relaxed.wasm"
        run(bin_folder / "wasm-opt", *(f"--enable-{name}" for name in features), *OPTIMISE,
            "--strip-target-features", path, "-o", optimised)
        module = optimised.read_bytes()
    parts = dict(sections(module))
    imports = [(place, name) for place, name, _ in read_imports(parts[str(IMPORTS)])]
    if imports != [("env", "memory")] or str(DATA) in parts:
        fail(f"expected a module of relaxed SIMD without data that imports memory alone, got {imports}")
    if len(module) > MAX_RELAXED:
        fail(f"expected at most {MAX_RELAXED} bytes of relaxed SIMD, got {len(module)}")
    return ("tandem.relaxed", module)


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


def without_gaps(body):
    """An element section of one segment, in which some function is in the empty places, where nobody calls it."""
    ((first, functions),) = element_segments(body)
    some = next(function for function in functions if function is not None)
    return (leb(1) + b"\0" + bytes([I32_CONST]) + signed_leb(first) + bytes([END]) + leb(len(functions))
            + b"".join(leb(some if function is None else function) for function in functions))


def any_larger(rest):
    """What an import section says of a table, but for how large it is at most: splitting once more makes it larger."""
    if rest[0] != TABLE or not rest[2] & 1:
        return rest
    _, end = read_leb(rest, 3)
    return rest[:2] + bytes([rest[2] & ~1]) + rest[3:end]


def with_imports_named(body, names):
    """An import section with what comes from the primary under other names."""
    imports = [(module, name, any_larger(rest)) for module, name, rest in read_imports(body)]
    return leb(len(imports)) + b"".join(
        name_bytes(module) + name_bytes(names[name] if module == "primary" else name) + rest
        for module, name, rest in imports)


def with_short_names(modules, public):
    """The modules with numbers for the names of what the primary exports for other parts alone."""
    exports = list(read_exports(dict(sections(modules["primary"]))[str(EXPORTS)]))
    names = {}
    for name, _, _ in exports:
        names[name] = name if name in public else str(len(names))
    exported = leb(len(exports)) + b"".join(
        name_bytes(names[name]) + bytes([kind]) + leb(index) for name, kind, index in exports)
    short = {}
    for part, module in modules.items():
        is_primary = part == "primary"
        short[part] = rebuilt(
            (section_name, exported if is_primary and section_name == str(EXPORTS)
             else with_imports_named(body, names) if not is_primary and section_name == str(IMPORTS) else body)
            for section_name, body in sections(module))
    return short


def linked_symbols(path):
    return set(re.findall(r":\((.+)\)$", path.read_text(encoding="utf-8"), re.M))


def names_of(module):
    return {name for _, name in function_names(dict(sections(module)).get("name", b""))}


def read_names(path):
    return set(re.findall(r"^[a-z]\w+", path.read_text(encoding="utf-8"), re.M))


def find_programs(options, linked):
    """The functions that go to the part of programs, sorted."""
    added = linked_symbols(options.map) - linked_symbols(options.map_without)
    split = added & names_of(linked)
    exports = read_names(options.exports)
    if not exports <= split:
        fail(f"what is exported for programs alone is used by the rest: {', '.join(sorted(exports - split))}")
    return sorted(split)


def dtype_bits(names):
    return sum(1 << (select_ops.DTYPES.index(name) + 1) for name in names)


def users_of(record):
    return [user for op in record.ops for user in (op, *USERS_OF_ROWS.get(op, ()))]


def serves(record, op, dtypes):
    """Whether a record of kernels is for the op with these dtypes, None standing for all."""
    of_op = dtype_bits(selection.kernel_dtypes(op))
    # Those of an op whose kernels go by another type, such as that of indices.
    return not record.dtypes & of_op or bool(record.dtypes & (of_op if dtypes is None else dtype_bits(dtypes)))


class Needs:
    """What leads to what: which functions and constants only some of the module need."""

    def __init__(self, options):
        self.ops = {op["name"]: op for op in json.loads(options.definitions.read_text(encoding="utf-8"))["ops"]}
        self.selected = select_ops.read_list(options.first.read_text(encoding="utf-8"), self.ops)
        self.graph = graph = ModuleGraph(options.graph.read_bytes())
        records = graph.records(self.ops)
        if not records:
            fail("expected tables of kernels in the module's data, got none")
        programs = read_names(options.exports)
        fusion = read_names(options.fusion_exports)
        without = [index for index in graph.exported if graph.names.get(index) not in programs | fusion]
        with_fusion = [index for index in graph.exported if graph.names.get(index) not in programs]
        later = places_of(records, lambda record: not self.is_first(record))
        # What the first part needs, that and fusion, these and programs, that and kernels, and all.
        self.first = graph.reached(without, later)
        self.fusion = graph.reached(with_fusion, later)
        self.programs = graph.reached(graph.exported, later)
        self.kernels = graph.reached(without, {})
        self.all = graph.reached(graph.exported, {})

    def is_first(self, record):
        return record.dtypes is None or not record.is_of_cpu or any(
            name in self.selected and serves(record, self.ops[name], self.selected[name]) for name in users_of(record))

    def _names(self, indexes):
        return {self.graph.names.get(index) for index in indexes if index in self.graph.sizes}

    def functions_of_fusion(self, linked, programs):
        """The functions that go to the part of fusion."""
        # Functions of several files may have the same name, and some of the linker's own none.
        return (self._names(self.fusion[0]) - self._names(self.first[0])) & names_of(linked) - set(programs)

    def functions_of_kernels(self, linked, programs):
        """The functions that go to the part of kernels."""
        return (self._names(self.graph.names) - self._names(self.programs[0])) & names_of(linked) - set(programs)

    def constants(self):
        """Of each part, the ranges of constants that the first part does without, some of both."""
        constants = Constants(self.graph)
        first = self.first[1]
        return {"fusion": constants.moved(self.fusion[1], first),
                "programs": constants.moved(self.programs[1], first | self.fusion[1]),
                "kernels": constants.moved(self.kernels[1] | (self.all[1] - self.programs[1]), first)}


def check_calls(calls, split):
    """Nothing but functions of the secondary may call one of them."""
    split = set(split)
    wrong = sorted(f"{caller} calls {callee}" for caller, callee in calls if callee in split and caller not in split)
    if wrong:
        fail(f"the primary would call the secondary: {'; '.join(wrong)}")


def only_called_within(calls, functions):
    """Those of the functions that nothing but them calls, sorted. Some that only unused functions of the rest call, which
    share the name of a used one, stay there with these."""
    kept = set(functions)
    while called := {callee for caller, callee in calls if callee in kept and caller not in kept}:
        kept -= called
    return sorted(kept)


class Splitter:
    """Takes parts away from a module, and optimises what is left and each of them."""

    def __init__(self, options, folder):
        self.bin = options.bin
        self.folder = pathlib.Path(folder)
        self.features = [f"--enable-{name}" for name in (*FEATURES, *(("threads",) if options.threads else ()))]
        self.placeholders = "--placeholder-namespace=placeholder" if options.threads else "--no-placeholders"
        self.parts = {}

    def calls(self, module):
        """(caller, callee) of each direct call."""
        graph = run(self.bin / "wasm-opt", *self.features, module, "--print-call-graph")
        calls = re.findall(r'"(.+)" -> "(.+)"; // call', graph)
        if not calls:
            fail("expected a call graph, got none: this wasm-opt prints it otherwise")
        return calls

    def split(self, module, functions, part):
        """The module without the functions, which become the part."""
        wanted = self.folder / f"{part}.functions"
        wanted.write_text("\n".join(functions), encoding="utf-8")
        rest = self.folder / f"without-{part}.wasm"
        self.parts[part] = self.folder / f"{part}.wasm"
        run(self.bin / "wasm-split", *self.features, module, f"--split-funcs=@{wanted}", self.placeholders, "-g",
            "--import-namespace=primary", "-o1", rest, "-o2", self.parts[part])
        # Else no further part could be taken away: its functions must be in one segment, and that has no empty places.
        rest.write_bytes(rebuilt((name, without_gaps(body) if name == str(ELEMENTS) else body)
                                 for name, body in sections(rest.read_bytes())))
        return rest

    def move_constants(self, primary, ranges):
        """Takes ranges of constants, by the part that needs them, away from the primary."""
        module = primary.read_bytes()
        for part, moved in ranges.items():
            path = self.parts[part]
            whole = list(sections(path.read_bytes()))
            behind = next(i for i, (name, _) in enumerate(whole) if name == str(CODE)) + 1
            pieces = data_section(bytes_at(module, moved))
            path.write_bytes(rebuilt([*whole[:behind], (str(DATA), pieces), *whole[behind:]]))
        parts = dict(sections(module))
        zeros = zeroed(parts, [each for moved in ranges.values() for each in moved])
        primary.write_bytes(rebuilt((name, zeros if name == str(DATA) else body) for name, body in sections(module)))

    def finish(self, primary):
        """The parts' bytes by name."""
        self.parts["primary"] = primary
        for path in self.parts.values():
            # Without names, which are those of segments, too, of which there may be others now.
            path.write_bytes(rebuilt((name, without_nulls(body) if name == str(ELEMENTS) else body)
                                     for name, body in sections(path.read_bytes()) if name != "name"))
            run(self.bin / "wasm-opt", *self.features, *OPTIMISE, path, "-o", path)
        return {part: path.read_bytes() for part, path in self.parts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bin", "linked", "map", "map-without", "exports", "primary", "programs"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("graph", "first", "definitions", "kernels", "fusion", "fusion-exports", "relaxed"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    parser.add_argument("--threads", action="store_true")
    options = parser.parse_args()
    linked = options.linked.read_bytes()
    programs = find_programs(options, linked)
    with tempfile.TemporaryDirectory() as folder:
        splitter = Splitter(options, folder)
        calls = splitter.calls(options.linked)
        check_calls(calls, programs)
        rest = options.linked
        if options.kernels:
            needs = Needs(options)
            # First, so that programs call it through the table.
            fusion = only_called_within(calls, needs.functions_of_fusion(linked, programs) | set(programs))
            rest = splitter.split(rest, sorted(set(fusion) - set(programs)), "fusion")
        rest = splitter.split(rest, programs, "programs")
        if options.kernels:
            kernels = only_called_within(calls, needs.functions_of_kernels(linked, programs))
            rest = splitter.split(rest, kernels, "kernels")
            splitter.move_constants(rest, needs.constants())
        public = {name for name, _, _ in read_exports(dict(sections(linked))[str(EXPORTS)])}
        modules = with_short_names(splitter.finish(rest), public)
    if options.relaxed:
        relaxed = relaxed_section(options.bin, options.relaxed, options.threads)
        modules["primary"] = rebuilt([*sections(modules["primary"]), relaxed])
    build = hashlib.sha256(b"".join(modules[part] for part in sorted(modules))).hexdigest()[:16]
    for part, module in modules.items():
        vars(options)[part].write_bytes(rebuilt([*sections(module), (BUILD_SECTIONS[part], build.encode())]))


if __name__ == "__main__":
    main()
