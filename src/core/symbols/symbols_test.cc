#include "symbols/symbols.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/test_tree.h"
#include "symbols/debug_information.h"
#include "symbols/test_library.h"

namespace kymo::symbols {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

struct Found {
  std::vector<std::vector<Frame>> stack;  // by address
  std::vector<Frame> frames;              // all
};

// The frames of the library when it calls back at `depth`.
Found look_up(const std::string& path, Symbols& symbols, int depth = 1) {
  const TestLibrary library(path);
  Found found;
  for (const uintptr_t address : stack_in(library, depth)) {
    const std::vector<Frame>& frames = symbols.at_return_address(address);
    EXPECT_FALSE(frames.empty());
    if (frames.empty() || frames.back().module != path) break;
    found.stack.push_back(frames);
    found.frames.insert(found.frames.end(), frames.begin(), frames.end());
  }
  return found;
}

// The line of the library's source that has this mark.
uint32_t line_of(const std::string& mark) {
  std::ifstream file(kymo::base::in_tree("src/core/symbols/test_frames/frames.cc"));
  std::string line;
  for (uint32_t number = 1; std::getline(file, line); ++number)
    if (line.ends_with("// line: " + mark)) return number;
  ADD_FAILURE() << "no line: " << mark;
  return 0;
}

#if KYMO_HAVE_DW
TEST(SymbolsTest, FunctionsLinesAndInlinedCallsAreFound) {
  Symbols symbols;  // created before the library is loaded: the library is found when it is needed
  for (const char* const path : {KYMO_FRAMES_KEPT, KYMO_FRAMES_OMITTED}) {
    const Found found = look_up(path, symbols);
    ASSERT_EQ(found.stack.size(), 4u);
    ASSERT_EQ(found.frames.size(), 5u);
    EXPECT_EQ(found.stack[0].size(), 2u);

    EXPECT_THAT(found.frames[0].function, StartsWith("frames::(anonymous namespace)::call"));
    EXPECT_TRUE(found.frames[0].inlined);
    EXPECT_EQ(found.frames[0].line, line_of("callback"));

    EXPECT_THAT(found.frames[1].function, StartsWith("frames::(anonymous namespace)::hidden("));
    EXPECT_FALSE(found.frames[1].inlined);
    EXPECT_EQ(found.frames[1].line, line_of("call"));

    EXPECT_THAT(found.frames[2].function, StartsWith("int frames::descend<int>(int, "));
    EXPECT_EQ(found.frames[2].line, line_of("descend"));
    EXPECT_EQ(found.frames[3].function, found.frames[2].function);
    EXPECT_EQ(found.frames[4].function, "frames_descend");
    for (const Frame& frame : found.frames) {
      EXPECT_THAT(frame.file, EndsWith("src/core/symbols/test_frames/frames.cc"));
      EXPECT_EQ(frame.module, path);
    }
  }
}
#endif

TEST(SymbolsTest, WithoutSymbolsTheModuleAndOffsetAreGiven) {
  Symbols symbols;
  const Found found = look_up(KYMO_FRAMES_STRIPPED, symbols);
  ASSERT_EQ(found.frames.size(), 4u);
  EXPECT_THAT(found.frames[0].function, MatchesRegex("libsymbols_frames_stripped\\.so\\+0x[0-9a-f]+"));
  EXPECT_EQ(found.frames[0].file, "");
  EXPECT_EQ(found.frames[0].line, 0u);
  EXPECT_EQ(found.frames[3].function, "frames_descend");  // exported: the loader needs its name
}

TEST(SymbolsTest, AddressWithoutCodeIsShownAsANumber) {
  Symbols symbols;
  for (const uintptr_t address : {uintptr_t{0}, uintptr_t{1}, uintptr_t{0x10}, UINTPTR_MAX}) {
    const std::vector<Frame>& frames = symbols.at_return_address(address);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_THAT(frames[0].function, StartsWith("0x"));
    EXPECT_EQ(frames[0].module, "");
  }
}

TEST(SymbolsTest, AnswersAreCachedAndStayValid) {
  Symbols symbols;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  const std::vector<Frame>* const first = &symbols.at_return_address(here);
  for (uintptr_t i = 1; i < 200; ++i) symbols.at_return_address(here + i);
  EXPECT_EQ(&symbols.at_return_address(here), first);
}

#if KYMO_HAVE_DW
TEST(SymbolsTest, NewCodeAtAnOldAddressIsNotMistakenForUnloadedCode) {
  Symbols symbols;
  for (int i = 0; i < 20; ++i) {  // the loader places them at the same address in turn
    EXPECT_EQ(look_up(KYMO_FRAMES_KEPT, symbols, 0).stack.size(), 3u);
    EXPECT_EQ(look_up(KYMO_FRAMES_OMITTED, symbols, 0).stack.size(), 3u);
  }
}

TEST(SymbolsTest, FileThatIsOnlyReadIsNotAPartOfTheModule) {
  const TestLibrary library(KYMO_FRAMES_KEPT);
  uintptr_t begin = 0;
  for (const LoadedModule& module : loaded_modules())
    if (module.path == KYMO_FRAMES_KEPT) begin = module.begin;
  ASSERT_NE(begin, 0u);
  const base::FileDescriptor file(open(KYMO_FRAMES_KEPT, O_RDONLY));
  constexpr size_t kPage = 4096;
  void* const before = reinterpret_cast<void*>(begin - kPage);  // directly before the module, as libdw may map it
  void* const mapped = mmap(before, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file.get(), 0);
  if (mapped == MAP_FAILED) GTEST_SKIP() << "the page before the module is in use";
  Symbols symbols;
  EXPECT_EQ(look_up(KYMO_FRAMES_KEPT, symbols).frames.size(), 5u);
  munmap(mapped, kPage);
}

TEST(SymbolsTest, UnloadedLibraryStaysKnown) {
  std::unique_ptr<TestLibrary> library = std::make_unique<TestLibrary>(KYMO_FRAMES_KEPT);
  Symbols symbols;
  const std::vector<uintptr_t> stack = stack_in(*library, 1);
  library.reset();
  EXPECT_THAT(symbols.at_return_address(stack.at(1)).back().function, HasSubstr("frames::descend<int>"));
}
#endif

TEST(SymbolsTest, ThreadsUseTheirOwnSymbolsConcurrently) {
  std::atomic<size_t> found = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i)
    threads.emplace_back([&] {
      Symbols symbols;
      found += look_up(KYMO_FRAMES_KEPT, symbols).stack.size();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, 5 * 4u);
}

TEST(SymbolsTest, MangledNamesAreDemangled) {
  EXPECT_EQ(demangled("_ZN4kymo7symbols9demangledEPKc"), "kymo::symbols::demangled(char const*)");
  EXPECT_EQ(demangled("main"), "main");
  EXPECT_EQ(demangled(""), "");
  EXPECT_EQ(demangled("_"), "_");
  EXPECT_EQ(demangled("_Znonsense"), "_Znonsense");
}

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
