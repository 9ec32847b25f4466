#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Fails if a C++ block of README.md is not made of lines of the program that its section names.

usage: check_text.py

A section names its program by a link in its first line, such as [own_op.cc](own_op.cc). Each part of a block, up to an
empty line or a line that is "// ...", must stand in the program as it stands in the block.
"""

import pathlib
import re
import sys


def main():
    folder = pathlib.Path(__file__).parent
    program, name, part, faults, blocks = "", None, None, [], 0
    for number, line in enumerate((folder / "README.md").read_text(encoding="utf-8").splitlines() + [""], 1):
        if part is None:
            if link := re.search(r"\]\((\w+\.cc)\)", line):
                name, program = link[1], (folder / link[1]).read_text(encoding="utf-8")
            if line == "```cpp":
                part, blocks = "", blocks + 1
        elif line in ("", "```") or line.strip() == "// ...":
            if part not in program:
                faults.append(f"README.md:{number}: {name} does not have these lines:\n{part}")
            part = None if line == "```" else ""
        else:
            part += line + "\n"
    print("\n".join(faults) if faults else f"{blocks} blocks")
    return 1 if faults or not blocks or part is not None else 0


if __name__ == "__main__":
    sys.exit(main())
