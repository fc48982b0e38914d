// Recording from code: everything that a program annotates during a Session goes to a trace file.
//
//   kymo::Session session("run.kymo");
//   …
//   session.close();   // or the destructor does it, and ignores errors
//
// Without a code change: set KYMO_TRACE=run.kymo in the environment of any program that links Kymo, or use the command
// `kymo record`. A Session replaces an older trace. KYMO_TRACE adds to it, so that several programs may share one. If a
// program is recorded in one of those ways, the Sessions in its code do nothing.
//
// A process has one session at a time, and any number one after the other. A forked child continues to record into the
// same file on its own. However the process ends, everything that was recorded before is in the file, or the next
// program that opens the file adds it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kymo/error.h"
#include "kymo/export.h"

namespace kymo {

// What a thread does when its ring is full.
enum class Policy {
  Block,      // waits for the collector: no loss, and the wait is recorded; gives up after 1 s without progress
  Drop,       // drops the new event and counts it
  Overwrite,  // overwrites the oldest: a flight recorder
};

struct SessionOptions {
  Policy policy = Policy::Block;
  uint64_t ring_bytes = 1 << 20;  // size of a thread's ring: a power of two, 64 KiB to 64 MiB
  // A flight recorder keeps only the last part, in memory, until dump() is called or the session ends. Set one or both:
  uint64_t flight_bytes = 0;
  double flight_seconds = 0;
  // A signal that makes the collector dump to the session's path; 0: none. The data at the end of the session then goes
  // to NAME.end.kymo next to it.
  int dump_signal = 0;
};

class KYMO_API Session {
 public:
  // Throws kymo::Error if the file cannot be written (another program records into it, it is not a trace, it is a link
  // of another user) or if a session is active; kymo::InvalidArgument if an option is out of range; kymo::NotAvailable
  // if there is no shared memory to record into.
  explicit Session(const std::string& path, const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Stops recording and completes the file. Throws if something failed during the session, for example a full disk, or
  // if somebody moved, replaced or deleted the file. A second call does nothing.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// True while something is recorded in this process.
KYMO_API bool is_recording() noexcept;

// Writes the data of the running flight recorder to `path`. The recorder continues. Throws kymo::Error if none runs.
KYMO_API void dump(const std::string& path);

}  // namespace kymo
