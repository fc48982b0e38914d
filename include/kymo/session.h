// Recording from code: what a program annotates between the two ends of a Session goes to a trace file.
//
//   kymo::Session session("run.kymo");
//   …
//   session.close();   // or let the destructor do it, silently
//
// Without a code change: KYMO_TRACE=run.kymo in the environment of any program that links Kymo, or `kymo record`. A
// Session replaces an older trace; KYMO_TRACE adds to it, so that several programs may share one.
// A program that is recorded in one of those ways needs no Session: the ones in its code then do nothing.
// One session at a time in a process; start and stop as often as you like. A forked child goes on recording into the
// same file on its own. Whatever way the process ends, everything recorded before is in the file, or is brought there
// by the next one who opens it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kymo/error.h"
#include "kymo/export.h"

namespace kymo {

// What a thread does when its ring is full.
enum class Policy {
  Block,      // waits for the collector: nothing is lost, and the wait is recorded. Gives up after 1 s without progress
  Drop,       // drops the new event and counts it
  Overwrite,  // overwrites the oldest: a flight recorder
};

struct SessionOptions {
  Policy policy = Policy::Block;
  uint64_t ring_bytes = 1 << 20;  // a thread's ring; a power of two, 64 KiB to 64 MiB
  // A flight recorder keeps only the last part, in memory, until dump() is called or the session ends. One or both:
  uint64_t flight_bytes = 0;
  double flight_seconds = 0;
  // A signal that makes the collector dump to the session's path; 0: none. What is held at the end then goes beside it,
  // to NAME.end.kymo.
  int dump_signal = 0;
};

class KYMO_API Session {
 public:
  // Throws: kymo::Error where the file cannot be written (somebody else records into it, it is not a trace, it is a
  // link of another user's) or a session is running; kymo::InvalidArgument for options out of range; kymo::NotAvailable
  // where there is no shared memory to record into.
  explicit Session(const std::string& path, const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Stops recording and completes the file. Throws what went wrong on the way, a full disk say. A second call does
  // nothing.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Is anything being recorded in this process now?
KYMO_API bool is_recording() noexcept;

// Writes what the running flight recorder holds to `path`; it goes on recording. Throws kymo::Error when none runs.
KYMO_API void dump(const std::string& path);

}  // namespace kymo
