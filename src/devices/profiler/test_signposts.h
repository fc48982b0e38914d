// Shared by the profiler's tests: a sink that keeps what it receives, a profiler with everything switched off, standard
// error as a text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "kymo/profiler.h"
#include "kymo/sink.h"

namespace kymo::profiler::tests {

struct ReceivedSignpost {
  enum class Which { Begin, End, Event } which;
  uint64_t id, run, execution, start_ns, end_ns;
  uint32_t kind;
  std::string name, message;
};

// One at a time: sinks are plain functions.
class CollectingSink {
 public:
  explicit CollectingSink(bool wants_messages) {
    sink().wants_messages = wants_messages ? 1 : 0;
    received().clear();
    kymo_add_sink(&sink());
  }
  ~CollectingSink() { kymo_remove_sink(&sink()); }
  CollectingSink(const CollectingSink&) = delete;
  CollectingSink& operator=(const CollectingSink&) = delete;

  // In the order of arrival; only one kind, if `kind` is given.
  std::vector<ReceivedSignpost> all(uint32_t kind = 0) const {
    std::lock_guard lock(mutex());
    std::vector<ReceivedSignpost> some;
    for (const ReceivedSignpost& one : received())
      if (kind == 0 || one.kind == kind) some.push_back(one);
    return some;
  }
  std::vector<ReceivedSignpost> all(uint32_t kind, ReceivedSignpost::Which which) const {
    std::vector<ReceivedSignpost> some;
    for (const ReceivedSignpost& one : all(kind))
      if (one.which == which) some.push_back(one);
    return some;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::vector<ReceivedSignpost>& received() {
    static std::vector<ReceivedSignpost> all;
    return all;
  }
  template <ReceivedSignpost::Which which>
  static void receive(const kymo_signpost* signpost) {
    std::lock_guard lock(mutex());
    received().push_back({which, signpost->id, signpost->run, signpost->execution, signpost->start_ns, signpost->end_ns,
                          signpost->kind, std::string(signpost->name, signpost->name_length),
                          std::string(signpost->message, signpost->message_length)});
  }
  static kymo_sink& sink() {
    static kymo_sink one = [] {
      kymo_sink made{};
      made.name = "collecting";
      made.interval_begin = receive<ReceivedSignpost::Which::Begin>;
      made.interval_end = receive<ReceivedSignpost::Which::End>;
      made.event = receive<ReceivedSignpost::Which::Event>;
      return made;
    }();
    return one;
  }
};

inline void turn_everything_off() {
  profiler::stop();
  profiler::set_signposts("");
  profiler::set_log("");
  profiler::reset_statistics();
}

// The text that the process prints to standard error during `action`.
template <class Action>
std::string printed_by(Action&& action) {
  testing::internal::CaptureStderr();
  action();
  return testing::internal::GetCapturedStderr();
}

}  // namespace kymo::profiler::tests
