"""Tensors: creation, views, and memory that is shared with NumPy and by DLPack."""
import gc
import hashlib
import unittest
import weakref

import numpy
from kymo import mps
from on_every_device import DeviceCase, on_every_device

NUMBERS = ("float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


class OldLibrary:
    """A library from before DLPack 1.0: it does not know max_version."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class NewLibrary(OldLibrary):
    """A library with DLPack 1.0: a tensor of Kymo gives the versioned capsule."""

    def __dlpack__(self, stream=None, max_version=None):
        assert max_version == (1, 0)
        return self.array.__dlpack__(max_version=max_version)


@on_every_device
class TensorTest(DeviceCase):
    def test_creation(self):
        self.assert_equal(mps.zeros(2, 3), numpy.zeros((2, 3)))
        self.assert_equal(mps.ones((2, 3), dtype=int), numpy.ones((2, 3)))
        self.assertEqual(mps.full((2,), 7).dtype, "int64")
        self.assertEqual(mps.full((), 7.5).item(), 7.5)
        self.assert_equal(mps.arange(2, 10, 3), [2, 5, 8])
        self.assertEqual(mps.tensor([1.0]).dtype, mps.float32)
        self.assertEqual(mps.tensor(numpy.array([1.0])).dtype, mps.float64)
        self.assertEqual(mps.tensor([True, False]).tolist(), [True, False])
        self.assertEqual(mps.tensor(5).shape, ())
        self.assert_equal(mps.tensor(numpy.arange(6).reshape(2, 3)[:, ::-1]), [[2, 1, 0], [5, 4, 3]])
        self.assert_equal(mps.tensor(numpy.arange(4, dtype=">i4")), [0, 1, 2, 3])
        self.assertEqual(mps.zeros(3, dtype="half").dtype, "float16")
        self.assertEqual(mps.zeros(3, dtype=numpy.float64).dtype, "float64")
        self.assertEqual(mps.zeros(0).tolist(), [])
        self.assertEqual(mps.zeros(2, device=mps.current_device()).device, mps.current_device())
        torch_device = type("device", (), {"__str__": lambda self: "mps:0"})()  # as torch.device("mps", 0)
        for device in (0, "mps", torch_device):
            self.assertEqual(mps.zeros(2, device=device).device, mps.current_device())
        with self.assertRaisesRegex(ValueError, "there is no device 3: use 0, or a name that kymo devices lists"):
            mps.zeros(2, device=3)
        for wrong in (True, 1.5, object()):
            with self.assertRaisesRegex(TypeError, "device must be str"):
                mps.zeros(2, device=wrong)
        for wrong in ("float8", "complex64", object(), "O"):
            with self.assertRaises(TypeError, msg=repr(wrong)):
                mps.zeros(3, dtype=wrong)
        for wrong in (-1, (2, -3)):
            with self.assertRaises(ValueError):
                mps.zeros(wrong)
        for wrong in ("3", 2.5, None):
            with self.assertRaises(TypeError):
                mps.zeros(wrong)
        with self.assertRaises((TypeError, ValueError)):
            mps.tensor(["a"])
        with self.assertRaises(ValueError):
            mps.full(3, 300, dtype="uint8")

    def test_every_dtype_goes_through_numpy(self):
        for dtype in (*NUMBERS, "bool"):
            values = numpy.arange(10).astype(dtype)
            there = mps.tensor(values)
            self.assertEqual((there.dtype, there.itemsize, there.nbytes), (dtype, values.itemsize, values.nbytes))
            self.assert_equal(there, values)
            self.assertEqual(numpy.asarray(there).dtype, values.dtype)
            self.assertEqual(there.tobytes(), values.tobytes())

    def test_bfloat16_is_float32_for_numpy(self):
        values = [1.0, 3.140625, -2.5, float("inf")]
        x = mps.tensor(values, dtype="bfloat16")
        self.assertEqual(x.tolist(), values)
        self.assertEqual(numpy.asarray(x).dtype, numpy.float32)
        self.assertTrue(numpy.isnan(mps.tensor([float("nan")], dtype="bfloat16").item()))
        with self.assertRaises(TypeError):
            x.numpy()
        with self.assertRaises(BufferError):
            memoryview(x)

    def test_indices(self):
        values = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
        x = mps.tensor(values)
        for index in (0, -1, (1, 2), slice(1), (slice(None), 1), (..., 2), (0, ..., slice(1, 4, 2)), ...,
                      (slice(5, 9),), (slice(-2, None), slice(None, None, 2))):
            self.assert_equal(x[index], values[index])
        self.assertEqual(len(x), 2)
        self.assertEqual([row.shape for row in x], [(3, 4), (3, 4)])
        for wrong in (2, -3, (0, 0, 4), (0, 0, 0, 0)):
            with self.assertRaises(IndexError):
                x[wrong]
        with self.assertRaises(ValueError):
            x[::-1]
        for wrong in ("a", None, 1.5):
            with self.assertRaises(TypeError):
                x[wrong]
        with self.assertRaises(TypeError):
            len(mps.full((), 1))
        x[0, 1] = 9
        x[1] = mps.zeros(3, 4)
        x[0, 0] = numpy.full(4, 5, dtype="float32")
        values[0, 1], values[1], values[0, 0] = 9, 0, 5
        self.assert_equal(x, values)
        with self.assertRaises(ValueError):
            x[0] = mps.zeros(3)
        with self.assertRaises(TypeError):
            del x[0]

    def test_views_and_copies(self):
        x = mps.arange(12, dtype="float32")
        grid = x.view(3, -1)
        self.assertEqual((grid.shape, grid.stride()), ((3, 4), (4, 1)))
        column = grid[:, 1]
        self.assertFalse(column.is_contiguous())
        self.assert_equal(column, [1, 5, 9])
        self.assert_equal(column.contiguous(), [1, 5, 9])
        column.fill_(0)
        self.assert_equal(x, [0, 0, 2, 3, 4, 0, 6, 7, 8, 0, 10, 11])
        copied = x.clone().fill_(1)
        self.assertNotEqual(copied.data_ptr(), x.data_ptr())
        x.copy_(copied)
        self.assert_equal(x, numpy.ones(12))
        self.assertEqual(x.to("mps").data_ptr(), x.data_ptr())
        for device in mps.device_names():
            self.assert_equal(x.to(device), numpy.ones(12))
        with self.assertRaises(ValueError):
            x.reshape(5)
        with self.assertRaises(ValueError):
            x.reshape(5, -1)
        with self.assertRaises(RuntimeError):
            x.item()
        with self.assertRaises(TypeError):
            x.fill_("a")

    def test_a_view_shares_the_memory_or_is_an_error(self):
        x = mps.zeros(2, 3)
        with self.assertRaisesRegex(RuntimeError, r"shape \[2, 2\] that is not contiguous cannot have shape \[4\] without a "
                                                  r"copy; use reshape\(\)"):
            x[:, 1:].view(4)
        self.assertEqual(x[:, 1:].reshape(4).shape, (4,))
        with self.assertRaisesRegex(ValueError, "has 4 elements and cannot be reshaped"):
            x[:, 1:].view(5)
        rows, columns = numpy.s_[:, 1:3], numpy.s_[..., :2]
        for index, shape in ((rows, (2, 6)), (rows, (4, 3)), (rows, (2, 1, 3, 2)), (rows, (12,)), (columns, (8, 2)),
                             (columns, (2, 8)), (columns, (2, 2, 2, 2)), (numpy.s_[:, 1], (1, 2, 3)),
                             (numpy.s_[:, 1], (6,)), (numpy.s_[:, 1:1], (0, 5)), (numpy.s_[0, ::2, 1], (1, 2, 1))):
            array = numpy.zeros((2, 4, 3), dtype="float32")
            tensor = mps.tensor(array)
            with self.subTest(index=index, shape=shape):
                try:
                    wanted = array[index].view()
                    wanted.shape = shape
                except AttributeError:  # NumPy would copy
                    with self.assertRaises(RuntimeError):
                        tensor[index].view(shape)
                    continue
                wanted[...] = 9
                tensor[index].view(shape).fill_(9)
                self.assert_equal(tensor.cpu(), array)
                self.assertEqual(tensor[index].view(shape).shape, wanted.shape)

    def test_large_integers_are_exact(self):
        for dtype, values in (("int64", (10**17 + 1, -10**17 - 1, 2**63 - 1, -2**63, 2**53 + 1, -2**53 - 1, -1, 2**53)),
                              ("uint64", (2**64 - 1, 2**63 + 1, 2**53 + 1, 0))):
            for value in values:
                self.assertEqual(mps.full((5,), value, dtype=dtype).tolist(), [value] * 5)
                x = mps.zeros(3, 4, dtype=dtype)
                x[1] = value
                x[:, 2].fill_(value)
                self.assertEqual(x.tolist(), [[0, 0, value, 0], [value] * 4, [0, 0, value, 0]])
        self.assertEqual(mps.full((1,), 10**17 + 1).item(), 10**17 + 1)
        self.assertEqual(mps.full((1,), numpy.int64(10**17 + 1)).item(), 10**17 + 1)
        self.assertEqual(mps.full((0,), 10**17 + 1).tolist(), [])
        self.assertEqual(mps.full((1,), 2**70, dtype="float64").item(), 2.0**70)
        for dtype, value in (("int64", 2**63), ("uint64", -1), ("uint64", 2**64)):
            with self.assertRaisesRegex(ValueError, f"{value} does not fit a tensor of {dtype}, which takes -?[0-9]+ to"):
                mps.full((1,), value, dtype=dtype)

    def test_comparisons_are_by_element(self):
        x = mps.tensor([1.0, 2.0, 3.0])
        self.assertEqual(((x == 2).tolist(), (x == 2).dtype, (x == 2).device), ([False, True, False], "bool", x.device))
        self.assertEqual((x != mps.tensor([1.0, 0.0, 3.0])).tolist(), [False, True, False])
        self.assertEqual([(x < 2).tolist(), (x <= 2).tolist()], [[True, False, False], [True, True, False]])
        self.assertEqual([(2 < x).tolist(), (x >= 2).tolist()], [[False, False, True], [False, True, True]])
        self.assertEqual((x == numpy.array([[1.0], [2.0]])).tolist(), [[True, False, False], [False, True, False]])
        self.assertTrue(mps.tensor(0.1) == 0.1)
        self.assertEqual((x == "x", x is None, x != None), (False, False, True))  # noqa: E711
        self.assertEqual({x: 1}[x], 1)
        with self.assertRaises(TypeError):
            x < "x"
        with self.assertRaisesRegex(RuntimeError, r"shape \[3\] and \[2\] cannot be compared"):
            x == mps.zeros(2)

    def test_copy_takes_what_the_message_says(self):
        x = mps.zeros(2)
        self.assertEqual(x.copy_([3, 4]).tolist(), [3, 4])
        self.assertEqual(x.copy_(5).tolist(), [5, 5])
        x[:] = (1, 2)
        self.assertEqual(x.tolist(), [1, 2])
        with self.assertRaisesRegex(TypeError, "must be a number, a list, an array or a tensor, not str"):
            x.copy_("x")
        with self.assertRaisesRegex(ValueError, "300 does not fit uint8"):
            mps.zeros(2, dtype="uint8").copy_([1, 300])

    def test_the_words_of_torch(self):
        x = mps.ones(3)
        self.assertEqual(x.cpu().numpy().tolist(), [1, 1, 1])
        self.assertEqual((x.cpu().device, x.numel(), x.size(), x.ndim), ("cpu", 3, (3,), 1))
        self.assertEqual((float(x[0]), int(x[0]), x[0].item(), bool(x[0])), (1.0, 1, 1.0, True))
        with self.assertRaisesRegex(RuntimeError, "ambiguous"):
            bool(x)
        self.assertEqual(repr(x), f"tensor([1., 1., 1.], device='{mps.current_device()}')")

    def test_numpy_sees_the_memory_of_a_tensor(self):
        x = mps.zeros(4, 5)
        if not x.is_shared_with_host():
            with self.assertRaises(TypeError):
                x.numpy()
            with self.assertRaises(BufferError):
                memoryview(x)
            return
        array = x.numpy()
        array[1, 2] = 7
        self.assertEqual(x[1, 2].item(), 7)
        x.fill_(3)
        mps.synchronize()
        self.assertEqual(array.sum(), 60)
        column = numpy.asarray(x[:, 1])
        self.assertEqual(column.strides, (20,))
        column[:] = 4
        self.assert_equal(x[:, 1], [4, 4, 4, 4])
        self.assertFalse(numpy.shares_memory(numpy.array(x), array))
        self.assertTrue(numpy.shares_memory(numpy.asarray(x), array))
        self.assertEqual(numpy.asarray(x, dtype="float64").dtype, numpy.float64)
        del x
        gc.collect()
        array[:] = 1  # the array keeps the memory
        self.assertEqual(array.sum(), 20)
        with self.assertRaises(BufferError):
            hashlib.md5(mps.zeros(4, 4)[:, 1])

    def test_a_tensor_sees_the_memory_of_an_array(self):
        array = numpy.arange(10_000, dtype="float32")
        if not mps.zeros(1).is_shared_with_host():
            with self.assertRaises(BufferError):
                mps.from_numpy(array)
            return
        x = mps.from_numpy(array)
        mps.compile_shader("kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }").twice(x)
        mps.synchronize()
        self.assertEqual((array[0], array[9999]), (0, 19998))
        array[5] = -1
        self.assertEqual(x[5].item(), -1)
        alive = weakref.ref(array)
        del array
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertEqual(x[9999].item(), 19998)
        del x
        gc.collect()
        self.assertIsNone(alive())

    def test_arrays_that_cannot_be_shared(self):
        array = numpy.arange(10, dtype="float32")
        fixed = array.copy()
        fixed.flags.writeable = False
        unaligned = numpy.frombuffer(bytearray(17), dtype="float32", offset=1, count=4)
        for wrong in (array[::-1], fixed, unaligned):
            with self.assertRaises(BufferError):
                mps.from_numpy(wrong)
            self.assert_equal(mps.tensor(wrong), wrong)
            with self.assertRaises(BufferError):
                mps.from_dlpack(wrong, copy=False)
        for wrong in ([1.0], 5, "x", mps.zeros(1)):
            with self.assertRaises(TypeError):
                mps.from_numpy(wrong)
        for wrong in (numpy.array(["a"]), numpy.array([1j]), numpy.zeros(2, dtype="f4,i4"), numpy.zeros(2, dtype=">f4")):
            with self.assertRaises(TypeError):
                mps.from_numpy(wrong)
        with self.assertRaises(ValueError):
            mps.tensor(numpy.zeros((1,) * 9))
        self.assert_equal(mps.from_dlpack(array[::2]), array[::2])

    def test_dlpack_from_old_and_new_libraries(self):
        for library in (OldLibrary, NewLibrary):
            source = mps.arange(12, dtype="int32").view(3, 4)
            if not source.is_shared_with_host():
                continue
            x = mps.from_dlpack(library(source[:, 1:]))
            self.assertEqual((x.shape, x.stride(), x.data_ptr()), ((3, 3), (4, 1), source.data_ptr() + 4))
            x.fill_(0)
            self.assertEqual(source.tolist()[2], [8, 0, 0, 0])
            copied = mps.from_dlpack(library(source), copy=True)
            self.assertNotEqual(copied.data_ptr(), source.data_ptr())
            del source
            gc.collect()
            self.assert_equal(x, numpy.zeros((3, 3)))

    def test_dlpack_to_numpy(self):
        for dtype in NUMBERS:
            x = mps.tensor(numpy.arange(6, dtype=dtype).reshape(2, 3))
            if not x.is_shared_with_host():
                continue
            array = numpy.from_dlpack(x)
            self.assertEqual((array.dtype, array.ctypes.data), (numpy.dtype(dtype), x.data_ptr()))
            self.assert_equal(x, array)

    def test_dlpack_capsules(self):
        x = mps.arange(4, dtype="float32")
        if x.__dlpack_device__()[0] not in (1, 2):
            self.skipTest("the memory of this device has no address that other libraries can use")
        for version, name in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned"),
                              ((2, 5), "dltensor_versioned")):
            capsule = x.__dlpack__(max_version=version)
            self.assertIn(f'"{name}"', repr(capsule))
            self.assert_equal(mps.from_dlpack(capsule), [0, 1, 2, 3])
            self.assertIn(f'"used_{name}"', repr(capsule))
            with self.assertRaisesRegex(RuntimeError, "only once"):
                mps.from_dlpack(capsule)
        copied = mps.from_dlpack(x.__dlpack__(copy=True, dl_device=(1, 0)))
        x.fill_(9)
        self.assert_equal(copied, [0, 1, 2, 3])
        with self.assertRaises(BufferError):
            x.__dlpack__(dl_device=(10, 3))
        for keyword in ("max_version", "dl_device"):
            for wrong in (1, "1.0", (1,)):
                with self.assertRaises(TypeError):
                    x.__dlpack__(**{keyword: wrong})
        with self.assertRaises(TypeError):
            x.__dlpack__(None)
        for wrong in (5, "x", None, object()):
            with self.assertRaises((TypeError, AttributeError)):
                mps.from_dlpack(wrong)
        with self.assertRaises(TypeError):
            mps.from_dlpack(x, copy="yes")

    def test_damaged_libraries_are_errors(self):
        class Wrong:
            def __init__(self, place, capsule):
                self.place, self.capsule = place, capsule

            def __dlpack_device__(self):
                return self.place

            def __dlpack__(self, **keywords):
                return self.capsule

        x = mps.zeros(1)
        for place, capsule in (((1, 0), None), ((1, 0), 5), ((1,), x.__dlpack__()), ("ab", x.__dlpack__()),
                               (None, x.__dlpack__()), ((2**40, 0), x)):
            with self.assertRaises((TypeError, RuntimeError, IndexError, ValueError, OverflowError)):
                mps.from_dlpack(Wrong(place, capsule))


if __name__ == "__main__":
    unittest.main()
