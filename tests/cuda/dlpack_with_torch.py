#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

"""Memory of a CUDA device shared with PyTorch by DLPack, through the C interface: nothing is copied, what one has issued
is seen by the other without waiting for the device, and memory goes back to whom it belongs.

usage: dlpack_with_torch.py LIBTANDEM
Exit status 77 where there is no PyTorch with a CUDA device.
"""

import ctypes
import sys
import time

SKIPPED = 77
ABI_VERSION = 1
NAME, USED_NAME = b"dltensor_versioned", b"used_dltensor_versioned"

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(SKIPPED)
if not torch.cuda.is_available():
    print("skipped: PyTorch finds no CUDA device")
    sys.exit(SKIPPED)

python = ctypes.pythonapi
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class CallOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("attrs", ctypes.c_void_p), ("device", ctypes.c_char_p),
                ("chain", ctypes.c_void_p), ("request", ctypes.c_void_p), ("location", ctypes.c_char_p),
                ("flags", ctypes.c_uint32)]


class Tandem:
    """The calls of tandem.h that the tests need; an error is an exception with its text."""

    def __init__(self, file):
        self.library = ctypes.CDLL(file)
        self.library.tandem_status_message.restype = ctypes.c_char_p
        self.runtime = ctypes.c_void_p()
        self.call("tandem_runtime_create", ctypes.c_uint32(ABI_VERSION), None, ctypes.byref(self.runtime))
        self.call("tandem_runtime_add_device", self.runtime, b"cuda")

    def call(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        status = function(*arguments)
        if status:
            raise RuntimeError(self.library.tandem_status_message(ctypes.c_void_p(status)).decode())

    def take(self, tensor, stream):
        capsule = tensor.__dlpack__(stream=-1, max_version=(1, 0))
        managed = ctypes.c_void_p(python.PyCapsule_GetPointer(capsule, NAME))
        python.PyCapsule_SetName(capsule, USED_NAME)
        taken = ctypes.c_void_p()
        self.call("tandem_tensor_from_device_dlpack", self.runtime, managed, ctypes.c_int64(stream), ctypes.byref(taken))
        return taken

    def give(self, tensor, stream):
        managed = ctypes.c_void_p()
        self.call("tandem_tensor_to_device_dlpack", tensor, ctypes.c_int64(stream), ctypes.byref(managed))
        return torch.utils.dlpack.from_dlpack(python.PyCapsule_New(managed, NAME, None))

    def execute(self, op, *arguments):
        handles = (ctypes.c_void_p * len(arguments))(*arguments)
        options = CallOptions(struct_size=ctypes.sizeof(CallOptions), device=b"cuda")
        result = ctypes.c_void_p()
        self.call("tandem_execute", self.runtime, op, handles, ctypes.c_size_t(len(arguments)), ctypes.byref(options),
                  ctypes.byref(result), ctypes.c_size_t(1))
        return result

    def release(self, *tensors):
        for tensor in tensors:
            self.library.tandem_tensor_release(tensor)

    def close(self):
        self.call("tandem_runtime_destroy", self.runtime)


def shares_memory(tandem):
    """Memory from PyTorch is Tandem's tensor, and comes back as the same memory."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.uint8):
        x = (torch.arange(12, device="cuda") - 5).to(dtype).reshape(3, 4)
        taken = tandem.take(x, 1)
        back = tandem.give(taken, 1)
        assert back.data_ptr() == x.data_ptr(), f"{dtype}: {back.data_ptr():#x} and {x.data_ptr():#x}"
        assert back.dtype == dtype and back.shape == x.shape
        assert torch.equal(back, x)
        tandem.release(taken)


def keeps_order(tandem):
    """Each sees what the other has issued before, in a stream of PyTorch's that is busy, without waiting for it."""
    stream = torch.cuda.Stream()
    for turn in range(20):
        with torch.cuda.stream(stream):
            x = torch.full((1 << 22,), float(turn), device="cuda")
            for _ in range(50):
                x = x + 1
            taken = tandem.take(x, stream.cuda_stream)
            total = tandem.execute(b"tf.AddV2", taken, taken)
            product = tandem.execute(b"tf.Mul", total, taken)
            y = tandem.give(product, stream.cuda_stream)
            expected = 2 * x * x
            assert torch.equal(y, expected), f"turn {turn}: {y[:3]} and {expected[:3]}"
            tandem.release(taken, total, product)


def wait_until_free():
    """The deleter is called when the device has done what was issued."""
    end = time.monotonic() + 10
    while torch.cuda.memory_allocated() != 0:
        assert time.monotonic() < end, f"{torch.cuda.memory_allocated()} bytes are kept"
        time.sleep(0.001)


def gives_memory_back(tandem):
    """When both have released it, memory of PyTorch's goes back to its pool."""
    wait_until_free()  # of what the tests before have released
    x = torch.ones(1 << 24, device="cuda")
    taken = tandem.take(x, 1)
    square = tandem.execute(b"tf.Mul", taken, taken)
    del x
    assert torch.cuda.memory_allocated() == 4 << 24, f"{torch.cuda.memory_allocated()} bytes are allocated"
    y = tandem.give(square, 1)
    tandem.release(taken, square)
    assert float(y.sum()) == 1 << 24
    del y
    wait_until_free()


def refuses_gaps(tandem):
    """What cannot be shared without copying is an error that says what was expected."""
    for tensor, word in ((torch.ones(4, 6, device="cuda").t(), "row-major"),
                         (torch.ones(4, device="cuda").bool(), "bool")):
        try:
            tandem.take(tensor, 1)
        except RuntimeError as error:
            assert word in str(error), error
            print(f"  {error}")
        else:
            raise AssertionError(f"expected an error about {word}, got a tensor")


def main():
    tandem = Tandem(sys.argv[1])
    failed = 0
    tests = (shares_memory, keeps_order, gives_memory_back, refuses_gaps)
    for test in tests:
        try:
            test(tandem)
            print(f"{test.__name__}: passed")
        except Exception as error:  # the others are run all the same
            failed += 1
            print(f"{test.__name__}: failed: {type(error).__name__}: {error}")
    torch.cuda.synchronize()
    tandem.close()
    print(f"{len(tests) - failed} passed, {failed} failed, PyTorch {torch.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
