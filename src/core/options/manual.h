// The options of a command as data: what `--help` prints is also the source of manual pages and shell completions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::options {

struct OptionManual {
  enum class Takes : uint8_t { Nothing, MaybeValue, Value };  // --json, --memory[=VALUE], --top VALUE

  std::vector<std::string> names;    // "-o", "--output"; of a positional argument, its name
  std::string form;                  // of its value: "FILE", "name|thread"; empty: it takes none
  std::vector<std::string> choices;  // the values, if there are few
  std::string help;                  // one line
  Takes takes = Takes::Nothing;
  bool is_positional = false;
  bool is_repeatable = false;
};

struct CommandManual {
  std::string name, usage, description, example;
  std::vector<OptionManual> options;
  bool runs_a_program = false;  // what follows the first argument belongs to that program
};

// Calls `command`, which reads a CommandLine before it does anything else, and returns the options of that. The
// command's read() returns false.
CommandManual manual_of(const std::function<void()>& command);

// As a text that another program of the same version reads.
std::string packed(const CommandManual& manual);
CommandManual unpacked(std::string_view text);

}  // namespace kymo::options
