// The output of a command, and what the terminal supports.
//
// Results go to standard output, messages about them to standard error. Colours, truncated names and status lines are
// for terminals only; a pipe or a file gets plain, complete text. NO_COLOR in the environment turns colours off.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/print.h"
#include "base/text_table.h"

namespace kymo::cli {

enum class Stream { Output = 1, Error = 2 };  // the file descriptors

bool is_terminal(Stream stream);

// The number of columns if it is a terminal: COLUMNS in the environment, or what the terminal reports.
std::optional<size_t> terminal_width(Stream stream);

// `text` for `stream`: unchanged if there are no colours.
enum class Colour { Bold, Dim, Red, Yellow, Green };
std::string coloured(std::string_view text, Colour colour, Stream stream);

// A table for standard output: headings dimmed, and the last column cut to the width of a terminal.
std::string shown(const base::TextTable& table, size_t indent = 0);

using base::print;  // to standard output

// Writes "kymo: `line`" to standard error; never fails.
void say(std::string_view line);
void say_error(std::string_view line);    // the same in red, for errors that end the command
void say_warning(std::string_view line);  // the same in yellow, for problems that do not end it

// Writes to standard error as it is; never fails.
void print_error(std::string_view text);

// A line on standard error that the next one overwrites. Has no effect if it is not a terminal.
class StatusLine {
 public:
  explicit StatusLine(bool wanted) : shown_(wanted && is_terminal(Stream::Error)) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool shown() const { return shown_; }
  void show(std::string_view text);
  void clear();

 private:
  bool shown_;
  bool dirty_ = false;
};

}  // namespace kymo::cli
