#include "commands/record/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/test_wait.h"

namespace kymo::cli {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "kymo_program_test_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    sigemptyset(&no_signals_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string script(const std::string& name, const std::string& text, bool executable = true) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    fs::permissions(path, executable ? fs::perms::owner_all : fs::perms::owner_read | fs::perms::owner_write);
    return path.string();
  }

  Program start(const std::vector<std::string>& words, const Program::Environment& additions = {}) {
    return Program(find_program(words[0]), words, additions, no_signals_);
  }

  static Ending wait_for(Program& program) {
    std::optional<Ending> ending;
    base::wait_until("the end of the program", [&] { return (ending = program.ended()).has_value(); });
    return ending.value();
  }

  static int exit_code_of_failure(const std::function<void()>& act, const std::string& message_part) {
    try {
      act();
    } catch (const CannotRun& error) {
      EXPECT_THAT(error.what(), HasSubstr(message_part));
      return error.exit_code();
    }
    return 0;
  }

  fs::path folder_;
  sigset_t no_signals_;
};

TEST_F(ProgramTest, ExitCodeIsReturned) {
  Program program = start({"sh", "-c", "exit 7"});
  EXPECT_EQ(wait_for(program).exit_code(), 7);
  EXPECT_EQ(wait_for(program).exit_code(), 7);  // the same on every call
}

TEST_F(ProgramTest, ExitCodeAfterASignalIs128PlusTheSignal) {
  Program program = start({"sh", "-c", "kill -9 $$"});
  const Ending ending = wait_for(program);
  EXPECT_EQ(ending.signal, SIGKILL);
  EXPECT_EQ(ending.exit_code(), 137);
  program.signal(SIGTERM);  // too late: no effect
}

TEST_F(ProgramTest, AdditionsReplaceExistingVariables) {
  ::setenv("KYMO_PROGRAM_TEST", "old", 1);
  Program program = start({"sh", "-c", "test \"$KYMO_PROGRAM_TEST\" = new"}, {{"KYMO_PROGRAM_TEST", "new"}});
  EXPECT_EQ(wait_for(program).exit_code(), 0);
  ::unsetenv("KYMO_PROGRAM_TEST");
}

TEST_F(ProgramTest, SignalsReachTheProgram) {
  Program program = start({"sleep", "60"});
  EXPECT_EQ(program.ended(), std::nullopt);
  program.signal(SIGTERM);
  EXPECT_EQ(wait_for(program).signal, SIGTERM);
}

TEST_F(ProgramTest, MissingProgramGives127) {
  EXPECT_EQ(exit_code_of_failure([] { find_program("no-such-program-anywhere"); },
                                 "cannot run 'no-such-program-anywhere': No such file or directory"),
            127);
  EXPECT_EQ(exit_code_of_failure([&] { find_program((folder_ / "none").string()); }, "No such file"), 127);
  EXPECT_EQ(exit_code_of_failure([] { find_program(""); }, "cannot run ''"), 127);
}

TEST_F(ProgramTest, ProgramThatCannotBeRunGives126) {
  const std::string plain = script("plain", "text", false);
  EXPECT_EQ(exit_code_of_failure([&] { find_program(plain); }, "Permission denied"), 126);
  EXPECT_EQ(exit_code_of_failure([&] { find_program(folder_.string()); }, "Permission denied"), 126);
}

TEST_F(ProgramTest, ScriptWithoutAnInterpreterLineRunsInTheShell) {
  Program program = start({script("bare", "exit $1\n"), "5"});
  EXPECT_EQ(wait_for(program).exit_code(), 5);
}

TEST_F(ProgramTest, MissingInterpreterIsReportedAsTheReason) {
  const std::string orphan = script("orphan", "#!/no/such/interpreter\n");
  EXPECT_EQ(exit_code_of_failure([&] { start({orphan}); }, "its interpreter is not found"), 127);
}

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
