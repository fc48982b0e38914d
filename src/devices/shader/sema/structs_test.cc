#include "shader/sema/test_sema.h"

// Structs: members, constructors, operators, bases, unions.

namespace kymo::shader {

TEST(StructsTest, MemberFunctionsTakeTheObject) {
  EXPECT_EQ(
      "\n" +
          lowered(
              R"(struct P { float x, y; float sum() const { return x + y; } void scale(float s) { x *= s; this->y *= s; } };
kernel void f(device float* a, device P* p) { P q = p[0]; q.scale(2); a[0] = q.sum(); p[1].scale(3); a[1] = p->sum(); })"),
      R"(
void P_scale(thread P* self, float s) {
  (*self).x = ((*self).x * s)
  (*self).y = ((*self).y * s)
}
float P_sum(thread const P* self) {
  return ((*self).x + (*self).y)
}
void P_scale(device P* self, float s) {
  (*self).x = ((*self).x * s)
  (*self).y = ((*self).y * s)
}
float P_sum(device const P* self) {
  return ((*self).x + (*self).y)
}
kernel "f" void f([[buffer(0)]] device float* a, [[buffer(1)]] device P* p) {
  P q [[address_taken]] = (*(p + 0))
  P_scale((&q), 2.0f)
  (*(a + 0)) = P_sum(pointer_cast<thread const P*>((&q)))
  P_scale((p + 1), 3.0f)
  (*(a + 1)) = P_sum(pointer_cast<device const P*>(p))
}
)");
}

TEST(StructsTest, ConstructorsReturnTheObject) {
  EXPECT_EQ(
      "\n" +
          lowered(
              R"(struct P { int x; float y = 2.5; P() = default; P(int v) : x(v) { y += x; } P(int v, float w) : P(v) { y = w; } };
kernel void f(device float* a) { P p; P q(3); P r = 4; P s{5, 6}; a[0] = p.y + q.y + r.y + s.y + P(7).y; })"),
      R"(
P make_P() {
  P self = P{}
  self.y = 2.5f
  return self
}
P make_P(int v) {
  P self
  self.x = v
  self.y = 2.5f
  self.y = (self.y + float(self.x))
  return self
}
P make_P(int v, float w) {
  P self
  self = make_P(v)
  self.y = w
  return self
}
kernel "f" void f([[buffer(0)]] device float* a) {
  P p = make_P()
  P q = make_P(3)
  P r = make_P(4)
  P s = make_P(5, 6.0f)
  (*(a + 0)) = ((((p.y + q.y) + r.y) + s.y) + make_P(7).y)
}
)");
}

TEST(StructsTest, OperatorsAreMembersOrFree) {
  EXPECT_EQ("\n" + lines(R"(V v = V(1);
V w = v + 2.0f;
w += v;
w = -w;
a[0] = w * 3;
if (v == w) a[1] = v[2] + v(3);
bool l = v < w;
V u = ++w;)",
                         R"(struct V {
  float x;
  V(float v) : x(v) {}
  V operator+(V o) const { return V(x + o.x); }
  V operator-() const { return V(-x); }
  thread V& operator+=(V o) { x += o.x; return *this; }
  thread V& operator++() { x += 1; return *this; }
  bool operator==(V o) const { return x == o.x; }
  float operator[](int k) const { return x + k; }
  float operator()(float k) const { return x * k; }
};
float operator*(V v, float k) { return v.x * k; }
bool operator<(V p, V q) { return p.x < q.x; })"),
            R"(
V v [[address_taken]] = make_V(1.0f)
V w [[address_taken]] = V_operator+(pointer_cast<thread const V*>((&v)), make_V(2.0f))
V_operator+=((&w), v)
w = V_operator-(pointer_cast<thread const V*>((&w)))
(*(a + 0)) = operator*(w, 3.0f)
if V_operator==(pointer_cast<thread const V*>((&v)), w) {
  (*(a + 1)) = (V_operator[](pointer_cast<thread const V*>((&v)), 2) + V_operator()(pointer_cast<thread const V*>((&v)), 3.0f))
}
bool l = operator<(v, w)
thread V* t = V_operator++((&w))
V u = (*t)
)");
}

TEST(StructsTest, ConversionOperatorsAreUsedForNumbers) {
  EXPECT_EQ("\n" + lines(R"(N n = {3};
b[0] = n;
b[1] = n + 1;
a[0] = n;
if (n) b[2] = 1;
b[3] = int(n) + static_cast<int>(E{2});
switch (n) { case 1: break; }
b[n] = 4;)",
                         R"(struct N { int v; operator int() const { return v; } };
struct E { int v; explicit operator int() const { return v; } };)"),
            R"(
N n [[address_taken]] = N{3}
(*(b + 0)) = N_convert(pointer_cast<thread const N*>((&n)))
(*(b + 1)) = (N_convert(pointer_cast<thread const N*>((&n))) + 1)
(*(a + 0)) = float(N_convert(pointer_cast<thread const N*>((&n))))
if bool(N_convert(pointer_cast<thread const N*>((&n)))) {
  (*(b + 2)) = 1
}
E object [[address_taken]] = E{2}
(*(b + 3)) = (N_convert(pointer_cast<thread const N*>((&n))) + E_convert(pointer_cast<thread const E*>((&object))))
switch N_convert(pointer_cast<thread const N*>((&n))) {
case 1:
  break
}
(*(b + N_convert(pointer_cast<thread const N*>((&n))))) = 4
)");
}

