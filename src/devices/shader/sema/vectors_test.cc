#include "shader/sema/test_sema.h"

// Vectors: constructors, swizzles, operators, packed ones.

namespace kymo::shader {

TEST(VectorsTest, ScalarOperandsOfVectorsAreSplat) {
  EXPECT_EQ("\n" + lines(R"(float4 v = float4(1);
v = v * 2;
v = 2 + v;
v = v * b[0];
v -= 1;)"),
            R"(
float4 v = float4(1.0f)
v = (v * float4(2.0f))
v = (float4(2.0f) + v)
v = (v * float4(float((*(b + 0)))))
v = (v - float4(1.0f))
)");
}

TEST(VectorsTest, ConstructorsTakeScalarsAndVectors) {
  EXPECT_EQ("\n" + lines(R"(float2 p = float2(1, 2);
float4 v = float4(p, 3, 4);
v = float4(0, p, 1);
v = float4(p, p);
v = float4(5);
float3 w = float3(v.xyz);
int4 n = int4(v);
v = float4(n);
v = float4{1, 2, 3, 4};
v = (float4)2;)"),
            R"(
float2 p = float2{1.0f, 2.0f}
float4 v = float4{p, 3.0f, 4.0f}
v = float4{0.0f, p, 1.0f}
v = float4{p, p}
v = float4(5.0f)
float3 w = v.xyz
int4 n = int4(v)
v = float4(n)
v = float4{1.0f, 2.0f, 3.0f, 4.0f}
v = float4(2.0f)
)");
}

TEST(VectorsTest, SwizzlesAreReadAndWritten) {
  EXPECT_EQ("\n" + lines(R"(float4 v = float4(1, 2, 3, 4);
v.xy = v.yx;
v.rgb = v.bgr;
v.w = v.xyz.z;
a[0] = v.wzyx.y;
v.xyz.xy = float2(7);
v.zw *= 2;)"),
            R"(
float4 v = float4{1.0f, 2.0f, 3.0f, 4.0f}
v.xy = v.yx
v.xyz = v.zyx
v[3] = v[2]
(*(a + 0)) = v[2]
v.xy = float2(7.0f)
v.zw = (v.zw * float2(2.0f))
)");
}

TEST(VectorsTest, ComponentsAreIndexed) {
  EXPECT_EQ("\n" + lines(R"(float4 v = float4(1);
v[2] = v[0];
v[i] = 3;
a[0] = v[b[0]];
v[1]++;)"),
            R"(
float4 v = float4(1.0f)
v[2] = v[0]
v[i] = 3.0f
(*(a + 0)) = v[(*(b + 0))]
v[1] = (v[1] + 1.0f)
)");
}

TEST(VectorsTest, ComparisonsGiveVectorsOfBools) {
  EXPECT_EQ("\n" + lines(R"(float4 v = float4(a[0]);
bool4 m = v > 1;
m = v == v;
m = m && !(v < 3);
m = m || m;
m = !m;)"),
            R"(
float4 v = float4((*(a + 0)))
bool4 m = (v > float4(1.0f))
m = (v == v)
m = (m & (!(v < float4(3.0f))))
m = (m | m)
m = (!m)
)");
}

TEST(VectorsTest, IntegerVectorsHaveNoPromotion) {
  EXPECT_EQ("\n" + lines(R"(uchar4 c = uchar4(b[0]);
c = c + c;
c = c << 1;
short2 s = short2(1, 2);
s = -s;
s = ~s;)"),
            R"(
uchar4 c = uchar4(uchar((*(b + 0))))
c = (c + c)
c = (c << int4(1))
short2 s = short2{short(1), short(2)}
s = (-s)
s = (~s)
)");
}

TEST(VectorsTest, VectorsShiftByVectors) {
  EXPECT_EQ("\n" + lines(R"(int4 n = int4(b[0]);
n = n << n;
n = 1 << n;
n >>= 3;)"),
            R"(
int4 n = int4((*(b + 0)))
n = (n << (n & int4(31)))
n = (int4(1) << (n & int4(31)))
n = (n >> int4(3))
)");
}

TEST(VectorsTest, PackedVectorsAreUnpackedWhenRead) {
  EXPECT_EQ(
      "\n" + lowered(R"(kernel void f(device packed_float3* p, device float3* q, uint i [[thread_position_in_grid]]) {
  float3 v = p[i];
  p[i] = v * 2;
  p[i].x = 4;
  p[i].yz = v.xy;
  float2 w = p[i].xy;
  q[i] = p[i] + 1;
  p[i] += 1;
  q[i].x = p[i].y;
  packed_float3 local = v;
  local.z = w.x;
  p[i] = local;
  p[i] = packed_float3(1, 2, 3);
})"),
      R"(
kernel "f" void f([[buffer(0)]] device packed_float3* p, [[buffer(1)]] device float3* q) {
  uint i = grid_position()[0]
  float3 v = float3((*(p + long(i))))
  (*(p + long(i))) = packed_float3((v * float3(2.0f)))
  (*(p + long(i)))[0] = 4.0f
  float2 t = v.xy
  (*(p + long(i)))[1] = t[0]
  (*(p + long(i)))[2] = t[1]
  float2 w = float3((*(p + long(i)))).xy
  (*(q + long(i))) = (float3((*(p + long(i)))) + float3(1.0f))
  (*(p + long(i))) = packed_float3((float3((*(p + long(i)))) + float3(1.0f)))
  (*(q + long(i)))[0] = (*(p + long(i)))[1]
  float3 local = v
  local[2] = w[0]
  (*(p + long(i))) = packed_float3(local)
  (*(p + long(i))) = packed_float3(float3{1.0f, 2.0f, 3.0f})
}
)");
}

