// Golden texts: control flow, and what pointers become.
#include <gtest/gtest.h>

#include "shader/emit/test_glsl_samples.h"

namespace kymo::shader::glsl_tests {
namespace {

TEST(GlslFlowTest, PointersToVariablesAreTheirIndices) {
  EXPECT_EQ(glsl_text_of(sample_pointers, kGlslArguments), R"(layout(push_constant, scalar) uniform pointers_arguments {
  uint64_t out_;
} arguments;
Pair[4] pairs;
float[2][3] grid;
float single;

void bump() {
  single = single * 3.0 + 1.0;
}
void bump_1(int p) {
  pairs[p].y = pairs[p].y * 3.0 + 1.0;
}
void bump_2(int p) {
  grid[p / 3][p % 3] = grid[p / 3][p % 3] * 3.0 + 1.0;
}
float total(int p, int count) {
  float sum = 0.0;
  int end = p + count;
  for (; p != end; p = p + 1) {
    sum += grid[p / 3][p % 3];
  }
  return sum;
}
void pointers() {
  uint64_t out_ = arguments.out_;
  int i = int(gl_GlobalInvocationID.x);
  pairs = Pair[4](Pair(0.0, 0.0), Pair(0.0, 0.0), Pair(0.0, 0.0), Pair(0.0, 0.0));
  grid = float[2][3](float[3](0.0, 0.0, 0.0), float[3](0.0, 0.0, 0.0));
  single = 5.0;
  int maybe = kymo_null;
  bump();
  bump_1(kymo_remainder(i, 4));
  grid[1][2] = 7.0;
  bump_2(3);
  if (i > 1) {
    maybe = 0;
  }
  if (maybe != kymo_null) {
    single = 100.0;
  }
  float_at(out_ + uint64_t(i) * 4ul).v = single + pairs[kymo_remainder(i, 4)].y + total(0, 6);
}
)");
}

TEST(GlslFlowTest, PointersInStructuresAreTheirIndices) {
  EXPECT_EQ(glsl_text_of(sample_closures, kGlslArguments), R"(layout(push_constant, scalar) uniform closures_arguments {
  uint64_t out_;
} arguments;
float sum;
float[4] row;
lambda call;

void lambda_operator_call(int at) {
  sum = sum + row[call.row + at] * call.scale;
}
void closures() {
  uint64_t out_ = arguments.out_;
  int i = int(gl_GlobalInvocationID.x);
  sum = 0.0;
  row = float[4](1.0, 2.0, 3.0, 4.0);
  call = lambda(0, 1, 10.0);
  int k = 0;
  for (; k < 3; ++k) {
    lambda_operator_call(k);
  }
  float_at(out_ + uint64_t(i) * 4ul).v = sum;
}
)");
}

TEST(GlslFlowTest, GroupMemoryIsSharedGlobals) {
  EXPECT_EQ(glsl_text_of(sample_groups, kGlslArguments), R"(layout(push_constant, scalar) uniform groups_arguments {
  uint64_t out_;
} arguments;
shared float[8][8] tile;
shared uint sums;

float first_of(int p, uint at) {
  return given_memory[p + int(at)];
}
float first_of_1(int p, uint at) {
  return tile[(p + int(at)) / 8][(p + int(at)) % 8];
}
float atomic_add(float value) {
  uint seen = sums, found;
  for (; kymo_goes_on(0u); seen = found) {
    float next = uintBitsToFloat(seen) + value;
    found = atomicCompSwap(sums, seen, floatBitsToUint(next));
    if (found == seen) break;
  }
  return uintBitsToFloat(seen);
}
void groups() {
  uint64_t out_ = arguments.out_;
  int given = 0;
  uint i = gl_GlobalInvocationID.x;
  uint l = gl_LocalInvocationID.x;
  if (l == 0u) {
    atomicStore(sums, floatBitsToUint(0.0), gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsRelaxed);
  }
  tile[l / 8u][l % 8u] = float_at(out_ + uint64_t(i) * 4ul).v;
  given_memory[given + int(l)] = float_at(out_ + uint64_t(i) * 4ul).v * 2.0;
  barrier();
  atomic_add(1.0);
  barrier();
  float_at(out_ + uint64_t(i) * 4ul).v = first_of_1(0, 63u - l) + first_of(given, 63u - l) + uintBitsToFloat(atomicLoad(sums, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsRelaxed));
}
)");
}

