#include <cmath>
#include <limits>

#include "base/text.h"
#include "shader/sema/test_sema.h"

// What is known when a shader is translated.

namespace kymo::shader {

TEST(ConstantsTest, NamespaceConstantsAreFoldedOrInProgramMemory) {
  EXPECT_EQ("\n" + lowered(R"(constant float2 pair = float2(1, 2);
constant int table[2][2] = {{1, 2}, {3, 4}};
struct C { int x; float y; };
constant C one = {1, 2.5};
constexpr int square(int v) { return v * v; }
constant int sixteen = square(4);
constant constexpr auto third = 1.0 / 4;
static constant constexpr bool yes = sixteen > 3;
kernel void f(device float* a, uint i [[thread_position_in_grid]]) {
  a[0] = pair.y + table[1][i] + one.y + sixteen + third + yes;
})"),
            R"(
constant int[2][2] table = int[2][2]{int[2]{1, 2}, int[2]{3, 4}}
constant C one = C{1, 2.5f}
int square(int v) {
  return (v * v)
}
kernel "f" void f([[buffer(0)]] device float* a) {
  uint i = grid_position()[0]
  (*(a + 0)) = (((((2.0f + float(table[1][i])) + one.y) + 16.0f) + 0.25f) + 1.0f)
}
)");
}

TEST(ConstantsTest, AConstructorMakesAConstantWithoutAValue) {
  EXPECT_EQ("\n" + lowered(R"(struct Step { int x; constexpr Step(int by = 3) : x(by) {} };
constexpr Step usual;
constexpr Step other(5);
kernel void f(device int* a) { a[0] = usual.x + other.x; })"),
            R"(
constant Step usual = Step{3}
constant Step other = Step{5}
Step make_Step(int by) {
  Step self
  self.x = by
  return self
}
kernel "f" void f([[buffer(0)]] device int* a) {
  (*(a + 0)) = (usual.x + other.x)
}
)");
  EXPECT_EQ(faults("struct Pair { int x, y; };\nconstant Pair pair;\nkernel void f(device int* a) { a[0] = pair.x; }"),
            "2: error: the constant \"pair\" needs a value\n");
}

TEST(ConstantsTest, LocalConstantsAreFolded) {
  EXPECT_EQ("\n" + lines(R"(const int n = 4;
constexpr float x = 1.5f * n;
constexpr int t[3] = {1, 2, 3};
int m[n];
m[0] = t[i];
a[0] = x + m[0];
const int k = b[0];
b[1] = k;)"),
            R"(
int[4] m
m[0] = t[i]
(*(a + 0)) = (6.0f + float(m[0]))
int k = (*(b + 0))
(*(b + 1)) = k
)");
}

TEST(ConstantsTest, ConstexprFunctionsAreEvaluated) {
  EXPECT_EQ(
      "\n" +
          lines(
              R"(constexpr int n = fib(10);
int m[n];
b[0] = sizeof(m);
static_assert(fib(5) == 5, "fib");
static_assert(sum(P{1, 2}) == 3);
constexpr P p = {3, 4};
b[1] = p.y;)",
              R"(constexpr int fib(int n) { int x = 0, y = 1; for (int k = 0; k < n; k++) { int t = x + y; x = y; y = t; } return x; }
struct P { int x, y; };
constexpr int sum(P p) { return p.x + p.y; })"),
      R"(
int[55] m
(*(b + 0)) = 220
(*(b + 1)) = p.y
)");
}

TEST(ConstantsTest, TextsAreSharedByTheirContent) {
  EXPECT_EQ("\n" + lowered(R"(constant char* name = "kymo";
constant char letters[] = "ab";
char first(constant char* t) { return t[0]; }
kernel void f(device int* a) { a[0] = first("kymo") + name[1] + letters[0] + first("kymo") + first(__func__); })"),
            R"(
constant char[5] text [[address_taken]] = char[5]{char(107), char(121), char(109), char(111), char(0)}
constant char[3] letters = char[3]{char(97), char(98), char(0)}
constant char[2] text [[address_taken]] = char[2]{char(102), char(0)}
char first(constant const char* t) {
  return (*(t + 0))
}
kernel "f" void f([[buffer(0)]] device int* a) {
  (*(a + 0)) = ((((int(first(decay(text))) + int(text[1])) + int(letters[0])) + int(first(decay(text)))) + int(first(decay(text))))
}
char first(constant const char* t) {
  return (*(t + 0))
}
)");
}

