// Shared by the end-to-end tests: a folder for each test, programs to start in it, and waiting.
//
// Every test has its own shared memory ($KYMO_SHM_DIR), so that tests can run at the same time and can see what was
// left behind. Nothing here measures time; waits are bounded by a limit that only a hang reaches.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/test_wait.h"

namespace kymo::e2e {

using Words = std::vector<std::string>;
using Environment = std::vector<std::pair<std::string, std::string>>;

std::string program(const std::string& name);  // the path of the built program
bool have_kymo();                              // true if the `kymo` command is built
std::string contents_of(const std::string& path);
void write_file(const std::string& path, const std::string& contents);

// How a program ended, and what it printed.
struct Ending {
  int code = -1;   // its exit code; -1 if a signal ended it
  int signal = 0;  // the signal
  std::string out, err;
};

struct StartOptions {
  Environment environment;      // added to this process's own
  bool closed_streams = false;  // starts without descriptors 0, 1 and 2
  uid_t user = 0;               // not 0: runs as this user (needs root)
};

// A running program in its own process group. The group is killed when this object goes out of scope.
class Process {
 public:
  // Its output goes to PREFIX.out and PREFIX.err.
  Process(const Words& words, const StartOptions& options, std::string prefix);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  bool ended();
  Ending wait();  // fails the test if the program does not end
  // What it has printed until now.
  std::string output() const { return contents_of(prefix_ + ".out"); }
  std::string errors() const { return contents_of(prefix_ + ".err"); }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
  std::string prefix_;
};

using base::wait_until;

// Who collects what a program records.
enum class Collector { InProgram, KymoRecord };
std::string to_string(Collector collector);
void PrintTo(Collector collector, std::ostream* out);

struct RecordOptions {
  std::string policy;       // empty: block
  uint64_t ring_bytes = 0;  // 0: the default
};

class EndToEnd : public ::testing::Test {
 protected:
  EndToEnd();
  ~EndToEnd() override;

  const std::string& folder() const { return folder_; }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& memory() const { return memory_; }
  std::vector<std::string> left_in_memory() const;  // names of segments and other files

  Process start(const Words& words, const StartOptions& options = {});
  Ending run(const Words& words, const StartOptions& options = {});
  // Records into `trace` with the given collector. Skips the test if there is no `kymo` command.
  Process start_recorded(Collector collector, const std::string& trace, const Words& words,
                         const RecordOptions& options = {});
  Ending run_recorded(Collector collector, const std::string& trace, const Words& words,
                      const RecordOptions& options = {});
  Ending run_traced(const std::string& trace, const Words& words, Environment environment = {});

 private:
  std::string folder_, memory_;
  int started_ = 0;
};

// For tests of the `kymo` command.
class CommandTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  }
  Ending kymo(Words words, const StartOptions& options = {}) {
    words.insert(words.begin(), program("kymo"));
    return run(words, options);
  }
};

// For tests that run with either collector.
class EitherCollector : public EndToEnd, public ::testing::WithParamInterface<Collector> {
 protected:
  void SetUp() override {
    if (GetParam() == Collector::KymoRecord && !have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  }
};
std::string collector_name(const ::testing::TestParamInfo<Collector>& info);

}  // namespace kymo::e2e
