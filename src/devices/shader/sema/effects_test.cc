#include "shader/sema/test_sema.h"

// The order of effects: what is a statement, what is kept in a temporary.

namespace kymo::shader {

TEST(EffectsTest, APostfixIncrementKeepsTheOldValue) {
  EXPECT_EQ("\n" + lines(R"(int x = b[0];
b[1] = x++ + x;
b[2] = x--;
x++;)"),
            R"(
int x = (*(b + 0))
int t = x
x = (t + 1)
(*(b + 1)) = (t + x)
int t = x
x = (t - 1)
(*(b + 2)) = t
x = (x + 1)
)");
}

TEST(EffectsTest, APrefixIncrementIsTheVariable) {
  EXPECT_EQ("\n" + lines(R"(int x = b[0];
b[1] = ++x * 2;)"),
            R"(
int x = (*(b + 0))
x = (x + 1)
(*(b + 1)) = (x * 2)
)");
}

TEST(EffectsTest, TheRightSideOfAnAssignmentComesFirst) {
  EXPECT_EQ("\n" + lines(R"(int x = 1;
b[x = 3] = x;
b[x++] = x;)"),
            R"(
int x = 1
int t = x
x = 3
(*(b + x)) = t
int t = x
int t = x
x = (t + 1)
(*(b + t)) = t
)");
}

TEST(EffectsTest, AssignmentsAreValues) {
  EXPECT_EQ("\n" + lines(R"(int x;
int y;
x = y = 4;
b[0] = (x = 2) + y;)"),
            R"(
int x
int y
y = 4
x = y
x = 2
(*(b + 0)) = (x + y)
)");
}

TEST(EffectsTest, CallsWithoutEffectsStayInTheExpression) {
  EXPECT_EQ("\n" + lines(R"(b[0] = twice(b[1]) + twice(2);)", R"(int twice(int v) { return v + v; })"),
            R"(
(*(b + 0)) = (twice((*(b + 1))) + twice(2))
)");
}

TEST(EffectsTest, CallsThatWriteBecomeStatements) {
  EXPECT_EQ("\n" + lines(R"(b[0] = b[2] + bump(b) + b[3];
bump(b);)",
                         R"(int bump(device int* p) { *p += 1; return *p; })"),
            R"(
int t = (*(b + 2))
int t = bump(b)
(*(b + 0)) = ((t + t) + (*(b + 3)))
bump(b)
)");
}

TEST(EffectsTest, ACallerOfAFunctionThatWritesHasEffects) {
  EXPECT_EQ("\n" + lines(R"(b[0] = b[2] + outer(b);)",
                         R"(int inner(device int* p) { *p += 1; return *p; }
int outer(device int* p) { return inner(p) * 2; })"),
            R"(
int t = (*(b + 2))
int t = outer(b)
(*(b + 0)) = (t + t)
)");
}

TEST(EffectsTest, TheRightSideOfAndIsEvaluatedOnlyIfNeeded) {
  EXPECT_EQ("\n" + lines(R"(bool x = b[0] && bump(b);
x = b[0] || (b[1] = 2);
x = b[0] > 1 && b[1] > 2;)",
                         R"(int bump(device int* p) { *p += 1; return *p; })"),
            R"(
bool both = bool((*(b + 0)))
if both {
  int t = bump(b)
  both = bool(t)
}
bool x = both
bool either = bool((*(b + 0)))
if (!either) {
  (*(b + 1)) = 2
  either = bool((*(b + 1)))
}
x = either
x = (((*(b + 0)) > 1) && ((*(b + 1)) > 2))
)");
}

TEST(EffectsTest, OnlyOneSideOfAConditionalIsEvaluated) {
  EXPECT_EQ("\n" + lines(R"(b[0] = b[1] ? bump(b) : 7;
b[0] = b[1] ? 3 : 7;
a[0] = b[1] ? 3 : 2.5f;)",
                         R"(int bump(device int* p) { *p += 1; return *p; })"),
            R"(
int choice
if bool((*(b + 1))) {
  int t = bump(b)
  choice = t
} else {
  choice = 7
}
(*(b + 0)) = choice
(*(b + 0)) = (bool((*(b + 1))) ? 3 : 7)
(*(a + 0)) = (bool((*(b + 1))) ? 3.0f : 2.5f)
)");
}

