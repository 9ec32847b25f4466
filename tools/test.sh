#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Runs the demo, installs what is missing, builds Tandem in each preset and runs its tests and examples, then builds the
# npm package and runs its tests in Node and Chromium, compares what exact mode gave on all of these targets, and checks
# format and generated files. At the end it says what was shown of CUDA without a device; the last line is the count of
# GoogleTest, conformance and JavaScript cases over all of it; a stage that failed without a failed case, such as a build,
# a crash, an example or a check, counts as one failed.
# usage: tools/test.sh [--full] [--within MINUTES] [part...]
#   part                   demo, a short run of tools/demo.sh; a preset (see CMakePresets.json); web, the npm package and
#                          its examples; by default: demo release web asan tsan, and with --full m32, aarch64,
#                          wasm-op-libraries, and wasm and wasm-threads, whose modules web tests in any case. Unless
#                          --full is given, only tests of some labels are built and run for tsan (threads), m32 and
#                          aarch64 (quick), and asan (these and fuzz), which is without AVX-512, Vulkan, tool and
#                          examples
#   --full                 also what takes too long for each change: tests see TANDEM_TEST_FULL=1; the benchmarks are built
#   --within MINUTES       begins neither web, asan nor tsan if it would end later, judged by the time that demo and release
#                          have taken, and stops what of them has not ended by then; each part or step of web that is left
#                          out or stopped is said, and counts as one skipped
#   TANDEM_JOBS=N          parallel jobs, 2 by default
#   TANDEM_SKIP_SETUP=1    install nothing but npm packages

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/compiler_cache.sh

jobs=${TANDEM_JOBS:-2}
parts=()
seconds_given=
while (($#)); do
  case "$1" in
    --full) export TANDEM_TEST_FULL=1 ;;
    --within)
      if [[ ! "${2:-}" =~ ^[1-9][0-9]{0,3}$ ]]; then
        echo "test: --within wants minutes, 1 to 9999, given ${2:-nothing}" >&2
        exit 2
      fi
      seconds_given=$(($2 * 60))
      shift
      ;;
    -h | --help)
      sed -n '/^# Runs/,/^$/s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) parts+=("$1") ;;
  esac
  shift
done
((${#parts[@]})) ||
  parts=(demo release ${TANDEM_TEST_FULL:+wasm wasm-threads wasm-op-libraries} web asan tsan ${TANDEM_TEST_FULL:+m32 aarch64})
setup_options=()
wants_emscripten=false wants_demo=false
for part in "${parts[@]}"; do
  case "$part" in
    dev | release | asan | tsan | m32) ;;
    demo) wants_demo=true ;;
    clang) setup_options+=(--clang) ;;
    aarch64) setup_options+=(--aarch64) ;;
    wasm | wasm-threads | wasm-op-libraries) wants_emscripten=true ;;
    web)
      setup_options+=(--web)
      wants_emscripten=true
      ;;
    *)
      echo "test: unknown part '$part', expected some of: demo dev release asan tsan clang m32 aarch64 wasm wasm-threads wasm-op-libraries web" >&2
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

# When a part that may be left out has to end, in seconds since this script began; empty for the others.
part_ends=
# Whether the last stage was stopped, or had no time left; not to be told by an exit status, which might be a command's own.
was_stopped=false

# Runs a command that is stopped, with what it has started, when the part has to end.
run_in_time() {  # COMMAND...
  was_stopped=false
  if [[ -z $part_ends ]]; then
    "$@"
    return
  fi
  local left=$((part_ends - SECONDS)) command timer ended status=0
  if ((left <= 0)); then
    was_stopped=true
    return 1
  fi
  set -m  # a process group for each
  "$@" &
  command=$!
  sleep "$left" &
  timer=$!
  set +m
  wait -n -p ended "$command" "$timer" || status=$?
  if [[ $ended == "$timer" ]]; then
    # The one that would tell how the others ended first.
    kill "$command"
    kill -- "-$command" 2>/dev/null || true
    was_stopped=true
  else
    kill "$timer"
  fi
  wait "$command" "$timer" 2>/dev/null || true
  return "$status"
}

