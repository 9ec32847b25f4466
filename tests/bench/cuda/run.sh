#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# What a CUDA device and Tandem on it can do, in one run on one machine: the conformance cases, the same under
# compute-sanitizer, where that is there, and a table of figures: by CUDA, by Vulkan on the same GPU, and by PyTorch's
# eager calls, where python3 has it with CUDA.
# usage: tests/bench/cuda/run.sh [--no-sanitizer]
#   TANDEM_JOBS=N          parallel jobs of the build, 2 by default
# Exit status 77 where there is no device.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
source tools/compiler_cache.sh

sanitizer=true
[[ ${1:-} == --no-sanitizer ]] && sanitizer=false
out=build/reports-cuda
mkdir -p "$out"

cmake --preset release -DTANDEM_BUILD_BENCHMARKS=ON >"$out/configure.log"
cmake --build --preset release -j "${TANDEM_JOBS:-2}" --target conformance_runner tandem_gpu_bench >"$out/build.log"
runner=build/release/tests/conformance/conformance_runner
bench=build/release/tests/bench/tandem_gpu_bench

status=0
"$bench" cuda >"$out/cuda.txt" || status=$?
if ((status != 0)); then
  cat "$out/cuda.txt"
  exit "$status"
fi

failed=0
echo "## Conformance"
"$runner" --device cuda tests/conformance/cases/*.jsonl >"$out/conformance.log" || failed=1
tail -n 1 "$out/conformance.log"

check=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if $sanitizer && [[ -x $check ]]; then
  for tool in memcheck racecheck; do
    echo "## compute-sanitizer $tool"
    TANDEM_CUDA_CACHE=off "$check" --tool "$tool" --error-exitcode 9 "$runner" --device cuda \
      tests/conformance/cases/{reduction,linalg,normalization,nn,scan,indexing}.jsonl >"$out/$tool.log" 2>&1 || failed=1
    tail -n 2 "$out/$tool.log"
  done
else
  echo "## compute-sanitizer: not run"
fi

status=0
"$bench" vulkan >"$out/vulkan.txt" 2>"$out/vulkan.log" || {
  : >"$out/vulkan.txt"
  echo "Vulkan is not measured: $(cat "$out/vulkan.log")"
}
python3 tests/bench/cuda/torch_bench.py >"$out/torch.txt" 2>"$out/torch.log" || {
  : >"$out/torch.txt"
  echo "PyTorch is not measured: $(tail -n 1 "$out/torch.log")"
}

echo "## Figures"
head -n 1 "$out/cuda.txt"
awk '
  FILENAME ~ /vulkan/ { vulkan[$1] = $2; next }
  FILENAME ~ /torch/ { torch[$1] = $2; next }
  FNR == 1 { printf "%-24s %10s %10s %10s  %s\n", "", "cuda", "vulkan", "torch", "unit"; next }
  { printf "%-24s %10s %10s %10s  %s\n", $1, $2, ($1 in vulkan ? vulkan[$1] : "-"), ($1 in torch ? torch[$1] : "-"), $3 }
' "$out/vulkan.txt" "$out/torch.txt" "$out/cuda.txt"
exit "$failed"
