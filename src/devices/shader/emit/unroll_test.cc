#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string unroll_text(std::string_view body, Target target = Target::Cuda) {
  Options options;
  options.target = target;
  const Translation translation =
      translate("kernel void f(device float* x, constant int& n) { float v[16]; float w[4][4]; " + std::string(body) +
                    " x[0] = v[n] + w[n][n]; }",
                options);
  EXPECT_TRUE(translation.ok()) << translation.log;
  return translation.text;
}

size_t unrolled_loops(std::string_view body) {
  const std::string text = unroll_text(body);
  size_t count = 0;
  for (size_t at = text.find("#pragma unroll"); at != std::string::npos; at = text.find("#pragma unroll", at + 1))
    ++count;
  return count;
}

TEST(UnrollTest, LoopsThatIndexArraysOfTheThread) {
  EXPECT_EQ(unrolled_loops("for (int i = 0; i < 16; ++i) v[i] = x[i];"), 1U);
  EXPECT_EQ(unrolled_loops("for (uint i = 1; i <= 15; i += 2) v[i] = x[i];"), 1U);
  EXPECT_EQ(unrolled_loops("for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) w[i][3 - j] = x[i * 4 + j];"), 2U);
  EXPECT_EQ(unrolled_loops("for (short i = 0; i < 16; i++) v[i] = x[i];"), 1U);
  EXPECT_EQ(unrolled_loops("for (uchar i = 0; i < 16; i += 1) v[i] = x[i];"), 1U);
  EXPECT_THAT(unroll_text("for (int i = 0; i < 16; ++i) v[i] = x[i];"), HasSubstr("#pragma unroll\n  for (int i = 0;"));
}

TEST(UnrollTest, NoOtherLoops) {
  for (const std::string_view body :
       {"for (int i = 0; i < 16; ++i) x[i] = 1;",                      // not an array of the thread
        "for (int i = 0; i < n; ++i) v[i] = 1;",                       // how often is not known
        "for (int i = 0; i < 16; ++i) v[n] = float(i);",               // another index
        "for (int i = 0; i < 17; ++i) v[i % 16] = 1;",                 // too many rounds
        "for (int i = 0; i < 1; ++i) v[i] = 1;",                       // nothing to unroll
        "for (int i = 0; i < 16; ++i) { v[i] = 1; if (n > 3) ++i; }",  // the counter changes
        "for (int i = 0; i < 16; i += n) v[i] = 1;", "for (int i = 16; i < 16; ++i) v[i] = 1;",
        "int i = n; for (; i < 16; ++i) v[i] = 1;"})
    EXPECT_EQ(unrolled_loops(body), 0U) << body;
}

TEST(UnrollTest, NestedLoopsOnlyUpToALimit) {
  // 16 * 16 bodies, and not 16 times that.
  EXPECT_EQ(unrolled_loops("for (int k = 0; k < 16; ++k) { v[k] = 0; for (int i = 0; i < 16; ++i) { v[i] += 1;"
                           "for (int j = 0; j < 16; ++j) v[j] += 1; } }"),
            2U);
}

TEST(UnrollTest, TheWishOfThePragmaBeforeALoop) {
  for (const std::string_view pragma :
       {"\n#pragma unroll\n", "\n#pragma clang loop unroll(full)\n", "_Pragma(\"unroll\") ",
        "_Pragma(\"clang loop unroll(full)\") ", "\n#define ALL _Pragma(\"unroll\")\nALL ",
        "\n#define DO(x) _Pragma(#x)\n#define ALL DO(unroll)\nALL ", "\n#define ALL(x) x\nALL(_Pragma(\"unroll\")) "})
    EXPECT_THAT(unroll_text(std::string(pragma) + "for (int i = 0; i < 64; ++i) x[i] = 1;"),
                HasSubstr("#pragma unroll\n  for (int i = 0; i < 64;"))
        << pragma;
  EXPECT_THAT(unroll_text("int i = n;\n#pragma unroll 4\nfor (; i < n * n; ++i) x[i] = 1;"),
              HasSubstr("#pragma unroll 4\n  for (; i < n * n;"));
  EXPECT_THAT(unroll_text("\n#pragma clang loop unroll(disable)\nfor (int i = 0; i < 16; ++i) v[i] = x[i];"),
              HasSubstr("#pragma unroll 1\n  for (int i = 0; i < 16;"));
}

TEST(UnrollTest, APragmaElsewhereHasNoEffect) {
  for (const std::string_view body : {"\n#pragma unroll\n x[1] = 2; for (int i = 0; i < 64; ++i) x[i] = 1;",
                                      "for (int i = 0; i < 64; ++i)\n#pragma unroll\n x[i] = 1;",
                                      "for _Pragma(\"unroll\") (int i = 0; i < 64; ++i) x[i] = 1;",
                                      "for (int i = 0; i < 64; ++i) x[i] = 1;\n#pragma unroll\n",
                                      "\n#pragma vectorize\nfor (int i = 0; i < 64; ++i) x[i] = 1;"})
    EXPECT_EQ(unrolled_loops(body), 0U) << body;
}

TEST(UnrollTest, APragmaWithoutItsTextIsAnError) {
  const Translation translation = translate("kernel void f() { _Pragma for (;;) {} }");
  EXPECT_THAT(translation.log, HasSubstr("_Pragma needs a text in parentheses"));
}

TEST(UnrollTest, WithoutAPragmaOnlyOnCuda) {
  for (const Target target : {Target::OpenCl, Target::Glsl})
    EXPECT_THAT(unroll_text("for (int i = 0; i < 16; ++i) v[i] = x[i];", target), Not(HasSubstr("unroll")));
}

TEST(UnrollTest, OpenClTakesPragmasOnNvidiaOnly) {
  EXPECT_THAT(unroll_text("\n#pragma unroll 4\nfor (int i = 0; i < 64; ++i) x[i] = 1;", Target::OpenCl),
              HasSubstr("\n#ifdef cl_nv_pragma_unroll\n#pragma unroll 4\n#endif\n  for (int i = 0; i < 64;"));
}

TEST(UnrollTest, GlslTakesAllOrNone) {
  const auto glsl = [](std::string_view pragma) {
    return unroll_text("\n#pragma " + std::string(pragma) + "\nfor (int i = 0; i < 64; ++i) x[i] = 1;", Target::Glsl);
  };
  EXPECT_THAT(glsl("unroll"), HasSubstr("[[unroll]] for (; i < 64;"));
  EXPECT_THAT(glsl("unroll"), HasSubstr("#extension GL_EXT_control_flow_attributes : require\n"));
  EXPECT_THAT(glsl("clang loop unroll(disable)"), HasSubstr("[[dont_unroll]] for (; i < 64;"));
  EXPECT_THAT(glsl("unroll 4"), Not(HasSubstr("unroll")));
}

}  // namespace
}  // namespace kymo::shader