summary=()
failed_checks=0
# The log goes to a file that only a failure shows, or a command that says by exit status 77 that it was skipped. Returns 1
# if the command failed or was stopped.
stage() {  # NAME LOG COMMAND...
  local name=$1 log=$2 start=$SECONDS outcome=ok status=0
  shift 2
  printf 'test: %2d min: %s\n' $((SECONDS / 60)) "$name"
  run_in_time "$@" >"$log" 2>&1 </dev/null || status=$?
  if $was_stopped; then
    outcome=STOPPED
    printf 'test: %s has not ended within %d min\n' "$name" $((part_ends / 60))
  elif ((status == 77)); then
    outcome=SKIPPED
    tail -n 1 "$log"
  elif ((status != 0)); then
    outcome=FAILED
    show_end "$log"
    printf 'test: %s failed; everything it said is in %s\n' "$name" "$log"
  fi
  summary+=("$(printf '%-28s %-7s %5d s' "$name" "$outcome" $((SECONDS - start)))")
  [[ $outcome != @(FAILED|STOPPED) ]]
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

test_preset() {  # PRESET
  local preset=$1 dir=build/$1 configure_options=() build_options=() test_options=()
  mkdir -p "$dir"
  rm -rf "$dir/reports" "$dir/test.log"
  mkdir "$dir/reports"
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
    "asan full") configure_options=(-DTANDEM_VULKAN=AUTO -DTANDEM_{CPU_AVX512,BUILD_TOOL,BUILD_EXAMPLES}=ON) ;;
    asan)
      configure_options=(-DTANDEM_{VULKAN,CPU_AVX512,BUILD_TOOL,BUILD_EXAMPLES}=OFF)
      build_options=(--target quick_tests threads_tests fuzzers)
      test_options=(-L "quick|threads|fuzz")
      ;;
  esac
  stage "$preset: configure" "$dir/configure.log" cmake --preset "$preset" "${configure_options[@]}" &&
    stage "$preset: build" "$dir/build.log" cmake --build --preset "$preset" -j "$jobs" "${build_options[@]}" &&
    GTEST_OUTPUT="json:$PWD/$dir/reports/" stage "$preset: test" "$dir/test.log" \
      ctest --preset "$preset" -j "$jobs" "${test_options[@]}" --output-junit "$PWD/$dir/reports/ctest.xml" || true
  if $was_stopped; then count_stopped "$preset"; fi
}

# The tests that had ended before their preset was stopped still count, and the preset as one skipped.
count_stopped() {  # PRESET
  local test='^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.+ *'
  {
    if [[ -e build/$1/test.log ]]; then
      sed -nE "s/${test}Passed .*/\1 ok/p; s/${test}\*\*\*Skipped .*/\1 skipped/p; s/${test}\*\*\*.*/\1 FAILED/p" \
        "build/$1/test.log"
    fi
    echo "$1 skipped"
  } >"build/$1/reports/steps.txt"
}

# By what a part takes of the time of demo and release, in percent.
fits() {  # PART
  local -A percent=([web]=60 [asan]=85 [tsan]=40)
  [[ -z $seconds_given || -z ${percent[$1]:-} || -z $seconds_of_release ]] ||
    ((SECONDS + seconds_of_release * percent[$1] / 100 <= seconds_given))
}

source tools/test_web.sh
seconds_of_release=
for part in "${parts[@]}"; do
  if [[ $part == demo ]]; then continue; fi
  build_dirs+=("build/$part")
  part_ends=
  if [[ $part == @(web|asan|tsan) ]]; then part_ends=$seconds_given; fi
  if ! fits "$part"; then
    echo "test: $part is left out: it would not end within $((seconds_given / 60)) min"
    summary+=("$(printf '%-28s %-7s' "$part" SKIPPED)")
    rm -rf "build/$part/reports"
    mkdir -p "build/$part/reports"
    echo "$part skipped" >"build/$part/reports/steps.txt"
  elif [[ $part == web ]]; then
    test_web
  else
    test_preset "$part"
  fi
  if [[ $part == release ]]; then seconds_of_release=$SECONDS; fi
done
part_ends=

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
for part in "${parts[@]}"; do
  if [[ $part != @(demo|web|wasm*) && -z $check_preset ]]; then check_preset=$part; fi
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
