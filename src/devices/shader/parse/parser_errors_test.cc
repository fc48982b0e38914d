#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParserErrorsTest, AMissingSemicolonIsReportedAtItsPlace) {
  EXPECT_EQ(parse_errors(R"(int a = 1
int b = 2;)"),
            R"(1:10: expected ';' after the declaration of "a", found "int")");
  EXPECT_EQ(parse_errors(R"(void f() {
  int a = 1
  a = 2
  return
})"),
            R"(2:12: expected ';' after the declaration of "a", found "a"
3:8: expected ';' after the expression, found "return"
4:9: expected ';' after "return", found "}")");
  EXPECT_EQ(parse_errors("int a b;"), R"(1:7: expected ';' after the declaration of "a", found "b")");
  EXPECT_EQ(parse_errors(R"(struct S {
  int a
})"),
            R"(2:8: expected ';' after the declaration of "a", found "}"
3:2: expected ';' after the declaration of "S", found the end of the text)");
  EXPECT_EQ(parse_errors(R"(struct S {
  int a;
}
kernel void f() {})"),
            R"(3:2: expected ';' after the declaration of "S", found "kernel")");
  EXPECT_EQ(parsed(R"(struct S {}
s;)"),
            R"(struct S { }
s: S)");
}

TEST(ParserErrorsTest, ParsingContinuesAfterAnError) {
  EXPECT_EQ(parse_errors(R"(int a = ;
int b = );
void f() { x + ; y + ; }
int c = 1 2;)"),
            R"x(1:9: expected an expression, found ";"
2:9: expected an expression, found ")"
3:16: expected an expression, found ";"
3:22: expected an expression, found ";"
4:11: expected ';' after the declaration of "c", found "2")x");
  EXPECT_EQ(parsed("int a = ; struct S { int b c; int d; }; void f() { a +; b; }"), R"(struct S { d: int; }
fn f() -> void { b; }
1:9: expected an expression, found ";"
1:28: expected ';' after the declaration of "b", found "c"
1:55: expected an expression, found ";")");
}

TEST(ParserErrorsTest, AnErrorEndsWithItsStatement) {
  EXPECT_EQ(parsed(R"(void f() {
  if (a b) { c; } else { d; } e; for (int i = 0 i < 3; i++) { g; }
  h; float x[2] = {1 2}; y; })"),
            R"(fn f() -> void { if (b: a) { c; } else { d; } e; h; y; }
2:49: expected ';' after the beginning of "for", found "i"
3:22: expected '}' after the values, found "2")");
}

TEST(ParserErrorsTest, ErrorsNameTheExpectedToken) {
  EXPECT_EQ(parse_errors("void f(int a { }"), R"(1:14: expected ')' after the parameters of "f", found "{")");
  EXPECT_EQ(parse_errors("void f() { g(1, 2; }"), R"(1:18: expected ')' after the arguments, found ";")");
  EXPECT_EQ(parse_errors("void f() { a[1; }"), R"(1:15: expected ']' after the index, found ";")");
  EXPECT_EQ(parse_errors("int a[3;"), R"(1:8: expected ']' after the size of the array, found ";")");
  EXPECT_EQ(parse_errors("namespace a int b;"), R"(1:13: expected '{' after namespace "a", found "int")");
  EXPECT_EQ(parse_errors("enum E { 1 };"), R"(1:10: expected the name of an enumerator, found "1")");
  EXPECT_EQ(parse_errors("template <typename T> ;"),
            R"(1:23: expected a function, a struct, an alias or a variable after "template <...>", found ";")");
  EXPECT_EQ(parse_errors("void f() { static_cast float>(1); }"),
            R"(1:24: expected '<' after "static_cast", found "float")");
  EXPECT_EQ(parse_errors("using A int;"), R"(1:9: expected ';' after the using declaration, found "int")");
  EXPECT_EQ(parse_errors("int f( {}"), R"(1:10: expected ')' after the arguments of "f", found the end of the text)");
  EXPECT_EQ(parse_errors("struct S { int 1; };"), R"(1:16: expected a name after the type, found "1")");
  EXPECT_EQ(parse_errors("void f() { g(a,); }"), R"x(1:16: expected a value after ',', found ")")x");
  EXPECT_EQ(parse_errors("static_assert(1, 2);"),
            R"(1:18: expected a text as the second argument of static_assert, found "2")");
}

TEST(ParserErrorsTest, TypesAreNotValues) {
  EXPECT_EQ(parse_errors("void f() { int a = float; }"),
            R"(1:20: "float" is a type, and a value was expected: found ";" after it)");
  EXPECT_EQ(parse_errors("void f() { return 1 + int2; }"),
            R"(1:23: "int2" is a type, and a value was expected: found ";" after it)");
  EXPECT_EQ(parse_errors("int float = 1;"), R"(1:5: "float" is a type: nothing else can be called so)");
  EXPECT_EQ(parse_errors("void f(int half) {}"), R"(1:12: "half" is a type: nothing else can be called so)");
}

TEST(ParserErrorsTest, DeclarationsWithoutAType) {
  EXPECT_EQ(parse_errors("f(1);"), R"(1:1: expected a declaration, found "f": is it an undefined macro?)");
  EXPECT_EQ(parse_errors("struct S { f(); };"), R"(1:12: expected a type before "f")");
  EXPECT_EQ(parse_errors("const x = 1;"), R"(1:9: expected a name after the type, found "=")");
  EXPECT_EQ(parse_errors("inline f() {}"), R"(1:8: expected a declaration, found "f": is it an undefined macro?)");
  EXPECT_EQ(parse_errors("+ 1;"), R"(1:1: expected a declaration, found "+")");
}

