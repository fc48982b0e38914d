// Copy constructors of the source, and where C++ does not copy.

#include "shader/sema/test_sema.h"

namespace kymo::shader {
namespace {

constexpr std::string_view kCopies =
    "struct A { int x; A(int v) : x(v) {} A(thread const A& q) : x(q.x + 1) {} };\n"
    "int by_value(A a) { return a.x; } int by_reference(thread const A& a) { return a.x; }\n"
    "A same(A a) { return a; } A made(int v) { A a(v); return a; }\n"
    "thread A& itself(thread A& a) { return a; }\n"
    "struct Outer { int n; A a; A two[2]; };\n";

size_t calls_of(std::string_view text, std::string_view name) {
  size_t count = 0;
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) ++count;
  return count;
}

// The calls of the copy constructor in the kernel.
size_t copies_in(std::string_view body) {
  return calls_of(lines(body, kCopies), "make_A(pointer_cast<thread const A*>");
}

}  // namespace

TEST(CopiesTest, VariablesArgumentsAndMembersAreCopiedByTheConstructor) {
  EXPECT_EQ(copies_in("A c(5); A d = c; A e(d); A f{e}; auto g = f; b[0] = g.x;"), 4u);
  EXPECT_EQ(copies_in("A c(5); b[0] = by_value(c);"), 1u);
  EXPECT_EQ(copies_in("A c(5); A d = itself(c); b[0] = d.x;"), 1u);
  EXPECT_EQ(copies_in("A c(5); Outer o{1, c, {c, A(2)}}; Outer p = o; b[0] = p.a.x;"), 5u);
  EXPECT_EQ(copies_in("A c(5); auto f = [c] { return c.x; }; b[0] = f();"), 1u);
}

TEST(CopiesTest, NewValuesAndReferencesAreNotCopied) {
  EXPECT_EQ(
      copies_in(
          "A c = A(5); A d(made(3)); A e = made(4); b[0] = by_value(A(1)) + by_value(made(2)) + c.x + d.x + e.x;"),
      0u);
  EXPECT_EQ(copies_in("A c(5); thread A& r = c; b[0] = by_reference(c) + r.x; A d(2); d = c;"), 0u);
  const std::string text =
      lowered(std::string(kCopies) + "kernel void f(device int* b) { b[0] = made(1).x + same(A(2)).x; }");
  EXPECT_EQ(calls_of(text, "return make_A(pointer_cast<thread const A*>((&a)))"), 1u) << text;  // of same()
}

TEST(CopiesTest, ADeletedCopyConstructorIsNamed) {
  EXPECT_EQ(faults_of("A c(5); A d = c;", "struct A { int x; A(int v) : x(v) {} A(thread const A&) = delete; };"),
            "error: \"A\" cannot be copied: its copy constructor is deleted\n");
  EXPECT_EQ(faults_of("A c(5); A d = c; b[0] = d.x;",
                      "struct A { int x; A(int v) : x(v) {} A(thread const A&) = default; };"),
            "");
}

}  // namespace kymo::shader
