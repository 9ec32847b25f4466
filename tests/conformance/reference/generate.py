#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Writes the case files, the same ones on every machine.

usage: generate.py [OUTPUT_DIR [FAMILY...]]    by default all, to ../cases
  TANDEM_JOBS=N    parallel jobs, by default one a core
"""

import concurrent.futures
import functools
import importlib
import os
import pathlib
import sys

# Case file and module.
FAMILIES = {
    "activation": "activation",
    "conversion": "conversion",
    "convolution": "convolution",
    "counting": "counting",
    "creation": "creation",
    "elementwise": "elementwise",
    "elementwise_cast": "elementwise_cast",
    "elementwise_complex": "elementwise_complex",
    "elementwise_math": "elementwise_math",
    "elementwise_select": "elementwise_select",
    "image": "image",
    "image_sample": "image_sample",
    "indexing": "indexing",
    "linalg": "linalg",
    "morphology": "morphology",
    "nn": "nn",
    "normalization": "normalization",
    "pooling": "pooling",
    "random": "random_numbers",
    "reduction": "reduction",
    "scan": "scan",
    "shape": "shape",
    "side_effect": "side_effect",
    "signal": "signal_ops",
    "sparse": "sparse",
    "test": "test_ops",
    "text": "text",
    "volume": "volume",
}


def write_family(output, family):
    """The number of cases."""
    suite = importlib.import_module(FAMILIES[family]).suite()
    suite.write(output / f"{family}.jsonl")
    return len(suite.cases)


def main():
    here = pathlib.Path(__file__).resolve().parent
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent / "cases"
    output.mkdir(parents=True, exist_ok=True)
    families = sys.argv[2:] or list(FAMILIES)
    jobs = int(os.environ.get("TANDEM_JOBS") or os.cpu_count() or 1)
    total = 0
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for family, count in zip(families, pool.map(functools.partial(write_family, output), families)):
            total += count
            print(f"{family}: {count} cases")
    print(f"{total} cases")


if __name__ == "__main__":
    main()
