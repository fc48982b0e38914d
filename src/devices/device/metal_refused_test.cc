// Source that cannot be translated is refused with one clear line. No text makes the translator hang or crash. These
// tests need no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/translate.h"

namespace kymo::device::tests {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr shader::Target kRefusedTargets[] = {shader::Target::OpenCl, shader::Target::Cuda, shader::Target::Glsl};

// "line:column: text" for each error. The errors are the same for every target language.
std::vector<std::string> refused_errors(std::string_view source) {
  std::vector<std::string> first;
  for (const shader::Target target : kRefusedTargets) {
    shader::Options options;
    options.target = target;
    std::vector<std::string> errors;
    for (const shader::Diagnostic& each : shader::translate(source, options).diagnostics) {
      if (each.severity != shader::Severity::Error) continue;
      errors.push_back(std::to_string(each.line) + ":" + std::to_string(each.column) + ": " + each.text);
      EXPECT_EQ(each.text.find('\n'), std::string::npos) << "one line: " << each.text;
    }
    if (target == kRefusedTargets[0])
      first = errors;
    else
      EXPECT_EQ(errors, first) << "as " << shader::target_name(target);
  }
  return first;
}

struct Refused {
  const char* source;
  const char* at;  // "line:column", or "line:" if the column does not matter
  std::vector<const char*> words;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const Refused& each : cases) {
    SCOPED_TRACE(each.source);
    const auto errors = refused_errors(each.source);
    ASSERT_FALSE(errors.empty()) << "it was accepted";
    EXPECT_THAT(errors[0], StartsWith(std::string(each.at) + (std::string_view(each.at).ends_with(':') ? "" : ": ")));
    for (const char* word : each.words) EXPECT_THAT(errors[0], HasSubstr(word));
  }
}

TEST(MetalRefusedTest, UnsupportedLanguageFeaturesAreRefused) {
  expect_refused({
      {"kernel void k(device int* o) { goto end; end: o[0] = 1; }", "1:32", {"goto", "not supported"}},
      {"struct S { virtual int f() { return 1; } };\nkernel void k() {}", "1:12", {"virtual", "not supported"}},
      {"kernel void k(device float* o) { double d = 1; o[0] = d; }", "1:34", {"double", "float"}},
      {"int f(int x) { return x; }\nkernel void k(device int* o) { int (*p[2])(int) = {f, f}; o[0] = p[1](1); }",
       "2:",
       {"arrays of pointers to functions", "if or switch"}},
      {"kernel void k(device int* o) { int n = *new int; }", "1:41", {"new", "not supported"}},
      {"kernel void k(device int* o) { try { o[0] = 1; } catch (...) {} }", "1:32", {"exceptions", "try"}},
      {"kernel void k(device int* o) { throw 1; }", "1:32", {"exceptions", "throw"}},
      {"struct S { uint a : 8; };\nkernel void k(device S* s) { s->a = 1; }",
       "1:19",
       {"bit-fields", "shifts and masks"}},
      {"struct S { uint a; uint : 8; };\nkernel void k(device S* s) { s->a = 1; }", "1:25", {"bit-fields"}},
      {"kernel void k() { asm(\"nop\"); }", "1:19", {"asm", "not supported"}},
      {"#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device atomic<bool>* b) { "
       "atomic_fetch_or_explicit(b, "
       "true, memory_order_relaxed); }",
       "3:",
       {"\"atomic<bool>\"", "atomic_uint that is 0 or 1"}},
      {"template <typename T> concept C = true;\nkernel void k() {}", "1:23", {"concept", "not supported"}},
      {"int f(int n) { return n < 2 ? 1 : n * f(n - 1); }\nkernel void k(device int* o) { o[0] = f(o[1]); }",
       "1:39",
       {"recursion", "last step", "\"f\"", "more to do after this"}},
      {"int g(int n);\nint f(int n) { return n < 2 ? 1 : g(n - 1); }\nint g(int n) { return f(n) + 1; }\nkernel void "
       "k(device int* o) { o[0] = f(o[1]); }",
       "3:23",
       {"recursion", "\"f\"", "through other functions"}},
  });
}

