#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Fails if a C or C++ source is not formatted as .clang-format says.
# usage: tools/check_format.sh [--fix]    --fix formats them instead

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fix=false
case "${1:-}" in
  "") ;;
  --fix) fix=true ;;
  *)
    echo "usage: tools/check_format.sh [--fix]" >&2
    exit 2
    ;;
esac
if ! command -v clang-format >/dev/null; then
  echo "check_format: clang-format was not found; run tools/setup.sh" >&2
  exit 1
fi

mapfile -t files < <(find core backends bindings native tests examples -name node_modules -prune -o \
  \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print | sort)
if $fix; then
  clang-format -i "${files[@]}"
  exit
fi
bad=0
for file in "${files[@]}"; do
  clang-format --dry-run --Werror "$file" 2>/dev/null && continue
  echo "$file is not formatted"
  bad=$((bad + 1))
done
if ((bad)); then
  echo "check_format: $bad of ${#files[@]} files; run tools/check_format.sh --fix ($(clang-format --version))" >&2
  exit 1
fi
echo "check_format: ${#files[@]} files"
