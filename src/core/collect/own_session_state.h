// The state of the session of this process, for the files that implement own_session.h.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "collect/collector.h"
#include "collect/own_session.h"
#include "collect/refusals.h"
#include "record/process.h"

namespace kymo::collect {

// The only session of this process. Never destroyed: threads may record while the program's last destructors run.
struct OwnSession {
  std::mutex mutex;
  pid_t pid = 0;  // of the process that has the collector; a forked child has none until its first record
  bool running = false;
  bool joins = false;            // the session of a process that has started this one
  bool said_unrecorded = false;  // the trace already says that this process could not record
  std::atomic<bool> by_environment{false};
  std::atomic<bool> has_forked{false};
  std::string path;
  SessionOptions options;
  SessionId id{};
  record::Home home;                      // of the process that started the session
  std::shared_ptr<Refusals> refusals;     // from the processes that this one starts; null without KYMO_TRACE
  std::shared_ptr<Collector> collector;   // shared with callers that use it, because the session may end meanwhile
  std::shared_ptr<Collector> unfinished;  // of an earlier session whose file could not take everything: a full disk
  struct sigaction old_action {};
  std::atomic<bool> dump_asked{false};  // set by a signal
};

OwnSession& own();

// What all copies of the library in this process share. Throws kymo::NotAvailable if another version of Kymo is loaded.
record::Process& this_process();

}  // namespace kymo::collect
