#include "shader/sema/test_sema.h"

// The functions that are built in: numbers.

namespace kymo::shader {

TEST(BuiltinsTest, FloatFunctionsTakeScalarsVectorsAndIntegers) {
  EXPECT_EQ("\n" + lines(R"(a[0] = sqrt(a[1]) + sin(b[0]) + pow(a[1], 2) + fma(a[0], a[1], 2);
float4 v = float4(a[0]);
v = exp(v);
v = fmax(v, 0);
v = atan2(v, 2);)"),
            R"(
(*(a + 0)) = (((sqrt((*(a + 1))) + sin(float((*(b + 0))))) + pow((*(a + 1)), 2.0f)) + fma((*(a + 0)), (*(a + 1)), 2.0f))
float4 v = float4((*(a + 0)))
v = exp(v)
v = fmax(v, float4(0.0f))
v = atan2(v, float4(2.0f))
)");
}

TEST(BuiltinsTest, HalfFunctionsGoThroughFloat) {
  EXPECT_EQ("\n" + lines(R"(half h = half(a[0]);
h = sqrt(h);
h = fmin(h, 2.0h);
half2 w = floor(half2(h));
a[1] = max(h, a[0]);)"),
            R"(
half h = half((*(a + 0)))
h = half(sqrt(float(h)))
h = half(fmin(float(h), 2.0f))
half2 w = half2(floor(float2(half2(h))))
(*(a + 1)) = fmax(float(h), (*(a + 0)))
)");
}

TEST(BuiltinsTest, MinAndMaxKeepTheirType) {
  EXPECT_EQ("\n" + lines(R"(b[0] = min(b[1], 3) + max(b[2], b[3]);
uint u = max(uint(b[0]), 3u);
short s = min(short(b[0]), short(b[1]));
a[0] = min(a[1], 2.5f);
int4 v = max(int4(b[0]), 2);
long l = max(long(b[0]), 5);)"),
            R"(
(*(b + 0)) = (min((*(b + 1)), 3) + max((*(b + 2)), (*(b + 3))))
uint u = max(uint((*(b + 0))), 3u)
short s = short(min(int(short((*(b + 0)))), int(short((*(b + 1))))))
(*(a + 0)) = fmin((*(a + 1)), 2.5f)
int4 v = max(int4((*(b + 0))), int4(2))
long l = max(long((*(b + 0))), 5l)
)");
}

TEST(BuiltinsTest, TestsGiveBools) {
  EXPECT_EQ("\n" + lines(R"(bool x = isnan(a[0]) || isinf(a[1]);
bool4 m = isnan(float4(a[0]));
x = any(m) && all(m) && any(x);)"),
            R"(
bool x = (is_nan((*(a + 0))) || is_inf((*(a + 1))))
bool4 m = is_nan(float4((*(a + 0))))
x = ((any(m) && all(m)) && x)
)");
}

TEST(BuiltinsTest, SelectChoosesByComponents) {
  EXPECT_EQ("\n" + lines(R"(a[0] = select(a[1], a[2], b[0] > 1);
float4 v = select(float4(1), float4(2), float4(a[0]) > 0);
v = select(v, 3, bool4(true));
int n = select(1, 2, true);)"),
            R"(
(*(a + 0)) = select((*(a + 1)), (*(a + 2)), ((*(b + 0)) > 1))
float4 v = select(float4(1.0f), float4(2.0f), (float4((*(a + 0))) > float4(0.0f)))
v = select(v, float4(3.0f), bool4(true))
int n = select(1, 2, true)
)");
}

TEST(BuiltinsTest, BitsOfIntegers) {
  EXPECT_EQ("\n" + lines(R"(b[0] = popcount(b[1]) + clz(b[2]);
uint u = reverse_bits(uint(b[0]));
b[1] = mulhi(b[0], b[1]);
uchar c = clz(uchar(b[0]));
ushort s = reverse_bits(ushort(b[0]));
uint4 v = popcount(uint4(u));
ulong l = clz(ulong(u));)"),
            R"(
(*(b + 0)) = (pop_count((*(b + 1))) + count_leading_zeros((*(b + 2))))
uint u = reverse_bits(uint((*(b + 0))))
(*(b + 1)) = mul_hi((*(b + 0)), (*(b + 1)))
uchar c = uchar((count_leading_zeros(uint(uchar((*(b + 0))))) - 24u))
ushort s = ushort((reverse_bits(uint(ushort((*(b + 0))))) >> 16u))
uint4 v = pop_count(uint4(u))
ulong l = count_leading_zeros(ulong(u))
)");
}

TEST(BuiltinsTest, AbsTakesFloats) {
  EXPECT_EQ("\n" + lines(R"(a[0] = abs(a[1]) + fabs(a[2]);
half h = abs(half(a[0]));)"),
            R"(
(*(a + 0)) = (abs((*(a + 1))) + abs((*(a + 2))))
half h = half(abs(float(half((*(a + 0))))))
)");
}

TEST(BuiltinsTest, ArgumentsOfBuiltinsAreChecked) {
  EXPECT_EQ(faults_of(R"(a[0] = sin();
a[0] = pow(1);
a[0] = sqrt(b);
b[0] = popcount(a[0]);
float4 v = fmax(float4(1), float2(1));
b[0] = mulhi(1, 2, 3);)"),
            "error: \"sin\" takes 1 argument: 0 are given\n"
            "error: \"pow\" takes 2 arguments: 1 is given\n"
            "error: \"sqrt\" takes numbers and vectors, not \"device int*\"\n"
            "error: \"popcount\" takes integers, not \"float\"\n"
            "error: \"float4\" and \"float2\" differ in their number of components\n"
            "error: \"mulhi\" takes 2 arguments: 3 are given\n");
}

TEST(BuiltinsTest, OwnFunctionsComeBeforeBuiltins) {
  EXPECT_EQ("\n" + lines(R"(a[0] = sin(a[1]) + clamp(1);)",
                         R"(float sin(float x) { return x; }
int clamp(int x) { return x; })"),
            R"(
(*(a + 0)) = (sin((*(a + 1))) + float(clamp(1)))
)");
}

TEST(BuiltinsTest, BuiltinsComeBeforeTemplatesOfUsedNamespaces) {
  EXPECT_EQ("\n" + lines(R"(a[0] = max(a[1], a[2]); a[3] = max(a[1], i); a[4] = other::max(a[1], a[2]);)",
                         R"(namespace other { template <typename T, typename U> T max(T x, U y) { return x; } }
using namespace other;)"),
            R"(
(*(a + 0)) = fmax((*(a + 1)), (*(a + 2)))
(*(a + 3)) = max((*(a + 1)), i)
(*(a + 4)) = max((*(a + 1)), (*(a + 2)))
)");
}

TEST(BuiltinsTest, TypeTraitsAreEvaluated) {
  EXPECT_EQ(
      "\n" +
          lines(
              R"(b[0] = kymo_is_same<int, int>() + kymo_is_same<int, uint>() + kymo_is_integral<char>() + kymo_is_floating<half>() + kymo_is_signed<uint>() + kymo_is_pointer<device int*>() + kymo_is_vector<float2>() + kymo_vector_size<int3>();
static_assert(!kymo_is_same<const int, int>());)",
              R"(template <typename T, typename U> constexpr bool kymo_is_same();
template <typename T> constexpr bool kymo_is_integral();
template <typename T> constexpr bool kymo_is_floating();
template <typename T> constexpr bool kymo_is_signed();
template <typename T> constexpr bool kymo_is_pointer();
template <typename T> constexpr bool kymo_is_vector();
template <typename T> constexpr uint kymo_vector_size();)"),
      R"(
(*(b + 0)) = 8
)");
}

