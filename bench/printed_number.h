// Runs a program that measures itself and prints a number, alone or under a tool.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace bench {

// The last line that is a number; 0: the command failed before that. Its other output is not shown.
inline double printed_number(const std::string& command) {
  FILE* const output = popen((command + " 2>/dev/null").c_str(), "r");
  if (output == nullptr) return 0;
  double found = 0;
  for (char line[256]; std::fgets(line, sizeof line, output) != nullptr;) {
    char* end = nullptr;
    const double number = std::strtod(line, &end);
    if (end != line && *end == '\n') found = number;
  }
  return pclose(output) == 0 ? found : 0;
}

// A command that is measured in turn with others. Other work on the machine only adds to a time, so the least counts.
struct InTurn {
  std::string name, command;
  std::vector<double> numbers{};
  double least() const { return *std::min_element(numbers.begin(), numbers.end()); }
};

inline void run_in_turn(std::vector<InTurn>& all, unsigned runs) {
  for (unsigned i = 0; i < runs; ++i)
    for (InTurn& one : all) one.numbers.push_back(printed_number(one.command));
}

}  // namespace bench
