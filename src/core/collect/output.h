// The output of chunks: directly to the trace file, or to a flight recorder, which keeps only the last part.
//
// A flight recorder is a sequence of small trace files in shared memory. It writes to the newest. When that is full or
// old enough, a new one starts and the oldest is removed. Traces may be concatenated, so the content of the recorder is
// the bytes of these files in order. They are in shared memory, so they outlive the process. A symbolic link beside
// them names the trace that they belong to. A file is too old by the times of the events: while nothing happens,
// nothing is removed, and a collector that is late keeps as much as one that is not.
//
// A name is flight-SESSION-PID-IDENTITY-NUMBER, or -trace for the link. The pid separates the files of a forked child
// from its parent's. The identity shows whether the process still runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/writer.h"

namespace kymo::collect {

struct FlightOptions {
  uint64_t bytes = 0;
  double seconds = 0;
  bool on() const { return bytes != 0 || seconds != 0; }
};

class Output {
 public:
  // `session` is part of the names of the flight recorder's files. Throws kymo::Error if the trace file cannot be
  // written.
  Output(const std::string& path, trace::Writer::Mode mode, const FlightOptions& flight, const std::string& session);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  trace::Writer& writer() { return flight_.on() ? *generations_.back().writer : *file_; }
  bool is_flight() const { return flight_.on(); }
  // The trace file itself. For a flight recorder it contains only the description of its owner until it is dumped:
  // recovery starts from that.
  trace::Writer& file() { return *file_; }

  // It is time for the next file of a flight recorder.
  bool is_rotation_due();
  // Starts the next file of a flight recorder. Classes, tracks and so on must be written again.
  void rotate();

  // The endings of processes that still run: a dump or copy contains everything up to now.
  using Endings = std::vector<std::pair<trace::WriterId, trace::Ending>>;

  // Writes the data of the flight recorder to `path`, and replaces an existing file. Throws kymo::Error.
  void dump(const std::string& path, const Endings& endings);

  // New data of a flight recorder, and its data since `from`, is also appended to the file at `path`, until end_copy().
  // The file must exist. end_copy() throws kymo::Error if the file could not be written; the flight recorder continues.
  void begin_copy(const std::string& path, std::chrono::steady_clock::time_point from);
  void copy_on() noexcept;  // call it repeatedly
  void end_copy(const Endings& endings);

  // Writes chunks that are about the whole recording: into the copy of a flight recorder while there is one, otherwise
  // into the trace file. Does nothing for a flight recorder that is not copied. Throws kymo::Error.
  void add_to_file(const std::function<void(trace::Writer&)>& write);

  // Completes the file. The data of a flight recorder is now appended to it, after the data of other processes. If
  // there was a dump to that name, the dump stays and the data goes to NAME.end.kymo. Throws kymo::Error.
  void close();

  // Stops being a flight recorder, and discards its data.
  void forget_flight();

  void abandon() noexcept;  // see Collector

  uint64_t bytes() const;  // in the file, or in the flight recorder
  const std::string& path() const { return path_; }
  const std::string& session() const { return session_; }
  // The path to which close() writes the data of a flight recorder.
  std::string end_path() const;
  // After close(): false if someone moved, replaced or deleted the file.
  bool is_at_path() const;

 private:
  struct Generation {
    std::string path;
    std::optional<trace::Writer> writer;  // only the newest has one
    uint64_t bytes = 0;
    std::chrono::steady_clock::time_point began, ended;  // ended: the time of its last event
  };
  struct Copy {
    std::string path;
    uint64_t done = 0;  // bytes copied of the newest generation
    std::exception_ptr failure = {};
  };
  uint64_t max_flight_bytes() const;
  void begin_generation();
  void drop_oldest();
  void state_windows(trace::Writer& writer) const;
  void drop_all();

  std::string path_, session_;
  std::string link_;  // a flight recorder's link to path_
  FlightOptions flight_;
  std::optional<trace::Writer> file_;
  std::deque<Generation> generations_;
  unsigned next_generation_ = 0;
  bool was_dumped_ = false;  // to path_
  std::string last_dump_;    // by close(); empty: it completed file_
  std::optional<Copy> copy_;
};

// A flight recorder whose process has ended.
struct AbandonedFlight {
  std::string session;
  std::vector<std::string> files;  // oldest first
  std::string link;                // empty: none
  std::string trace;               // where the link leads; empty: not known

  void remove() const noexcept;
};

// Those in `folders` of one session, or of all sessions if `session` is empty.
std::vector<AbandonedFlight> abandoned_flights(const std::vector<std::string>& folders,
                                               const std::string& session = {});

// Adds the bytes of `from`, from `offset` on, to the end of `to`, and returns their number. Throws kymo::Error.
uint64_t append_file(const std::string& to, const std::string& from, uint64_t offset = 0);

}  // namespace kymo::collect
