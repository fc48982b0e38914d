// Names of functions as values, pointers to functions, deduced templates, traits: what is refused, and how.
#include <gmock/gmock.h>

#include "shader/sema/test_sema.h"

namespace kymo::shader {

using ::testing::HasSubstr;

TEST(FunctionObjectsTest, APointerToAFunctionIsTheFunctionItself) {
  EXPECT_EQ(lowered(R"(float g(float x) { return x + 1.0f; }
float apply(float (*f)(float), float x) { return f(x); }
kernel void k(device float* a) { a[0] = apply(g, 2.0f); })"),
            lowered(R"(float g(float x) { return x + 1.0f; }
float apply(float (&f)(float), float x) { return f(x); }
kernel void k(device float* a) { a[0] = apply(&g, 2.0f); })"));
}

TEST(FunctionObjectsTest, APointerToAFunctionCannotChange) {
  EXPECT_EQ(faults_of("float (*p)(float) = g; p = h;", "float g(float x) { return x; } float h(float x) { return x; }"),
            "error: cannot convert \"function h\" to \"function g\" for the assigned value: a pointer to a function "
            "always points to the function that it was initialized with; use if or switch\n");
}

TEST(FunctionObjectsTest, PointersToFunctionsAreRefusedWhereTheyWouldBeData) {
  EXPECT_EQ(faults("struct S { float (*f)(float); };\nkernel void k(device float* a) { S s; }"),
            "1: error: \"f\" is a pointer to a function, which a struct cannot contain: make the function a template "
            "parameter of the struct\n");
  EXPECT_EQ(faults_of("float (*p[2])(float) = {g, g};", "float g(float x) { return x; }"),
            "error: arrays of pointers to functions are not supported: use if or switch\n");
  EXPECT_EQ(faults_of("float (*p)(float) = 3;"),
            "error: a pointer to a function needs a function or a lambda, not \"int\"\n");
  EXPECT_EQ(faults_of("float (*p)(float) = g; a[0] = p(1, 2);", "float g(float x) { return x; }"),
            "error: the pointer to \"g\" is called with 2 arguments, and takes 1\n");
  EXPECT_EQ(faults_of("S s; a[0] = f<S::g>();", R"(struct S { float g() { return 1; } };
template <float (*F)()> float f() { return F(); })"),
            "error: the member function \"g\" can only be called: use a lambda that calls it\n");
}

TEST(FunctionObjectsTest, TemplateArgumentsOfAStructAreDeducedOrAskedFor) {
  EXPECT_EQ(
      faults_of("P p{1.0f}; P q(2); P r = p; a[0] = p.x + q.x + r.x;", "template <typename T> struct P { T x; };"), "");
  EXPECT_EQ(faults_of("P p;", "template <typename T> struct P { T x; };"),
            "error: \"P\" is a template: write \"P<...>\"\n");
  EXPECT_EQ(faults_of("P p{1};", "template <typename T, int N> struct P { T x; };"),
            "error: the template arguments of \"P\" cannot be deduced here: write P<...>\n");
  EXPECT_EQ(faults("template <typename T> struct P { T x; };\nvoid f(P p) {}\nkernel void k(device float* a) {}"),
            "2: error: \"P\" is a template: write \"P<...>\"\n");
}

TEST(FunctionObjectsTest, DeductionGuidesAreRefused) {
  EXPECT_EQ(faults("template <typename T> struct P { T x; P(T a, int b) : x(a) {} };\nP(int, int) -> P<float>;\n"
                   "kernel void k(device float* a) {}"),
            "2: error: deduction guides are not supported: write the arguments of the template where it is used\n");
}

TEST(FunctionObjectsTest, ValuesAreSetByTheNamesOfFields) {
  EXPECT_EQ(faults_of("S s = {.x = 1, .z = 3}; a[0] = s.x + s.y + s.z;", "struct S { int x, y = 2, z; };"), "");
  EXPECT_EQ(faults_of("S s = {.z = 1, .x = 3};", "struct S { int x, y, z; };"),
            "error: \"S\" has no member \"x\" after those that were set before it: name the members in their order\n");
  EXPECT_EQ(faults_of("S s = {.w = 1};", "struct S { int x; };"),
            "error: \"S\" has no member \"w\" after those that were set before it: name the members in their order\n");
  EXPECT_EQ(faults_of("int s = {.w = 1};"),
            "error: \"int\" is not a struct without constructors: its values cannot be set by name\n");
}

TEST(FunctionObjectsTest, UnionsAreAlignedAsTheirMembers) {
  EXPECT_EQ(faults(R"(union B { uchar a[3]; char b[2]; }; union H { half h[3]; ushort n; uchar c; };
struct S { half first; H h; uchar c; B b; };
static_assert(sizeof(B) == 3 && alignof(B) == 1, ""); static_assert(sizeof(H) == 6 && alignof(H) == 2, "");
static_assert(sizeof(S) == 12, "");
kernel void f(device S* s) { s->h.c = s->b.a[1]; })"),
            "");
}

TEST(FunctionObjectsTest, FunctionsAreToldApartByTheFunctionThatTheyTake) {
  const std::string functions = R"(
template <typename T, typename A> void one(A a, thread T& r) { r = T(a); }
template <int N, typename A> void two(A a, int b, thread int& r) { r = N * int(a) + b; }
typedef void (one_t)(float a, thread int& r);
typedef void (two_t)(float a, int b, thread int& r);
template <one_t F> void fn(float a, int b, thread int& r) { F(a, r); }
template <two_t F> void fn(float a, int b, thread int& r) { F(a, b, r); }
typedef decltype(fn<one<int, float>>) fn_t;
template <fn_t F> void run(thread int& r) { F(3.0f, 4, r); }
)";
  EXPECT_EQ(faults_of("int r; run<fn<one<int>>>(r); run<fn<two<5>>>(r);", functions), "");
  EXPECT_THAT(faults_of("int r; fn<two<5>, 3>(1.0f, 2, r);", functions), HasSubstr("error"));
  EXPECT_THAT(faults_of("int r; run<3>(r);", functions),
              HasSubstr("a template's value must be a number, not \"function fn\""));
}

TEST(FunctionObjectsTest, UnionsRefuseWhatHasNoWords) {
  EXPECT_EQ(
      faults_of("U u;", "union U { float4 v; device float* p; };"),
      "error: a union may have numbers, vectors, and arrays and structs of them, and \"p\" is \"device float*\"\n");
  EXPECT_EQ(faults_of("U u; u.f[2] = 1;", "union U { uint n; float f[2]; };"),
            "error: the index 2 is out of range: \"float[2]\" has 2\n");
}

TEST(FunctionObjectsTest, TheCompilerAnswersQuestionsAboutTypes) {
  EXPECT_EQ(faults(R"(struct E {}; struct F : E { int x; }; union U { int i; float f; };
static_assert(__is_empty(E) && !__is_empty(F) && !__is_empty(int), "");
static_assert(__is_convertible(int, float) && !__is_convertible(F, float) && __is_convertible(F, E), "");
static_assert(__is_same(int, int) && !__is_same(int, const int) && __is_const(const int), "");
static_assert(__is_class(F) && !__is_class(U) && __is_union(U) && !__is_union(F), "");
static_assert(__is_base_of(E, F) && !__is_base_of(F, E), "");
static_assert(__is_array(int[2]) && __is_pointer(device int*) && __is_reference(thread int&), "");
static_assert(__is_constructible(float, int) && !__is_constructible(float, E), "");
kernel void k(device float* a) {})"),
            "");
  EXPECT_EQ(faults("static_assert(__is_polymorphic(int), \"\");\nkernel void k(device float* a) {}"),
            "1: error: \"__is_polymorphic\" is not supported: use the traits of <metal_type_traits>\n");
  EXPECT_EQ(faults("static_assert(__is_same(int), \"\");\nkernel void k(device float* a) {}"),
            "1: error: \"__is_same\" takes 2 types, not 1\n");
}

TEST(FunctionObjectsTest, SourcesMayAddToNamespaceMetalWhatIsThereAlready) {
  EXPECT_EQ(analyzed(R"(namespace metal {
template <typename T> struct is_empty : bool_constant<__is_empty(T)> {};
template <typename T> constexpr constant bool is_empty_v = is_empty<T>::value;
template <typename... Ts> struct make_void { typedef void type; };
template <typename... Ts> using void_t = typename make_void<Ts...>::type;
inline bool isnan(bfloat x) { return x != x; }
namespace precise { inline bfloat sqrt(bfloat x) { return bfloat(metal::sqrt(float(x))); } }
inline bfloat sqrt(bfloat x) { return bfloat(metal::sqrt(float(x))); }
}
struct E {};
static_assert(metal::is_empty_v<E> && metal::is_empty<E>::value, "");
kernel void k(device bfloat* a) { a[0] = metal::precise::sqrt(a[1]); if (metal::isnan(a[2])) a[3] = metal::sqrt(a[2]); })",
                     {}, true)
                .faults,
            "");
  EXPECT_EQ(
      analyzed("namespace metal {\nstruct Mine {};\nstruct Mine {};\n}\nkernel void k(device float* a) {}", {}, true)
          .faults,
      "3: error: \"Mine\" is defined twice\n2: note: it was defined here before\n");
}

}  // namespace kymo::shader