TEST(ConstantsTest, EnumsAreStoredAsIntegers) {
  EXPECT_EQ("\n" + lowered(R"(enum Mode { kA, kB = 5, kC };
enum class Color : uint { Red = 1, Blue = Red + 3 };
namespace n { enum { kInner = 7 }; }
kernel void f(device int* a) { Mode m = kC; Color c = Color::Blue; a[0] = m + int(c) + n::kInner; switch (m) { case kA: a[1] = 1; break; case kC: a[1] = 2; } if (c == Color::Red) a[2] = 3; })"),
            R"(
kernel "f" void f([[buffer(0)]] device int* a) {
  Mode m = 6
  Color c = 4u
  (*(a + 0)) = ((int(m) + int(c)) + 7)
  switch int(m) {
  case 0:
    (*(a + 1)) = 1
    break
  case 6:
    (*(a + 1)) = 2
  }
  if (uint(c) == 1u) {
    (*(a + 2)) = 3
  }
}
)");
}

TEST(ConstantsTest, FunctionConstantsTakeTheirValues) {
  Options options;
  options.constants["n"] = 5;
  options.constants["1"] = 0.5;
  EXPECT_EQ("\n" + lowered(R"(constant int n [[function_constant(0)]];
constant float m [[function_constant(1)]];
constant bool u [[function_constant(2)]];
constant bool has = is_function_constant_defined(u);
constant bool v = is_function_constant_defined(u) ? u : true;
kernel void f(device float* a) { float x[n]; x[0] = m; a[0] = x[0] + v; if (has) a[1] = 2; })",
                           options),
            R"(
kernel "f" void f([[buffer(0)]] device float* a) {
  float[5] x
  x[0] = 0.5f
  (*(a + 0)) = (x[0] + 1.0f)
}
)");
}

TEST(ConstantsTest, FunctionConstantsWithoutValuesAreZeroAndOneWarning) {
  EXPECT_EQ(faults(R"(constant int n [[function_constant(0)]];
kernel void f(device float* a) { a[0] = n; a[1] = n; })"),
            "0: warning: the function constant \"n\" has no value, and is 0 here: set it by name or index with -C "
            "(kymo shader) or constants (compile_shader)\n");
  std::string declared, used;
  for (int i = 0; i < 15; ++i) {
    declared += "constant int c" + std::to_string(i) + " [[function_constant(" + std::to_string(i) + ")]];\n";
    used = "a[0] += c" + std::to_string(i) + "; " + used;
  }
  EXPECT_EQ(faults(declared + "kernel void f(device float* a) { " + used + "}"),
            "0: warning: the function constants \"c0\", \"c1\", \"c2\", \"c3\", \"c4\", \"c5\", \"c6\", \"c7\", "
            "\"c8\", \"c9\", \"c10\", \"c11\" and 3 more have no value, and are 0 here: set them by name or index with "
            "-C (kymo shader) or constants (compile_shader)\n");
}

TEST(ConstantsTest, AFunctionConstantIsANumberOrAVector) {
  EXPECT_EQ(faults(R"(struct S { int x; };
constant S s [[function_constant(0)]];
kernel void f(device float* a) { a[0] = s.x; })"),
            "2: error: the function constant \"s\" must be a number or a vector, and is \"S\"\n");
}

TEST(ConstantsTest, AVectorFunctionConstantHasAValueForEachComponent) {
  Options options;
  options.constants = {{"v.x", 1}, {"v.y", 2}, {"v.z", 0.5}, {"1.x", 7}, {"1.y", -8}};
  constexpr std::string_view kSource = R"(constant float3 v [[function_constant(0)]];
constant int2 w [[function_constant(1)]];
constant bool has = is_function_constant_defined(v);
kernel void f(device float* a) { a[0] = v.z; a[1] = w.y; a[2] = has; })";
  EXPECT_EQ("\n" + lowered(kSource, options), R"(
kernel "f" void f([[buffer(0)]] device float* a) {
  (*(a + 0)) = 0.5f
  (*(a + 1)) = -8.0f
  (*(a + 2)) = 1.0f
}
)");
  options.constants = {{"v.x", 1}, {"v.y", 2}, {"w", 3}, {"v.w", 4}};
  EXPECT_EQ(faults(kSource, options),
            "1: error: the function constant \"v\" is \"float3\", and was given no value for v.z\n"
            "0: error: the function constant \"v\" is \"float3\", and takes 3 numbers, v.x to v.z, not \"v.w\"\n"
            "0: error: the function constant \"w\" is \"int2\", and takes 2 numbers, w.x to w.y, not \"w\"\n"
            "0: warning: the function constant \"w\" has no value, and is 0 here: set it by name or index with -C "
            "(kymo shader) or constants (compile_shader)\n");
  options.constants = {{"n.x", 1}};
  EXPECT_EQ(faults("constant int n [[function_constant(0)]];\nkernel void f(device int* a) { a[0] = 1; }", options),
            "0: error: the function constant \"n\" is \"int\", and takes one number, not \"n.x\"\n");
}

