#include "unwind/quick_stack.h"

#include <alloca.h>
#include <signal.h>

#include "unwind/quick_stack_test_support.h"

namespace kymo::unwind {
namespace {

// The frame lies where the frame of the previous call was, and its memory from alloca still holds stale words of that
// frame.
TREE_NOINLINE TREE_WITHOUT_FRAME_POINTER void outer_frame(unsigned inner_bytes);
TREE_NOINLINE TREE_PLAIN void stale(unsigned bytes, unsigned inner_bytes) {
  auto* space = static_cast<volatile char*>(alloca(bytes));
  asm volatile("" ::"r"(space) : "memory");
  outer_frame(inner_bytes);
  asm volatile("" ::"r"(space) : "memory");
}
TREE_NOINLINE TREE_WITHOUT_FRAME_POINTER void outer_frame(unsigned inner_bytes) {
  if (inner_bytes == 0)
    look();
  else
    stale(inner_bytes, 0);
  asm volatile("" ::: "memory");
}

TEST(QuickStackTest, StaleFramesInAllocaMemoryAreNotUsed) {
  const auto mine = std::make_unique<Watched>();
  watched = mine.get();
  for (unsigned total = 64; total < 1200; total += 16)
    for (unsigned first = 16; first < total; first += 48) stale(first, total - first);
  EXPECT_EQ(mine->differences, 0u);
  watched = nullptr;
}

// The same inner frames in the same places. They are called once with any value in the frame pointer register, and once
// by a function that needs the register to keep its value.
TREE_NOINLINE TREE_WITHOUT_FRAME_POINTER void inner_frames(void*) {
  outer_frame(0);
  asm volatile("" ::: "memory");
}
TREE_NOINLINE TREE_PLAIN void with_anything_in_it(unsigned bytes, uintptr_t anything) {
  auto* space = static_cast<volatile char*>(alloca(bytes));
  asm volatile("" ::"r"(space) : "memory");
  kymo_test_call_with(anything, inner_frames, nullptr);
  asm volatile("" ::"r"(space) : "memory");
}
TREE_NOINLINE TREE_PLAIN void needing_it(unsigned bytes) {
  auto* space = static_cast<volatile char*>(alloca(bytes));
  asm volatile("" ::"r"(space) : "memory");
  inner_frames(nullptr);
  asm volatile("" ::"r"(space) : "memory");
}

// Two callers of it, so that the remains of one could be mistaken for the other.
template <int kWhich>
TREE_NOINLINE TREE_PLAIN void called_from(unsigned bytes, unsigned inner_bytes) {
  auto* space = static_cast<volatile char*>(alloca(bytes));
  asm volatile("" ::"r"(space), "i"(kWhich) : "memory");
  needing_it(inner_bytes);
  asm volatile("" ::"r"(space), "i"(kWhich) : "memory");
}

TEST(QuickStackTest, UnneededFramePointerIsNotUsedForACallerThatNeedsIt) {
  const auto mine = std::make_unique<Watched>();
  watched = mine.get();
  for (unsigned bytes = 16; bytes < 320; bytes += 16)
    for (unsigned other = 16; other < 320; other += 16) {
      with_anything_in_it(bytes, other);
      needing_it(other);
    }
  for (unsigned bytes = 32; bytes < 320; bytes += 16)
    for (unsigned other = 16; other < bytes; other += 16) {
      called_from<1>(bytes - 16, 16);
      called_from<2>(bytes - other, other);
    }
  EXPECT_EQ(mine->differences, 0u);
  watched = nullptr;
}

TREE_NOINLINE TREE_PLAIN void down(unsigned depth) {
  if (depth == 0)
    look();
  else
    down(depth - 1);
  asm volatile("" ::: "memory");
}

TEST(QuickStackTest, RecursionBeyondMaxFramesIsCutAndMarked) {
  const auto mine = std::make_unique<Watched>();
  watched = mine.get();
  down(4000);
  EXPECT_EQ(mine->last_root, kRoot);
  EXPECT_GT(mine->last.size(), 4000u);
  mine->compare = false;
  down(kMaxFrames + 100);
  EXPECT_EQ(mine->last_root, kCutTooDeep);
  EXPECT_EQ(mine->last.size(), kFramesOfACutStack);
  const size_t nodes = mine->nodes.size();
  down(kMaxFrames + 200);
  EXPECT_EQ(mine->nodes.size(), nodes) << "the same frames are the same nodes, however deep";
  mine->compare = true;
  down(3);
  EXPECT_EQ(mine->last_root, kRoot);
  watched = nullptr;
}

TEST(QuickStackTest, ForeignStackGivesOnlyItsInnermostFrame) {
  const auto mine = std::make_unique<Watched>();
  watched = mine.get();
  mine->compare = false;
  mine->stacks.own = {64, 128};
  look();
  EXPECT_EQ(mine->last_root, kCutElsewhere);
  EXPECT_EQ(mine->last.size(), 1u);
  watched = nullptr;
}

TEST(QuickStackTest, NothingIsReadOutsideTheBounds) {
  const auto mine = std::make_unique<Watched>();
  watched = mine.get();
  mine->compare = false;
  char here;
  const auto sp = reinterpret_cast<uintptr_t>(&here);
  for (uintptr_t room = 0; room < 4096; room += 8) {  // each frame's words are once the first ones out of bounds
    mine->stacks.own = {sp - 65536, (sp & ~uintptr_t{7}) + room};
    down(3);
    EXPECT_TRUE(mine->last_root == kCutNoRule || mine->last_root == kRoot) << mine->last_root;
  }
  watched = nullptr;
}

TEST(QuickStackTest, NodeRejectedByTheListenerIsNotUsed) {
  const auto mine = std::make_unique<Watched>();
  watched = mine.get();
  mine->keep = false;
  mine->compare = false;
  down(5);
  EXPECT_EQ(mine->last_root, kNoStack);
  EXPECT_TRUE(mine->last.empty());
  mine->keep = true;
  mine->compare = true;
  down(5);
  EXPECT_EQ(mine->last_root, kRoot);
  watched = nullptr;
}

// ---- Signals -------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))  // makes another kind of frame; also, emulators do not align a handler's stack
#endif
void on_signal(int) {
  look();
}

TREE_NOINLINE TREE_PLAIN void interrupted() {
  raise(SIGUSR1);
  asm volatile("" ::: "memory");
}

void see_handlers_stack(int flags) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "it forbids handlers to allocate, and this one does: nobody is in malloc";
#endif
  const auto mine = std::make_unique<Watched>();
  watched = mine.get();
  mine->compare = false;
  interrupted();  // no handler yet: the signal is ignored
  struct sigaction action {
  }, before{};
  action.sa_handler = on_signal;
  action.sa_flags = flags;
  std::vector<char> memory(1 << 16);
  stack_t alternate{}, none{};
  none.ss_flags = SS_DISABLE;
  if ((flags & SA_ONSTACK) != 0) {
    alternate.ss_sp = memory.data();
    alternate.ss_size = memory.size();
    sigaltstack(&alternate, nullptr);
    const auto low = reinterpret_cast<uintptr_t>(memory.data());
    mine->stacks.alternate = {low, low + memory.size()};
  }
  sigaction(SIGUSR1, &action, &before);
  interrupted();
  sigaction(SIGUSR1, &before, nullptr);
  sigaltstack(&none, nullptr);
  EXPECT_EQ(mine->last_root, kRoot);
  const auto from = reinterpret_cast<uintptr_t>(&interrupted);
  EXPECT_TRUE(std::any_of(mine->last.begin(), mine->last.end(), [&](uintptr_t address) {
    return address > from && address < from + 64;
  })) << "what was interrupted is on the handler's stack";
  watched = nullptr;
}

TEST(QuickStackTest, HandlerStackContinuesWithTheInterruptedStack) {
  signal(SIGUSR1, SIG_IGN);
  see_handlers_stack(0);
}
TEST(QuickStackTest, HandlerOnAlternateStackContinuesWithTheInterruptedStack) {
  signal(SIGUSR1, SIG_IGN);
  see_handlers_stack(SA_ONSTACK);
}

}  // namespace
}  // namespace kymo::unwind
