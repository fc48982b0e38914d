#include "shader/sema/test_sema.h"

// Operators of numbers: conversions, rounding, shifts.

namespace kymo::shader {

TEST(ArithmeticTest, SmallIntegersArePromotedToInt) {
  EXPECT_EQ("\n" + lines(R"(uchar c = uchar(b[0]);
short s = short(b[1]);
b[2] = c + s;
c = c + 1;
c += 200;
b[3] = ~c;
b[4] = -c;)"),
            R"(
uchar c = uchar((*(b + 0)))
short s = short((*(b + 1)))
(*(b + 2)) = (int(c) + int(s))
c = uchar((int(c) + 1))
c = uchar((int(c) + 200))
(*(b + 3)) = (~int(c))
(*(b + 4)) = (-int(c))
)");
}

TEST(ArithmeticTest, MixedIntegersFollowTheUsualConversions) {
  EXPECT_EQ("\n" + lines(R"(uint u = uint(b[0]);
long l = long(b[1]);
b[2] = b[0] + u;
l = b[0] + l;
l = u + l;
ulong m = l + ulong(u);)"),
            R"(
uint u = uint((*(b + 0)))
long l = long((*(b + 1)))
(*(b + 2)) = int((uint((*(b + 0))) + u))
l = (long((*(b + 0))) + l)
l = (long(u) + l)
ulong m = (ulong(l) + ulong(u))
)");
}

TEST(ArithmeticTest, IntegerOperandsOfFloatsBecomeFloats) {
  EXPECT_EQ("\n" + lines(R"(a[0] = b[0] * 1.5;
a[1] = b[0] / a[2];
half h = half(a[3]);
h = h * b[0];)"),
            R"(
(*(a + 0)) = (float((*(b + 0))) * 1.5f)
(*(a + 1)) = (float((*(b + 0))) / (*(a + 2)))
half h = half((*(a + 3)))
h = half((float(h) * float(half(float((*(b + 0)))))))
)");
}

TEST(ArithmeticTest, HalfIsRoundedAfterEveryOperation) {
  EXPECT_EQ("\n" + lines(R"(half h = half(a[0]);
h = h * h + h;
h += 0.5h;
h++;
a[1] = h < 2.0h ? 1 : 0;)"),
            R"(
half h = half((*(a + 0)))
h = half((float(half((float(h) * float(h)))) + float(h)))
h = half((float(h) + 0.5f))
h = half((float(h) + 1.0f))
(*(a + 1)) = float(((float(h) < 2.0f) ? 1 : 0))
)");
}

TEST(ArithmeticTest, HalfAndBfloatBecomeFloat) {
  EXPECT_EQ("\n" + lines(R"(half h = half(a[0]);
bfloat c = bfloat(a[1]);
a[2] = h * c;)"),
            R"(
half h = half((*(a + 0)))
bfloat c = bfloat((*(a + 1)))
(*(a + 2)) = (float(h) * float(c))
)");
}

TEST(ArithmeticTest, LiteralsAreFloatIntUintOrLong) {
  EXPECT_EQ("\n" + lines(R"(auto x = 1.0;
auto h = 1.5h;
auto n = 7;
auto u = 7u;
auto l = 7l;
auto big = 4294967296;
auto hex = 0xffffffff;
auto c = 'a';
auto t = true;
a[0] = x + h; b[0] = n + u + l + big + hex + c + t;)"),
            R"(
float x = 1.0f
half h = 1.5h
int n = 7
uint u = 7u
long l = 7l
long big = 4294967296l
uint hex = 4294967295u
char c = char(97)
bool t = true
(*(a + 0)) = (x + float(h))
(*(b + 0)) = int((((((long((uint(n) + u)) + l) + big) + long(hex)) + long(c)) + long(t)))
)");
}

TEST(ArithmeticTest, ConstantsAreFolded) {
  EXPECT_EQ("\n" + lines(R"(b[0] = 3 * 4 + (1 << 5) - 7 % 4;
a[0] = 1.0 / 4;
b[1] = -7 / 2;
b[2] = sizeof(int) * 2;)"),
            R"(
(*(b + 0)) = 41
(*(a + 0)) = 0.25f
(*(b + 1)) = -3
(*(b + 2)) = 8
)");
}

TEST(ArithmeticTest, UnsignedAndSignedComparisonsAreThoseOfC) {
  EXPECT_EQ("\n" + lines(R"(b[0] = 1u > -1;
b[1] = b[2] < 3u;)"),
            R"(
(*(b + 0)) = 0
(*(b + 1)) = int((uint((*(b + 2))) < 3u))
)");
}

TEST(ArithmeticTest, ShiftsTakeTheAmountModuloTheWidth) {
  EXPECT_EQ("\n" + lines(R"(b[0] = b[1] << b[2];
b[0] = b[1] >> 33;
ulong l = ulong(b[0]) << b[1];
b[0] <<= 2;)"),
            R"(
(*(b + 0)) = ((*(b + 1)) << ((*(b + 2)) & 31))
(*(b + 0)) = ((*(b + 1)) >> 1)
ulong l = (ulong((*(b + 0))) << ((*(b + 1)) & 63))
(*(b + 0)) = ((*(b + 0)) << 2)
)");
}

TEST(ArithmeticTest, BoolsStayBoolsInLogic) {
  EXPECT_EQ("\n" + lines(R"(bool x = b[0] > 1;
bool y = x & (b[1] > 2);
y |= x;
y = x ^ y;
y = x == y;
b[2] = x + y;
y = !x;)"),
            R"(
bool x = ((*(b + 0)) > 1)
bool y = (x & ((*(b + 1)) > 2))
y = (y | x)
y = (x ^ y)
y = (x == y)
(*(b + 2)) = (int(x) + int(y))
y = (!x)
)");
}

TEST(ArithmeticTest, NumbersBecomeBoolsByComparisonWithZero) {
  EXPECT_EQ("\n" + lines(R"(bool x = b[0];
if (a[0]) x = true;
x = !b[1];)"),
            R"(
bool x = bool((*(b + 0)))
if bool((*(a + 0))) {
  x = true
}
x = (!bool((*(b + 1))))
)");
}

TEST(ArithmeticTest, CompoundAssignmentConvertsBack) {
  EXPECT_EQ("\n" + lines(R"(b[0] += 1.5;
b[0] *= 2;
b[1] ^= b[0] & 3;
a[0] /= 3;)"),
            R"(
(*(b + 0)) = int((float((*(b + 0))) + 1.5f))
(*(b + 0)) = ((*(b + 0)) * 2)
(*(b + 1)) = ((*(b + 1)) ^ ((*(b + 0)) & 3))
(*(a + 0)) = ((*(a + 0)) / 3.0f)
)");
}

TEST(ArithmeticTest, CastsConvertInEveryForm) {
  EXPECT_EQ("\n" + lines(R"(b[0] = int(a[0]) + (int)a[1] + static_cast<int>(a[2]);
uint u = uint(a[0]);
a[1] = float(u);
b[1] = short(b[2]);)"),
            R"(
(*(b + 0)) = ((int((*(a + 0))) + int((*(a + 1)))) + int((*(a + 2))))
uint u = uint((*(a + 0)))
(*(a + 1)) = float(u)
(*(b + 1)) = int(short((*(b + 2))))
)");
}

TEST(ArithmeticTest, AsTypeKeepsTheBits) {
  EXPECT_EQ("\n" + lines(R"(uint u = as_type<uint>(a[0]);
a[1] = as_type<float>(u ^ 0x80000000u);
half2 h = as_type<half2>(u);)"),
            R"(
uint u = bitcast<uint>((*(a + 0)))
(*(a + 1)) = bitcast<float>((u ^ 2147483648u))
half2 h = bitcast<half2>(u)
)");
}

TEST(ArithmeticTest, AsTypeNeedsTheSameSize) {
  EXPECT_EQ(faults_of(R"(ulong l = as_type<ulong>(a[0]);)"),
            "error: as_type needs types of the same size: \"float\" and \"ulong\" differ\n");
}

TEST(ArithmeticTest, OperatorsRefuseOtherTypes) {
  EXPECT_EQ(faults_of(R"(a[0] = a[1] % 2;
a[0] = a[1] & 3;
a[0] = ~a[1];
b[0] = b[1] << a[0];
a[0] = a % 2;)"),
            "error: no operator% takes (float, int): use fmod()\n"
            "error: no operator& takes (float, int)\n"
            "error: the operator ~ does not take \"float\"\n"
            "error: no operator<< takes (int, float)\n"
            "error: no operator% takes (device float*, int)\n");
}

TEST(ArithmeticTest, ThereIsNoDouble) {
  EXPECT_EQ(faults_of(R"(double d = 1;
a[0] = (double)a[1];)"),
            "error: there is no \"double\" in Metal: use \"float\"\n"
            "error: there is no \"double\" in Metal: use \"float\"\n");
}

TEST(ArithmeticTest, NumbersThatDoNotFitAreRefused) {
  EXPECT_EQ(faults_of(R"(b[0] = 99999999999999999999;)"),
            "error: \"99999999999999999999\" is not a number: it takes more than 64 bits\n");
}

}  // namespace kymo::shader
