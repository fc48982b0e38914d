// The stacks that a thread remembers must be its real stacks. The test makes a random tree of calls and captures the
// stack at each step.
#include <alloca.h>
#include <setjmp.h>

#include <array>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <thread>

#include "unwind/quick_stack_test_support.h"

namespace kymo::unwind {
namespace {

struct Random {
  std::mt19937 engine;
  unsigned below(unsigned limit) { return static_cast<unsigned>(engine() % limit); }
};

struct Leaves {
  jmp_buf where;
  bool armed = false;
};

void grow(Random& random, unsigned depth, Leaves& leaves);

TREE_NOINLINE TREE_WITHOUT_FRAME_POINTER void small(Random& random, unsigned depth, Leaves& leaves) {
  grow(random, depth, leaves);
  asm volatile("" ::: "memory");
}
TREE_NOINLINE TREE_WITH_FRAME_POINTER void with_pointer(Random& random, unsigned depth, Leaves& leaves) {
  char space[72];
  asm volatile("" ::"r"(space) : "memory");
  grow(random, depth, leaves);
  asm volatile("" ::"r"(space) : "memory");
}
TREE_NOINLINE TREE_WITHOUT_FRAME_POINTER void large(Random& random, unsigned depth, Leaves& leaves) {
  char space[5000];
  asm volatile("" ::"r"(space) : "memory");
  grow(random, depth, leaves);
  asm volatile("" ::"r"(space) : "memory");
}
TREE_NOINLINE TREE_WITHOUT_FRAME_POINTER void many_registers(Random& random, unsigned depth, Leaves& leaves) {
  unsigned a = random.below(9), b = random.below(9), c = random.below(9), d = random.below(9), e = random.below(9);
  for (unsigned i = 0; i < 1 + a % 2; ++i) grow(random, depth + (i & e & 0), leaves);
  asm volatile("" ::"r"(a + b), "r"(c + d), "r"(e) : "memory");
}
TREE_NOINLINE TREE_PLAIN void with_alloca(Random& random, unsigned depth, Leaves& leaves) {
  const unsigned bytes = 16 + 16 * random.below(20);
  auto* space = static_cast<volatile char*>(alloca(bytes));
  space[0] = 1;
  grow(random, depth, leaves);
  space[1] = 1;
}
TREE_NOINLINE TREE_PLAIN void realigned(Random& random, unsigned depth, Leaves& leaves) {
  alignas(128) volatile char space[128] = {};
  asm volatile("" ::"r"(space) : "memory");
  grow(random, depth, leaves);
  asm volatile("" ::"r"(space) : "memory");
}
TREE_NOINLINE void unoptimised(Random& random, unsigned depth, Leaves& leaves) {
  std::array<int, 3> values;  // has no destructor, because longjmp skips this frame
  values.fill(static_cast<int>(depth));
  grow(random, depth, leaves);
}
TREE_NOINLINE TREE_PLAIN void catching(Random& random, unsigned depth, Leaves& leaves) {
  try {
    grow(random, depth, leaves);
    if (random.below(4) == 0) throw std::runtime_error("up");
  } catch (const std::runtime_error&) {
    look();
  }
}
TREE_NOINLINE TREE_PLAIN void throwing(Random& random, unsigned depth, Leaves& leaves) {
  grow(random, depth, leaves);
  if (random.below(8) == 0) throw std::runtime_error("further up");
}
TREE_NOINLINE TREE_PLAIN void recursive(Random& random, unsigned depth, Leaves& leaves, unsigned times) {
  if (times > 0) {
    recursive(random, depth, leaves, times - 1);
    if (times % 5 == 0) look();
  } else {
    grow(random, depth, leaves);
  }
  asm volatile("" ::: "memory");
}
TREE_NOINLINE TREE_PLAIN bool compare(const void* left, const void* right) {
  look();
  return *static_cast<const int*>(left) < *static_cast<const int*>(right);
}
TREE_NOINLINE TREE_PLAIN void through_the_library(Random& random, unsigned depth, Leaves& leaves) {
  int values[] = {3, 1, 2};
  std::qsort(values, 3, sizeof(int), [](const void* l, const void* r) { return compare(l, r) ? -1 : 1; });
  grow(random, depth, leaves);
}

struct Growth {
  Random& random;
  unsigned depth;
  Leaves& leaves;
};
TREE_NOINLINE TREE_WITHOUT_FRAME_POINTER void grow_on(void* growth) {
  const auto& [random, depth, leaves] = *static_cast<Growth*>(growth);
  grow(random, depth, leaves);
  asm volatile("" ::: "memory");
}
TREE_NOINLINE void with_other_register(Random& random, unsigned depth, Leaves& leaves) {
  Growth growth{random, depth, leaves};
  const uintptr_t values[] = {0, 1, 64 + 8 * random.below(3), reinterpret_cast<uintptr_t>(&growth) + 16};
  kymo_test_call_with(values[random.below(4)], grow_on, &growth);
}

TREE_NOINLINE TREE_PLAIN void grow(Random& random, unsigned depth, Leaves& leaves) {
  look();
  if (depth == 0) {
    if (leaves.armed && random.below(16) == 0) longjmp(leaves.where, 1);
    return;
  }
  for (unsigned times = 1 + random.below(2); times > 0; --times) {
    switch (random.below(12)) {
      case 0:
        small(random, depth - 1, leaves);
        break;
      case 1:
        with_pointer(random, depth - 1, leaves);
        break;
      case 2:
        large(random, depth - 1, leaves);
        break;
      case 3:
        many_registers(random, depth - 1, leaves);
        break;
      case 4:
        with_alloca(random, depth - 1, leaves);
        break;
      case 5:
        realigned(random, depth - 1, leaves);
        break;
      case 6:
        unoptimised(random, depth - 1, leaves);
        break;
      case 7:
        catching(random, depth - 1, leaves);
        break;
      case 8:
        recursive(random, depth - 1, leaves, random.below(12));
        break;
      case 9:
        through_the_library(random, depth - 1, leaves);
        break;
      case 10:
        with_other_register(random, depth - 1, leaves);
        break;
      default:
        throwing(random, depth - 1, leaves);
        break;
    }
    look();
  }
}

TREE_NOINLINE void plant(unsigned seed, unsigned rounds, unsigned depth) {
  const auto mine = std::make_unique<Watched>();
  watched = mine.get();
  Random random{std::mt19937(seed)};
  volatile unsigned round = 0;
  Leaves leaves;
  leaves.armed = true;
  while (round < rounds) {
    round = round + 1;
    if (setjmp(leaves.where) != 0) {
      look();
      continue;
    }
    try {
      grow(random, depth, leaves);
    } catch (const std::runtime_error&) {
      look();
    }
  }
  EXPECT_EQ(mine->differences, 0u) << "of " << mine->captures << " captures";
  EXPECT_GT(mine->captures, rounds);
  watched = nullptr;
}

TEST(QuickStackTest, StacksOfRandomCallTreesMatchTheOtherUnwinder) {
  for (unsigned seed = 1; seed <= 8; ++seed) plant(seed, 20, 6);
}

TEST(QuickStackTest, ThreadsRememberTheirOwnStacks) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) threads.emplace_back(plant, 100 + i, 8, 6);
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace kymo::unwind
