// What GLSL cannot do is refused in one line; what looks like it can, is done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/translate.h"
#include "shader/emit/test_glsl_samples.h"

namespace kymo::shader::glsl_tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What it is refused for, or the text.
std::string glsl_outcome(GlslModule& module) {
  try {
    return emit_glsl(module.module()).text;
  } catch (const Rejected& rejected) {
    return "refused: " + rejected.text;
  }
}

struct TwoVariables : GlslModule {
  TwoVariables() {
    out = &buffer(kernel_, "out", real);
    statements = {declare(a, f(1)), declare(b, f(2)), declare(p, address_of(v(a)))};
  }
  std::string outcome() {
    kernel_.body = statements;
    return glsl_outcome(*this);
  }

  const Type* real = number(TypeKind::Float);
  const Type* pointer = to(real, Space::Thread);
  Function& kernel_ = kernel("run");
  Variable* out = nullptr;
  Variable& a = local("a", real);
  Variable& b = local("b", real);
  Variable& p = local("p", pointer);
  Block statements;
};

TEST(GlslPointerTest, VariablesToWhichOnePointerPointsAreInOneArray) {
  TwoVariables m;
  m.statements.push_back(
      m.if_(m.gt(m.element(m.v(*m.out), m.i(0)), m.f(0)), {m.set(m.v(m.p), m.address_of(m.v(m.b)))}));
  m.statements.push_back(m.set(m.deref(m.v(m.p)), m.v(m.b)));
  EXPECT_THAT(m.outcome(), AllOf(HasSubstr("\nuint[2] a;\n\n"),
                                 HasSubstr("  store_float_a(0, 1.0);\n  store_float_a(4, 2.0);\n  int p = 0;\n"),
                                 HasSubstr("    p = 4;\n  }\n  store_float_a(p, load_float_a(4));\n")));
}

TEST(GlslPointerTest, APointerMayBeChosen) {
  TwoVariables m;
  m.statements.push_back(
      m.set(m.deref(m.conditional(m.constant_bool(true), m.address_of(m.v(m.a)), m.address_of(m.v(m.b)))), m.f(3)));
  EXPECT_THAT(m.outcome(), HasSubstr("store_float_a(true ? 0 : 4, 3.0);"));
}

TEST(GlslPointerTest, APointerToTwoMembersIsAnOffset) {
  TwoVariables m;
  const Type* pair = m.structure("Pair", {{"x", m.real}, {"y", m.real}});
  Variable& both = m.local("both", pair);
  m.statements = {m.declare(both, m.zero(pair)), m.declare(m.p, m.address_of(m.member(m.v(both), "x"))),
                  m.set(m.v(m.p), m.address_of(m.member(m.v(both), "y")))};
  EXPECT_THAT(m.outcome(), AllOf(HasSubstr("\nuint[2] both;\n"), HasSubstr("  int p = 0;\n  p = 4;\n")));
}

TEST(GlslPointerTest, AListOfVariablesThatPointToEachOtherIsRefusedWithARemedy) {
  const Translation translation = translate(
      "struct N { int v; thread N* next; };\n"
      "kernel void k(device int* o) {\n"
      "  N a{1, nullptr}, b{2, &a}, c{3, &b};\n"
      "  for (thread N* p = &c; p; p = p->next) o[0] += p->v;\n"
      "}\n",
      {.target = Target::Glsl});
  EXPECT_THAT(translation.log,
              HasSubstr("\"c\" and \"b\", is not supported on Vulkan if these contain pointers: use an "
                        "array, and indices instead of pointers"));
}

