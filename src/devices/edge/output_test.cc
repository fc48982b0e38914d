// The files that a profiler writes, and errors while writing them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "edge/test_chrome_reader.h"
#include "edge/test_file.h"
#include "edge/test_module.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"

namespace kymo {
namespace {

using edge::Operation;
using edge::testing::file_text;
using edge::testing::refusal;
using edge::testing::TestFolder;
using edge::testing::TestModule;
using edge::testing::write_text;
using ::testing::HasSubstr;

TEST(EdgeFilesTest, WritesItsFileAtTheEndOfTheScope) {
  const TestFolder folder;
  const TestModule module;
  const std::string path = folder.path("run.json");
  {
    EdgeProfiler profiler(module, {.trace_file = path, .with_modules = true});
    EXPECT_FALSE(std::filesystem::exists(path));
    const Operation operation("aten::add", 7);
  }
  EXPECT_THAT(file_text(path), HasSubstr("aten::add"));
  EXPECT_THAT(file_text(path), HasSubstr("top(Test)::<unknown>.part7.aten::add"));
  struct stat there {};
  ASSERT_EQ(stat(path.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(EdgeFilesTest, CompressesIfTheFileNameEndsInGz) {
  const TestFolder folder;
  const TestModule module;
  {
    EdgeProfiler profiler(module, {.trace_file = folder.path("run.json.gz")});
    const Operation operation("aten::add");
  }
  const std::string bytes = file_text(folder.path("run.json.gz"));
  ASSERT_GT(bytes.size(), 2u);
  EXPECT_EQ(bytes.substr(0, 2), "\x1f\x8b");
}

TEST(EdgeFilesTest, AlsoWritesAKymoTrace) {
  const TestFolder folder;
  const TestModule module;
  {
    EdgeProfiler profiler(module, {.trace_file = folder.path("run.json"), .kymo_file = folder.path("run.kymo")});
    const Operation operation("aten::add");
  }
  EXPECT_GT(std::filesystem::file_size(folder.path("run.kymo")), 0u);
  EXPECT_GT(std::filesystem::file_size(folder.path("run.json")), 0u);
}

TEST(EdgeFilesTest, UnwritableFileIsRefusedAndNothingChanges) {
  const TestFolder folder;
  TestModule module;
  const auto start = [&](const std::string& path) {
    return refusal([&] { const EdgeProfiler profiler(module, {.trace_file = path}); });
  };
  EXPECT_THAT(start(folder.path("none/run.json")), HasSubstr("No such file or directory"));
  EXPECT_THAT(start(folder.path()), HasSubstr("it is a folder"));
  EXPECT_THAT(start("/dev/null"), HasSubstr("it is a device; name a regular file"));
  EXPECT_THAT(start(folder.path(std::string(400, 'x'))), HasSubstr("File name too long"));
  EXPECT_THAT(refusal([&] { const EdgeProfiler profiler(module, {.kymo_file = folder.path("none/run.kymo")}); }),
              HasSubstr("none/run.kymo"));
  EXPECT_THAT(refusal([&] {
                const EdgeProfiler profiler(module,
                                            {.trace_file = folder.path("same"), .kymo_file = folder.path("./same")});
              }),
              HasSubstr("a name of its own"));
  EXPECT_EQ(module.started, 0);
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
  EXPECT_TRUE(folder.empty());
}

TEST(EdgeFilesTest, ExistingFileStaysUntilTheNewFileIsComplete) {
  const TestFolder folder;
  const TestModule module;
  const std::string path = folder.path("run.json");
  write_text(path, "old");
  {
    EdgeProfiler profiler(module, {.trace_file = path});
    EXPECT_EQ(file_text(path), "old");
    EXPECT_THAT(refusal([&] { const EdgeProfiler second(module, {.trace_file = path}); }), HasSubstr("records"));
    EXPECT_EQ(file_text(path), "old");
  }
  EXPECT_NE(file_text(path), "old");
}

TEST(EdgeFilesTest, UnwritableFolderIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TestFolder folder;
  const TestModule module;
  write_text(folder.path("old.json"), "old");
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  for (const char* name : {"new.json", "old.json"})
    EXPECT_THAT(refusal([&] { const EdgeProfiler profiler(module, {.trace_file = folder.path(name)}); }),
                HasSubstr("Permission denied"));
}

TEST(EdgeFilesTest, FileOfAnotherProfilerIsRefused) {
  const TestFolder folder;
  const TestModule module;
  const std::string path = folder.path("run.json");
  {
    EdgeProfiler first(module, {.trace_file = path});
    std::thread([&] {
      EXPECT_THAT(refusal([&] { const EdgeProfiler second(module, {.kymo_file = path}); }), HasSubstr("already"));
    }).join();
    first.disable_profiler();
    EXPECT_THAT(refusal([&] { const EdgeProfiler third(module, {.trace_file = path}); }), HasSubstr("already"));
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  const EdgeProfiler next(module, {.trace_file = path});
}

TEST(EdgeFilesTest, CloseThrowsErrorsThatTheDestructorHides) {
  const TestFolder folder;
  TestModule module;
  const std::string inside = folder.path("inside");
  std::filesystem::create_directory(inside);
  {
    EdgeProfiler profiler(module, {.trace_file = inside + "/run.json", .kymo_file = folder.path("run.kymo")});
    std::filesystem::remove_all(inside);
    EXPECT_THAT(refusal([&] { profiler.close(); }), HasSubstr("inside/run.json"));
    EXPECT_EQ(module.ended, 1);
    EXPECT_TRUE(std::filesystem::exists(folder.path("run.kymo")));  // the file that could be written exists
    EXPECT_NO_THROW(profiler.close());
    EXPECT_NO_THROW(profiler.get_profiler_result());
  }
  {
    const EdgeProfiler profiler(module, {.trace_file = folder.path("run.json")});
    std::filesystem::create_directories(folder.path("run.json/in/the/way"));
  }
  EXPECT_EQ(module.ended, 2);
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
}

TEST(EdgeFilesTest, CloseStopsAndWritesOnce) {
  const TestFolder folder;
  TestModule module;
  EdgeProfiler profiler(module, {.trace_file = folder.path("run.json")});
  profiler.close();
  EXPECT_TRUE(std::filesystem::exists(folder.path("run.json")));
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
  std::filesystem::remove(folder.path("run.json"));
  profiler.close();
  EXPECT_TRUE(folder.empty());
  EXPECT_EQ(module.ended, 1);
  EXPECT_THAT(refusal([&] { profiler.disable_profiler(); }), HasSubstr("was stopped before"));
}

TEST(EdgeFilesTest, RelativePathIsResolvedWhenTheProfilerBegins) {
  const TestFolder folder;
  const TestModule module;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  {
    EdgeProfiler profiler(module, {.trace_file = "run.json"});
    std::filesystem::current_path(before);
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path("run.json")));
}

TEST(EdgeFilesTest, ForkedChildWritesNothing) {
  const TestFolder folder;
  const TestModule module;
  EdgeProfiler profiler(module, {.trace_file = folder.path("run.json")});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = !refusal([&] { profiler.close(); }).empty();
    profiler.~EdgeProfiler();
    _exit(refused && !std::filesystem::exists(folder.path("run.json")) && edge::current_log() == nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  profiler.close();
  EXPECT_TRUE(std::filesystem::exists(folder.path("run.json")));
}

}  // namespace
}  // namespace kymo
