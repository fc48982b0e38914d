// What a tree contains besides what is printed: positions, and what a node belongs to.
#include "shader/parse/parser.h"

#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

std::string parser_place(const Location& at) { return std::to_string(at.line) + ":" + std::to_string(at.column); }

TEST(ParserTest, SeveralTextsBecomeOneTree) {
  Parsed all("namespace metal { template <typename T> struct array { T v; }; }");
  all.add("using namespace metal; array<float> a;");
  EXPECT_EQ(all.text(1), "using namespace metal\na: array<float>");
}

TEST(ParserTest, DeclarationsHaveThePositionOfTheirName) {
  Parsed all("int\n  a = b + c;\nvoid f(int x) { g(x); }\nstruct S { float y; };");
  const auto& declarations = all.tree().declarations;
  EXPECT_EQ(parser_place(declarations[0]->at), "2:3");
  EXPECT_EQ(parser_place(declarations[0]->initializer->at), "2:9");
  EXPECT_EQ(parser_place(declarations[0]->initializer->operands[1]->at), "2:11");
  EXPECT_EQ(parser_place(declarations[1]->at), "3:6");
  EXPECT_EQ(parser_place(declarations[1]->parameters[0]->at), "3:12");
  EXPECT_EQ(parser_place(declarations[1]->body->statements[0]->expression->at), "3:17");
  EXPECT_EQ(parser_place(declarations[2]->at), "4:8");
  EXPECT_EQ(parser_place(declarations[2]->members[0]->at), "4:18");
}

TEST(ParserTest, MembersKnowTheirParents) {
  Parsed all("namespace a { struct S { void f(); friend void g(S) {} }; int v; } int w;");
  const ast::Declaration& space = *all.tree().declarations[0];
  ASSERT_EQ(space.members.size(), 3u);
  EXPECT_EQ(space.parent, nullptr);
  EXPECT_EQ(space.members[0]->parent, &space);
  EXPECT_EQ(space.members[0]->members[0]->parent, space.members[0]);
  EXPECT_EQ(space.members[1]->name, "g");
  EXPECT_EQ(space.members[1]->parent, &space);
  EXPECT_EQ(all.last().parent, nullptr);
}

TEST(ParserTest, AHeaderBelongsToTheStructOrToItsMember) {
  Parsed all(
      "template <typename T> struct S { void f(); template <typename U> void g(); }; struct P { template <typename U> "
      "void h(); };"
      "template <typename T> void S<T>::f() {} template <typename T> template <typename U> void S<T>::g() {}"
      "template <typename U> void P::h() {} template <> void S<int>::f() {}");
  const auto& declarations = all.tree().declarations;
  EXPECT_FALSE(declarations[2]->is_template);
  ASSERT_NE(declarations[2]->enclosing_template, nullptr);
  EXPECT_EQ(declarations[2]->enclosing_template->template_parameters[0].name, "T");
  EXPECT_TRUE(declarations[3]->is_template);
  EXPECT_EQ(declarations[3]->template_parameters[0].name, "U");
  EXPECT_EQ(declarations[3]->enclosing_template->template_parameters[0].name, "T");
  EXPECT_TRUE(declarations[4]->is_template);
  EXPECT_EQ(declarations[4]->enclosing_template, nullptr);
  EXPECT_FALSE(declarations[5]->is_template);
  EXPECT_TRUE(declarations[5]->enclosing_template->template_parameters.empty());
}

TEST(ParserTest, AVariablesArgumentsAreAlsoACast) {
  Parsed all("constant float4 v(1, 2);");
  EXPECT_TRUE(all.last().direct);
  EXPECT_EQ(all.last().direct_arguments.size(), 2u);
  EXPECT_EQ(ast::print(*all.last().initializer), "<constant float4>(1, 2)");
}

TEST(ParserTest, DefinitionsAreDistinguishedFromDeclarations) {
  Parsed all("struct S; struct S {}; void f(); void f() {} enum class E; enum class E { a };");
  const auto& declarations = all.tree().declarations;
  for (size_t i = 0; i < declarations.size(); ++i) EXPECT_EQ(declarations[i]->is_definition, i % 2 == 1) << i;
}

TEST(ParserTest, AnInstantiationHasTheAttributesOfItsFunction) {
  Parsed all("template <typename T> kernel void f(T); template [[host_name(\"x\")]] kernel void f<int>(int);");
  const ast::Declaration& made = all.last();
  EXPECT_EQ(made.kind, ast::DeclarationKind::ExplicitInstantiation);
  EXPECT_EQ(made.name, "f");
  EXPECT_TRUE(made.is_kernel && made.inner->is_kernel);
  ASSERT_EQ(made.attributes.size(), 1u);
  EXPECT_EQ(made.attributes[0].arguments[0]->text, "x");
  EXPECT_EQ(made.inner->attributes.size(), 1u);
  EXPECT_EQ(ast::print(made.inner->qualified), "f<int>");
}

TEST(ParserTest, ExpressionsKnowTheirHeight) {
  Parsed all("int a = 1 + 2 * f(3);");
  EXPECT_EQ(all.last().initializer->height, 4u);
}

TEST(ParserTest, AfterTwentyErrorsItStops) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "int a = ;\n";
  const std::string errors = parse_errors(text);
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 19);
}

}  // namespace
}  // namespace kymo::shader::testing
