// What the daemon says about itself: lines on standard error, which systemd keeps.
//
// Whoever sends rubbish must not fill a disk with complaints about it, so warnings are a few a second at most; how many
// were left out is said with the next one. Control characters of what others sent are shown as "?".
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace kymo::daemon {

class Log {
 public:
  // `quiet` keeps say() silent, not warn().
  explicit Log(bool quiet = false) : quiet_(quiet) {}

  void say(std::string_view line);
  void warn(std::string_view line);

 private:
  bool quiet_;
  uint64_t left_out_ = 0;
  int room_ = 0;  // warnings that may still be said in this second
  std::chrono::steady_clock::time_point filled_at_{};
};

}  // namespace kymo::daemon
