#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/temporary_file.h"

namespace kymo::base {
namespace {

class UnfinishedFileTest : public ::testing::Test {
 protected:
  UnfinishedFileTest() {
    char name[] = "/tmp/kymo-unfinished-test-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~UnfinishedFileTest() override { std::filesystem::remove_all(folder_); }

  bool is_empty() const { return std::filesystem::is_empty(folder_); }

  // In a child, because the tests of this program share the table.
  template <class Work>
  void in_child(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

  std::filesystem::path folder_;
};

TEST_F(UnfinishedFileTest, FilesThatAreNotCompleteAreRemoved) {
  in_child([&] {
    ::setenv("TMPDIR", folder_.c_str(), 1);
    const AtomicFile output(folder_ / "out.json");
    const TemporaryFile temporary;
    if (is_empty()) ::_exit(1);
    remove_unfinished_files();
    ::_exit(is_empty() ? 0 : 2);
  });
}

TEST_F(UnfinishedFileTest, CompleteFilesStay) {
  in_child([&] {
    AtomicFile output(folder_ / "out.json");
    output.commit();
    remove_unfinished_files();
    ::_exit(std::filesystem::exists(folder_ / "out.json") ? 0 : 1);
  });
}

TEST_F(UnfinishedFileTest, AForkedChildRemovesNothingOfItsParent) {
  const AtomicFile output(folder_ / "out.json");
  in_child([] { remove_unfinished_files(); });
  EXPECT_FALSE(is_empty());
}

TEST_F(UnfinishedFileTest, AFullTableAndLongPathsAreNoErrors) {
  std::vector<std::unique_ptr<UnfinishedFile>> many;
  for (int i = 0; i < 200; ++i) {
    std::string path = folder_ / "many-XXXXXX";
    EXPECT_TRUE(many.emplace_back(std::make_unique<UnfinishedFile>())->make(path));
  }
  many.clear();
  std::string too_long(5000, 'x');
  EXPECT_FALSE(UnfinishedFile().make(too_long));
  const AtomicFile output(folder_ / "out.json");  // has a place again
  in_child([&] {
    const AtomicFile other(folder_ / "other.json");
    remove_unfinished_files();
    ::_exit(std::filesystem::exists(other.temporary_path()) ? 1 : 0);
  });
}

}  // namespace
}  // namespace kymo::base
