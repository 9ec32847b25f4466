#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Makes the reference of the public headers in OUT/html. A warning of Doxygen is an error.
# usage: make_reference.sh OUT GENERATED [SETTING...]
#   OUT         a folder, whose html is replaced
#   GENERATED   the folder of the headers that the build writes
#   SETTING     overrides the Doxyfile: 'EXTRACT_ALL = NO'

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$1 generated=$2
shift 2
rm -rf "$out/html"
mkdir -p "$out"
{
  cat tools/doxygen/Doxyfile
  printf '%s\n' "OUTPUT_DIRECTORY = $out" "INPUT += $generated" "STRIP_FROM_PATH += $generated" \
    "STRIP_FROM_INC_PATH += $generated" "$@"
} | doxygen -
