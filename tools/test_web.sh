# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# The part `web` of tools/test.sh, which reads this file and calls test_web: it builds the npm package and runs its
# tests, the conformance cases through it, and its examples. Each step leaves its log in build/web, its counts in
# build/web/reports/NAME.json (or .xml), and a line "NAME ok", "NAME FAILED" or "NAME skipped" in
# build/web/reports/steps.txt, which tools/count_tests.py reads.

source tools/web_package.sh

web_step() {  # NAME COMMAND...
  local name=$1 outcome=ok
  shift
  TANDEM_TEST_REPORT="$PWD/build/web/reports/$name.json" stage "web: $name" "build/web/$name.log" "$@" ||
    { if $was_stopped; then outcome=skipped; else outcome=FAILED; fi; }
  printf '%s %s\n' "$name" "$outcome" >>build/web/reports/steps.txt
  [[ $outcome == ok ]]
}

# The programs and modules that the rest needs, where no preset of this run has built them: nothing is done then.
build_for_web() {
  build_modules wasm && build_modules wasm-threads &&
    cmake --preset release && cmake --build --preset release -j "$jobs" --target digits conformance_runner tandem_tool
}

conformance() {  # NAME DEVICE [OPTION...]
  local name=conformance_$1 device=$2 cases=(tests/conformance/cases/*.jsonl)
  shift 2
  # A worker differs from the page in how commands and results travel, of which some families have all kinds.
  if [[ $name == *_worker_* && -z ${TANDEM_TEST_FULL:-} ]]; then
    cases=(tests/conformance/cases/{elementwise_select,nn,shape}.jsonl)
  fi
  web_step "$name" node tests/conformance/run.mjs --device "$device" "$@" --report "build/web/reports/$name.json" \
    "${cases[@]}" || true
}

# The same in exact mode, whose results test.sh compares with those of the native build and of other presets.
exact_conformance() {  # NAME [OPTION...]
  local name=$1
  shift
  conformance "exact_$name" cpu --exact --bits "build/web/reports/exactness/$name.bits" "$@"
}
exact_conformance_native() {
  web_step conformance_exact_native build/release/tests/conformance/conformance_runner --exact \
    --bits build/web/reports/exactness/native.bits --report build/web/reports/conformance_exact_native.json \
    tests/conformance/cases/*.jsonl || true
}

# Node's own test runner, with a report that count_tests.py reads.
example() {  # NAME
  web_step "$1" in_folder "examples/$1" node --test --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=junit --test-reporter-destination="$PWD/build/web/reports/$1.xml" test.mjs || true
}

# TensorFlow.js's own specs over its backend here.
tfjs_specs() {  # NAME [OPTION...]
  local name=tfjs_$1
  shift
  web_step "$name" node tests/tfjs/run.mjs "$@" --report "build/web/reports/$name.json" || true
}

# Runs functions of steps beside each other: most steps wait for a browser, or use one core of two.
side_by_side() {  # FUNCTION...
  local name running=()
  for name in "$@"; do
    (
      summary=()
      trap 'printf "%s\n" "${summary[@]}" >"build/web/$name.summary"' EXIT
      "$name"
    ) &
    running+=($!)
  done
  for name in "$@"; do
    wait "${running[0]}" || printf '%s FAILED\n' "$name" >>build/web/reports/steps.txt
    running=("${running[@]:1}")
    mapfile -t -O "${#summary[@]}" summary <"build/web/$name.summary"
  done
}

package_tests() {
  local report=$PWD/build/web/reports
  web_step node in_folder web npm test || true
  TANDEM_TEST_THREADS=2 web_step node_threads in_folder web npm test || true
  web_step fuzz node --expose-gc tests/fuzz/js/fuzz.mjs || true
  web_step browser in_folder web npm run test:browser -- --report "$report/browser.json" || true
  web_step pages in_folder web npm run test:pages || true
  web_step bundlers in_folder web npm run test:bundlers || true
  web_step tfjs in_folder tests/tfjs npm ci --prefer-offline --ignore-scripts || return 0
  tfjs_specs node
  tfjs_specs node_3 --tfjs 3
  tfjs_specs browser --browser
  tfjs_specs browser_webgpu --browser --backend tandem-webgpu
  tfjs_specs models --models
  tfjs_specs models_webgpu --models --browser --backend tandem-webgpu
}

conformance_and_examples() {
  conformance node cpu
  conformance node_threads cpu --threads 2
  conformance browser cpu --browser
  conformance browser_threads cpu --browser --threads 2
  exact_conformance_native
  exact_conformance node
  exact_conformance node_threads --threads 2
  exact_conformance browser --browser
  conformance node_webgpu webgpu
  conformance browser_webgpu webgpu --browser
  conformance browser_worker_webgpu webgpu --browser --worker
  web_step examples install_examples || return 0
  web_step examples_types in_folder examples npm run check || true
  example node-digits
  example web-digits
  example web-playground
  example web-mobilenet
}

test_web() {
  rm -rf build/web/reports
  mkdir -p build/web/reports
  web_step build build_for_web || return 0
  web_step package build_package || return 0
  web_step types in_folder web npm run check || true
  web_step size in_folder web node scripts/size.mjs || true
  side_by_side package_tests conformance_and_examples
}
