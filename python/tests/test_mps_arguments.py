"""Wrong arguments of kernels and tensors: the exceptions of PyTorch, with the value and what to do."""
import struct
import unittest

import kymo
import numpy
from kymo import mps
from on_every_device import DeviceCase, on_every_device

FULL = """kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) {
  out[idx] = val;
}"""


@on_every_device
class KernelArgumentsTest(DeviceCase):
    @property
    def kernel(self):
        return mps.compile_shader(FULL).full

    def test_a_wrong_type(self):
        """PyTorch raises a RuntimeError, and Python's own word for it is TypeError: it is both."""
        x = mps.zeros(4)
        for value, text in (("a", "argument 2 of kernel \"full\" is of type str: it must be a tensor, a number, or a list"),
                            (None, "is of type NoneType"), ({}, "is of type dict"), (1j, "is of type complex"),
                            (numpy.zeros(3), "on the CPU, and kernels take tensors of the device"),
                            (["a"], "first element is of type str"), ([x, 1], "its element 1 is of type int"),
                            ([1.0, "a"], "its element 1 is of type str: it must be a number"),
                            ([1, 1.5], "its element 1 is of type float: it must be an int")):
            for error in (RuntimeError, TypeError, kymo.InvalidType):
                with self.assertRaisesRegex(error, text):
                    self.kernel(x, value)

    def test_what_is_not_a_library(self):
        with self.assertRaisesRegex(TypeError, "library must be a ShaderLibrary, not int"):
            mps._device.library_warnings(1)

    def test_a_wrong_value(self):
        x = mps.zeros(4)
        for value, text in (([], "is an empty list"), (2**70, "an int that does not fit 64 bits: pass one from")):
            for error in (RuntimeError, ValueError, kymo.InvalidArgument):
                with self.assertRaisesRegex(error, text):
                    self.kernel(x, value)
        with self.assertRaisesRegex(RuntimeError, "takes 2 arguments, and was given 1"):
            self.kernel(x)

    def test_casts(self):
        x = mps.zeros(4)
        for casts, error, text in ((3, TypeError, "arg_casts must be a str or a dict .*, not int"),
                                   ({1: 3}, TypeError, "a cast of arg_casts must be a str, not int"),
                                   ({"val": "fp16"}, TypeError, "a key of arg_casts must be the index of an argument"),
                                   ("fp8", ValueError, '"fp8" is not a cast of arg_casts: these are fp16'),
                                   ({2: "fp16"}, ValueError, 'a cast for argument 2, and kernel "full" was given 2'),
                                   ({-1: "fp16"}, ValueError, "a cast for argument -1")):
            with self.assertRaisesRegex(error, text) as caught:
                self.kernel(x, 1, arg_casts=casts)
            self.assertIsInstance(caught.exception, RuntimeError)
        self.kernel(x, 0.1, arg_casts={numpy.int64(1): "fp16"})
        self.assertEqual(x[0].item(), float(numpy.float16(0.1)))

    def test_numbers_of_numpy_in_lists(self):
        x = mps.zeros(4)
        lib = mps.compile_shader("kernel void sum(device float* out, constant float2& v) { out[0] = v.x + v.y; }")
        for values in ([numpy.float64(1), numpy.float32(2)], [1.0, numpy.int64(2)]):
            lib.sum(x, values, threads=1)
            self.assertEqual(x[0].item(), 3.0)

    def test_bytes_are_copied_unchanged(self):
        lib = mps.compile_shader("""
struct Mixed { float a; int b; };
struct Pair { float a, b; };
struct Eight { float v[8]; };
kernel void mixed(device float* x, constant Mixed& p) { x[0] = p.a + p.b; }
kernel void pair(device float* x, constant Pair& p) { x[0] = 10 * p.a + p.b; }
kernel void pairs(device float* x, constant Pair* p, uint i [[thread_position_in_grid]]) { x[i] = 10 * p[i].a + p[i].b; }
kernel void floats(device float* x, constant float* p, uint i [[thread_position_in_grid]]) { x[i] = p[i]; }
kernel void eight(device float* x, constant Eight& p) { x[0] = p.v[7]; }
""")
        x = mps.zeros(2)
        for kernel, given, wanted in ((lib.mixed, struct.pack("fi", 0.5, 3), [3.5, 0]),
                                      (lib.pair, struct.pack("ff", 1, 2), [12, 0]),
                                      (lib.pair, bytearray(struct.pack("ff", 1, 3)), [13, 0]),
                                      (lib.pairs, struct.pack("4f", 1, 2, 3, 4), [12, 34]),
                                      (lib.floats, struct.pack("ff", 5, 6), [5, 6])):
            x.fill_(0)
            kernel(x, given)
            self.assertEqual(x.tolist(), wanted, kernel.name)
        for kernel, size, text in ((lib.mixed, 7, "it takes 8 bytes, and was given 7 bytes"),
                                   (lib.pair, 9, "it takes 2 of f32 or 8 bytes, and was given 9 bytes"),
                                   (lib.eight, 8, "it takes 8 of f32 or 32 bytes, and was given 8 bytes"),
                                   (lib.pairs, 12, "one element has 8 bytes, and 12 bytes do not make whole elements")):
            with self.assertRaisesRegex(kymo.InvalidArgument, text):
                kernel(x, bytes(size))

    def test_a_stream(self):
        for error in (RuntimeError, TypeError):
            with self.assertRaisesRegex(error, "must be a Stream of kymo.mps or None, not str"):
                kymo.nvtx._device_range_start("x", "0")


