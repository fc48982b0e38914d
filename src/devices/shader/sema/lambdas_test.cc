#include "shader/sema/test_sema.h"

// Lambdas.

namespace kymo::shader {

TEST(LambdasTest, CopiesAreMembersReferencesArePointers) {
  EXPECT_EQ("\n" + lowered(R"(kernel void f(device float* a) {
  float sum = 0;
  int n = 3;
  auto add = [&sum, n](float v) { sum += v * n; };
  add(2);
  a[0] = sum;
})"),
            R"(
void lambda(thread const lambda* self, float v) {
  (*(*self).sum) = ((*(*self).sum) + (v * float((*self).n)))
}
kernel "f" void f([[buffer(0)]] device float* a) {
  float sum [[address_taken]] = 0.0f
  int n = 3
  lambda add [[address_taken]] = lambda{(&sum), n}
  lambda(pointer_cast<thread const lambda*>((&add)), 2.0f)
  (*(a + 0)) = sum
}
)");
}

TEST(LambdasTest, CaptureDefaultsCaptureUsedVariables) {
  EXPECT_EQ("\n" + lines(R"(int x = 1;
int y = 2;
int z = 3;
auto copy = [=](int v) { return v + x; };
auto reference = [&](int v) { y += v; };
auto both = [=, &z] { z = x; };
b[0] = copy(4);
reference(5);
both();)"),
            R"(
int x = 1
int y [[address_taken]] = 2
int z [[address_taken]] = 3
lambda copy [[address_taken]] = lambda{x}
lambda reference [[address_taken]] = lambda{(&y)}
lambda both [[address_taken]] = lambda{(&z), x}
(*(b + 0)) = lambda(pointer_cast<thread const lambda*>((&copy)), 4)
lambda(pointer_cast<thread const lambda*>((&reference)), 5)
lambda(pointer_cast<thread const lambda*>((&both)))
)");
}

TEST(LambdasTest, ConstantsNeedNoCapture) {
  EXPECT_EQ("\n" + lines(R"(const int n = 3;
constexpr float k = 1.5;
auto f = [](float v) { return v * k + n; };
a[0] = f(2);)"),
            R"(
lambda f [[address_taken]] = lambda{}
(*(a + 0)) = lambda(pointer_cast<thread const lambda*>((&f)), 2.0f)
)");
}

TEST(LambdasTest, GenericLambdasAreTemplates) {
  EXPECT_EQ("\n" + lines(R"(auto add = [](auto x, auto y) { return x + y; };
a[0] = add(1, 2.5f) + add(1, 2);)"),
            R"(
lambda add [[address_taken]] = lambda{}
(*(a + 0)) = (lambda(pointer_cast<thread const lambda*>((&add)), 1, 2.5f) + float(lambda(pointer_cast<thread const lambda*>((&add)), 1, 2)))
)");
}

TEST(LambdasTest, MutableLambdasChangeTheirCopies) {
  EXPECT_EQ("\n" + lines(R"(int n = 1;
auto next = [n]() mutable { return ++n; };
b[0] = next() + next();)"),
            R"(
int n = 1
lambda next [[address_taken]] = lambda{n}
int t = lambda((&next))
int t = lambda((&next))
(*(b + 0)) = (t + t)
)");
}

TEST(LambdasTest, CapturesMayHaveValues) {
  EXPECT_EQ("\n" + lines(R"(auto f = [k = b[0] * 2, &r = b[1]](int v) { r = v; return v > k; };
b[2] = f(3);)"),
            R"(
lambda f [[address_taken]] = lambda{((*(b + 0)) * 2), (b + 1)}
bool t = lambda(pointer_cast<thread const lambda*>((&f)), 3)
(*(b + 2)) = int(t)
)");
}

TEST(LambdasTest, LambdasArePassedAndReturned) {
  EXPECT_EQ("\n" + lines(R"(a[0] = apply([=](float v) { return v * a[1]; }, 2) + make(3)(4);)",
                         R"(template <typename F> float apply(F f, float v) { return f(v); }
auto make(float k) { return [k](float v) { return v * k; }; })"),
            R"(
lambda object [[address_taken]] = make(3.0f)
(*(a + 0)) = (apply(lambda{a}, 2.0f) + lambda(pointer_cast<thread const lambda*>((&object)), 4.0f))
)");
}

