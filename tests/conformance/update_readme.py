#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Writes the tables of ops and dtypes at the end of README.md from reports of the runners for cpu, vulkan and webgpu.

usage: update_readme.py [--check] REPORT.json...
--check writes nothing and fails if a table of a device that there are reports of is of other cases or kernels: other
ops, dtypes or counts. The errors in ULP are not compared, since processors and drivers differ in them.

Fails in any case if an op of the CPU has no kernel on GPUs, and targets/shader/without_kernel.json does not say why.
"""

import json
import pathlib
import sys

DTYPES = ["bool", "u8", "i8", "u16", "i16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64", "string"]
GPU_DTYPES = ["f32", "f16", "i32", "u32", "bool"]
FOLDER = pathlib.Path(__file__).resolve().parent
HEADING = "## Ops and dtypes\n"
GPU_HEADING = "## Ops on GPUs\n"


def merge(reports):
    """Counts by op and dtype; each op is in the report of one family."""
    ops = {}
    for report in reports:
        for op, dtypes in report["ops"].items():
            for dtype, entry in dtypes.items():
                nothing = {"passed": 0, "failed": 0, "skipped": 0, "worst_ulp": 0, "has_kernel": False}
                total = ops.setdefault(op, {}).setdefault(dtype, nothing)
                for key in ("passed", "failed", "skipped"):
                    total[key] += entry[key]
                total["worst_ulp"] = max(total["worst_ulp"], entry["worst_ulp"])
                total["has_kernel"] |= entry.get("has_kernel", False)
    return ops


def defined(ops):
    """An op of wrong calls alone is one that is not defined."""
    return sorted(op for op, dtypes in ops.items() if set(dtypes) != {""})


def cell(entry):
    if entry is None:
        return ""
    if entry["failed"]:
        return f"{entry['failed']} failed"
    return f"{entry['worst_ulp']:.3g}" if entry["passed"] else "skipped"


def header(names):
    return ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]


def cpu_table(ops):
    lines = header(["op", *DTYPES, "cases", "wrong calls"])
    for op in defined(ops):
        cells = [cell(ops[op].get(dtype)) for dtype in DTYPES]
        wrong_calls = ops[op].get("", {"passed": 0})["passed"]
        right_calls = sum(entry["passed"] for dtype, entry in ops[op].items() if dtype)
        lines.append(f"| `{op}` | " + " | ".join(cells) + f" | {right_calls} | {wrong_calls} |")
    return "\n".join(lines)


def gpu_table(vulkan, webgpu, reasons):
    """Of each op and dtype: the errors on Vulkan and on WebGPU, or that the CPU computes it."""
    lines = header(["op", *GPU_DTYPES, "without a kernel because"])
    for op in defined(vulkan):
        cells = []
        for dtype in GPU_DTYPES:
            entry = vulkan[op].get(dtype)
            if entry is None:
                cells.append("")
            elif not entry["has_kernel"]:
                cells.append("cpu")
            else:
                other = webgpu.get(op, {}).get(dtype)
                shows_other = other is not None and dtype != "f16"
                cells.append(cell(entry) + (f" / {cell(other)}" if shows_other else ""))
        lines.append(f"| `{op}` | " + " | ".join(cells) + f" | {reasons.get(op, '')} |")
    return "\n".join(lines)


def lacking(vulkan):
    """The ops that no dtype has a kernel of."""
    return {op for op in defined(vulkan) if not any(entry["has_kernel"] for entry in vulkan[op].values())}


def rows(text):
    return [[entry.strip() for entry in line.strip("|").split("|")]
            for line in text.splitlines() if line.startswith("| `")]


def cpu_coverage(text):
    """Of each op in the table, which dtypes have cases, and how many there are."""
    return [(row[0], [entry != "" for entry in row[1:-2]], row[-2:]) for row in rows(text)]


def gpu_coverage(text):
    """Of each op in the table, which dtypes have cases, which of them kernels, and why others have not."""
    return [(row[0], [("cpu" if entry == "cpu" else entry != "") for entry in row[1:-1]], row[-1]) for row in rows(text)]


def counts(reports):
    total = {key: sum(report[key] for report in reports) for key in ("passed", "failed", "skipped")}
    return f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped"


def cpu_section(reports):
    return f"""{HEADING}
Written by `update_readme.py` from reports of the runners. On `cpu`: {counts(reports)}.

For each dtype the largest error in ULP, 0 being exact; empty: no cases. Elements within a case's absolute tolerance are
left out.

{cpu_table(merge(reports))}
"""


def gpu_section(vulkan, webgpu, reasons):
    return f"""{GPU_HEADING}
On `vulkan`: {counts(vulkan)}. On `webgpu`: {counts(webgpu)}. Both run the same kernels.

The largest error in ULP on Vulkan (lavapipe) and, behind the stroke, on WebGPU (SwiftShader, which has no f16); `cpu`: the
fallback computes it, as it does for all dtypes that are not in the table.

{gpu_table(merge(vulkan), merge(webgpu), reasons)}
"""


def fail(what):
    sys.exit(f"update_readme.py: {what}")


def main():
    paths = sys.argv[1:]
    is_check = paths[:1] == ["--check"]
    by_device = {"cpu": [], "vulkan": [], "webgpu": [], "cuda": [], "cuda-emulated": []}
    for path in paths[is_check:]:
        report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        by_device[report["device"]].append(report)
    reasons = json.loads((FOLDER / "targets/shader/without_kernel.json").read_text(encoding="utf-8"))
    # They have the same kernels; CUDA has some more, of dtypes that the others lack.
    for device in ("vulkan", "cuda", "cuda-emulated"):
        if not by_device[device]:
            continue
        ops = lacking(merge(by_device[device]))
        if (ops - set(reasons)) if device != "vulkan" else ops != set(reasons):
            fail(f"ops without a kernel on GPUs {sorted(ops - set(reasons))} must have a reason in "
                 f"targets/shader/without_kernel.json, and those with one {sorted(set(reasons) - ops)} none")
    readme = FOLDER / "README.md"
    old = readme.read_text(encoding="utf-8")
    head, _, tables = old.partition(HEADING)
    old_cpu, _, old_gpu = tables.partition(GPU_HEADING)
    if not is_check:
        if not all(by_device[device] for device in ("cpu", "vulkan", "webgpu")):
            fail(f"expected reports of cpu, vulkan and webgpu, got {[device for device, all in by_device.items() if all]}")
        text = head + cpu_section(by_device["cpu"]) + "\n"
        text += gpu_section(by_device["vulkan"], by_device["webgpu"], reasons)
        readme.write_text(text, encoding="utf-8")
        return
    wrong = []
    if by_device["cpu"] and cpu_coverage(cpu_section(by_device["cpu"])) != cpu_coverage(old_cpu):
        wrong.append("cpu")
    if by_device["vulkan"]:
        section = gpu_section(by_device["vulkan"], by_device["webgpu"], reasons)
        if gpu_coverage(section) != gpu_coverage(old_gpu):
            wrong.append("vulkan")
    if wrong:
        fail(f"the tables are of other cases or kernels on {' and '.join(wrong)}; run it without --check and commit the result")


if __name__ == "__main__":
    main()