TEST(GlslFlowTest, LoopsAndSwitchesKeepTheirOrder) {
  EXPECT_EQ(glsl_text_of(sample_control, kGlslArguments), R"(layout(push_constant, scalar) uniform control_arguments {
  uint64_t out_;
} arguments;

void control() {
  uint64_t out_ = arguments.out_;
  int i = int(gl_GlobalInvocationID.x);
  int n = 1;
  switch (i) {
    case 0:
    case 1: {
      n *= 2;
    }
    case 2: {
      n *= 3;
      break;
    }
    default: {
      n *= 5;
    }
    case -7: {
      n *= 7;
    }
  }
  int64_t w = kymo_widened(i) * 8589934592l;
  int64_t chosen = w;
  switch (chosen == 8589934592l ? 0 : chosen == 17179869184l ? 1 : -1) {
    case 0: {
      n *= 11;
    }
    case 1: {
      n *= 13;
      break;
    }
  }
  int k = 0;
  int j = 0;
  bool is_first = true;
  while (kymo_goes_on(0u)) {
    if (!is_first) {
      ++k;
      if (j > 3) {
        j += -2;
      }
    }
    is_first = false;
    if (!(k < 10)) break;
    if ((k & 1) != 0) {
      continue;
    }
    n += k;
    ++j;
    if (n > 200) {
      break;
    }
  }
  int d = 0;
  bool is_first_1 = true;
  while (kymo_goes_on(1u)) {
    if (!is_first_1) {
      n += 100;
      if (!(d < 6)) break;
    }
    is_first_1 = false;
    ++d;
    if ((d & 1) != 0) {
      continue;
    }
    ++n;
  }
  bool again = true;
  for (; again; again = d < 12) {
    ++d;
  }
  while (kymo_goes_on(2u)) {
    d += 3;
    if (d > 20) {
      break;
    } else {
      n += 1000;
    }
  }
  int_at(out_ + uint64_t(i) * 4ul).v = n + j + d;
}
)");
}

TEST(GlslFlowTest, ConstantsAreConstAndFunctionsAreCopied) {
  EXPECT_EQ(glsl_text_of(sample_constants, kGlslArguments),
            R"(layout(push_constant, scalar) uniform constants_arguments {
  uint64_t out_;
} arguments;

int length_(int p) {
  int n = 0;
  while (int(bye[p + n]) != 0) {
    ++n;
  }
  return n;
}
int length_1(int p) {
  int n = 0;
  while (int(hello[p + n]) != 0) {
    ++n;
  }
  return n;
}
void constants() {
  uint64_t out_ = arguments.out_;
  uint i = gl_GlobalInvocationID.x;
  float_at(out_ + uint64_t(i) * 4ul).v = table[kymo_remainder(int(i), 2)].x + table[kymo_remainder(int(i), 2)].y + float(length_1(0) * 10 + length_(0));
}
)");
}

TEST(GlslFlowTest, ArithmeticIsWrittenInPlace) {
  EXPECT_EQ(glsl_text_of(sample_arithmetic, kGlslArguments),
            R"(layout(push_constant, scalar) uniform arithmetic_arguments {
  uint64_t out_;
  uint64_t counts;
} arguments;

void note(uint64_t to, float value) {
  value = value * value + 1.0;
  float_at(to).v = value;
}
void arithmetic() {
  uint64_t out_ = arguments.out_;
  uint64_t counts = arguments.counts;
  float x = float_at(out_).v;
  int k = 0;
  if (x * x + 1.0 > 2.0) {
    float_at(out_ + uint64_t(int(x * x + 3.0)) * 4ul).v = 1.0;
  } else if (x * x + 4.0 > 5.0) {
    float_at(out_ + 8ul).v = x * x + 6.0;
  }
  while (x * x + 7.0 < 8.0) {
    x = x * x + 9.0;
    k += int(x * x + 10.0);
  }
  note(out_, x * x + 11.0);
  int_at(counts + uint64_t(k) * 4ul).v = int(x * x + 12.0);
  k = int(x > 0.0 ? x * x + 13.0 : x);
  int_at(counts).v = k;
}
)");
}

}  // namespace
}  // namespace kymo::shader::glsl_tests