TEST(LambdasTest, MembersAreReachedThroughThis) {
  EXPECT_EQ("\n" + lowered(R"(struct M {
  float k;
  float run(float v) { auto f = [this](float w) { return k * w; }; auto g = [=](float w) { return twice(w) + k; }; return f(v) + g(v); }
  float twice(float v) const { return v * 2; }
};
kernel void f(device float* a) { M m{2}; a[0] = m.run(3); })"),
            R"(
float lambda(thread const lambda* self, float w) {
  return ((*(*self).this).k * w)
}
float M_twice(thread const M* self, float v) {
  return (v * 2.0f)
}
float lambda(thread const lambda* self, float w) {
  return (M_twice(pointer_cast<thread const M*>((*self).this), w) + (*(*self).this).k)
}
float M_run(thread M* self, float v) {
  lambda f [[address_taken]] = lambda{self}
  lambda g [[address_taken]] = lambda{self}
  return (lambda(pointer_cast<thread const lambda*>((&f)), v) + lambda(pointer_cast<thread const lambda*>((&g)), v))
}
kernel "f" void f([[buffer(0)]] device float* a) {
  M m [[address_taken]] = M{2.0f}
  (*(a + 0)) = M_run((&m), 3.0f)
}
)");
}

TEST(LambdasTest, LambdasNest) {
  EXPECT_EQ("\n" + lines(R"(int x = 1;
auto outer = [&](int v) { auto inner = [&](int w) { x += w; return x; }; return inner(v) + inner(2); };
b[0] = outer(3);)"),
            R"(
int x [[address_taken]] = 1
lambda outer [[address_taken]] = lambda{(&x)}
int t = lambda(pointer_cast<thread const lambda*>((&outer)), 3)
(*(b + 0)) = t
)");
}

TEST(LambdasTest, ArraysAreCapturedByAddress) {
  EXPECT_EQ("\n" + lines(R"(float n[3] = {1, 2, 3};
auto sum = [&] { float t = 0; for (float v : n) t += v; return t; };
a[0] = sum();
threadgroup float g[4];
auto put = [&](int k) { g[k] = n[k]; };
put(1);)"),
            R"(
float[3] n [[address_taken]] = float[3]{1.0f, 2.0f, 3.0f}
lambda sum [[address_taken]] = lambda{(&n)}
(*(a + 0)) = lambda(pointer_cast<thread const lambda*>((&sum)))
threadgroup float[4] g [[address_taken]]
lambda put [[address_taken]] = lambda{(&g), (&n)}
lambda(pointer_cast<thread const lambda*>((&put)), 1)
)");
}

TEST(LambdasTest, ArraysAndObjectsAreCopied) {
  EXPECT_EQ("\n" + lines(R"(int n[2] = {1, 2};
auto g = [=] { return n[1]; };
n[1] = 5;
b[0] = g();)"),
            R"(
int[2] n = int[2]{1, 2}
lambda g [[address_taken]] = lambda{n}
n[1] = 5
(*(b + 0)) = lambda(pointer_cast<thread const lambda*>((&g)))
)");
  EXPECT_EQ(faults_of("int n[2] = {1, 2}; auto g = [n] { n[1] = 5; }; g();"),
            "error: cannot write to a const or constant object\n");
}

TEST(LambdasTest, ALambdaCanBeCalledImmediately) {
  EXPECT_EQ("\n" + lines(R"(b[0] = [](int v) { return v * 2; }(3);
int x = [&] { if (b[1]) return 1; return 2; }();)"),
            R"(
lambda object [[address_taken]] = lambda{}
(*(b + 0)) = lambda(pointer_cast<thread const lambda*>((&object)), 3)
lambda object [[address_taken]] = lambda{(&b)}
int x = lambda(pointer_cast<thread const lambda*>((&object)))
)");
}

TEST(LambdasTest, ResultsOfLambdasMayBeWritten) {
  EXPECT_EQ("\n" + lines(R"(auto f = [](int v) -> float { if (v > 3) return 1; return 2.5; };
a[0] = f(3);)"),
            R"(
lambda f [[address_taken]] = lambda{}
(*(a + 0)) = lambda(pointer_cast<thread const lambda*>((&f)), 3)
)");
}

TEST(LambdasTest, CapturesAreChecked) {
  EXPECT_EQ(faults_of(R"(int n = 1;
auto f = [](int v) { return v + n; };
b[0] = f(1);
auto g = [nothing] { return 1; };
auto h = [n] { n = 2; };
h();
auto k = [this] { return 1; };)"),
            "error: \"n\" is a variable of the enclosing function: the lambda must capture it\n"
            "error: there is no name \"nothing\" here to capture\n"
            "error: cannot write to a const or constant object\n"
            "error: there is no \"this\" here to capture\n");
}

}  // namespace kymo::shader
