#include "shader/sema/test_sema.h"

// Kernels: parameters, names, what is refused.

namespace kymo::shader {

TEST(KernelsTest, ParametersBecomeBindings) {
  EXPECT_EQ("\n" + lowered(R"(struct Args { float scale; device float* data; };
kernel void f(device float* a [[buffer(1)]], constant float* c [[buffer(0)]], constant Args& v [[buffer(4)]], device int& counter, threadgroup float* scratch [[threadgroup(0)]], const device half* h) {
  a[0] = c[0] + v.scale + v.data[1] + scratch[0] + h[0];
  counter = 3;
})"),
            R"(
kernel "f" void f([[buffer(1)]] device float* a, [[buffer(0) const]] constant const float* c, [[value(4) const]] Args v, [[buffer(2)]] device int* counter, [[threadgroup(0)]] threadgroup float* scratch, [[buffer(3) const]] device const half* h) {
  (*(a + 0)) = (((((*(c + 0)) + v.scale) + (*(v.data + 1))) + (*(scratch + 0))) + float((*(h + 0))))
  (*counter) = 3
}
)");
}

TEST(KernelsTest, KernelsHaveLimitsAndNames) {
  EXPECT_EQ(
      "\n" +
          lowered(
              R"([[host_name("renamed")]] [[max_total_threads_per_threadgroup(64)]] kernel void f(device float* a) { a[0] = 1; }
namespace n { kernel void inside(device float* a) { a[0] = 2; } })"),
      R"(
kernel "renamed" [[max_threads(64)]] void f([[buffer(0)]] device float* a) {
  (*(a + 0)) = 1.0f
}
kernel "inside" void inside([[buffer(0)]] device float* a) {
  (*(a + 0)) = 2.0f
}
)");
}

TEST(KernelsTest, OneValueIsUsedByFunctions) {
  EXPECT_EQ("\n" + lowered(R"(struct Args { int n; float v[2]; };
float at(constant Args& args, int k) { return args.v[k]; }
kernel void f(device float* a, constant Args& args) { for (int k = 0; k < args.n; ++k) a[k] = at(args, k); })"),
            R"(
float at(thread const Args* args, int k) {
  return (*args).v[k]
}
kernel "f" void f([[buffer(0)]] device float* a, [[value(1) const]] Args args [[address_taken]]) {
  {
    int k = 0
    loop (k < args.n) {
      (*(a + k)) = at(pointer_cast<thread const Args*>((&args)), k)
      step {
        k = (k + 1)
      }
    }
  }
}
float at(constant const Args* args, int k) {
  return (*args).v[k]
}
)");
}

TEST(KernelsTest, KernelsAreChecked) {
  EXPECT_EQ(faults(R"(kernel void a(texture2d<float> t) {}
kernel float b() { return 1; }
kernel void c(float x) {}
kernel void d(device float* p, float4 q [[stage_in]]) {}
kernel void e(device float* p, uint i [[no_such_thing]]) {}
kernel void g(device float* p, float i [[thread_position_in_grid]]) {}
vertex void h(device float* p) {})"),
            "7: error: vertex functions are not supported: only kernels are\n"
            "1: error: \"texture2d\" is not supported: textures are texture1d, texture2d, texture2d_array and "
            "texture3d\n"
            "2: error: the kernel \"b\" must return void\n"
            "3: error: parameter \"x\" of the kernel is \"float\", which cannot be passed: pass a value as "
            "\"constant float&\", memory as \"device float*\", a position needs its attribute\n"
            "4: error: the attribute [[stage_in]] of parameter \"q\" is not supported\n"
            "5: error: the attribute [[no_such_thing]] of parameter \"i\" is not supported\n"
            "6: error: [[thread_position_in_grid]] must have type uint, uint2 or uint3 (or ushort), not \"float\"\n");
}

TEST(KernelsTest, GroupMemoryHasOneIndexForEachParameter) {
  EXPECT_EQ(faults("kernel void f(threadgroup int* s [[threadgroup(0)]],\n"
                   "threadgroup int* t [[threadgroup(0)]]) { s[0] = t[0]; }"),
            "2: error: two parameters have [[threadgroup(0)]]\n");
  EXPECT_EQ(faults("kernel void f(threadgroup int* s [[threadgroup(1)]],\n"
                   "threadgroup int* t [[threadgroup(0)]]) { s[0] = t[0]; }"),
            "");
}

TEST(KernelsTest, PacksAreParameters) {
  EXPECT_EQ("\n" + lowered(R"(template <typename... A> int all(A... a) { return (a + ... + 0); }
template <typename... A> kernel void f(device int* out, constant A&... more, uint i [[thread_position_in_grid]]) {
  out[i] = all(more...) + sizeof...(more);
}
template [[host_name("none")]] kernel decltype(f<>) f<>;
template [[host_name("two")]] kernel decltype(f<int, int>) f<int, int>;)"),
            R"(
int all() {
  return 0
}
kernel "none" void f([[buffer(0)]] device int* out) {
  uint i = grid_position()[0]
  (*(out + long(i))) = 0
}
int all(int a, int a) {
  return (a + (a + 0))
}
kernel "two" void f([[buffer(0)]] device int* out, [[value(1) const]] int more, [[value(2) const]] int more) {
  uint i = grid_position()[0]
  (*(out + long(i))) = int((ulong(all(more, more)) + 2ul))
}
)");
}

TEST(KernelsTest, NamesOfKernelsAreUnique) {
  EXPECT_EQ(faults(R"(template <typename T> kernel void f(device T* p) { p[0] = 1; }
template [[host_name("x")]] kernel void f<float>(device float*);
template [[host_name("x")]] kernel void f<int>(device int*);)"),
            "1: error: there are two kernels called \"x\": give one of them another [[host_name(\"...\")]]\n"
            "1: note: the other one\n");
}

TEST(KernelsTest, KernelsAreNotCalled) {
  EXPECT_EQ(faults(R"(kernel void f(device float* a) { a[0] = 1; }
kernel void g(device float* a) { f(a); })"),
            "2: error: the kernel \"f\" cannot be called: only launched\n");
}

}  // namespace kymo::shader