TEST(StructsTest, TheTypeAfterOperatorChoosesTheConversion) {
  const std::string source = R"(struct P {
  int v;
  operator half() { return half(v); }
  operator short() const { return short(v); }
  operator short() { return short(v + 1); }
  template <typename T> operator T() { return T(v + 2); }
  operator float() { return float(this->operator half()) + float(operator short()); }
};
kernel void f(device float* a) {
  P p = {int(a[0])};
  const P c = {3};
  a[0] = p.operator float();
  a[1] = c.operator short();
  a[2] = p.operator int();
}
)";
  const std::string ir = lowered(source);
  EXPECT_NE(ir.find("return (float(P_convert(self)) + float(P_convert(self)))"), std::string::npos) << ir;
  EXPECT_NE(ir.find("return ((*self).v + 2)"), std::string::npos) << ir;
  EXPECT_EQ(faults_of("P p; a[0] = p.operator int();", "struct P { int v; operator float() { return 1.0f; } };"),
            "error: there is no operator that converts to \"int\" here\n");
}

TEST(StructsTest, ABaseIsAMember) {
  EXPECT_EQ("\n" + lines(R"(D d(3);
b[0] = d.all() + peek(d) + d.get();
thread B& r = d;
r.x = 4;
B copy = d;
thread B* p = &d;
p->set(2);
d.B::set(7);)",
                         R"(struct B { int x; int get() const { return x; } void set(int v) { x = v; } };
struct C { float y = 2; };
struct D : B, C { int own; D(int v) : B{v}, own(v) {} int all() { set(4); return x + get() + own + int(y); } };
int peek(thread const B& v) { return v.x; })"),
            R"(
D d [[address_taken]] = make_D(3)
int t = D_all((&d))
(*(b + 0)) = ((t + peek(pointer_cast<thread const B*>((&d.B)))) + B_get(pointer_cast<thread const B*>((&d.B))))
d.B.x = 4
B copy = d.B
thread B* p = (&d.B)
B_set(p, 2)
B_set((&d.B), 7)
)");
}

TEST(StructsTest, StaticMembersAreConstants) {
  EXPECT_EQ(
      "\n" +
          lines(
              R"(b[0] = S<int>::size + S<float>::twice(3) + S<int>::kTwo + S<char>::Inner{4}.v;
S<int> s;
b[1] = s.size + s.kTwo;)",
              R"(template <typename T> struct S { static constexpr int size = sizeof(T); enum { kOne = 1, kTwo }; struct Inner { T v; }; static int twice(int v) { return v * 2; } };)"),
      R"(
(*(b + 0)) = (((4 + S_twice(3)) + 2) + int(S<char>::Inner{char(4)}.v))
S<int> s
(*(b + 1)) = 6
)");
}

TEST(StructsTest, MemberFunctionsAreChosenBySpace) {
  EXPECT_EQ(
      "\n" +
          lowered(
              R"(struct A { float v[2]; thread float& at(int k) { return v[k]; } device float& at(int k) device { return v[k]; } float at(int k) const constant { return v[k] * 2; } };
kernel void f(device A* p, constant A& c, constant A* d) { A l; l.at(0) = 1; p->at(1) = l.at(0); p[1].at(0) = d->at(1); })"),
      R"(
thread float* A_at(thread A* self, int k) {
  return (&(*self).v[k])
}
device float* A_at(device A* self, int k) {
  return (&(*self).v[k])
}
float A_at(constant const A* self, int k) {
  return ((*self).v[k] * 2.0f)
}
kernel "f" void f([[buffer(0)]] device A* p, [[value(1) const]] A c, [[buffer(2) const]] constant const A* d) {
  A l [[address_taken]]
  (*A_at((&l), 0)) = 1.0f
  (*A_at(p, 1)) = (*A_at((&l), 0))
  (*A_at((p + 1), 0)) = A_at(d, 1)
}
)");
}

TEST(StructsTest, UnionsAreWords) {
  EXPECT_EQ("\n" + lines(R"(U u;
u.f = a[0];
u.n |= 0x80000000u;
a[1] = u.f;
u.h.x = 2;
b[0] = u.c[1];
U w = {1.0f};
a[2] = w.f;)",
                         R"(union U { float f; uint n; half2 h; uchar4 c; };)"),
            R"(
U u
float t = (*(a + 0))
u.words[0] = bitcast<uint>(t)
u.words[0] = (u.words[0] | 2147483648u)
(*(a + 1)) = bitcast<float>(u.words[0])
u.words[0] = ((u.words[0] & (~(65535u << 0))) | (uint(bitcast<ushort>(2.0h)) << 0))
(*(b + 0)) = int(uchar((u.words[0] >> 8)))
U value = U{}
value.words[0] = bitcast<uint>(1.0f)
U w = value
(*(a + 2)) = bitcast<float>(w.words[0])
)");
}

