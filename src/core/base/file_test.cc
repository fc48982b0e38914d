#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace kymo::base {
namespace {

TEST(FileTest, ErrorsNameThePathAndTheReason) {
  EXPECT_STREQ(file_error("read", "run.kymo", ENOENT).what(), "cannot read run.kymo: No such file or directory");
}

TEST(FileTest, ReadsAtAnOffsetAndStopsAtTheEnd) {
  char path[] = "/tmp/kymo-file-test-XXXXXX";
  const FileDescriptor file(::mkstemp(path));
  ::unlink(path);
  size_t written = 0;
  ASSERT_EQ(write_all(file.get(), as_bytes("0123456789"), written), 0);
  EXPECT_EQ(written, 10u);
  EXPECT_EQ(size_of(file, path), 10u);
  std::array<std::byte, 8> room;
  EXPECT_EQ(read_at(file, path, 4, room), 6u);
  EXPECT_EQ(room[0], std::byte{'4'});
  EXPECT_EQ(read_at(file, path, 10, room), 0u);
}

TEST(FileTest, WriteReturnsTheErrorThatStoppedIt) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full) GTEST_SKIP() << "no /dev/full here";
  size_t written = 1;
  EXPECT_EQ(write_all(full.get(), as_bytes("x"), written), ENOSPC);
  EXPECT_EQ(written, 0u);
}

TEST(FileTest, DescriptorIsClosedOnce) {
  FileDescriptor a(::dup(0));
  const int number = a.get();
  FileDescriptor b(std::move(a));
  EXPECT_FALSE(a);
  EXPECT_EQ(b.get(), number);
  b.reset();
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace kymo::base
