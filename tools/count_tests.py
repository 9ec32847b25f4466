#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Adds up the GoogleTest and conformance cases of builds that tools/test.sh ran.

usage: count_tests.py [--also-failed N] BUILD_DIR...

Reads BUILD_DIR/reports: ctest.xml (CTest's JUnit report) and, for each test of it that runs GoogleTest or
conformance_runner, TEST.json.
A program that failed without reporting a failed case (it crashed, left a value alive, or is an example) counts as one
failed case, and so does a build without reports. The last line printed is "N passed, N failed, N skipped"; the exit
status is 1 if any failed or none passed.
"""

import argparse
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def count_cases(report):
    """[passed, failed, skipped] of one JSON report, of conformance_runner or GoogleTest (whose disabled cases count as
    skipped)."""
    if "testsuites" not in report:
        return [report["passed"], report["failed"], report["skipped"]]
    counts = [0, 0, 0]
    for suite in report.get("testsuites", []):
        for case in suite.get("testsuite", []):
            if case.get("failures"):
                counts[1] += 1
            elif case.get("status") == "RUN" and case.get("result") == "COMPLETED":
                counts[0] += 1
            else:
                counts[2] += 1
    return counts


def count_build(build_dir):
    """The same of one build, and a line for each program that failed."""
    reports = build_dir / "reports"
    try:
        programs = ElementTree.parse(reports / "ctest.xml").getroot().findall("testcase")
    except (OSError, ElementTree.ParseError):
        return [0, 1, 0], [f"{build_dir}: the tests were not run"]
    counts = [0, 0, 0]
    failures = []
    for program in programs:
        name = program.get("name")
        ok = program.get("status") == "run"
        try:
            cases = count_cases(json.loads((reports / f"{name}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError):
            cases = [0, 0, 0]
        if not ok and cases[1] == 0:
            cases[1] = 1
        if cases[1]:
            failures.append(f"{build_dir}: {name}: {cases[1]} failed")
        counts = [a + b for a, b in zip(counts, cases)]
    if not programs:
        return [0, 1, 0], [f"{build_dir}: no tests"]
    return counts, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--also-failed", type=int, default=0, metavar="N", help="failures that left no report")
    parser.add_argument("build_dirs", nargs="+", type=pathlib.Path, metavar="BUILD_DIR")
    args = parser.parse_args()

    total = [0, args.also_failed, 0]
    for build_dir in args.build_dirs:
        counts, failures = count_build(build_dir)
        print("{:<28} {} passed, {} failed, {} skipped".format(build_dir.name, *counts))
        for line in failures:
            print(f"  {line}")
        total = [a + b for a, b in zip(total, counts)]
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
