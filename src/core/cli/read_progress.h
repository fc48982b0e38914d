// A progress bar for a command that reads a file: which part of it has been read.
//
// It appears on standard error after half a second, and only on a terminal. A command that reads the file twice shows
// the bar twice. It costs a few instructions for each chunk.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "trace/reader.h"

namespace kymo::cli {

// "████░░░░": `width` characters, of which `fraction` (0 to 1) are full.
std::string bar_text(double fraction, size_t width);

// When to show the bar again, and how full. No I/O here.
class ProgressMeter {
 public:
  ProgressMeter(uint64_t size, uint64_t now_ns) : size_(size), start_ns_(now_ns), shown_ns_(now_ns) {}

  // So many bytes have been read, in any order. The fraction to show, if it is time to show one. More than the size is
  // another pass.
  std::optional<double> reached(uint64_t bytes, uint64_t now_ns);

 private:
  const uint64_t size_, start_ns_;
  uint64_t shown_ns_;
};

// The bar on the terminal. Any thread may call add().
class ProgressBar {
 public:
  // `what` is the text beside the bar: "reading run.kymo".
  ProgressBar(uint64_t size, std::string what);

  bool shown() const { return line_.shown(); }
  void add(uint64_t bytes);

 private:
  const std::string what_;
  StatusLine line_;
  std::mutex mutex_;
  std::atomic<uint64_t> bytes_ = 0;
  ProgressMeter meter_;
};

class ReadProgress {
 public:
  // The readers must outlive this object, and no other object may use their on_read().
  ReadProgress(const trace::Reader& reader, std::string what) : ReadProgress(std::span(&reader, 1), std::move(what)) {}
  ReadProgress(std::span<const trace::Reader> readers, std::string what);
  ~ReadProgress();
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;

 private:
  const std::span<const trace::Reader> readers_;
  ProgressBar bar_;
};

}  // namespace kymo::cli
