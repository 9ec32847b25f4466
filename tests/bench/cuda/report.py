#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

"""Makes one table of what run.sh has left in a folder: what is asked for, what there is, and whether it is enough.

usage: report.py FOLDER [--small]
COLUMN.figures has a line "NAME VALUE UNIT" for each figure, behind one about the device; COLUMN.log says why there are
none. NAME.suite is "passed", "failed" or "not run", and NAME.log ends with what the suite said. With --small, figures are
not judged, since they mean nothing. Exit status 1 if a suite failed or a figure falls short.
"""

import argparse
import pathlib
import re
import sys

COLUMNS = {"cuda": "CUDA", "tf32": "CUDA, TF32", "graphs": "CUDA graphs", "vulkan": "Vulkan", "torch": "PyTorch",
           "torch_tf32": "PyTorch, TF32", "cublaslt": "cuBLASLt"}

SUITES = {"conformance_cuda": "conformance cases, CUDA", "contract_cuda": "tests of the contract, CUDA",
          "memcheck": "compute-sanitizer memcheck", "racecheck": "compute-sanitizer racecheck",
          "conformance_vulkan": "conformance cases, Vulkan", "contract_vulkan": "tests of the contract, Vulkan", "dlpack": "memory shared with PyTorch"}

FIGURES = {
    "copy": "copy of 1 GiB", "add": "add, 1 GiB each", "matmul_f32_small": "matMul f32 1024",
    "matmul_f32_medium": "matMul f32 4096", "matmul_f32_large": "matMul f32 8192", "matmul_bf16_small": "matMul bf16 1024",
    "matmul_bf16_medium": "matMul bf16 4096", "matmul_bf16_large": "matMul bf16 8192",
    "small_op_issue": "issue of a small op", "small_op_rate": "small ops", "softmax": "softmax [16384,4096]",
    "layer_norm": "layerNorm [16384,4096]", "sum_rows": "sum of rows [16384,4096]",
    "sum_columns": "sum of columns [16384,4096]", "transpose": "transpose [16384,4096]",
    "conv_3x3_56": "conv 3x3 56x56x64", "conv_3x3_14": "conv 3x3 14x14x256",
    "conv_3x3_56_batch": "conv 3x3 32x56x56x64", "conv_3x3_14_batch": "conv 3x3 32x14x14x256",
    "conv_7x7_224_batch": "conv 7x7 stride 2 32x224x224x3", "conv_1x1_7": "conv 1x1 7x7x960 to 160",
    "conv_1x1_56": "conv 1x1 56x56x24 to 144", "conv_1x1_14_batch": "conv 1x1 32x14x14x256 to 1024",
    "depthwise_3x3_14": "depthwise 3x3 14x14x576", "depthwise_3x3_112": "depthwise 3x3 112x112x32",
    "depthwise_3x3_56_batch": "depthwise 3x3 32x56x56x144",
    "mobilenet_eager": "MobileNetV2, eager", "mobilenet_program": "MobileNetV2, program", "bert_eager": "BERT-base, eager",
    "bert_program": "BERT-base, program",
}

# (figure, column, whether it is to be at least or at most, how many times, what: a figure and its column, or a number)
ASKED = [
    ("add", "cuda", ">=", 0.9, ("copy", "cuda")),
    ("matmul_f32_large", "cuda", ">=", 0.97, ("matmul_f32_large", "cublaslt")),
    ("matmul_f32_large", "tf32", ">=", 0.97, ("matmul_tf32_large", "cublaslt")),
    ("matmul_bf16_large", "cuda", ">=", 0.97, ("matmul_bf16_large", "cublaslt")),
    *(("small_op_issue", column, "<=", 1, 2.0) for column in ("cuda", "graphs")),
    *(("small_op_rate", column, ">=", 2, ("small_op_rate", "torch")) for column in ("cuda", "graphs")),
    *((name, "cuda", ">=", 1, (name, "torch"))
      for name in ("softmax", "layer_norm", "sum_rows", "sum_columns", "transpose")),
    *((f"{network}_{way}", column, "<=", factor, (f"{network}_eager", "torch"))
      for network in ("mobilenet", "bert") for way, column, factor in
      (("eager", "cuda", 1), ("program", "cuda", 0.7), ("program", "graphs", 0.7))),
]


