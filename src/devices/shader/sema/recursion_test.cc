#include "shader/sema/test_sema.h"

// Functions that call themselves.

namespace kymo::shader {

TEST(RecursionTest, TheLastStepOfAFunctionBecomesALoop) {
  EXPECT_EQ(lowered(R"(int gcd(int a, int b) {
  if (b == 0) return a;
  return gcd(b, a % b);
}
kernel void f(device int* a) { a[0] = gcd(a[1], a[2]); })"),
            R"(int gcd(int a, int b) {
  loop {
    if (b == 0) {
      return a
    }
    int next = b
    int next = (a % b)
    a = next
    b = next
    continue
  }
}
kernel "f" void f([[buffer(0)]] device int* a) {
  (*(a + 0)) = gcd((*(a + 1)), (*(a + 2)))
}
)");
}

TEST(RecursionTest, MembersPassTheSameObject) {
  EXPECT_EQ(lowered(R"(struct Walk {
  int at;
  void next(int n, constant int& size) {
    at += n;
    if (at >= size) {
      int extra = at - size;
      at = 0;
      if (extra > 0) next(extra, size);
    }
  }
};
kernel void f(device int* a, constant int& size) { Walk w = {1}; w.next(a[0], size); a[0] = w.at; })"),
            R"(void Walk_next(thread Walk* self, int n, thread const int* size) {
  loop {
    (*self).at = ((*self).at + n)
    if ((*self).at >= (*size)) {
      int extra = ((*self).at - (*size))
      (*self).at = 0
      if (extra > 0) {
        int next = extra
        n = next
        continue
      }
    }
    break
  }
}
kernel "f" void f([[buffer(0)]] device int* a, [[value(1) const]] int size [[address_taken]]) {
  Walk w [[address_taken]] = Walk{1}
  Walk_next((&w), (*(a + 0)), pointer_cast<thread const int*>((&size)))
  (*(a + 0)) = w.at
}
)");
}

TEST(RecursionTest, ChoicesAndSwitchesMayEndWithIt) {
  const std::string ir = lowered(R"(int down(int n) { return n > 0 ? down(n - 1) : 7; }
bool even(int n) { return n == 0 || (n != 1 && even(n - 2)); }
auto count(int n, int sum) { if (n == 0) return sum; else return count(n - 1, sum + 1); }
template <typename T> void fill(device T* at, uint n) { if (n == 0) return; *at = T(n); fill(at + 1, n - 1); }
void pick(device int* at, int n) {
  switch (n) {
    case 0: return;
    case 1: pick(at, 0); break;
    default: *at += n; return pick(at + 1, n - 1);
  }
}
kernel void f(device int* a) { a[0] = down(3) + even(a[1]) + count(a[2], 0); fill(a, 3u); pick(a, 4); })");
  for (const std::string_view name : {"down(", "even(", "count(", "fill(", "pick("}) {
    EXPECT_EQ(ir.find(name), ir.rfind(name, ir.find("kernel"))) << name << "\n" << ir;
  }
}

TEST(RecursionTest, CallsThatEndForTheirConditionsBecomeCopies) {
  EXPECT_EQ(lowered(R"(float g(float x) {
  if (x < 0) return 1 / g(-x);
  return x;
}
kernel void f(device float* a) { a[0] = g(a[1]); })"),
            R"(float g(float x) {
  return x
}
float g(float x) {
  if (x < 0.0f) {
    float t = g((-x))
    return (1.0f / t)
  }
  return x
}
kernel "f" void f([[buffer(0)]] device float* a) {
  (*(a + 0)) = g((*(a + 1)))
}
)");
}

TEST(RecursionTest, FunctionsMayCallEachOther) {
  EXPECT_EQ(lowered(R"(float small(float x);
float large(float x) {
  if (x >= 12) return small(x) * 2;
  return x;
}
float small(float x) {
  const float y = x;
  if (y < 12) return large(y) + 1;
  return y;
}
kernel void f(device float* a) { a[0] = large(a[1]); a[1] = small(a[2]); })"),
            R"(float small(float x) {
  float y = x
  return y
}
float large(float x) {
  if (x >= 12.0f) {
    float t = small(x)
    return (t * 2.0f)
  }
  return x
}
float large(float x) {
  return x
}
float small(float x) {
  float y = x
  if (y < 12.0f) {
    float t = large(y)
    return (t + 1.0f)
  }
  return y
}
kernel "f" void f([[buffer(0)]] device float* a) {
  float t = large((*(a + 1)))
  (*(a + 0)) = t
  float t = small((*(a + 2)))
  (*(a + 1)) = t
}
)");
}

