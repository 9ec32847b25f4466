#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Writes the files that follow from others: from the op registry native/include/tandem/ops.h, web/src/ops.ts, its
# texts and core/ops/README.md; from the headers what tools/generate_layout.py says.
# usage: tools/generate.sh [OUTPUT_DIR]    by default the source tree

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${1:-.}
preset=${TANDEM_PRESET:-release}
[[ -f build/$preset/build.ninja ]] || cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target tandem_registry_json >/dev/null
registry=$(mktemp)
trap 'rm -f "$registry"' EXIT
"build/$preset/tools/tandem_registry_json" >"$registry"
python3 tools/generate_ops.py "$registry" "$out"
python3 tools/generate_layout.py "$out"
