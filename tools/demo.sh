#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Installs what is missing, builds Tandem, and runs the examples: hello; image, which filters a picture; digits, which
# trains a convolutional network op by op.
# usage: tools/demo.sh [--data DIR] [further options of examples/digits]
#   --data DIR   a folder with the four MNIST files in IDX format, plain or .gz; without it digits draws its own

set -euo pipefail

# A folder given relative to where the user stands stays that folder.
args=()
while (($#)); do
  case "$1" in
    --data)
      if (($# < 2)) || [[ ! -d "$2" ]]; then
        echo "demo: --data wants an existing folder, given ${2:-nothing}" >&2
        exit 2
      fi
      args+=(--data "$(cd "$2" && pwd)")
      shift 2
      ;;
    -h | --help)
      sed -n '/^# Installs/,/^$/s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      args+=("$1")
      shift
      ;;
  esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -n "${TANDEM_SKIP_SETUP:-}" ]] || tools/setup.sh

echo "demo: building (build/release)"
log=build/release/demo.log
mkdir -p build/release
if ! { cmake --preset release && cmake --build --preset release --target hello image digits -j "${TANDEM_JOBS:-2}"; } \
  >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "demo: the build failed; everything it said is in $log" >&2
  exit 1
fi

echo
echo "demo: examples/hello"
build/release/examples/hello/hello
echo
echo "demo: examples/image"
build/release/examples/image/image --sheet build/image_sheet.png --blur 1.5 --edges
echo
echo "demo: examples/digits ${args[*]}"
exec build/release/examples/digits/digits "${args[@]}"
