#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Writes the table of ops and dtypes at the end of README.md from reports of conformance_runner for one device.

usage: update_readme.py [--check] REPORT.json...
--check writes nothing and fails if the table is of other cases: other ops, dtypes or counts. The errors in ULP are not
compared, since processors differ in them.
"""

import json
import pathlib
import sys

DTYPES = ["bool", "u8", "i8", "u16", "i16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64", "string"]
HEADING = "## Ops and dtypes\n"


def merge(reports):
    """Counts by op and dtype; each op is in the report of one family."""
    ops = {}
    for report in reports:
        for op, dtypes in report["ops"].items():
            for dtype, entry in dtypes.items():
                nothing = {"passed": 0, "failed": 0, "skipped": 0, "worst_ulp": 0}
                total = ops.setdefault(op, {}).setdefault(dtype, nothing)
                for key in ("passed", "failed", "skipped"):
                    total[key] += entry[key]
                total["worst_ulp"] = max(total["worst_ulp"], entry["worst_ulp"])
    return ops


def cell(entry):
    if entry is None:
        return ""
    if entry["failed"]:
        return f"{entry['failed']} failed"
    return f"{entry['worst_ulp']:.3g}" if entry["passed"] else "skipped"


def table(ops):
    lines = ["| op | " + " | ".join(DTYPES) + " | cases | wrong calls |",
             "| --- |" + " --- |" * (len(DTYPES) + 2)]
    # An op of wrong calls alone is one that is not defined.
    for op in sorted(op for op, dtypes in ops.items() if set(dtypes) != {""}):
        cells = [cell(ops[op].get(dtype)) for dtype in DTYPES]
        wrong_calls = ops[op].get("", {"passed": 0})["passed"]
        right_calls = sum(entry["passed"] for dtype, entry in ops[op].items() if dtype)
        lines.append(f"| `{op}` | " + " | ".join(cells) + f" | {right_calls} | {wrong_calls} |")
    return "\n".join(lines)


def coverage(text):
    """Of each op in the table, which dtypes have cases, and how many there are."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]
    return [(row[0], [cell != "" for cell in row[1:-2]], row[-2:]) for row in rows]


def main():
    paths = sys.argv[1:]
    is_check = paths[:1] == ["--check"]
    reports = [json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths[is_check:]]
    devices = {report["device"] for report in reports}
    if len(devices) != 1:
        sys.exit(f"update_readme.py: expected reports of one device, got {sorted(devices)}")
    ops = merge(reports)
    total = {key: sum(report[key] for report in reports) for key in ("passed", "failed", "skipped")}
    readme = pathlib.Path(__file__).resolve().parent / "README.md"
    old = readme.read_text(encoding="utf-8")
    text = old.split(HEADING)[0]
    text += f"""{HEADING}
Written by `update_readme.py` from reports of the runner. On `{devices.pop()}`:
{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped.

For each dtype the largest error in ULP, 0 being exact; empty: no cases. Elements within a case's absolute tolerance are
left out.

{table(ops)}
"""
    if not is_check:
        readme.write_text(text, encoding="utf-8")
    elif coverage(text) != coverage(old):
        sys.exit("update_readme.py: the table is of other cases; run it without --check and commit the result")


if __name__ == "__main__":
    main()
