#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Makes a page of what the benches measured: README.md with tables, and plots beside it.

Figures of the run, with the machine's description, go to results/native.json or results/web.json in the page's folder; the
page is then drawn from whichever of the two there are. tests/bench/run.sh calls this.

usage: report.py native --page DIR --calls FILE --kernels FILE --networks FILE [--peer TEXT]...
       report.py web --page DIR --web FILE
       report.py draw --page DIR
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 (after the backend is chosen)

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = "tandem"
# What a call of the typed C++ functions is compared with, by the names of the benchmarks.
CALLS = {
    "add, op made once, 1 element": ("AddMade/1", "TorchAdd/1"),
    "add by name, 1 element": ("AddByName/1", "TorchAdd/1"),
    "add, typed, 1 element": ("EagerAdd/1", "TorchAdd/1"),
    "add, typed, 1024 elements": ("EagerAdd/1024", "TorchAdd/1024"),
    "add a number": ("EagerCall/add_number", "TorchCall/add_number"),
    "sum along an axis": ("EagerCall/sum_axis", "TorchCall/sum_axis"),
    "matMul, one transposed": ("EagerCall/matmul_transposed", "TorchCall/matmul_transposed"),
    "concat of two": ("EagerCall/concat", "TorchCall/concat"),
    "cast to i32": ("EagerCall/cast", "TorchCall/cast"),
    "reshape": ("EagerCall/reshape", "TorchCall/reshape"),
    "transpose (libtorch: a view)": ("EagerCall/transpose", "TorchCall/transpose"),
    "slice (libtorch: a view)": ("EagerCall/slice", "TorchCall/slice"),
}
PREPARED = "program, prepared"
# Units in the last place: elementary functions of other libraries with larger errors are not compared with; as in
# kernel_bench.cc.
MOST_ULP = 4


def output_of(*command):
    """What a command prints, or nothing where there is no such command."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    """What one has to know about a machine to judge its figures."""
    processor = output_of("lscpu")
    cpu = re.search(r"^Model name:\s*(.*)$", processor, re.MULTILINE)
    flags = {"avx512f": "AVX-512", "avx2": "AVX2", "asimd": "NEON"}
    system = pathlib.Path("/etc/os-release")
    name = re.search(r'^PRETTY_NAME="(.*)"$', system.read_text(), re.MULTILINE) if system.exists() else None
    return {
        "processor": cpu.group(1) if cpu else platform.machine(),
        "vectors": next((name for flag, name in flags.items() if re.search(rf"\b{flag}\b", processor)), ""),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{name.group(1) if name else platform.system()}, Linux {platform.release()}",
        "compiler": output_of("c++", "--version").split("\n")[0],
        "node": output_of("node", "--version"),
        "chromium": output_of(os.environ.get("CHROMIUM", "chromium"), "--version"),
    }


def package(name):
    """A Debian package's name and version, without Debian's own part."""
    version = output_of("dpkg-query", "-W", "-f", "${Version}", name)
    return [f"{name} {re.sub(r'[-+].*', '', version)}"] if version else []


def spread(values):
    """Median, least and largest."""
    return [statistics.median(values), min(values), max(values)]


def google_runs(path):
    """All repetitions of a file of Google Benchmark."""
    runs = json.loads(path.read_text())["benchmarks"]
    return [run for run in runs if run.get("run_type") == "iteration" and not run.get("error_occurred")]


def google_times(path):
    """Nanoseconds per call of each repetition, by the benchmark's name, of a file of Google Benchmark."""
    times = {}
    for run in google_runs(path):
        scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[run["time_unit"]]
        times.setdefault(run["run_name"], []).append(run["real_time"] * scale)
    return times