TEST(MetalRefusedTest, GraphicsFeaturesAreRefused) {
  expect_refused({
      {"#include <metal_stdlib>\nusing namespace metal;\nkernel void k(texturecube<float> t [[texture(0)]]) {}",
       "3:15",
       {"texturecube", "not supported", "texture2d_array"}},
      {"#include <metal_stdlib>\nusing namespace metal;\nkernel void k(depth2d<float> t) {}",
       "3:15",
       {"depth2d", "not supported"}},
      {"vertex float4 v(uint i [[vertex_id]]) { return float4(0); }", "1:15", {"vertex functions", "kernels"}},
      {"fragment float4 p() { return float4(1); }", "1:17", {"fragment functions", "kernels"}},
      {"#include <metal_raytracing>\nkernel void k(metal::raytracing::ray r) {}",
       "2:22",
       {"raytracing", "ray tracing is not supported"}},
  });
}

TEST(MetalRefusedTest, InvalidKernelDeclarationsAreRefused) {
  expect_refused({
      {"kernel void k(device int* o, uint i [[thread_position_in_nowhere]]) { o[i] = 1; }",
       "1:39",
       {"thread_position_in_nowhere", "\"i\""}},
      {"kernel void k(device int* o, uint i) { o[i] = 1; }", "1:35", {"\"i\"", "constant uint&", "attribute"}},
      {"kernel int k(device int* o) { return 1; }", "1:12", {"\"k\"", "void"}},
      {"kernel void k(device int* a [[buffer(0)]], device int* b [[buffer(0)]]) {}", "1:56", {"[[buffer(0)]]"}},
      {"kernel void k(device int* a) {}\nkernel void k(device int* a, device int* b) {}",
       "2:13",
       {"two kernels", "\"k\""}},
      {"kernel void k(device int* a [[buffer(99999999999)]]) {}", "1:31", {"99999999999"}},
      {"int counter = 3;\nkernel void k(device int* o) { o[0] = counter; }", "1:5", {"\"counter\"", "constant"}},
      {"kernel void k(device int* o) { static int n = 0; o[0] = n++; }", "1:43", {"\"n\"", "static"}},
      {"void f() { threadgroup int x[3]; x[0] = 1; }\nkernel void k() { f(); }",
       "1:28",
       {"threadgroup", "kernels only", "\"x\""}},
  });
}

TEST(MetalRefusedTest, WrongAddressSpacesAndWritesToConstAreRefused) {
  EXPECT_THAT(refused_errors("void f(device int* p) {}\n"
                             "kernel void k(threadgroup int* t [[threadgroup(0)]], device int* d) {\n"
                             "  f(t);\n"
                             "  int x;\n"
                             "  f(&x);\n"
                             "  thread int* q = d;\n"
                             "}"),
              ElementsAre(AllOf(StartsWith("3:3: "), HasSubstr("no function \"f\" takes (threadgroup int*)")),
                          AllOf(StartsWith("5:3: "), HasSubstr("no function \"f\" takes (thread int*)")),
                          AllOf(StartsWith("6:"), HasSubstr("\"device int*\" to \"thread int*\""),
                                HasSubstr("address space"))));
  EXPECT_THAT(refused_errors("kernel void k(device const int* in, constant int& c) {\n"
                             "  in[0] = 1;\n"
                             "  c = 2;\n"
                             "  const int x = 1;\n"
                             "  x = 3;\n"
                             "}"),
              ElementsAre(AllOf(StartsWith("2:"), HasSubstr("const")), AllOf(StartsWith("3:"), HasSubstr("const")),
                          AllOf(StartsWith("5:"), HasSubstr("const"))));
}

TEST(MetalRefusedTest, SeveralSemanticErrorsAreReportedTogether) {
  EXPECT_THAT(
      refused_errors(R"(struct P { float x; };
int add(int a, int b) { return a + b; }
kernel void a(device int* out) {
  out[0] = undeclared_one;
  out[1] = add(1);
  float4 v = float4(1, 2);
  P p;
  p.y = 1;
  out[2] = float4(1).q;
  missing_type z;
  int n = float4(1);
  out[3] = "text";
}
kernel void b(device int* out) {
  break;
  return 5;
})"),
      ElementsAre(AllOf(StartsWith("4:12: "), HasSubstr("no name \"undeclared_one\"")),
                  AllOf(StartsWith("5:12: "), HasSubstr("no function \"add\" takes (int)")),
                  AllOf(StartsWith("6:14: "), HasSubstr("4 components"), HasSubstr("2 are given")),
                  AllOf(StartsWith("8:5: "), HasSubstr("no member \"y\" in \"P\"")),
                  AllOf(StartsWith("9:22: "), HasSubstr("no component \"q\"")),
                  AllOf(StartsWith("10:3: "), HasSubstr("no type \"missing_type\"")),
                  AllOf(StartsWith("11:11: "), HasSubstr("cannot convert \"float4\" to \"int\"")),
                  AllOf(StartsWith("12:10: "), HasSubstr("\"char[5]\" to \"int\"")),
                  AllOf(StartsWith("15:3: "), HasSubstr("break")), AllOf(StartsWith("16:3: "), HasSubstr("void"))));
}

