#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Installs what is missing, builds Tandem, and runs the examples: hello; image, which filters a picture; digits, which
# trains a convolutional network op by op; and node-digits, which trains the same in Node through the npm package. At
# the end, a table shows the two side by side.
# usage: tools/demo.sh [--data DIR] [further options of examples/digits]
#   --data DIR             a folder with the four MNIST files in IDX format, plain or .gz; else digits draws its own
#   TANDEM_DEMO_NATIVE=1   leaves out Node, and the compiler and packages it needs
#   TANDEM_SKIP_SETUP=1    installs nothing but npm packages

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
source tools/compiler_cache.sh
source tools/web_package.sh
node=true
[[ -z "${TANDEM_DEMO_NATIVE:-}" ]] || node=false
if [[ -z "${TANDEM_SKIP_SETUP:-}" ]]; then
  if $node; then
    tools/setup.sh --node
    tools/setup_emscripten.sh
  else
    tools/setup.sh
  fi
fi

build() {  # WHAT COMMAND...
  local what=$1 log=build/release/demo.log
  shift
  echo "demo: building $what"
  mkdir -p build/release
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    echo "demo: the build failed; everything it said is in $log" >&2
    exit 1
  fi
}
build_native() {
  cmake --preset release && cmake --build --preset release --target hello image digits -j "${TANDEM_JOBS:-2}"
}
build_for_node() {
  build_modules wasm && build_package && install_examples
}
build "the native examples (build/release)" build_native
if $node; then build "the npm package (build/wasm, web/dist)" build_for_node; fi

echo
echo "demo: examples/hello"
build/release/examples/hello/hello
echo
echo "demo: examples/image"
build/release/examples/image/image --sheet build/image_sheet.png --blur 1.5 --edges
echo
echo "demo: examples/digits ${args[*]}"
mkdir -p build/demo
build/release/examples/digits/digits "${args[@]}" | tee build/demo/native.txt
if ! $node; then exit; fi
echo
echo "demo: examples/node-digits ${args[*]}"
node examples/node-digits/digits.js "${args[@]}" | tee build/demo/node.txt

# Both print the lines "trained N digits x E epochs in S s: R digits/s" and "test accuracy: P % (C of N), R digits/s".
row() {  # NAME FILE
  awk -v name="$1" '
    /^trained / { seconds = $(NF - 3); rate = $(NF - 1) }
    /^test accuracy: / { accuracy = $3; tested = $(NF - 1) }
    END {
      if (seconds == "") seconds = rate = "-"
      printf "%-28s %10s %12s %18s %17s\n", name, accuracy " %", seconds, rate, tested
    }' "$2"
}
echo
printf '%-28s %10s %12s %18s %17s\n' "" accuracy "training, s" "trained digits/s" "tested digits/s"
row "native" build/demo/native.txt
row "Node $(node --version), WebAssembly" build/demo/node.txt
