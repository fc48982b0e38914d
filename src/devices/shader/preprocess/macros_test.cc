// Macros, as a preprocessed source shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shader/preprocess/text_test_support.h"

namespace kymo::shader {
namespace {

using ::testing::HasSubstr;

TEST(MacroTest, ANameIsReplacedByItsBody) {
  EXPECT_EQ(preprocessed("#define N 4\nint a[N];"), "int a[4];");
  EXPECT_EQ(preprocessed("#define NOTHING\na NOTHING b"), "a b");
  EXPECT_EQ(preprocessed("#define A (x)\nA"), "(x)");
}

TEST(MacroTest, ArgumentsTakeThePlaceOfParameters) {
  EXPECT_EQ(preprocessed("#define MAX(a, b) ((a) > (b) ? (a) : (b))\nMAX(x + 1, f(y, z))"),
            "((x + 1) > (f(y, z)) ? (x + 1) : (f(y, z)))");
  EXPECT_EQ(preprocessed("#define F() x\nF() F( )"), "x x");
  EXPECT_EQ(preprocessed("#define F(a, b) [a|b]\nF(,) F(1,) F(,2)"), "[|] [1|] [|2]");
}

TEST(MacroTest, ACallMaySpanLines) { EXPECT_EQ(preprocessed("#define F(a, b) a b\nF\n(1,\n 2) x"), "1 2 x"); }

TEST(MacroTest, ANameWithoutItsParenthesesStays) { EXPECT_EQ(preprocessed("#define F(a) a\nF x F"), "F x F"); }

TEST(MacroTest, AMacroDoesNotExpandInsideItself) {
  EXPECT_EQ(preprocessed("#define x x + 1\nx"), "x + 1");
  EXPECT_EQ(preprocessed("#define a b\n#define b a\na b"), "a b");
  EXPECT_EQ(preprocessed("#define f(x) f(x) g\n#define g f(1)\nf(f(2))"), "f(f(2) f(1)) f(1)");
}

TEST(MacroTest, ANameThatWasNotExpandedIsNeverExpanded) {
  // The second foo comes out of foo's own expansion, so it is final even as an argument.
  EXPECT_EQ(preprocessed("#define foo foo a\n#define id(x) x\nid(id(foo))"), "foo a");
}

// The examples of the C and C++ standards (rescanning; stringizing and pasting).
TEST(MacroTest, ExamplesOfTheStandardWork) {
  constexpr std::string_view kDefinitions = R"(
#define x 3
#define f(a) f(x * (a))
#undef x
#define x 2
#define g f
#define z z[0]
#define h g(~
#define m(a) a(w)
#define w 0,1
#define t(a) a
#define p() int
#define q(x) x
#define r(x,y) x ## y
#define str(x) # x
)";
  const auto expand = [&](std::string_view text) {
    return preprocessed(std::string(kDefinitions) + std::string(text));
  };
  EXPECT_EQ(expand("f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);"),
            "f(2 * (y+1)) + f(2 * (f(2 * (z[0])))) % f(2 * (0)) + t(1);");
  EXPECT_EQ(expand("g(x+(3,4)-w) | h 5) & m\n(f)^m(m);"), "f(2 * (2+(3,4)-0,1)) | f(2 * (~ 5)) & f(2 * (0,1))^m(0,1);");
  EXPECT_EQ(expand("p() i[q()] = { q(1), r(2,3), r(4,), r(,5), r(,) };"), "int i[] = { 1, 23, 4, 5, };");
  EXPECT_EQ(expand("char c[2][6] = { str(hello), str() };"), "char c[2][6] = { \"hello\", \"\" };");
}

TEST(MacroTest, TheExampleOfPastingInTheStandardWorks) {
  EXPECT_EQ(preprocessed("#define hash_hash # ## #\n#define mkstr(a) # a\n#define in_between(a) mkstr(a)\n"
                         "#define join(c, d) in_between(c hash_hash d)\njoin(x, y)"),
            "\"x ## y\"");
}

TEST(MacroTest, SharpMakesAString) {
  EXPECT_EQ(preprocessed("#define S(x) #x\nS( a  + \"b\\n\" 'c' /* d */ e )"), R"("a + \"b\\n\" 'c' e")");
  EXPECT_EQ(preprocessed("#define S(x) #x\n#define X(x) S(x)\n#define N 1\nS(N) X(N)"), "\"N\" \"1\"");
  EXPECT_EQ(preprocessed("#define S(...) #__VA_ARGS__\nS(a, b) S()"), "\"a, b\" \"\"");
  EXPECT_EQ(preprocessed("#define S(x) #x\nS(a>>b)"), "\"a>>b\"");
}

TEST(MacroTest, PasteMakesOneToken) {
  EXPECT_EQ(preprocessed("#define C(a, b) a##b\nC(x, 1) C(0x, FF) C(1., 5h) C(+, =) C(<<, =) C(, a)"),
            "x1 0xFF 1.5h += <<= a");
  EXPECT_EQ(preprocessed("#define C(a, b, c) a ## b ## c\n#define xyz done\nC(x, y, z) C(x,,z) C(,,)"), "done xz");
  EXPECT_EQ(preprocessed("#define LONG a ## b\nLONG"), "ab");
  EXPECT_EQ(preprocessed("#define C(a, b) a##b\n1 C(>, >) 2"), "1 >> 2");
}

TEST(MacroTest, ABadPasteIsAnError) {
  EXPECT_EQ(preprocessed("#define C(a, b) a##b\nC(+, x)"), "+ x | error: ## cannot make one token of \"+\" and \"x\"");
  EXPECT_THAT(preprocessed("#define C(a, b) a##b\nC(/, /)"), HasSubstr("## cannot make"));
}

TEST(MacroTest, VariableArgumentsAreTheRest) {
  EXPECT_EQ(preprocessed("#define F(a, ...) a: __VA_ARGS__;\nF(1, 2, (3, 4)) F(1) F(1,)"), "1: 2, (3, 4); 1:; 1:;");
  EXPECT_EQ(preprocessed("#define F(args...) g(args)\nF(1, 2)"), "g(1, 2)");
  EXPECT_EQ(preprocessed("#define F(a, ...) g(a, ## __VA_ARGS__)\nF(1) F(1, 2, 3)"), "g(1) g(1, 2, 3)");
}

TEST(MacroTest, InstantiationsByMacroWork) {
  EXPECT_EQ(preprocessed("#define INSTANTIATE(T)                              \\\n"
                         "  template [[host_name(\"fill_\" #T)]] kernel void fill<T>( \\\n"
                         "      device T * out [[buffer(0)]])\n"
                         "INSTANTIATE(float);\n"),
            "template [[host_name(\"fill_\" \"float\")]] kernel void fill<float>( device float * out [[buffer(0)]]);");
}

TEST(MacroTest, TokensOfAMacroHaveThePositionOfItsName) {
  const Preprocessed source("#define F(a) a + 1\n#define G F(\n\n  G\n 2) x");
  ASSERT_EQ(source.text(), "2 + 1 x");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(source.tokens()[i].at, (Location{0, 4, 3})) << i;
  EXPECT_EQ(source.tokens()[3].at, (Location{0, 5, 5}));
}

TEST(MacroTest, LineAndFileAreThoseOfTheOutermostName) {
  EXPECT_EQ(preprocessed("__LINE__\n__LINE__ __FILE__\n#define L __LINE__\n#define F(x) L x\n\nF(\n__LINE__)"),
            "1 2 \"shader\" 6 6");
}

TEST(MacroTest, CounterIncrements) { EXPECT_EQ(preprocessed("__COUNTER__ __COUNTER__ __COUNTER__"), "0 1 2"); }

TEST(MacroTest, PredefinedMacrosExist) {
  EXPECT_EQ(preprocessed("__METAL__ __METAL_VERSION__ __METAL_MACOS__ __HAVE_BFLOAT__ __cplusplus KYMO"),
            "1 320 1 1 201703L 1");
}

TEST(MacroTest, OperatorsThatAreWordsKeepTheirSpellingInMacros) {
  EXPECT_EQ(preprocessed("#define F(op) f_##op##_bool(a op b) #op op##type\nF(and) F(not_eq)"),
            "f_and_bool(a && b) \"and\" andtype f_not_eq_bool(a != b) \"not_eq\" not_eqtype");
}

TEST(MacroTest, PragmasInTheMiddleAreDropped) {
  EXPECT_EQ(preprocessed("#define UNROLL _Pragma(\"unroll\")\nUNROLL for _Pragma(\"a\") x"), "for x");
}

TEST(MacroTest, OptionsDefineMacros) {
  EXPECT_EQ(preprocessed("A B C D(2) E", {"A", "B=2 + 3", "C=", "D(x)=x*x", "E=\"a=b\"\n"}), "1 2 + 3 2*2 \"a=b\"");
  EXPECT_EQ(preprocessed("KYMO", {"KYMO=2"}), "2");
}

TEST(MacroTest, WrongOptionsAreReported) {
  for (const std::string option :
       {"", "=1", "1A", "A B=1", "A-B", "F(x=1", "F(x)y=1", "F(1)=x", "A=\"x", "__LINE__=1"}) {
    EXPECT_THAT(preprocessed("x", {option}), HasSubstr("x | error: cannot define \"" + option + "\": ")) << option;
  }
}

TEST(MacroTest, UndefRemovesAMacro) { EXPECT_EQ(preprocessed("#define A 1\n#undef A\n#undef B\nA"), "A"); }

TEST(MacroTest, ASecondDefinitionMustBeTheSame) {
  EXPECT_EQ(preprocessed("#define A 1 + x\n#define A   1  + /**/ x\nA"), "1 + x");
  EXPECT_EQ(preprocessed("#define A 1\n#define A 2\nA"),
            "2 | warning: macro \"A\" is defined again, and differently | note: it was defined here");
  EXPECT_THAT(preprocessed("#define A 1+x\n#define A 1 +x\n"), HasSubstr("defined again"));
  EXPECT_THAT(preprocessed("#define F(a) a\n#define F(b) b\n"), HasSubstr("defined again"));
}

TEST(MacroTest, TheNumberOfArgumentsIsChecked) {
  EXPECT_EQ(preprocessed("#define F(a, b) a\nF(1)"), "F | error: macro \"F\" takes 2 arguments, but 1 is given");
  EXPECT_THAT(preprocessed("#define F(a) a\nF(1, 2, 3)"), HasSubstr("takes 1 argument, but 3 are given"));
  EXPECT_THAT(preprocessed("#define F() a\nF(1)"), HasSubstr("takes 0 arguments, but 1 is given"));
  EXPECT_THAT(preprocessed("#define F(a, b, ...) a\nF(1)"), HasSubstr("takes at least 2 arguments, but 1 is given"));
}

TEST(MacroTest, ArgumentsMustEnd) {
  EXPECT_EQ(preprocessed("#define F(a) a\nx F(1, (2)"),
            "x F | error: the arguments of macro \"F\" do not end: \")\" is missing");
}

TEST(MacroTest, WrongDefinitionsAreReported) {
  const auto fault = [](std::string_view definition) { return preprocessed("#define " + std::string(definition)); };
  EXPECT_THAT(fault(""), HasSubstr("#define must be followed by a name"));
  EXPECT_THAT(fault("1"), HasSubstr("\"1\" cannot be the name of a macro"));
  EXPECT_THAT(fault("defined"), HasSubstr("\"defined\" cannot be the name"));
  EXPECT_THAT(fault("__FILE__ 1"), HasSubstr("\"__FILE__\" has a meaning of its own"));
  EXPECT_THAT(fault("F(a"), HasSubstr("the parameters of macro \"F\" must be names"));
  EXPECT_THAT(fault("F(a,)"), HasSubstr("the parameters of macro \"F\" must be names"));
  EXPECT_THAT(fault("F(..., a) a"), HasSubstr("the parameters of macro \"F\" must be names"));
  EXPECT_THAT(fault("F(a b) a"), HasSubstr("the parameters of macro \"F\" must be names"));
  EXPECT_THAT(fault("F(a, a) a"), HasSubstr("has two parameters \"a\""));
  EXPECT_THAT(fault("F(a) #b"), HasSubstr("# in macro \"F\" must be followed by one of its parameters"));
  EXPECT_THAT(fault("F(a) a #"), HasSubstr("# in macro \"F\" must be followed by one of its parameters"));
  EXPECT_THAT(fault("F(a) ## a"), HasSubstr("## in macro \"F\" needs something on both of its sides"));
  EXPECT_THAT(fault("A a ##"), HasSubstr("## in macro \"A\" needs something on both of its sides"));
  EXPECT_THAT(fault("F(a) a ## ## a"), HasSubstr("needs something on both of its sides"));
  EXPECT_THAT(fault("F(a) __VA_ARGS__"), HasSubstr("__VA_ARGS__ is allowed only in macros that end"));
  EXPECT_THAT(fault("F(...) __VA_OPT__(x)"), HasSubstr("__VA_OPT__ is not supported: write ## before __VA_ARGS__"));
}

TEST(MacroTest, NumbersAreCheckedAfterExpansion) {
  EXPECT_EQ(preprocessed("1f x"), "0 x | error: \"1f\" is not a number: write 1.0f");
  const Preprocessed source("1 1.5 1e3h 0x1p2");
  EXPECT_EQ(source.tokens()[0].kind, TokenKind::Integer);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(source.tokens()[i].kind, TokenKind::Float);
}

}  // namespace
}  // namespace kymo::shader
