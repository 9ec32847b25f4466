#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Measures Tandem against what people use instead, in one run on this machine, installs these libraries first, and writes
# the figures, tables and plots of tests/bench/README.md. Nothing else is to run meanwhile.
# usage: tests/bench/run.sh native|web [--draft]
#   native     what a call costs, kernels, networks: libtorch, oneDNN, Eigen, ONNX Runtime; some 10 minutes after the build
#   web        the npm package: TensorFlow.js, ONNX Runtime Web, jax-js, in Node and Chromium; some 15 minutes
#   --draft    shorter, for a look; the page is written to build/bench-draft instead
#   TANDEM_JOBS=N          parallel jobs of the build, 2 by default
#   TANDEM_SKIP_SETUP=1    installs no Debian packages

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/compiler_cache.sh

usage() {
  sed -n '/^# Measures/,/^$/s/^# \{0,1\}//p' "$0"
}
fail() {
  echo "bench: $1" >&2
  exit 1
}

what=${1:-} draft=false page=tests/bench
case "$what" in
  native | web) ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac
case "${2:-}" in
  "") ;;
  --draft) draft=true page=build/bench-draft ;;
  *)
    usage >&2
    exit 2
    ;;
esac

out=build/bench-$what
mkdir -p "$out"
step() {  # WHAT COMMAND...
  local name=$1 log=$out/log
  shift
  echo "bench: $name"
  "$@" >"$log" 2>&1 </dev/null || {
    tail -n 30 "$log" >&2
    fail "$name failed; everything it said is in $log"
  }
}

# The report, by a Python that can draw.
report() {  # ARGUMENT...
  local candidate
  for candidate in /usr/bin/python3 python3; do
    if "$candidate" -c 'import matplotlib' 2>/dev/null; then
      "$candidate" tests/bench/report.py "$@" --page "$page"
      return
    fi
  done
  fail "no python3 has matplotlib: run tools/setup.sh --peers, or install python3-matplotlib"
}

# ONNX Runtime: the library is that of its npm package, the header is Debian's, of the release after this machine's where
# this one has none. An older header than the library is what its interface is made for.
readonly onnx_version=1.30.0
onnx=$PWD/build/bench-native/onnxruntime
get_onnx_runtime() {
  [[ -f "$onnx/complete" && "$(<"$onnx/complete")" == "$onnx_version" ]] && return
  source tools/private_apt.sh
  rm -rf "$onnx"
  mkdir -p "$onnx/packages"
  private_apt_start "$onnx/apt" trixie || fail "$private_apt_error"
  (cd "$onnx/packages" && private_apt download libonnxruntime-dev/trixie)
  dpkg-deb --extract "$onnx"/packages/*.deb "$onnx/debian"
  npm install --prefix "$onnx" --no-save --ignore-scripts "onnxruntime-node@$onnx_version"
  echo "$onnx_version" >"$onnx/complete"
}

run_native() {
  if [[ -z "${TANDEM_SKIP_SETUP:-}" ]]; then step "Debian packages" tools/setup.sh --node --peers; fi
  step "ONNX Runtime $onnx_version" get_onnx_runtime
  local header library
  header=$(find "$onnx/debian" -name onnxruntime_c_api.h | head -n 1)
  library=$(find "$onnx/node_modules/onnxruntime-node/bin" -path "*linux/x64/libonnxruntime.so*" | head -n 1)
  [[ -n "$header" && -n "$library" ]] || fail "ONNX Runtime's header or library is not where it was expected"
  step "configure" cmake --preset bench -DTANDEM_ONNX_RUNTIME_INCLUDE_DIR="$(dirname "$header")" \
    -DTANDEM_ONNX_RUNTIME_LIBRARY="$library"
  step "build" cmake --build --preset bench -j "${TANDEM_JOBS:-2}" --target tandem_bench tandem_kernel_bench tandem_model_bench
  local dir=build/bench/tests/bench repetitions=9 time=0.05 rounds=40
  if $draft; then repetitions=3 time=0.01 rounds=6; fi
  echo "bench: calls"
  "$dir/tandem_bench" --benchmark_repetitions="$repetitions" --benchmark_min_time="$time" \
    --benchmark_out="$out/calls.json" --benchmark_out_format=json >"$out/calls.txt"
  echo "bench: kernels"
  "$dir/tandem_kernel_bench" --benchmark_repetitions="$repetitions" --benchmark_min_time="$time" \
    --benchmark_out="$out/kernels.json" --benchmark_out_format=json >"$out/kernels.txt"
  echo "bench: networks"
  "$dir/tandem_model_bench" --rounds "$rounds" --json "$out/networks.json" >"$out/networks.txt"
  report native --calls "$out/calls.json" --kernels "$out/kernels.json" \
    --networks "$out/networks.json" --peer "ONNX Runtime $onnx_version"
}

run_web() {
  if [[ -z "${TANDEM_SKIP_SETUP:-}" ]]; then step "Debian packages" tools/setup.sh --web --peers; fi
  source tools/web_package.sh
  step "Emscripten" tools/setup_emscripten.sh
  for preset in wasm wasm-threads; do step "build of preset $preset" build_modules "$preset"; done
  step "npm package" build_package
  step "peers" in_folder tests/bench/web npm ci --prefer-offline --ignore-scripts
  local options=()
  if $draft; then options=(--rounds 3 --round-ms 10 --memory-results 2000); fi
  node tests/bench/web/bench.mjs --json "$out/web.json" "${options[@]}" >"$out/web.txt"
  report web --web "$out/web.json"
}

"run_$what"
echo "bench: written to $page"
