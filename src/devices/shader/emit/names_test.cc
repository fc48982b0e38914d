#include "shader/emit/names.h"

#include <gtest/gtest.h>

#include "shader/test_support/test_builder.h"

namespace kymo::shader {
namespace {

class NamesTest : public ::testing::Test {
 protected:
  const Reserved reserved_ = read_reserved("// Words\nfloat kernel\n---- Functions\nclamp\n");
  Names names_{reserved_};
};

TEST_F(NamesTest, NamesOfTheSourceAreKept) { EXPECT_EQ(names_.take("position"), "position"); }

TEST_F(NamesTest, ReservedWordsGetAnUnderscore) {
  EXPECT_EQ(names_.take("kernel"), "kernel_");
  EXPECT_EQ(names_.take("kernel"), "kernel_1");
}

TEST_F(NamesTest, BuiltinFunctionsAreReservedOnlyAtGlobalScope) {
  names_.enter();
  EXPECT_EQ(names_.take("clamp"), "clamp");
  EXPECT_EQ(names_.take("float"), "float_");
  names_.leave();
  EXPECT_EQ(names_.take("clamp"), "clamp_");
}

TEST_F(NamesTest, InnerNamesDoNotHideOuterNames) {
  EXPECT_EQ(names_.take("i"), "i");
  names_.enter();
  EXPECT_EQ(names_.take("i"), "i_1");
  EXPECT_EQ(names_.take("k"), "k");
  names_.leave();
  names_.enter();
  EXPECT_EQ(names_.take("k"), "k");
  names_.leave();
}

TEST_F(NamesTest, AGlobalNameMayBeReusedInside) {
  names_.enter();
  EXPECT_EQ(names_.take("Pair"), "Pair");
  EXPECT_EQ(names_.take_outermost("Pair"), "Pair_1");
  names_.leave();
  EXPECT_EQ(names_.take("Pair"), "Pair");
  EXPECT_EQ(names_.take("Pair_1"), "Pair_1_1");
}

TEST_F(NamesTest, ThePrefixOfThePreludeIsReserved) { EXPECT_EQ(names_.take("kymo_clamp"), "clamp_"); }

TEST_F(NamesTest, ManyVariablesOfOneNameAreFast) {
  for (int i = 0; i < 100'000; ++i) names_.take("t");
  EXPECT_EQ(names_.take("t"), "t_100000");
}

TEST_F(NamesTest, AnyTextBecomesALegalName) {
  EXPECT_EQ(legal_name("ns::scale<float4, 2>"), "ns_scale_float4_2");
  EXPECT_EQ(legal_name("operator+"), "operator_plus");
  EXPECT_EQ(legal_name("S::operator()"), "S_operator_call");
  EXPECT_EQ(legal_name("operator<<"), "operator_less_less");
  EXPECT_EQ(legal_name("__x__y_"), "x_y_");
  EXPECT_EQ(legal_name("3d"), "n3d");
  EXPECT_EQ(legal_name("gl_x"), "my_gl_x");
  EXPECT_EQ(legal_name("_"), "unnamed");
  EXPECT_EQ(legal_name("\xc3\xa9"), "unnamed");
}

TEST_F(NamesTest, TypesArePartsOfNames) {
  TypeTable types;
  const Type* f = types.get(TypeKind::Float);
  EXPECT_EQ(name_part(types.vector(f, 4)), "float4");
  EXPECT_EQ(name_part(types.array(types.array(f, 3), 2)), "float_3_2");
  EXPECT_EQ(name_part(types.pointer(f, Space::Device)), "device_float_pointer");
  EXPECT_EQ(name_part(types.make_struct("a::Pair<int>", nullptr)), "a_Pair_int");
}

TEST_F(NamesTest, OverloadsAreNamedAfterTheirParameters) {
  ir::Module module;
  ir::TestBuilder b(module);
  ir::Function& one = b.function("scale", b.type(TypeKind::Float));
  ir::Function& two = b.function("scale", b.type(TypeKind::Int));
  ir::Function& alone = b.function("clamp", b.type(TypeKind::Int));
  ir::Function& kernel = b.kernel("scale");
  b.parameter(one, "x", b.type(TypeKind::Float));
  b.parameter(two, "x", b.type(TypeKind::Int));
  const ir::Function* all[] = {&one, &two, &alone, &kernel};
  const auto chosen = name_functions(all, names_);
  EXPECT_EQ(chosen.at(&one), "scale_float");
  EXPECT_EQ(chosen.at(&two), "scale_int");
  EXPECT_EQ(chosen.at(&alone), "clamp_");
  EXPECT_EQ(chosen.at(&kernel), "scale");
}

}  // namespace
}  // namespace kymo::shader
