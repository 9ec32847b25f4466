#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Adds up the GoogleTest, conformance and JavaScript cases of builds that tools/test.sh ran.

usage: count_tests.py [--also-failed N] BUILD_DIR...

Reads BUILD_DIR/reports: which programs ran, from ctest.xml (CTest's JUnit report) or else steps.txt (lines "NAME ok" or
"NAME FAILED"); and, for each that counts its cases, NAME.json or NAME.xml (JUnit).
A program that failed without reporting a failed case (it crashed, left a value alive, or is an example) counts as one
failed case, and so does a build without reports; one that skipped itself (exited with its SKIP_RETURN_CODE) without a
report counts as one skipped case. The last line printed is "N passed, N failed, N skipped"; the exit
status is 1 if any failed or none passed.
"""

import argparse
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def count_cases(report):
    """[passed, failed, skipped] of one JSON report: of GoogleTest (whose disabled cases count as skipped), or one with
    the three counts, as conformance runners and the tests in web/ write it."""
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


def count_junit(path):
    """The same of a JUnit report of Node's test runner."""
    counts = [0, 0, 0]
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        counts[1 if kinds & {"failure", "error"} else 2 if "skipped" in kinds else 0] += 1
    return counts


def count_program(reports, name):
    """The same of one program; zeros if it counts no cases."""
    try:
        if (reports / f"{name}.xml").exists():
            return count_junit(reports / f"{name}.xml")
        return count_cases(json.loads((reports / f"{name}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, ElementTree.ParseError):
        return [0, 0, 0]


def outcome_of(case):
    """"ok", "skipped" or "FAILED", of a test case of ctest.xml."""
    if case.get("status") == "run":
        return "ok"
    # A program that is missing is "skipped" to CTest too, with another message.
    skipped = case.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith("SKIP_RETURN_CODE"):
        return "skipped"
    return "FAILED"


def programs_of(reports):
    """[name, "ok", "skipped" or "FAILED"] of each program that there is to run."""
    steps = reports / "steps.txt"
    if steps.exists():
        return [line.split() for line in steps.read_text(encoding="utf-8").splitlines()]
    cases = ElementTree.parse(reports / "ctest.xml").getroot().findall("testcase")
    return [[case.get("name"), outcome_of(case)] for case in cases]


def count_build(build_dir):
    """The same of one build, and a line for each program that failed."""
    reports = build_dir / "reports"
    try:
        programs = programs_of(reports)
    except (OSError, ValueError, ElementTree.ParseError):
        return [0, 1, 0], [f"{build_dir}: the tests were not run"]
    counts = [0, 0, 0]
    failures = []
    for name, outcome in programs:
        cases = count_program(reports, name)
        if outcome == "skipped" and not any(cases):
            cases[2] = 1
        elif outcome not in ("ok", "skipped") and cases[1] == 0:
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
