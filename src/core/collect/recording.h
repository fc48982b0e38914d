// A recording of other processes: what `kymo record` runs.
//
// Programs that find the session of the recording in their environment create a segment each. The thread of the
// recording finds those segments, drains them into one file, and removes them when their process has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kymo/session.h"
#include "trace/writer.h"

namespace kymo::collect {

// Somebody else who writes into the file of a recording: the sampler. Only one thread writes a trace file, so that it
// stays indexed and a flight recorder contains everything. All functions are called on the collector's thread, several
// times a second.
class Companion {
 public:
  virtual ~Companion() = default;

  // Writes what is ready. Throws kymo::Error if the file cannot be written; the next call continues.
  virtual void write(trace::Writer& file) = 0;
  // Another file follows: writes everything until now into this one. The next write() states everything again.
  virtual void end_file(trace::Writer& file) = 0;
};

struct Progress {
  uint64_t processes = 0;  // seen so far
  uint64_t live_processes = 0;
  uint64_t threads = 0;       // seen so far
  uint64_t events = 0;        // ranges and points in the file
  uint64_t unfinished = 0;    // ranges without an end, in processes that have ended, or at the end of the recording
  uint64_t bytes = 0;         // of the file, or in the flight recorder
  uint64_t lost = 0;          // as in the ledger
  std::string file;           // the output, or the output at the end for a flight recorder
  std::string error;          // why the file cannot be written at the moment
  bool is_elsewhere = false;  // finish(): someone moved, replaced or deleted the file
};

class Recording {
 public:
  enum class Existing { Replace, Append };  // what to do with an existing trace

  // Opens the file and checks that shared memory is available. Throws like Session. A trace that is replaced stays
  // beside the new one until finish(), and comes back if that is not called.
  Recording(const std::string& path, const SessionOptions& options, Existing existing = Existing::Replace);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // The variables to set in the environment of the programs to record.
  std::vector<std::pair<std::string, std::string>> environment() const;

  // The id that all processes of the recording have in the trace.
  std::string session() const;
  // From now on, `companion` also writes into the file. It must outlive finish(). There may be two.
  void accompany(Companion& companion);
  // The first process that has used CUDA; 0: none so far. From any thread.
  uint32_t cuda_process() const;

  Progress progress() const;

  // Writes the data of a flight recorder. Throws if this is not a flight recorder.
  void dump(const std::string& path);

  // Drains the remaining data and completes the file. Processes that still run keep their segments and stop recording.
  // Throws if something failed.
  Progress finish();

  // After finish(), if nothing was recorded: the trace that was replaced is back in its place. False: there was none.
  bool restore_replaced();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::collect
