#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/bytes.h"
#include "base/temporary_file.h"
#include "kymo/error.h"

namespace kymo::base {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
 protected:
  AtomicFileTest() {
    char name[] = "/tmp/kymo-atomic-XXXXXX";
    folder = mkdtemp(name);
    path = folder / "file";
  }
  ~AtomicFileTest() override { fs::remove_all(folder); }
  std::string text() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {})); }

  fs::path folder, path;
};

TEST_F(AtomicFileTest, AppearsWithCommit) {
  std::ofstream(path) << "old";
  AtomicFile file(path);
  file.write(as_bytes("ne"));
  file.write(as_bytes("w"));
  EXPECT_EQ(text(), "old");
  file.commit();
  EXPECT_EQ(text(), "new");
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, WithoutCommitNothingIsLeft) {
  { AtomicFile(path).write(as_bytes("half")); }
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicFileTest, TwoWritersDoNotDisturbEachOther) {
  AtomicFile one(path), other(path);
  one.write(as_bytes("one"));
  other.write(as_bytes("other"));
  other.commit();
  EXPECT_EQ(text(), "other");
  one.commit();
  EXPECT_EQ(text(), "one");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, ErrorsNameThePath) {
  try {
    AtomicFile file(folder / "none" / "file");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("none/file"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace kymo::base
