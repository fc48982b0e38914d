// The log of the daemon: lines on standard error, which systemd stores.
//
// Invalid input must not fill a disk with warnings, so the number of warnings per second is limited. The next warning
// says how many were suppressed. Control characters in received text are shown as "?".
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace kymo::daemon {

class Log {
 public:
  // With `quiet`, say() prints nothing; warn() still prints.
  explicit Log(bool quiet = false) : quiet_(quiet) {}

  void say(std::string_view line);
  void warn(std::string_view line);

 private:
  bool quiet_;
  uint64_t left_out_ = 0;
  int room_ = 0;  // warnings that may still be printed in this second
  std::chrono::steady_clock::time_point filled_at_{};
};

}  // namespace kymo::daemon
