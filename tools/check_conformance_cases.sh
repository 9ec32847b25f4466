#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Fails if a case file of tests/conformance is not what its reference gives now. Exit status 77: skipped, for want of
# NumPy.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=
for candidate in /usr/bin/python3 python3; do
  if "$candidate" -c 'import numpy' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [[ -z $python ]]; then
  echo "check_conformance_cases: skipped: no python3 with NumPy; install python3-numpy, or run tools/setup.sh" >&2
  exit 77
fi

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
PYTHONDONTWRITEBYTECODE=1 "$python" tests/conformance/reference/generate.py "$fresh"
if ! diff -rq tests/conformance/cases "$fresh"; then
  diff -r tests/conformance/cases "$fresh" | cut -c1-300 | head -n 20 || true
  echo "check_conformance_cases: run tests/conformance/reference/generate.py and commit the result" >&2
  exit 1
fi
