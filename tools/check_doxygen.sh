#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Fails if Doxygen has a warning for a public header, or if a class or struct there says nothing of itself. The reference
# it makes is build/doxygen/html/index.html. Exit status 77: skipped, for want of Doxygen.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v doxygen >/dev/null; then
  echo "check_doxygen: skipped: doxygen was not found; run tools/setup.sh" >&2
  exit 77
fi

out=build/doxygen
rm -rf "$out"
mkdir -p "$out"
# The version header is there once a build is configured.
generated=build/${TANDEM_PRESET:-release}/core/include
[[ -d $generated ]] || generated=
run() {  # SETTING...
  { cat tools/doxygen/Doxyfile && printf '%s\n' "OUTPUT_DIRECTORY = $out" "INPUT += $generated" \
    "STRIP_FROM_PATH += $generated" "STRIP_FROM_INC_PATH += $generated" "$@"; } | doxygen -
}

# What Doxygen would have a comment for, if names did not do; of classes they do not. Those of ops.h are the attributes
# of the function below them. Beside the reference, as both take a while.
run 'EXTRACT_ALL = NO' 'GENERATE_HTML = NO' 'GENERATE_XML = YES' 'WARN_AS_ERROR = NO' \
  'EXCLUDE = native/include/tandem/ops.h' "WARN_LOGFILE = $out/undocumented.log" &
undocumented=$!
run
wait "$undocumented"
if grep -E 'Compound .* is not documented' "$out/undocumented.log" >&2; then
  echo "check_doxygen: a sentence is missing before each of these" >&2
  exit 1
fi
echo "check_doxygen: $(find "$out/html" -name '*.html' | wc -l) pages in $out/html"
