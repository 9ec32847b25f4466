#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Trains in several processes, then fails unless all have the same weights, bit for bit, and the accuracy of each is
# LEAST percent or more.
# usage: check_processes.sh MPIRUN COUNT LEAST WEIGHTS PROGRAM [option...]    WEIGHTS: files to write, less .RANK

set -euo pipefail
mpirun=$1 count=$2 least=$3 weights=$4
shift 4
if [[ ! -x $mpirun ]]; then
  echo "skipped: mpirun is not there: run tools/setup.sh, or install openmpi-bin"
  exit 77
fi

rm -f "$weights".*
# Containers have one user and often fewer cores than processes. Each process is on this machine.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
output=$("$mpirun" --oversubscribe -n "$count" "$@" --threads 1 --save "$weights")
printf '%s\n' "$output"
for ((rank = 1; rank < count; ++rank)); do cmp "$weights.0" "$weights.$rank"; done
mapfile -t accuracies < <(sed -n 's/.*test accuracy: \([0-9]*\)\(\.[0-9]*\)\{0,1\} % .*/\1/p' <<<"$output")
((${#accuracies[@]} == count)) || { echo "expected $count accuracies, got ${#accuracies[@]}"; exit 1; }
for accuracy in "${accuracies[@]}"; do
  ((accuracy >= least)) || { echo "expected an accuracy of at least $least %, got $accuracy %"; exit 1; }
done
