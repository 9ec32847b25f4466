#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Says what a build that tools/test.sh ran has shown of CUDA without a device (tests/cuda/README.md): how many kernels were
compiled, by NVRTC and for the host, how many cases passed in emulation, and how long that took.

usage: cuda_counts.py BUILD_DIR...

Reads BUILD_DIR/reports: ctest.xml (CTest's JUnit report) and conformance_FAMILY_cuda.json. Prints nothing of a build
without such tests.
"""

import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

# What compiles says what it did in its last line.
COMPILERS = ("cuda_kernels_by_nvrtc", "cuda_kernels_for_host")


def lines_of(build_dir):
    reports = pathlib.Path(build_dir) / "reports"
    try:
        root = ElementTree.parse(reports / "ctest.xml").getroot()
    except (OSError, ElementTree.ParseError):
        return  # which count_tests.py tells of
    cases = {case.get("name"): case for case in root.iter("testcase")}
    seconds = 0
    for name in ("cuda_kernels", *COMPILERS):
        if name not in cases:
            continue
        seconds += float(cases[name].get("time", 0))
        said = (cases[name].findtext("system-out") or "").strip().splitlines()
        if name in COMPILERS:
            yield f"{name}: {said[-1] if said else cases[name].get('status')}"
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    files = sorted(reports.glob("conformance_*_cuda.json"))
    for file in files:
        report = json.loads(file.read_text(encoding="utf-8"))
        for key in counts:
            counts[key] += report[key]
        seconds += float(cases[file.stem].get("time", 0)) if file.stem in cases else 0
    if files:
        said = ", ".join(f"{count} {key}" for key, count in counts.items())
        yield f"cases in emulation: {said}; {seconds:.0f} s with the compilers"


def main():
    for build_dir in sys.argv[1:]:
        for line in lines_of(build_dir):
            print(f"{build_dir}: {line}")


if __name__ == "__main__":
    main()
