"""kymo.mps: the functions of torch.mps, streams, events, random numbers, the profiler."""
import gc
import os
import pickle
import subprocess
import sys
import threading
import unittest

import kymo
import numpy
from kymo import mps
from on_every_device import DeviceCase, on_every_device
from traces import SANITIZED

ADD_ONE = "kernel void add_one(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"


@on_every_device
class FunctionTest(DeviceCase):
    def test_devices(self):
        self.assertTrue(mps.is_available())
        self.assertGreaterEqual(mps.device_count(), 1)
        self.assertIn(mps.current_device(), mps.device_names())
        self.assertTrue(mps.device_description())
        self.assertIs(kymo.device, mps)
        with self.assertRaises(ValueError):
            mps.set_device("nothing:0")
        with self.assertRaises(ValueError):
            mps.set_device(3)
        with self.assertRaises(TypeError):
            mps.set_device(1.5)

    def test_synchronize_three_times(self):
        for _ in range(3):
            mps.synchronize()

    def test_memory(self):
        gc.collect()
        mps.empty_cache()
        current, driver = mps.current_allocated_memory(), mps.driver_allocated_memory()
        x = mps.zeros(8 << 20)
        self.assertEqual(mps.current_allocated_memory(), current + (32 << 20))
        self.assertGreaterEqual(mps.driver_allocated_memory(), driver)
        self.assertGreater(mps.recommended_max_memory(), 0)
        self.assertGreaterEqual(mps.memory_statistics()["peak"], 32 << 20)
        del x
        self.assertEqual(mps.current_allocated_memory(), current)
        mps.reset_peak_memory()

    def test_memory_fraction(self):
        for wrong in (1, True, "0.5", None):
            with self.assertRaises(TypeError):
                mps.set_per_process_memory_fraction(wrong)
        for wrong in (-0.1, 2.1, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                mps.set_per_process_memory_fraction(wrong)
        mps.set_per_process_memory_fraction(0.001)
        try:
            with self.assertRaises(MemoryError) as caught:
                mps.empty(mps.recommended_max_memory() // 8)
            self.assertGreater(caught.exception.asked, 0)
        finally:
            mps.set_per_process_memory_fraction(0.0)

    def test_random_state_has_the_bytes_of_torch(self):
        mps.manual_seed(42)
        state = mps.get_rng_state()
        self.assertEqual((state.dtype, state.shape), (numpy.uint8, (44,)))
        self.assertEqual(state.tobytes().hex(), "01000000" * 5 + "2a000000" + "00000000" + "2a00000000000000" + "00" * 8)
        first = mps.randn(100).tolist()
        self.assertNotEqual(mps.randn(100).tolist(), first)
        mps.set_rng_state(state)
        self.assertEqual(mps.randn(100).tolist(), first)
        mps.set_rng_state(bytes(state), device="mps")
        mps.set_rng_state(numpy.repeat(state, 2)[::2])  # not contiguous
        self.assertEqual(mps.randn(100).tolist(), first)

    def test_random_state_of_a_wrong_type_or_size(self):
        state = mps.get_rng_state()
        for wrong in (state.astype("int32"), list(state), None, 5):
            with self.assertRaises(TypeError):
                mps.set_rng_state(wrong)
        for wrong in (state[:-1], b"", bytes(45)):
            with self.assertRaises(RuntimeError):
                mps.set_rng_state(wrong)

    def test_seeds(self):
        mps.manual_seed(-1)
        negative = mps.get_rng_state().tolist()
        mps.manual_seed(2**64 - 1)
        self.assertEqual(mps.get_rng_state().tolist(), negative)
        for wrong in (2**64, -2**63 - 1):
            with self.assertRaises(RuntimeError):
                mps.manual_seed(wrong)
        self.assertIsNone(mps.seed())
        self.assertNotEqual(mps.get_rng_state().tolist(), negative)

    def test_random_tensors(self):
        mps.manual_seed(1)
        self.assertTrue(0 <= mps.rand(1000).cpu().min())
        whole = mps.randint(3, 7, (1000,)).cpu()
        self.assertEqual((whole.dtype, whole.min(), whole.max()), (numpy.int64, 3, 6))
        self.assertEqual(set(mps.bernoulli(100, p=0.5).tolist()), {0.0, 1.0})

    def test_events(self):
        start, end = mps.Event(enable_timing=True), mps.Event(enable_timing=True)
        self.assertFalse(start.query())
        start.synchronize()
        start.record()
        x = mps.zeros(1 << 20)
        end.record()
        end.synchronize()
        self.assertTrue(end.query())
        self.assertGreaterEqual(start.elapsed_time(end), 0)
        x.fill_(1)
        plain = mps.Event()
        plain.record()
        with self.assertRaises(RuntimeError):
            start.elapsed_time(plain)
        with self.assertRaises(RuntimeError):
            start.elapsed_time(mps.Event(enable_timing=True))
        with self.assertRaises(TypeError):
            start.elapsed_time(3)
        with self.assertRaises(RuntimeError):
            start.record(3)

    def test_streams(self):
        default = mps.default_stream()
        self.assertEqual(default.stream_id, 0)
        self.assertEqual(mps.current_stream(), default)
        side = mps.Stream()
        self.assertNotEqual(side, default)
        self.assertEqual(len({side, default, mps.default_stream()}), 2)
        lib = mps.compile_shader(ADD_ONE)
        x = mps.zeros(1000)
        done = default.record_event()
        side.wait_event(done)
        with mps.stream(side):
            self.assertEqual(mps.current_stream(), side)
            lib.add_one(x)
            event = mps.Event()
            event.record()
        self.assertEqual(mps.current_stream(), default)
        event.wait()
        lib.add_one(x)
        side.wait_stream(default)
        side.synchronize()
        self.assertTrue(side.query())
        self.assert_equal(x, numpy.full(1000, 2))
        mps.set_stream(None)
        with mps.stream(None):
            self.assertEqual(mps.current_stream(), default)
        with self.assertRaises(ZeroDivisionError), mps.stream(side):
            1 / 0
        self.assertEqual(mps.current_stream(), default)
        for wrong in (3, "side"):
            with self.assertRaises(TypeError), mps.stream(wrong):
                pass

    def test_profiler(self):
        lib = mps.compile_shader(ADD_ONE)
        mps.profiler.reset_statistics()
        with mps.profiler.profile(mode="event", wait_until_completed=False):
            self.assertTrue(mps.profiler.is_running())
            lib.add_one(mps.zeros(16))
            with self.assertRaises(RuntimeError):
                mps.profiler.start()
            with self.assertRaises(RuntimeError), mps.profiler.profile():
                pass
            self.assertTrue(mps.profiler.is_running())  # a nested profile does not end the outer one
        self.assertFalse(mps.profiler.is_running())
        self.assertIn("add_one", mps.profiler.statistics())
        mps.profiler.start("Interval, EVENT", True)
        mps.profiler.stop()
        mps.profiler.stop()
        for wrong in ("nothing", ""):
            with self.assertRaises(RuntimeError):
                mps.profiler.start(wrong)
        with self.assertRaises(TypeError):
            mps.profiler.start(3)
        self.assertFalse(mps.profiler.is_running())

    def test_threads(self):
        lib = mps.compile_shader(ADD_ONE)
        errors = []

        def work(number):
            try:
                with mps.stream(mps.Stream()):
                    x = mps.full(100, float(number))
                    for _ in range(50):
                        lib.add_one(x)
                        mps.rand(10)
                    if x.tolist() != [number + 50.0] * 100:
                        errors.append(x.tolist())
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_objects_of_devices_cannot_be_created_or_pickled(self):
        lib = mps.compile_shader(ADD_ONE)
        for kind in (mps.Tensor, mps.Kernel, mps.ShaderLibrary):
            with self.assertRaises(TypeError):
                kind()
        for thing in (mps.Stream(), mps.Event(), mps.zeros(1), lib.add_one):
            with self.assertRaises(TypeError):
                pickle.dumps(thing)


class ProcessTest(unittest.TestCase):
    def skip_without_host_memory(self):
        # Asked in a new process, because other tests have chosen other devices in this one.
        if self.run_python("from kymo import mps; print(mps.zeros(1).is_shared_with_host())") != "True":
            self.skipTest("this device has memory of its own")

    def run_python(self, script, **environment):
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", script], capture_output=True, text=True,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    @unittest.skipUnless(mps.is_available(), "this machine has no device")
    def test_a_forked_child_gets_a_runtime_error(self):
        self.assertEqual(self.run_python("""
import os
from kymo import mps
x = mps.zeros(4)
mps.synchronize()
child = os.fork()
if child == 0:
    try:
        mps.zeros(4)
    except RuntimeError as error:
        del x
        os._exit(7 if "fork" in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), x.tolist())
"""), "7 [0.0, 0.0, 0.0, 0.0]")

    def test_without_a_device(self):
        hidden = {f"KYMO_{name}_LIBRARY": "/nothing" for name in ("CUDA", "OPENCL", "VULKAN")}
        self.assertEqual(self.run_python("""
from kymo import mps
print(mps.is_available(), mps.device_count(), mps.device_names(), mps.manual_seed(1), mps.seed())
for call in (mps.synchronize, mps.get_rng_state, lambda: mps.zeros(3), mps.Event, mps.Stream):
    try:
        call()
        print("no error")
    except RuntimeError as error:
        assert isinstance(error, mps.NotAvailable), error
""", **hidden), "False 0 [] None None")

    @unittest.skipUnless(mps.is_available(), "this machine has no device")
    @unittest.skipIf(SANITIZED, "AddressSanitizer keeps freed memory")
    def test_memory_stays_flat(self):
        self.skip_without_host_memory()
        self.assertEqual(self.run_python("""
import gc, resource
import numpy
from kymo import mps
lib = mps.compile_shader("kernel void add_one(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }")
array = numpy.zeros(64, dtype="float32")

def work(count):
    for i in range(count):
        x = mps.empty(16)
        x.shape, x.dtype, x.device, x.stride(), x[3], x[1:5:2], x.reshape(4, -1)
        memoryview(x).release()
        numpy.from_dlpack(x)
        x.__dlpack__()
        x.__dlpack__(max_version=(1, 0))
        mps.from_numpy(array)
        mps.from_dlpack(array)
        mps.Event(), mps.current_stream(), dir(lib), repr(lib), lib.add_one
        if i % 50 == 0:
            lib.add_one(x, threads=(4,), arg_casts={0: "fp16"})
            mps.synchronize()
        for wrong in (lambda: lib.nothing, lambda: x[99], lambda: lib.add_one(None), lambda: mps.tensor(1j)):
            try:
                wrong()
            except Exception:
                pass

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

work(500)
before = resident()
work(5000)
grown = resident() - before
assert grown < 4 << 20, grown
print("flat")
"""), "flat")

    @unittest.skipUnless(mps.is_available(), "this machine has no device")
    def test_tensors_that_live_at_exit(self):
        self.skip_without_host_memory()
        self.run_python("""
import numpy
from kymo import mps
array = numpy.zeros(5000, dtype="float32")
kept = [mps.from_numpy(array), mps.zeros(10), mps.Event(), mps.Stream(), mps.zeros(4).__dlpack__()]
view = numpy.asarray(kept[1])
mps.kept = kept
""")

    @unittest.skipUnless(mps.is_available(), "this machine has no device")
    def test_every_operation_is_in_the_trace(self):
        command = os.path.join(os.environ["KYMO_BINARY_DIR"], "bin", "kymo")
        if not os.access(command, os.X_OK):
            self.skipTest("the command kymo is not built")
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "run.kymo")
            self.run_python("""
from kymo import mps
lib = mps.compile_shader("kernel void add_one(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }")
x = mps.zeros(16)
for _ in range(5):
    lib.add_one(x)
mps.synchronize()
""", KYMO_TRACE=trace)
            stats = subprocess.run([command, "stats", trace], capture_output=True, text=True).stdout
            self.assertRegex(stats, r"\b5\b.*add_one")


if __name__ == "__main__":
    unittest.main()
