#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParseLambdasTest, CapturesOfAllKinds) {
  EXPECT_EQ(parsed_expression("[] {}"), "[]() -> auto { }");
  EXPECT_EQ(parsed_expression("[=] { return a; }"), "[=]() -> auto { return a; }");
  EXPECT_EQ(parsed_expression("[&, a, b = 1] {}"), "[&, a, b = 1]() -> auto { }");
  EXPECT_EQ(parsed_expression("[=, &a, this] {}"), "[=, &a, this]() -> auto { }");
  EXPECT_EQ(parsed_expression("[*this, &b = c] {}"), "[*this, &b = c]() -> auto { }");
  EXPECT_EQ(parsed_expression("[a..., &b...] {}"), "[a..., &b...]() -> auto { }");
}

TEST(ParseLambdasTest, ParametersResultAndMutable) {
  EXPECT_EQ(parsed_expression("[](int a, device float* b) -> float { return a; }"),
            "[](a: int, b: device float*) -> float { return a; }");
  EXPECT_EQ(parsed_expression("[a]() mutable { ++a; }"), "[a]() -> auto mutable { (++a); }");
  EXPECT_EQ(parsed_expression("[](int) constexpr noexcept { return 1; }"), "[](: int) -> auto { return 1; }");
  EXPECT_EQ(parsed_expression("[](thread int& a = b) {}"), "[](a: thread int& = b) -> auto { }");
}

TEST(ParseLambdasTest, AutoParametersMakeATemplate) {
  EXPECT_EQ(parsed_expression("[](auto a, const thread auto& b) { return a + b; }"),
            "[]<typename auto#1, typename auto#2> (a: auto#1, b: thread const auto#2&) -> auto { return (a + b); }");
  EXPECT_EQ(parsed_expression("[](auto... a) {}"), "[]<typename... auto#1> (a...: auto#1) -> auto { }");
  EXPECT_EQ(parsed_expression("[]<typename T>(T a) { return T(a); }"),
            "[]<typename T> (a: T) -> auto { return <T>(a); }");
}

TEST(ParseLambdasTest, ALambdaCanBeCalledImmediately) {
  EXPECT_EQ(parsed_expression("[](int a) { return a; }(3)"), "[](a: int) -> auto { return a; }(3)");
  EXPECT_EQ(parsed_body("f(1, [&](uint i) { out[i] = 2; }, 3);"), "f(1, [&](i: uint) -> auto { (out[i] = 2); }, 3);");
}

TEST(ParseLambdasTest, ItsBodyIsOutsideOfTemplateArguments) {
  EXPECT_EQ(parsed_expression("f<decltype([] { return a > b; })>(1)"),
            "f<decltype([]() -> auto { return (a > b); })>(1)");
}

}  // namespace
}  // namespace kymo::shader::testing
