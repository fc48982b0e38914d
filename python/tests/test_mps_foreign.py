"""Tensors of other libraries as arguments of kernels, by DLPack's table of C functions."""
import ctypes
import unittest

from kymo import mps
from on_every_device import DeviceCase, on_every_device

FULL = "kernel void full(device float* out, constant float& val, uint i [[thread_position_in_grid]]) { out[i] = val; }"


class View(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


VIEW_OF = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(View))
STREAM_OF = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p), ("managed_from_object", ctypes.c_void_p),
                ("object_from_managed", ctypes.c_void_p), ("view_of_object", VIEW_OF), ("current_stream", STREAM_OF)]


ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def library(device, *, version=1, previous=None, name=b"dlpack_exchange_api", fails=False):
    """A type of tensors with one float on a device, as another library would have it."""
    calls = []

    def view_of(tensor, out):
        calls.append("view")
        view = out[0]
        view.data, view.device_type, view.device_id = tensor.address, *device
        view.ndim, view.code, view.bits, view.lanes = 0, 2, 32, 1
        return -1 if fails else 0

    def stream_of(device_type, device_id, out):
        calls.append("stream")
        out[0] = None
        return 0

    table = Table(version, 3, previous, None, None, None, VIEW_OF(view_of), STREAM_OF(stream_of))

    class Tensor:
        ndim = 0
        address = 4096
        kept = table
        __dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(ctypes.addressof(table), name, None)

        def __dlpack_device__(self):
            calls.append("__dlpack_device__")
            return device

        def item(self):
            return 2.5

    Tensor.calls = calls
    return Tensor


CPU, CUDA = (1, 0), (2, 0)


@on_every_device
class ExchangeTest(DeviceCase):
    def full(self, value):
        x = mps.zeros(4)
        mps.compile_shader(FULL).full(x, value)
        return x.tolist()

    def test_a_number_on_the_cpu(self):
        made = library(CPU)
        self.assertEqual(self.full(made()), [2.5] * 4)
        self.assertEqual(self.full(made()), [2.5] * 4)
        self.assertEqual(made.calls.count("view"), 2)
        self.assertNotIn("stream", made.calls)  # nothing to wait for

    def test_tables_that_cannot_be_used(self):
        for made in (library(CPU, version=2), library(CPU, version=0), library(CPU, name=b"something else")):
            self.assertEqual(self.full(made()), [2.5] * 4)
            self.assertEqual(made.calls, ["__dlpack_device__"])
        older = library(CPU)
        newer = library(CPU, version=2, previous=ctypes.addressof(older.kept))
        self.assertEqual(self.full(newer()), [2.5] * 4)
        self.assertEqual((older.calls, newer.calls), (["view"], ["__dlpack_device__"]))

    def test_a_library_that_fails(self):
        with self.assertRaisesRegex(RuntimeError, "cannot say where it is"):
            self.full(library(CPU, fails=True)())

    def test_a_tensor_on_a_device_that_is_not_here(self):
        if "cuda:0" in mps.device_names():
            self.skipTest("this machine has CUDA")
        made = library(CUDA)
        with self.assertRaisesRegex(RuntimeError, "CUDA: .*install|\"cuda:0\" is not a device"):
            mps.compile_shader(FULL).full(made(), 1.0)
        self.assertEqual(made.calls, ["view"])


if __name__ == "__main__":
    unittest.main()
