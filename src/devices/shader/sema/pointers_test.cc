#include "shader/sema/test_sema.h"

// Pointers, references, address spaces, arrays.

namespace kymo::shader {

TEST(PointersTest, PointersAreMovedComparedAndSubtracted) {
  EXPECT_EQ("\n" + lines(R"(device int* p = b + i;
p++;
p += 2;
p = p - 1;
*p = 3;
p[1] = *(p - 1);
long d = p - b;
bool e = p == b || p != nullptr || !p || p < b + 3;
if (p) *p = 2;)"),
            R"(
device int* p = (b + long(i))
p = (p + 1)
p = (p + 2)
p = (p + -1)
(*p) = 3
(*(p + 1)) = (*(p + -1))
long d = (p - b)
bool e = ((((p == b) || (p != null<device int*>())) || (!(p != null<device int*>()))) || (p < (b + 3)))
if (p != null<device int*>()) {
  (*p) = 2
}
)");
}

TEST(PointersTest, ArraysDecay) {
  EXPECT_EQ("\n" + lines(R"(int n[4];
thread int* p = n;
p[2] = *(n + 1);
*n = 3;
n[0] = p[1];
int m[2][3];
m[1][2] = 4;
thread int* q = m[1];)"),
            R"(
int[4] n [[address_taken]]
thread int* p = decay(n)
(*(p + 2)) = n[1]
n[0] = 3
n[0] = (*(p + 1))
int[2][3] m [[address_taken]]
m[1][2] = 4
thread int* q = decay(m[1])
)");
}

TEST(PointersTest, AReferenceIsAnotherNameForAPlace) {
  EXPECT_EQ("\n" + lines(R"(device int& r = b[i];
r = 3;
r += 2;
thread const int& c = 5;
b[0] = c;
const device int& k = b[1];
b[2] = k;)"),
            R"(
device int* t = (b + long(i))
(*t) = 3
(*t) = ((*t) + 2)
int c = 5
(*(b + 0)) = c
device int* t = (b + 1)
(*(b + 2)) = (*t)
)");
}

TEST(PointersTest, AReferenceKeepsItsPlace) {
  EXPECT_EQ("\n" + lines(R"(int k = 1;
device int& r = b[k];
k = 2;
r = 3;)"),
            R"(
int k = 1
device int* t = (b + k)
k = 2
(*t) = 3
)");
}

TEST(PointersTest, ReferencesArePassedAsPointers) {
  EXPECT_EQ("\n" + lines(R"(int x = 1;
inc(x);
b[0] = x + peek(x) + peek(3) + peek(x + 1);)",
                         R"(void inc(thread int& v) { v++; }
int peek(thread const int& v) { return v; })"),
            R"(
int x [[address_taken]] = 1
inc((&x))
int copy [[address_taken]] = 3
int copy [[address_taken]] = (x + 1)
(*(b + 0)) = (((x + peek(pointer_cast<thread const int*>((&x)))) + peek(pointer_cast<thread const int*>((&copy)))) + peek(pointer_cast<thread const int*>((&copy))))
)");
}

TEST(PointersTest, ReferencesAreReturned) {
  EXPECT_EQ("\n" + lines(R"(int n[3];
at(n, 1) = 3;
at(n, 2) += 1;
b[0] = at(n, 0);)",
                         R"(thread int& at(thread int* p, int k) { return p[k]; })"),
            R"(
int[3] n [[address_taken]]
(*at(decay(n), 1)) = 3
thread int* t = at(decay(n), 2)
(*t) = ((*t) + 1)
(*(b + 0)) = (*at(decay(n), 0))
)");
}

TEST(PointersTest, OverloadsAreChosenBySpace) {
  EXPECT_EQ("\n" + lines(R"(int n[3];
threadgroup int t[2];
where(n);
where(t);
where(b);)",
                         R"(void where(thread int* p) { *p = 1; }
void where(threadgroup int* p) { *p = 2; }
void where(device int* p) { *p = 3; })"),
            R"(
int[3] n [[address_taken]]
threadgroup int[2] t [[address_taken]]
where(decay(n))
where(decay(t))
where(b)
)");
}

TEST(PointersTest, ConstantPointersAcceptConstantMemoryOfAnyKind) {
  EXPECT_EQ("\n" + lowered(R"(constant float table[2] = {1, 2};
struct P { float x, y; };
float pick(constant float* t, int k) { return t[k]; }
float get(constant P& p) { return p.x; }
kernel void f(device float* a, constant float* c, constant P& p) {
  a[0] = pick(table, 1);
  a[1] = pick(c, 1);
  a[2] = pick(&p.y, 0);
  a[3] = get(p);
  constant P& q = p;
  a[4] = q.y;
  constant float* r = table;
  a[5] = r[1];
})"),
            R"(
constant float[2] table [[address_taken]] = float[2]{1.0f, 2.0f}
float pick(constant const float* t, int k) {
  return (*(t + k))
}
float pick(constant const float* t, int k) {
  return (*(t + k))
}
float pick(thread const float* t, int k) {
  return (*(t + k))
}
float get(thread const P* p) {
  return (*p).x
}
kernel "f" void f([[buffer(0)]] device float* a, [[buffer(1) const]] constant const float* c, [[value(2) const]] P p [[address_taken]]) {
  (*(a + 0)) = pick(decay(table), 1)
  (*(a + 1)) = pick(c, 1)
  (*(a + 2)) = pick(pointer_cast<thread const float*>((&p.y)), 0)
  (*(a + 3)) = get(pointer_cast<thread const P*>((&p)))
  (*(a + 4)) = p.y
  constant const float* r = decay(table)
  (*(a + 5)) = (*(r + 1))
}
float get(constant const P* p) {
  return (*p).x
}
)");
}

