// For tests of traces on request: a real daemon, real programs, and the commands as a user types them.
#pragma once

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "support.h"

namespace kymo::e2e {

class WithDaemon : public EndToEnd {
 protected:
  void SetUp() override {
    if (!have_kymo() || access(program("kymod").c_str(), X_OK) != 0) GTEST_SKIP() << "kymo or kymod is not built";
    std::filesystem::create_directory(file("run"));
    chmod(file("run").c_str(), 0700);
    start_daemon();
  }

  std::string socket() const { return file("run/kymod.sock"); }

  void start_daemon(const Words& more = {}) {
    Words words = {program("kymod"), "--quiet", "--socket", socket()};
    words.insert(words.end(), more.begin(), more.end());
    daemon_.emplace(start(words));
    wait_until("the daemon", [this] { return kymo({"ps"}).code == 0; });
  }
  void kill_daemon() {
    daemon_->signal(SIGKILL);
    daemon_->wait();
    daemon_.reset();
  }

  // `kymo WORDS`, with this test's daemon.
  Words spoken(Words words) const {
    words.insert(words.begin() + 1, {"--socket", socket()});
    words.insert(words.begin(), program("kymo"));
    return words;
  }
  Ending kymo(const Words& words) { return run(spoken(words)); }
  Process start_kymo(const Words& words) { return start(spoken(words)); }

  // A server that is connected (programs/serves.cc).
  Process serve(const Words& arguments = {}, Environment environment = {}) {
    environment.emplace_back("KYMO_DAEMON", socket());
    Words words = {program("serves")};
    words.insert(words.end(), arguments.begin(), arguments.end());
    Process process = start(words, {.environment = std::move(environment)});
    wait_until_connected(process);
    return process;
  }
  void wait_until_connected(const Process& process) {
    const std::string pid = std::to_string(process.pid());
    wait_until("the program at the daemon", [&] { return kymo({"ps", "--pid", pid}).code == 0; });
  }

  // The state that is listed for a process: "idle", "recording".
  std::string doing(pid_t pid) {
    const Ending listed = kymo({"ps", "--pid", std::to_string(pid), "--json"});
    const size_t at = listed.out.find("\"state\": \"");
    if (at == listed.out.npos) return "";
    return listed.out.substr(at + 10, listed.out.find('"', at + 10) - at - 10);
  }
  void wait_until_doing(const Process& process, const std::string& what) {
    wait_until("a process that is " + what, [&] { return doing(process.pid()) == what; });
  }

  std::string pattern(const std::string& ending = ".kymo") const { return file("t-{pid}" + ending); }
  std::string trace_of(const Process& process, const std::string& ending = ".kymo") const {
    return file("t-" + std::to_string(process.pid()) + ending);
  }

  // Fails the test if python3 does not agree; `arguments` are its sys.argv[1:].
  void expect_python(const std::string& code, const Words& arguments = {}) {
    Words words = {"/usr/bin/env", "python3", "-c", code};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Ending said = run(words);
    EXPECT_EQ(said.code, 0) << said.out << said.err;
  }

  std::optional<Process> daemon_;
};

}  // namespace kymo::e2e
