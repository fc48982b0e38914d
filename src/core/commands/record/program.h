// A program under `kymo record`: finds it, starts it with additional environment variables, sends it signals, waits.
//
// It is started in kymo's own process group with kymo's own standard streams, so that it reads the terminal and gets
// Ctrl-C as if it had been started directly.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kymo/error.h"

namespace kymo::cli {

// The program was never run. The exit code is what a shell would give: 127 not found, 126 found but cannot be run.
class CannotRun : public Error {
 public:
  CannotRun(const std::string& name, int error_number);
  CannotRun(const std::string& name, const std::string& reason, int exit_code);
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// The file that a shell would run for `name`: `name` itself if it has a slash, else the first match in PATH. Throws
// CannotRun.
std::string find_program(const std::string& name);

// How a program ended.
struct Ending {
  int status = 0;         // its exit code; 0 when it was killed
  int signal = 0;         // what killed it; 0 when it ended by itself
  int exit_code() const;  // as in a shell: 128 + signal
};

class Program {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Starts `words[0]`, which find_program found at `path`, with `additions` in its environment and `signal_mask` as its
  // blocked signals. Throws CannotRun.
  Program(const std::string& path, const std::vector<std::string>& words, const Environment& additions,
          const sigset_t& signal_mask);

  // Has no effect after the program has ended.
  void signal(int number) const;

  // Whether it has ended, without waiting.
  std::optional<Ending> ended();

 private:
  pid_t pid_ = -1;
  std::optional<Ending> ending_;
};

}  // namespace kymo::cli
