// Where a command's words go, and what may be done there.
//
// Results go to standard output, everything said about them to standard error. Colours, cut names and moving lines are
// for terminals only; into a pipe or a file goes plain, whole text. NO_COLOR in the environment turns colours off.
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

// Columns, where it is a terminal: COLUMNS in the environment, or what the terminal says.
std::optional<size_t> terminal_width(Stream stream);

// `text` as it should look on `stream`: unchanged where there are no colours.
enum class Colour { Bold, Dim, Red, Yellow, Green };
std::string coloured(std::string_view text, Colour colour, Stream stream);

// A table for standard output: headings dimmed, and the last column cut to the width of a terminal.
std::string shown(const base::TextTable& table, size_t indent = 0);

using base::print;  // to standard output

// Writes "kymo: `line`" to standard error; never fails.
void say(std::string_view line);
void say_error(std::string_view line);    // the same in red, for what ends the command
void say_warning(std::string_view line);  // the same in yellow, for what does not

// Writes to standard error as it is; never fails.
void print_error(std::string_view text);

// A line on standard error that is overwritten by the next: of no effect where that is not a terminal.
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
