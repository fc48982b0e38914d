// A child process with pipes for its standard streams.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace kymo::hosts {

class Process {
 public:
  // Starts words[0], found in PATH, in a process group of its own, so that Ctrl-C on the terminal does not reach it. A
  // program that cannot be run exits with 127. Throws kymo::Error if the system has no process left.
  explicit Process(const std::vector<std::string>& words);
  ~Process();  // kills it if it still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  base::FileDescriptor input, output, errors;  // not blocking, except `input`

  void signal(int number) const;
  // The exit code as in a shell, once the process has ended; -1 if it runs. Does not wait.
  int ended() { return collect(WNOHANG); }
  int wait() { return collect(0); }

 private:
  int collect(int options);

  pid_t pid_ = -1;
  int exit_code_ = -1;
};

struct Outcome {
  int exit_code = 0;
  std::string output, errors;  // at most the first megabyte of each
};
// Runs a program without input until it ends.
Outcome run_to_end(const std::vector<std::string>& words);

// Of what a program printed, for messages.
std::string_view last_line(std::string_view text);

}  // namespace kymo::hosts
