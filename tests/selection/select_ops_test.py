#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Tests of tools/select_ops.py, which reads the list of a build's ops (OR-4): lists of each form, and what is wrong with
others, told with file and line.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class SelectOps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.list = self.folder / "ops"

    def run_tool(self, content):
        if content is not None:
            self.list.write_bytes(content if isinstance(content, bytes) else content.encode())
        return subprocess.run([sys.executable, ROOT / "tools" / "select_ops.py", self.list,
                               ROOT / "core" / "ops" / "definitions.json", self.folder / "source", self.folder / "header"],
                              capture_output=True, text=True, check=False)

    def selected(self, content):
        """The header's lines of the ops that are not whole, and the names that have definitions."""
        run = self.run_tool(content)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        header = (self.folder / "header").read_text(encoding="utf-8")
        rows = {line.split('"')[1]: line.split('"')[2].strip(" ,)\\") for line in header.splitlines() if "  X(" in line}
        source = (self.folder / "source").read_text(encoding="utf-8")
        return rows, [line.split('"')[1] for line in source.splitlines() if line.startswith('    {"')]

    def error(self, content):
        run = self.run_tool(content)
        self.assertEqual(run.returncode, 1)
        self.assertTrue(run.stderr.startswith(str(self.list)), run.stderr)
        self.assertFalse((self.folder / "header").exists())
        return run.stderr.removeprefix(str(self.list)).rstrip("\n")

    def test_list_by_hand(self):
        rows, defined = self.selected("# two\n\ntf.MatMul f32, f64  # products\ntf.AddV2\n")
        self.assertEqual(defined, ["tf.AddV2", "tf.MatMul"])
        self.assertEqual(rows["tf.MatMul"], "true, DType::kF32, DType::kF64")
        self.assertNotIn("tf.AddV2", rows)
        self.assertEqual(rows["tf.Mul"], "false")

    def test_dtypes_of_all_ops(self):
        rows, _ = self.selected("dtypes float i32\ntf.AddV2\ntf.Erf\ntf.Mul bf16\ntf.All\ntf.LogicalAnd\n")
        self.assertEqual(rows["tf.AddV2"], "true, DType::kF32, DType::kI32")
        self.assertEqual(rows["tf.Erf"], "true, DType::kF32")
        self.assertEqual(rows["tf.Mul"], "true, DType::kBF16")
        self.assertNotIn("tf.All", rows)  # whose kernels go by the dtype of indices
        self.assertNotIn("tf.LogicalAnd", rows)

    def test_json(self):
        for content in '["tf.AddV2", "tf.Mul"]', '{"tf.AddV2": [], "tf.Mul": []}':
            rows, defined = self.selected(content)
            self.assertEqual(defined, ["tf.AddV2", "tf.Mul"])
            self.assertNotIn("tf.Mul", rows)
        rows, _ = self.selected('{"tf.AddV2": ["f32"]}')
        self.assertEqual(rows["tf.AddV2"], "true, DType::kF32")

    def test_errors_of_names(self):
        self.assertEqual(self.error("tf.AddV2\ntf.MatMull\n"), ":2: unknown op tf.MatMull, did you mean tf.MatMul")
        self.assertEqual(self.error("tf.Add\n"), ":1: unknown op tf.Add, did you mean tf.AddV2")
        self.assertEqual(self.error("\ntf.Nonsense\n"), ":2: unknown op tf.Nonsense")
        self.assertEqual(self.error("tf.AddV2\n\ntf.AddV2\n"), ":3: tf.AddV2 is listed twice, first on line 1")
        self.assertEqual(self.error("# none\n"), ":1: expected ops, got none")

    def test_errors_of_dtypes(self):
        self.assertEqual(self.error("tf.AddV2 f33\n"), ":1: unknown dtype f33, did you mean f32")
        self.assertEqual(self.error("tf.MatMul bool\n")[:30], ":1: tf.MatMul is not for bool,")
        self.assertEqual(self.error("tf.LogicalAnd f32\n"),
                         ":1: tf.LogicalAnd has no type attribute, and so takes no dtypes")
        self.assertEqual(self.error("dtypes i32\ntf.AddV2\ntf.Erf\n"),
                         ":3: tf.Erf is for none of the dtypes i32, expected some of f16, bf16, f32, f64 after its name")
        self.assertEqual(self.error("dtypes f32\ndtypes f32\ntf.AddV2\n"), ":2: dtypes are given twice")

    def test_errors_of_files(self):
        self.assertEqual(self.error(None), ": the list of ops (TANDEM_OPS) cannot be read: No such file or directory")
        self.assertEqual(self.error(b"\xff\xfe"), ": expected a list of ops (TANDEM_OPS) in UTF-8, got other bytes")
        self.assertEqual(self.error('["tf.AddV2",\n'), ":2: expected JSON, expecting value")
        self.assertEqual(self.error('["tf.AddV2",\n"tf.AddV2"]'), ":2: tf.AddV2 is listed twice, first on line 1")
        self.assertEqual(self.error('["tf.AddV2",\n"tf.Ad2V"]'), ":2: unknown op tf.Ad2V")


if __name__ == "__main__":
    unittest.main()
