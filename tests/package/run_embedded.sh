#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Builds and runs a stranger's project that has Tandem's sources as a part of itself, through FetchContent; unless
# TANDEM_TEST_FULL=1, configures and compiles it alone.
# usage: run_embedded.sh SCRATCH_DIR    CXX, CMAKE and CMAKE_CXX_COMPILER_LAUNCHER come by the environment

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$1
cmake=${CMAKE:-cmake}
rm -rf "$scratch"
mkdir -p "$scratch"
source "$here/steps.sh"

# Not optimised, which would take minutes: it is what is compiled and linked that differs from other builds, each source
# by the headers that it names itself (TANDEM_PRECOMPILE_HEADERS).
step "configure with Tandem embedded" "$cmake" -S "$here/embedded" -B "$scratch" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
  -DTANDEM_WARNINGS_AS_ERRORS=ON -DFETCHCONTENT_SOURCE_DIR_TANDEM="$(cd "$here/../.." && pwd)" \
  -DCMAKE_CXX_COMPILER="${CXX:-c++}" -DCMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER:-}"
if [[ -z ${TANDEM_TEST_FULL:-} ]]; then
  # The libraries once more are minutes, and so left to --full; the program compiles by what is configured already.
  for variant in tandem tandem_static; do
    step "compile nearest_$variant" "$cmake" --build "$scratch" --target "CMakeFiles/nearest_$variant.dir/nearest.cc.o"
  done
  exit
fi
step "build" "$cmake" --build "$scratch" -j "${TANDEM_JOBS:-2}" --target nearest_tandem nearest_tandem_static
for variant in tandem tandem_static; do
  step "run nearest_$variant" "$scratch/nearest_$variant"
done