def read_native(args):
    calls = google_times(args.calls)
    rows = {"calls": [], "kernels": [], "networks": []}
    for title, (ours, theirs) in CALLS.items():
        found = {library: spread(calls[name]) for library, name in ((OURS, ours), ("libtorch", theirs)) if name in calls}
        if OURS in found:
            rows["calls"].append({"title": title, "threads": 1, "ns": found})
    kernels = {}
    # LIBRARY/THREADS/KERNEL/real_time, where a kernel's name has no slash.
    for name, times in google_times(args.kernels).items():
        library, threads, kernel = name.split("/")[:3]
        kernels.setdefault((kernel, int(threads)), {})[library] = spread(times)
    ulp = {}
    for run in google_runs(args.kernels):
        if "ulp" in run:
            library, threads, kernel = run["run_name"].split("/")[:3]
            ulp.setdefault((kernel, int(threads)), {})[library] = run["ulp"]
    for (kernel, threads), found in sorted(kernels.items()):
        errors = ulp.get((kernel, threads), {})
        rows["kernels"].append({"title": kernel, "threads": threads, "ns": found, "ulp": errors})
    networks = {}
    for row in json.loads(args.networks.read_text()):
        times = spread([1e6 * value for value in row["ms"]])
        networks.setdefault((row["network"], row["threads"]), {})[row["way"]] = times
    for (network, threads), found in networks.items():
        rows["networks"].append({"title": network, "threads": threads, "ns": found})
    peers = [text for name in ("libtorch1.13", "libdnnl2", "libopenblas0-pthread", "libeigen3-dev") for text in package(name)]
    return {"peers": peers + args.peer, **rows}


def read_web(args):
    report = json.loads(args.web.read_text())
    versions = json.loads((ROOT / "tests/bench/web/package.json").read_text())["devDependencies"]
    peers = [f"{name} {version}" for name, version in versions.items() if re.search("tensorflow|onnx|jax", name)]
    return {"peers": peers, "sections": report["sections"], "memory": report.get("memory", [])}


def table(header, rows, texts):
    """A table of Markdown, `texts` columns to the left."""
    line = lambda cells: "| " + " | ".join(cells) + " |"  # noqa: E731
    return "\n".join([line(header), line(["---"] * texts + ["---:"] * (len(header) - texts)), *map(line, rows)])


def time_text(ns):
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns:.3g} ns"


def cell(row, library):
    """Median and what it lies between, and the largest error of an elementary function."""
    if library not in row["ns"]:
        return ""
    median, least, largest = row["ns"][library]
    ulp = row.get("ulp", {}).get(library)
    error = "" if ulp is None else f"; {ulp:.2g} ULP" if ulp < 100 else "; above 100 ULP"
    return f"{time_text(median)} ({time_text(least)} – {time_text(largest)}){error}"


def best_of_others(row, ours):
    accurate = [library for library in row["ns"] if row.get("ulp", {}).get(library, 0) <= MOST_ULP]
    others = [row["ns"][library][0] for library in accurate if library not in ours]
    return min(others) if others else None


def ratio_text(ratio):
    if ratio is None:
        return ""
    return f"**{ratio:.2f}**" if ratio > 1 else f"{ratio:.2f}"


def plot(path, title, series, rows):
    """Ratios to the best of the others as points: `rows` of (title, {series: ratio})."""
    rows = [row for row in rows if row[1]]
    if not rows:
        return False
    figure, axes = plt.subplots(figsize=(9, 1.1 + 0.24 * len(rows)))
    colours = ["#1f6feb", "#d1570a", "#2da44e", "#8250df"]
    for number, name in enumerate(series):
        points = [(ratios[name], place) for place, (_, ratios) in enumerate(rows) if name in ratios]
        axes.scatter([x for x, _ in points], [y for _, y in points], s=26, color=colours[number], label=name, zorder=3)
    axes.axvline(1, color="#57606a", linewidth=1)
    axes.set_xscale("log")
    ticks = [0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 5, 10]
    values = [value for _, ratios in rows for value in ratios.values()]
    axes.set_xlim(min(0.65, min(values) / 1.15), max(1.6, max(values) * 1.15))
    shown = [tick for tick in ticks if axes.get_xlim()[0] <= tick <= axes.get_xlim()[1]]
    axes.set_xticks(shown, [f"{tick:g}" for tick in shown])
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(True, color="#d0d7de", linewidth=0.5, zorder=0)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("Tandem's time / the best other's; left of 1, Tandem is faster")
    axes.legend(fontsize=8, loc="best")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return True