TEST(MetalRefusedTest, SeveralSyntaxErrorsAreReportedTogether) {
  EXPECT_THAT(refused_errors("kernel void a(device int* out) {\n"
                             "  int x = (1 + ;\n"
                             "  out[0] = 3\n"
                             "  out[1] = 4;\n"
                             "}\n"
                             "struct S { int a };\n"
                             "kernel void b(device int* out { out[0] = 1; }\n"),
              ElementsAre(AllOf(StartsWith("2:16: "), HasSubstr("expected an expression")),
                          AllOf(StartsWith("3:13: "), HasSubstr("expected ';'")),
                          AllOf(StartsWith("6:17: "), HasSubstr("expected ';'"), HasSubstr("\"a\"")),
                          AllOf(StartsWith("7:31: "), HasSubstr("expected ')'"), HasSubstr("\"b\""))));
}

TEST(MetalRefusedTest, InvalidDirectivesAreRefused) {
  expect_refused({
      {"#if 1 +\n#endif\n", "1:2", {"condition"}},
      {"#else\n", "1:2", {"#else", "#if"}},
      {"#if 1\n", "1:2", {"#endif"}},
      {"#define F(a, b) a + b\nconstant int x = F(1);", "2:18", {"\"F\"", "2 arguments"}},
      {"#include \"nothing_here.h\"\n", "1:10", {"nothing_here.h"}},
      {"#error stop here\n", "1:2", {"stop here"}},
      {"#define C(a, b) a##b\nC(+, ;)", "2:1", {"##"}},
      {"/* never ends", "1:1", {"comment", "*/"}},
      {"kernel void k() { \"abc; }", "1:19", {"string", "does not end"}},
  });
}

TEST(MetalRefusedTest, SemanticErrorsAreReportedWhereTheyAreFound) {
  expect_refused({
      {"static_assert(sizeof(int) == 8, \"ints are small\");", "1:1", {"static_assert", "ints are small"}},
      {"template <typename T> T f(T x) { return x.nothing; }\nkernel void k(device int* o) { o[0] = f(1); }",
       "1:43",
       {"\"nothing\"", "\"int\""}},
      {"template <int N> int f() { return f<N + 1>(); }\nkernel void k(device int* o) { o[0] = f<0>(); }",
       "1:35",
       {"200 levels"}},
      {"void f(int a, float b) {}\nvoid f(float a, int b) {}\nkernel void k() { f(1, 1); }",
       "3:19",
       {"several functions \"f\"", "(int, int)"}},
      {"int f(int x) { return 1; }\nint f(int y) { return 2; }", "2:5", {"\"f\"", "twice"}},
      {"struct S { S s; };\nkernel void k() { S s; }", "1:14", {"\"S\"", "not complete"}},
  });
}

// ---- Unusual texts -------------------------------------------------------------------------------------------------

std::string repeated(std::string_view part, size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  for (size_t i = 0; i < times; ++i) text += part;
  return text;
}
std::string inside_a_kernel(const std::string& body) { return "kernel void k(device int* o) { " + body + " }"; }

// The translation ends, and the position of an error is within the text.
void expect_an_end(const std::string& source) {
  for (const shader::Target target : kRefusedTargets) {
    shader::Options options;
    options.target = target;
    const shader::Translation translated = shader::translate(source, options);
    EXPECT_LE(translated.log.size(), 100000u);
    const auto lines = 2 + std::count(source.begin(), source.end(), '\n');
    if (const shader::Diagnostic* error = translated.first_error()) {
      EXPECT_FALSE(error->text.empty());
      EXPECT_LE(error->line, lines);
      EXPECT_TRUE(translated.text.empty());
    }
  }
}

TEST(MetalRefusedTest, EmptyTextIsAccepted) {
  for (const char* text :
       {"", " ", "\n\n", "// nothing", "/* nothing */", "#define A\n", ";;", "#include <metal_stdlib>"})
    EXPECT_EQ(refused_errors(text), std::vector<std::string>()) << text;
}

