// Enums are types of their own: operators of the source, conversions, overloads.

#include "shader/sema/test_sema.h"

namespace kymo::shader {

TEST(EnumsTest, OperatorsOfTheSourceAreCalled) {
  const std::string text = lowered(R"(
enum class F : uint { A = 1, B = 2 };
enum P { X = 1, Y = 2 };
namespace n { enum class G { A }; bool operator!(G g) { return true; } }
bool operator&(F a, F b) { return (uint(a) & uint(b)) != 0; }
thread F& operator|=(thread F& a, F b) { a = F(uint(a) | uint(b)); return a; }
P operator|(P a, P b) { return P(int(a) | int(b)); }
P operator++(thread P& p) { p = P(int(p) + 5); return p; }
kernel void f(device int* o) {
  F a = F::A; a |= F::B; P x = X | Y; ++x;
  o[0] = a & F::A; o[1] = x; o[2] = !n::G::A;
})");
  for (const char* called : {"int(operator&(a, 1u))", " operator|=((&a), 2u)", " = operator|(1, 2)",
                             " operator++((&x))", "bool operator!(n::G g)"})
    EXPECT_NE(text.find(called), std::string::npos) << called << text;
}

TEST(EnumsTest, AnEnumClassIsConvertedOnlyByACast) {
  constexpr std::string_view kEnums = "enum class F : uint { A = 1, B = 2 }; enum P { X, Y };\n";
  EXPECT_EQ(
      faults_of("int v = F::A;", kEnums),
      "error: cannot convert \"F\" to \"int\" for the value of \"v\": an enum class is converted only by int(...)\n");
  EXPECT_EQ(faults_of("F v = 1;", kEnums),
            "error: cannot convert \"int\" to \"F\" for the value of \"v\": a number is converted only by F(...)\n");
  EXPECT_EQ(faults_of("P v = 1;", kEnums),
            "error: cannot convert \"int\" to \"P\" for the value of \"v\": a number is converted only by P(...)\n");
  EXPECT_EQ(faults_of("b[0] = int(F::A | F::B);", kEnums),
            "error: no operator| takes (F, F): convert an enum class to a number, or define the operator\n");
  EXPECT_EQ(faults_of("b[0] = ~F::A;", kEnums), "error: the operator ~ does not take \"F\"\n");
  EXPECT_EQ(faults_of("P p = X; p++;", kEnums), "error: the operator ++ does not take \"P\"\n");
  EXPECT_EQ(faults_of("if (F::A) b[0] = 1;", kEnums),
            "error: cannot convert \"F\" to \"bool\" for a condition: an enum class is converted only by bool(...)\n");
  EXPECT_EQ(
      faults_of("F v = F(3); F w{2}; P p = P(1); int q = p; b[0] = int(v) + (v == w) + (v < w) + q + X + max(p, Y); "
                "switch (v) { case F::A: b[1] = 2; } b[p] = 1; p = i ? X : Y;",
                kEnums),
      "");
}

TEST(EnumsTest, OverloadsAndTemplatesTellEnumsFromIntegers) {
  EXPECT_EQ(lines("b[0] = g(F::A); b[1] = g(1); b[2] = g(X); b[3] = h(X); b[4] = t(F::A);",
                  "enum class F { A }; enum P { X }; int g(F) { return 10; } int g(int) { return 20; }\n"
                  "int g(P) { return 30; } int h(int) { return 40; }\n"
                  "template <typename T> struct Is { static constant constexpr int v = 50; };\n"
                  "template <> struct Is<F> { static constant constexpr int v = 60; };\n"
                  "template <typename T> int t(T) { return Is<T>::v; }"),
            "(*(b + 0)) = 10\n(*(b + 1)) = 20\n(*(b + 2)) = 30\n(*(b + 3)) = 40\n(*(b + 4)) = 60\n");
}

TEST(EnumsTest, TheIntegerOfAPlainEnumHoldsAllOfItsValues) {
  EXPECT_EQ(
      lines("b[0] = sizeof(S); b[1] = sizeof(U); b[2] = sizeof(L); b[3] = U(B) > 0; b[4] = G::V; b[5] = sizeof(C);",
            "enum S { A = -1 }; enum U { B = 0xffffffff }; enum L { D = -1, E = 0xffffffff };\n"
            "enum class C : uchar { Z }; enum Named { V = 7 }; using G = Named;"),
      "(*(b + 0)) = 4\n(*(b + 1)) = 4\n(*(b + 2)) = 8\n(*(b + 3)) = 1\n(*(b + 4)) = 7\n(*(b + 5)) = 1\n");
}

TEST(EnumsTest, AnEnumMayBeDeclaredBeforeItsValues) {
  EXPECT_EQ(lines("H h{E::B}; b[0] = int(h.e);",
                  "enum class E : uint; enum class E : uint; struct H { E e; }; enum class E : uint { A = 3, B };\n"
                  "enum class E : uint;"),
            "H h = H{4u}\n(*(b + 0)) = int(h.e)\n");
}

}  // namespace kymo::shader
