# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Runs the program and checks what it writes against properties and formulas of its own.

usage: image_test.py PROGRAM HAS_PNG     HAS_PNG: 1 if the program was built with libpng, else 0
"""

import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

PROGRAM = ""
HAS_PNG = False


class Image:
    def __init__(self, cols, rows, channels, samples):
        assert len(samples) == cols * rows * channels
        self.cols, self.rows, self.channels, self.samples = cols, rows, channels, list(samples)

    def size(self):
        return self.cols, self.rows, self.channels

    def at(self, x, y, channel=0):
        return self.samples[(y * self.cols + x) * self.channels + channel]

    def mean(self):
        return sum(self.samples) / len(self.samples)


def noise(cols, rows, channels, seed=1):
    generator = random.Random(seed)
    return Image(cols, rows, channels, [generator.randrange(256) for _ in range(cols * rows * channels)])


def write_pnm(path, image):
    kind = 6 if image.channels == 3 else 5
    with open(path, "wb") as file:
        file.write(b"P%d %d %d 255\n" % (kind, image.cols, image.rows) + bytes(image.samples))


def read_pnm(path):
    with open(path, "rb") as file:
        data = file.read()
    kind, cols, rows, maxval = re.match(rb"P([56])\n(\d+) (\d+)\n(\d+)\n", data).groups()
    samples = data[data.index(maxval + b"\n") + len(maxval) + 1 :]
    if int(maxval) > 255:
        samples = struct.unpack(f">{len(samples) // 2}H", samples)
    return Image(int(cols), int(rows), 3 if kind == b"6" else 1, samples)


def paeth(left, above, corner):
    by_distance = sorted((abs(left + above - corner - value), i) for i, value in enumerate((left, above, corner)))
    return (left, above, corner)[by_distance[0][1]]


def read_png(path):
    """8 bits a sample, not interlaced, grey or RGB."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, offset = [], 8
    while offset < len(data):
        size = struct.unpack_from(">I", data, offset)[0]
        body = data[offset + 4 : offset + 8 + size]
        assert zlib.crc32(body) == struct.unpack_from(">I", data, offset + 8 + size)[0]
        chunks.append((body[:4], body[4:]))
        offset += 12 + size
    assert chunks[-1][0] == b"IEND"
    cols, rows, depth, color_type = struct.unpack_from(">IIBB", chunks[0][1])
    assert depth == 8 and color_type in (0, 2)
    channels = 3 if color_type == 2 else 1
    packed = zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
    stride, samples, above = cols * channels, [], [0] * (cols * channels)
    for y in range(rows):
        kind, *row = packed[y * (stride + 1) : (y + 1) * (stride + 1)]
        for i in range(stride):
            left, corner = (row[i - channels], above[i - channels]) if i >= channels else (0, 0)
            predicted = (0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind]
            row[i] = (row[i] + predicted) % 256
        samples += row
        above = row
    return Image(cols, rows, channels, samples)


class ImageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_program(self, *args):
        return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=300)

    def run_ok(self, *args):
        done = self.run_program(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def filtered(self, image, *steps):
        source, result = self.path("in.ppm"), self.path("out.ppm" if image.channels == 3 else "out.pgm")
        if "--edges" in steps or "--grayscale" in steps:
            result = self.path("out.pgm")
        write_pnm(source, image)
        self.run_ok(source, result, *steps)
        return read_pnm(result)

    def assert_near(self, image, expected, tolerance):
        self.assertEqual(image.size(), expected.size())
        worst = max(abs(a - b) for a, b in zip(image.samples, expected.samples))
        self.assertLessEqual(worst, tolerance)

    def test_draws_and_says_what_it_did(self):
        out = self.run_ok("--draw", self.path("out.ppm"), "--blur", "2.5", "--resize", "320x240", "--blur", "1")
        lines = [line.split()[:2] for line in out.splitlines()[2:]]
        self.assertEqual(lines[:3], [["blur", "2.5"], ["resize", "320x240"], ["blur", "1"]])
        self.assertRegex(out, r"blur 1 +320x240 RGB +[1-9]\d* ops +[\d.]+ ms")
        self.assertIn("out.ppm: 320x240 RGB, 8 bits a sample", out)
        self.assertEqual(read_pnm(self.path("out.ppm")).size(), (320, 240, 3))

    def test_copies_without_steps(self):
        image = noise(13, 7, 3)
        self.assert_near(self.filtered(image), image, 0)

    def test_keeps_sixteen_bits(self):
        samples = [0, 1, 257, 32768, 65534, 65535]
        with open(self.path("in.pgm"), "wb") as file:
            file.write(b"P5 3 2 65535\n" + struct.pack(">6H", *samples))
        self.run_ok(self.path("in.pgm"), self.path("out.pgm"))
        self.assertEqual(read_pnm(self.path("out.pgm")).samples, samples)

    def test_blur_of_a_point_is_a_gaussian(self):
        size, sigma = 31, 2.5
        point = [0] * (size * size)
        point[size // 2 * size + size // 2] = 65535
        with open(self.path("in.pgm"), "wb") as file:
            file.write(b"P5 %d %d 65535\n" % (size, size) + struct.pack(f">{len(point)}H", *point))
        self.run_ok(self.path("in.pgm"), self.path("out.pgm"), "--blur", str(sigma))
        weights = [math.exp(-((i - size // 2) ** 2) / (2 * sigma**2)) for i in range(size)]
        weights = [w if abs(i - size // 2) <= math.ceil(3 * sigma) else 0 for i, w in enumerate(weights)]
        total = sum(weights)
        expected = [65535 * a * b / total**2 for a in weights for b in weights]
        self.assert_near(read_pnm(self.path("out.pgm")), Image(size, size, 1, expected), 1)

    def test_blur_keeps_the_mean_even_of_small_pictures(self):
        for cols, rows in ((40, 30), (5, 3), (1, 1), (64, 1)):
            image = noise(cols, rows, 3)
            blurred = self.filtered(image, "--blur", "6")
            self.assertLess(abs(blurred.mean() - image.mean()), 0.51, (cols, rows))
        # And what differs gets closer.
        image = noise(40, 30, 3)
        self.assertLess(max(self.filtered(image, "--blur", "6").samples) - image.mean(), 40)

    def test_a_picture_of_one_color_has_no_edges(self):
        flat = self.filtered(Image(9, 8, 3, [200, 30, 90] * 72), "--edges")
        self.assertEqual(flat.size(), (9, 8, 1))
        self.assertEqual(set(flat.samples), {0})

    def test_edges_of_a_step(self):
        image = Image(8, 6, 1, [0, 0, 0, 0, 255, 255, 255, 255] * 6)
        self.assertEqual(self.filtered(image, "--edges").samples, [0, 0, 0, 255, 255, 0, 0, 0] * 6)

    def test_grayscale_weighs_colors(self):
        image = noise(17, 5, 3)
        expected = [0.299 * r + 0.587 * g + 0.114 * b for r, g, b in zip(*[iter(image.samples)] * 3)]
        self.assert_near(self.filtered(image, "--grayscale"), Image(17, 5, 1, expected), 0.51)

    def test_flips_and_turns(self):
        image = noise(5, 4, 3)
        for flip, place in (("--flip-h", lambda x, y: (4 - x, y)), ("--flip-v", lambda x, y: (x, 3 - y))):
            flipped = self.filtered(image, flip)
            for y in range(4):
                for x in range(5):
                    self.assertEqual(flipped.at(x, y), image.at(*place(x, y)))
            self.assert_near(self.filtered(image, flip, flip), image, 0)
        turned = self.filtered(image, "--rotate")
        self.assertEqual(turned.size(), (4, 5, 3))
        # The upper left corner goes to the upper right.
        self.assertEqual(turned.at(3, 0), image.at(0, 0))
        self.assertEqual(turned.at(3, 4), image.at(4, 0))
        self.assert_near(self.filtered(image, *["--rotate"] * 4), image, 0)

    def test_invert(self):
        image = noise(5, 4, 3)
        self.assertEqual(self.filtered(image, "--invert").samples, [255 - v for v in image.samples])

    def test_resize(self):
        image = noise(6, 4, 3)
        self.assert_near(self.filtered(image, "--resize", "6x4"), image, 0)
        self.assert_near(self.filtered(image, "--resize-nearest", "6x4"), image, 0)
        # Between the centres of two pixels, and the edge beyond them.
        ramp = self.filtered(Image(2, 1, 1, [0, 200]), "--resize", "4x1")
        self.assertEqual(ramp.samples, [0, 50, 150, 200])
        nearest = self.filtered(Image(2, 2, 1, [1, 2, 3, 4]), "--resize-nearest", "4x4")
        self.assertEqual(nearest.samples, [1, 1, 2, 2] * 2 + [3, 3, 4, 4] * 2)

    def test_shrinking_averages_fine_patterns(self):
        stripes = Image(64, 8, 1, [0, 0, 0, 255] * 128)
        shrunk = self.filtered(stripes, "--resize", "16x8")
        self.assert_near(shrunk, Image(16, 8, 1, [255 / 4] * 128), 24)

    def test_pixelate(self):
        image = noise(9, 7, 1)
        coarse = self.filtered(image, "--pixelate", "4")
        # 9 columns are 12 less 3, of which the first square lacks 1; 7 rows are 8 less 1, missing at the end.
        for y in range(7):
            for x in range(9):
                xs = range(max(0, (x + 1) // 4 * 4 - 1), min(9, (x + 1) // 4 * 4 + 3))
                ys = range(y // 4 * 4, min(7, y // 4 * 4 + 4))
                values = [image.at(i, j) for i in xs for j in ys]
                self.assertLessEqual(abs(coarse.at(x, y) - sum(values) / len(values)), 0.51)

    def test_sharpen(self):
        image = noise(12, 9, 3)
        self.assert_near(self.filtered(image, "--sharpen", "0"), image, 0)
        step = self.filtered(Image(16, 4, 1, ([100] * 8 + [150] * 8) * 4), "--sharpen", "1")
        self.assertLess(step.at(7, 1), 100)
        self.assertGreater(step.at(8, 1), 150)

    def test_sheet_shows_each_step(self):
        self.run_ok("--sheet", self.path("sheet.ppm"), "--resize", "60x40", "--edges", "--per-row", "2")
        sheet = read_pnm(self.path("sheet.ppm"))
        # Two rows of cells of 240x160 with margins and captions; what is over the last cell is paper.
        self.assertEqual(sheet.size(), (2 * 248 + 8, 2 * (8 + 160 + 13) + 5, 3))
        self.assertEqual(sheet.at(sheet.cols - 50, sheet.rows - 50), 238)
        corner = [sheet.at(8, 8, channel) for channel in range(3)]
        self.assertGreater(corner[2], corner[0] + 50)  # the sky is blue

    def test_wrong_calls(self):
        for args, text in (
            ((), "expected a file to write to"),
            ((self.path("in.ppm"),), "expected a file to write to"),
            (("--draw", self.path("a.ppm"), self.path("b.ppm")), "expected one file"),
            (("--draw", self.path("a.jpg")), "expected a name that ends in"),
            ((self.path("none.ppm"), self.path("a.ppm")), "none.ppm: expected a file, got none of this name"),
            (("--draw", self.path("a.pgm")), "expected a picture that is grey"),
            (("--draw", self.path("a.ppm"), "--resize", "0x5"), "expected a width and a height from 1 to 16384"),
            (("--draw", self.path("a.ppm"), "--resize", "5"), "expected a width and a height"),
            (("--draw", self.path("a.ppm"), "--resize", "5x5x5"), "expected a width and a height"),
            (("--draw", self.path("a.ppm"), "--resize", "-5x5"), "expected a width and a height"),
            (("--draw", self.path("a.ppm"), "--blur", "nan"), "expected a number from 0.1 to 200, got nan"),
            (("--draw", self.path("a.ppm"), "--blur", "1e9"), "expected a number from 0.1 to 200, got 1e9"),
            (("--draw", self.path("a.ppm"), "--pixelate", "2.5"), "expected a whole number from 2 to 1024, got 2.5"),
        ):
            done = self.run_program(*args)
            self.assertNotEqual(done.returncode, 0, args)
            self.assertIn(text, done.stderr, args)
        self.assertEqual(os.listdir(self.folder), [])

    def test_damaged_file(self):
        with open(self.path("in.ppm"), "wb") as file:
            file.write(b"P6 100 100 255\nnot that many")
        done = self.run_program(self.path("in.ppm"), self.path("out.ppm"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("in.ppm: byte 15: expected 100x100 RGB samples of 1 byte, got 13 bytes", done.stderr)

    def test_png(self):
        if not HAS_PNG:
            self.skipTest("built without libpng")
        self.run_ok("--draw", self.path("out.ppm"))
        self.run_ok("--draw", self.path("out.png"))
        self.assert_near(read_png(self.path("out.png")), read_pnm(self.path("out.ppm")), 0)
        self.run_ok(self.path("out.png"), self.path("again.ppm"))
        self.assert_near(read_pnm(self.path("again.ppm")), read_pnm(self.path("out.ppm")), 0)

    def test_what_is_transparent_lies_on_white(self):
        if not HAS_PNG:
            self.skipTest("built without libpng")
        chunks = [(b"IHDR", struct.pack(">IIBBBBB", 3, 1, 8, 6, 0, 0, 0)),
                  (b"IDAT", zlib.compress(bytes([0, 10, 20, 30, 255, 10, 20, 30, 0, 10, 20, 30, 51]))), (b"IEND", b"")]
        with open(self.path("in.png"), "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
            for kind, body in chunks:
                file.write(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)))
        self.run_ok(self.path("in.png"), self.path("out.ppm"))
        self.assertEqual(read_pnm(self.path("out.ppm")).samples, [10, 20, 30, 255, 255, 255, 206, 208, 210])


if __name__ == "__main__":
    PROGRAM, HAS_PNG = sys.argv[1], sys.argv[2] == "1"
    unittest.main(argv=sys.argv[:1])
