#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <vector>

#include "base/environment.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"

namespace kymo::cli {
namespace {

int descriptor(Stream stream) { return static_cast<int>(stream); }

bool has_colours(Stream stream) {
  const char* no_color = base::environment("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = base::environment("TERM");
  if (term != nullptr && std::strcmp(term, "dumb") == 0) return false;
  return is_terminal(stream);
}

std::string_view code(Colour colour) {
  switch (colour) {
    case Colour::Bold:
      return "\x1b[1m";
    case Colour::Dim:
      return "\x1b[2m";
    case Colour::Red:
      return "\x1b[31m";
    case Colour::Yellow:
      return "\x1b[33m";
    case Colour::Green:
      return "\x1b[32m";
  }
  return {};
}

void say_with(std::string_view prefix, std::string_view line) { print_error(base::format("{} {}\n", prefix, line)); }

}  // namespace

bool is_terminal(Stream stream) { return ::isatty(descriptor(stream)) == 1; }

std::optional<size_t> terminal_width(Stream stream) {
  if (!is_terminal(stream)) return std::nullopt;
  if (const char* columns = base::environment("COLUMNS")) {
    size_t width = 0;
    std::from_chars(columns, columns + std::strlen(columns), width);
    if (width > 0) return width;
  }
  winsize size{};
  if (::ioctl(descriptor(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::string coloured(std::string_view text, Colour colour, Stream stream) {
  if (!has_colours(stream)) return std::string(text);
  return base::format("{}{}\x1b[0m", code(colour), text);
}

std::string shown(const base::TextTable& table, size_t indent) {
  return table.text({.width = terminal_width(Stream::Output), .indent = indent, .heading = [](const std::string& line) {
                       return coloured(line, Colour::Dim, Stream::Output);
                     }});
}

void print_error(std::string_view text) {
  size_t written = 0;
  base::write_all(descriptor(Stream::Error), base::as_bytes(text), written);
}

void say(std::string_view line) { say_with("kymo:", line); }

namespace {

// Errors contain file names, which may contain any character. Line breaks in `text` are kept.
std::string printable_lines(std::string_view text) {
  std::vector<std::string> lines = base::split(text, '\n');
  for (std::string& line : lines) line = base::printable(line);
  return base::join(lines, "\n");
}

}  // namespace

void say_error(std::string_view line) {
  say_with(coloured("kymo:", Colour::Red, Stream::Error), printable_lines(line));
}

void say_warning(std::string_view line) {
  say_with(coloured("kymo:", Colour::Yellow, Stream::Error), printable_lines(line));
}

void StatusLine::show(std::string_view text) {
  if (!shown_) return;
  // The cursor goes back to the line's start, so that what the program prints next overwrites the status.
  print_error(base::format("\r{}\x1b[K\r", base::shorten(text, terminal_width(Stream::Error).value_or(80) - 1)));
  dirty_ = true;
}

void StatusLine::clear() {
  if (dirty_) print_error("\r\x1b[K");
  dirty_ = false;
}

}  // namespace kymo::cli
