#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# All that is to be shown of Tandem on a CUDA device, in one run on one machine: the conformance cases and the tests of
# the contract, by CUDA and by Vulkan on the same GPU, the former under compute-sanitizer, where that is there, too;
# memory shared with PyTorch, where python3 has it with CUDA; and figures: by CUDA, with products of TF32, with CUDA
# graphs, by Vulkan, by PyTorch's eager calls, and of cuBLASLt called directly. The table that report.py makes of them,
# on the standard output and in build/reports-cuda/table.md, says what was asked for, and of what is missing why.
# usage: tests/bench/cuda/run.sh [--emulated | --pack FILE | --packed FILE] [PART...]
#   PART...                what to do, all by default: figures, suites, sanitizer, vulkan
#   --emulated             without a device: the same steps over an emulated driver (tests/cuda/README.md), which show
#                          that the script, the benchmarks and their results are right; figures mean nothing
#   --pack FILE            builds, and packs what runs into FILE, a .tar.xz, for a machine that cannot build
#   --packed FILE          runs what --pack has packed: it takes these sources, and no compiler
#   TANDEM_JOBS=N          parallel jobs of the build and of the suites, 2 by default
#   PYTHON=FILE            the Python that has PyTorch, python3 by default
# Exit status 77 where there is no device, 1 if a suite failed or a figure falls short.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

