// A program run under `kymo record`: found, started with more in its environment, signalled, and waited for.
//
// It is started in kymo's own process group with kymo's own standard streams, so that it reads the terminal and hears
// Ctrl-C as if it had been started alone.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kymo/error.h"

namespace kymo::cli {

// The program was never run. The exit code is what a shell would give: 127 not there, 126 there but of no use.
class CannotRun : public Error {
 public:
  CannotRun(const std::string& name, int error_number);
  CannotRun(const std::string& name, const std::string& reason, int exit_code);
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// The file a shell would run for `name`: itself where it has a slash, else the first in PATH. Throws CannotRun.
std::string find_program(const std::string& name);

// How a program ended.
struct Ending {
  int status = 0;         // its exit code; 0 when it was killed
  int signal = 0;         // what killed it; 0 when it ended by itself
  int exit_code() const;  // as a shell has it: 128 + signal
};

class Program {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Starts `words[0]`, which find_program found at `path`, with `additions` in its environment and `signal_mask` as its
  // blocked signals. Throws CannotRun.
  Program(const std::string& path, const std::vector<std::string>& words, const Environment& additions,
          const sigset_t& signal_mask);

  // Of no effect once it has ended.
  void signal(int number) const;

  // Whether it has ended, without waiting.
  std::optional<Ending> ended();

 private:
  pid_t pid_ = -1;
  std::optional<Ending> ending_;
};

}  // namespace kymo::cli
