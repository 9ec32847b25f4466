#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Builds a stranger's program with Tandem embedded and TANDEM_OPS naming the one op that it calls, runs it, and looks
# for what must not be in it (OR-4, EX-4).
# usage: run_selected.sh SCRATCH_DIR    CXX, CMAKE and CMAKE_CXX_COMPILER_LAUNCHER come by the environment

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$1
cmake=${CMAKE:-cmake}
if [[ -z ${TANDEM_TEST_FULL:-} ]]; then
  echo "run_selected: left to --full, as it compiles the libraries once more"
  exit 77
fi
mkdir -p "$scratch"
source "$here/../package/steps.sh"

step "configure with one op" "$cmake" -S "$here/add" -B "$scratch" -DCMAKE_BUILD_TYPE=Release \
  -DTANDEM_WARNINGS_AS_ERRORS=ON -DFETCHCONTENT_SOURCE_DIR_TANDEM="$(cd "$here/../.." && pwd)" \
  -DCMAKE_CXX_COMPILER="${CXX:-c++}" -DCMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER:-}"
step "build" "$cmake" --build "$scratch" -j "${TANDEM_JOBS:-2}" --target add
step "run" "$scratch/add"
grep -q '^sum: 2 4$' "$log" || fail "expected the sum"
grep -q '^op: FailedPrecondition: .*op tf\.Mul was left out of this build .*TANDEM_OPS' "$log" ||
  fail "expected the error of an op that was left out"
grep -q '^dtype: Unimplemented: .*no kernel for dtype i32' "$log" || fail "expected the error of a dtype that was left out"

symbols=$(nm -C "$scratch/add")
# What the op needs is there, so that names are what this looks for.
for present in BroadcastMetadata 'BinaryRow<.*Add, float>'; do
  grep -q "$present" <<<"$symbols" || fail "expected a symbol like $present"
done
for absent in MatMulKernel Conv2DKernel '::ReductionKernel' SelectMetadata CastMetadata 'BinaryRow<.*Mul' \
  'BinaryRow<.*Add, double>' SoftmaxKernel 'EinsumKernel<' RangeKernel; do
  if grep -q "$absent" <<<"$symbols"; then fail "expected no symbol like $absent: $(grep -m1 "$absent" <<<"$symbols")"; fi
done
cp "$scratch/add" "$scratch/add-stripped"
strip "$scratch/add-stripped"
size=$(stat -c %s "$scratch/add-stripped")
echo "run_selected: the program of one op has $size bytes"
budget=1000000
((size <= budget)) || fail "expected at most $budget bytes, got $size"
