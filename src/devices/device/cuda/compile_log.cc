#include "device/cuda/compile_log.h"

#include <charconv>
#include <vector>

#include "base/text.h"

namespace kymo::device::cuda {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

uint32_t number_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  uint32_t value = 0;
  std::from_chars(text.data() + begin, text.data() + end, value);
  return value;
}

struct Found {
  std::string file, text;
  uint32_t line = 0;
};

// file(12): error: text, or file(12): catastrophic error: text
bool nvrtc_error(std::string_view line, Found& found) {
  for (const std::string_view mark : {"): error: ", "): catastrophic error: ", "): internal error: "}) {
    const size_t at = line.find(mark);
    const size_t open = line.rfind('(', at);
    if (at == std::string_view::npos || open == std::string_view::npos) continue;
    found = {std::string(line.substr(0, open)), std::string(line.substr(at + mark.size())), number_before(line, at)};
    return true;
  }
  return false;
}

// ptxas application ptx input, line 7; error   : text
bool assembler_error(std::string_view line, std::string_view file, Found& found) {
  const size_t at = line.find("error");
  const size_t colon = line.find(": ", at);
  if (at == std::string_view::npos || colon == std::string_view::npos) return false;
  found.text = line.substr(colon + 2);
  const size_t place = line.find(", line "), semicolon = line.find(';', place);
  if (place != std::string_view::npos && semicolon != std::string_view::npos) {
    found.line = number_before(line, semicolon);
    found.file = file;
  }
  return true;
}

// NVRTC repeats the line, two columns further right, and below it puts a ^ under the column.
uint32_t column_below(const std::vector<std::string_view>& lines, size_t error) {
  constexpr size_t kIndent = 2;
  if (error + 2 >= lines.size()) return 0;
  const size_t caret = lines[error + 2].find_first_not_of(' ');
  if (caret == std::string_view::npos || lines[error + 2][caret] != '^' || caret < kIndent) return 0;
  return static_cast<uint32_t>(caret - kIndent + 1);
}

}  // namespace

CompileError compile_error(std::string_view log, std::string_view file) {
  while (!log.empty() && (log.back() == '\n' || log.back() == '\0' || log.back() == ' ')) log.remove_suffix(1);
  const std::vector<std::string_view> lines = lines_of(log);
  const std::string message =
      log.empty() ? base::format("{} does not compile, and the compiler gives no reason", file) : std::string(log);
  Found found;
  for (size_t i = 0; i < lines.size(); ++i)
    if (nvrtc_error(lines[i], found)) return {message, found.file, found.line, column_below(lines, i), found.text};
  for (const std::string_view line : lines)
    if (assembler_error(line, file, found)) return {message, found.file, found.line, 0, found.text};
  return {message, {}, 0, 0, lines.empty() ? std::string() : std::string(lines.front())};
}

}  // namespace kymo::device::cuda
