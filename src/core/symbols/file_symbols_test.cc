#include "symbols/file_symbols.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "symbols/debug_information.h"
#include "symbols/test_library.h"

namespace kymo::symbols {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A return address in the library, relative to its beginning.
uint64_t place_in(const std::string& path) {
  const TestLibrary library(path);
  const std::vector<uintptr_t> stack = stack_in(library, 1);
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(stack.at(1)), &info);
  return stack.at(1) - reinterpret_cast<uintptr_t>(info.dli_fbase);
}

#if KYMO_HAVE_DW
TEST(FileSymbolsTest, StubsHaveTheNamesOfTheFunctionsThatTheyCall) {
  FileSymbols symbols;
  std::set<std::string> stubs;
  constexpr uint64_t kCode = 0x8000;  // the library is smaller, even with the code of a sanitizer
  for (uint64_t offset = 1; offset < kCode; offset += 8) {
    const std::string name = symbols.at_return_address(KYMO_FRAMES_STRIPPED, "", offset).back().function;
    if (name.ends_with("@plt")) stubs.insert(name);
  }
  EXPECT_TRUE(stubs.contains("__cxa_finalize@plt")) << "all libraries of the C library's compilers call it";
}

TEST(FileSymbolsTest, FunctionsAreFoundInAFileThatIsNotLoaded) {
  for (const char* const path : {KYMO_FRAMES_KEPT, KYMO_FRAMES_OMITTED}) {
    const uint64_t offset = place_in(path);
    FileSymbols symbols;
    const std::vector<Frame> frames = symbols.at_return_address(path, "", offset);
    ASSERT_FALSE(frames.empty());
    EXPECT_THAT(frames.back().function, StartsWith("int frames::descend<int>(int, "));
    EXPECT_THAT(frames.back().file, EndsWith("src/core/symbols/test_frames/frames.cc"));
    EXPECT_GT(frames.back().line, 0u);
    EXPECT_EQ(frames.back().module, path);
  }
}

TEST(FileSymbolsTest, AllAddressesOfAFunctionWithoutASymbolHaveOneName) {
  const uint64_t offset = place_in(KYMO_FRAMES_STRIPPED);
  FileSymbols symbols;
  const std::string name = symbols.at_return_address(KYMO_FRAMES_STRIPPED, "", offset).back().function;
  EXPECT_THAT(name, StartsWith("libsymbols_frames_stripped.so+0x"));
  EXPECT_EQ(symbols.at_return_address(KYMO_FRAMES_STRIPPED, "", offset - 1).back().function, name);
  EXPECT_LT(std::stoull(name.substr(name.find('+') + 1), nullptr, 16), offset) << "where the function begins";
}

TEST(FileSymbolsTest, FileOfTheSameBuildIsUsed) {
  const DebugInformation information(base::FileDescriptor(::open(KYMO_FRAMES_KEPT, O_RDONLY | O_CLOEXEC)),
                                     KYMO_FRAMES_KEPT);
  const std::string build_id = information.build_id();
  if (build_id.empty()) GTEST_SKIP() << "the linker writes no build ids";
  FileSymbols symbols;
  const std::vector<Frame> frames = symbols.at_return_address(KYMO_FRAMES_KEPT, build_id, place_in(KYMO_FRAMES_KEPT));
  EXPECT_THAT(frames.back().function, HasSubstr("descend"));
}

TEST(FileSymbolsTest, ProgramItselfIsFound) {
  const auto here = reinterpret_cast<uintptr_t>(&place_in) + 8;
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(here), &info), 0);
  FileSymbols symbols;
  const auto frames = symbols.at_return_address(std::filesystem::canonical("/proc/self/exe"), "",
                                                here - reinterpret_cast<uintptr_t>(info.dli_fbase));
  EXPECT_THAT(frames.back().function, HasSubstr("place_in"));
}
#endif

TEST(FileSymbolsTest, FileOfAnotherBuildIsNotUsed) {
  FileSymbols symbols;
  const std::vector<Frame> frames = symbols.at_return_address(KYMO_FRAMES_KEPT, "00112233445566778899", 0x1234);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_THAT(frames[0].function, EndsWith("libsymbols_frames_kept.so+0x1234"));
  EXPECT_EQ(frames[0].module, KYMO_FRAMES_KEPT);
}

TEST(FileSymbolsTest, AddressWithoutCodeIsShownAsAnOffset) {
  FileSymbols symbols;
  EXPECT_EQ(symbols.at_return_address("/nowhere/libgone.so", "", 16)[0].function, "libgone.so+0x10");
  EXPECT_EQ(symbols.at_return_address("linux-vdso.so.1", "abcd", 16)[0].function, "linux-vdso.so.1+0x10");
  EXPECT_EQ(symbols.at_return_address("", "", 0)[0].function, "+0x0");
  EXPECT_THAT(symbols.at_return_address(KYMO_FRAMES_KEPT, "", UINT64_MAX)[0].function, HasSubstr("+0xffffffff"));
  EXPECT_THAT(symbols.at_return_address(KYMO_FRAMES_KEPT, "../../etc/passwd", 1)[0].function, HasSubstr("+0x1"));
}

// A lookup must not wait for the writer of a pipe, and must not read a file without code.
TEST(FileSymbolsTest, UntrustedPathsAreHarmless) {
  char folder[] = "/tmp/kymo-symbols-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string pipe = std::string(folder) + "/pipe", text = std::string(folder) + "/text.so";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(text) << "no code";
  FileSymbols symbols;
  EXPECT_EQ(symbols.at_return_address(pipe, "", 1)[0].function, "pipe+0x1");
  EXPECT_EQ(symbols.at_return_address(text, "", 1)[0].function, "text.so+0x1");
  EXPECT_EQ(symbols.at_return_address(folder, "", 1).size(), 1u);
  EXPECT_EQ(symbols.at_return_address("/dev/zero", "", 1)[0].function, "zero+0x1");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kymo::symbols
