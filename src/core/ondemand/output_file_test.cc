#include "ondemand/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kymo/error.h"

namespace kymo::ondemand {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-output-test-XXXXXX";
    folder = mkdtemp(pattern);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string refusal(const std::string& path, const AllowedFolders& allowed = {}) {
    try {
      const OutputFile file(path, allowed);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  std::string folder;
};

TEST_F(OutputFileTest, AppearsUnderItsNameWhenItIsComplete) {
  OutputFile file(folder + "/a.kymo", {});
  struct stat status {};
  ASSERT_EQ(stat(file.part().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_FALSE(fs::exists(file.path()));
  file.complete();
  EXPECT_TRUE(fs::exists(folder + "/a.kymo"));
  EXPECT_FALSE(fs::exists(folder + "/a.kymo.part"));
}

TEST_F(OutputFileTest, UnfinishedFileIsRemovedUnlessItIsKept) {
  { OutputFile file(folder + "/a.kymo", {}); }
  EXPECT_TRUE(fs::is_empty(folder));
  {
    OutputFile file(folder + "/a.kymo", {});
    file.keep();
  }
  EXPECT_TRUE(fs::exists(folder + "/a.kymo.part"));
}

TEST_F(OutputFileTest, AnExportedRecordingIsNotKeptAsWell) {
  {
    OutputFile file(folder + "/a.json", {});
    file.keep();
    file.complete([](const std::string& path) { std::ofstream(path) << "{}"; });
  }
  EXPECT_TRUE(fs::exists(folder + "/a.json"));
  EXPECT_FALSE(fs::exists(folder + "/a.json.part"));
}

TEST_F(OutputFileTest, ExistingPartFileIsNotOverwritten) {
  std::ofstream(folder + "/a.kymo.part") << "what a killed program left";
  {
    const OutputFile file(folder + "/a.kymo", {});
    EXPECT_EQ(file.part(), folder + "/a.kymo.2.part");
  }
  EXPECT_EQ(fs::file_size(folder + "/a.kymo.part"), 26u);
}

TEST_F(OutputFileTest, ATraceOfAnotherRequestIsNotReplaced) {
  const std::string path = folder + "/host.a-1-2.800.json.gz";
  OutputFile first(path, {}), second(path, {}), third(path, {});
  const auto write = [](std::string_view text) { return [text](const std::string& to) { std::ofstream(to) << text; }; };
  second.complete(write("\x1f\x8b two"));
  first.complete(write("\x1f\x8b one"));
  third.complete();
  EXPECT_EQ(second.path(), path);
  EXPECT_EQ(first.path(), folder + "/host.a-1-2.800-2.json.gz");
  EXPECT_EQ(third.path(), folder + "/host.a-1-2.800-3.json.gz");
  EXPECT_EQ(fs::file_size(second.path()), 6u);
  EXPECT_EQ(fs::file_size(third.path()), 0u);
  OutputFile replacing(path, {}, Existing::Replace);
  replacing.complete(write("\x1f\x8b four"));
  EXPECT_EQ(replacing.path(), path);
  EXPECT_EQ(fs::file_size(path), 7u);
}

TEST_F(OutputFileTest, AFileThatCannotBeWrittenLeavesNothing) {
  {
    OutputFile file(folder + "/a.json", {});
    EXPECT_THROW(file.complete([](const std::string&) { throw Error("full"); }), Error);
  }
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(OutputFileTest, LinksFoldersAndFilesThatAreNotTracesAreNotOverwritten) {
  fs::create_symlink("/etc/passwd", folder + "/link.kymo");
  EXPECT_NE(refusal(folder + "/link.kymo").find("symbolic link"), std::string::npos);
  fs::create_directory(folder + "/sub");
  EXPECT_FALSE(refusal(folder + "/sub").empty());
  std::ofstream(folder + "/notes.kymo") << "my thoughts";
  EXPECT_NE(refusal(folder + "/notes.kymo").find("is not a trace"), std::string::npos);
  std::ofstream(folder + "/old.kymo") << "\x93KYMO\r\n";
  EXPECT_EQ(refusal(folder + "/old.kymo"), "");
  fs::create_symlink("/tmp/nowhere", folder + "/b.kymo.part");
  OutputFile file(folder + "/b.kymo", {});
  EXPECT_NE(file.part(), folder + "/b.kymo.part") << "never through a link that somebody put there";
}

TEST_F(OutputFileTest, FileMustBeBelowAnAllowedFolderAfterResolvingLinks) {
  fs::create_directory(folder + "/in");
  fs::create_directory(folder + "/out");
  fs::create_directory_symlink(folder + "/out", folder + "/in/escape");
  const AllowedFolders allowed{{}, {folder + "/in"}};
  EXPECT_EQ(refusal(folder + "/in/a.kymo", allowed), "");
  EXPECT_NE(refusal(folder + "/out/a.kymo", allowed), "");
  EXPECT_NE(refusal(folder + "/in/escape/a.kymo", allowed), "");
  EXPECT_NE(refusal(folder + "/in/../out/a.kymo", allowed), "");
  EXPECT_NE(refusal(folder + "/inside.kymo", allowed), "");
}

TEST_F(OutputFileTest, AFolderThatOthersCanChangeIsRefused) {
  fs::create_directory(folder + "/open");
  chmod((folder + "/open").c_str(), 0777);
  EXPECT_NE(refusal(folder + "/open/a.kymo").find("can write to it"), std::string::npos);
  chmod((folder + "/open").c_str(), 01777);
  EXPECT_EQ(refusal(folder + "/open/a.kymo"), "");
}

TEST_F(OutputFileTest, GroupWritableFolderIsRefusedUnlessTheGroupIsPrivate) {
  if (geteuid() != 0 || getegid() != 0) GTEST_SKIP() << "needs root, to give a folder to another group";
  fs::permissions(folder, fs::perms{0770});
  EXPECT_EQ(refusal(folder + "/a.kymo"), "");
  ASSERT_EQ(chown(folder.c_str(), 0, 100), 0);
  fs::permissions(folder, fs::perms{0770});
  EXPECT_NE(refusal(folder + "/a.kymo").find("others can write to it"), std::string::npos);
}

TEST_F(OutputFileTest, InvalidPathsAreRefused) {
  for (const char* path : {"", "a.kymo", "/", "/tmp/", "/tmp/..", "/no/such/folder/a.kymo"})
    EXPECT_NE(refusal(path), "") << path;
}

}  // namespace
}  // namespace kymo::ondemand