TEST(ParserErrorsTest, ErrorsNameRefusedFeatures) {
  EXPECT_EQ(parse_errors("void f() { goto a; }"), "1:12: goto is not supported");
  EXPECT_EQ(parse_errors("void f() { a: b; }"), "1:12: goto and its labels are not supported");
  EXPECT_EQ(parse_errors("void f() { try { } catch (...) { } }"), R"(1:12: exceptions ("try") are not supported
1:20: exceptions ("catch") are not supported)");
  EXPECT_EQ(parse_errors("void f() { throw 1; }"), R"(1:12: exceptions ("throw") are not supported)");
  EXPECT_EQ(parse_errors("void f() { int* a = new int; }"), R"(1:21: "new" is not supported)");
  EXPECT_EQ(parse_errors("void f() { delete a; }"), R"(1:12: "delete" is not supported)");
  EXPECT_EQ(parse_errors("void f() { typeid(a); }"), R"(1:12: run-time type information ("typeid") is not supported)");
  EXPECT_EQ(parse_errors("void f() { dynamic_cast<A*>(b); }"),
            R"(1:12: run-time type information ("dynamic_cast") is not supported)");
  EXPECT_EQ(parse_errors("struct S { virtual void f(); };"),
            R"(1:12: virtual functions and bases ("virtual") are not supported)");
  EXPECT_EQ(parse_errors("struct S { void f() override; };"),
            R"(1:21: virtual functions ("override") are not supported)");
  EXPECT_EQ(parse_errors("struct S : virtual B {};"),
            R"(1:12: virtual functions and bases ("virtual") are not supported)");
  EXPECT_EQ(parse_errors("struct S { void f() = 0; };"), R"(1:23: virtual functions ("= 0") are not supported)");
  EXPECT_EQ(parse_errors("template <typename T> concept C = true;"), R"(1:23: concepts ("concept") are not supported)");
  EXPECT_EQ(parse_errors("template <typename T> requires true void f();"),
            R"(1:23: concepts ("requires") are not supported)");
  EXPECT_EQ(parse_errors("void f(int a, ...);"),
            R"(1:15: variable arguments ("...") are not supported: use a parameter pack)");
  EXPECT_EQ(parse_errors(R"(asm("x");)"), R"(1:1: assembly ("asm") is not supported)");
  EXPECT_EQ(parse_errors("thread_local int a;"), "1:1: thread_local is not supported");
}

TEST(ParserErrorsTest, AnEnumNeedsANameOrEnumerators) {
  EXPECT_EQ(parse_errors("typedef enum : uint mode;"), "1:21: expected the enumerators of the enum, found \"mode\"");
  EXPECT_EQ(parse_errors("enum E : uint; E e;"), "");
}

TEST(ParserErrorsTest, PointersToMembersAreRefused) {
  EXPECT_EQ(parse_errors("int S::* p;"), "1:5: pointers to members are not supported");
}

TEST(ParserErrorsTest, ErrorsSuggestAlternatives) {
  EXPECT_EQ(parse_errors("struct S { int a : 3; };"),
            "1:18: bit-fields are not supported: declare an integer, and take its bits by shifts and masks");
  EXPECT_EQ(parse_errors("void f() { S s = {1, .a = 1}; }"),
            "1:22: a list of values has names for all of its values, or for none: {.x = 1, .y = 2}");
  EXPECT_EQ(parse_errors("void f() { S s = {.a.b = 1}; }"),
            "1:21: a field of a field cannot be set by name: write {.a = {.b = 1}}");
  EXPECT_EQ(parse_errors("void f() { int a(); }"),
            R"x(1:17: "a()" would declare a function: write "a{}", or nothing after the name)x");
  EXPECT_EQ(parse_errors("decltype(auto) f();"),
            "1:10: decltype(auto) is not supported: write auto, auto& or the type");
  EXPECT_EQ(parse_errors("void f() { template <typename T> int g; }"),
            "1:12: a template cannot be declared inside a function: use a lambda with auto parameters");
  EXPECT_EQ(parse_errors("void f() { switch (a) { case 1 ... 3: ; } }"),
            "1:32: ranges in case labels are not supported");
  EXPECT_EQ(parse_errors("device constant int* a;"),
            R"(1:8: "constant" contradicts "device": an object is in one address space only)");
  EXPECT_EQ(parse_errors("using enum E;"), R"(1:1: "using enum" is not supported)");
  EXPECT_EQ(parse_errors("kernel int a;"), R"(1:12: "a" is a variable: only functions can be kernels)");
  EXPECT_EQ(parse_errors("void f(struct S { int a; } s);"),
            R"x(1:17: a struct cannot be defined here: define it before this
1:29: expected a name after the type, found ")")x");
}

TEST(ParserErrorsTest, UnclosedBracketsAreReportedOnce) {
  EXPECT_EQ(parse_errors("namespace a { struct S { void f() { if (b) {"),
            R"(1:45: expected '}' after the members of "S", found the end of the text)");
  EXPECT_EQ(parse_errors("void f() { (((("), "1:16: expected an expression, found the end of the text");
  EXPECT_EQ(parse_errors("template <typename"),
            "1:19: expected '>' after the template's parameters, found the end of the text");
  EXPECT_EQ(parse_errors("[["), "1:3: expected the name of an attribute, found the end of the text");
}

TEST(ParserErrorsTest, UnmatchedClosingBracketsAreReported) {
  EXPECT_EQ(parse_errors("} int a; }"), R"(1:1: "}" without an opening brace
1:10: "}" without an opening brace)");
}

}  // namespace
}  // namespace kymo::shader::testing