@on_every_device
class TensorArgumentsTest(DeviceCase):
    def assert_refused(self, text, call, *args, **kwargs):
        for error in (ValueError, RuntimeError):
            with self.assertRaisesRegex(error, text):
                call(*args, **kwargs)

    def test_reshape(self):
        x = mps.zeros(12)
        self.assert_refused("sizes 0 and 2 are both -1; only one size may be -1", x.reshape, -1, 3, -1)
        self.assert_refused("size -2 is negative; a size is 0 or more, or -1", x.reshape, -2, 6)
        self.assert_refused("12 elements cannot be divided by 5", x.reshape, 5, -1)

    def test_a_wrong_shape_or_source(self):
        for shape in (1.5, None):
            with self.assertRaisesRegex(TypeError, "a shape must be an int, or a tuple or list of them, not "):
                mps.zeros(shape)
        with self.assertRaisesRegex(TypeError, "from_dlpack: ext_tensor must be a tensor or an array .*, not int"):
            mps.from_dlpack(3)

    def test_arange(self):
        self.assert_refused("step is 0; it must be positive or negative", mps.arange, 0, 5, 0)
        self.assert_refused("a step of -1 does not lead from 0 to 5", mps.arange, 0, 5, -1)
        self.assert_refused("end is nan; it must be a finite number", mps.arange, float("nan"))
        self.assert_refused("end is inf", mps.arange, 0, float("inf"))
        with self.assertRaisesRegex(TypeError, "arange: end must be a number, not str"):
            mps.arange("5")
        self.assertEqual(mps.arange(5, 0, -2).tolist(), [5, 3, 1])
        self.assertEqual(mps.arange(0).tolist(), [])
        self.assertEqual(mps.arange(numpy.float32(2)).tolist(), [0.0, 1.0])
        self.assert_refused("arange: 299 does not fit uint8, which takes 0 to 255", mps.arange, 300, dtype="uint8")
        self.assert_refused(f"{2**63} does not fit int64", mps.arange, 2**63, 2**63 + 2)
        self.assertEqual(mps.arange(2**63, 2**63 + 2, dtype="uint64").tolist(), [2**63, 2**63 + 1])
        self.assertEqual(mps.arange(256, dtype="uint8")[-1].item(), 255)

    def test_scalars_of_numpy(self):
        for value, dtype in ((numpy.int64(5), "int64"), (numpy.uint8(5), "int64"), (numpy.bool_(True), "bool"),
                             (numpy.float64(5), "float32"), (True, "bool")):
            x = mps.full((2,), value)
            self.assertEqual((x.dtype, x.tolist()), (dtype, [value, value]))
        self.assertEqual((mps.arange(numpy.uint8(3)).dtype, mps.arange(numpy.uint8(3), 0, -1).tolist()),
                         ("int64", [3, 2, 1]))

    def test_numbers_that_do_not_fit(self):
        self.assert_refused(f"{2**70} does not fit int64, which takes .*float64", mps.tensor, [2**70])
        self.assert_refused(f"{-2**70} does not fit int64", mps.tensor, [[1, -2**70]])
        self.assert_refused("300 does not fit uint8, which takes 0 to 255", mps.tensor, [1, 300], dtype="uint8")
        self.assert_refused("-1 does not fit uint32", mps.tensor, -1, dtype="uint32")
        self.assert_refused(f"{2**63} does not fit int64", mps.tensor, [2**63, -1])
        self.assertEqual(mps.tensor([2**63 + 1, 1], dtype="uint64").tolist(), [2**63 + 1, 1])
        self.assertEqual(mps.tensor([2**63, 0.5]).dtype, "float32")
        self.assertEqual(mps.tensor([2**63]).dtype, "uint64")
        self.assertEqual(mps.tensor([2**70], dtype="float64").tolist(), [2.0**70])
        self.assertEqual(mps.tensor(numpy.array([300]), dtype="uint8").tolist(), [44])  # as NumPy converts arrays
        self.assertEqual(mps.tensor([], dtype="int8").shape, (0,))

    def test_a_sampler_has_a_type(self):
        sampler = mps.sampler("linear", address="repeat")
        self.assertIsInstance(sampler, mps.Sampler)
        self.assertEqual((sampler.filter, sampler.address, sampler.coord), ("linear", "repeat", "normalized"))
        self.assertEqual(sampler, mps.sampler("linear", "repeat"))
        self.assertEqual(repr(sampler), "Sampler(filter='linear', address='repeat', coord='normalized', "
                                        "border_color='transparent_black')")
        self.assert_refused("sampler: filter must be one of nearest, linear, not 3", mps.sampler, 3)
        with self.assertRaises(AttributeError):
            sampler.filter = "nearest"
        lib = mps.compile_shader("""#include <metal_stdlib>
using namespace metal;
kernel void middle(device float* out, texture2d<float> image, sampler s, constant float& scale) {
  out[0] = image.sample(s, float2(1, 1)).x * scale;
}""")
        out, image = mps.zeros(1), mps.tensor([[1.0, 2.0], [3.0, 6.0]])
        lib.middle(out, image, mps.sampler("linear", coord="pixel"), 2, threads=1, arg_casts="fp16")
        self.assertEqual(out.tolist(), [6.0])  # a cast of all numbers does not change the sampler


if __name__ == "__main__":
    unittest.main()