TEST(MetalRefusedTest, DeepNestingIsRefused) {
  for (const std::string& source :
       {repeated("(", 1 << 20), repeated("{", 200000), repeated("[", 200000), repeated("a<", 100000),
        repeated("namespace a {", 20000), repeated("template <", 20000), repeated("struct S { ", 20000),
        "kernel void k(device int" + repeated("*", 50000) + " o) {}",
        inside_a_kernel("o[0] = " + repeated("(", 100000) + "1" + repeated(")", 100000) + ";"),
        inside_a_kernel("o[0] = " + repeated("- ", 50000) + "1;"),
        inside_a_kernel("o[0] = " + repeated("!", 50000) + "1;"),
        inside_a_kernel("o[0] = " + repeated("1 + ", 50000) + "1;"),
        inside_a_kernel("o[0] = " + repeated("1 ? 2 : ", 20000) + "1;"),
        inside_a_kernel(repeated("if (o[0]) ", 20000) + "o[0] = 1;"),
        inside_a_kernel(repeated("if (o[0]) o[1] = 1; else ", 5000) + "o[0] = 1;"),
        inside_a_kernel(repeated("{", 50000) + repeated("}", 50000)),
        inside_a_kernel(repeated("auto f = [=]() { ", 3000))}) {
    SCOPED_TRACE(source.substr(0, 80));
    EXPECT_FALSE(refused_errors(source).empty());
  }
}

TEST(MetalRefusedTest, TranslationOfTruncatedTextEnds) {
  const std::string whole =
      "#include <metal_stdlib>\n#define F(a) (a + 'x')\ntemplate <typename T, int N> struct S { T v[N]; T f() const { "
      "return v[0]; } };\n"
      "kernel void k(device float* o [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
      "  S<float, 2> s = {{1.5f, 2}};\n  auto g = [&](auto x) { return x > F(1) ? s.f() : 0x1p3; };\n  for (int k : "
      "{1, 2}) o[i] += g(k); // end\n}\n";
  for (size_t size = 0; size < whole.size(); size += 3) {
    SCOPED_TRACE(size);
    expect_an_end(whole.substr(0, size));
    expect_an_end(whole.substr(size));
  }
}

TEST(MetalRefusedTest, TranslationOfUnusualTextEnds) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  std::string macros = "#define M0 x\n";
  for (int i = 1; i < 41; ++i) {
    const std::string before = "M" + std::to_string(i - 1);
    macros += "#define M" + std::to_string(i) + " " + before + " " + before + "\n";
  }
  for (const std::string& source :
       {bytes,
        macros + "M40",
        repeated("#include \"", 1000),
        repeated("#if\n", 5000),
        std::string("\0\0kernel\0", 9),
        std::string("#"),
        std::string("R\"("),
        std::string("'"),
        std::string("[[[[[[]]"),
        std::string("#define k k(k)\nkernel void k() {}"),
        std::string("#define A A A\n#define B A B\nkernel void k() { B B A; }"),
        std::string("using A = A; namespace n = n; using namespace zz; kernel void k() { A a; }"),
        std::string("auto f() { return f(); } kernel void k() { f(); }"),
        std::string("template <class T> struct S { S<T*> s; }; kernel void k() { S<int> s; }"),
        std::string("constexpr int f() { int n = 0; while (true) ++n; return n; }\nkernel void k(device int* o) { "
                    "constexpr int x = f(); o[0] = x; }"),
        inside_a_kernel("o[0] = 0x; o[1] = 1e; o[2] = 99999999999999999999999; o[3] = 0b2; o[4] = 1.2.3;"),
        inside_a_kernel("int a[-1]; int c[0]; int d[1000000000000]; o[0] = a[3];"),
        inside_a_kernel("int a[100000] = {1}; o[0] = a[3];"),
        inside_a_kernel("constexpr int x = 1 / 0; o[0] = x; o[1] = 1 % 0; int a[1 / 0];"),
        inside_a_kernel("constexpr int x = x + 1; o[0] = x;")}) {
    SCOPED_TRACE(source.substr(0, 80));
    expect_an_end(source);
  }
}

TEST(MetalRefusedTest, ExponentialCallTreesDoNotCostExponentialTime) {
  std::string source = "int f0(int x) { return x; }\n", known = "constexpr int g0(int x) { return x; }\n";
  for (int i = 1; i < 60; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    source += "int f" + n + "(int x) { return f" + before + "(x) + f" + before + "(x); }\n";
    known += "constexpr int g" + n + "(int x) { return g" + before + "(x) + g" + before + "(x); }\n";
  }
  EXPECT_TRUE(refused_errors(source + "kernel void k(device int* o) { o[0] = f59(1); }").empty());
  EXPECT_FALSE(refused_errors(known + "kernel void k(device int* o) { constexpr int x = g59(1); o[0] = x; }").empty());
}

}  // namespace
}  // namespace kymo::device::tests
