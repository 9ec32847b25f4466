#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Fails if a source, test or document names a rule that core/CONTRACT.md does not have.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly contract=core/CONTRACT.md
families=$(sed -nE 's/^## ([A-Z]{2})\. .*/\1/p' "$contract" | paste -s -d '|')
rules=$(sed -nE 's|^- <a id="([^"]*)"></a>\*\*\1\*\* .*|\1|p' "$contract" | sort)
twice=$(uniq -d <<<"$rules")
if [[ -z $families || -z $rules || -n $twice ]]; then
  echo "check_contract: expected $contract to define each rule once, got ${twice:-none}" >&2
  exit 1
fi

cited=$(grep -rnwoE "($families)-[0-9]+[a-z]?" --exclude-dir={node_modules,dist,cases,build} \
  --include=*.{h,c,cc,wgsl,md,ts,js,mjs,py,sh,cmake,txt} core backends bindings native web tests examples tools ./*.md)
unknown=$(awk -F: 'NR == FNR { known[$0]; next } !($NF in known)' <(printf '%s\n' "$rules") <(printf '%s\n' "$cited"))
if [[ -n $unknown ]]; then
  printf '%s\n' "$unknown" >&2
  echo "check_contract: these rules are not in $contract" >&2
  exit 1
fi
echo "check_contract: $(wc -l <<<"$rules") rules"
