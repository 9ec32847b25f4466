# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

"""Tensors between NumPy and the C interface by DLPack (DL-3a): NumPy is the independent reader and writer."""

import ctypes
import gc
import sys

import numpy as np

lib = ctypes.CDLL(sys.argv[1])
api = ctypes.pythonapi
Pointer, Text = ctypes.c_void_p, ctypes.c_char_p
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [Pointer, Text, Pointer]
api.PyCapsule_GetPointer.restype = Pointer
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, Text]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, Text]
lib.tandem_status_text.restype = Text
lib.tandem_status_text.argtypes = [Pointer]

NAME = b"dltensor"
USED = b"used_dltensor"


def call(function, *args):
    """Calls a function that returns a status."""
    function.restype = Pointer
    status = function(*args)
    assert not status, lib.tandem_status_text(status).decode()


def made(function, *args):
    """The pointer that a function gives through its last parameter."""
    given = Pointer()
    call(function, *args, ctypes.byref(given))
    return given


class Producer:
    """Hands a tensor to np.from_dlpack."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **_):
        managed = made(lib.tandem_tensor_to_unversioned_dlpack, self.tensor)
        return api.PyCapsule_New(managed, NAME, None)

    def __dlpack_device__(self):
        return (1, 0)


def imported(runtime, array):
    capsule = array.__dlpack__()
    tensor = made(lib.tandem_tensor_from_unversioned_dlpack, runtime, Pointer(api.PyCapsule_GetPointer(capsule, NAME)))
    api.PyCapsule_SetName(capsule, USED)
    return tensor


def data_of(tensor):
    data = Pointer()
    call(lib.tandem_tensor_data, tensor, ctypes.byref(data), None)
    return data.value


def main():
    runtime = made(lib.tandem_runtime_create, ctypes.c_uint32(1), None)
    dtypes = "u1 i1 u2 i2 i4 u4 i8 u8 f2 f4 f8 c8".split()
    for dtype in dtypes:
        array = np.arange(60).reshape(3, 4, 5).astype(dtype)
        references = sys.getrefcount(array)
        tensor = imported(runtime, array)
        assert data_of(tensor) == array.ctypes.data, dtype
        back = np.from_dlpack(Producer(tensor))
        assert back.dtype == array.dtype and back.ctypes.data == array.ctypes.data, dtype
        assert np.array_equal(back, array), dtype
        lib.tandem_tensor_release(tensor)
        assert sys.getrefcount(array) == references + 1, dtype  # the exported tensor keeps it
        del back
        gc.collect()
        assert sys.getrefcount(array) == references, dtype
        for view in (array.transpose(2, 0, 1), array[::-1, 1:3, ::2], array[:, :1]):
            tensor = imported(runtime, view)
            assert np.array_equal(np.from_dlpack(Producer(tensor)), view), dtype
            lib.tandem_tensor_release(tensor)
        del view
        assert sys.getrefcount(array) == references, dtype
    call(lib.tandem_runtime_destroy, runtime)
    print(f"{len(dtypes)} dtypes went to NumPy and back")


main()
