// Objects of the source's own types: operators of enums, copies, captures, layout, iterators.
#include "device/metal_test.h"

namespace kymo::device::tests {
namespace {

class MetalObjectsTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalObjectsTest);

TEST_P(MetalObjectsTest, OperatorsOfEnumsAreThoseOfTheSource) {
  const ShaderLibrary library = metal(R"(
enum class F : uint { A = 1, B = 2, C = 4 };
constexpr bool operator&(F a, F b) { return (uint(a) & uint(b)) != 0; }
F operator|(F a, F b) { return F((uint(a) | uint(b)) + 100); }
F operator~(F a) { return F(50); }
bool operator!(F a) { return true; }
bool operator==(F a, F b) { return false; }
bool operator<(F a, F b) { return uint(a) > uint(b); }
F operator+(F a, F b) { return F(7); }
thread F& operator|=(thread F& a, F b) { a = F(33); return a; }
enum P { X = 1, Y = 2 };
P operator|(P a, P b) { return P((uint(a) | uint(b)) + 100); }
P operator++(thread P& p) { p = P(int(p) + 5); return p; }
struct S { F f; uchar tail; };
kernel void operators(device int* o, device F* stored, constant F& given, device S* s) {
  F f = F(5);
  o[0] = 10 * (f & F::C); o[1] = int(F::A | F::B); o[2] = int(~F::A); o[3] = !F::A; o[4] = F::A == F::A;
  o[5] = F::A < F::B; o[6] = int(F::A + F::B); F y = F::A; y |= F::B; o[7] = int(y);
  P x = X | Y; ++x; o[8] = x; o[9] = given & F::B; stored[0] = f; o[10] = int(stored[1]); o[11] = int(s->f) + s->tail;
}
)");
  const Tensor out = zeros({12}, DType::I32), stored = from_host(std::vector<uint32_t>{9, 8}),
               structure = from_host(std::vector<uint32_t>{40, 2});
  library["operators"].threads(1)(out, stored, uint32_t{6}, structure);
  EXPECT_EQ(out.to_host<int32_t>(), (std::vector<int32_t>{10, 103, 50, 1, 0, 0, 7, 33, 108, 1, 8, 42}));
  EXPECT_EQ(stored.to_host<uint32_t>(), (std::vector<uint32_t>{5, 8}));
}

}  // namespace
}  // namespace kymo::device::tests
