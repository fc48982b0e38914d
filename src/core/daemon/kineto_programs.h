// Programs with libkineto: they poll every few seconds for a request, and report nothing else.
//
// So a request is pending until the next poll. The result is derived from what can be seen: whether the program reports
// that it is busy, whether its file is new, and whether its process still runs.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/fabric_socket.h"
#include "daemon/kineto_config.h"
#include "daemon/loop.h"
#include "daemon/program.h"
#include "daemon/triggers.h"
#include "wire/fabric.h"

namespace kymo::daemon {

class KinetoProgram : public Program {
 public:
  // The state of a request, and its end. Never called from within start() or end().
  struct Reports {
    std::function<void(const wire::Status&)> status;
    std::function<void(const wire::Done&)> done;
  };
  KinetoProgram(Loop& loop, const ProcessFacts& facts, int64_t job);

  void report_to(Reports reports) { reports_ = std::move(reports); }
  int64_t job() const { return job_; }
  Loop::Clock::time_point seen() const { return seen_; }

  // The program polled. Returns the config to send, or nothing. Call sent() after it was delivered.
  std::string asked(const wire::FabricPoll& poll);
  void sent();

  // The process has ended, or polls no more (`why`, for the user). Ends its request, with the file if that is complete.
  void leave(const std::string& why);

  std::optional<wire::Done> objection(const ProgramRequest& request) const override;
  std::string path_of(const ProgramRequest& request) const override;
  std::string note_about(const ProgramRequest& request) const override;
  void start(const ProgramRequest& request) override;
  base::Check end(uint64_t request_id, Ending ending) override;
  void give_up(uint64_t request_id) override;

 private:
  // A file that the program may write, and what was there before.
  struct Place {
    std::string path;
    std::optional<struct stat> before;
  };
  struct Handed {
    uint64_t id = 0;
    std::vector<Place> places = {};  // the best first
    uint64_t ends_at_ns = 0;         // CLOCK_REALTIME; 0: not known
    int64_t late_ns = 0;
    bool was_busy = false;
    int ready_without_file = 0;  // polls after it should have written it
  };
  void look_for_outcome(bool is_ready);
  bool end_with_file();
  Place place_of(const std::string& path) const;
  std::optional<struct stat> look(const std::string& path) const;
  std::string elsewhere_text(const std::string& path) const;
  void report(const wire::Done& done);

  Loop& loop_;
  int64_t job_;
  Reports reports_;
  Loop::Clock::time_point seen_;
  std::string folder_;  // the only one that a newer libkineto writes to
  std::optional<ProgramRequest> waiting_;
  std::optional<KinetoOrder> order_;  // what asked() returned last
  std::optional<Handed> handed_;
  Loop::Timer ending_;
};

// The programs with libkineto that polled recently, and the pending request of each.
//
// They have no connection that could break. So their processes are watched, and a program that has ended is removed at
// once. One that has not polled for a minute is removed too; the timer for that runs only while there are programs.
class KinetoPrograms {
 public:
  KinetoPrograms(Loop& loop, Log& log, Programs& programs, Triggers& triggers, const std::string& folder);
  ~KinetoPrograms();
  KinetoPrograms(const KinetoPrograms&) = delete;
  KinetoPrograms& operator=(const KinetoPrograms&) = delete;

 private:
  struct Known {
    std::unique_ptr<KinetoProgram> program;
    uint64_t id = 0;
    std::set<int32_t> accelerators;  // that it registered for
    base::FileDescriptor process;    // a pidfd; empty: the kernel has none to give
    Loop::Watch ending;              // of the process
  };
  void on_request(const FabricSender& sender, const wire::FabricRequest& request);
  void polled(const FabricSender& sender, const wire::FabricPoll& poll);
  void registered(const FabricSender& sender, const wire::FabricContext& context);
  // Null: it was refused.
  Known* known(const FabricSender& sender, int32_t claimed_pid, int64_t job);
  void watch_process(Known& known, int32_t pid);
  void forget(int32_t pid, const std::string& why);
  void forget_silent();
  void wait_for_silence();

  Loop& loop_;
  Log& log_;
  Programs& programs_;
  Triggers& triggers_;
  std::map<int32_t, Known> known_;  // by pid, as this daemon sees it
  Loop::Timer silence_;
  FabricSocket socket_;
};

}  // namespace kymo::daemon
