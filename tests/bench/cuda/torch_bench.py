#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

"""The figures of tandem_gpu_bench by PyTorch's eager calls on the same GPU, in the same lines."""

import sys
import time

import torch

ROUNDS = 7


def best(count, call):
    """Seconds of `count` calls in the best round; the first one compiles."""
    least = float("inf")
    for turn in range(ROUNDS + 1):
        call()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        if turn > 0:
            least = min(least, time.perf_counter() - begin)
    return least


def main():
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False
    device = torch.device("cuda")
    print(f"device {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    small = torch.ones(64, device=device)
    count = 10000
    issue = float("inf")
    for _ in range(ROUNDS + 1):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            small + small
        issue = min(issue, time.perf_counter() - begin)
    print(f"small_op_issue {issue / count * 1e6:.3f} us")
    print(f"small_op_rate {count / best(count, lambda: small + small):.0f} op/s")

    elements = 1 << 28
    gigabytes = elements * 4 / 1e9
    x, y = torch.ones(elements, device=device), torch.ones(elements, device=device)
    print(f"copy_1GiB {2 * gigabytes * 10 / best(10, lambda: y.copy_(x)):.0f} GB/s")
    print(f"add_1GiB {3 * gigabytes * 10 / best(10, lambda: x + y):.0f} GB/s")
    del x, y
    rows = torch.ones(16384, 4096, device=device)
    scale = torch.ones(4096, device=device)
    gigabytes = rows.numel() * 4 / 1e9
    for name, moved, call in (
        ("softmax_16384x4096", 2, lambda: torch.softmax(rows, 1)),
        ("layer_norm_16384x4096", 2, lambda: torch.nn.functional.layer_norm(rows, (4096,), scale, scale)),
        ("sum_rows_16384x4096", 1, lambda: rows.sum(1)),
        ("sum_columns_16384x4096", 1, lambda: rows.sum(0)),
        ("transpose_16384x4096", 2, lambda: rows.t().contiguous()),
    ):
        print(f"{name} {moved * gigabytes * 20 / best(20, call):.0f} GB/s")
    for name, dtype, tf32 in (("f32", torch.float32, False), ("tf32", torch.float32, True),
                              ("bf16", torch.bfloat16, False)):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        for size in (1024, 4096, 8192):
            a = torch.ones(size, size, device=device, dtype=dtype)
            count = 50 if size <= 1024 else 3
            print(f"matmul_{name}_{size} {2 * size**3 * count / best(count, lambda: a @ a) / 1e9:.0f} GFLOP/s")


if __name__ == "__main__":
    main()
