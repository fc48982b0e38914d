#include "sample/stack_finder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "unwind/stack_bounds.h"
#include "unwind/walk.h"

namespace kymo::sample {
namespace {

constexpr size_t kDepth = 20;

struct Copy {
  unwind::Registers at;
  std::vector<std::byte> bytes;
  std::vector<uintptr_t> expected;
};

// As the kernel does it: also between the variables, where AddressSanitizer's version of memcpy stops the program.
KYMO_READS_STACKS void copy_stack(uintptr_t from, std::vector<std::byte>& into) {
  const auto* const bytes = reinterpret_cast<const volatile std::byte*>(from);
  for (size_t i = 0; i < into.size(); ++i) into.data()[i] = bytes[i];
}

// A copy of this thread's stack, and what the walk inside the process finds.
__attribute__((noinline)) Copy copy_here(size_t most) {
  const unwind::StackBounds own = unwind::find_own_stack();
  Copy copy;
  copy.at = KYMO_CALLER_REGISTERS();
  const size_t bytes = std::min<size_t>(most, own.high - copy.at.sp);
  copy.bytes.resize(bytes);
  copy_stack(copy.at.sp, copy.bytes);
  copy.expected.resize(1000);
  copy.expected.resize(unwind::walk(copy.at, {own}, copy.expected, 0, unwind::WithoutTable::Guess).count);
  return copy;
}

__attribute__((noinline)) Copy descend(size_t depth, size_t most) {
  if (depth == 0) return copy_here(most);
  Copy copy = descend(depth - 1, most);
  asm volatile("" ::: "memory");
  return copy;
}

class CopiedWalkTest : public ::testing::Test {
 protected:
  CopiedWalkTest() : code_(files_) { code_.read_maps(getpid()); }

  WalkedCopy walk(const Copy& copy, std::vector<uint64_t>& into) {
    CopiedStack stack;
    stack.at = copy.at;
    stack.bytes = copy.bytes;
    stack.is_cut = true;
    into.resize(1000);
    const WalkedCopy walked = walk_copy(stack, code_, getpid(), into);
    into.resize(walked.count);
    return walked;
  }

  CodeFiles files_;
  AddressSpace code_;
};

#if !defined(__SANITIZE_ADDRESS__)
TEST_F(CopiedWalkTest, FindsWhatTheWalkInsideTheProcessFinds) {
  if (!unwind::kCanUnwind) GTEST_SKIP();
  const Copy copy = descend(kDepth, 1 << 20);
  std::vector<uint64_t> found;
  const WalkedCopy walked = walk(copy, found);
  EXPECT_EQ(walked.root, unwind::kRoot);
  ASSERT_GT(found.size(), kDepth);
  ASSERT_EQ(found.size(), copy.expected.size());
  EXPECT_EQ(found[0], copy.expected[0] + 1) << "the interrupted instruction";
  for (size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i], copy.expected[i]) << i;
}

TEST_F(CopiedWalkTest, StackLongerThanItsCopyIsCut) {
  if (!unwind::kCanUnwind) GTEST_SKIP();
  const Copy copy = descend(kDepth, 1024);
  std::vector<uint64_t> found;
  const WalkedCopy walked = walk(copy, found);
  EXPECT_EQ(walked.root, unwind::kCutByCopy);
  ASSERT_GT(found.size(), 1u);
  ASSERT_LT(found.size(), copy.expected.size());
  for (size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i], copy.expected[i]) << i;
}
#endif

TEST_F(CopiedWalkTest, AnyBytesAreAStack) {
  std::mt19937_64 random(7);
  const Copy real = descend(kDepth, 4096);
  for (int round = 0; round < 2000; ++round) {
    Copy copy = real;
    copy.bytes.resize(random() % (copy.bytes.size() + 1));
    for (int i = 0; i < 20 && !copy.bytes.empty(); ++i)
      copy.bytes[random() % copy.bytes.size()] = static_cast<std::byte>(random());
    if (round % 3 == 0) copy.at.fp = copy.at.sp + random() % 5000;
    if (round % 5 == 0) copy.at.pc = random();
    if (round % 7 == 0) copy.at.sp = random();
    std::vector<uint64_t> found;
    walk(copy, found);
    EXPECT_LE(found.size(), 1000u);
  }
}

TEST_F(CopiedWalkTest, KnowsTheFileOfAnAddress) {
  const LoadedFile* const own = code_.file_at(getpid(), reinterpret_cast<uint64_t>(&descend) + 1);
  ASSERT_NE(own, nullptr);
  EXPECT_TRUE(own->path.ends_with("sample_test")) << own->path;
  EXPECT_FALSE(own->build_id.empty());
  EXPECT_EQ(code_.file_at(getpid(), 1), nullptr);
}

TEST(InterruptedRuleTest, RegisterThatWasRestoredAtTheEndOfAFunctionIsNotReadAgain) {
  unwind::Rule rule{unwind::Rule::Kind::Table, unwind::Rule::kFramePointerSaved, 0, 16, -8, -48};
  const unwind::Registers at{1, 1000, 2};
  EXPECT_EQ(unwind::rule_when_interrupted(rule, at).flags, 0) << "its slot is below the stack pointer";
  rule.fp_offset = -16;
  EXPECT_EQ(unwind::rule_when_interrupted(rule, at), rule) << "its slot is at the stack pointer";
}

}  // namespace
}  // namespace kymo::sample
