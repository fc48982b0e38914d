#include "trace/append_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <thread>

#include "trace/format.h"
#include "trace/test_support.h"

namespace kymo::trace {
namespace {

using ::testing::HasSubstr;

using Existing = AppendFile::Existing;

std::string why_not_opened(const std::string& path, Existing existing = Existing::Append) {
  try {
    AppendFile(path, existing);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const std::string kTraceBeginning(reinterpret_cast<const char*>(kMagic.data()), kMagic.size());

TEST(AppendFileTest, IsCreatedForItsOwnerOnly) {
  testing::TemporaryPath path;
  ::unlink(path.string().c_str());
  AppendFile file(path, Existing::Replace);
  struct stat status {};
  ASSERT_EQ(::stat(path.string().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(AppendFileTest, AppendReturnsTheOffsetOfThePiece) {
  testing::TemporaryPath path;
  path.write(kTraceBeginning);
  AppendFile first(path, Existing::Append), second(path, Existing::Append);
  EXPECT_EQ(first.append(base::as_bytes("de")), 8u);
  EXPECT_EQ(second.append(base::as_bytes("f")), 10u);
  EXPECT_FALSE(first.append_at(10, base::as_bytes("lost")));
  EXPECT_TRUE(first.append_at(11, base::as_bytes("g")));
  EXPECT_EQ(path.contents(), kTraceBeginning + "defg");
}

TEST(AppendFileTest, TraceIsReplacedUnlessItIsBeingWritten) {
  testing::TemporaryPath path;
  path.write(kTraceBeginning + "old");
  {
    AppendFile writing(path, Existing::Append);
    EXPECT_THAT(why_not_opened(path, Existing::Replace), HasSubstr("another recording is writing it"));
    EXPECT_EQ(path.contents(), kTraceBeginning + "old");
  }
  AppendFile replaced(path, Existing::Replace);
  EXPECT_EQ(path.contents(), "");
  EXPECT_THAT(why_not_opened(path, Existing::Replace), HasSubstr("another recording is writing it"));
}

TEST(AppendFileTest, OtherFileIsRefusedAndUnchanged) {
  testing::TemporaryPath path;
  path.write("a letter");
  for (const Existing existing : {Existing::Append, Existing::Replace})
    EXPECT_THAT(why_not_opened(path, existing), HasSubstr("is not a Kymo trace; name another file"));
  EXPECT_EQ(path.contents(), "a letter");
}

TEST(AppendFileTest, FollowsASymbolicLinkOfItsUser) {
  testing::TemporaryPath path, link;
  ::unlink(link.string().c_str());
  ASSERT_EQ(::symlink(path.string().c_str(), link.string().c_str()), 0);
  AppendFile file(link, Existing::Replace);
  file.append(base::as_bytes("x"));
  EXPECT_EQ(path.contents(), "x");
}

TEST(AppendFileTest, OnlyRegularFilesAreAccepted) {
  EXPECT_THAT(why_not_opened("/tmp"), HasSubstr("/tmp: it is a folder"));
  EXPECT_THAT(why_not_opened("/dev/null"), HasSubstr("it is a device"));
  EXPECT_THAT(why_not_opened("/nowhere/run.kymo"), HasSubstr("/nowhere/run.kymo: No such file"));
  testing::TemporaryPath path;
  ::unlink(path.string().c_str());
  ASSERT_EQ(::mkfifo(path.string().c_str(), 0600), 0);
  EXPECT_THAT(why_not_opened(path), HasSubstr("it is a pipe"));
}

TEST(AppendFileTest, PiecesOfConcurrentThreadsDoNotMix) {
  testing::TemporaryPath path;
  const auto append = [&](char letter, AppendFile& file) {
    const std::string piece(1000, letter);
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(file.append(base::as_bytes(piece)) % piece.size(), 0u);
    }
  };
  AppendFile files[] = {{path, Existing::Append}, {path, Existing::Append}};
  std::thread a(append, 'a', std::ref(files[0])), b(append, 'b', std::ref(files[1]));
  a.join();
  b.join();
  const std::string all = path.contents();
  ASSERT_EQ(all.size(), 400'000u);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], all[i / 1000 * 1000]);
}

// A limit on the file size simulates a full disk.
TEST(AppendFileTest, PieceThatDoesNotFitIsRemovedAgain) {
  testing::TemporaryPath path;
  AppendFile file(path, Existing::Replace);
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

TEST(AppendFileTest, ClosedFileRefusesWrites) {
  testing::TemporaryPath path;
  AppendFile file(path, Existing::Replace);
  file.close();
  file.close();
  EXPECT_THROW(file.append(base::as_bytes("x")), Error);
}

}  // namespace
}  // namespace kymo::trace
