#include "daemon/log.h"

#include <poll.h>
#include <unistd.h>

#include <string>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"

namespace kymo::daemon {
namespace {

constexpr int kWarningsASecond = 5;
constexpr size_t kLongestLine = 1024;

void write_line(std::string_view line) {
  const std::string text = "kymod: " + base::without_controls(line.substr(0, kLongestLine)) + "\n";
  // A full pipe must not stall the daemon. If the output has no reader, the line is lost.
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  size_t written = 0;
  if (poll(&room, 1, 0) == 1) base::write_all(STDERR_FILENO, base::as_bytes(text), written);
}

}  // namespace

void Log::say(std::string_view line) {
  if (!quiet_) write_line(line);
}

void Log::warn(std::string_view line) {
  const auto now = std::chrono::steady_clock::now();
  if (now - filled_at_ >= std::chrono::seconds(1)) {
    filled_at_ = now;
    room_ = kWarningsASecond;
  }
  if (room_ == 0) {
    ++left_out_;
    return;
  }
  --room_;
  if (left_out_ > 0) write_line(base::format("{} warnings were suppressed", std::exchange(left_out_, 0)));
  write_line(line);
}

}  // namespace kymo::daemon
