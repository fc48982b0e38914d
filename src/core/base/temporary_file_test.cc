#include "base/temporary_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "kymo/error.h"

namespace kymo::base {
namespace {

using ::testing::HasSubstr;

class TemporaryFileTest : public ::testing::Test {
 protected:
  TemporaryFileTest() {
    if (const char* const folder = getenv("TMPDIR")) before_ = folder;
  }
  ~TemporaryFileTest() override { before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST_F(TemporaryFileTest, ExistsAsLongAsItsObject) {
  std::string path;
  {
    const TemporaryFile file;
    path = file.path();
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_THAT(file.name(), HasSubstr("TMPDIR"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TemporaryFileTest, MissingFolderIsAnErrorThatNamesTheVariable) {
  setenv("TMPDIR", "/there/is/no/such/folder", 1);
  try {
    const TemporaryFile file;
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("set TMPDIR"));
  }
}

}  // namespace
}  // namespace kymo::base
