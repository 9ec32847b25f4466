#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Installs what is missing, builds Tandem in each preset and runs its tests and examples, then checks format and
# generated files. The last line is the count of GoogleTest and conformance cases over all presets; a stage that failed without a failed
# case, such as a build, a crash, an example or a check, counts as one failed.
# usage: tools/test.sh [preset...]    by default: release asan tsan m32 (see CMakePresets.json); wasm and wasm-threads by name
#   TANDEM_JOBS=N          parallel jobs, 2 by default
#   TANDEM_SKIP_SETUP=1    install nothing

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=${TANDEM_JOBS:-2}
presets=("$@")
((${#presets[@]})) || presets=(release asan tsan m32)
wants_emscripten=false
for preset in "${presets[@]}"; do
  case "$preset" in
    dev | release | asan | tsan | m32) ;;
    wasm | wasm-threads) wants_emscripten=true ;;
    *)
      echo "test: unknown preset '$preset', expected some of: dev release asan tsan m32 wasm wasm-threads" >&2
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
  tools/setup.sh
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

mkdir -p build/checks
for check in tools/check_*.sh; do
  name=$(basename "$check" .sh)
  TANDEM_PRESET=${presets[0]} stage "$name" "build/checks/$name.log" "$check" || failed_checks=$((failed_checks + 1))
done

printf '\n'
printf '%s\n' "${summary[@]}"
python3 tools/count_tests.py --also-failed "$failed_checks" "${presets[@]/#/build/}"
