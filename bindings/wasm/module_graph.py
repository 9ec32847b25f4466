# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""What in a linked module refers to what, by the relocations that wasm-ld keeps with --emit-relocs.

What a module's layout does not tell, relocations do: that a number is the place of a function in the table, or an
address. Functions are known by their indexes, data symbols by their numbers in `ModuleGraph.data`.
"""

import bisect
import collections
import dataclasses
import re

from module_format import (CODE, DATA, EXPORTS, FUNCTION, IMPORTS, START, data_segments, read_exports, read_imports,
                           read_leb, read_name, read_signed_leb, sections)

# Kinds of relocations, of tool-conventions' Linking.md.
FUNCTION_INDEX = 0
TABLE_INDEX = (1, 2, 12)
MEMORY_ADDRESS = (3, 4, 5, 11)
WITH_ADDEND = (3, 4, 5, 8, 9, 11, 21)  # the last relative to a thread's variables
SYMBOL_TABLE = 8
SYMBOL_FUNCTION, SYMBOL_DATA, SYMBOL_GLOBAL, SYMBOL_SECTION, SYMBOL_TAG, SYMBOL_TABLE_KIND = range(6)
UNDEFINED, EXPLICIT_NAME, ABSOLUTE = 0x10, 0x40, 0x200


@dataclasses.dataclass
class DataSymbol:
    name: str
    address: int
    size: int
    # Of the relocations in it: (offset, what it refers to), that being ("function", index) or ("address", address).
    refs: list = dataclasses.field(default_factory=list)


# The table of definitions that tools/select_ops.py writes.
DEFINITIONS = "_ZN6tandem12_GLOBAL__N_14kOpsE"
# Tables of the functions that register what is of a family of ops, of which each is a record of them all.
FAMILIES = re.compile(r"Register(AllOpsERNS_10OpRegistry|KernelsERNS_15KernelOpHandler)E.*kFamilies")
# In the names of the tables with kernels of the CPU: calls wait for the code of these alone (LaterKernels).
OF_CPU = "N6tandem3cpu"
# Where the dtypes of a record are, 16 bits, by where its first function is: KernelEntry and RowEntry.
DTYPES_AT = {8: 4, 12: 8}


@dataclasses.dataclass
class Record:
    ops: tuple  # their names: those that the record is for, of which one is enough
    address: int
    # (address of the place, index)
    functions: list = dataclasses.field(default_factory=list)
    dtypes: int | None = None  # bits by DType; None: it has none, being that of a metadata function, or of a family
    is_family: bool = False
    is_of_cpu: bool = False


class ModuleGraph:
    """Of a module's bytes. `names` are those of functions by index, imported ones first, `aliases` all that each has, and
    `sizes` those of their bodies."""

    def __init__(self, module):
        self.names, self.aliases, self.sizes, self.calls, self.taken, self.reads = {}, {}, {}, {}, {}, {}
        self.data = []
        self._sections = dict(sections(module))
        imports = read_imports(self._sections.get(str(IMPORTS), b"\0"))
        self.num_imported = sum(rest[0] == FUNCTION for _, _, rest in imports)
        # What is called from outside: functions by index.
        self.exported = {index for _, kind, index in read_exports(self._sections[str(EXPORTS)]) if kind == FUNCTION}
        if str(START) in self._sections:
            self.exported.add(read_leb(self._sections[str(START)], 0)[0])
        self.segments = data_segments(self._sections)
        self._read_symbols(self._sections["linking"])
        self._read_bodies(self._sections[str(CODE)])
        self.data.sort(key=lambda symbol: symbol.address)
        self._addresses = [symbol.address for symbol in self.data]
        self._read_code_relocations(self._sections["reloc.CODE"])
        self._read_data_relocations(self._sections["reloc.DATA"])
        self._add_unreferenced()

    def data_at(self, address):
        """The number in `data` of the symbol there, or None."""
        at = bisect.bisect_right(self._addresses, address) - 1
        while at >= 0 and not address < self.data[at].address + max(1, self.data[at].size):
            at -= 1
        return at if at >= 0 else None

    def _placed(self):
        return (segment for segment in self.segments if segment[0] is not None)

    def text_at(self, address):
        """The C string there, or None."""
        for first, start, size in self._placed():
            if first <= address < first + size:
                body = self._sections[str(DATA)]
                at = start + address - first
                end = body.find(b"\0", at, start + size)
                return body[at:end].decode("utf-8", "replace") if end >= 0 else None
        return None

    def number_at(self, address, size=4):
        for first, start, length in self._placed():
            if first <= address and address + size <= first + length:
                at = start + address - first
                return int.from_bytes(self._sections[str(DATA)][at:at + size], "little")
        return None

    def _read_symbols(self, body):
        self._symbols = []
        _, at = read_leb(body, 0)
        while at < len(body):
            kind = body[at]
            size, at = read_leb(body, at + 1)
            if kind == SYMBOL_TABLE:
                self._read_symbol_table(body, at)
            at += size

    def _read_symbol_table(self, body, at):
        count, at = read_leb(body, at)
        for _ in range(count):
            kind = body[at]
            flags, at = read_leb(body, at + 1)
            name = ""
            node = None
            if kind in (SYMBOL_FUNCTION, SYMBOL_GLOBAL, SYMBOL_TAG, SYMBOL_TABLE_KIND):
                index, at = read_leb(body, at)
                if not flags & UNDEFINED or flags & EXPLICIT_NAME:
                    name, at = read_name(body, at)
                if kind == SYMBOL_FUNCTION:
                    node = ("function", index)
                    self.names.setdefault(index, name)
                    self.aliases.setdefault(index, set()).add(name)
            elif kind == SYMBOL_DATA:
                name, at = read_name(body, at)
                if not flags & UNDEFINED:
                    segment, at = read_leb(body, at)
                    offset, at = read_leb(body, at)
                    size, at = read_leb(body, at)
                    if not flags & ABSOLUTE and segment < len(self.segments) and self.segments[segment][0] is not None:
                        address = self.segments[segment][0] + offset
                        self.data.append(DataSymbol(name, address, size))
                        node = ("address", address)
            else:
                _, at = read_leb(body, at)
            self._symbols.append(node)

    def _read_bodies(self, body):
        self._starts = []
        count, at = read_leb(body, 0)
        for i in range(count):
            size, at = read_leb(body, at)
            index = self.num_imported + i
            self._starts.append(at)
            self.sizes[index] = size
            self.calls[index], self.taken[index], self.reads[index] = set(), set(), set()
            at += size

    def _relocations(self, body):
        _, at = read_leb(body, 0)
        count, at = read_leb(body, at)
        for _ in range(count):
            kind = body[at]
            offset, at = read_leb(body, at + 1)
            symbol, at = read_leb(body, at)
            addend = 0
            if kind in WITH_ADDEND:
                addend, at = read_signed_leb(body, at)
            yield kind, offset, symbol, addend

    def _target(self, kind, symbol, addend):
        if kind != FUNCTION_INDEX and kind not in TABLE_INDEX and kind not in MEMORY_ADDRESS:
            return None
        node = self._symbols[symbol]
        if node is None or node[0] == "function":
            return node
        at = self.data_at(node[1] + (addend if addend >= 0 else 0))
        return None if at is None else ("data", at)

    def _read_code_relocations(self, body):
        for kind, offset, symbol, addend in self._relocations(body):
            target = self._target(kind, symbol, addend)
            if target is None:
                continue
            function = self.num_imported + bisect.bisect_right(self._starts, offset) - 1
            if target[0] == "data":
                # An address beyond a symbol may be one to count from.
                self.reads[function] |= {target[1], self.data_at(self._symbols[symbol][1])}
            elif kind in TABLE_INDEX:
                self.taken[function].add(target[1])
            else:
                self.calls[function].add(target[1])

    def _read_data_relocations(self, body):
        for kind, offset, symbol, addend in self._relocations(body):
            target = self._target(kind, symbol, addend)
            if target is None:
                continue
            place = next((address + offset - start for address, start, size in self._placed()
                          if start <= offset < start + size), None)
            at = None if place is None else self.data_at(place)
            if at is not None:
                if target[0] == "data":
                    target = ("address", self._symbols[symbol][1] + addend)
                self.data[at].refs.append((place - self.data[at].address, target))

    def _add_unreferenced(self):
        # What the linker has kept though nothing refers to it, it calls in code of its own, such as constructors.
        referenced = {target for symbol in self.data for _, (kind, target) in symbol.refs if kind == "function"}
        for targets in (*self.calls.values(), *self.taken.values()):
            referenced |= targets
        self.exported |= set(self.sizes) - referenced

    # Records of ops.

    def definitions(self, ops):
        """Of the tables of definitions (OpData), by number, the places in it that refer to something besides the op's
        name, by op."""
        found = {}
        for number, symbol in enumerate(self.data):
            if symbol.name != DEFINITIONS:
                continue
            name = None
            for offset, (kind, target) in sorted(symbol.refs):
                if kind == "address" and (text := self.text_at(target)) in ops:
                    name = text
                    found.setdefault(number, {})[name] = []
                elif name:
                    found[number][name].append(symbol.address + offset)
        return found

    def target_at(self, number, place):
        """The address that a place in a symbol refers to."""
        symbol = self.data[number]
        return next(target for offset, (_, target) in symbol.refs if symbol.address + offset == place)

    def records(self, ops):
        """Of each data symbol, by number, its records: KernelEntry, RowEntry, OpRecord and OpDefinition of the sources,
        which begin with the address of an op's name, one of `ops`, or of several with spaces between. A ShaderSource,
        which begins with a std::string_view, is none: it goes with those that refer to it."""
        found = {}
        for number, symbol in enumerate(self.data):
            record = None
            for offset, (kind, target) in sorted(symbol.refs):
                names = tuple((self.text_at(target) or "").split(" ")) if kind == "address" else ()
                if names and all(name in ops for name in names):
                    record = Record(names, symbol.address + offset, is_of_cpu=OF_CPU in symbol.name)
                    found.setdefault(number, []).append(record)
                elif record and kind == "function":
                    record.functions.append((symbol.address + offset, target))
            kept = [record for record in found.pop(number, []) if record.functions]
            if all(self._begins_with_view(record) for record in kept):
                kept = []
            for record in kept:
                place = DTYPES_AT.get(record.functions[0][0] - record.address)
                record.dtypes = self.number_at(record.address + place, 2) if place else None
            if kept:
                found[number] = kept
            elif FAMILIES.search(symbol.name):
                found[number] = list(self._families(symbol, ops))
        # The tables have the same families at the same places, and share code that names ops.
        for same in zip(*(of_table for of_table in found.values() if of_table[0].is_family), strict=True):
            names = {name for record in same for name in record.ops}
            for record in same:
                record.ops = tuple(sorted(names))
        return found

    def _begins_with_view(self, record):
        """Whether a record begins with a std::string_view: the length of the text is behind its address, where others have
        dtypes, which may be that number, too, in one record but hardly in all of a table."""
        return self.number_at(record.address + 4) == len(" ".join(record.ops))

    def _families(self, table, ops):
        """A record of each function in a table of families: of the ops that are named by what it alone leads to."""
        functions = [(table.address + offset, target) for offset, (kind, target) in table.refs if kind == "function"]
        reached = [self.reached([function], {})[0] for _, function in functions]
        count = collections.Counter(function for each in reached for function in each)
        for (place, function), below in zip(functions, reached):
            own = [each for each in below if count[each] == 1]
            symbols = set()
            self.read((number for each in own for number in self.reads.get(each, ())), symbols, {})
            texts = {self.text_at(address) for number in symbols for address in
                     (self.data[number].address, *(target for _, (kind, target) in self.data[number].refs
                                                   if kind == "address"))}
            names = {name for text in texts if text for name in text.split(" ")}
            yield Record(tuple(sorted(names & set(ops))), place, [(place, function)], is_family=True)

    def read(self, numbers, symbols, skipped):
        """Adds to `symbols` what symbols lead to, with them; gives the functions that those refer to which it adds.

        `skipped` has the places in a symbol, by its number, that do not count.
        """
        functions = set()
        rest = list(numbers)
        while rest:
            number = rest.pop()
            if number in symbols:
                continue
            symbols.add(number)
            symbol = self.data[number]
            places = skipped.get(number, ())
            for offset, (kind, target) in symbol.refs:
                if symbol.address + offset in places:
                    continue
                if kind == "function":
                    functions.add(target)
                elif (at := self.data_at(target)) is not None:
                    rest.append(at)
        return functions

    def reached(self, roots, skipped, into_table=True):
        """What functions lead to: functions, with them, symbols, and functions in the table.

        What those in the table lead to counts only if `into_table`. `skipped` is that of `read`.
        """
        functions, symbols, in_table = set(), set(), set()
        rest = list(roots)
        while rest:
            function = rest.pop()
            if function in functions:
                continue
            functions.add(function)
            taken = self.taken.get(function, set()) | self.read(self.reads.get(function, ()), symbols, skipped)
            in_table |= taken
            rest.extend(self.calls.get(function, ()))
            if into_table:
                rest.extend(taken)
        return functions, symbols, in_table


def places_of(records, is_wanted):
    """The places of the functions of records that are wanted, by the number of the symbol."""
    return {number: {at for record in of_symbol if is_wanted(record) for at, _ in record.functions}
            for number, of_symbol in records.items()}
