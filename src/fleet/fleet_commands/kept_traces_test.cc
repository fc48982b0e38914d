#include "fleet_commands/kept_traces.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::cli {
namespace {

using namespace std::chrono_literals;

class KeptTracesTest : public ::testing::Test {
 protected:
  KeptTracesTest() : traces_(folder_ / "in") { std::filesystem::create_directory(folder_ / "in"); }

  std::string add(const std::string& name, size_t size, int64_t seconds) {
    const std::string path = folder_ / ("in/" + name);
    std::ofstream(path) << std::string(size, 'x');
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
    return path;
  }

  // At a time at which every file that did not change since the last call is settled.
  void look() {
    wait(KeptTraces::kSettled);
    traces_.look(now_);
  }

  void wait(std::chrono::milliseconds time) {
    now_.time += time;
    now_.date += time;
  }

  // The server still has everything.
  std::vector<std::string> remove(const KeptTraces::Limits& limits, int64_t now_seconds) {
    return traces_.remove(limits, now_seconds, [this](const std::vector<std::string>& files) {
      for (const std::string& file : files) traces_.set(file, KeptTraces::State::Pushed);
    });
  }

  trace::testing::TemporaryFolder folder_;
  KeptTraces traces_;
  KeptTraces::Now now_{std::chrono::steady_clock::time_point(std::chrono::seconds(500)),
                       std::chrono::system_clock::time_point(std::chrono::seconds(10'000))};
};

TEST_F(KeptTracesTest, AFileThatStillGrowsIsNotPushed) {
  const std::string a = add("a.kymo", 10, 1'000);
  look();
  EXPECT_TRUE(traces_.to_push().empty());
  EXPECT_EQ(traces_.unsettled(), std::vector<std::string>{a});
  EXPECT_EQ(traces_.waiting(), 1u);
  add("a.kymo", 20, 1'000);  // the next part of it
  look();
  EXPECT_TRUE(traces_.to_push().empty());
  wait(KeptTraces::kSettled / 2);
  traces_.look(now_);  // too early
  EXPECT_TRUE(traces_.to_push().empty());
  look();
  EXPECT_EQ(traces_.to_push(), std::vector<std::string>{a});
  EXPECT_TRUE(traces_.unsettled().empty());
  traces_.set(a, KeptTraces::State::Pushed);
  EXPECT_EQ(traces_.waiting(), 0u);
}

TEST_F(KeptTracesTest, AFileWithoutAnEndMayStillArriveUntilItIsOld) {
  const std::string old = add("old.kymo", 10, 1'000), young = add("young.kymo", 10, 9'999);
  look();
  EXPECT_FALSE(traces_.may_still_arrive(old));
  EXPECT_TRUE(traces_.may_still_arrive(young));
  wait(KeptTraces::kSettledWithoutEnd);
  look();
  EXPECT_FALSE(traces_.may_still_arrive(young));
}

TEST_F(KeptTracesTest, ADateThatIsSetBackDoesNotStopPushes) {
  const std::string a = add("a.kymo", 10, 9'999);
  look();
  now_.date -= std::chrono::hours(1);
  look();
  EXPECT_EQ(traces_.to_push(), std::vector<std::string>{a});
  wait(KeptTraces::kSettledWithoutEnd);
  look();
  EXPECT_FALSE(traces_.may_still_arrive(a));
}

TEST_F(KeptTracesTest, OnlyPushedTracesAreDeletedOldestFirst) {
  const std::string a = add("a.kymo", 100, 1'000), b = add("b.kymo", 100, 2'000), c = add("c.kymo", 100, 500);
  add("notes.txt", 1'000, 1);
  look();
  look();
  EXPECT_EQ(traces_.to_push(), (std::vector<std::string>{c, a, b}));
  EXPECT_EQ(traces_.bytes(), 300u);
  traces_.set(a, KeptTraces::State::Pushed);
  traces_.set(b, KeptTraces::State::Pushed);
  EXPECT_EQ(remove({.bytes = 150, .seconds = {}}, 3'000), (std::vector<std::string>{a, b}));
  EXPECT_EQ(::access(c.c_str(), F_OK), 0);
  EXPECT_EQ(remove({.bytes = 1, .seconds = 1}, 3'000), std::vector<std::string>());
}

TEST_F(KeptTracesTest, AgeDeletesOnlyOldOnes) {
  const std::string a = add("a.kymo", 10, 1'000), b = add("b.kymo", 10, 2'000);
  look();
  traces_.set(a, KeptTraces::State::Pushed);
  traces_.set(b, KeptTraces::State::Pushed);
  EXPECT_EQ(remove({.bytes = {}, .seconds = 500}, 2'100), std::vector<std::string>{a});
}

TEST_F(KeptTracesTest, WhatTheServerLostIsNotDeleted) {
  const std::string a = add("a.kymo", 10, 1'000), b = add("b.kymo", 10, 2'000);
  look();
  look();
  traces_.set(a, KeptTraces::State::Pushed);
  traces_.set(b, KeptTraces::State::Pushed);
  const auto only_b = [&](const std::vector<std::string>& files) {
    EXPECT_EQ(files, (std::vector<std::string>{a, b}));
    traces_.set(b, KeptTraces::State::Pushed);
  };
  EXPECT_EQ(traces_.remove({.bytes = 0, .seconds = {}}, 3'000, only_b), std::vector<std::string>{b});
  EXPECT_EQ(::access(a.c_str(), F_OK), 0);
  EXPECT_EQ(traces_.to_push(), std::vector<std::string>{a});
}

TEST_F(KeptTracesTest, AFileThatAnotherWatchDeletesDoesNotWait) {
  const std::string a = add("a.kymo", 10, 1'000), b = add("b.kymo", 10, 2'000);
  look();
  look();
  std::filesystem::remove(a);
  traces_.set(a, KeptTraces::State::Pushed);
  EXPECT_EQ(traces_.waiting(), 1u);
  traces_.set(b, KeptTraces::State::Pushed);
  const auto delete_first = [&](const std::vector<std::string>& files) {
    EXPECT_EQ(files, std::vector<std::string>{b});
    std::filesystem::remove(b);
    traces_.set_gone(b);
  };
  EXPECT_EQ(traces_.remove({.bytes = 0, .seconds = {}}, 3'000, delete_first), std::vector<std::string>());
  EXPECT_EQ(traces_.waiting(), 0u);
  EXPECT_EQ(traces_.bytes(), 0u);
}

TEST_F(KeptTracesTest, NothingIsDeletedWhenTheServerDoesNotAnswer) {
  const std::string a = add("a.kymo", 10, 1'000);
  look();
  traces_.set(a, KeptTraces::State::Pushed);
  const auto silent = [](const std::vector<std::string>&) { throw Error("no answer"); };
  EXPECT_THROW(traces_.remove({.bytes = 0, .seconds = {}}, 3'000, silent), Error);
  EXPECT_EQ(::access(a.c_str(), F_OK), 0);
}

TEST_F(KeptTracesTest, ADamagedTraceIsPushedOnceAndNotDeleted) {
  const std::string a = add("a.kymo", 10, 1'000), b = add("b.kymo", 10, 2'000);
  look();
  look();
  traces_.set(a, KeptTraces::State::Refused);
  traces_.set(b, KeptTraces::State::Pushed);
  EXPECT_TRUE(traces_.to_push().empty());
  // What was pushed as good is found to be damaged when it is read again.
  const auto damaged = [&](const std::vector<std::string>& files) {
    EXPECT_EQ(files, std::vector<std::string>{b});
    traces_.set(b, KeptTraces::State::Refused);
  };
  EXPECT_TRUE(traces_.remove({.bytes = 0, .seconds = 0}, 9'000, damaged).empty());
  EXPECT_EQ(::access(a.c_str(), F_OK), 0);
  EXPECT_EQ(::access(b.c_str(), F_OK), 0);
}

TEST_F(KeptTracesTest, ATraceWithoutAnEndIsDeletedOnlyAfterADayWithoutChange) {
  const std::string a = add("a.kymo", 10, 1'000);  // its date was set; its content came now
  const auto still_without_end = [&](const std::vector<std::string>& files) {
    for (const std::string& file : files) traces_.set(file, KeptTraces::State::PushedWithoutEnd);
  };
  for (const auto& [age, is_old] : {std::pair(23h, false), std::pair(25h, true)}) {
    now_.date = std::chrono::system_clock::now() + age;
    look();
    traces_.set(a, KeptTraces::State::PushedWithoutEnd);
    EXPECT_TRUE(traces_.to_push().empty());
    EXPECT_EQ(traces_.remove({.bytes = 0, .seconds = 0}, 9'000, still_without_end).size(), is_old ? 1u : 0u);
    EXPECT_EQ(::access(a.c_str(), F_OK) != 0, is_old);
  }
}

TEST_F(KeptTracesTest, AFileThatChangedIsNewAgainAndStays) {
  const std::string a = add("a.kymo", 10, 1'000);
  look();
  traces_.set(a, KeptTraces::State::Pushed);
  add("a.kymo", 20, 1'000);
  EXPECT_TRUE(remove({.bytes = 0, .seconds = {}}, 9'000).empty());
  look();
  look();
  EXPECT_EQ(traces_.to_push(), std::vector<std::string>{a});
  add("a.kymo", 30, 1'000);
  traces_.set(a, KeptTraces::State::Pushed);  // the version that was looked at was pushed, not this one
  EXPECT_EQ(traces_.to_push(), std::vector<std::string>{a});
}

TEST_F(KeptTracesTest, ARefusedFileIsNotTriedAgainAndNotDeleted) {
  const std::string a = add("a.kymo", 10, 1'000);
  look();
  traces_.set(a, KeptTraces::State::Refused);
  look();
  look();
  EXPECT_TRUE(traces_.to_push().empty());
  EXPECT_TRUE(remove({.bytes = 0, .seconds = 0}, 9'000).empty());
}

TEST_F(KeptTracesTest, LinksAreNotFollowedAndAMissingFolderIsAnError) {
  std::filesystem::create_symlink("/etc/passwd", folder_ / "in/link.kymo");
  look();
  look();
  EXPECT_TRUE(traces_.to_push().empty());
  EXPECT_THROW(KeptTraces(folder_ / "absent").look({}), Error);
}

}  // namespace
}  // namespace kymo::cli
