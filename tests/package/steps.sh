# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# What the tests in this folder, which read this file, share: steps, each of which says what it is, and everything that
# its command said if the test fails. The reader sets `scratch`, a folder to write into.

test_name=$(basename "$0" .sh)
log=$scratch/step.log  # what the last step said

# One generator for all projects, and one that the build of Tandem needs anyway.
export CMAKE_GENERATOR=Ninja

# Ends the test, with the end of what the last step said.
fail() {
  trap - ERR
  echo "$test_name: $*" >&2
  if [[ -s $log ]]; then
    echo "$test_name: the last step said:" >&2
    tail -n "${shown_lines:-20}" "$log" >&2
  fi
  exit 1
}

# No command ends the test without a word.
set -E
trap 'fail "line $LINENO: status $? of: $BASH_COMMAND"' ERR

step() {  # WHAT COMMAND...
  local what=$1 status=0
  shift
  echo "$test_name: $what"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  ((status == 0)) || shown_lines=100 fail "$what failed with status $status"
}