usage() {
  sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
emulated=false pack="" packed="" parts=""
while (($# > 0)); do
  case $1 in
    --emulated) emulated=true ;;
    --pack | --packed)
      (($# > 1)) || usage
      if [[ $1 == --pack ]]; then pack=$2; else packed=$2; fi
      shift
      ;;
    figures | suites | sanitizer | vulkan) parts+=" $1 " ;;
    *) usage ;;
  esac
  shift
done
has_part() { [[ -z $parts || $parts == *" $1 "* ]]; }

out=build/reports-cuda
rm -rf "$out"
programs=$PWD/$out/programs
mkdir -p "$programs"/{device,vulkan,cuda}
jobs=${TANDEM_JOBS:-2}
python=${PYTHON:-python3}
if [[ -n $packed ]]; then
  tar -xJf "$packed" -C "$programs"
  export LD_LIBRARY_PATH=$programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
else
  source tools/compiler_cache.sh
  cmake --preset release -DTANDEM_BUILD_BENCHMARKS=ON >"$out/configure.log"
  targets=$(cmake --build --preset release --target help)
  # Those tests that there are: Vulkan may have been left out.
  tests_of() {  # FOLDER
    for source in tests/unit/"$1"/*_test.cc; do basename "$source" .cc; done |
      grep -Fxf <(sed -n 's/^\([a-z0-9_]*_test\): phony$/\1/p' <<<"$targets")
  }
  for folder in device vulkan cuda; do
    for test in $(tests_of "$folder"); do ln -s "$PWD/build/release/tests/unit/$test" "$programs/$folder"; done
  done
  cmake --build --preset release -j "$jobs" --target conformance_runner tandem_gpu_bench tandem_cublaslt_bench tandem \
    tandem_cuda_module compile_by_nvrtc fake_cublaslt fake_cudnn fake_driver $(cd "$programs" && basename -a */*_test) \
    >"$out/build.log" || {
    tail -n 20 "$out/build.log" >&2
    exit 1
  }
  ln -s "$PWD"/build/release/tests/{conformance/conformance_runner,bench/tandem_{gpu,cublaslt}_bench} "$programs"
  ln -s "$PWD"/build/release/native/libtandem{.so.*.*.*,_cuda.so.*} "$programs"
fi
if [[ -n $pack ]]; then
  # Without what debuggers need, and with a library that not every machine has. The tests of CUDA stay behind: they need
  # files of the build, and no device. Much of a program is in the next one, too: one window over all of them.
  staged=$(mktemp -d)
  trap 'rm -rf "$staged"' EXIT
  rm -r "$programs/cuda"
  cp -RL "$programs"/. "$staged"
  find "$staged" -type f -exec strip {} +
  ldd "$programs/conformance_runner" | sed -n 's/.* => \(.*\/libhwy\.so[^ ]*\) .*/\1/p' | xargs -r cp -Lt "$staged"
  tar -C "$staged" -cf - . | xz --x86 --lzma2=preset=1,dict=256MiB >"$pack"
  exit
fi
runner=("$programs/conformance_runner" --targets tests/conformance/targets)
bench=$programs/tandem_gpu_bench
cases=(tests/conformance/cases/*.jsonl)
# Those of the kernels with shared memory and barriers.
checked_cases=(tests/conformance/cases/{reduction,linalg,normalization,nn,scan,indexing}.jsonl)

# Columns of the table, each with a file of figures or a file that says why there are none.
measure() {  # COLUMN COMMAND...
  local column=$1 status=0
  shift
  echo "run.sh: figures: $column" >&2
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

# Case files in pieces, each by a process of its own, behind the words of `wrapper`; the last line counts them all.
wrapper=()
conformance() {  # DEVICE FILE...
  local device=$1 pieces status=0
  pieces=$(mktemp -d -p "$PWD/$out")
  shift
  for file in "$@"; do
    split -l 200 --additional-suffix=.jsonl "$file" "$pieces/$(basename "$file" .jsonl)-"
  done
  find "$pieces" -name "*.jsonl" -print0 |
    xargs -0 -n 1 -P "$jobs" bash -c '"${@:1:$#-1}" "${@: -1}" >"${@: -1}.log" 2>&1 || { echo "$?" >"${@: -1}.failed"; }' _ \
      "${wrapper[@]}" "${runner[@]}" --device "$device" || status=$?
  for piece in "$pieces"/*.failed; do
    [[ -e $piece ]] || continue
    [[ $(<"$piece") == 77 ]] && status=77 || status=1
    echo "$(basename "${piece%.failed}") ended with $(<"$piece")"
    cat "${piece%.failed}.log"
  done
  cat "$pieces"/*.log | awk '/^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3; skipped += $5 }
    END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }'
  return "$status"
}

# Each test of some folders by itself; the last line counts them all.
tests() {  # FILTER FOLDER...
  local filter=$1 log=$out/tests.log folder test
  shift
  for folder in "$@"; do
    for test in "$programs/$folder"/*_test; do
      [[ ! -e $test ]] || "$test" --gtest_brief=1 --gtest_filter="$filter" || echo "$(basename "$test") failed"
    done
  done >"$log" 2>&1
  cat "$log"
  awk '/^\[  (PASSED|FAILED|SKIPPED) +\] [0-9]+ test/ { count[$2] += $4 }
    END { printf "%d tests passed, %d failed, %d skipped\n", count["PASSED"], count["FAILED"], count["SKIPPED"] }' "$log"
  ! grep -q " failed$" "$log" || return 1
  grep -q '^\[  PASSED  \] [1-9]' "$log" || return 77
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
  # The toolkit's libraries that came with PyTorch, where the loader finds no others.
  libraries=$("$python" -c 'import glob, os, nvidia
print(":".join(glob.glob(os.path.join(next(iter(nvidia.__path__)), "*", "lib"))))' 2>/dev/null || true)
  [[ -z $libraries ]] || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$libraries
fi

if has_part figures; then
  status=0
  measure cuda "$bench" "${device[@]}" || status=$?
  if ((status == 77)); then
    cat "$out/cuda.log"
    exit 77
  fi
  TANDEM_CUDA_TF32=1 measure tf32 "$bench" "${device[@]}" || true
  TANDEM_CUDA_GRAPHS=1 measure graphs "$bench" "${device[@]}" || true
  measure cublaslt "$programs/tandem_cublaslt_bench" || true
  # On the CPU where there is no device, if only to show that it works.
  torch=("$python" tests/bench/cuda/torch_bench.py "${small[@]}")
  $emulated && torch+=(--device cpu)
  measure torch "${torch[@]}" || true
  measure torch_tf32 "${torch[@]}" --tf32 || true
fi
if has_part figures && has_part vulkan; then
  measure vulkan "$bench" vulkan "${small[@]}" || true
fi

if has_part suites; then
  if $emulated; then
    not_run conformance_cuda "by ctest -L cuda, in emulation"
  else
    suite conformance_cuda conformance cuda "${cases[@]}"
  fi
  suite contract_cuda tests "-*Vulkan*" device cuda
  suite dlpack "$python" tests/cuda/dlpack_with_torch.py "$programs"/libtandem.so.0.*.*
fi
if has_part vulkan; then
  if $emulated; then
    suite conformance_vulkan conformance vulkan tests/conformance/cases/nn.jsonl
  else
    suite conformance_vulkan conformance vulkan "${cases[@]}"
  fi
  suite contract_vulkan tests "-*Cuda*" device vulkan
fi
if has_part sanitizer; then
  check=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  for tool in memcheck racecheck; do
    if $emulated; then
      not_run "$tool" "it needs a device"
    elif [[ ! -x $check ]]; then
      not_run "$tool" "there is no compute-sanitizer"
    else
      wrapper=("$check" --tool "$tool" --error-exitcode 9)
      suite "$tool" conformance cuda "${checked_cases[@]}"
    fi
  done
fi

"$python" tests/bench/cuda/report.py "$out" "${small[@]}"
