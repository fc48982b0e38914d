#include "cli/runnable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/program.h"

namespace kymo::cli {
namespace {

using ::testing::HasSubstr;

class RunnableTest : public ::testing::Test {
 protected:
  RunnableTest() {
    char name[] = "/tmp/kymo-runnable-test-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~RunnableTest() override { std::filesystem::remove_all(folder_); }

  // Why a file with these contents cannot run; empty: it can.
  std::string why_not(const std::string& contents) const {
    const std::string path = folder_ / "program";
    std::ofstream(path, std::ios::binary) << contents;
    try {
      refuse_unrunnable(path, "program");
      return {};
    } catch (const CannotRun& error) {
      return error.what();
    }
  }

  std::filesystem::path folder_;
};

TEST_F(RunnableTest, ScriptsNeedTheirInterpreter) {
  EXPECT_EQ(why_not("#!/bin/sh\necho"), "");
  EXPECT_EQ(why_not("#! /bin/sh -e\necho"), "");
  EXPECT_EQ(why_not("#!/bin/sh"), "");
  EXPECT_EQ(why_not("#!"), "");  // a shell runs it
  EXPECT_EQ(why_not("echo"), "");
  EXPECT_EQ(why_not(""), "");
  EXPECT_THAT(why_not("#!/nonexistent/sh\n"), HasSubstr("interpreter is not found"));
  EXPECT_THAT(why_not("#! /nonexistent/sh -e\n"), HasSubstr("interpreter is not found"));
}

TEST_F(RunnableTest, ProgramsMustBeWholeUpToTheirInterpreter) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(why_not(whole), "");
  for (const size_t size : {5, 20, 63, 64, 100, 200})
    EXPECT_THAT(why_not(whole.substr(0, size)), HasSubstr("damaged")) << size;
}

TEST_F(RunnableTest, ProgramsNeedTheirLoader) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string program{std::istreambuf_iterator<char>(file), {}};
  const size_t loader = program.find("/lib");
  ASSERT_NE(loader, std::string::npos);
  program[loader + 1] = 'X';
  EXPECT_THAT(why_not(program), HasSubstr("interpreter is not found"));
}

}  // namespace
}  // namespace kymo::cli
