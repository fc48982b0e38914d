// The recordings that are made on request: one at a time, and the program's own recording has priority.
//
// A requested trace, a trace that the code requests (kymo::ondemand::start) and the flight recorder use the session of
// the process in turn. But if a flight recorder runs, a requested trace is a copy of what the flight recorder receives
// meanwhile. So it starts at once, and the past is kept. If the program starts its own Session, the recording gives
// way: it ends at once, on the program's thread, and its owner finds out later.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "kymo/session.h"
#include "trace/model.h"

namespace kymo::ondemand {

enum class RecorderOwner : uint8_t { Nobody, Request, Code, Flight };

// Those of the environment, for a recording that is no flight recorder.
SessionOptions requested_session_options();

class Recorder {
 public:
  // Throws kymo::Error if something records already, and names it; and everything that a Session throws. For a trace
  // that the code requests, a flight recorder ends first, without a trace.
  void begin(RecorderOwner owner, const std::string& path, const SessionOptions& options, bool with_heap);
  // Says in the file which part of the recording counts (collect::state_window). Does nothing if the owner has no
  // recording.
  void state_window(RecorderOwner owner, const trace::Window& window, uint64_t late_ns);
  // Completes the file. Does nothing if the owner has no recording, or had to give way. Throws what a Session throws.
  void end(RecorderOwner owner);

  // Writes the contents of the flight recorder to an existing empty file; or those of KYMO_TRACE with KYMO_FLIGHT. The
  // program's own Session waits meanwhile. Throws kymo::Error.
  void dump_flight(const std::string& path);
  // Ends a flight recorder without a trace.
  void forget_flight();

  RecorderOwner owner() const;
  // When the program's own Session ended the last recording (CLOCK_MONOTONIC); empty: it did not.
  std::optional<uint64_t> gave_way_ns() const;

  // In a forked child: the recording belongs to the parent.
  void after_fork_in_child() noexcept;

 private:
  static void give_way(int starting);
  void close(bool forget);
  void end_copy();

  mutable std::mutex mutex_;
  RecorderOwner owner_ = RecorderOwner::Nobody;
  std::string path_, flight_path_;
  bool over_flight_ = false;  // the requested trace is a copy of what the flight recorder receives
  std::optional<uint64_t> gave_way_ns_;
  int program_starts_ = 0;  // the program's own sessions that are about to begin
};

// Never destroyed.
Recorder& the_recorder();

// ---- The flight recorder: with KYMO_FLIGHT the most recent part is always in memory, for `kymo trigger --last`.
//
// It runs whenever the agent records nothing else. If the program is already recorded into a flight recorder
// (KYMO_TRACE and KYMO_FLIGHT), that one is used.

// Starts it if KYMO_FLIGHT asks for it and nothing records. Reports no errors: require_flight() does.
void start_flight() noexcept;
void stop_flight() noexcept;

// Throws kymo::Error with what to do if no flight recorder runs.
void require_flight();

void renew_flight_in_child() noexcept;  // after a fork

}  // namespace kymo::ondemand
