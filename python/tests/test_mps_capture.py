"""kymo.mps.profiler.metal_capture: what it captures, and when it is refused."""
import os
import subprocess
import sys
import tempfile
import unittest

from kymo import mps


class CaptureTest(unittest.TestCase):
    def test_a_kernel_under_capture(self):
        with tempfile.TemporaryDirectory() as folder:
            script = """
from kymo import mps
assert mps.profiler.is_metal_capture_enabled()
lib = mps.compile_shader("kernel void one(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }")
with mps.profiler.metal_capture("ones"):
    assert mps.profiler.is_capturing_metal()
    x = mps.zeros(16)
    lib.one(x)
assert not mps.profiler.is_capturing_metal()
assert x.tolist() == [1.0] * 16
print(mps.profiler.capture_folder())
"""
            done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True,
                                  env={**os.environ, "MTL_CAPTURE_ENABLED": "1"})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.strip(), "0000-ones.kycap")
            self.assertGreater(len(os.listdir(os.path.join(folder, "0000-ones.kycap"))), 0)

    def test_a_capture_that_is_not_enabled_is_a_runtime_error(self):
        if mps.profiler.is_metal_capture_enabled():
            self.skipTest("captures are enabled")
        with self.assertRaisesRegex(RuntimeError, "KYMO_CAPTURE_ENABLED"):
            with mps.profiler.metal_capture("x"):
                self.fail("the block must not run")
        self.assertFalse(mps.profiler.is_capturing_metal())


if __name__ == "__main__":
    unittest.main()