TEST(GlslPointerTest, APointerToTwoConstantsIsRefusedWithTheirNames) {
  GlslModule m;
  Function& kernel = m.kernel("run");
  const Type* real = m.number(TypeKind::Float);
  Variable& out = m.buffer(kernel, "out", real);
  Variable& one = m.program_constant("one", m.construct(m.array(real, 2), {m.f(1), m.f(2)}));
  Variable& two = m.program_constant("two", m.construct(m.array(real, 2), {m.f(3), m.f(4)}));
  kernel.body = {
      m.set(m.deref(m.v(out)), m.deref(m.conditional(m.constant_bool(true), m.decay(m.v(one)), m.decay(m.v(two)))))};
  EXPECT_EQ(glsl_outcome(m),
            "refused: a pointer that may point to two different variables, \"one\" and \"two\", is not supported on "
            "Vulkan if they are constants, or memory that the caller gives: copy them to variables");
}

TEST(GlslPointerTest, AFunctionIsWrittenOnceForEachVariable) {
  TwoVariables m;
  Function& clear = m.function("clear", m.number(TypeKind::Void));
  Variable& what = m.parameter(clear, "what", m.pointer);
  clear.body = {m.set(m.deref(m.v(what)), m.f(0))};
  for (Variable* each : {&m.a, &m.b, &m.a})
    m.statements.push_back(m.evaluate(m.call(clear, {m.address_of(m.v(*each))})));
  EXPECT_THAT(m.outcome(),
              AllOf(HasSubstr("void clear() {\n  a = 0.0;\n}"), HasSubstr("void clear_1() {\n  b = 0.0;\n}"),
                    HasSubstr("  clear();\n  clear_1();\n  clear();\n"), Not(HasSubstr("clear_2"))));
}

TEST(GlslPointerTest, APointerThatNeverLeavesItsFunctionNeedsNoGlobal) {
  TwoVariables m;
  m.statements = {m.declare(m.a, m.f(1)), m.set(m.deref(m.address_of(m.v(m.a))), m.f(2))};
  EXPECT_THAT(m.outcome(), HasSubstr("  float a = 1.0;\n  a = 2.0;\n"));
}

TEST(GlslPointerTest, APointerToAScalarCannotBeMoved) {
  TwoVariables m;
  m.statements.push_back(m.set(m.deref(m.pointer_add(m.v(m.p), m.i(1))), m.f(3)));
  EXPECT_EQ(m.outcome(), "refused: a pointer to something that is not in an array cannot be moved on Vulkan");
}

TEST(GlslPointerTest, ANullPointerHasNoTarget) {
  TwoVariables m;
  Variable& none = m.local("none", m.pointer);
  m.statements = {m.declare(none, m.null(m.pointer)),
                  m.if_(m.ne(m.v(none), m.null(m.pointer)), {m.set(m.deref(m.v(none)), m.f(1))}),
                  m.set(m.element(m.v(*m.out), m.i(0)), m.deref(m.v(none)))};
  EXPECT_THAT(m.outcome(), HasSubstr("float_at(out_).v = 0.0;"));
}

TEST(GlslPointerTest, PointersCanBeCastToNumbersOfTheSameSize) {
  TwoVariables m;
  const Type* bits = m.to(m.number(TypeKind::UInt), Space::Thread);
  m.statements.push_back(m.set(m.deref(m.pointer_cast(bits, m.v(m.p))), m.u(7)));
  m.statements.push_back(m.set(m.v(m.b), m.convert(m.real, m.deref(m.pointer_cast(bits, m.v(m.p))))));
  EXPECT_THAT(m.outcome(),
              AllOf(HasSubstr("  a = uintBitsToFloat(7u);\n"), HasSubstr("b = float(floatBitsToUint(a));\n")));
}

TEST(GlslPointerTest, APointerToMoreBytesThanTheVariableHasIsRefused) {
  TwoVariables m;
  const Type* four = m.to(m.number(TypeKind::Float, 4), Space::Thread);
  m.statements.push_back(m.evaluate(m.deref(m.pointer_cast(four, m.v(m.p)))));
  EXPECT_EQ(m.outcome(),
            "refused: a thread float* cannot be converted to a thread float4* on Vulkan: \"a\" has only 4 bytes");
}

