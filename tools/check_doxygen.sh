#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Fails if Doxygen has a warning for a public header, or if a class or struct there says nothing of itself. Needs a
# configured build: that of TANDEM_PRESET, or release. Exit status 77: skipped, for want of Doxygen.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v doxygen >/dev/null; then
  echo "check_doxygen: skipped: doxygen was not found; run tools/setup.sh" >&2
  exit 77
fi

build=$PWD/build/${TANDEM_PRESET:-release}
out=build/doxygen
rm -rf "$out"
mkdir -p "$out"
# What Doxygen would have a comment for, if names did not do; of classes they do not. Those of ops.h are the attributes
# of the function below them. Beside the reference, as both take a while.
tools/doxygen/make_reference.sh "$out" "$build/core/include" 'EXTRACT_ALL = NO' 'GENERATE_HTML = NO' \
  'GENERATE_XML = YES' 'WARN_AS_ERROR = NO' 'EXCLUDE = native/include/tandem/ops.h' \
  "WARN_LOGFILE = $out/undocumented.log" &
undocumented=$!
reference=$build/tools/reference
if ! cmake --build "$build" --target tandem_reference >"$out/reference.log" 2>&1; then
  cat "$out/reference.log" >&2
  exit 1
fi
wait "$undocumented"
if grep -E 'Compound .* is not documented' "$out/undocumented.log" >&2; then
  echo "check_doxygen: a sentence is missing before each of these" >&2
  exit 1
fi
echo "check_doxygen: $(find "$reference/html" -name '*.html' | wc -l) pages in $reference/html"
