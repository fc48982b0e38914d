// The other processes of a session whose collector runs inside a program: its forked children and the programs that
// they start.
//
// Each of them has its own collector. A process that died without closing, by _exit or a signal, leaves its segment in
// shared memory. A process that changed its user may not write the trace any more and has no collector. The program's
// own collector takes over for both.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "collect/folders.h"
#include "collect/options.h"
#include "trace/reader.h"

namespace kymo::collect {

class Relatives {
 public:
  Relatives(std::string path, const SessionId& session) : path_(std::move(path)), session_(session) {}
  ~Relatives();
  Relatives(const Relatives&) = delete;
  Relatives& operator=(const Relatives&) = delete;

  // Called on the collector's thread, repeatedly and at the end. Searches at most once a second, or always if `now`.
  void look(Collector& collector, bool now);

 private:
  struct Adopted {
    FoundSegment segment;
    Source* source;
  };
  void look_at(Collector& collector, FoundSegment& segment);
  void release(Collector& collector);  // those that have ended in the meantime

  const std::string path_;  // of the trace
  const SessionId session_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds pause_{1000};
  std::optional<trace::Reader> reader_;  // of the trace, to see what it already has of them
  size_t collected_ = 0;                 // number of ended processes that were drained
  std::vector<Adopted> adopted_;
};

}  // namespace kymo::collect
