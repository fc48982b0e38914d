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

}  // namespace
}  // namespace kymo::cli
