// The sink "trace-marker": lines in the kernel's own trace, next to its scheduling and its interrupts, in the form that
// readers of ftrace know: B and E for a range of a thread, S and F for one across threads, I for an instant, C for a
// counter.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/text.h"
#include "sink/builtin.h"
#include "sink/open_ranges.h"

namespace kymo::sink {
namespace {

constexpr std::array kMarkerPaths = {"/sys/kernel/tracing/trace_marker", "/sys/kernel/debug/tracing/trace_marker"};
constexpr size_t kMarkerLine = 640;  // a text, and the fields around it
constexpr size_t kStartedName = 128;

// Never returns 0, 1 or 2: a program that was started without these would print into the trace. -1: errno has the
// reason.
int open_marker() noexcept {
  int first_error = 0;
  for (const char* path : kMarkerPaths) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd > STDERR_FILENO) return fd;
    if (fd >= 0) {
      const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      close(fd);
      return above;
    }
    if (first_error == 0 || first_error == ENOENT) first_error = errno;
  }
  errno = first_error;
  return -1;
}

std::string marker_absent_text(int error) {
  if (error == ENOENT)
    return base::format("there is no {}: as root, mount -t tracefs nodev /sys/kernel/tracing", kMarkerPaths[0]);
  if (error == EACCES || error == EPERM)
    return base::format("{} is not yours to write: run as root, or let root give it to you by chmod and chgrp",
                        kMarkerPaths[0]);
  return base::format("cannot open {}: {}", kMarkerPaths[0], std::strerror(error));
}

class Marker {
 public:
  bool open_file() noexcept {
    const int fd = open_marker();
    if (fd < 0) return false;
    struct stat status {};
    if (fstat(fd, &status) == 0) {
      device_.store(status.st_dev, std::memory_order_relaxed);
      inode_.store(status.st_ino, std::memory_order_relaxed);
    }
    fd_.store(fd, std::memory_order_release);
    return true;
  }
  bool is_open() const noexcept { return fd_.load(std::memory_order_acquire) >= 0; }

  // A program may close all its descriptors, also this one, and open its own files under the same number.
  void write_line(const StackText<kMarkerLine>& line) noexcept {
    if (!is_ours() && (!open_file() || !is_ours())) return;
    (void)!write(fd_.load(std::memory_order_acquire), line.text(), line.size());
  }

 private:
  bool is_ours() const noexcept {
    struct stat status {};
    return fstat(fd_.load(std::memory_order_acquire), &status) == 0 &&
           status.st_dev == device_.load(std::memory_order_relaxed) &&
           status.st_ino == inode_.load(std::memory_order_relaxed);
  }

  std::atomic<int> fd_{-1};
  std::atomic<dev_t> device_{0};
  std::atomic<ino_t> inode_{0};
};

constinit Marker marker;

struct StartedName {
  char text[kStartedName];
};
constinit OpenRanges<StartedName> marker_ranges;

class MarkerLine {
 public:
  // The pid is read each time: after a fork it is another one.
  explicit MarkerLine(char kind) noexcept { line_.put(&kind, 1).put("|").put_number(getpid()); }

  // Replaces the characters that separate fields or lines.
  MarkerLine& field(const char* text, size_t length) noexcept {
    line_.put("|");
    const size_t from = line_.size();
    line_.put(text, length);
    std::for_each(line_.data() + from, line_.data() + line_.size(), [](char& c) {
      if (c == '|') c = '/';
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    });
    return *this;
  }
  MarkerLine& field(const char* text) noexcept { return field(text, std::strlen(text)); }
  template <class Number>
  MarkerLine& number(Number number) noexcept {
    line_.put("|").put_number(number);
    return *this;
  }
  void send() noexcept { marker.write_line(line_); }

 private:
  StackText<kMarkerLine> line_;
};

void start_marker_range(const char* text, const kymo_label*, uint64_t handle) noexcept {
  StartedName name{};
  std::strncpy(name.text, text, sizeof name.text - 1);
  if (marker_ranges.add(handle, name)) MarkerLine('S').field(name.text).number(handle).send();
}

void end_marker_range(uint64_t handle) noexcept {
  if (const auto name = marker_ranges.take(handle)) MarkerLine('F').field(name->text).number(handle).send();
}

constexpr kymo_sink kMarkerSink = {
    .name = "trace-marker",
    .range_push = [](const char* text, const kymo_label*) { MarkerLine('B').field(text).send(); },
    .range_pop = [] { MarkerLine('E').send(); },
    .range_start = start_marker_range,
    .range_end = end_marker_range,
    .mark = [](const char* text, const kymo_label*) { MarkerLine('I').field(text).send(); },
    .counter = [](const char* text, double value) { MarkerLine('C').field(text).number(value).send(); },
    .interval_begin =
        [](const kymo_signpost* post) {
          MarkerLine('S').field(post->name, post->name_length).number(post->execution).send();
        },
    .interval_end =
        [](const kymo_signpost* post) {
          MarkerLine('F').field(post->name, post->name_length).number(post->execution).send();
          if (post->end_ns != 0) MarkerLine('I').field(DeviceTimes(*post, post->name, post->name_length).text()).send();
        },
    .event = [](const kymo_signpost* post) { MarkerLine('I').field(DeviceTimes::of_event(*post).text()).send(); },
    .wants_messages = 1,
    .listens = nullptr,
};

}  // namespace

BuiltinSink trace_marker() {
  return {kMarkerSink.name,
          [] {
            if (marker.is_open()) return std::string();
            const int fd = open_marker();
            if (fd < 0) return marker_absent_text(errno);
            close(fd);
            return std::string();
          },
          []() -> const kymo_sink& {
            if (!marker.is_open() && !marker.open_file())
              throw not_available(kMarkerSink.name, marker_absent_text(errno));
            return kMarkerSink;
          }};
}

}  // namespace kymo::sink
