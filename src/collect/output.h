// Where chunks go: straight into the trace file, or into a flight recorder that keeps only the last part.
//
// A flight recorder is a row of small trace files in shared memory. The newest is written to; when it is full, or old
// enough, the next begins and the oldest goes. Since traces may be put one behind the other, what it holds is their
// bytes in order. Being files in shared memory, they outlive the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
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
  // `session` names the flight recorder's files. Throws kymo::Error when the trace file cannot be written.
  Output(const std::string& path, trace::Writer::Mode mode, const FlightOptions& flight, const std::string& session);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  trace::Writer& writer() { return flight_.on() ? *generations_.back().writer : *file_; }
  bool is_flight() const { return flight_.on(); }
  // The trace file itself. A flight recorder's says only whose it is until it is dumped: recovery starts from there.
  trace::Writer& file() { return *file_; }

  // Begins the next of a flight recorder's files when it is time. True: classes, tracks and the like have to be said
  // anew.
  bool rotate();

  // Of the processes that go on: what is dumped or copied is all of it up to now.
  using Endings = std::vector<std::pair<trace::WriterId, trace::Ending>>;

  // Writes what the flight recorder holds to `path`, replacing what is there. Throws kymo::Error.
  void dump(const std::string& path, const Endings& endings);

  // What a flight recorder gets from now on, and since `from`, goes to the end of the file at `path` as well, which is
  // there, until end_copy(). That one throws kymo::Error where the file took no more; the flight recorder goes on.
  void begin_copy(const std::string& path, std::chrono::steady_clock::time_point from);
  void copy_on() noexcept;  // now and then
  void end_copy(const Endings& endings);

  // Completes the file; a flight recorder's part goes there now, behind what other processes have put there. Where a
  // dump was asked for under that name it stays, and the part goes to NAME.end.kymo. Throws kymo::Error.
  void close();

  // From here on it is no flight recorder, and what it held is gone.
  void forget_flight();

  void abandon() noexcept;  // see Collector

  uint64_t bytes() const;  // in the file, or held
  const std::string& path() const { return path_; }
  // Where close() puts a flight recorder's part.
  std::string end_path() const;

 private:
  struct Generation {
    std::string path;
    std::optional<trace::Writer> writer;  // the newest has one
    uint64_t bytes = 0;
    std::chrono::steady_clock::time_point began, ended;
  };
  struct Copy {
    std::string path;
    uint64_t done = 0;  // of the newest generation
    std::exception_ptr failure = {};
  };
  void begin_generation();
  void drop_oldest();

  std::string path_, session_;
  FlightOptions flight_;
  std::optional<trace::Writer> file_;
  std::deque<Generation> generations_;
  unsigned next_generation_ = 0;
  bool was_dumped_ = false;  // to path_
  std::optional<Copy> copy_;
};

// The files of a session's flight recorders whose process is gone, oldest first.
std::vector<std::string> abandoned_flight_files(const std::string& session);

// Adds the bytes of `from` to the end of `to`. Throws kymo::Error.
void append_file(const std::string& to, const std::string& from);

}  // namespace kymo::collect