TEST(BuiltinsTest, LibraryFunctionsConvertArgumentsToOneType) {
  EXPECT_EQ("\n" + lowered_with_library(R"(#include <metal_stdlib>
using namespace metal;
kernel void f(device float* a, device half4* h, device int* b) {
  a[0] = clamp(a[1], 0.0, 1) + mix(a[0], a[1], 0.5h);
  h[0] = clamp(h[1], 0.0h, 1.0h);
  b[0] = clamp(b[1], 0, 10) + abs(b[2]);
  a[1] = dot(float3(1), float3(2)) + metal::precise::sqrt(a[2]) + metal::fast::saturate(a[3]);
})"),
            R"(
float kymo_clamp(float x, float low, float high) {
  return fmin(fmax(x, low), high)
}
float kymo_mix(float x, float y, float a) {
  return (x + ((y - x) * a))
}
half4 kymo_clamp(half4 x, half4 low, half4 high) {
  return half4(fmin(float4(half4(fmax(float4(x), float4(low)))), float4(high)))
}
int kymo_clamp(int x, int low, int high) {
  return min(max(x, low), high)
}
int kymo_abs(int x) {
  return select(x, (-x), (x < 0))
}
float kymo_dot(float3 a, float3 b) {
  float sum = (a[0] * b[0])
  {
    int i = 1
    loop (i < 3) {
      sum = (sum + (a[i] * b[i]))
      step {
        i = (i + 1)
      }
    }
  }
  return sum
}
float kymo_saturate(float x) {
  return fmin(fmax(x, 0.0f), 1.0f)
}
kernel "f" void f([[buffer(0)]] device float* a, [[buffer(1)]] device half4* h, [[buffer(2)]] device int* b) {
  (*(a + 0)) = (kymo_clamp((*(a + 1)), 0.0f, 1.0f) + kymo_mix((*(a + 0)), (*(a + 1)), 0.5f))
  (*(h + 0)) = kymo_clamp((*(h + 1)), half4(0.0h), half4(1.0h))
  (*(b + 0)) = (kymo_clamp((*(b + 1)), 0, 10) + kymo_abs((*(b + 2))))
  (*(a + 1)) = ((kymo_dot(float3(1.0f), float3(2.0f)) + sqrt((*(a + 2)))) + kymo_saturate((*(a + 3))))
}
)");
}