TEST(GlslPointerTest, AConstantWhoseBytesAreNotKnownIsNotConverted) {
  GlslModule m;
  Function& kernel = m.kernel("run");
  Variable& out = m.buffer(kernel, "out", m.number(TypeKind::UChar));
  Variable& table = m.program_constant(
      "table", m.construct(m.array(m.number(TypeKind::Float), 2), {m.f(1), m.intrinsic(Intrinsic::Sqrt, {m.f(2)})}));
  const Type* bytes = m.types().pointer(m.number(TypeKind::UChar), Space::Program, true);
  kernel.body = {m.set(m.deref(m.v(out)), m.deref(m.pointer_cast(bytes, m.decay(m.v(table)))))};
  EXPECT_THAT(glsl_outcome(m), AllOf(HasSubstr("refused: a pointer to the constant \"table\""), HasSubstr("copy")));
}

TEST(GlslPointerTest, PointersInReinterpretedMemoryAreRefused) {
  TwoVariables m;
  const Type* bytes = m.to(m.number(TypeKind::UChar), Space::Thread);
  m.statements.push_back(m.evaluate(m.deref(m.pointer_cast(bytes, m.address_of(m.v(m.p))))));
  EXPECT_THAT(m.outcome(), HasSubstr("there are pointers to variables in it"));
}

TEST(GlslPointerTest, AReinterpretedVariableIsAnArrayOfWords) {
  TwoVariables m;
  const Type* bytes = m.to(m.number(TypeKind::UChar), Space::Thread);
  m.statements.push_back(
      m.set(m.deref(m.pointer_add(m.pointer_cast(bytes, m.v(m.p)), m.i(3))), m.constant_int(7, TypeKind::UChar)));
  EXPECT_THAT(m.outcome(), AllOf(HasSubstr("\nuint[1] a;\n"), HasSubstr("  store_float_a(0, 1.0);\n"),
                                 HasSubstr("store_uchar_a(p + 3, uint8_t(7));\n"), HasSubstr("  float b = 2.0;\n")));
}

TEST(GlslKernelTest, ArgumentsOf92BytesArePushConstants) {
  for (const int buffers : {11, 12}) {
    GlslModule m;
    Function& kernel = m.kernel("many");
    for (int i = 0; i < buffers; ++i) m.buffer(kernel, "b" + std::to_string(i), m.number(TypeKind::Float));
    EXPECT_THAT(glsl_outcome(m), HasSubstr(buffers == 11 ? "  uint64_t b10;\n} arguments;\n"
                                                         : "  uint64_t b11;\n};\n"
                                                           "layout(push_constant, scalar) uniform many_block { "
                                                           "many_arguments arguments; };\n"));
  }
}

