#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Runs the demo, installs what is missing, builds Tandem in each preset and runs its tests and examples, then builds the
# npm package and runs its tests in Node and Chromium, compares what exact mode gave on all of these targets, and checks
# format and generated files. At the end it says what was shown of CUDA without a device; the last line is the count of
# GoogleTest, conformance and JavaScript cases over all of it; a stage that failed without a failed case, such as a build,
# a crash, an example or a check, counts as one failed.
# usage: tools/test.sh [--full] [part...]
#   part                   demo, a short run of tools/demo.sh; a preset (see CMakePresets.json); web, the npm package and
#                          its examples; by default: demo release asan tsan m32 aarch64 web, and with --full
#                          wasm-op-libraries, and wasm and wasm-threads, whose modules web tests in any case. Unless
#                          --full is given, only tests of a label are built and run for tsan (threads), m32 and aarch64
#                          (quick), and asan runs the conformance cases on the CPU alone
#   --full                 also what takes too long for each change: tests see TANDEM_TEST_FULL=1; the benchmarks are built
#   TANDEM_JOBS=N          parallel jobs, 2 by default
#   TANDEM_SKIP_SETUP=1    install nothing but npm packages

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/compiler_cache.sh

jobs=${TANDEM_JOBS:-2}
parts=()
for argument in "$@"; do
  case "$argument" in
    --full) export TANDEM_TEST_FULL=1 ;;
    -h | --help)
      sed -n '/^# Runs/,/^$/s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) parts+=("$argument") ;;
  esac
done
((${#parts[@]})) || parts=(demo release asan tsan m32 aarch64 ${TANDEM_TEST_FULL:+wasm wasm-threads wasm-op-libraries} web)
presets=()
setup_options=()
wants_emscripten=false wants_demo=false wants_web=false
for part in "${parts[@]}"; do
  case "$part" in
    dev | release | asan | tsan | m32) presets+=("$part") ;;
    wasm | wasm-threads | wasm-op-libraries)
      presets+=("$part")
      wants_emscripten=true
      ;;
    aarch64)
      presets+=("$part")
      setup_options+=(--compilers)
      ;;
    demo) wants_demo=true ;;
    web)
      setup_options+=(--web)
      wants_emscripten=true wants_web=true
      ;;
    *)
      echo "test: unknown part '$part', expected some of: demo dev release asan tsan m32 aarch64 wasm wasm-threads wasm-op-libraries web" >&2
      exit 2
      ;;
  esac
done

# The end of a log, without the lines on what went well.
show_end() {  # LOG
  awk '
    /^ +Start +[0-9]+: / || /^ *[0-9]+\/[0-9]+ Test +#.* Passed / { next }
    /^\[[0-9]+\/[0-9]+\] / { next }
    /^\[ RUN      \] / { started = $0; next }
    /^\[       OK \] / { started = ""; next }
    started { print started; started = "" }
    { print }
    END { if (started) print started }' "$1" | tail -n 200
}

summary=()
failed_checks=0
# The log goes to a file that only a failure shows, or a command that says by exit status 77 that it was skipped.
stage() {  # NAME LOG COMMAND...
  local name=$1 log=$2 start=$SECONDS outcome=ok status=0
  shift 2
  printf 'test: %s\n' "$name"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status == 77)); then
    outcome=SKIPPED
    tail -n 1 "$log"
  elif ((status != 0)); then
    outcome=FAILED
    show_end "$log"
    printf 'test: %s failed; everything it said is in %s\n' "$name" "$log"
  fi
  summary+=("$(printf '%-28s %-7s %5d s' "$name" "$outcome" $((SECONDS - start)))")
  [[ $outcome != FAILED ]]
}

build_dirs=()

# Before anything else is installed or built, since what the demo forgets would be there then; and without what it made
# in a run before, for the same reason.
if $wants_demo; then
  rm -rf build/demo web/dist build/wasm/bindings/wasm/*.wasm \
    build/release/examples/{hello/hello,image/image,digits/digits}
  mkdir -p build/demo/reports
  if stage demo build/demo/demo.log tools/demo.sh --epochs 1 --digits 1000; then
    echo "demo ok" >build/demo/reports/steps.txt
    echo '{"passed": 1, "failed": 0, "skipped": 0}' >build/demo/reports/demo.json
  else
    echo "demo FAILED" >build/demo/reports/steps.txt
  fi
  build_dirs+=(build/demo)
fi

if [[ -z "${TANDEM_SKIP_SETUP:-}" ]]; then
  tools/setup.sh "${setup_options[@]}"
  if $wants_emscripten; then tools/setup_emscripten.sh; fi
fi

for preset in "${presets[@]}"; do
  dir=build/$preset
  build_dirs+=("$dir")
  mkdir -p "$dir"
  rm -rf "$dir/reports"
  mkdir "$dir/reports"
  configure_options=() build_options=() test_options=()
  case "$preset${TANDEM_TEST_FULL:+ full}" in
    "release full") configure_options=(-DTANDEM_BUILD_BENCHMARKS=ON) ;;  # do they still compile?
    "wasm-op-libraries"*) build_options=(--target unit_tests) ;;
    tsan)
      build_options=(--target threads_tests)
      test_options=(-L threads)
      ;;
    m32 | aarch64)
      build_options=(--target quick_tests)
      test_options=(-L quick)
      ;;
    asan) test_options=(-LE gpu) ;;  # minutes on a software device, whose driver is not compiled for it
  esac
  stage "$preset: configure" "$dir/configure.log" cmake --preset "$preset" "${configure_options[@]}" &&
    stage "$preset: build" "$dir/build.log" cmake --build --preset "$preset" -j "$jobs" "${build_options[@]}" &&
    GTEST_OUTPUT="json:$PWD/$dir/reports/" stage "$preset: test" "$dir/test.log" \
      ctest --preset "$preset" -j "$jobs" "${test_options[@]}" --output-junit "$PWD/$dir/reports/ctest.xml" || true
done

if $wants_web; then
  build_dirs+=(build/web)
  source tools/test_web.sh
  test_web
fi

# Exact mode gives the same bits on all of them (NU-3).
shopt -s nullglob
bits=()
for dir in "${build_dirs[@]}"; do bits+=("$dir"/reports/exactness/*.bits); done
shopt -u nullglob
if ((${#bits[@]} > 1)); then
  mkdir -p build/checks
  stage exactness build/checks/exactness.log python3 tests/conformance/compare_bits.py "${bits[@]}" ||
    failed_checks=$((failed_checks + 1))
fi

# By what a native preset of this run has built.
check_preset=
for preset in "${presets[@]}"; do
  if [[ $preset != wasm* && -z $check_preset ]]; then check_preset=$preset; fi
done
if [[ -n $check_preset ]]; then
  mkdir -p build/checks
  for check in tools/check_*.sh; do
    name=$(basename "$check" .sh)
    TANDEM_PRESET=$check_preset stage "$name" "build/checks/$name.log" "$check" || failed_checks=$((failed_checks + 1))
  done
fi

printf '\n'
printf '%s\n' "${summary[@]}"
python3 tools/cuda_counts.py "${build_dirs[@]}"
python3 tools/count_tests.py --also-failed "$failed_checks" "${build_dirs[@]}"
