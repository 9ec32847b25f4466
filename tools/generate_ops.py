#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Writes what follows from the op registry: typed functions for C++ and TypeScript, the op reference,
and the definitions that builds with some ops (tools/select_ops.py) are cut from.

usage: generate_ops.py REGISTRY.json SOURCE_DIR
The JSON is described in core/lib/defs/op_registry_json.cc.
"""

import json
import pathlib
import sys

from op_codegen import cpp, reference, selection, typescript
from op_codegen.definitions import definitions


def main():
    registry = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    if registry["format"] != 1:
        sys.exit(f"generate_ops: expected registry format 1, got {registry['format']}")
    root = pathlib.Path(sys.argv[2])
    ops = definitions(registry)
    for module, path in (cpp, "native/include/tandem/ops.h"), (reference, "core/ops/README.md"), \
                        (typescript, "web/src/ops.ts"), \
                        (selection, "core/ops/definitions.json"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        module.write(ops, root / path)
    typescript.write_docs(ops, root / "web/src/op_docs_text.ts")


if __name__ == "__main__":
    main()