TEST(VectorsTest, HalfVectorsAreComputedInFloat) {
  EXPECT_EQ("\n" + lines(R"(half4 h = half4(1.5h);
h = h * h;
h = h + 1;
float4 f = float4(h);)"),
            R"(
half4 h = half4(1.5h)
h = half4((float4(h) * float4(h)))
h = half4((float4(h) + float4(half4(1.0h))))
float4 f = float4(h)
)");
}

TEST(VectorsTest, VectorsOfDifferentNumbersAreNotMixed) {
  EXPECT_EQ(faults_of(R"(float4 v = float4(1);
int4 n = int4(1);
v = v + n;
v = n;
float2 w = v.xy + v;)"),
            "error: \"float4\" and \"int4\" are not converted to each other: write float4(...) around one of them\n"
            "error: cannot convert \"int4\" to \"float4\" for the assigned value: vectors are converted only by "
            "float4(...)\n"
            "error: \"float2\" and \"float4\" differ in their number of components\n");
}

TEST(VectorsTest, SwizzlesOfMissingComponentsAreRefused) {
  EXPECT_EQ(faults_of(R"(float2 v = float2(1);
v.z = 1;
v.xg = 1;
v.xx = float2(1);
v.foo = 1;
v = v.xyxyx;)"),
            "error: \"float2\" has no component \"z\": it has only 2\n"
            "error: \"float2\" has no component \"xg\": components are named x y z w or r g b a, of one kind\n"
            "error: cannot assign to a component twice: name each component once\n"
            "error: \"float2\" has no component \"foo\": components are named x y z w or r g b a, of one kind\n"
            "error: \"float2\" has no component \"xyxyx\": one to four components can be named\n");
}

TEST(VectorsTest, ConstructorsCountComponents) {
  EXPECT_EQ(faults_of(R"(float4 v = float4(1, 2, 3);
v = float4(float3(1), float2(2));
float2 w = float2(v);)"),
            "error: \"float4\" has 4 components: 3 are given\n"
            "error: \"float4\" has 4 components: 5 are given\n");
}

TEST(VectorsTest, AVectorIsNotACondition) {
  EXPECT_EQ(
      faults_of(R"(float4 v = float4(1);
if (v > 1) a[0] = 1;
a[0] = v > 1 ? 1 : 2;)"),
      "error: a condition must be one bool, and is \"bool4\": use any() or all()\n"
      "error: the condition of ?: must be one bool, and is \"bool4\": use select(if_false, if_true, condition)\n");
}

TEST(VectorsTest, ComponentsHaveNoAddress) {
  EXPECT_EQ(faults_of(R"(float4 v = float4(1);
thread float* p = &v.x;)"),
            "error: a component of a vector has no address: copy it to a variable\n");
}

TEST(VectorsTest, ConstantIndicesAreChecked) {
  EXPECT_EQ(faults_of(R"(float4 v = float4(1);
v[4] = 1;
int n[3];
n[3] = 1;
n[-1] = 2;)"),
            "error: the index 4 is out of range: \"float4\" has 4\n"
            "error: the index 3 is out of range: \"int[3]\" has 3\n"
            "error: the index -1 is out of range: \"int[3]\" has 3\n");
}

}  // namespace kymo::shader
