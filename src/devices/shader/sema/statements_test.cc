#include "shader/sema/test_sema.h"

// Control flow.

namespace kymo::shader {

TEST(StatementsTest, LoopsHaveConditionsStepsAndJumps) {
  EXPECT_EQ("\n" + lines(R"(for (int k = 0; k < 10; ++k) {
  if (k == 3) continue;
  if (k == 7) break;
  b[k] = k;
}
while (b[0] > 2) b[0] -= 1;
do { b[1]++; } while (b[1] < 5);
for (;;) break;
while (true) { if (b[2]) break; })"),
            R"(
{
  int k = 0
  loop (k < 10) {
    if (k == 3) {
      continue
    }
    if (k == 7) {
      break
    }
    (*(b + k)) = k
    step {
      k = (k + 1)
    }
  }
}
loop ((*(b + 0)) > 2) {
  (*(b + 0)) = ((*(b + 0)) - 1)
}
do {
  (*(b + 1)) = ((*(b + 1)) + 1)
} while ((*(b + 1)) < 5)
loop {
  break
}
loop {
  if bool((*(b + 2))) {
    break
  }
}
)");
}

TEST(StatementsTest, ConditionsMayDeclare) {
  EXPECT_EQ("\n" + lines(R"(if (int k = b[0]) b[1] = k;
if (int k = b[2]; k > 3) b[3] = k; else b[4] = k;
while (int k = b[5]) b[5] = k - 1;)"),
            R"(
int k = (*(b + 0))
if bool(k) {
  (*(b + 1)) = k
}
int k = (*(b + 2))
if (k > 3) {
  (*(b + 3)) = k
} else {
  (*(b + 4)) = k
}
loop bool(k) {
  before {
    int k = (*(b + 5))
  }
  (*(b + 5)) = (k - 1)
}
)");
}

TEST(StatementsTest, SwitchesFallThrough) {
  EXPECT_EQ("\n" + lines(R"(switch (b[0]) {
  case 0: b[1] = 1; break;
  case 1:
  case 2: b[1] = 2;
  default: b[2] = 3;
  case -4: { int k = 5; b[3] = k; break; }
}
switch (ulong(i)) { case 1: b[0] = 1; })"),
            R"(
switch (*(b + 0)) {
case 0:
  (*(b + 1)) = 1
  break
case 1: case 2:
  (*(b + 1)) = 2
default:
  (*(b + 2)) = 3
case -4:
  {
    int k = 5
    (*(b + 3)) = k
    break
  }
}
switch ulong(i) {
case 1:
  (*(b + 0)) = 1
}
)");
}

TEST(StatementsTest, BreakLeavesTheSwitchAndContinueTheIteration) {
  EXPECT_EQ("\n" + lines(R"(for (int k = 0; k < 3; ++k) {
  switch (k) {
    case 1: continue;
    case 2: break;
  }
  b[k] = 1;
})"),
            R"(
{
  int k = 0
  loop (k < 3) {
    switch k {
    case 1:
      continue
    case 2:
      break
    }
    (*(b + k)) = 1
    step {
      k = (k + 1)
    }
  }
}
)");
}

TEST(StatementsTest, VariablesOfOneCaseAreVisibleInTheNext) {
  EXPECT_EQ("\n" + lines(R"(switch (b[0]) {
  int z;
  case 0: z = 1; b[1] = z; break;
  case 1: int y; y = 2; z = y; b[2] = z;
})"),
            R"(
int z
int y
switch (*(b + 0)) {
case 0:
  z = 1
  (*(b + 1)) = z
  break
case 1:
  y = 2
  z = y
  (*(b + 2)) = z
}
)");
}

