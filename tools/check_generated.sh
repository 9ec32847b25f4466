#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Fails if a generated file is not what it follows from gives now.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
tools/generate.sh "$fresh"
status=0
while IFS= read -r file; do
  if ! diff -u "$file" "$fresh/$file"; then
    echo "check_generated: $file is out of date; run tools/generate.sh and commit the result" >&2
    status=1
  fi
done < <(cd "$fresh" && find . -type f | sed 's|^\./||')
exit "$status"
