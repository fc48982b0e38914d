"""A kernel outlives its library, and a process may end before its kernels."""
import os
import subprocess
import sys
import tempfile
import unittest

from kymo import mps
from on_every_device import DEVICES, DeviceCase, on_every_device

# Drivers for the processor compile for each size of a group anew, in threads of their own.
PROGRAM = """
from kymo import mps
lib = mps.compile_shader('''#include <metal_stdlib>
using namespace metal;
kernel void work(device float* x, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float shared[64];
  shared[t] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = simd_sum(shared[0]);
  for (int k = 0; k < 5; k++) sum = simd_max(sum * 2);
  x[i] = sum;
}''')
x = mps.zeros(4096)
for size in (32, 40, 48, 56, 64, 24, 16, 8):
    lib.work(x, threads=4096, group_size=size)
"""


@on_every_device
class KernelTest(DeviceCase):
    def test_a_kernel_outlives_its_library(self):
        kernel = mps.compile_shader("kernel void one(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }").one
        x = mps.zeros(3)
        kernel(x)
        self.assert_equal(x, [1, 1, 1])


class ProcessTest(unittest.TestCase):
    @unittest.skipUnless(DEVICES, "this machine has no device")
    def test_a_process_ends_well_while_its_kernels_run(self):
        for device in DEVICES:
            for attempt in range(8):
                with self.subTest(device=device, attempt=attempt), tempfile.TemporaryDirectory() as cache:
                    names = ("KYMO_CACHE_DIR", "POCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR", "XDG_CACHE_HOME")
                    environment = {**os.environ, "KYMO_DEVICE": device, **dict.fromkeys(names, cache)}
                    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True,
                                          text=True, timeout=300)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
