#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

"""The figures of tandem_gpu_bench by PyTorch's eager calls on the same GPU, in the same lines.

usage: torch_bench.py [--tf32] [--small] [--device cuda|cpu]
--tf32 lets products and convolutions of f32 round their factors, as TANDEM_CUDA_TF32=1 does; --small takes sizes that
only show that all of it works, which the CPU does as well.
"""

import argparse
import math
import sys
import time

import torch

# (expansion, channels, repeats, stride of the first), as in networks.cc.
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


# (name, batch, image, channels, out_channels, window, stride, whether depthwise), as in gpu_bench.cc.
CONVOLUTIONS = (
    ("conv_3x3_56", 1, 56, 64, 64, 3, 1, False), ("conv_3x3_14", 1, 14, 256, 256, 3, 1, False),
    ("conv_3x3_56_batch", 32, 56, 64, 64, 3, 1, False), ("conv_3x3_14_batch", 32, 14, 256, 256, 3, 1, False),
    ("conv_7x7_224_batch", 32, 224, 3, 64, 7, 2, False), ("conv_1x1_7", 1, 7, 960, 160, 1, 1, False),
    ("conv_1x1_56", 1, 56, 24, 144, 1, 1, False), ("conv_1x1_14_batch", 32, 14, 256, 1024, 1, 1, False),
    ("depthwise_3x3_14", 1, 14, 576, 576, 3, 1, True), ("depthwise_3x3_112", 1, 112, 32, 32, 3, 1, True),
    ("depthwise_3x3_56_batch", 32, 56, 144, 144, 3, 1, True),
)