def description(results):
    host = results["machine"]
    processor = f"{host['processor']}{' with ' if host['vectors'] else ''}{host['vectors']}"
    lines = [f"{results['date']}; {processor}, {host['cores']} cores; {host['system']}"]
    lines += [host[name] for name in results["tools"] if host[name]]
    return "; ".join(lines) + ". Against " + ", ".join(results["peers"]) + "."


def native_ratios(rows, ours):
    """(title, {threads: ratio}) of rows, a row of each title."""
    ratios = {}
    for row in rows:
        best, own = best_of_others(row, {OURS, *ours}), row["ns"].get(ours[0])
        entry = ratios.setdefault(row["title"], {})
        if best is not None and own is not None:
            entry[f"{row['threads']} thread" + "s" * (row["threads"] > 1)] = own[0] / best
    return list(ratios.items())


def native_table(rows, libraries, ours):
    body = []
    for row in sorted(rows, key=lambda row: row["threads"]):
        best, own = best_of_others(row, set(ours)), row["ns"].get(ours[0])
        ratio = own[0] / best if best is not None and own is not None else None
        body.append([row["title"], str(row["threads"]), *(cell(row, name) for name in libraries), ratio_text(ratio)])
    return table(["", "threads", *libraries, "to the best"], body, 1)


def draw_native(results, page):
    threads = ["1 thread", "2 threads"]
    ways = ["eager", "program, one by one", PREPARED]
    plots = [
        ("calls", "Calls of small ops, against libtorch", results["calls"], [OURS], ["1 thread"]),
        ("kernels", "Kernels, against the best of libtorch, oneDNN and Eigen", results["kernels"], [OURS], threads),
        ("networks", "Networks as prepared programs, against ONNX Runtime", results["networks"], [PREPARED, *ways], threads),
    ]
    text = ["## Native", "", description(results), ""]
    for name, title, rows, ours, series in plots:
        ratios = native_ratios(rows, ours)
        if plot(page / "plots" / f"native_{name}.svg", title, series, ratios):
            text += [f"![{title}](plots/native_{name}.svg)", ""]
        libraries = list(dict.fromkeys(library for row in rows for library in row["ns"]))
        libraries.sort(key=lambda library: (library != OURS, library not in ways, library))
        slower = [f"{of}, {count} ({ratio:.2f})" for of, found in ratios for count, ratio in found.items() if ratio > 1]
        text += [f"{title}. Slower than the best other: " + ("; ".join(slower) if slower else "none") + ".", ""]
        text += ["<details><summary>Median, least and largest time</summary>", "", native_table(rows, libraries, ours), "",
                 "</details>", ""]
    return text


def web_rows(section, ours):
    """Rows of a section as those of the native benches, best of the rounds: (title, ratio) and all times."""
    scale = 1e6 if section["unit"] == "ms" else 1e3
    rows = []
    for row in section["rows"]:
        ns = {library: [scale * row["median"][library], scale * row["best"][library]] for library in row["median"]}
        others = [times[0] for library, times in ns.items() if not library.startswith(OURS)]
        own = ns.get(ours)
        rows.append((row["title"], own[0] / min(others) if own and others else None, ns))
    return rows