TEST(ConstantsTest, ValuesThatAFunctionConstantCannotHaveAreRefused) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto fault = [](std::string_view type, double value) {
    Options options;
    options.constants["c"] = value;
    return faults(
        base::format("constant {} c [[function_constant(0)]];\nkernel void f(device float* a) {{ a[0] = 1; }}", type),
        options);
  };
  EXPECT_EQ(fault("bool", 2), "1: error: the function constant \"c\" is \"bool\", and cannot be 2\n");
  EXPECT_EQ(fault("int", 1.5), "1: error: the function constant \"c\" is \"int\", and cannot be 1.5\n");
  EXPECT_EQ(fault("uchar", 256), "1: error: the function constant \"c\" is \"uchar\", and cannot be 256\n");
  EXPECT_EQ(fault("float", 1e39), "1: error: the function constant \"c\" is \"float\", and cannot be 1e+39\n");
  EXPECT_EQ(fault("int", kInfinity), "1: error: the function constant \"c\" is \"int\", and cannot be inf\n");
  EXPECT_EQ(fault("bool", std::nan("")), "1: error: the function constant \"c\" is \"bool\", and cannot be nan\n");
  EXPECT_EQ(fault("half", 1e6), "1: error: the function constant \"c\" is \"half\", and cannot be 1000000\n");
  for (const auto& [type, value] : {std::pair("bool", 1.0),
                                    {"half", 65504.0},
                                    {"float", -3.4e38},
                                    {"ulong", 0x1p63},
                                    {"float", kInfinity},
                                    {"half", -kInfinity},
                                    {"bfloat", kInfinity},
                                    {"float", std::nan("")}})
    EXPECT_EQ(fault(type, value), "") << type;
}

TEST(ConstantsTest, AFunctionConstantHasOneValue) {
  Options options;
  options.constants = {{"n", 5}, {"2", 7}};
  EXPECT_EQ(faults("constant int n [[function_constant(2)]];\nkernel void f(device int* a) { a[0] = n; }", options),
            "1: error: the function constant \"n\" has two values: 5 by its name, and 7 by its index 2\n");
}

TEST(ConstantsTest, ValuesForUnknownFunctionConstantsAreRefused) {
  Options options;
  options.constants["n"] = 1;
  options.constants["1"] = 2;
  const std::string_view source = R"(namespace own { constant int n [[function_constant(0)]]; }
constant float m [[function_constant(1)]];
kernel void f(device float* a) { a[0] = own::n + m; })";
  EXPECT_EQ(faults(source, options), "");
  options.constants["2"] = 3;
  options.constants["N"] = 4;
  EXPECT_EQ(faults(source, options),
            "0: error: the source has no function constant \"2\"; it has (with the index): n (0), m (1)\n"
            "0: error: the source has no function constant \"N\"; it has (with the index): n (0), m (1)\n");
  Options only;
  only.constants["a"] = 1;
  EXPECT_EQ(faults("kernel void f(device float* a) { a[0] = 1; }", only),
            "0: error: the source has no function constant \"a\"; it has none at all\n");
}

TEST(ConstantsTest, NamespaceVariablesAreConstants) {
  EXPECT_EQ(faults(R"(int counter = 0;
threadgroup float shared[3];
constant int missing;
constant int changing = g();
int h(device int* p) { return *p; }
constant int self = self + 1;
kernel void f(device int* a) { counter = 1; shared[0] = 1; a[0] = missing + self; })"),
            "2: error: the variable \"shared\" is outside of functions: only constant ones may be there\n"
            "1: error: the variable \"counter\" is outside of functions: write constant before it\n"
            "7: error: there is no name \"shared\" here\n"
            "3: error: the constant \"missing\" needs a value\n");
}

TEST(ConstantsTest, ErrorsNameValuesThatMustBeConstant) {
  EXPECT_EQ(faults_of(R"(int n[b[0]];
constexpr int c = b[0];
static_assert(sizeof(int) == 5, "an int has 4 bytes");
static_assert(b[0]);)"),
            "error: the size of an array must be known when the shader is translated\n"
            "error: the value of \"c\" must be known when the shader is translated\n"
            "error: static_assert failed: an int has 4 bytes\n"
            "error: the condition of static_assert must be known when the shader is translated\n");
}

TEST(ConstantsTest, EndlessConstantsAreRefused) {
  EXPECT_EQ(faults(R"(constexpr int forever(int n) { while (true) n++; return n; }
kernel void f(device int* a) { constexpr int n = forever(1); a[0] = n; })"),
            "2: error: the value of \"n\" must be known when the shader is translated\n");
}

}  // namespace kymo::shader