TEST(GlslKernelTest, ValuesBeyond64KiBArePassedByAddress) {
  GlslModule m;
  Function& kernel = m.kernel("large");
  m.buffer(kernel, "out", m.number(TypeKind::Float));
  m.constant_value(kernel, "small", m.number(TypeKind::Float));
  m.constant_value(kernel, "large", m.array(m.number(TypeKind::Float), 10'000));
  m.constant_value(kernel, "larger", m.array(m.number(TypeKind::Float), 16'000));
  const Emitted emitted = emit_glsl(m.module());
  const std::vector<KernelParameter>& parameters = emitted.kernels[0].parameters;
  EXPECT_EQ(parameters[0].passing, Passing::Address);
  EXPECT_EQ(parameters[1].passing, Passing::Inline);
  EXPECT_EQ(parameters[2].passing, Passing::Inline);
  EXPECT_EQ(parameters[3].passing, Passing::Address);
  EXPECT_THAT(emitted.text, HasSubstr("  uint64_t out_;\n  layout(offset = 8) uint64_t small_in[2];\n"
                                      "  layout(offset = 24) uint64_t large_in[5001];\n  uint64_t larger;\n};\n"));
}

TEST(GlslKernelTest, AKernelThatReadsTheGridTakesIt) {
  GlslModule m;
  sample_positions(m);
  const Emitted emitted = emit_glsl(m.module());
  EXPECT_TRUE(emitted.kernels[0].takes_grid);
  EXPECT_THAT(emitted.text, HasSubstr("  uint64_t out_;\n  uint kymo_grid[6];\n} arguments;"));
}

TEST(GlslKernelTest, SymbolsAreSafeToDefine) {
  for (const auto& [name, symbol] : std::vector<std::pair<std::string, std::string>>{
           {"xyz", "xyz_kernel"}, {"main", "main_"}, {"gl_go", "my_gl_go"}, {"scalar", "scalar_"}, {"a__b", "a_b"}}) {
    GlslModule m;
    m.kernel(name);
    const Emitted emitted = emit_glsl(m.module());
    EXPECT_EQ(emitted.kernels[0].symbol, symbol);
    EXPECT_EQ(emitted.kernels[0].name, name);
    EXPECT_THAT(emitted.text,
                AllOf(HasSubstr("#pragma kernel " + symbol + "\n"), HasSubstr("void " + symbol + "() {\n}")));
  }
}

TEST(GlslLimitsTest, LongSumsAreAllowedAndDeepNestingIsRefused) {
  for (const bool is_deep : {false, true}) {
    TwoVariables m;
    Value sum = m.v(m.a);
    for (int i = 0; i < 3000; ++i) sum = is_deep ? m.add(m.v(m.b), sum) : m.add(sum, m.v(m.b));
    m.statements.push_back(m.set(m.v(m.a), sum));
    const std::string outcome = m.outcome();
    EXPECT_EQ(outcome.starts_with("refused: expressions, statements and calls are nested more than"), is_deep);
  }
}

TEST(GlslLimitsTest, NestedStructuresAreVisitedOnce) {
  GlslModule m;
  const Type* doubled = m.number(TypeKind::Float);
  for (int i = 0; i < 40; ++i) doubled = m.structure("S" + std::to_string(i), {{"a", doubled}, {"b", doubled}});
  Function& kernel = m.kernel("run");
  Variable& out = m.buffer(kernel, "out", doubled);
  Variable& copy = m.local("copy", doubled);
  kernel.body = {m.declare(copy, m.zero(doubled)), m.set(m.deref(m.v(out)), m.v(copy))};
  EXPECT_THAT(glsl_outcome(m), HasSubstr("store_S39"));
}

TEST(GlslLimitsTest, TooManyFunctionsForPointersAreRefused) {
  // Each function calls the next with two variables of its own and with the two it was given.
  TwoVariables m;
  const Function* next = nullptr;
  for (int i = 0; i < 14; ++i) {
    Function& made = m.function("f" + std::to_string(i), m.number(TypeKind::Void));
    Variable& p = m.parameter(made, "p", m.pointer);
    Variable& q = m.parameter(made, "q", m.pointer);
    Variable& x = m.local("x", m.real);
    made.body = {m.declare(x, m.f(0)), m.set(m.deref(m.v(p)), m.deref(m.v(q)))};
    if (next != nullptr)
      for (const Value first : {m.v(p), m.v(q), m.address_of(m.v(x))})
        for (const Value second : {m.v(p), m.v(q), m.address_of(m.v(x))})
          made.body.push_back(m.evaluate(m.call(*next, {first, second})));
    next = &made;
  }
  m.statements.push_back(m.evaluate(m.call(*next, {m.address_of(m.v(m.a)), m.address_of(m.v(m.b))})));
  const std::string outcome = m.outcome();
  EXPECT_TRUE(outcome.starts_with("#version") || outcome.starts_with("refused: pointers to variables make more than"));
}

}  // namespace
}  // namespace kymo::shader::glsl_tests
