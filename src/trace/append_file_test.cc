#include "trace/append_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <thread>

#include "trace/test_support.h"

namespace kymo::trace {
namespace {

using ::testing::HasSubstr;

std::string why_not_opened(const std::string& path) {
  try {
    AppendFile(path, false);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(AppendFileTest, IsCreatedForItsOwnerOnly) {
  testing::TemporaryPath path;
  ::unlink(path.string().c_str());
  AppendFile file(path, true);
  struct stat status {};
  ASSERT_EQ(::stat(path.string().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(AppendFileTest, SaysWherePiecesLand) {
  testing::TemporaryPath path;
  path.write("old");
  AppendFile kept(path, false);
  EXPECT_EQ(kept.append(base::as_bytes("abc")), 3u);
  AppendFile emptied(path, true);
  EXPECT_EQ(emptied.append(base::as_bytes("de")), 0u);
  EXPECT_EQ(kept.append(base::as_bytes("f")), 2u);
  EXPECT_FALSE(emptied.append_at(2, base::as_bytes("lost")));
  EXPECT_TRUE(emptied.append_at(3, base::as_bytes("g")));
  EXPECT_EQ(path.contents(), "defg");
}

TEST(AppendFileTest, RefusesWhatIsNotARegularFile) {
  EXPECT_THAT(why_not_opened("/tmp"), HasSubstr("/tmp: it is a directory"));
  EXPECT_THAT(why_not_opened("/dev/null"), HasSubstr("it is a device"));
  EXPECT_THAT(why_not_opened("/nowhere/run.kymo"), HasSubstr("/nowhere/run.kymo: No such file"));
  testing::TemporaryPath path;
  ::unlink(path.string().c_str());
  ASSERT_EQ(::mkfifo(path.string().c_str(), 0600), 0);
  EXPECT_THAT(why_not_opened(path), HasSubstr("it is a pipe"));
}

TEST(AppendFileTest, PiecesOfSeveralThreadsDoNotMix) {
  testing::TemporaryPath path;
  const auto append = [&](char letter) {
    AppendFile file(path, false);
    const std::string piece(1000, letter);
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(file.append(base::as_bytes(piece)) % piece.size(), 0u);
    }
  };
  std::thread a(append, 'a'), b(append, 'b');
  a.join();
  b.join();
  const std::string all = path.contents();
  ASSERT_EQ(all.size(), 400'000u);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], all[i / 1000 * 1000]);
}

// A limit on the size of files stands in for a full disk.
TEST(AppendFileTest, APieceThatDoesNotFitIsCutOffAgain) {
  testing::TemporaryPath path;
  AppendFile file(path, true);
  file.append(base::as_bytes("whole"));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = before;
  limited.rlim_cur = 8;
  ::setrlimit(RLIMIT_FSIZE, &limited);
  std::string message;
  try {
    file.append(base::as_bytes("too long for it"));
  } catch (const Error& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("cannot write " + path.string() + ": File too large"));
  EXPECT_EQ(path.contents(), "whole");
  EXPECT_EQ(file.append(base::as_bytes("!")), 5u);
}

TEST(AppendFileTest, AClosedFileTakesNothing) {
  testing::TemporaryPath path;
  AppendFile file(path, true);
  file.close();
  file.close();
  EXPECT_THROW(file.append(base::as_bytes("x")), Error);
}

}  // namespace
}  // namespace kymo::trace
