#include "shader/sema/sema_test.h"

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

TEST(RecursionTest, AnythingElseIsRefused) {
  const std::string begin = "1: error: recursion is supported only as the last step of a function, as a loop: ";
  EXPECT_EQ(faults("int f(int n) { return n < 2 ? 1 : n * f(n - 1); }"),
            begin + "\"f\" calls itself, and it has more to do after this\n");
  EXPECT_EQ(faults("int f(int n) { f(n - 1); return 3; }"),
            begin + "\"f\" calls itself, and it has more to do after this\n");
  EXPECT_EQ(faults("void f(device int* a, int n) { switch (n) { case 0: f(a, 1); case 1: a[0] = 1; } }"),
            begin + "\"f\" calls itself, and it has more to do after this\n");
  EXPECT_EQ(faults("int f(int n) { for (int i = 0; i < n; ++i) { if (i == 3) return f(i); } return n; }"),
            begin + "\"f\" calls itself, and it does so in a loop\n");
  EXPECT_EQ(faults("int f(thread int* p, int n) { int own = *p + 1; if (n == 0) return *p; return f(&own, n - 1); }"),
            begin + "\"f\" calls itself, and it passes the address of a variable\n");
  EXPECT_EQ(faults("auto f(int n) { return f(n); }"),
            "1: error: \"f\" returns auto and calls itself before a return: write the type that it returns\n");
  EXPECT_EQ(faults("int g(int n);\nint f(int n) { return g(n); }\nint g(int n) { return f(n); }"),
            "2: error: recursion is not supported: \"g\" calls itself through other functions\n");
}

}  // namespace kymo::shader
