// The program that a process runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kymo::sample {

// Empty: not known.
struct Command {
  std::string path;
  std::vector<std::string> words;
  uint64_t read_ns = 0;                // when it was read from /proc; 0: it is certain
  std::vector<std::string> variables;  // of its environment: those that describe the run, NAME=VALUE
};

// Of a process that may have ended.
Command command_of(uint32_t pid);

}  // namespace kymo::sample
