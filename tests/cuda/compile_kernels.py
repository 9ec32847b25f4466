#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

"""Compiles the kernels of a folder, texts in CUDA C++, for the host: many of them to a library.

usage: compile_kernels.py FOLDER --jobs N -- COMPILER [OPTION...]
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys

# Of the names, so that a text that changes has one library compiled again, if there is a compiler cache. One library's
# texts take the compiler some seconds.
LIBRARIES = 32


def compile_library(folder, number, names, compiler):
    source = folder / f"library{number}.cc"
    parts = ['#include "emulated_cuda.h"\n', '#include "prelude.cuh"\n']
    for name in names:
        parts.append((folder / f"{name}.cu").read_text())
        parts.append(f'extern "C" void run_{name}(void* const* arguments) '
                     f"{{ w_call({name}_scope::{name}, arguments); }}\n"
                     f'extern "C" unsigned sizes_{name}(unsigned* sizes) '
                     f"{{ return w_sizes({name}_scope::{name}, sizes); }}\n")
    source.write_text("".join(parts))
    library = source.with_suffix(".so")
    here = pathlib.Path(__file__).parent
    result = subprocess.run(
        [*compiler, "-std=c++17", "-O1", "-w", "-fno-exceptions", "-fno-rtti", "-fPIC", "-shared", f"-I{here}",
         f"-I{folder}", str(source), "-o", str(library)], capture_output=True, text=True, check=False)
    return f"{source}:\n{result.stderr[:4000]}" if result.returncode != 0 else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("compiler", nargs="+")
    arguments = parser.parse_args()
    libraries = {}
    names = sorted(file.stem for file in arguments.folder.glob("*.cu"))
    for name in names:
        libraries.setdefault(int(name[1:], 16) % LIBRARIES, []).append(name)
    for old in arguments.folder.glob("library*"):
        old.unlink()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        failures = list(pool.map(lambda item: compile_library(arguments.folder, *item, arguments.compiler),
                                 sorted(libraries.items())))
    failures = [failure for failure in failures if failure]
    for failure in failures[:5]:
        print(failure)
    print(f"{len(names)} kernels in {len(libraries)} libraries, {len(failures)} not compiled")
    return 1 if failures or not names else 0


if __name__ == "__main__":
    sys.exit(main())
