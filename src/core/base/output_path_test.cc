#include "base/output_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kymo/error.h"

namespace kymo::base {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class OutputPathTest : public ::testing::Test {
 protected:
  OutputPathTest() {
    char folder[] = "/tmp/kymo-output-path-XXXXXX";
    folder_ = ::mkdtemp(folder);
  }
  ~OutputPathTest() override { fs::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }
  static std::string why_not(const std::string& path) {
    try {
      return "goes to " + output_path(path);
    } catch (const Error& error) {
      return error.what();
    }
  }

  fs::path folder_;
};

TEST_F(OutputPathTest, FolderThatIsALinkOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  fs::create_directory(folder_ / "real");
  fs::create_directory_symlink(folder_ / "real", folder_ / "link");
  EXPECT_EQ(why_not(in_folder("link/file")), "goes to " + in_folder("link/file"));
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::lchown(in_folder("link").c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(why_not(in_folder("link/file")), HasSubstr("link is a symbolic link of another user (uid 65534)"));
  EXPECT_THAT(why_not(in_folder("link/new/file")), HasSubstr("symbolic link of another user"));
}

TEST_F(OutputPathTest, ExistingAndNewFilesAreReturnedUnchanged) {
  std::ofstream(in_folder("there"));
  EXPECT_EQ(output_path(in_folder("there")), in_folder("there"));
  EXPECT_EQ(output_path(in_folder("new")), in_folder("new"));
}

TEST_F(OutputPathTest, OwnLinksAreFollowed) {
  fs::create_symlink("two", in_folder("one"));
  fs::create_symlink(in_folder("new"), in_folder("two"));
  EXPECT_EQ(output_path(in_folder("one")), in_folder("new"));
}

TEST_F(OutputPathTest, LinksOfOtherUsersAreRefused) {
  fs::create_symlink(in_folder("target"), in_folder("link"));
  if (::lchown(in_folder("link").c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a link away";
  EXPECT_THAT(why_not(in_folder("link")), HasSubstr("it is a symbolic link of another user (uid 12345)"));
}

TEST_F(OutputPathTest, OnlyRegularFilesAreWritten) {
  EXPECT_THAT(why_not(folder_), HasSubstr("it is a folder; name a regular file"));
  EXPECT_THAT(why_not("/dev/null"), HasSubstr("it is a device; name a regular file"));
  ASSERT_EQ(::mkfifo(in_folder("pipe").c_str(), 0600), 0);
  EXPECT_THAT(why_not(in_folder("pipe")), HasSubstr("it is a pipe"));
  EXPECT_THAT(why_not("/proc/self/fd/1"), HasSubstr("open already"));
  EXPECT_THAT(why_not(""), HasSubstr("cannot write"));
}

TEST_F(OutputPathTest, CircularLinksAreRefused) {
  fs::create_symlink("b", in_folder("a"));
  fs::create_symlink("a", in_folder("b"));
  EXPECT_THAT(why_not(in_folder("a")), HasSubstr("Too many levels of symbolic links"));
}

}  // namespace
}  // namespace kymo::base
