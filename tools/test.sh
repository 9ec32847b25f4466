#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Installs what is missing, builds Tandem in each preset and runs its tests and examples, then builds the npm package
# and runs its tests in Node and Chromium, and checks format and generated files. The last line is the count of
# GoogleTest, conformance and JavaScript cases over all of it; a stage that failed without a failed case, such as a
# build, a crash, an example or a check, counts as one failed.
# usage: tools/test.sh [part...]    presets (see CMakePresets.json) and web, the npm package and its examples;
#                                   by default: release asan tsan m32 wasm wasm-threads web
#   TANDEM_JOBS=N          parallel jobs, 2 by default
#   TANDEM_SKIP_SETUP=1    install nothing but npm packages

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=${TANDEM_JOBS:-2}
parts=("$@")
((${#parts[@]})) || parts=(release asan tsan m32 wasm wasm-threads web)
presets=()
setup_options=()
wants_emscripten=false wants_web=false
for part in "${parts[@]}"; do
  case "$part" in
    dev | release | asan | tsan | m32) presets+=("$part") ;;
    wasm | wasm-threads)
      presets+=("$part")
      wants_emscripten=true
      ;;
    web)
      setup_options=(--web)
      wants_emscripten=true wants_web=true
      ;;
    *)
      echo "test: unknown part '$part', expected some of: dev release asan tsan m32 wasm wasm-threads web" >&2
      exit 2
      ;;
  esac
done

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
    tail -n 200 "$log"
    printf 'test: %s failed; everything it said is in %s\n' "$name" "$log"
  fi
  summary+=("$(printf '%-28s %-7s %5d s' "$name" "$outcome" $((SECONDS - start)))")
  [[ $outcome != FAILED ]]
}

if [[ -z "${TANDEM_SKIP_SETUP:-}" ]]; then
  tools/setup.sh "${setup_options[@]}"
  if $wants_emscripten; then tools/setup_emscripten.sh; fi
fi

for preset in "${presets[@]}"; do
  dir=build/$preset
  mkdir -p "$dir"
  rm -rf "$dir/reports"
  mkdir "$dir/reports"
  stage "$preset: configure" "$dir/configure.log" cmake --preset "$preset" &&
    stage "$preset: build" "$dir/build.log" cmake --build --preset "$preset" -j "$jobs" &&
    GTEST_OUTPUT="json:$PWD/$dir/reports/" stage "$preset: test" "$dir/test.log" \
      ctest --preset "$preset" -j "$jobs" --output-junit "$PWD/$dir/reports/ctest.xml" || true
done

build_dirs=("${presets[@]/#/build/}")
if $wants_web; then
  build_dirs+=(build/web)
  source tools/test_web.sh
  test_web
fi

if ((${#presets[@]})); then
  mkdir -p build/checks
  for check in tools/check_*.sh; do
    name=$(basename "$check" .sh)
    TANDEM_PRESET=${presets[0]} stage "$name" "build/checks/$name.log" "$check" || failed_checks=$((failed_checks + 1))
  done
fi

printf '\n'
printf '%s\n' "${summary[@]}"
python3 tools/count_tests.py --also-failed "$failed_checks" "${build_dirs[@]}"
