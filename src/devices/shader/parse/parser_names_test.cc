#include "shader/parse/parser_names.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace kymo::shader {
namespace {

TEST(ParserNamesTest, BuiltinTypesAreKnown) {
  ParserNames names;
  for (const char* const each : {"float", "half4", "packed_uchar3", "int", "void", "bfloat2", "ulong"}) {
    const NameMeaning found = names.find(names.global(), names.words.word(each));
    EXPECT_TRUE(found.is_type() && found.is_builtin()) << each;
  }
  EXPECT_TRUE(names.find(names.global(), names.words.word("vec")).is_template());
  EXPECT_TRUE(names.find(names.global(), names.words.word("size_t")).is_type());
  EXPECT_FALSE(names.find(names.global(), names.words.word("float5")).known());
}

TEST(ParserNamesTest, TheInnermostNameIsFound) {
  ParserNames names;
  const Word name = names.words.word("x");
  NameScope* inner = names.open(NameScope::Kind::Block, names.global());
  names.declare(names.global(), name, NameMeaning::kType);
  EXPECT_TRUE(names.find(inner, name).is_type());
  names.declare(inner, name, NameMeaning::kValue);
  EXPECT_FALSE(names.find(inner, name).is_type());
  EXPECT_TRUE(names.find(names.global(), name).is_type());
  EXPECT_EQ(names.find(inner, name).home, inner);
}

TEST(ParserNamesTest, OverloadsOfAFunctionMayBeTemplatesElsewhere) {
  ParserNames names;
  const Word name = names.words.word("max");
  NameScope* used = names.open(NameScope::Kind::Namespace, names.global());
  names.declare(used, name, NameMeaning::kValue | NameMeaning::kFunction | NameMeaning::kTemplate);
  names.declare(names.global(), name, NameMeaning::kValue | NameMeaning::kFunction);
  EXPECT_FALSE(names.find(names.global(), name).is_template());
  names.follow(names.global(), used);
  EXPECT_TRUE(names.find(names.global(), name).is_template());
}

TEST(ParserNamesTest, NamespacesThatUseEachOtherAreSearchedOnce) {
  ParserNames names;
  NameScope* a = names.open(NameScope::Kind::Namespace, names.global());
  NameScope* b = names.open(NameScope::Kind::Namespace, names.global());
  names.follow(a, b);
  names.follow(b, a);
  names.declare(b, names.words.word("x"), NameMeaning::kType);
  EXPECT_TRUE(names.find_in(a, names.words.word("x")).is_type());
  EXPECT_FALSE(names.find_in(a, names.words.word("y")).known());
}

TEST(ParserNamesTest, AQualifiedNameIsNotSearchedFurtherOut) {
  ParserNames names;
  NameScope* a = names.open(NameScope::Kind::Namespace, names.global());
  names.declare(names.global(), names.words.word("x"), NameMeaning::kType);
  EXPECT_TRUE(names.find(a, names.words.word("x")).known());
  EXPECT_FALSE(names.find_in(a, names.words.word("x")).known());
}

TEST(ParserNamesTest, MembersComeBeforeTemplateParametersBeforeTheNamespace) {
  ParserNames names;
  NameScope* space = names.open(NameScope::Kind::Namespace, names.global());
  NameScope* structure = names.open(NameScope::Kind::Struct, space);
  NameScope* parameters = names.open(NameScope::Kind::Template, names.global());
  NameScope* body = names.open(NameScope::Kind::Block, parameters);
  body->reopened = structure;
  const Word member = names.words.word("m"), parameter = names.words.word("T"), outside = names.words.word("o");
  names.declare(structure, member, NameMeaning::kType);
  names.declare(parameters, member, NameMeaning::kValue);
  names.declare(parameters, parameter, NameMeaning::kType);
  names.declare(space, parameter, NameMeaning::kValue);
  names.declare(space, outside, NameMeaning::kType);
  names.declare(names.global(), outside, NameMeaning::kValue);
  EXPECT_TRUE(names.find(body, member).is_type());
  EXPECT_TRUE(names.find(body, parameter).is_type());
  EXPECT_TRUE(names.find(body, outside).is_type());
}

TEST(ParserNamesTest, ASpecialisationAddsItsNamesToTheTemplate) {
  ParserNames names;
  NameScope* primary = names.open(NameScope::Kind::Struct, names.global());
  NameScope* special = names.open(NameScope::Kind::Struct, names.global());
  special->primary = primary;
  names.declare(special, names.words.word("type"), NameMeaning::kType);
  EXPECT_TRUE(names.find_in(primary, names.words.word("type")).is_type());
}

TEST(ParserNamesTest, ManyNamesAreKept) {
  ParserNames names;
  std::deque<std::string> texts;
  for (int i = 0; i < 20000; ++i) {
    texts.push_back("name" + std::to_string(i));
    names.declare(names.global(), names.words.word(texts.back()),
                  i % 2 == 0 ? NameMeaning::kType : NameMeaning::kValue);
  }
  for (int i = 0; i < 20000; ++i)
    EXPECT_EQ(names.find(names.global(), names.words.word(texts[i])).is_type(), i % 2 == 0);
}

}  // namespace
}  // namespace kymo::shader
