// A recording of other processes: what `kymo record` runs.
//
// Programs that find the recording's session in their environment make a segment each; the recording's own thread finds
// those segments, drains them into one file and removes them when their process has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kymo/session.h"

namespace kymo::collect {

struct Progress {
  uint64_t processes = 0;  // seen so far
  uint64_t live_processes = 0;
  uint64_t threads = 0;     // seen so far
  uint64_t events = 0;      // ranges and points in the file
  uint64_t unfinished = 0;  // ranges that have begun and not ended, in processes that ended, or at the end
  uint64_t bytes = 0;       // of the file, or held by the flight recorder
  uint64_t lost = 0;        // by the ledger
  std::string file;         // where it goes, or a flight recorder's part at the end
  std::string error;        // why the file takes no more, while it does not
};

class Recording {
 public:
  enum class Existing { Replace, Append };  // what becomes of a trace that is there

  // Opens the file and checks that shared memory can be had; throws as Session does.
  Recording(const std::string& path, const SessionOptions& options, Existing existing = Existing::Replace);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // What to put into the environment of the programs to be recorded.
  std::vector<std::pair<std::string, std::string>> environment() const;

  Progress progress() const;

  // Writes what a flight recorder holds. Throws when this is none.
  void dump(const std::string& path);

  // Drains what is left, completes the file. Segments of processes that still run are left to them: they stop
  // recording. Throws what went wrong.
  Progress finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct Recovered {
  uint64_t processes = 0;       // segments drained into the file and removed
  uint64_t live_processes = 0;  // still recording: left alone
  uint64_t elsewhere = 0;       // segments of another file, of which this is a copy: left for that
  uint64_t events = 0;
  uint64_t bytes = 0;
};

// Brings what dead processes left in shared memory into the trace they were recording: the segments are found by the
// writers and the session the file names. Finding none is not an error. Needs the file writable only when there is
// something to bring.
Recovered recover(const std::string& path);

// A temporary copy of a trace that cannot be written, or that is itself a copy, with what dead processes left behind
// it; that stays where it is, for the original. The caller's to remove. Throws kymo::Error.
std::string whole_copy(const std::string& path);

// Removes what dead processes left in shared memory where the trace that they recorded is gone.
struct Cleaned {
  struct Kept {
    uint64_t pid;
    std::string trace;  // empty: not known
  };
  uint64_t removed = 0, bytes = 0;
  uint64_t live = 0;                           // still recording
  std::vector<Kept> kept;                      // what can still be brought home
  std::vector<std::string> of_other_versions;  // files that this Kymo cannot read, of programs that may still run
};
Cleaned clean_segments();

}  // namespace kymo::collect
