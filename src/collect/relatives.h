// The other processes of a session whose collector is in a program: those it forked, and those they started.
//
// Each has a collector of its own. One that died without closing, by _exit or a signal, leaves its segment in shared
// memory, and one that may not write the trace any more, having changed its user, has no collector: the program's own
// collector takes over for both.
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

  // On the collector's thread, now and then and at the end: looks for them at most once a second, or now.
  void look(Collector& collector, bool now);

 private:
  struct Adopted {
    FoundSegment segment;
    Source* source;
  };
  void look_at(Collector& collector, FoundSegment& segment);
  void release(Collector& collector);  // those that have ended meanwhile

  const std::string path_;  // of the trace
  const SessionId session_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds pause_{1000};
  std::optional<trace::Reader> reader_;  // of the trace, for what it already holds of them
  size_t collected_ = 0;                 // that had ended
  std::vector<Adopted> adopted_;
};

}  // namespace kymo::collect
