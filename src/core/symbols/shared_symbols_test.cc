#include "symbols/shared_symbols.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "symbols/test_library.h"

namespace kymo::symbols {
namespace {

uintptr_t here() { return reinterpret_cast<uintptr_t>(__builtin_return_address(0)); }

TEST(SharedSymbolsTest, AnswersAreKeptForTheWholeLifeOfTheProcess) {
  const uintptr_t address = here();
  const std::vector<Frame>* first = nullptr;
  {
    const SharedSymbols symbols;
    first = &(*symbols).at_return_address(address);
  }
  const SharedSymbols symbols;
  EXPECT_EQ(&(*symbols).at_return_address(address), first);
}

TEST(SharedSymbolsTest, ManyUnloadedModulesAreNotKept) {
  size_t most = 0;
  for (int i = 0; i < 12; ++i) {
    const SharedSymbols symbols;
    {
      const TestLibrary library(KYMO_FRAMES_KEPT);
      for (const uintptr_t address : stack_in(library, 1)) (*symbols).at_return_address(address);
    }
    most = std::max(most, (*symbols).eras());
  }
  EXPECT_LE(most, 9u);
}

// Another thread holds the lock most of the time while this one forks.
TEST(SharedSymbolsTest, AForkedChildMayLookUpToo) {
  const uintptr_t address = here();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      const SharedSymbols symbols;
      (*symbols).at_return_address(address);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const SharedSymbols symbols;
      _exit((*symbols).at_return_address(address).empty() ? 1 : 0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace kymo::symbols