TEST(StructsTest, EmptyStructsAreFunctors) {
  EXPECT_EQ("\n" + lines(R"(b[0] = apply(Add(), 2) + apply(Twice{}, 3);)",
                         R"(struct Add { int operator()(int v) const { return v + 1; } };
struct Twice { int operator()(int v) const { return v * 2; } };
template <typename F> int apply(F f, int v) { return f(v); })"),
            R"(
(*(b + 0)) = (apply(Add{}, 2) + apply(Twice{}, 3))
)");
}

TEST(StructsTest, ReferencesMayBeMembers) {
  EXPECT_EQ("\n" + lines(R"(int x = 1;
R r{x, b};
r.v = 3;
r.p[0] = r.v;)",
                         R"(struct R { thread int& v; device int* p; };)"),
            R"(
int x [[address_taken]] = 1
R r = R{(&x), b}
(*r.v) = 3
(*(r.p + 0)) = (*r.v)
)");
}

TEST(StructsTest, NestedPartsOfObjectsArePlaces) {
  EXPECT_EQ("\n" + lines(R"(O o;
o.in[1].v[2] = 3;
o.in[i].v[0] += 1;
thread In& r = o.in[1];
r.v[1] = 2;
b[0] = o.in[0].v[1] + make().in[1].v[2];)",
                         R"(struct In { int v[3]; };
struct O { In in[2]; };
O make() { O o; o.in[1].v[2] = 1; return o; })"),
            R"(
O o
o.in[1].v[2] = 3
o.in[i].v[0] = (o.in[i].v[0] + 1)
o.in[1].v[1] = 2
In[2] array = make().in
(*(b + 0)) = (o.in[0].v[1] + array[1].v[2])
)");
}

TEST(StructsTest, MembersAreChecked) {
  EXPECT_EQ(faults_of(R"(P p;
p.z = 1;
p.x();
p->x = 1;
p.get() = 2;
b[0] = p;
p = 3;
p + p;
p();
p[0] = 1;
get();
P::get();)",
                      R"(struct P { int x; int get() const { return x; } };)"),
            "error: there is no member \"z\" in \"P\"\n"
            "error: cannot call a value of type \"int\"\n"
            "error: \"P\" is not a pointer: use . instead of ->\n"
            "error: cannot assign to a value: it is not a variable, element or member\n"
            "error: cannot convert \"P\" to \"int\" for the assigned value\n"
            "error: cannot convert \"int\" to \"P\" for the assigned value\n"
            "error: no operator+ takes (P, P)\n"
            "error: \"P\" has no operator(): it cannot be called\n"
            "error: \"P\" has no operator[] that takes \"int\"\n"
            "error: there is no function \"get\" here\n"
            "error: no function \"get\" takes ()\n"
            "note: not this one: it is a member: it needs an object\n");
}

TEST(StructsTest, ConstructorsAreChecked) {
  EXPECT_EQ(faults(R"(struct P { int x; P(int v) : x(v) {} };
struct Q { int x; Q() : y(3) {} };
kernel void f(device int* a) { P p; P q(1, 2); P r = "text"; Q s; const P c(1); c.x = 2; })"),
            "3: error: \"P\" has no constructor without arguments: give it some\n"
            "3: error: no function \"P\" takes (int, int)\n"
            "1: note: not this one: it takes 1 arguments, not 2\n"
            "3: error: cannot convert \"char[5]\" to \"P\" for the value of \"r\"\n"
            "2: error: there is no member or base \"y\" in \"Q\"\n"
            "3: error: cannot write to a const or constant object\n");
}

TEST(StructsTest, ConstObjectsKeepTheirValue) {
  EXPECT_EQ(faults(R"(struct P { int x; void set(int v) { x = v; } int get() const { x = 2; return x; } };
kernel void f(device int* a, constant P& p) { const P c = {1}; c.set(2); p.set(3); a[0] = c.get(); })"),
            "2: error: no function \"set\" takes (int)\n"
            "1: note: not this one: the object is thread const\n"
            "2: error: no function \"set\" takes (int)\n"
            "1: note: not this one: the object is thread const\n"
            "1: error: cannot write to a const or constant object\n");
}

TEST(StructsTest, ErrorsNameUnsupportedFeatures) {
  EXPECT_EQ(faults(R"(union U { float f; atomic_uint l; };
kernel void k(device float* a) { U u; u.f = 1; })"),
            "1: error: a union may have numbers, vectors, and arrays and structs of them, and \"l\" is "
            "\"atomic<uint>\"\n");
}

TEST(StructsTest, OnlyMutableMembersOfConstObjectsAreWritten) {
  EXPECT_EQ(faults_of("const S s{0, 1}; s.get(); ++s.calls; b[0] = s.calls;",
                      "struct S { mutable int calls; int x; int get() const { return ++calls; } };"),
            "");
  EXPECT_EQ(faults_of("const S s{0, 1}; ++s.x;", "struct S { mutable int calls; int x; };"),
            "error: cannot write to a const or constant object\n");
}

}  // namespace kymo::shader
