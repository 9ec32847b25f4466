#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# What a CUDA device and Tandem on it can do, in one run on one machine: the conformance cases, the same under
# compute-sanitizer, where that is there, and a table of figures: by CUDA, also with products by TF32 and with CUDA graphs,
# by Vulkan on the same GPU, by PyTorch's eager calls, where python3 has it with CUDA, and of cuBLASLt called directly.
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
cmake --build --preset release -j "${TANDEM_JOBS:-2}" --target conformance_runner tandem_gpu_bench tandem_cublaslt_bench >"$out/build.log"
runner=build/release/tests/conformance/conformance_runner
bench=build/release/tests/bench/tandem_gpu_bench

status=0
"$bench" cuda >"$out/cuda.txt" || status=$?
if ((status != 0)); then
  cat "$out/cuda.txt"
  exit "$status"
fi

# The names of products say how they round.
TANDEM_CUDA_TF32=1 "$bench" cuda | sed -n 's/^matmul_f32/matmul_tf32/p' >"$out/tf32.txt"
cat "$out/tf32.txt" >>"$out/cuda.txt"
TANDEM_CUDA_GRAPHS=1 "$bench" cuda | sed -n 's/^small_op/small_op_graphs/p' >>"$out/cuda.txt"
build/release/tests/bench/tandem_cublaslt_bench >"$out/cublaslt.txt" 2>"$out/cublaslt.log" || {
  : >"$out/cublaslt.txt"
  echo "cuBLASLt is not measured: $(cat "$out/cublaslt.log")"
}

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
  FILENAME ~ /cublaslt/ { direct[$1] = $2; next }
  FNR == 1 { printf "%-24s %10s %10s %10s %10s  %s\n", "", "cuda", "vulkan", "torch", "cuBLASLt", "unit"; next }
  {
    printf "%-24s %10s %10s %10s %10s  %s\n", $1, $2, ($1 in vulkan ? vulkan[$1] : "-"),
           ($1 in torch ? torch[$1] : "-"), ($1 in direct ? direct[$1] : "-"), $3
    value[$1] = $2
  }
  END {
    if (value["copy_1GiB"] > 0) printf "add of 1 GiB: %.2f of the bandwidth of a copy\n", value["add_1GiB"] / value["copy_1GiB"]
    for (type in direct) {
      if (type ~ /_8192$/ && direct[type] > 0) printf "%s: %.2f of cuBLASLt\n", type, value[type] / direct[type]
    }
  }
' "$out/vulkan.txt" "$out/torch.txt" "$out/cublaslt.txt" "$out/cuda.txt"
exit "$failed"
