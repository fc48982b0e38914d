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

TEST(ProgramNameTest, TheCommandLineIsUsedIfThereIsNoExecutable) {
  Origin origin;
  EXPECT_EQ(program_name(origin), "");
  origin.command_line = {"/usr/bin/python3", "train.py"};
  EXPECT_EQ(program_name(origin), "python3");
  origin.executable = "/opt/train";
  EXPECT_EQ(program_name(origin), "train");
}

}  // namespace
}  // namespace kymo::trace
