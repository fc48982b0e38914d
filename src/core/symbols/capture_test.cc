#include "symbols/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "symbols/test_library.h"
#include "unwind/rule_table.h"

namespace kymo::symbols {
namespace {

constexpr int kDepth = 5;

struct Captured {
  std::vector<uintptr_t> addresses = std::vector<uintptr_t>(64);
  size_t skip = 0;
  Method method = Method::UnwindTables;
};

int capture_now(void* argument) {
  auto& captured = *static_cast<Captured*>(argument);
  captured.addresses.resize(capture(captured.addresses, captured.skip, captured.method));
  return 0;
}

Captured descend_and_capture(const TestLibrary& library, Captured captured, int depth = kDepth) {
  library.descend(depth, capture_now, &captured);
  return captured;
}

// Counts the addresses in the library. The library has no functions other than those of its stack.
size_t frames_of(const TestLibrary& library, const Captured& captured) {
  const auto module_of = [](uintptr_t address) {
    Dl_info info{};
    return dladdr(reinterpret_cast<const void*>(address - 1), &info) != 0 ? info.dli_fbase : nullptr;
  };
  const void* const base = module_of(reinterpret_cast<uintptr_t>(library.descend) + 1);
  return static_cast<size_t>(std::count_if(captured.addresses.begin(), captured.addresses.end(),
                                           [&](uintptr_t address) { return module_of(address) == base; }));
}

constexpr size_t kFramesOfLibrary = 1 + (kDepth + 1) + 1;  // frames_descend, descend…, hidden

TEST(CaptureTest, UnwindTablesFindFramesWithAndWithoutFramePointers) {
  for (const char* const path : {KYMO_FRAMES_KEPT, KYMO_FRAMES_OMITTED, KYMO_FRAMES_STRIPPED}) {
    const TestLibrary library(path);
    EXPECT_EQ(frames_of(library, descend_and_capture(library, {})), kFramesOfLibrary) << path;
  }
}

TEST(CaptureTest, FramePointersFindTheSameFramesIfTheyAreKept) {
  const TestLibrary library(KYMO_FRAMES_KEPT);
  const Captured by_tables = descend_and_capture(library, {});
  const Captured by_pointers = descend_and_capture(library, {.method = Method::FramePointers});
  ASSERT_GT(by_pointers.addresses.size(), kFramesOfLibrary);
  for (size_t i = 0; i <= kFramesOfLibrary; ++i) EXPECT_EQ(by_pointers.addresses[i], by_tables.addresses[i]) << i;
}

TEST(CaptureTest, FramePointerWalkSurvivesCodeWithoutFramePointers) {
  const TestLibrary library(KYMO_FRAMES_OMITTED);
  const Captured captured = descend_and_capture(library, {.method = Method::FramePointers});
  EXPECT_GE(captured.addresses.size(), 1u);
  EXPECT_LE(frames_of(library, captured), kFramesOfLibrary);
}

class CaptureMethodTest : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Both, CaptureMethodTest, testing::Values(Method::UnwindTables, Method::FramePointers));

__attribute__((noinline)) size_t capture_here(std::span<uintptr_t> addresses, size_t skip, Method method,
                                              uintptr_t& return_address) {
  return_address = unwind::without_signature(reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
  return capture(addresses, skip, method);
}

TEST_P(CaptureMethodTest, FirstFrameIsTheCallersAndSkipDropsInnermostFrames) {
  uintptr_t return_address = 0;
  std::vector<uintptr_t> all(64), less(64);
  all.resize(capture_here(all, 0, GetParam(), return_address));
  ASSERT_GE(all.size(), 3u);
  EXPECT_EQ(all[1], return_address);
  less.resize(capture_here(less, 1, GetParam(), return_address));
  ASSERT_EQ(less.size(), all.size() - 1);
  EXPECT_EQ(less[0], return_address);
  EXPECT_TRUE(std::equal(less.begin() + 1, less.end(), all.begin() + 2));
}

TEST_P(CaptureMethodTest, NoRoomOrNoFrameLeftGivesNoFrames) {
  EXPECT_EQ(capture({}, 0, GetParam()), 0u);
  std::vector<uintptr_t> addresses(16);
  EXPECT_EQ(capture(addresses, 100'000, GetParam()), 0u);
  EXPECT_EQ(capture(addresses, SIZE_MAX, GetParam()), 0u);
}

TEST_P(CaptureMethodTest, StackThatDoesNotFitIsCutAtTheOuterEnd) {
  const TestLibrary library(KYMO_FRAMES_KEPT);
  constexpr int kDeep = 3000;
  const Captured whole =
      descend_and_capture(library, {.addresses = std::vector<uintptr_t>(2 * kDeep), .method = GetParam()}, kDeep);
  EXPECT_GT(whole.addresses.size(), size_t{kDeep});
  for (const size_t size : {1u, 2u, 64u, 1000u, 1024u, 1025u, 2000u}) {
    const Captured cut =
        descend_and_capture(library, {.addresses = std::vector<uintptr_t>(size), .method = GetParam()}, kDeep);
    ASSERT_EQ(cut.addresses.size(), size);
    EXPECT_TRUE(std::equal(cut.addresses.begin() + 1, cut.addresses.end(), whole.addresses.begin() + 1)) << size;
  }
}

TEST_P(CaptureMethodTest, FiveConcurrentThreadsGetTheirOwnStacks) {
  const TestLibrary library(KYMO_FRAMES_KEPT);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int depth = 1; depth <= 5; ++depth)
    threads.emplace_back([&, depth] {
      for (int i = 0; i < 500; ++i) {
        const Captured captured = descend_and_capture(library, {.method = GetParam()}, depth);
        if (frames_of(library, captured) != static_cast<size_t>(depth) + 3) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(CaptureMethodTest, ForkedChildCanCapture) {
  const TestLibrary library(KYMO_FRAMES_KEPT);
  const size_t wanted = frames_of(library, descend_and_capture(library, {.method = GetParam()}));
  const pid_t child = fork();
  if (child == 0) _exit(frames_of(library, descend_and_capture(library, {.method = GetParam()})) == wanted ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The compiler's unwinder, for comparison.
std::vector<uintptr_t> stack_by_compiler() {
  std::vector<uintptr_t> addresses;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        static_cast<std::vector<uintptr_t>*>(argument)->push_back(unwind::without_signature(_Unwind_GetIP(context)));
        return _URC_NO_REASON;
      },
      &addresses);
  return addresses;
}

// Both captures are made in one function, so all frames but the innermost are the same.
void compare_with_compiler() {
  std::vector<uintptr_t> ours(256), theirs = stack_by_compiler();
  ours.resize(capture(ours, 1, Method::UnwindTables));
  while (!theirs.empty() && theirs.back() == 0) theirs.pop_back();
  ASSERT_GE(theirs.size(), ours.size());
  theirs.erase(theirs.begin(), theirs.end() - static_cast<ptrdiff_t>(ours.size()));
  EXPECT_EQ(ours, theirs);
  EXPECT_GE(ours.size(), 3u);
}

TEST(CaptureTest, UnwindTablesFindTheSameFramesAsTheCompilersUnwinder) {
  compare_with_compiler();
  std::thread(compare_with_compiler).join();
  std::thread(compare_with_compiler).join();
  bool compared = false;
  int numbers[] = {3, 1, 2};
  qsort_r(
      numbers, 3, sizeof numbers[0],
      [](const void*, const void*, void* done) {
        if (!std::exchange(*static_cast<bool*>(done), true)) compare_with_compiler();
        return 0;
      },
      &compared);
  EXPECT_TRUE(compared);
  try {
    throw 1;
  } catch (int) {
    compare_with_compiler();
  }
}

#if !defined(__SANITIZE_THREAD__)  // it reports that the test itself allocates in a handler
size_t frames_in_handler = 0;

#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))  // emulators do not align a handler's stack
#endif
void compare_in_handler(int) {
  compare_with_compiler();
  std::vector<uintptr_t> frames(256);
  frames_in_handler = capture(frames, 0, Method::UnwindTables);
}

TEST(CaptureTest, SignalFrameIsCrossed) {
  const auto before = std::signal(SIGUSR1, compare_in_handler);
  raise(SIGUSR1);
  std::signal(SIGUSR1, before);
  std::vector<uintptr_t> frames(256);
  EXPECT_GT(frames_in_handler, capture(frames, 0, Method::UnwindTables)) << "the handler's stack ends with this one";
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
size_t frames_on_other_stack = 1;
ucontext_t this_context, other_context;

void capture_on_other_stack() {
  std::vector<uintptr_t> addresses(16);
  frames_on_other_stack = capture(addresses, 0, Method::FramePointers);
}

TEST(CaptureTest, FramePointersFindNothingOnAForeignStack) {
  std::vector<char> stack(256 * 1024);
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack.data();
  other_context.uc_stack.ss_size = stack.size();
  other_context.uc_link = &this_context;
  makecontext(&other_context, capture_on_other_stack, 0);
  swapcontext(&this_context, &other_context);
  EXPECT_EQ(frames_on_other_stack, 0u);
}
#endif

TEST(CaptureTest, EnvironmentSelectsTheMethod) {
  const auto chosen = [](const char* value) {
    if (value == nullptr)
      unsetenv("KYMO_STACKS");
    else
      setenv("KYMO_STACKS", value, 1);
    const Method method = chosen_method();
    unsetenv("KYMO_STACKS");
    return method;
  };
  EXPECT_EQ(chosen(nullptr), Method::UnwindTables);
  EXPECT_EQ(chosen("unwind-tables"), Method::UnwindTables);
  EXPECT_EQ(chosen("frame-pointers"), Method::FramePointers);
  EXPECT_EQ(chosen("guessing"), Method::UnwindTables);
}

}  // namespace
}  // namespace kymo::symbols
