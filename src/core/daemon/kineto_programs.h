// The programs with libkineto that polled recently, and the pending request of each.
//
// They have no connection that could break. So their processes are watched, and a program that has ended is removed at
// once. One that has not polled for a minute is removed too; the timer for that runs only while there are programs.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "daemon/fabric_socket.h"
#include "daemon/kineto_program.h"
#include "daemon/triggers.h"

namespace kymo::daemon {

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
