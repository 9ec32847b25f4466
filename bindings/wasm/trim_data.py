#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Makes what `tandem-rt trim` takes ops out of: a module with everything in one part, and what it must know of it.

A module's table has the functions that are not called directly. The data says, by their places in the table (slots),
which of them are needed: those for every use, those for programs and what computes calls as one, those for each record
of an op (module_graph.py), and those that a function in the table leads to. To leave a record out, numbers at some
addresses of the module's memory are made 0, and nothing refers to its functions any more. It says of the module's
constants, too, by ranges of addresses, which of these lead to what: those that nothing leads to become 0. And it says
which slots multiply by the module of relaxed SIMD that is in a section.

usage: trim_data.py --bin DIR --linked FILE --graph FILE --definitions FILE --exports FILE... --unused-exports FILE
                    --module FILE --data FILE --relaxed FILE
"""

import argparse
import json
import pathlib
import re

from module_constants import Constants
from module_format import ELEMENTS, element_segments, fail, function_names, rebuilt, sections
from module_graph import ModuleGraph, places_of
from split_module import (FEATURES, OPTIMISE, USERS_OF_ROWS, read_names, relaxed_section, run, users_of,
                          without_nulls)

from op_codegen import selection


def functions_in_table(module):
    """{slot: index of the function}"""
    return {first + i: function for first, functions in element_segments(dict(sections(module))[str(ELEMENTS)])
            for i, function in enumerate(functions) if function is not None}


class Slots:
    """What the functions in the table lead to, without records."""

    def __init__(self, graph, table, records, definitions):
        self.graph = graph
        self.slot_of = {function: slot for slot, function in table.items()}
        # Places that do not lead on.
        self.recorded = places_of(records, lambda _: True)
        for number, of_ops in definitions.items():
            self.recorded[number] = {at for places in of_ops.values() for at in places}

    def below(self, functions):
        """The slots that the functions refer to, by what they call and read, and the symbols that they read."""
        _, symbols, in_table = self.graph.reached(functions, self.recorded, into_table=False)
        return {self.slot_of[function] for function in in_table}, symbols


def closure(slots, needs):
    """The slots that slots lead to, with them, `needs` having what each refers to."""
    seen = set()
    rest = list(slots)
    while rest:
        slot = rest.pop()
        if slot not in seen:
            seen.add(slot)
            rest.extend(needs[slot])
    return seen


def symbols_of_definitions(graph, slots, definitions):
    """What the definition of each op refers to."""
    found = {}
    for number, of_ops in definitions.items():
        for name, places in of_ops.items():
            symbols = set()
            targets = (graph.data_at(graph.target_at(number, place)) for place in places)
            graph.read((target for target in targets if target is not None), symbols, slots.recorded)
            found[name] = symbols
    return found


def check_families(records, ops):
    """Each op is of a family."""
    families = [{name for record in of_symbol for name in record.ops} for of_symbol in records.values()
                if of_symbol[0].is_family]
    if len(families) != 2 or families[0] != set(ops) or families[1] != set(ops):
        fail(f"expected tables of families of all ops and of their kernels, got {len(families)}, without "
             f"{[sorted(set(ops) - all_ops)[:5] for all_ops in families]}")


def callers(graph, table, name):
    """The slots of functions that call one with that in its name, or call what does."""
    wanted = {index for index, of_function in graph.names.items() if name in of_function}
    if not wanted:
        fail(f"expected a function {name} in the module, got none")
    return [slot for slot, function in table.items() if graph.reached([function], {}, into_table=False)[0] & wanted]


def describe(graph, table, ops, programs, unused):
    records = graph.records(ops)
    definitions = graph.definitions(ops)
    if not definitions:
        fail("expected definitions of ops in the module's data, got none")
    slots = Slots(graph, table, records, definitions)
    constants = Constants(graph)
    below = {slot: slots.below([function]) for slot, function in table.items()}
    needs = {slot: needed for slot, (needed, _) in below.items()}
    exported = {name: index for index, name in graph.names.items() if index in graph.exported}
    first, read = slots.below(index for name, index in exported.items() if name not in programs | unused)
    base = closure(first, needs)
    read = read.union(*(below[slot][1] for slot in base))
    with_programs, read_by_programs = slots.below(index for name, index in exported.items() if name not in unused)
    whole = closure(with_programs, needs)
    of_definitions = {name: symbols - read
                      for name, symbols in symbols_of_definitions(graph, slots, definitions).items()}
    check_families(records, ops)
    of_ops = [{"ops": users_of(record) if record.is_family else record.ops, "dtypes": record.dtypes,
               # The name of a definition is what registers it.
               "zero": [*([record.address] if record.dtypes is None and not record.is_family else []),
                        *(at for at, _ in record.functions)],
               "slots": sorted(slots.slot_of[function] for _, function in record.functions)}
              for of_symbol in records.values() for record in of_symbol]
    return {
        "format": 1,
        "ops": {name: {"dtypes": selection.kernel_dtypes(op),
                       "fixed": selection.kernel_attr(op) is None or "default" in selection.kernel_attr(op)}
                for name, op in ops.items()},
        "users": USERS_OF_ROWS,
        "records": of_ops,
        "base": sorted(base),
        "programs": sorted(whole - base),
        "relaxed": sorted(callers(graph, table, "GetRelaxedKernels")),
        "programs_exports": sorted(programs),
        "needs": {str(slot): sorted(needed - base) for slot, needed in sorted(needs.items())
                  if slot not in base and needed - base},
        "constants": {
            "all": constants.ranges(range(len(graph.data))),
            "base": constants.ranges(read),
            "programs": constants.ranges(read_by_programs - read),
            "slots": {str(slot): constants.ranges(symbols - read) for slot, (_, symbols) in sorted(below.items())
                      if slot not in base and symbols - read},
            "ops": {name: constants.ranges(symbols) for name, symbols in of_definitions.items() if symbols},
        },
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bin", "linked", "graph", "definitions", "unused-exports", "module", "data", "relaxed"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--exports", type=pathlib.Path, action="append", required=True)
    options = parser.parse_args()
    module = options.graph.read_bytes()
    linked = options.linked.read_bytes()
    graph = ModuleGraph(module)
    table = functions_in_table(module)
    # The two links have the same functions at the same places, of which Binaryen numbers those of one name.
    names = dict(function_names(dict(sections(linked))["name"]))
    wrong = {slot for slot, function in functions_in_table(linked).items()
             if not {names.get(function), re.sub(r"_\d+$", "", names.get(function, ""))}
             & graph.aliases.get(table.get(slot), set())}
    if wrong:
        fail(f"the link with relocations has other functions in the table, at {sorted(wrong)[:5]}")
    ops = {op["name"]: op for op in json.loads(options.definitions.read_text(encoding="utf-8"))["ops"]}
    unused = read_names(options.unused_exports)
    programs = set().union(*map(read_names, options.exports))
    data = describe(graph, table, ops, programs, unused)
    data["unused_exports"] = sorted(unused)
    run(options.bin / "wasm-opt", *(f"--enable-{feature}" for feature in FEATURES), *OPTIMISE, options.linked, "-o",
        options.module)
    whole = [(name, without_nulls(body) if name == str(ELEMENTS) else body)
             for name, body in sections(options.module.read_bytes())]
    options.module.write_bytes(rebuilt([*whole, relaxed_section(options.bin, options.relaxed, threads=False)]))
    options.data.write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    main()
