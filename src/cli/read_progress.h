// A progress bar for a command that reads a trace: which part of the file has been read.
//
// It appears on standard error after half a second, and only on a terminal. A command that reads the trace twice shows
// the bar twice. It costs a few instructions for each chunk.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "cli/terminal.h"
#include "trace/reader.h"

namespace kymo::cli {

// "████░░░░": `width` characters, of which `fraction` (0 to 1) are full.
std::string bar_text(double fraction, size_t width);

// When to show the bar again, and how full. No I/O here.
class ProgressMeter {
 public:
  ProgressMeter(uint64_t size, uint64_t now_ns) : size_(size), start_ns_(now_ns), shown_ns_(now_ns) {}

  // The part of the file before `position` has been read. The fraction to show, if it is time to show one. Threads read
  // a little out of order; a position far behind is the start of another pass.
  std::optional<double> reached(uint64_t position, uint64_t now_ns);

 private:
  const uint64_t size_, start_ns_;
  uint64_t shown_ns_, furthest_ = 0;
};

class ReadProgress {
 public:
  // `what` is the text beside the bar: "reading run.kymo". The reader must outlive this object, and no other object may
  // use its on_read().
  ReadProgress(const trace::Reader& reader, std::string what);
  ~ReadProgress();
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;

 private:
  void reached(uint64_t position);

  const trace::Reader& reader_;
  const std::string what_;
  StatusLine line_;
  std::mutex mutex_;  // several threads read
  ProgressMeter meter_;
};

}  // namespace kymo::cli