TEST(BuiltinsTest, VulkanUsesTranscendentalFunctionsOfTheLibrary) {
  Options options;
  options.target = Target::Glsl;
  EXPECT_EQ("\n" + lowered_with_library(R"(#include <metal_stdlib>
kernel void f(device float2* a) { a[0] = metal::log2(a[1]); })",
                                        options),
            R"(
float kymo_log_special(float x) {
  if (x == 0.0f) {
    return bits<f>(0xff800000)
  }
  if (x < 0.0f) {
    return bits<f>(0x7fc00000)
  }
  return x
}
float kymo_split(float x, thread int* e) {
  int shift = 0
  if (x < 1.1754944e-38f) {
    x = (x * 16777216.0f)
    shift = 24
  }
  uint bits = bitcast<uint>(x)
  uint moved = (bits - 1060439283u)
  (*e) = ((bitcast<int>(moved) >> 23) - shift)
  return bitcast<float>(((moved & 8388607u) + 1060439283u))
}
float kymo_log_rest(float f) {
  float s = (f / (2.0f + f))
  float z = (s * s)
  float r = (z * (0.6666666f + (z * (0.40000334f + (z * (0.28537288f + (z * 0.23582579f)))))))
  return (s * (((0.5f * f) * f) + r))
}
float kymo_log_high(float f, thread float* low) {
  float half_square = ((0.5f * f) * f)
  float high = bitcast<float>((bitcast<uint>((f - half_square)) & 4294963200u))
  (*low) = (((f - high) - half_square) + kymo_log_rest(f))
  return high
}
float kymo_log2(float x) {
  if ((!(x > 0.0f)) || (x == bits<f>(0x7f800000))) {
    return kymo_log_special(x)
  }
  int e [[address_taken]]
  float low [[address_taken]]
  float t = kymo_split(x, (&e))
  float high = kymo_log_high((t - 1.0f), (&low))
  return (((((low + high) * 0.00031223267f) + (low * 1.4423828f)) + (high * 1.4423828f)) + float(e))
}
kernel "f" void f([[buffer(0)]] device float2* a) {
  float2 t = (*(a + 1))
  float t = kymo_log2(t[0])
  float t = kymo_log2(t[1])
  (*(a + 0)) = float2{t, t}
}
)");
}

TEST(BuiltinsTest, LibraryArraysAndLimitsAreSupported) {
  EXPECT_EQ("\n" + lowered_with_library(R"(#include <metal_stdlib>
using namespace metal;
kernel void f(device float* a, constant array<device float*, 2>& list) {
  array<float, 3> v = {1, 2, 3};
  for (float x : v) a[0] += x;
  a[1] = v[1] + list[1][0] + numeric_limits<float>::max() + numeric_limits<int>::lowest() + INFINITY;
  v[2] = is_same_v<float, float> ? v.size() : 0;
})"),
            R"(
ulong array_size() {
  return 3ul
}
thread float* array_operator[](thread metal::array<float, 3>* self, ulong i) {
  return (&(*self).__v[i])
}
device float* thread const* array_operator[](thread const metal::array<device float*, 2>* self, ulong i) {
  return (&(*self).__v[i])
}
float _numeric_limits_impl_max() {
  return 3.4028235e+38f
}
int kymo_integer_limits_lowest() {
  return -2147483648
}
kernel "f" void f([[buffer(0)]] device float* a, [[value(1) const]] metal::array<device float*, 2> list [[address_taken]]) {
  metal::array<float, 3> v [[address_taken]] = metal::array<float, 3>{float[3]{1.0f, 2.0f, 3.0f}}
  {
    int index = 0
    loop (index < 3) {
      float x = (*array_operator[]((&v), ulong(index)))
      (*(a + 0)) = ((*(a + 0)) + x)
      step {
        index = (index + 1)
      }
    }
  }
  (*(a + 1)) = (((((*array_operator[]((&v), 1ul)) + (*((*array_operator[](pointer_cast<thread const metal::array<device float*, 2>*>((&list)), 1ul)) + 0))) + 3.4028235e+38f) + -2147483600.0f) + bits<f>(0x7f800000))
  (*array_operator[]((&v), 2ul)) = 3.0f
}
)");
}

}  // namespace kymo::shader