def draw_web(results, page):
    text = ["## npm package", "", description(results), ""]
    for section in results["sections"]:
        ours = [name for name in (OURS, "tandem-program") if name in section["libraries"]]
        ratios = {}
        for name in ours:
            for title, ratio, _ in web_rows(section, name):
                if ratio is not None:
                    ratios.setdefault(title, {})["eager" if name == OURS else "program"] = ratio
        title = f"{section['title']}{', first result of a page' if section['name'] == 'first' else ''}"
        name = f"web_{section['name'].replace('-', '_')}.svg"
        if plot(page / "plots" / name, f"{title}, against the best other", ["eager", "program"], list(ratios.items())):
            text += [f"![{title}](plots/{name})", ""]
        slower = [f"{of}, {way} ({ratio:.2f})" for of, found in ratios.items() for way, ratio in found.items() if ratio > 1]
        text += [f"{title}. Slower than the best other: " + ("; ".join(slower) if slower else "none") + ".", ""]
        body = []
        for (row, ratio, ns) in web_rows(section, OURS):
            times = [f"{time_text(ns[library][0])} ({time_text(ns[library][1])})" if library in ns else ""
                     for library in section["libraries"]]
            body.append([row, *times, ratio_text(ratio)])
        text += ["<details><summary>Median (best) time</summary>", "",
                 table(["", *section["libraries"], "tandem to the best"], body, 1), "", "</details>", ""]
    if results["memory"]:
        body = [[f"{of['library']}, {of['where']}", str(of.get("made", "")), f"{of.get('peak', 0) / 1e6:.0f} MB",
                 of.get("error") or "ended normally"] for of in results["memory"]]
        text += ["Results of 4 MB that are made in a loop and never disposed of:", "",
                 table(["", "made", "peak resident", "end"], body, 1), ""]
    return text


INTRODUCTION = """# Benches

What Tandem costs against what people use instead, each library at its best, in one run on one machine. Times of different
machines are not to be compared; ratios of one run are. Above 1, Tandem is slower; these are listed under each plot.

```sh
tests/bench/run.sh native    # calls, kernels, networks: installs libtorch, oneDNN and ONNX Runtime, builds, measures, draws this page
tests/bench/run.sh web       # the npm package in Node and Chromium: TensorFlow.js, ONNX Runtime Web, jax-js
tests/bench/cuda/run.sh      # where there is a CUDA device: cuda/README.md
```

Nothing else is to run meanwhile. Repetitions of all libraries are interleaved, so that what disturbs one disturbs all; figures
are medians, with the least and the largest of the repetitions beside them. A call's result is waited for, but not read.
Filters and matrices are constants to oneDNN and ONNX Runtime, which pack them before. Eigen is compiled for the machine's
processor; libtorch computes products by OpenBLAS. oneDNN and Eigen write to memory that is there already; Tandem and libtorch
allocate. Beside times of elementary functions stands the largest error that the library has among 2^20 numbers from -20 to 20
(gelu: to 10; log and rsqrt: to 40), in units in the last place (ULP); with what errs by more than 4 nothing is compared.
[web/README.md](web/README.md) says what the bench of the npm package compares.
"""


def draw(page):
    (page / "plots").mkdir(parents=True, exist_ok=True)
    text = INTRODUCTION.split("\n")
    for name, section in (("native", draw_native), ("web", draw_web)):
        results = page / "results" / f"{name}.json"
        if results.exists():
            text += section(json.loads(results.read_text()), page)
    (page / "README.md").write_text("\n".join(text).rstrip() + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("native", "web", "draw"))
    parser.add_argument("--page", type=pathlib.Path, required=True, help="the folder of README.md, plots and results")
    for name in ("calls", "kernels", "networks", "web"):
        parser.add_argument(f"--{name}", type=pathlib.Path, help="what the bench wrote")
    parser.add_argument("--peer", action="append", default=[], help="name and version of another library")
    args = parser.parse_args()
    matplotlib.rcParams["svg.hashsalt"] = "tandem"
    matplotlib.rcParams["svg.fonttype"] = "none"
    if args.what != "draw":
        read, tools = {"native": (read_native, ["compiler"]), "web": (read_web, ["node", "chromium"])}[args.what]
        results = {"date": datetime.date.today().isoformat(), "machine": machine(), "tools": tools, **read(args)}
        folder = args.page / "results"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{args.what}.json").write_text(json.dumps(results, indent=1) + "\n")
    draw(args.page)


if __name__ == "__main__":
    main()
