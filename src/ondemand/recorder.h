// The recordings that are made on somebody's behalf: one at a time, and never against the program.
//
// A trace that was asked for, one that the code asks for (kymo::ondemand::start) and the flight recorder each take the
// process's session in turn; but where a flight recorder runs, a trace that is asked for is what that one gets
// meanwhile, so that it begins at once and the past stays. Where the program starts a Session of its own, the recording
// gives way: it ends there and then, on the program's thread, and whoever owns it finds out.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "kymo/session.h"

namespace kymo::ondemand {

enum class RecorderOwner : uint8_t { Nobody, Request, Code, Flight };

class Recorder {
 public:
  // Throws kymo::Error where something records already, and says what; and whatever a Session throws. For a trace of
  // the code's a flight recorder ends first, without a trace.
  void begin(RecorderOwner owner, const std::string& path, const SessionOptions& options, bool with_heap);
  // Completes the file. Does nothing where the owner has none, or had to give way. Throws what a Session throws.
  void end(RecorderOwner owner);

  // What the flight recorder holds, to an empty file that is there; or that of KYMO_TRACE with KYMO_FLIGHT. The
  // program's own Session waits meanwhile. Throws kymo::Error.
  void dump_flight(const std::string& path);
  // Ends a flight recorder without a trace.
  void forget_flight();

  RecorderOwner owner() const;
  bool has_flight() const;  // also below a trace that was asked for
  // When the program's own Session ended the last recording (CLOCK_MONOTONIC); nothing: it did not.
  std::optional<uint64_t> gave_way_ns() const;

  // In a forked child, whose parent's recording is the parent's.
  void after_fork_in_child() noexcept;

 private:
  static void give_way(int starting);
  void close(bool forget);
  void end_copy();

  mutable std::mutex mutex_;
  RecorderOwner owner_ = RecorderOwner::Nobody;
  std::string path_, flight_path_;
  bool over_flight_ = false;  // the request's trace is a copy of what the flight recorder gets
  std::optional<uint64_t> gave_way_ns_;
  int program_starts_ = 0;  // sessions of the program's own that are about to begin
};

// Never destroyed.
Recorder& the_recorder();

// The heap is recorded too where libkymo_malloc.so was preloaded.
bool can_record_heap() noexcept;

}  // namespace kymo::ondemand