TEST(PointersTest, PointersAreCast) {
  EXPECT_EQ("\n" + lines(R"(device uint* u = (device uint*)b;
device float* f = reinterpret_cast<device float*>(b + 1);
ulong address = (ulong)u;
u = (device uint*)address;
device const int* c = b;
device int* d = const_cast<device int*>(c);
device void* v = b;
d = static_cast<device int*>(v);
*u = 1; *f = 2; *d = 3;)"),
            R"(
device uint* u = pointer_cast<device uint*>(b)
device float* f = pointer_cast<device float*>((b + 1))
ulong address = pointer_cast<ulong>(u)
u = pointer_cast<device uint*>(address)
device const int* c = pointer_cast<device const int*>(b)
device int* d = pointer_cast<device int*>(c)
device void* v = pointer_cast<device void*>(b)
d = pointer_cast<device int*>(v)
(*u) = 1u
(*f) = 2.0f
(*d) = 3
)");
}

TEST(PointersTest, StructuresHoldPointers) {
  EXPECT_EQ("\n" + lowered(R"(struct List { device float* data; int count; };
kernel void f(device float* a, constant List& list, device List* more) {
  for (int k = 0; k < list.count; ++k) a[k] = list.data[k] + more[1].data[k];
  device List* p = &more[1];
  p->data[0] = 1;
  (*p).count = 2;
})"),
            R"(
kernel "f" void f([[buffer(0)]] device float* a, [[value(1) const]] List list, [[buffer(2)]] device List* more) {
  {
    int k = 0
    loop (k < list.count) {
      (*(a + k)) = ((*(list.data + k)) + (*((*(more + 1)).data + k)))
      step {
        k = (k + 1)
      }
    }
  }
  device List* p = (more + 1)
  (*((*p).data + 0)) = 1.0f
  (*p).count = 2
}
)");
}

TEST(PointersTest, GroupMemoryIsDeclaredInKernels) {
  EXPECT_EQ("\n" + lines(R"(threadgroup float t[32];
threadgroup int n;
t[i] = a[i];
n = 1;
threadgroup float* p = t + 1;
p[0] = 2;)"),
            R"(
threadgroup float[32] t [[address_taken]]
threadgroup int n
t[i] = (*(a + long(i)))
n = 1
threadgroup float* p = (decay(t) + 1)
(*(p + 0)) = 2.0f
)");
}

TEST(PointersTest, PointersKeepTheirSpace) {
  EXPECT_EQ(
      faults_of(R"(thread int* p = b;
threadgroup int* q = (threadgroup int*)b;
device float* z = b;
const device int* c = b;
*c = 2;
device int* w = c;)"),
      "error: cannot convert \"device int*\" to \"thread int*\" for the value of \"p\": pointers cannot change their "
      "address space\n"
      "error: cannot convert \"device int*\" to \"threadgroup int*\": they are in different address spaces\n"
      "error: cannot convert \"device int*\" to \"device float*\" for the value of \"z\"\n"
      "error: cannot write to a const or constant object\n"
      "error: cannot convert \"device const int*\" to \"device int*\" for the value of \"w\"\n");
}

TEST(PointersTest, ReferencesNeedTheirTypeAndSpace) {
  EXPECT_EQ(faults_of(R"(thread int& r = b[0];
device float& s = b[0];
thread int& t = 3;
device int& u;
const device int& c = b[1];
c = 2;)"),
            "error: the reference \"r\" is to thread memory: the object that it refers to is in device memory\n"
            "error: the reference \"s\" of type \"device float&\" needs a variable of that type to refer to, not a "
            "value of type \"int\"\n"
            "error: the reference \"t\" of type \"thread int&\" needs a variable of that type to refer to, not a value "
            "of type \"int\"\n"
            "error: the reference \"u\" needs something to refer to\n"
            "error: cannot write to a const or constant object\n");
}

TEST(PointersTest, GroupMemoryIsDeclaredOnlyInKernels) {
  EXPECT_EQ(faults(R"(void g() { threadgroup float t[3]; t[0] = 1; }
kernel void f(device float* a) { threadgroup float x = 1; device int y; constant int z = 3; threadgroup int w[]; })"),
            "2: error: the variable \"y\" is declared in a function: it cannot be in device memory\n"
            "2: error: the variable \"z\" is declared in a function: it cannot be in constant memory\n"
            "2: error: the array \"w\" needs a size\n"
            "1: error: threadgroup memory is declared in kernels only: pass \"t\" as a pointer\n");
}

TEST(PointersTest, ConstantMemoryIsNotWritten) {
  EXPECT_EQ(faults(R"(constant int table[2] = {1, 2};
kernel void f(constant int* c, constant int& v) { c[0] = 1; v = 2; table[0] = 3; v++; })"),
            "2: error: cannot write to a const or constant object\n"
            "2: error: cannot write to a const or constant object\n"
            "2: error: cannot write to a const or constant object\n"
            "2: error: cannot write to a const or constant object\n");
}

TEST(PointersTest, OnlyPointersCanBeDereferenced) {
  EXPECT_EQ(faults_of(R"(*i = 1;
i[0] = 2;
b->x = 3;
b.x = 3;
a[1.5f] = 2;)"),
            "error: cannot dereference \"uint\": it is not a pointer\n"
            "error: cannot index \"uint\": it is not an array, pointer or vector\n"
            "error: \"int\" has no members: \"x\" does not exist\n"
            "error: \"device int*\" is a pointer: use -> instead of .\n"
            "error: an index must be an integer, and is \"float\"\n");
}

}  // namespace kymo::shader
