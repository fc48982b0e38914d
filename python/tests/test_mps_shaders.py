"""The kernels that PyTorch's tests of compile_shader use, written again, with the same calls and the same errors."""
import os
import sys
import tempfile
import threading
import time
import unittest

import numpy

import kymo
import kymo.command
from kymo import mps
from on_every_device import DeviceCase, on_every_device

INDEX = "uint i [[thread_position_in_grid]]"


def compiled(text):
    return mps.compile_shader("#include <metal_stdlib>\nusing namespace metal;\n" + text)


@on_every_device
class ShaderTest(DeviceCase):
    def test_01_half_storage(self):
        lib = compiled(f"kernel void number(device half* out, {INDEX}) {{ out[i] = i; }}")
        x = mps.zeros(12, dtype="float16", device="mps")
        lib.number(x)
        self.assert_equal(x, numpy.arange(12, dtype="float16"))

    def test_02_three_dimensions(self):
        kernel = "kernel void along_{0}(device float* out, uint3 i [[thread_position_in_grid]]) {{ out[i.x + i.y + i.z] = i.{0}; }}\n"
        lib = compiled("".join(kernel.format(axis) for axis in "xyz"))
        self.assertEqual(set(dir(lib)), {"along_x", "along_y", "along_z"})
        for name, threads in (("along_x", None), ("along_y", (1, 12)), ("along_z", [1, 1, 12])):
            out = mps.zeros(12)
            getattr(lib, name)(out, threads=threads)
            self.assert_equal(out, numpy.arange(12))

    def test_03_scalars(self):
        lib = compiled(f"kernel void line(device float* x, constant float& start, constant float& step, {INDEX}) "
                       "{ x[i] = start + i * step; }")
        wanted = 3 + numpy.arange(8) * 0.5
        for step in (0.5, numpy.float32(0.5), numpy.float64(0.5), numpy.array(0.5, dtype="float32"), numpy.array(0.5)):
            x = mps.zeros(8)
            lib.line(x, 3, step)
            self.assert_equal(x, wanted)

    def test_04_argument_casts(self):
        lib = compiled(f"""
kernel void both(device float* x, constant half2& ab, {INDEX}) {{ x[i] = ab.x + i * ab.y; }}
kernel void mixed(device float* x, constant half& a, constant float& b, {INDEX}) {{ x[i] = a + i * b; }}
kernel void whole(device int* x, constant char& a, constant int& b, {INDEX}) {{ x[i] = a + b; }}""")
        wanted = 3 + numpy.arange(8) * 0.5
        x = mps.zeros(8)
        lib.both(x, [3.0, 0.5], arg_casts="fp16")
        self.assert_equal(x, wanted)
        x = mps.zeros(8)
        lib.mixed(x, 3.0, 0.5, arg_casts={1: "fp16"})
        self.assert_equal(x, wanted)
        y = mps.zeros(1, dtype="int32")
        lib.whole(y, 257, 2**32 + 5, arg_casts={1: "int8", 2: "int32"})  # a cast keeps the low bits
        self.assert_equal(y, [6])
        for casts in ("fp8", {1: "float"}, {1: 3}, ["fp16"], 5):
            with self.assertRaises(RuntimeError):
                lib.mixed(x, 3.0, 0.5, arg_casts=casts)

    def test_textures(self):
        lib = compiled("""
kernel void invert(texture2d<float, access::write> out [[texture(1)]], texture2d<float, access::read> image [[texture(0)]],
                   uint2 at [[thread_position_in_grid]]) { out.write(float4(1 - image.read(at).rgb, 1), at); }
kernel void middle(device float* out, texture2d<float> image, sampler s) { out[0] = image.sample(s, float2(1, 1)).x; }""")
        image = numpy.arange(5 * 7 * 4, dtype="uint8").reshape(5, 7, 4)
        out = mps.zeros(5, 7, 4, dtype="uint8")
        lib.invert(mps.tensor(image), out)
        wanted = 255 - image
        wanted[:, :, 3] = 255
        self.assert_equal(out, wanted)
        number = mps.zeros(1)
        lib.middle(number, mps.tensor([[1.0, 2.0], [3.0, 6.0]]), mps.sampler("linear", coord="pixel"), threads=1)
        self.assert_equal(number, [3.0])
        with self.assertRaisesRegex(ValueError, r"texture2d takes a tensor of shape \[height, width\]"):
            lib.middle(number, mps.zeros(3), mps.sampler(), threads=1)
        with self.assertRaisesRegex(ValueError, "address must be one of clamp_to_edge, repeat"):
            mps.sampler(address="clamp")

    def test_warnings(self):
        with self.assertWarnsRegex(kymo.CompileWarning, "attribute .*no_such_attribute.* is ignored"):
            compiled("[[no_such_attribute]] kernel void f(device float* x) { x[0] = 1; }")

    def test_function_constants(self):
        source = f"""
constant int factor [[function_constant(0)]];
constant bool is_negative [[function_constant(3)]];
constant float offset [[function_constant(7)]];
kernel void line(device float* x, {INDEX}) {{ x[i] = (is_negative ? -1 : 1) * int(i) * factor + offset; }}
"""
        for constants, wanted in (({"factor": 3, "is_negative": True, "offset": 0.5}, [0.5, -2.5, -5.5]),
                                  ({0: 2, 3: False, "offset": numpy.float32(1)}, [1, 3, 5]),
                                  ({0: 2, 3: False, 7: float("-inf")}, [-numpy.inf] * 3),
                                  ({0: 2, 3: False, 7: numpy.nan}, [numpy.nan] * 3)):
            x = mps.zeros(3)
            mps.compile_shader(source, constants=constants).line(x)
            self.assert_equal(x, wanted)
        with self.assertRaisesRegex(SyntaxError, "no_such"):
            mps.compile_shader(source, constants={"no_such": 1})
        for wrong, error, message in (([1], TypeError, "constants must be a dict, not list"),
                                      ({"factor": "3"}, TypeError, "'factor'.* a number, a bool, .*not str"),
                                      ({"factor": [1]}, ValueError, "'factor'.* a list of 1"),
                                      ({"factor": [1, 2]}, SyntaxError, "factor.* is .int.* one number, not .factor.x"),
                                      ({"is_negative": 2}, SyntaxError, "is_negative.* is .bool.*cannot be 2"),
                                      ({"factor": float("nan")}, SyntaxError, "factor.* is .int.*cannot be nan"),
                                      ({"factor": 1, 0: 2}, SyntaxError, "factor.* two values: 1 .*name.* 2 .*index 0"),
                                      ({1.5: 3}, TypeError, "by str or int, not float"),
                                      ({"factor": 2**53 + 1}, ValueError, "9007199254740993.*double"),
                                      ({"factor": 10**400}, ValueError, "double")):
            with self.assertRaisesRegex(error, message):
                mps.compile_shader(source, constants=wrong)

    def test_vectors_as_function_constants(self):
        source = f"""
constant float3 tint [[function_constant(0)]];
constant int2 size [[function_constant(1)]];
kernel void line(device float* x, {INDEX}) {{ x[i] = tint[i] + size.y; }}
"""
        x = mps.zeros(3)
        mps.compile_shader(source, constants={"tint": [1, 2.5, -3], 1: (10, 20)}).line(x)
        self.assert_equal(x, [21, 22.5, 17])

    def test_macros_and_headers(self):
        source = f'#include "lib/scale.h"\nkernel void go(device float* x, {INDEX}) {{ x[i] = scaled(i) + EXTRA; }}'
        header = "#ifdef TWICE\nfloat scaled(uint i) { return FACTOR * i; }\n#endif"
        lib = mps.compile_shader(source, headers={"lib/scale.h": header},
                                 defines={"TWICE": None, "FACTOR": "(1 + 1)", "EXTRA": True})
        x = mps.zeros(3)
        lib.go(x)
        self.assert_equal(x, [1, 3, 5])
        for options, error, message in (({"defines": {"A B": 1}}, ValueError, "'A B' cannot be the name of a macro"),
                                        ({"defines": {1: 1}}, TypeError, "macro must be str, not int"),
                                        ({"defines": {"A": "1\n#error"}}, ValueError, "'A'.* more than one line"),
                                        ({"defines": "A"}, TypeError, "defines must be a dict, not str"),
                                        ({"headers": {"a.h": b""}}, TypeError, "'a.h'.* must be str, not bytes"),
                                        ({"headers": {1: ""}}, TypeError, "header must be str, not int")):
            with self.assertRaisesRegex(error, message):
                mps.compile_shader("", **options)

    def test_sizes_of_threadgroup_memory(self):
        lib = compiled(f"""
kernel void reversed(device float* x, threadgroup char* memory [[threadgroup(0)]], threadgroup int* order [[threadgroup(1)]],
                     {INDEX}, uint n [[threads_per_threadgroup]]) {{
  threadgroup float* values = (threadgroup float*)memory;
  values[i] = x[i];
  order[n - 1 - i] = int(i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = values[order[i]];
}}""")
        x = mps.arange(8, dtype="float32")
        lib.reversed(x, 8 * 4, 8 * 4, group_size=8)
        self.assert_equal(x, numpy.arange(8)[::-1])
        with self.assertRaisesRegex(RuntimeError, "memory"):
            lib.reversed(x, 1 << 40, 32, group_size=8)
        with self.assertRaises(TypeError):
            lib.reversed(x, "32", 32, group_size=8)

    def test_load_metallib(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "a.metal"), os.path.join(folder, "a.kymolib")
            with open(source, "w") as file:
                file.write(f"kernel void twice(device float* x, {INDEX}) {{ x[i] *= 2; }}")
            kymo.command.run("shader", source, "-o", library)
            x = mps.tensor([1.0, 2.0])
            mps.load_metallib(library).twice(x)
            self.assert_equal(x, [2, 4])
            with self.assertRaisesRegex(RuntimeError, "not a library of kernels"):
                mps.load_metallib(source)
            with self.assertRaisesRegex(RuntimeError, "cannot read"):
                mps.load_metallib(library + ".missing")
            with self.assertRaises(TypeError):
                mps.load_metallib(3)

    def test_05_errors(self):
        with self.assertRaises(SyntaxError) as caught:
            mps.compile_shader("kernel void broken(device float* x { }")
        self.assertGreater(caught.exception.lineno, 0)
        lib = compiled("kernel void nothing(device float* x) {}")
        x = mps.zeros(4)
        with self.assertRaisesRegex(RuntimeError, 'no kernel "missing"'):
            lib.missing(x)
        self.assertFalse(hasattr(lib, "missing"))
        self.assertEqual(lib["nothing"].name, "nothing")
        with self.assertRaisesRegex(RuntimeError, 'no kernel "missing"'):
            lib["missing"]
        with self.assertRaises(TypeError):
            lib[0]
        with self.assertRaisesRegex(ValueError, "in Python with threads="):
            compiled("kernel void alone() {}").alone()
        mixed = compiled("struct S { float a; int b; }; kernel void use(device float* x, constant S& s) { x[0] = s.a; }")
        with self.assertRaisesRegex(ValueError, r"takes 8 bytes, and was given a tensor of f32 \[1\]"):
            mixed.use(x, mps.zeros(1), threads=1)
        with self.assertRaisesRegex(RuntimeError, "on the CPU"):
            lib.nothing(numpy.zeros(4, dtype="float32"))
        with self.assertRaises(RuntimeError):
            lib.nothing()
        for wrong in ([], (), "text", None, {}, object(), [None], [x, 3], 1j):
            with self.assertRaises(RuntimeError, msg=repr(wrong)):
                lib.nothing(wrong)
        largest = lib.nothing.max_threads_per_threadgroup
        with self.assertRaisesRegex(ValueError, str(largest)):
            lib.nothing(x, threads=largest * 4, group_size=largest + 1)
        with self.assertRaisesRegex(ValueError, str(largest)):
            lib.nothing(x, threads=(largest, 4), group_size=(largest, 2))
        with self.assertRaises(RuntimeError):
            lib.nothing(x, threads=(4, 4), group_size=4)
        with self.assertRaises(RuntimeError):
            lib.nothing(x, threads=(1, 1, 1, 1))
        with self.assertRaises(ValueError):
            lib.nothing(x, threads=-1)
        with self.assertRaises(TypeError):
            lib.nothing(x, threads="4")
        with self.assertRaises(TypeError):
            lib.nothing(x, thread=4)
        with self.assertRaises(TypeError):
            mps.compile_shader(b"kernel void f() {}")

    def test_06_normal_numbers(self):
        lib = mps.compile_shader(f"""
#include <c10/metal/random.h>
kernel void normals(device float* out, constant long2& seed_and_offset, {INDEX}) {{
  out[i] = c10::metal::randn(seed_and_offset.x, seed_and_offset.y + i);
}}""")
        x = mps.empty(100_000)
        lib.normals(x, mps.tensor([42, 7], dtype="int64"))
        values = x.cpu()
        self.assertLess(abs(values.mean()), 0.01)
        self.assertLess(abs(values.std() - 1), 0.02)
        again = mps.empty(100_000)
        lib.normals(again, [42, 7])
        self.assert_equal(again, values)

    def test_07_a_library_without_kernels(self):
        self.assertEqual(dir(mps.compile_shader("#include <c10/metal/special_math.h>")), [])

    def test_08_sum_and_argmax_of_a_simdgroup(self):
        lib = mps.compile_shader("""
#include <c10/metal/reduction_utils.h>
template <typename T> kernel void sum(device T* out, constant T* in, uint i [[thread_position_in_threadgroup]]) {
  const T all = c10::metal::simd_sum(in[i]);
  if (i == 0) out[0] = all;
}
#define INSTANCE(NAME, T) template [[host_name(NAME)]] kernel void sum<T>(device T*, constant T*, uint);
INSTANCE("sum_float", float) INSTANCE("sum_half", half) INSTANCE("sum_int", int)
kernel void largest(device float* out, device int* where, constant float* in,
                    uint i [[thread_position_in_threadgroup]]) {
  const auto found = c10::metal::simd_argmax(in[i]);
  if (i == 0) { out[0] = found.first; where[0] = found.second; }
}""")
        for dtype in ("float32", "float16", "int32"):
            values = mps.arange(28, dtype=dtype)
            out = mps.zeros(1, dtype=dtype)
            name = {"float32": "sum_float", "float16": "sum_half", "int32": "sum_int"}[dtype]
            getattr(lib, name)(out, values, threads=28)
            self.assertEqual(out.item(), 378)
        values = numpy.linspace(-3, 3, 28, dtype="float32")[::-1].copy()
        values[17] = 99
        out, where = mps.zeros(1), mps.zeros(1, dtype="int32")
        lib.largest(out, where, mps.tensor(values), threads=28)
        self.assertEqual((out.item(), where.item()), (99, 17))
        values[5] = numpy.nan
        lib.largest(out, where, mps.tensor(values), threads=28)
        self.assertTrue(numpy.isnan(out.item()))
        self.assertEqual(where.item(), 5)

    def test_09_complex_sum_and_product(self):
        lib = mps.compile_shader("""
#include <c10/metal/reduction_utils.h>
kernel void sum(device float2* out, constant float2* in, uint i [[thread_position_in_threadgroup]]) {
  const float2 all = c10::metal::simd_sum(in[i]);
  if (i == 0) out[0] = all;
}
kernel void product(device float2* out, constant float2* in, uint i [[thread_position_in_threadgroup]]) {
  const float2 all = c10::metal::simd_prod(in[i]);
  if (i == 0) out[0] = all;
}""")
        random = numpy.random.default_rng(1)
        for count in (28, 32):
            values = numpy.exp(1j * random.uniform(0, 6, count)).astype("complex64")
            pairs = mps.tensor(values.view("float32").reshape(count, 2))
            for name, wanted in (("sum", values.sum()), ("product", values.prod())):
                out = mps.zeros(1, 2)
                getattr(lib, name)(out, pairs, threads=count)
                numpy.testing.assert_allclose(out.cpu().numpy().view("complex64").ravel(), [wanted], atol=1e-4)
        with self.assertRaisesRegex(TypeError, "pairs of floats"):
            mps.tensor(values)

    def test_10_atomic_add(self):
        text = """
#include <c10/metal/atomic.h>
using namespace c10::metal;
kernel void add(device AtomicType_t<{0}>* out, constant {0}* inc, uint i [[thread_position_in_grid]]) {{
  AtomicType<{0}>::atomic_add(out, i & 1 ? 3 : 4, inc[i]);
}}"""
        for metal, dtype in (("float", "float32"), ("half", "float16"), ("int", "int32"), ("bfloat", "bfloat16")):
            lib = mps.compile_shader(text.format(metal))
            increments = numpy.arange(16)
            out = mps.zeros(8, dtype=dtype)
            lib.add(out, mps.tensor(increments, dtype=dtype), threads=16)
            self.assertEqual(out.cpu().tolist(), [0, 0, 0, 64, 56, 0, 0, 0])

    def test_11_many_buffers_in_one_structure(self):
        lib = compiled(f"""
constant constexpr auto kBuffers = 64;
struct Inputs {{ metal::array<device float*, kBuffers> buffers; }};
kernel void sum(device float* out, constant Inputs& inputs, {INDEX}) {{
  out[i] = 0;
  for (int k = 0; k < kBuffers; ++k) out[i] += inputs.buffers[k][i];
}}""")
        out = mps.zeros(20)
        lib.sum(out, [mps.full(20, float(k)) for k in range(64)])
        self.assert_equal(out, numpy.full(20, 2016))

    def test_13_a_lambda(self):
        lib = compiled(f"kernel void twice(device float* x, {INDEX}) "
                       "{ auto twice = [](float v) { return v * 2.0; }; x[i] = twice(x[i]); }")
        x = mps.tensor([1.0, 2.0, 3.0, 4.0])
        lib.twice(x)
        self.assert_equal(x, [2, 4, 6, 8])

    def test_14_a_kernel_reports_an_error(self):
        lib = mps.compile_shader(f"""
#include <c10/metal/error.h>
kernel void checked(device float* x, constant int& limit, device c10::metal::ErrorMessages* errors, {INDEX}) {{
  if (int(i) >= limit) {{
    TORCH_REPORT_ERROR(errors, "Index ", i, " exceeds limit ", limit);
    return;
  }}
  x[i] = i;
}}""")
        x = mps.zeros(10)
        lib.checked(x, 10, error_buf_idx=2)
        mps.synchronize()
        self.assert_equal(x, numpy.arange(10))
        lib.checked(x, 5, error_buf_idx=2)
        with self.assertRaisesRegex(mps.AcceleratorError, "Index [5-9] exceeds limit 5"):
            mps.synchronize()
        mps.synchronize()

    def test_15_safe_modulo(self):
        lib = mps.compile_shader(f"""
#include <c10/metal/utils.h>
kernel void modulo(device int* x, {INDEX}) {{ x[i] = c10::metal::safe_mod(int(i) / 65536, 6); }}""")
        x = mps.full(4096, 1, dtype="int32")
        lib.modulo(x)
        self.assert_equal(x, numpy.zeros(4096))

    def test_17_an_empty_kernel(self):
        lib = compiled("kernel void foo() {}")
        kernel = lib.foo
        self.assertGreater(kernel.max_threads_per_threadgroup, 0)
        self.assertEqual(kernel.thread_execution_width, 32)
        self.assertEqual(kernel.static_thread_group_memory_length, 0)
        kernel(threads=3)
        kernel(threads=0)
        with self.assertRaises(RuntimeError):
            kernel()

    def test_other_threads_run_while_a_kernel_is_compiled(self):
        count = 40  # so many are compiled one by one, when they are used first
        unknown = time.time_ns() % 1000000  # to the driver, which stores what it has compiled
        lib = compiled("\n".join(f"kernel void add_{n}(device float* x, {INDEX}) {{ x[i] += {n}.{unknown}; }}"
                                 for n in range(count)))
        turns, stop = [0], threading.Event()

        def turn():
            while not stop.is_set():
                turns[0] += 1
                time.sleep(0)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # from now on, a thread lets others run only where it waits
        other = threading.Thread(target=turn)
        other.start()
        try:
            kernels, turns_during = [], 0  # they are kept: others run also when a kernel is deleted
            while len(kernels) < count and turns_during == 0:
                before = turns[0]
                kernels.append(getattr(lib, f"add_{len(kernels)}"))
                turns_during = turns[0] - before
            self.assertGreater(turns_during, 0)
        finally:
            stop.set()
            other.join()
            sys.setswitchinterval(interval)


if __name__ == "__main__":
    unittest.main()
