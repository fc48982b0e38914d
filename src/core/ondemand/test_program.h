// Programs for tests: processes with an agent, and the contents of their traces.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/test_wait.h"
#include "kymo/annotate.h"
#include "kymo/ondemand.h"
#include "ondemand/test_daemon.h"
#include "trace/reader.h"

namespace kymo::ondemand::testing {

constexpr uint64_t kMs = 1'000'000;

// A program for a test: a child process with an agent, which runs `body` until it must end.
class Program {
 public:
  // `body` runs until the flag is set by SIGUSR1.
  Program(const std::string& socket, const std::function<void(const std::atomic<bool>& over)>& body,
          const std::map<std::string, std::string>& environment = {}) {
    pid_ = fork();
    if (pid_ != 0) return;
    closefrom(STDERR_FILENO + 1);  // above all those of the simulated daemon
    setenv("KYMO_DAEMON", socket.c_str(), 1);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    static std::atomic<bool> over{false};
    signal(SIGUSR1, [](int) { over = true; });
    init();
    body(over);
    exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  ~Program() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  // Its exit status; -1 if a signal ended it.
  int end(int with = SIGUSR1) {
    kill(pid_, with);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

inline void work_in_ranges(const std::atomic<bool>& over) {
  while (!over) {
    KYMO_RANGE("work");
    usleep(200);
  }
}

inline void work_in_steps(const std::atomic<bool>& over) {
  while (!over) {
    step();
    KYMO_RANGE("body {}", steps() - 1);
    usleep(500);
  }
}

inline std::map<std::string, uint64_t> names_in_trace(const std::string& path) {
  const trace::Reader reader(path);
  std::map<std::string, uint64_t> counts;
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    reader.read(chunk, batch);
    const auto& classes = reader.writers().at(chunk.writer).classes;
    trace::ValueCursor cursor(batch.ranges.values);
    for (const uint32_t id : batch.ranges.class_id) {
      const auto found = classes.find(id);
      const trace::EventClass* event_class = found != classes.end() ? &found->second : nullptr;
      ++counts[trace::full_name(event_class, cursor.next(event_class))];
    }
  }
  return counts;
}

// Simulates a daemon in a temporary folder.
class WithDaemon : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer lets no child of a program with threads have threads";
#endif
    char pattern[] = "/tmp/kymo-agent-test-XXXXXX";
    folder = mkdtemp(pattern);
    socket = folder + "/d.sock";
    daemon.emplace(socket);
  }
  void TearDown() override {
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }
  std::string file(const std::string& name = "a-{pid}.kymo") const { return folder + "/" + name; }
  bool wait_for_file(const std::string& name) const {
    return base::wait_until("the file " + name, [&] { return std::filesystem::exists(file(name)); });
  }
  wire::Start start_for(uint64_t duration_ms, uint64_t id = 7) const {
    return {id, {.duration_ns = duration_ms * kMs, .output = file()}};
  }
  std::vector<std::string> files_there() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().filename() != "d.sock") names.push_back(entry.path().filename());
    return names;
  }

  std::string folder, socket;
  std::optional<StandInDaemon> daemon;
};

}  // namespace kymo::ondemand::testing
