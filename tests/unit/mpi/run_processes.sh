#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Runs a GoogleTest program as processes of an MPI job. Process 0 writes the report.
# usage: run_processes.sh MPIRUN COUNT [--survivors N] PROGRAM [argument...]
#   --survivors N    the program kills some of its processes; so many pass their tests

set -euo pipefail
mpirun=$1 count=$2
shift 2
survivors=
if [[ $1 == --survivors ]]; then
  survivors=$2
  shift 2
fi
if [[ ! -x $mpirun ]]; then
  echo "skipped: mpirun is not there: run tools/setup.sh, or install openmpi-bin"
  exit 77
fi

# Containers have one user and often fewer cores than processes. Each process is on this machine.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
options=(--oversubscribe -n "$count")
# shellcheck disable=SC2016
process=(sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || unset GTEST_OUTPUT; exec "$@"' sh)
if [[ -z $survivors ]]; then
  exec "$mpirun" "${options[@]}" "${process[@]}" "$@"
fi
# In this mode mpirun's own exit status is 0 whatever happens.
output=$("$mpirun" --enable-recovery "${options[@]}" "${process[@]}" "$@" 2>&1) || true
printf '%s\n' "$output"
passed=$(grep -c '^\[  PASSED  \] [1-9]' <<<"$output" || true)
if ((passed != survivors)) || grep -q '^\[  FAILED  \]' <<<"$output"; then
  echo "expected $survivors processes to pass, got $passed"
  exit 1
fi
