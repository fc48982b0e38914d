#include "trace/model.h"

#include <gtest/gtest.h>

namespace kymo::trace {
namespace {

TEST(ProgramNameTest, OnlyAPathIsShortened) {
  EXPECT_EQ(program_name("/usr/bin/python3"), "python3");
  EXPECT_EQ(program_name("/opt/My App/app (deleted)"), "app (deleted)");
  for (const char* const name : {"train", "GPU 0/1", "python /home/u/train.py --data /mnt/x", "proc <b>bold</b>",
                                 "/usr/bin/python3 /home/u/train.py", "/bin/sh -c a/b", ""})
    EXPECT_EQ(program_name(name), name);
}

TEST(ProgramNameTest, ProgramIsCalledAsInItsCommandLine) {
  Origin origin;
  EXPECT_EQ(program_name(origin), "");
  origin.command_line = {"/usr/bin/python3", "train.py"};
  EXPECT_EQ(program_name(origin), "python3");
  origin.executable = "/usr/bin/python3.11";
  EXPECT_EQ(program_name(origin), "python3");
  for (const char* const word : {"redis-server", "./redis-server", "redis-server *:6379", "-redis-server"}) {
    origin = {};
    origin.executable = "/usr/bin/redis-check-rdb";
    origin.command_line = {word};
    EXPECT_EQ(program_name(origin), "redis-server");
  }
  origin.command_line = {};
  EXPECT_EQ(program_name(origin), "redis-check-rdb");
  origin.command_line = {origin.executable = "/opt/My App/app"};
  EXPECT_EQ(program_name(origin), "app");
}

}  // namespace
}  // namespace kymo::trace