TEST(RecursionTest, ConstantsLimitTheDepth) {
  const std::string ir =
      lowered(R"(int power(int x, uint n) { return n == 0 ? 1 : n % 2 ? x * power(x, n - 1) : power(x * x, n / 2); }
int fib(int n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }
kernel void f(device int* a) { a[0] = fib(10) + power(a[1], 5u); })");
  size_t copies = 0;
  for (size_t at = ir.find("int fib("); at != std::string::npos; at = ir.find("int fib(", at + 1)) ++copies;
  EXPECT_EQ(copies, 11u) << "one for each n";
}

TEST(RecursionTest, ConstantsMayBeComputedByRecursion) {
  EXPECT_EQ(lowered(R"(constexpr int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
kernel void f(device int* a) { a[0] = sizeof(int[fact(5)]); })"),
            R"(kernel "f" void f([[buffer(0)]] device int* a) {
  (*(a + 0)) = 480
}
)");
}

TEST(RecursionTest, AnythingElseIsRefused) {
  const std::string rule =
      "1: error: recursion must be the last step of a function, or provably end after 32 calls. Write a loop instead: ";
  const auto called = [](std::string_view function, std::string_view call) {
    return faults(std::string(function) + "\nkernel void k(device int* a) { " + std::string(call) + "; }");
  };
  EXPECT_EQ(called("int f(int n) { return n < 2 ? 1 : n * f(n - 1); }", "a[0] = f(a[1])"),
            rule + "\"f\" calls itself, and it has more to do after this\n");
  EXPECT_EQ(called("int f(int n) { return n < 2 ? 1 : n * f(n - 1); }", "a[0] = f(40)"),
            rule + "\"f\" calls itself, and it has more to do after this\n");
  EXPECT_EQ(called("int f(int n) { f(n - 1); return 3; }", "a[0] = f(2)"),
            rule + "\"f\" calls itself, and it has more to do after this\n");
  EXPECT_EQ(called("void f(device int* a, int n) { switch (n) { case 0: f(a, 1); case 1: a[0] = 1; } }", "f(a, 0)"),
            rule + "\"f\" calls itself, and it has more to do after this\n");
  EXPECT_EQ(called("int f(int n) { for (int i = 0; i < n; ++i) { if (i == 3) return f(n - 1); } return n; }",
                   "a[0] = f(a[1])"),
            rule + "\"f\" calls itself, and it does so in a loop\n");
  EXPECT_EQ(called("int f(thread int* p, int n) { int own = *p + 1; if (n == 0) return *p; return f(&own, n - 1); }",
                   "int n = 1; a[0] = f(&n, a[1])"),
            rule + "\"f\" calls itself, and it passes the address of a variable\n");
  EXPECT_EQ(called("int g(int n); int f(int n) { return g(n); } int g(int n) { return f(n); }", "a[0] = f(a[1])"),
            rule + "\"f\" calls itself through other functions\n");
  // A NaN takes neither branch, so it is not known that x is above 0 in the second call.
  EXPECT_EQ(called("float f(float x) { if (x > 0) return x; return 1 + f(-x); }", "a[0] = f(a[1])"),
            rule + "\"f\" calls itself, and it has more to do after this\n");
  // The least int has no opposite.
  EXPECT_EQ(called("int f(int n) { if (n < 0) return 1 + f(-n); return n; }", "a[0] = f(a[1])"),
            rule + "\"f\" calls itself, and it has more to do after this\n");
  // Ends, but every call has other arguments.
  EXPECT_EQ(
      called("int f(int n, int k) { if (n == 0) return k; return f(n - 1, 2 * k) + f(n - 1, 2 * k + 1); }",
             "a[0] = f(20, 1)"),
      "1: error: the recursion of \"f\" needs more than 20000 statements without recursion: write a loop instead\n");
  EXPECT_EQ(faults("auto f(int n) { return f(n); }"),
            "1: error: \"f\" returns auto and calls itself before a return: write the type that it returns\n");
  EXPECT_EQ(faults("struct S { int a; S(int n) { a = n; S other(n); } };\nkernel void k(device int* a) { S s(1); }"),
            "1: error: recursion is not supported: the constructor of \"S\" calls itself\n");
}

}  // namespace kymo::shader