TEST(EffectsTest, AVoidConditionalIsAnIf) {
  EXPECT_EQ("\n" + lines(R"(b[0] ? set(b, 1) : set(b, 2);)", R"(void set(device int* p, int v) { *p = v; })"),
            R"(
if bool((*(b + 0))) {
  set(b, 1)
} else {
  set(b, 2)
}
)");
}

TEST(EffectsTest, AConditionalCanBeAPlace) {
  EXPECT_EQ("\n" + lines(R"(int x = 1;
int y = 2;
(b[0] ? x : y) = 5;
thread int& r = b[1] ? x : y;
r = 6;)"),
            R"(
int x [[address_taken]] = 1
int y [[address_taken]] = 2
(*(bool((*(b + 0))) ? (&x) : (&y))) = 5
thread int* t = (bool((*(b + 1))) ? (&x) : (&y))
(*t) = 6
)");
}

TEST(EffectsTest, CommasAreEvaluatedInOrder) {
  EXPECT_EQ("\n" + lines(R"(int x = 0;
b[0] = (x = 2, x + 1);
for (int k = 0, m = 9; k < m; ++k, m--) b[k] = m;)"),
            R"(
int x = 0
x = 2
(*(b + 0)) = (x + 1)
{
  int k = 0
  int m = 9
  loop (k < m) {
    (*(b + k)) = m
    step {
      k = (k + 1)
      m = (m - 1)
    }
  }
}
)");
}

TEST(EffectsTest, LoopConditionsAreEvaluatedInEachIteration) {
  EXPECT_EQ("\n" + lines(R"(while (bump(b) > 3) b[1] = 2;
for (int k = 0; k < 3 && bump(b); k++) b[2] = k;
do b[3] = 1; while (bump(b));)",
                         R"(int bump(device int* p) { *p += 1; return *p; })"),
            R"(
loop (t > 3) {
  before {
    int t = bump(b)
  }
  (*(b + 1)) = 2
}
{
  int k = 0
  loop both {
    before {
      bool both = (k < 3)
      if both {
        int t = bump(b)
        both = bool(t)
      }
    }
    (*(b + 2)) = k
    step {
      k = (k + 1)
    }
  }
}
do {
  before {
    int t = bump(b)
  }
  (*(b + 3)) = 1
} while bool(t)
)");
}

TEST(EffectsTest, CompoundAssignmentEvaluatesItsPlaceOnce) {
  EXPECT_EQ("\n" + lines(R"(b[bump(b)] += 2;
b[b[0]] += 2;
b[pure(3)]++;)",
                         R"(int bump(device int* p) { *p += 1; return *p; }
int pure(int x) { return x; })"),
            R"(
int t = bump(b)
(*(b + t)) = ((*(b + t)) + 2)
(*(b + (*(b + 0)))) = ((*(b + (*(b + 0)))) + 2)
device int* t = (b + pure(3))
(*t) = ((*t) + 1)
)");
}

TEST(EffectsTest, ArgumentsAreKeptInOrder) {
  EXPECT_EQ("\n" + lines(R"(b[0] = add(b[1], bump(b), b[2]);)",
                         R"(int bump(device int* p) { *p += 1; return *p; }
int add(int x, int y, int z) { return x + y + z; })"),
            R"(
int t = (*(b + 1))
int t = bump(b)
(*(b + 0)) = add(t, t, (*(b + 2)))
)");
}

TEST(EffectsTest, UnusedResultsHaveNoTemporary) {
  EXPECT_EQ("\n" + lines(R"(bump(b);
(void)bump(b);)",
                         R"(int bump(device int* p) { *p += 1; return *p; })"),
            R"(
bump(b)
bump(b)
)");
}

TEST(EffectsTest, AConstantConditionSelectsOneSide) {
  EXPECT_EQ("\n" + lines(R"(b[0] = true ? 1 : b[1];
b[0] = sizeof(int) == 8 ? nothing(b) : 3;
if (1 > 2) b[0] = 4;
if (2 > 1) b[0] = 5;
bool x = false && b[0];
x = true && b[0] > 2;)",
                         R"(int nothing(device int* p) { *p = 1; return 1; })"),
            R"(
(*(b + 0)) = 1
(*(b + 0)) = 3
{
  (*(b + 0)) = 5
}
bool x = false
x = ((*(b + 0)) > 2)
)");
}

}  // namespace kymo::shader
