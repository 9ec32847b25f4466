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
each() {  # OPTION... of clang-format, which takes some files at a time, some times at once
  printf '%s\0' "${files[@]}" | xargs -0 -n 16 -P "${TANDEM_JOBS:-$(nproc)}" clang-format "$@"
}
if $fix; then
  each -i
  exit
fi
if output=$(each --dry-run --Werror 2>&1); then
  echo "check_format: ${#files[@]} files"
  exit
fi
bad=$(sed -nE 's/^([^:]+):[0-9]+:[0-9]+: error: .*/\1/p' <<<"$output" | sort -u)
if [[ -z $bad ]]; then
  printf '%s\n' "$output" >&2
  echo "check_format: clang-format failed" >&2
  exit 1
fi
sed 's/$/ is not formatted/' <<<"$bad"
echo "check_format: $(wc -l <<<"$bad") of ${#files[@]} files; run tools/check_format.sh --fix ($(clang-format --version))" >&2
exit 1