class Bench:
    def __init__(self, device, small):
        self.device = device
        self.rounds = 1 if small else 7
        self.small_ops = 8 if small else 10000
        self.repeats = 2 if small else 20
        self.elements = 1 << (12 if small else 28)
        self.rows, self.columns = (24, 40) if small else (16384, 4096)
        self.products = (16, 32, 48) if small else (1024, 4096, 8192)
        self.warm_seconds = 0 if small else 3
        self.image, self.width, self.classes = (32, 0.25, 10) if small else (224, 1, 1000)
        self.bert = (8, 16, 2, 2, 50) if small else (128, 768, 12, 12, 30522)

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def best(self, count, call):
        """Seconds of `count` calls in the best round; the first one compiles."""
        least = float("inf")
        for turn in range(self.rounds + 1):
            call()
            self.wait()
            begin = time.perf_counter()
            for _ in range(count):
                call()
            self.wait()
            if turn > 0:
                least = min(least, time.perf_counter() - begin)
        return least

    def inference(self, call):
        """Milliseconds of one call that is waited for, the best of several."""
        warm = time.perf_counter()
        while True:
            call()
            self.wait()
            if time.perf_counter() - warm >= self.warm_seconds:
                break
        least = float("inf")
        for _ in range(3 * self.rounds):
            begin = time.perf_counter()
            call()
            self.wait()
            least = min(least, time.perf_counter() - begin)
        return least * 1e3

    def run(self):
        self.small()
        self.bandwidth()
        self.matmul()
        self.convolutions()
        print(f"mobilenet_eager {self.mobilenet():.3f} ms")
        print(f"bert_eager {self.inference(self.bert_call()):.3f} ms")

    def small(self):
        x = torch.ones(64, device=self.device)
        issue = float("inf")
        for _ in range(self.rounds + 1):
            self.wait()
            begin = time.perf_counter()
            for _ in range(self.small_ops):
                x + x
            issue = min(issue, time.perf_counter() - begin)
        print(f"small_op_issue {issue / self.small_ops * 1e6:.3f} us")
        print(f"small_op_rate {self.small_ops / self.best(self.small_ops, lambda: x + x):.0f} op/s")

    def bandwidth(self):
        gigabytes = self.elements * 4 / 1e9
        x, y = (torch.ones(self.elements, device=self.device) for _ in range(2))
        print(f"copy {2 * gigabytes * self.repeats / self.best(self.repeats, lambda: y.copy_(x)):.4g} GB/s")
        print(f"add {3 * gigabytes * self.repeats / self.best(self.repeats, lambda: x + y):.4g} GB/s")
        del x, y
        rows = torch.ones(self.rows, self.columns, device=self.device)
        scale = torch.ones(self.columns, device=self.device)
        gigabytes = rows.numel() * 4 / 1e9
        for name, moved, call in (
            ("softmax", 2, lambda: torch.softmax(rows, 1)),
            ("layer_norm", 2, lambda: torch.nn.functional.layer_norm(rows, (self.columns,), scale, scale)),
            ("sum_rows", 1, lambda: rows.sum(1)),
            ("sum_columns", 1, lambda: rows.sum(0)),
            ("transpose", 2, lambda: rows.t().contiguous()),
        ):
            print(f"{name} {moved * gigabytes * self.repeats / self.best(self.repeats, call):.4g} GB/s")

    def matmul(self):
        for dtype_name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
            for name, size in zip(("small", "medium", "large"), self.products):
                a = torch.ones(size, size, device=self.device, dtype=dtype)
                count = 50 if size <= 4096 else 10
                rate = 2 * size**3 * count / self.best(count, lambda: a @ a) / 1e9
                print(f"matmul_{dtype_name}_{name} {rate:.4g} GFLOP/s")

    def convolutions(self):
        """With the faster one of the two layouts of images."""
        is_small = self.rounds == 1
        for name, batch, image, channels, out_channels, window, stride, is_depthwise in CONVOLUTIONS:
            if is_small:
                batch, image = 1, min(image, 8)
            groups = channels if is_depthwise else 1
            least = float("inf")
            for layout in (torch.contiguous_format, torch.channels_last):
                x = torch.ones(batch, channels, image, image, device=self.device).contiguous(memory_format=layout)
                filter = torch.ones(out_channels, channels // groups, window, window, device=self.device)
                filter = filter.contiguous(memory_format=layout)
                call = lambda: torch.nn.functional.conv2d(x, filter, None, stride, window // 2, 1, groups)
                least = min(least, self.best(self.repeats, call))
            print(f"{name} {least / self.repeats * 1e6:.4g} us")

    def draw(self, *shape, terms):
        return torch.empty(*shape, device=self.device).uniform_(-1, 1) * math.sqrt(6 / terms)

    def mobilenet(self):
        """Of MobileNetV2, batch normalization folded; with the faster one of the two layouts of images."""
        layers = []  # filter, bias, stride, groups, whether ReLU6 follows, begins a block, ends one that is added
        scaled = lambda channels: max(8, int(channels * self.width))

        def convolution(size, source, target, stride, groups=1, relu6=True):
            terms = size * size * source // groups
            layers.append([self.draw(target, source // groups, size, size, terms=terms),
                           self.draw(target, terms=600), stride, groups, relu6, False, False])

        channels = scaled(32)
        convolution(3, 3, channels, 2)
        for expansion, block_channels, repeats, stride in BLOCKS:
            for i in range(repeats):
                step, target, wide = (stride if i == 0 else 1), scaled(block_channels), channels * expansion
                first = len(layers)
                if expansion > 1:
                    convolution(1, channels, wide, 1)
                convolution(3, wide, wide, step, groups=wide)
                convolution(1, wide, target, 1, relu6=False)
                layers[first][5] = True
                layers[-1][6] = step == 1 and channels == target
                channels = target
        last = scaled(1280)
        convolution(1, channels, last, 1)
        dense, dense_bias = self.draw(last, self.classes, terms=last), self.draw(self.classes, terms=600)
        image = self.draw(1, 3, self.image, self.image, terms=6)

        def call(x, filters):
            block = x
            for filter, (_, bias, stride, groups, relu6, begins, ends) in zip(filters, layers):
                if begins:
                    block = x
                x = torch.nn.functional.conv2d(x, filter, bias, stride, filter.shape[2] // 2, 1, groups)
                if relu6:
                    x = torch.nn.functional.relu6(x)
                if ends:
                    x = x + block
            return torch.addmm(dense_bias, x.mean((2, 3)), dense)

        least = float("inf")
        for layout in (torch.contiguous_format, torch.channels_last):
            x = image.contiguous(memory_format=layout)
            filters = [layer[0].contiguous(memory_format=layout) for layer in layers]
            least = min(least, self.inference(lambda: call(x, filters)))
        return least

    def bert_call(self):
        """A BERT encoder, as in networks.cc."""
        tokens, hidden, heads, num_layers, vocabulary = self.bert
        dense = lambda source, target: (self.draw(source, target, terms=4 * source), self.draw(target, terms=600))
        norm = lambda: (self.draw(hidden, terms=600) + 1, self.draw(hidden, terms=600))
        ids = torch.arange(tokens, device=self.device) * 7919 % vocabulary
        words, positions = self.draw(vocabulary, hidden, terms=6), self.draw(tokens, hidden, terms=6)
        first_norm = norm()
        layers = [([dense(hidden, hidden) for _ in range(4)], norm(), dense(hidden, 4 * hidden),
                   dense(4 * hidden, hidden), norm()) for _ in range(num_layers)]
        scale = 1 / math.sqrt(hidden // heads)

        def apply_dense(x, layer):
            return torch.addmm(layer[1], x, layer[0])

        def apply_norm(x, layer):
            return torch.nn.functional.layer_norm(x, (hidden,), layer[0], layer[1], 1e-12)

        def split(x):
            return x.view(tokens, heads, hidden // heads).transpose(0, 1)

        def call():
            x = apply_norm(words[ids] + positions, first_norm)
            for (query, key, value, output), attention_norm, up, down, last_norm in layers:
                q, k, v = (split(apply_dense(x, layer)) for layer in (query, key, value))
                scores = torch.softmax(torch.matmul(q, k.transpose(1, 2)) * scale, -1)
                mixed = torch.matmul(scores, v).transpose(0, 1).reshape(tokens, hidden)
                x = apply_norm(apply_dense(mixed, output) + x, attention_norm)
                x = apply_norm(apply_dense(torch.nn.functional.gelu(apply_dense(x, up)), down) + x, last_norm)
            return x

        return call


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = arguments.tf32
    torch.backends.cudnn.allow_tf32 = arguments.tf32
    torch.backends.cudnn.benchmark = True  # it may choose its algorithms by measuring
    torch.manual_seed(2018)
    name = torch.cuda.get_device_name() if arguments.device == "cuda" else "the CPU"
    print(f"device {name}, PyTorch {torch.__version__}")
    with torch.inference_mode():
        Bench(torch.device(arguments.device), arguments.small).run()


if __name__ == "__main__":
    main()
