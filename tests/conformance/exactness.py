#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Runs conformance cases in exact mode with each instruction set that this machine has, and with several numbers of
threads, and fails unless the results are the same bits (NU-2, NU-3).

usage: exactness.py --runner PROGRAM [--emulator COMMAND;ARGUMENT...] [--threads N,...] --bits DIR FILE...

The bits go to DIR/TARGET_THREADS.bits, where TARGET is "only" if there are no several instruction sets to choose from.
"""

import argparse
import os
import pathlib
import subprocess
import sys

# What TANDEM_CPU_TARGET may name where a build has several instruction sets.
TARGETS = ("avx512", "avx2", "scalar")
SKIPPED = 77


def run(args, target, threads):
    """The file with the bits, or None if this machine or build does not have the target."""
    bits = args.bits / f"{target or 'only'}_{threads}.bits"
    environment = {name: value for name, value in os.environ.items() if name != "TANDEM_CPU_TARGET"}
    if target:
        environment["TANDEM_CPU_TARGET"] = target
    command = [*args.emulator.split(";"), args.runner] if args.emulator else [args.runner]
    command += ["--exact", "--threads", threads, "--bits", str(bits), *args.files]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == SKIPPED:
        return None
    if done.returncode != 0:
        sys.stdout.write(done.stdout)
        sys.exit(f"exactness: {bits.stem}: exit status {done.returncode}")
    return bits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runner", required=True, metavar="PROGRAM", help="conformance_runner")
    parser.add_argument("--emulator", default="", metavar="COMMAND;ARGUMENT...", help="what it is run by")
    parser.add_argument("--threads", default="1,2,4", metavar="N,...")
    parser.add_argument("--bits", required=True, type=pathlib.Path, metavar="DIR")
    parser.add_argument("files", nargs="+", metavar="FILE")
    args = parser.parse_args()
    counts = args.threads.split(",")

    args.bits.mkdir(parents=True, exist_ok=True)
    for old in args.bits.glob("*.bits"):
        old.unlink()
    # The first number of threads tells whether there is such a target.
    firsts = {target: run(args, target, counts[0]) for target in TARGETS}
    targets = [target for target, bits in firsts.items() if bits] or [None]
    written = [bits for bits in firsts.values() if bits] or [run(args, None, counts[0])]
    written += [run(args, target, threads) for target in targets for threads in counts[1:]]
    print(" ".join(bits.stem for bits in written), flush=True)
    if len(written) == 1:
        return 0
    tool = pathlib.Path(__file__).with_name("compare_bits.py")
    return subprocess.run([sys.executable, str(tool), *map(str, written)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