TEST(StatementsTest, ARangeForIteratesOverArrays) {
  EXPECT_EQ("\n" + lines(R"(int n[3] = {1, 2, 3};
for (int v : n) b[0] += v;
for (thread int& v : n) v *= 2;
for (const auto v : n) b[1] += v;)"),
            R"(
int[3] n = int[3]{1, 2, 3}
{
  int index = 0
  loop (index < 3) {
    int v = n[index]
    (*(b + 0)) = ((*(b + 0)) + v)
    step {
      index = (index + 1)
    }
  }
}
{
  int index = 0
  loop (index < 3) {
    int t = index
    n[t] = (n[t] * 2)
    step {
      index = (index + 1)
    }
  }
}
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

TEST(StatementsTest, ARangeForUsesBeginAndEnd) {
  EXPECT_EQ(
      "\n" +
          lines(
              R"(Range r = {b, 3};
for (auto v : r) a[0] += v;
for (device int& v : r) v = 1;)",
              R"(struct Range { device int* p; int n; device int* begin() const { return p; } device int* end() const { return p + n; } };)"),
      R"(
Range r [[address_taken]] = Range{b, 3}
{
  device int* position = Range_begin(pointer_cast<thread const Range*>((&r)))
  device int* t = Range_end(pointer_cast<thread const Range*>((&r)))
  loop (position != t) {
    int v = (*position)
    (*(a + 0)) = ((*(a + 0)) + float(v))
    step {
      position = (position + 1)
    }
  }
}
{
  device int* position = Range_begin(pointer_cast<thread const Range*>((&r)))
  device int* t = Range_end(pointer_cast<thread const Range*>((&r)))
  loop (position != t) {
    device int* t = position
    (*t) = 1
    step {
      position = (position + 1)
    }
  }
}
)");
}

TEST(StatementsTest, BlocksHaveScopesOfTheirOwn) {
  EXPECT_EQ("\n" + lines(R"(int x = 1;
{ int x = 2; b[0] = x; { float x = 3; a[0] = x; } }
b[1] = x;
for (int x = 0; x < 2; ++x) b[x] = x;)"),
            R"(
int x = 1
{
  int x = 2
  (*(b + 0)) = x
  {
    float x = 3.0f
    (*(a + 0)) = x
  }
}
(*(b + 1)) = x
{
  int x = 0
  loop (x < 2) {
    (*(b + x)) = x
    step {
      x = (x + 1)
    }
  }
}
)");
}

TEST(StatementsTest, ReturnsConvert) {
  EXPECT_EQ("\n" + lowered(R"(float half_of(int x) { if (x > 2) return x; return 0.5h; }
void early(device float* a) { if (a[0] > 1) return; a[1] = 2; }
auto deduced(int x) { return x * 1.5f; }
kernel void f(device float* a) { a[0] = half_of(3) + deduced(2); early(a); return; })"),
            R"(
float half_of(int x) {
  if (x > 2) {
    return float(x)
  }
  return 0.5f
}
float deduced(int x) {
  return (float(x) * 1.5f)
}
void early(device float* a) {
  if ((*(a + 0)) > 1.0f) {
    return
  }
  (*(a + 1)) = 2.0f
}
kernel "f" void f([[buffer(0)]] device float* a) {
  (*(a + 0)) = (half_of(3) + deduced(2))
  early(a)
  return
}
)");
}

TEST(StatementsTest, BindingsTakeAStructApart) {
  EXPECT_EQ("\n" + lines(R"(auto [x, y] = make(3);
b[0] = x + int(y);
int n[2] = {1, 2};
auto [p, q] = n;
thread auto& [s, t] = n;
s = p + q;
t = 4;)",
                         R"(struct P { int x; float y; };
P make(int v) { return {v, 1.5}; })"),
            R"(
P bound = make(3)
(*(b + 0)) = (bound.x + int(bound.y))
int[2] n = int[2]{1, 2}
int[2] bound = n
n[0] = (bound[0] + bound[1])
n[1] = 4
)");
}

TEST(StatementsTest, IfConstexprLowersOneBranch) {
  EXPECT_EQ(
      "\n" +
          lines(
              R"(b[0] = size_of<int>() + size_of<float4>();)",
              R"(template <typename T> int size_of() { if constexpr (sizeof(T) == 4) { return 4; } else { return T::nothing; } }
template <> int size_of<float4>() { return 16; })"),
      R"(
(*(b + 0)) = 20
)");
}

TEST(StatementsTest, BreakAndContinueNeedALoop) {
  EXPECT_EQ(faults_of(R"(break;
continue;
switch (b[0]) { case 1: continue; })"),
            "error: break is outside of loops and switches\n"
            "error: continue is outside of loops\n"
            "error: continue is outside of loops\n");
}

TEST(StatementsTest, CasesAreIntegerConstants) {
  EXPECT_EQ(faults_of(R"(switch (a[0]) { case 1: break; }
switch (b[0]) { case 1: case 1: break; }
int k = 3;
switch (b[0]) { case k: break; }
switch (b[0]) { default: default: break; })"),
            "error: a switch is over an integer, not over \"float\"\n"
            "error: the case 1 is there already\n"
            "error: the value of a case must be known when the shader is translated\n"
            "error: a switch has one default only\n");
}

TEST(StatementsTest, ReturnsAreChecked) {
  EXPECT_EQ(faults(R"(int f(int x) { return; }
void g() { return 3; }
int h() { return "text"; }
auto m(int x) { if (x) return 1; return 2.5f; }
kernel int k() { return 1; })"),
            "5: error: the kernel \"k\" must return void\n"
            "1: error: a value of type \"int\" must be returned\n"
            "2: error: the function returns void, not \"int\"\n"
            "3: error: cannot convert \"char[5]\" to \"int\" for the value returned\n"
            "4: error: the function returns auto, \"int\" first and \"float\" here: write the type that it returns\n");
}

TEST(StatementsTest, NamesAreDeclaredOnce) {
  EXPECT_EQ(faults_of(R"(int x = 1;
int x = 2;)"),
            "error: \"x\" is declared already here: give one of them another name\n");
}

TEST(StatementsTest, BindingsCountTheirNames) {
  EXPECT_EQ(faults_of(R"(auto [x, y, z] = P{1, 2};
auto [p, q] = 3;)",
                      R"(struct P { int x; float y; };)"),
            "error: auto [...] has 3 names: \"P\" has 2 parts\n"
            "error: auto [...] has 2 names: \"int\" has 0 parts\n");
}

TEST(StatementsTest, ARangeForCallsTheOperatorsOfAnIterator) {
  constexpr std::string_view kRange =
      "struct I { int v; int operator*() const { return v; } thread I& operator++() { ++v; return *this; } };\n"
      "bool operator!=(I a, I b) { return a.v != b.v; }\n"
      "struct R { I begin() { return {0}; } I end() { return {3}; } };\n"
      "struct Bad { int v; }; struct S { Bad begin() { return {0}; } Bad end() { return {3}; } };\n"
      "bool operator!=(Bad a, Bad b) { return a.v != b.v; }";
  const std::string text = lines("R r; for (int v : r) b[v] = v;", kRange);
  for (const char* called : {"operator!=(position, ", "I_operator*(", "I_operator++((&position))"})
    EXPECT_NE(text.find(called), std::string::npos) << called << "\n" << text;
  EXPECT_EQ(faults_of("S s; for (int v : s) b[v] = v;", kRange),
            "error: \"Bad\" is not an iterator: no operator* takes it\n");
}

}  // namespace kymo::shader
