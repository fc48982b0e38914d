// Mistakes that the message must name: what is declared twice, a division by zero, an endless template.
#include "shader/sema/test_sema.h"

namespace kymo::shader {

TEST(DeclaredTwiceTest, MembersAndEnumerators) {
  EXPECT_EQ(faults("struct S { int x; float x; };\nkernel void k(device int* o) { S s; s.x = 1; o[0] = s.x; }"),
            "1: error: \"S\" has two members \"x\"\n");
  EXPECT_EQ(faults("enum E { A, A };\nkernel void k(device int* o) { o[0] = A; }"),
            "1: error: the enum has two enumerators \"A\"\n");
  EXPECT_EQ(faults("enum E { A }; enum class F { A };\nkernel void k(device int* o) { o[0] = A; }"), "");
}

TEST(DeclaredTwiceTest, VariablesOfLoops) {
  EXPECT_EQ(faults_of("for (int j = 0; j < 2; j++) { int j = 3; b[j] = 1; }"),
            "error: the loop declares \"j\" already: give one of them another name\n");
  EXPECT_EQ(faults_of("int t[2] = {1, 2}; for (int v : t) { int v = 3; b[v] = 1; }"),
            "error: the loop declares \"v\" already: give one of them another name\n");
  EXPECT_EQ(faults_of("for (int j = 0; j < 2; j++) { { int j = 3; b[j] = 1; } }"), "");
  EXPECT_EQ(faults_of("for (int j = 0; j < 2; j++) { b[j] = 1; } int j = 2; b[0] = j;"), "");
}

TEST(DeclaredTwiceTest, IndicesOfFunctionConstants) {
  EXPECT_EQ(faults("constant int a [[function_constant(0)]];\nconstant int b [[function_constant(0)]];\n"
                   "kernel void k(device int* o) { o[0] = 1; }"),
            "2: error: the function constants \"a\" and \"b\" have the same index 0\n");
}

TEST(DeclaredTwiceTest, NamesOfKernelsAreNotEmpty) {
  EXPECT_EQ(faults("[[host_name(\"\")]] kernel void k(device int* o) { o[0] = 1; }"),
            "1: error: host_name is empty: give the kernel a name\n");
}

TEST(ConstantDivisionTest, DivisionByZeroIsNamed) {
  EXPECT_EQ(faults_of("constexpr int z = 1 / 0; b[0] = z;"), "error: the value of \"z\" divides by zero\n");
  EXPECT_EQ(faults_of("constexpr int z = 1 + 7 % (2 - 2); b[0] = z;"), "error: the value of \"z\" divides by zero\n");
  EXPECT_EQ(faults("constant int z = 4 / 0;\nkernel void k(device int* o) { o[0] = z; }"),
            "1: error: the value of \"z\" divides by zero\n");
  EXPECT_EQ(faults("kernel void k(device int* o) { int t[3 / 0]; o[0] = t[0]; }").find("divides by zero") ==
                std::string::npos,
            false);
}

TEST(EndlessTemplateTest, TheMessageNamesTheTemplate) {
  const std::string text = faults(
      "template <int N> struct S { enum { v = S<N + 1>::v }; };\n"
      "kernel void k(device int* o) { o[0] = S<0>::v; }");
  EXPECT_NE(text.find("the value of \"v\" in \"S<1"), std::string::npos) << text;
}

TEST(MissingBraceTest, ANoteShowsTheOpeningBrace) {
  EXPECT_EQ(faults("kernel void k(device int* o) {\n  if (o[0]) {\n    o[1] = 2;\n}"),
            "4: error: expected '}' after the statements, found the end of the text\n"
            "1: note: this '{' has no '}'\n");
}

TEST(NegativeIndexTest, TheMessageHasTheNumberOfTheSource) {
  EXPECT_EQ(faults("kernel void k(device int* o [[buffer(-1)]]) { o[0] = 1; }"),
            "1: error: buffers are numbered from 0 to 4095, not -1\n");
}

}  // namespace kymo::shader
