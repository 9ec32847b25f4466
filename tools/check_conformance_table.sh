#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Fails if the table in tests/conformance/README.md is not of the cases that the tests of a preset ran. Exit status 77:
# skipped, for want of their reports.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

shopt -s nullglob
reports=("build/${TANDEM_PRESET:-release}"/reports/conformance_*.json)
if ((${#reports[@]} == 0)); then
  echo "check_conformance_table: skipped: no reports; run tools/test.sh ${TANDEM_PRESET:-release} first" >&2
  exit 77
fi
python3 tests/conformance/update_readme.py --check "${reports[@]}"
