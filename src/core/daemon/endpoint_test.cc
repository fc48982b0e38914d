#include "daemon/endpoint.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace kymo::daemon {
namespace {

class EndpointFolderTest : public ::testing::Test {
 protected:
  EndpointFolderTest() {
    char pattern[] = "/tmp/kymo-endpoint-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~EndpointFolderTest() override { std::filesystem::remove_all(folder_); }

  std::string made() const { return folder_ + "/run"; }
  mode_t mode_of_folder() const {
    struct stat status {};
    return ::stat(made().c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  }
  EndpointOptions options(bool is_for_all) const {
    EndpointOptions options;
    options.path = made() + "/kymod.sock";
    options.makes_folder = true;
    options.is_for_all = is_for_all;
    return options;
  }

  std::string folder_;
};

TEST_F(EndpointFolderTest, SharedFolderIsAccessibleToAllRegardlessOfTheUmask) {
  const mode_t before = ::umask(0077);
  const Endpoint endpoint(options(true));
  ::umask(before);
  EXPECT_EQ(mode_of_folder(), 0755u);
}

TEST_F(EndpointFolderTest, PrivateFolderIsOpenedForASharedDaemon) {
  ASSERT_EQ(::mkdir(made().c_str(), 0700), 0);
  const Endpoint endpoint(options(true));
  EXPECT_EQ(mode_of_folder(), 0755u);
}

TEST_F(EndpointFolderTest, FolderOfAUserDaemonIsPrivate) {
  const mode_t before = ::umask(0);
  const Endpoint endpoint(options(false));
  ::umask(before);
  EXPECT_EQ(mode_of_folder(), 0700u);
}

}  // namespace
}  // namespace kymo::daemon
