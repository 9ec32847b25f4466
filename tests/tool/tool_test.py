# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Runs the command-line tool on small programs, and checks what it prints and writes, and its errors and exit codes.

usage: tool_test.py TOOL [OP_LIBRARY [TVM_LIBRARY]]    the libraries are those of tests/unit/plugins/good.c and
                                                       tests/unit/tvm/libraries/classic.c
"""

import ast
import json
import os
import pty
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

try:
    import numpy
except ImportError:
    numpy = None

TOOL = ""
OP_LIBRARY = ""
TVM_LIBRARY = ""
COMMANDS = ("run", "check", "convert", "bench", "ops", "devices", "completion")

# The contract's own, PR-1.
EXAMPLE = """func @example() -> !tfrt.chain {
  %cpu = corert.get_op_handler("cpu")
  %lhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-1.0 : f32] }
  %rhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-2.0 : f32] }
  %result = corert.executeop(%cpu) "test.add" (%lhs, %rhs)
  %ch0 = tfrt.new.chain
  %ch1 = corert.print_tensorhandle(%result, %ch0)
  tfrt.return %ch1 : !tfrt.chain
}
"""

SUM = """func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle)
    -> (!corert.tensorhandle, !corert.tensorhandle) {
  %cpu = corert.get_op_handler("cpu")
  %sum = corert.executeop(%cpu) "tf.AddV2"(%x, %y)
  %difference = corert.executeop(%cpu) "tf.Sub"(%x, %y)
  tfrt.return %sum, %difference : !corert.tensorhandle, !corert.tensorhandle
}
"""

SAME = """func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  tfrt.return %x : !corert.tensorhandle
}
"""

WEIGHTED = """func @other() {
  tfrt.return
}
func @scaled(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %w = corert.const_dense_tensor "layer.weight" : tensor<2xf32>
  %y = corert.executeop(%cpu) "tf.Mul"(%x, %w)
  tfrt.return %y : !corert.tensorhandle
}
"""

LOG = """func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %y = corert.executeop(%cpu) "tf.Log"(%x)
  tfrt.return %y : !corert.tensorhandle
}
"""

# The product cannot be computed, and nobody asks for it.
DROPPED = """func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %dropped = corert.executeop(%cpu) "tf.MatMul"(%x, %x)
  tfrt.return %x : !corert.tensorhandle
}
"""


def npy(descr, shape, data, order=False):
    """A file of version 1.0, after the format's description."""
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {tuple(shape)!r}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def floats(shape, values):
    return npy("<f4", shape, struct.pack(f"<{len(values)}f", *values))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    end = 10 + struct.unpack_from("<H", data, 8)[0]
    assert end % 64 == 0
    header = ast.literal_eval(data[10:end].decode())
    return header["descr"], header["fortran_order"], header["shape"], data[end:]


