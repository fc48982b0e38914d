#include "shader/sema/test_sema.h"

// Initializers: braces, defaults, copies.

namespace kymo::shader {

TEST(InitializeTest, BracesFillMembersAndElements) {
  EXPECT_EQ("\n" + lines(R"(O o = {{1, 2}, {3, 4}, 5};
O p = {1, 2, 3, 4};
O q{};
O r = {{1}};
O s;
b[0] = o.z + p.z + q.z + r.in.y + s.z;
int n[4] = {1, 2};
int m[2][2] = {1, 2, 3};
In l[] = {{1, 2}, {3}};
b[1] = n[3] + m[1][1] + l[1].y;)",
                         R"(struct In { int x, y; };
struct O { In in; float f[2]; int z = 9; };)"),
            R"(
O o = O{In{1, 2}, float[2]{3.0f, 4.0f}, 5}
O p = O{In{1, 2}, float[2]{3.0f, 4.0f}, 9}
O q = O{In{}, float[2]{}, 9}
O r = O{In{1, 0}, float[2]{}, 9}
O s = O{In{}, float[2]{}, 9}
(*(b + 0)) = ((((o.z + p.z) + q.z) + r.in.y) + s.z)
int[4] n = int[4]{1, 2, 0, 0}
int[2][2] m = int[2][2]{int[2]{1, 2}, int[2]{3, 0}}
In[2] l = In[2]{In{1, 2}, In{3, 0}}
(*(b + 1)) = ((n[3] + m[1][1]) + l[1].y)
)");
}

TEST(InitializeTest, BracesArePassedReturnedAndAssigned) {
  EXPECT_EQ("\n" + lines(R"(In v = make(3);
v = {7, 8};
b[0] = take({4, 5}) + v.x;
float2 w = {1, 2};
w = {3, 4};
int x{3};
int y = {};
x = {4};)",
                         R"(struct In { int x, y; };
In make(int v) { return {v, v + 1}; }
int take(In v) { return v.x; })"),
            R"(
In v = make(3)
v = In{7, 8}
(*(b + 0)) = (take(In{4, 5}) + v.x)
float2 w = float2{1.0f, 2.0f}
w = float2{3.0f, 4.0f}
int x = 3
int y = 0
x = 4
)");
}

TEST(InitializeTest, DirectInitializationConverts) {
  EXPECT_EQ("\n" + lines(R"(float x(3);
int4 v(1, 2, 3, 4);
half h(1.5f);
a[0] = x + v.x + h;)"),
            R"(
float x = 3.0f
int4 v = int4{1, 2, 3, 4}
half h = 1.5h
(*(a + 0)) = ((x + float(v[0])) + float(h))
)");
}

TEST(InitializeTest, DefaultsOfMembersAreUsed) {
  EXPECT_EQ("\n" + lines(R"(P p;
P q = {5};
P r[2];
a[0] = p.y + q.y + r[1].z;)",
                         R"(struct P { int x; float y = 2.5; int z = kTwo + 1; static constexpr int kTwo = 2; };)"),
            R"(
P p = P{0, 2.5f, 3}
P q = P{5, 2.5f, 3}
P[2] r = P[2]{P{0, 2.5f, 3}, P{0, 2.5f, 3}}
(*(a + 0)) = ((p.y + q.y) + float(r[1].z))
)");
}

TEST(InitializeTest, AnArrayTakesItsSizeFromItsValues) {
  EXPECT_EQ("\n" + lines(R"(int n[] = {1, 2, 3};
char t[] = "ab";
b[0] = sizeof(n) + sizeof(t) + t[1];
for (int v : n) b[1] += v;)"),
            R"(
int[3] n = int[3]{1, 2, 3}
char[3] t = char[3]{char(97), char(98), char(0)}
(*(b + 0)) = int((15ul + ulong(t[1])))
{
  int index = 0
  loop (index < 3) {
    int v = n[index]
    (*(b + 1)) = ((*(b + 1)) + v)
    step {
      index = (index + 1)
    }
  }
}
)");
}

TEST(InitializeTest, AutoTakesTheTypeOfItsValue) {
  EXPECT_EQ("\n" + lines(R"(auto x = b[0];
auto y = b;
const auto z = 2.5f;
auto p = &b[1];
auto& r = b[2];
auto* q = b;
r = x;
*q = *p + *y;
a[0] = z;)"),
            R"(
int x = (*(b + 0))
device int* y = b
device int* p = (b + 1)
device int* t = (b + 2)
device int* q = b
(*t) = x
(*q) = ((*p) + (*y))
(*(a + 0)) = 2.5f
)");
}

TEST(InitializeTest, BracesAreChecked) {
  EXPECT_EQ(faults_of(R"(In v = {1, 2, 3};
int x = {1, 2};
int n[2] = {1, 2, 3};
auto y = {1, 2};
float2 u = {1, 2, 3};
int m[];)",
                      R"(struct In { int x, y; };)"),
            "error: {...} has 3 values: \"In\" takes only 2\n"
            "error: \"int\" takes one value: 2 are given\n"
            "error: {...} has 3 values: \"int[2]\" takes only 2\n"
            "error: auto needs a value that has a type: name the type instead\n"
            "error: \"float2\" has 2 components: 3 are given\n"
            "error: the array \"m\" needs a size or values\n");
}

TEST(InitializeTest, InitializersAreChecked) {
  EXPECT_EQ(faults_of(R"(int x = a;
float4 v = b;
auto y;
In w = 3;
int n[3] = 5;
const int c;)",
                      R"(struct In { int x, y; };)"),
            "error: cannot convert \"device float*\" to \"int\" for the value of \"x\"\n"
            "error: cannot convert \"device int*\" to \"float4\" for the value of \"v\"\n"
            "error: auto needs a value: \"y\" has none\n"
            "error: cannot convert \"int\" to \"In\" for the value of \"w\"\n"
            "error: cannot convert \"int\" to \"int[3]\" for the value of \"n\"\n"
            "error: the constant \"c\" needs a value\n");
}

}  // namespace kymo::shader
