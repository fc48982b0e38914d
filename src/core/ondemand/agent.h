// The agent: one thread in the program that waits for trace requests.
//
// It sleeps in poll(2). It is woken by its connection to kymod and by the program (the start of an iteration, the
// program's end). It is woken by time only while a job waits for its time, and with KINETO_USE_DAEMON every five
// seconds to ask dynolog. It blocks all signals and never records. It prints only why a request through
// KINETO_USE_DAEMON failed, because that protocol has no answer, and once that kymod has another protocol version.
// There is one job at a time; other requests meanwhile get the answer busy. A job continues without a daemon, and its
// result is sent when there is a daemon again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ondemand/fabric_poll.h"
#include "ondemand/job.h"
#include "ondemand/link.h"
#include "ondemand/own_file.h"

namespace kymo::ondemand {

struct AgentOptions {
  std::string daemon;       // as in KYMO_DAEMON; empty: none
  bool asks_peers = false;  // KINETO_USE_DAEMON
  int wait_first_ms = 0;    // before it looks for a daemon: a forked child may be about to exec
};

class Agent {
 public:
  explicit Agent(AgentOptions options);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void start();  // the thread

  // Called from the program's threads. Ends a running job as if the program ended, and waits for it, at most
  // `milliseconds`.
  void finish_job(int milliseconds);
  // The same, then informs the daemon and ends the thread.
  void stop(int milliseconds);
  void clients_changed();

  // For fork: waits until the agent sleeps. False: it did not sleep in time.
  bool lock_for_fork();
  void unlock_after_fork();
  void abandon_in_child(bool was_locked) noexcept;

  const AgentOptions& options() const { return options_; }

 private:
  enum class Asker : uint8_t { Daemon, Peers };

  void run();
  void sleep();
  void pass(const std::vector<pollfd>& files);
  void take_files_again();
  uint64_t due_ns() const;
  wire::Hello hello() const;
  void receive(const wire::Packet& packet);
  void receive_config(const std::string& text);
  static void say_to_peers(const std::string& problem);
  static void say_once(const std::string& problem);
  bool check_running(uint64_t id, wire::MessageType asked, uint32_t serial);
  void take_request(const wire::Start& start, uint32_t serial);
  void begin_job(JobRequest request, Asker asker, uint32_t serial);
  void advance_job();
  void report_status();
  void report_result(uint64_t id, wire::RequestKind kind, const wire::Outcome& result, uint32_t serial);
  void send_or_keep(const wire::Message& message, uint32_t serial);
  void resend_all();

  AgentOptions options_;
  WakePair wake_;
  Link link_;
  FabricPoller fabric_;
  std::unique_ptr<Job> job_;
  Asker asker_ = Asker::Daemon;
  uint32_t serial_ = 0;
  wire::RequestState reported_state_{};
  uint32_t reported_progress_ = 0;
  uint64_t next_report_ns_ = ~uint64_t{0};
  struct PendingResult {
    wire::Message message;
    uint32_t serial;
  };
  std::deque<PendingResult> pending_;  // results to send when there is a daemon again

  std::timed_mutex awake_;  // the thread holds it unless it sleeps
  std::atomic<bool> has_started_{false};
  std::atomic<std::thread::id> thread_{};

  std::mutex mutex_;  // for the members below
  std::condition_variable changed_;
  uint64_t finish_asked_ = 0, finish_done_ = 0;
  bool stopping_ = false, stopped_ = false;
  std::atomic<bool> new_clients_{true};
};

}  // namespace kymo::ondemand