def safetensors(tensors):
    """Of f32: names, shapes and values."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + size])
    body = data[8 + size :]
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32"
        begin, end = entry["data_offsets"]
        tensors[name] = entry["shape"], list(struct.unpack(f"<{(end - begin) // 4}f", body[begin:end]))
    return tensors


def png(cols, rows, color_type, samples):
    """8 bits a sample, no filter."""
    stride = len(samples) // rows
    packed = b"".join(b"\0" + bytes(samples[y * stride : (y + 1) * stride]) for y in range(rows))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", cols, rows, 8, color_type, 0, 0, 0)), (b"IDAT", zlib.compress(packed)),
              (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks)


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def tool(self, *args, stdin=b"", binary=False):
        """With `binary`, standard output is bytes."""
        done = subprocess.run([TOOL, *args], input=stdin, capture_output=True, timeout=120)
        done.stderr = done.stderr.decode()
        if not binary:
            done.stdout = done.stdout.decode()
        return done

    def ok(self, *args, **more):
        done = self.tool(*args, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def fails(self, *args, code=1, **more):
        """Its one error, without the tool's name."""
        done = self.tool(*args, **more)
        self.assertEqual(done.returncode, code, (args, done.stderr))
        self.assertTrue(done.stderr.startswith("tandem: ") and done.stderr.endswith("\n"), done.stderr)
        self.assertEqual(done.stderr.count("tandem: "), 1, done.stderr)
        return done.stderr[len("tandem: ") : -1]

    # The command line.

    def test_help_of_each_command_has_examples(self):
        out = self.ok("--help")
        for command in COMMANDS:
            self.assertRegex(out, rf"(?m)^  {command} +[a-z]")
            about = self.ok(command, "--help")
            self.assertIn(f"Usage: tandem {command}", about)
            self.assertRegex(about, rf"Examples?:\n  .*tandem {command}")
            self.assertLessEqual(max(map(len, about.splitlines())), 100)
        self.assertIn("Exit codes: 0 ok; 1 ", out)
        self.assertRegex(self.ok("--version"), r"^tandem \d+\.\d+\.\d+\n$")

    def test_wrong_command_lines_end_with_2(self):
        for args, text in (
            ((), "expected a command (run, check, convert, bench, ops, devices, completion), got none"),
            (("rnu", "x"), "got rnu; did you mean run?"),
            (("frobnicate",), "got frobnicate"),
            (("--frobnicate",), "got --frobnicate"),
            (("run",), "run: FILE is required; `tandem run --help` tells more"),
            (("run", "x", "--frobnicate"), "run: The following argument was not expected: --frobnicate"),
            (("run", "x", "y"), "not expected: y"),
            (("run", "x", "--repeat", "0"), "--repeat: "),
            (("run", "x", "--repeat", "many"), "--repeat"),
            (("run", "x", "--threads", "-1"), "--threads: "),
            (("run", "x", "--output", "y.txt"), "y.txt: expected a name that ends in .safetensors, .npy or"),
            (("run", "x", "--output", "y"), "got one without an extension"),
            (("convert", "x"), "convert: OUT is required"),
            (("convert", "x", "y", "--to", "yaml"), "--to: yaml not in {text,binary}"),
            (("check",), "check: FILE is required"),
            (("bench", "x", "--repeat", "3", "--seconds", "3"), "excludes"),
            (("bench", "x", "--seconds", "nan"), "--seconds"),
            (("completion", "tcsh"), "tcsh not in {bash,zsh,fish}"),
        ):
            self.assertIn(text, self.fails(*args, code=2), args)

    # run

    def test_runs_the_example_of_the_contract(self):
        self.assertEqual(self.ok("run", self.write("example.mlir", EXAMPLE)), "f32[1,1] = [-3]\n")
        self.assertEqual(self.ok("run", "-", stdin=EXAMPLE.encode()), "f32[1,1] = [-3]\n")
        self.assertEqual(self.ok("run", self.path("example.mlir"), "--repeat", "3").count("f32[1,1] = [-3]\n"), 3)

    def test_inputs_by_order_name_and_number(self):
        program = self.write("sum.mlir", SUM)
        binary = self.path("sum.tdp")
        self.ok("convert", program, binary)
        x, y = self.write("x.npy", floats((2,), (1, 2))), self.write("y.npy", floats((2,), (10, 20)))
        expected = "output0: f32[2] = [11, 22]\noutput1: f32[2] = [-9, -18]\n"
        both = self.write("both.safetensors", safetensors({"b": ((2,), (10, 20)), "a": ((2,), (1, 2))}))
        for args in (("--input", x, "--input", y), ("--input", f"0={x}", "--input", f"1={y}"), ("--input", both),
                     ("--input", f"1={y}", "--input", x)):
            self.assertEqual(self.ok("run", program, *args), expected)
            self.assertEqual(self.ok("run", *args, binary), expected)
        self.assertEqual(self.ok("run", program, "--input", f"y={y}", "--input", f"x={x}"), expected)
        # A folder before it makes a "=" a part of the name.
        self.assertEqual(self.ok("run", program, "--input", x, "--input", self.write("0=y.npy", floats((2,), (10, 20)))),
                         expected)
        # The tensor of its name, in a file of several.
        named = self.write("named.safetensors", safetensors({"z": ((1,), (0,)), "y": ((2,), (10, 20))}))
        self.assertEqual(self.ok("run", program, "--input", x, "--input", f"y={named}"), expected)

    def test_tensors_of_a_file_come_in_the_order_of_their_numbers(self):
        names = [f"input{i}" for i in range(11)]
        parameters = ", ".join(f"%p{i}: !corert.tensorhandle" for i in range(11))
        results = ", ".join(f"%p{i}" for i in range(11))
        types = ", ".join(["!corert.tensorhandle"] * 11)
        program = self.write("many.mlir",
                             f"func @main({parameters}) -> ({types}) {{\n  tfrt.return {results} : {types}\n}}\n")
        data = self.write("in.safetensors", safetensors({name: ((), (i,)) for i, name in enumerate(names)}))
        self.assertEqual(self.ok("run", program, "--input", data),
                         "".join(f"output{i}: f32[] = [{i}]\n" for i in range(11)))
        self.ok("run", program, "--input", data, "--output", self.path("out.safetensors"))
        self.assertEqual(read_safetensors(self.path("out.safetensors")), {f"output{i}": ([], [i]) for i in range(11)})

    def test_writes_npy(self):
        program = self.write("same.mlir", SAME)
        # Big-endian, the first index fastest: [[1, 2, 3], [4, 5, 6]].
        x = self.write("x.npy", npy(">i2", (2, 3), struct.pack(">6h", 1, 4, 2, 5, 3, 6), order=True))
        self.assertEqual(self.ok("run", program, "--input", x, "--output", self.path("y.npy")), "")
        descr, order, shape, data = read_npy(self.path("y.npy"))
        self.assertEqual((order, shape), (False, (2, 3)))
        self.assertEqual(struct.unpack(descr[0] + "6h", data), (1, 2, 3, 4, 5, 6))
        self.assertEqual(os.listdir(self.folder).count("y.npy"), 1)
        self.assertFalse([name for name in os.listdir(self.folder) if "tmp" in name])

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_numpy_agrees_on_npy(self):
        program = self.write("same.mlir", SAME)
        for dtype in ("?", "i1", "u1", "<i2", ">u2", "<f2", ">f2", ">i4", "<u4", "<i8", ">u8", "<f4", ">f4", ">f8",
                      "<c8", ">c8"):
            for shape in ((), (5,), (2, 3, 4), (3, 0)):
                array = (numpy.arange(int(numpy.prod(shape))).reshape(shape) * 3 - 5).astype(dtype)
                for made in (array, numpy.asfortranarray(array)):
                    numpy.save(self.path("x.npy"), made)
                    self.ok("run", program, "--input", self.path("x.npy"), "--output", self.path("y.npy"))
                    result = numpy.load(self.path("y.npy"))
                    self.assertEqual(result.dtype, array.dtype.newbyteorder("="))
                    numpy.testing.assert_array_equal(result, array)

    def test_png(self):
        out = self.path("y.png")
        program = self.write("same.mlir", SAME)
        if "no libpng" in self.tool("run", program, "--output", out).stderr:
            self.skipTest("built without libpng")
        samples = [0, 51, 102, 153, 204, 255, 1, 2, 3, 250, 251, 252]
        x = self.write("x.png", png(2, 2, 2, samples))
        self.ok("run", program, "--input", x, "--output", self.path("y.npy"))
        descr, _, shape, data = read_npy(self.path("y.npy"))
        self.assertEqual(shape, (2, 2, 3))
        for value, sample in zip(struct.unpack(descr[0] + "12f", data), samples):
            self.assertAlmostEqual(value, sample / 255, places=6)
        self.ok("run", program, "--input", x, "--output", out)
        again = self.path("z.npy")
        self.ok("run", program, "--input", out, "--output", again)
        self.assertEqual(read_npy(again)[3], data)
        # Clipped, and a NaN is black; a matrix is grey.
        grey = self.write("grey.npy", floats((1, 4), (-1, 0.5, 7, float("nan"))))
        self.ok("run", program, "--input", grey, "--output", out)
        self.ok("run", program, "--input", out, "--output", again)
        descr, _, shape, data = read_npy(again)
        self.assertEqual(shape, (1, 4, 1))
        self.assertEqual([round(v * 255) for v in struct.unpack(descr[0] + "4f", data)], [0, 128, 255, 0])
        flat = self.write("flat.npy", floats((3,), (1, 2, 3)))
        self.assertIn("got f32[3]", self.fails("run", program, "--input", flat, "--output", out))

    def test_weights_and_functions(self):
        program = self.write("weighted.mlir", WEIGHTED)
        weights = self.write("w.safetensors", safetensors({"layer.weight": ((2,), (3, -1))}))
        x = self.write("x.npy", floats((2,), (2, 5)))
        scaled = ("run", program, "--function", "scaled", "--input", x)
        self.assertEqual(self.ok(*scaled, "--weights", weights), "output0: f32[2] = [6, -5]\n")
        self.assertIn("expected the weight layer.weight, got none; --weights FILE gives them", self.fails(*scaled))
        wrong = self.write("wrong.safetensors", safetensors({"layer.weight": ((1, 2), (3, -1))}))
        self.assertIn("expected the weight layer.weight to be f32[2], got f32[1,2]",
                      self.fails(*scaled, "--weights", wrong))
        other = self.write("other.safetensors", safetensors({"bias": ((2,), (3, -1))}))
        self.assertIn("layer.weight", self.fails(*scaled, "--weights", other))
        self.assertEqual(self.fails("run", program),
                         f"{program}: expected the function main, got other, scaled; --function NAME chooses one")
        self.assertIn("expected the function none, got other, scaled",
                      self.fails("run", program, "--function", "none"))

    def test_errors_of_a_run_end_with_1(self):
        program = self.write("sum.mlir", SUM)
        x, y = self.write("x.npy", floats((2,), (1, 2))), self.write("y.npy", floats((3,), (1, 2, 3)))
        missing = self.path("none.npy")
        broken = self.write("broken.npy", npy("<f4", (2,), b"1234567"))
        objects = self.write("objects.npy", npy("|O", (2,), b""))
        both = (program, "--input", x, "--input", x)
        for args, text in (
            ((self.path("none.mlir"),), f"{self.path('none.mlir')}: expected a file, got none of this name"),
            ((self.folder,), f"{self.folder}: expected a file, got a folder"),
            ((program,), "expected 2 inputs (x, y), got none for x; --input FILE gives one"),
            ((program, "--input", x), "expected 2 inputs (x, y), got none for y; --input FILE gives one"),
            ((program, *["--input", x] * 3), "expected 2 inputs, got 1 more"),
            ((program, "--input", f"x={x}", "--input", f"0={x}"),
             f"expected one file for each input, got another for x: {x}"),
            ((program, "--input", f"z={x}"),
             "expected an input of the function, one of x, y or its number from 0, got z"),
            ((program, "--input", missing), f"{missing}: expected a file, got none of this name"),
            ((program, "--input", program), f"{program}: expected a name that ends in .safetensors, .npy"),
            ((program, "--input", broken), f"{broken}: byte "),
            ((program, "--input", objects), "expected numbers or bools, got objects, which are Python pickles"),
            ((program, "--input", x, "--input", y),
             f"[tf.AddV2] shapes must be broadcast compatible, got x: f32[2], y: f32[3] ({program}:4:"),
            ((*both, "--output", self.path("z.npy")), "expected one result, as the format holds no more, got 2"),
            ((*both, "--device", "frobnicator"), '"frobnicator"'),
            ((*both, "--device", "profile:"), "offset 8"),
            ((*both, "--shadow", "(cpu"), "offset 4"),
            ((*both, "--device", "./none.so"), "expected the module ./none.so"),
        ):
            error = self.fails("run", *args)
            self.assertIn(text, error, args)
            self.assertNotIn("native/tool", error)
        self.assertFalse(os.path.exists(self.path("z.npy")))

    def test_an_error_that_nobody_asks_for_is_a_failure(self):
        program, x = self.write("dropped.mlir", DROPPED), self.write("x.npy", floats((1, 2), (1, 2)))
        self.assertIn("[tf.MatMul] inner dimensions must agree", self.fails("run", program, "--input", x))

    def test_layers_over_devices(self):
        program, x = self.write("log.mlir", LOG), self.write("x.npy", floats((2,), (1, -1)))
        run = ("run", program, "--input", x)
        self.assertIn("output0: f32[2] = [0, nan]", self.ok(*run).replace("-nan", "nan"))
        self.assertIn("result 0 must be without NaN, got nan", self.fails(*run, "--device", "nan-guard:cpu"))
        done = self.tool(*run, "--device", "log:cpu")
        self.assertEqual(done.returncode, 0)
        self.assertIn("tf.Log", done.stderr)
        self.assertNotIn("tf.Log", done.stdout)
        out = self.ok(*run, "--profile", "--repeat", "4")
        self.assertRegex(out, r"4 runs: fastest [\d.]+ [num]?s, median [\d.]+ [num]?s, slowest [\d.]+ [num]?s\n")
        self.assertRegex(out, r"(?m)^tf\.Log +f32 +4 ")
        self.assertRegex(self.ok(*run, "--device", "profile:cpu"), r"(?m)^tf\.Log +f32 +1 ")
        self.assertIn("1 result agrees, 0 differ, 0 not compared\n", self.ok(*run, "--shadow", "cpu"))
        self.assertIn("1 result agrees", self.ok(*run, "--device", "shadow:cpu|cpu", "--exact", "--threads", "1"))

    def test_substitution(self):
        program, x = self.write("log.mlir", LOG), self.write("x.npy", floats((2,), (1, -1)))
        run = ("run", program, "--input", x)
        table = self.write("table.json", '{"substitutions": [\n'
                           '  {"op": "tf.Log", "inputs": ["f32[2]"], "use": {"op": "tf.Neg"}}]}')
        self.assertIn("output0: f32[2] = [-1, 1]", self.ok(*run, "--substitute", table))
        out = self.ok(*run, "--device", f"substitute:{table}|cpu", "--profile")
        self.assertIn("output0: f32[2] = [-1, 1]", out)
        self.assertRegex(out, r"(?m)^tf\.Log +f32 +1 ")
        self.assertIn("got 1 that differs", self.tool(*run, "--substitute", table, "--shadow", "cpu").stderr)
        wrong = self.write("wrong.json", '{"substitutions": [\n  {"op": "tf.Lug", "use": {"op": "tf.Neg"}}]}')
        self.assertIn(f"{wrong}:2:10: op tf.Lug is not defined, did you mean tf.Log",
                      self.fails(*run, "--substitute", wrong))
        self.assertIn("none.json", self.fails(*run, "--substitute", "none.json"))
        if TVM_LIBRARY:
            # It says itself that it replaces tf.Neg of three numbers by its addone.
            neg = self.write("neg.mlir", LOG.replace("tf.Log", "tf.Neg"))
            three = self.write("three.npy", floats((3,), (1, 2, 3)))
            self.assertIn("output0: f32[3] = [2, 3, 4]",
                          self.ok("run", neg, "--input", three, "--substitute", TVM_LIBRARY))
            self.assertIn("to have a table of substitutions", self.fails(*run, "--substitute", OP_LIBRARY))
        self.assertIn("expected a file without any of", self.fails(*run, "--substitute", "a|b"))

    def test_op_libraries(self):
        if not OP_LIBRARY:
            self.skipTest("no op library was given")
        program = self.write("plug.mlir", SAME.replace(
            "  tfrt.return %x", '  %cpu = corert.get_op_handler("cpu")\n'
            '  %y = corert.executeop(%cpu) "plug.NonZero"(%x)\n  tfrt.return %y'))
        x = self.write("x.npy", floats((3,), (0, 2, 3)))
        library = ("--op-library", OP_LIBRARY)
        self.assertIn("plug.NonZero", self.fails("run", program, "--input", x))
        self.assertIn("output0: f32[2] = [2, 3]", self.ok("run", program, "--input", x, *library))
        self.assertIn("plug.NonZero", self.fails("check", program, "--device", "cpu"))
        self.assertIn("ok: 1 function", self.ok("check", program, "--device", "cpu", *library))
        self.assertRegex(self.ok("bench", program, "--input", x, "--repeat", "2", *library), r"(?m) 2 +1 ")
        self.assertRegex(self.ok("ops", "plug.Split", *library), r"(?m)^cpu +.*f16")
        self.assertIn("expected the op library ./none.so: No such file",
                      self.fails("ops", "plug.Split", "--op-library", "./none.so"))
        self.assertIn(f"expected the op library {program}: ", self.fails("ops", "--op-library", program))

    def test_trace(self):
        program, x = self.write("log.mlir", LOG), self.write("x.npy", floats((2,), (1, 2)))
        self.ok("run", program, "--input", x, "--trace", self.path("trace.json"))
        events = json.loads(self.read("trace.json"))["traceEvents"]
        self.assertIn("tf.Log", [event.get("name") for event in events])

    # check, convert

    def test_check(self):
        good, log = self.write("example.mlir", EXAMPLE), self.write("log.mlir", LOG)
        self.assertEqual(self.ok("check", good, log),
                         f"{good}: ok: 1 function, 7 instructions\n{log}: ok: 1 function, 3 instructions\n")
        self.assertEqual(self.ok("check", good, "--device", "cpu"), f"{good}: ok: 1 function, 7 instructions\n")
        bad = self.write("bad.mlir", SAME.replace("tfrt.return", "tfrt.retrun"))
        done = self.tool("check", bad, good)
        self.assertEqual((done.returncode, done.stdout), (1, f"{good}: ok: 1 function, 7 instructions\n"))
        self.assertRegex(done.stderr, rf"^tandem: {re.escape(bad)}:2:\d+: expected ")
        self.assertIn("\n  tfrt.retrun %x", done.stderr)
        # Ops are looked up on a device alone, and all that are missing are told.
        unknown = self.write("unknown.mlir", LOG.replace("tf.Log", "tf.Lgo") + EXAMPLE.replace("test.add", "test.ad"))
        self.ok("check", unknown)
        done = self.tool("check", unknown, "--device", "cpu")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"(?m)^tandem: .*unknown\.mlir:3:\d+: .*op tf\.Lgo is not defined")
        # With the line and a mark below the place.
        self.assertRegex(done.stderr, r"(?m)^( *)(.*)executeop(.*)\"tf\.Lgo\".*\n +\^$")
        self.assertRegex(done.stderr, r"(?m)^tandem: .*unknown\.mlir:\d+:\d+: .*op test\.ad is not defined")

    def test_convert(self):
        program = self.write("log.mlir", LOG)
        binary, text = self.path("log.tdp"), self.path("log.txt")
        self.ok("convert", program, binary)
        self.ok("convert", binary, text)
        self.assertEqual(self.ok("convert", binary, "-", binary=True), self.read("log.txt"))
        self.assertIn(b'"tf.Log"', self.read("log.txt"))
        self.assertEqual(self.ok("convert", "-", "-", "--to", "binary", stdin=LOG.encode(), binary=True),
                         self.read("log.tdp"))
        self.assertEqual(self.ok("convert", "-", "-", stdin=self.read("log.tdp"), binary=True), self.read("log.txt"))
        self.ok("convert", text, self.path("again"))
        # Names of values are no part of the binary form.
        self.ok("convert", self.path("again"), self.path("again.mlir"))
        self.assertEqual(self.read("again.mlir"), self.read("log.txt"))
        x = self.write("x.npy", floats((1,), (1,)))
        self.assertEqual(self.ok("run", binary, "--input", x), "output0: f32[1] = [0]\n")
        damaged = self.write("damaged.tdp", self.read("log.tdp")[:-3])
        self.assertIn("damaged.tdp: ", self.fails("convert", damaged, text))

    def test_replaces_files_and_nothing_else(self):
        program = self.write("log.mlir", LOG)
        pipe = self.path("pipe.npy")
        os.mkfifo(pipe)
        for args in (("convert", program, pipe), ("run", program, "--output", pipe), ("run", program, "--trace", pipe)):
            self.assertIn("expected an ordinary file or a new one to write to, got a pipe or a device",
                          self.fails(*args))
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        self.assertIn("got a folder", self.fails("convert", program, self.folder))

    # bench

    def test_bench(self):
        program, x = self.write("sum.mlir", SUM), self.write("x.npy", floats((2,), (1, 2)))
        bench = ("bench", program, "--input", x, "--input", x)
        out = self.ok(*bench, "--repeat", "20", "--device", "cpu", "--device", "nan-guard:cpu").splitlines()
        self.assertEqual(out[0].split(), "device runs ops a run p50 p90 p99 runs/s ops/s".split())
        time, rate = r" +[\d.]+ (?:ns|us|ms|s)", r" +[\d.]+[kMG]?"
        for line, device in zip(out[1:], ("cpu", "nan-guard:cpu")):
            self.assertRegex(line, rf"^{device} +20 +2{time}{time}{time}{rate}{rate}$")
        self.assertEqual(len({len(line) for line in out}), 1)
        self.assertRegex(self.ok(*bench, "--seconds", "0.05").splitlines()[1], r"^\(as named\) +\d+ +2 ")
        done = self.tool(*bench, "--repeat", "1", "--device", "none", "--device", "cpu")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith("tandem: none: "), done.stderr)
        self.assertIn("\ncpu ", done.stdout)
        # What the program prints is dropped; a program comes by a pipe as well.
        self.assertNotIn("-3", self.ok("bench", "-", "--repeat", "2", stdin=EXAMPLE.encode()))

    # ops, devices, completion

    def test_ops(self):
        lines = self.ok("ops").splitlines()
        self.assertGreater(len(lines), 150)
        self.assertEqual(lines, sorted(lines, key=lambda line: line.split()[0]))
        self.assertEqual([line.split()[0] for line in self.ok("ops", "MATMUL").splitlines()],
                         ["tf.BatchMatMulV2", "tf.MatMul", "tf._FusedMatMul"])
        self.assertEqual([line.split()[0] for line in self.ok("ops", "tf.Resize*").splitlines()],
                         ["tf.ResizeBilinear", "tf.ResizeBilinearGrad", "tf.ResizeNearestNeighbor",
                          "tf.ResizeNearestNeighborGrad"])
        about = self.ok("ops", "tf.MatMul")
        self.assertTrue(about.startswith("tf.MatMul(a: T, b: T) -> (product: T)\n\nProduct of two matrices"), about)
        self.assertRegex(about, r"(?m)^transpose_a +bool = false$")
        self.assertRegex(about, r"(?m)^T +\{bfloat16, half, float, .*\} \(follows from the inputs\)$")
        self.assertRegex(about, r"(?m)^cpu +.*\bf16 bf16 f32 f64\b")
        self.assertRegex(about, r"(?m)^vulkan +")
        self.assertIn("(output: num_split * T)", self.ok("ops", "tf.Split"))
        self.assertEqual(self.fails("ops", "tf.MutMul"), "op tf.MutMul is not defined, did you mean tf.MatMul")

    def test_ops_as_json(self):
        everything = json.loads(self.ok("ops", "--json"))
        self.assertEqual(everything["format"], 1)
        self.assertEqual([op["name"] for op in everything["ops"]],
                         [line.split()[0] for line in self.ok("ops").splitlines()])
        one = json.loads(self.ok("ops", "--json", "tf.MatMul"))["ops"]
        self.assertEqual(one, [op for op in everything["ops"] if op["name"] == "tf.MatMul"])
        self.assertEqual(len(json.loads(self.ok("ops", "--json", "matmul"))["ops"]), 3)

    def test_ops_used_by_programs(self):
        first = self.write("first.mlir", SUM)
        second = self.write("second.mlir", EXAMPLE)
        self.assertEqual(self.ok("ops", "--used-by", first, second), "test.add\ntest.create_dense_tensor\ntf.AddV2\ntf.Sub\n")
        self.fails("ops", "--used-by", self.path("missing.mlir"))

    def test_devices(self):
        # Under a device that is there are its parts.
        lines = [line for line in self.ok("devices").splitlines() if not line.startswith(" ")]
        self.assertRegex(lines[0], r"^cpu +there: kernels for \d+ ops, \d+ threads?$")
        self.assertRegex(lines[1],
                         r"^vulkan +(not there: expected .+|there: kernels for \d+ ops; the CPU runs the others)$")
        self.assertRegex(lines[2],
                         r"^cuda +(not there: expected .+|there: kernels for \d+ ops; the CPU runs the others)$")

    def complete(self, *words):
        script = self.write("completion.bash", self.ok("completion", "bash"))
        commands = (f"source {script}; COMP_WORDS=({' '.join(repr(word) for word in ('tandem', *words))}); "
                    f"COMP_CWORD={len(words)}; _tandem; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "-c", commands], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_completion_of_bash(self):
        self.assertEqual(self.complete("c"), ["check", "convert", "completion"])
        self.assertEqual(self.complete("run", "--s"), ["--shadow", "--substitute"])
        self.assertEqual(self.complete("run", "x.mlir", "--device", "v"), ["vulkan"])
        self.assertEqual(self.complete("convert", "a", "b", "--to", ""), ["text", "binary"])
        self.assertEqual(self.complete("completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.complete("run", ""), [])  # files, which bash completes itself
        self.assertEqual(self.complete("run", "--output", ""), [])
        self.assertEqual(self.complete("ops", "-"), ["--help", "--json", "--op-library", "--used-by"])

    def test_completion_of_other_shells(self):
        for shell in ("zsh", "fish"):
            script = self.write(shell, self.ok("completion", shell))
            for word in (*COMMANDS, "shadow", "cpu vulkan cuda", "text binary"):
                self.assertIn(word.encode(), self.read(shell))
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", script], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    # Standard streams.

    def test_a_reader_that_goes_early_is_no_error(self):
        for args in (("ops", "--json"), ("ops",), ("completion", "bash")):
            process = subprocess.Popen([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
            process.stdout.read(1)
            process.stdout.close()
            errors = process.stderr.read()
            process.stderr.close()
            self.assertEqual((process.wait(timeout=60), errors), (0, b""), args)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no full device")
    def test_output_that_is_lost_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, "ops"], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"tandem: standard output: expected to write all of it, got: ", done.stderr)

    def test_closed_streams_are_not_taken_by_files(self):
        program, x = self.write("log.mlir", LOG), self.write("x.npy", floats((1,), (1,)))
        done = subprocess.run([TOOL, "run", program, "--input", x, "--trace", self.path("t.json")], timeout=60,
                              preexec_fn=lambda: os.closerange(0, 3))
        self.assertEqual(done.returncode, 0)
        json.loads(self.read("t.json"))

    def on_terminal(self, stream, *args, **environment):
        """What a terminal gets that is the standard output or error."""
        try:
            main, terminal = pty.openpty()
        except OSError as error:
            self.skipTest(f"there are no pseudo-terminals here: {error}")
        try:
            streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: terminal}
            env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
            process = subprocess.Popen([TOOL, *args], **streams, env={**env, "TERM": "xterm", **environment})
            os.close(terminal)
            text = b""
            while True:
                try:
                    part = os.read(main, 65536)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                text += part
            process.wait(timeout=60)
            return text.decode()
        finally:
            os.close(main)

    def test_colors_are_for_terminals_that_want_them(self):
        self.assertNotIn("\x1b", self.ok("ops", "tf.Abs"))
        self.assertNotIn("\x1b", self.fails("ops", "tf.Nothing"))
        self.assertIn("\x1b[1mtf.Abs\x1b[0m", self.on_terminal("stdout", "ops", "tf.Abs"))
        self.assertIn("tandem:\x1b[0m", self.on_terminal("stderr", "ops", "tf.Nothing"))
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", self.on_terminal("stdout", "ops", "tf.Abs", **environment))
            self.assertNotIn("\x1b", self.on_terminal("stderr", "ops", "tf.Nothing", **environment))

    def test_lists_fit_into_terminals(self):
        for line in self.on_terminal("stdout", "ops", "fused", NO_COLOR="1").splitlines():
            self.assertLessEqual(len(line), 80)

    def test_progress_is_for_terminals(self):
        program, x = self.write("log.mlir", LOG), self.write("x.npy", floats((1,), (1,)))
        bench = ("bench", program, "--input", x, "--seconds", "1.2", "--device", "cpu")
        self.assertRegex(self.on_terminal("stderr", *bench), r"cpu +\d+ %  eta 0:0\d.*\r\x1b\[K$")
        self.ok(*bench)

    def test_a_binary_program_is_not_for_terminals(self):
        program = self.write("log.mlir", LOG)
        self.assertEqual(self.on_terminal("stdout", "convert", program, "-", "--to", "binary"), "")
        self.assertIn("func @main", self.on_terminal("stdout", "convert", program, "-"))


def report(run):
    """Writes the counts where GoogleTest's programs are told to write theirs, if it is a folder, for count_tests.py."""
    kind, _, folder = os.environ.get("GTEST_OUTPUT", "").partition(":")
    if kind != "json" or not folder.endswith("/"):
        return
    failed = len(run.failures) + len(run.errors) + len(run.unexpectedSuccesses)
    skipped = len(run.skipped)
    counts = {"passed": run.testsRun - failed - skipped, "failed": failed, "skipped": skipped}
    with open(os.path.join(folder, "tool.json"), "w", encoding="utf-8") as file:
        json.dump(counts, file)


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv[1])
    OP_LIBRARY = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
    TVM_LIBRARY = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else ""
    run = unittest.main(argv=sys.argv[:1], exit=False).result
    report(run)
    sys.exit(not run.wasSuccessful())
