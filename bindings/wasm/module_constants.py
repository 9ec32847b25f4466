# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""The constants of a linked module: whose they are, and moving those that only a part needs into that part.

A part that is loaded later writes its constants into the memory that it shares. With threads each worker writes them,
the same bytes to the same places.
"""

from module_format import DATA, END, I32_CONST, data_segments, leb, sections, signed_leb

# Bytes between two ranges that cost less than a segment of their own. They are constants, too.
GAP = 8


class Constants:
    """Ranges of the module's constants, [address, size] each."""

    def __init__(self, graph):
        self.graph = graph
        # One segment is that of constants; the others, variables, stay as they are.
        self.first, _, size = max((segment for segment in graph.segments if segment[0] is not None),
                                  key=lambda segment: segment[2])
        self.end = self.first + size

    def ranges(self, numbers, gap=0):
        """Those of symbols, in order; what touches or overlaps, or is at most `gap` bytes apart, is one."""
        ranges = []
        for address, end in sorted((symbol.address, symbol.address + symbol.size)
                                   for symbol in (self.graph.data[number] for number in numbers)
                                   if symbol.size and self.first <= symbol.address < self.end):
            if ranges and address <= ranges[-1][1] + gap:
                ranges[-1][1] = max(ranges[-1][1], end)
            else:
                ranges.append([address, end])
        return [[address, end - address] for address, end in ranges]

    def moved(self, part, primary):
        """The ranges of what the symbols `part` have and the symbols `primary` do not."""
        kept = bytearray(self.end - self.first)
        for address, size in self.ranges(primary):
            kept[address - self.first:address + size - self.first] = b"\1" * size
        ranges = []
        for address, size in self.ranges(part):
            for place in range(address, min(address + size, self.end)):
                if kept[place - self.first]:
                    continue
                if ranges and place <= sum(ranges[-1]):
                    ranges[-1][1] = place + 1 - ranges[-1][0]
                else:
                    ranges.append([place, 1])
        return ranges


def bytes_at(module, ranges):
    """What a module has in ranges of its memory, (address, bytes) each; near ones are one."""
    parts = dict(sections(module))
    memory = {}
    for address, start, size in data_segments(parts):
        if address is not None:
            memory.update(enumerate(parts[str(DATA)][start:start + size], address))
    joined = []
    for address, size in ranges:
        if joined and address <= sum(joined[-1]) + GAP:
            joined[-1][1] = address + size - joined[-1][0]
        else:
            joined.append([address, size])
    # What is in no segment is 0.
    return [(address, bytes(memory.get(at, 0) for at in range(address, address + size))) for address, size in joined]


def zeroed(parts, ranges):
    """The data section of a module's sections, with zeros in ranges of its memory."""
    body = bytearray(parts[str(DATA)])
    for address, start, size in data_segments(parts):
        for first, length in ranges if address is not None else ():
            begin, end = max(first, address), min(first + length, address + size)
            if begin < end:
                body[start + begin - address:start + end - address] = bytes(end - begin)
    return bytes(body)


def data_section(pieces):
    """A data section that writes pieces of bytes, (address, bytes) each."""
    return leb(len(pieces)) + b"".join(
        b"\0" + bytes([I32_CONST]) + signed_leb(address) + bytes([END]) + leb(len(piece)) + piece
        for address, piece in pieces)