class Report:
    def __init__(self, folder, judges):
        self.folder = folder
        self.judges = judges
        self.fails = False
        self.figures, self.units, self.devices = {}, {}, {}
        for column in COLUMNS:
            self.figures[column] = self.read_column(column)

    def read_column(self, column):
        file = self.folder / f"{column}.figures"
        figures = {}
        for line in file.read_text().splitlines() if file.exists() else []:
            if match := re.fullmatch(r"device (.*)", line):
                self.devices[column] = match[1]
            elif match := re.fullmatch(r"(\w+) (\S+) (\S+)", line):
                figures[match[1]] = float(match[2])
                self.units[match[1]] = match[3]
            else:
                sys.exit(f"report.py: expected NAME VALUE UNIT in {file}, got: {line}")
        return figures

    def last_line(self, name):
        file = self.folder / f"{name}.log"
        lines = [line for line in file.read_text(errors="replace").splitlines() if line.strip()] if file.exists() else []
        # What ctest says behind its count is how long each label took.
        counts = [line for line in lines if "tests passed" in line]
        return (counts or lines or ["it was not started"])[-1].strip().replace("|", "/")

    def suite_rows(self):
        for name, label in SUITES.items():
            file = self.folder / f"{name}.suite"
            verdict = file.read_text().strip() if file.exists() else "not run"
            self.fails |= verdict == "failed"
            yield [label, "no failure", self.last_line(name), verdict]

    def figure(self, name, column):
        return self.figures[column].get(name)

    def judge(self, name, column, sense, factor, base):
        """The cells "asked", "there is" and "verdict"."""
        value = self.figure(name, column)
        if isinstance(base, tuple):
            of, reference = COLUMNS[base[1]] if base[0] != "copy" else "a copy", self.figure(*base)
        else:
            of, reference = None, base
        asked = f"{'at least' if sense == '>=' else 'at most'} " + (
            f"{factor:g} of {of}" if of else f"{base:g} {self.units.get(name, '')}")
        if value is None or not reference:
            missing = column if value is None else base[1]
            return [asked, f"{COLUMNS[missing]}: {self.last_line(missing)}", "not measured"]
        there = f"{value / reference:.2f}" if of else f"{value:g} {self.units[name]}"
        if not self.judges:
            return [asked, there, "not judged"]
        met = value >= factor * reference if sense == ">=" else value <= factor * reference
        self.fails |= not met
        return [asked, there, "met" if met else "missed"]

    def asked_rows(self):
        for name, column, *rest in ASKED:
            label = FIGURES[name] + ("" if column == "cuda" else f", {COLUMNS[column].removeprefix('CUDA').strip(', ')}")
            yield [label, *self.judge(name, column, *rest)]

    def figure_rows(self):
        for name, label in FIGURES.items():
            unit = self.units.get(name, "")
            cells = []
            for column in COLUMNS:
                value = self.figure(name, column)
                if column == "cublaslt" and name.startswith("matmul_f32"):
                    tf32 = self.figure(name.replace("f32", "tf32"), column)
                    cells.append("-" if value is None else f"{value:g}; TF32 {tf32:g}" if tf32 else f"{value:g}")
                else:
                    cells.append("-" if value is None else f"{value:g}")
            yield [f"{label}, {unit}", *cells]

    def text(self):
        lines = ["# Tandem on a CUDA device", ""]
        if not self.judges:
            lines += ["Small sizes: this shows that all of it works; figures mean nothing.", ""]
        for column, label in COLUMNS.items():
            lines.append(f"- {label}: {self.devices.get(column) or 'not measured: ' + self.last_line(column)}")
        lines += ["", *table(["what", "asked for", "there is", "verdict"], [*self.suite_rows(), *self.asked_rows()])]
        lines += ["", *table(["figure", *COLUMNS.values()], list(self.figure_rows()))]
        return "\n".join(lines) + "\n"


def table(head, rows):
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    line = lambda cells: "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |"
    return [line(head), line(["-" * width for width in widths]), *map(line, rows)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    report = Report(arguments.folder, not arguments.small)
    text = report.text()
    (arguments.folder / "table.md").write_text(text)
    print(text, end="")
    return 1 if report.fails else 0


if __name__ == "__main__":
    sys.exit(main())
