"""Many iterations of what kymo.mps does, with flat memory and the same reference counts."""
import gc
import sys
import unittest

import numpy

from kymo import mps, nvtx
from test_leaks import ALLOWED_KB, resident_kb

FULL = "kernel void full(device float* out, constant float& val, uint i [[thread_position_in_grid]]) { out[i] = val; }"


@unittest.skipUnless(mps.device_names(), "this machine has no device")
class DeviceLeakTest(unittest.TestCase):
    def setUp(self):
        mps.set_device(mps.device_names()[0])

    def check(self, body, iterations):
        body(iterations // 5)
        mps.synchronize()
        gc.collect()
        memory, allocated = resident_kb(), mps.current_allocated_memory()
        body(iterations)
        mps.synchronize()
        gc.collect()
        self.assertLess(resident_kb() - memory, ALLOWED_KB)
        self.assertEqual(mps.current_allocated_memory(), allocated)

    def test_objects_without_work(self):
        x = mps.zeros(4, 4)

        def body(count):
            for _ in range(count):
                x[1:3].shape
                x.stride()
                mps.current_stream()
        self.check(body, 200_000)

    def test_tensors(self):
        def body(count):
            for _ in range(count):
                mps.empty(16)
        self.check(body, 1_000_000)

    def test_events(self):
        def body(count):
            for _ in range(count):
                mps.Event(enable_timing=True)
        self.check(body, 1_000_000)

    def test_exchange_with_numpy(self):
        if not mps.zeros(1).is_shared_with_host():
            self.skipTest("this device has memory of its own")
        array = numpy.zeros(16, dtype="float32")
        before = sys.getrefcount(array)

        def body(count):
            for _ in range(count):
                numpy.asarray(mps.tensor(array))
                numpy.from_dlpack(mps.tensor(array))
        self.check(body, 5_000)
        self.assertEqual(sys.getrefcount(array), before)

    def test_launches(self):
        kernel = mps.compile_shader(FULL).full
        x, number = mps.zeros(16), 2.5
        before = sys.getrefcount(x), sys.getrefcount(number)

        def body(count):
            for i in range(count):
                kernel(x, number, threads=16)
                if i % 256 == 0:
                    mps.synchronize()
        self.check(body, 30_000)
        self.assertEqual((sys.getrefcount(x), sys.getrefcount(number)), before)

    def test_errors(self):
        kernel = mps.compile_shader(FULL).full
        x, wrong = mps.zeros(16), object()
        before = sys.getrefcount(x), sys.getrefcount(wrong)

        def body(count):
            for _ in range(count):
                for args in ((x, wrong), (x,), (x, []), (x, "1")):
                    try:
                        kernel(*args)
                    except RuntimeError:
                        pass
        self.check(body, 10_000)
        self.assertEqual((sys.getrefcount(x), sys.getrefcount(wrong)), before)

    def test_device_ranges_that_are_not_recorded(self):
        def body(count):
            for _ in range(count):
                nvtx._device_range_end(nvtx._device_range_start("x"))
        self.check(body, 200_000)


if __name__ == "__main__":
    unittest.main()
