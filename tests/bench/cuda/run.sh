#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# All that is to be shown of Tandem on a CUDA device, in one run on one machine: the conformance cases and the tests of
# the contract, by CUDA and by Vulkan on the same GPU, the former under compute-sanitizer, where that is there, too; and
# figures: by CUDA, with products of TF32, with CUDA graphs, by Vulkan, by PyTorch's eager calls, where python3 has it
# with CUDA, and of cuBLASLt called directly. The table that report.py makes of them, on the standard output and in
# build/reports-cuda/table.md, says what was asked for, and of what is missing why.
# usage: tests/bench/cuda/run.sh [--no-sanitizer | --emulated]
#   --emulated             without a device: the same steps over an emulated driver (tests/cuda/README.md), which show
#                          that the script, the benchmarks and their results are right; figures mean nothing
#   TANDEM_JOBS=N          parallel jobs of the build, 2 by default
#   PYTHON=FILE            the Python that has PyTorch, python3 by default
# Exit status 77 where there is no device, 1 if a suite failed or a figure falls short.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
source tools/compiler_cache.sh

sanitizer=true emulated=false
case ${1:-} in
  --no-sanitizer) sanitizer=false ;;
  --emulated) emulated=true ;;
  "") ;;
  *)
    sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

out=build/reports-cuda
rm -rf "$out"
mkdir -p "$out"
jobs=${TANDEM_JOBS:-2}
targets=(conformance_runner tandem_gpu_bench tandem_cublaslt_bench compile_by_nvrtc fake_cublaslt fake_cudnn fake_driver)
cmake --preset release -DTANDEM_BUILD_BENCHMARKS=ON >"$out/configure.log"
# Those of these folders that there are: Vulkan may have been left out.
tests_of() {  # FOLDER...
  local folder source
  for folder in "$@"; do
    for source in tests/unit/"$folder"/*_test.cc; do basename "$source" .cc; done
  done | grep -Fxf <(cmake --build --preset release --target help | sed -n 's/^\([a-z0-9_]*_test\): phony$/\1/p')
}
mapfile -t cuda_tests < <(tests_of cuda device gpu shader)
mapfile -t vulkan_tests < <(tests_of device vulkan)
targets+=("${cuda_tests[@]}" "${vulkan_tests[@]}")
cmake --build --preset release -j "$jobs" --target "${targets[@]}" >"$out/build.log"
runner=build/release/tests/conformance/conformance_runner
bench=build/release/tests/bench/tandem_gpu_bench
cases=(tests/conformance/cases/*.jsonl)
# Those of the kernels with shared memory and barriers.
checked_cases=(tests/conformance/cases/{reduction,linalg,normalization,nn,scan,indexing}.jsonl)

# Columns of the table, each with a file of figures or a file that says why there are none.
measure() {  # COLUMN COMMAND...
  local column=$1 status=0
  shift
  "$@" >"$out/$column.figures" 2>"$out/$column.log" || status=$?
  if ((status != 0)); then
    cat "$out/$column.figures" >>"$out/$column.log"
    rm "$out/$column.figures"
  fi
  return "$status"
}

# Rows of the table; what a suite says is the end of its log.
suite() {  # NAME COMMAND...
  local name=$1 status=0
  shift
  echo "run.sh: $name" >&2
  "$@" >"$out/$name.log" 2>&1 || status=$?
  case $status in
    0) echo passed >"$out/$name.suite" ;;
    77) echo "not run" >"$out/$name.suite" ;;
    *) echo failed >"$out/$name.suite" ;;
  esac
}
not_run() {  # NAME WHY
  echo "$2" >"$out/$1.log"
  echo "not run" >"$out/$1.suite"
}

if $emulated; then
  kernels=$PWD/$out/kernels
  device=(cuda-emulated --kernels "$kernels")
  small=(--small)
  echo "run.sh: kernels of the emulation" >&2
  "$bench" "${device[@]}" --collect >"$out/collect.log"
  tests/cuda/compile_kernels.py "$kernels" --jobs "$jobs" -- "${CXX:-c++}" >>"$out/collect.log"
else
  device=(cuda) small=()
fi

status=0
echo "run.sh: figures by CUDA" >&2
measure cuda "$bench" "${device[@]}" || status=$?
if ((status != 0)); then
  cat "$out/cuda.log"
  exit "$status"
fi
TANDEM_CUDA_TF32=1 measure tf32 "$bench" "${device[@]}" || true
TANDEM_CUDA_GRAPHS=1 measure graphs "$bench" "${device[@]}" || true
echo "run.sh: figures by others" >&2
measure vulkan "$bench" vulkan "${small[@]}" || true
measure cublaslt build/release/tests/bench/tandem_cublaslt_bench || true
# On the CPU where there is no device, if only to show that it works.
torch=("${PYTHON:-python3}" tests/bench/cuda/torch_bench.py "${small[@]}")
$emulated && torch+=(--device cpu)
measure torch "${torch[@]}" || true
measure torch_tf32 "${torch[@]}" --tf32 || true

if $emulated; then
  not_run conformance_cuda "by ctest -L cuda, in emulation"
else
  suite conformance_cuda "$runner" --device cuda "${cases[@]}"
fi
ctest_of() { ctest --preset release -j "$jobs" -R "^($(IFS='|' && echo "$*"))\$"; }
suite contract_cuda ctest_of "${cuda_tests[@]}"
check=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
for tool in memcheck racecheck; do
  if $emulated; then
    not_run "$tool" "it needs a device"
  elif ! $sanitizer; then
    not_run "$tool" "by choice"
  elif [[ ! -x $check ]]; then
    not_run "$tool" "there is no compute-sanitizer"
  else
    TANDEM_CUDA_CACHE=off suite "$tool" "$check" --tool "$tool" --error-exitcode 9 "$runner" --device cuda \
      "${checked_cases[@]}"
  fi
done
if $emulated; then
  suite conformance_vulkan "$runner" --device vulkan tests/conformance/cases/nn.jsonl
else
  suite conformance_vulkan "$runner" --device vulkan "${cases[@]}"
fi
suite contract_vulkan ctest_of "${vulkan_tests[@]}"

python3 tests/bench/cuda/report.py "$out" "${small[@]}"
