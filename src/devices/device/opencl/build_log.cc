#include "device/opencl/build_log.h"

#include <cctype>
#include <charconv>
#include <optional>

namespace kymo::device::opencl {
namespace {

constexpr std::string_view kMarks[] = {"fatal error: ", "error: "};

// The names that compilers give to source text: temporary files of PoCL and of other drivers.
constexpr std::string_view kTemporaryNames[] = {"/tempfile", "/tmp/", "<kernel>", "<source>", "<program source>"};

struct Place {
  std::string_view file;
  uint32_t line = 0, column = 0;
  std::string_view rest;
};

std::optional<uint32_t> take_number(std::string_view& text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != ':') return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return number;
}

// "FILE:LINE:COLUMN: rest" or "FILE:LINE: rest" at the beginning of `text`.
std::optional<Place> place_in(std::string_view text) {
  for (size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    std::string_view rest = text.substr(colon + 1);
    const auto line = take_number(rest);
    if (!line || colon == 0) continue;
    std::string_view after_column = rest;
    const auto column = take_number(after_column);
    if (column) rest = after_column;
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    return Place{text.substr(0, colon), *line, column.value_or(0), rest};
  }
  return std::nullopt;
}

std::optional<FirstError> error_in(std::string_view line) {
  for (const std::string_view mark : kMarks) {
    const size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view before = line.substr(0, at), after = line.substr(at + mark.size());
    if (const auto place = place_in(before))  // clang's form: the place, then the mark
      return FirstError{std::string(place->file), place->line, place->column, std::string(after)};
    if (const auto place = place_in(after))  // PoCL's
      return FirstError{std::string(place->file), place->line, place->column, std::string(place->rest)};
    return FirstError{"", 0, 0, std::string(after)};
  }
  return std::nullopt;
}

bool is_temporary(std::string_view name) {
  for (const std::string_view part : kTemporaryNames)
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace

FirstError first_error(std::string_view log) {
  FirstError without_place;
  while (!log.empty()) {
    const size_t end = log.find('\n');
    const std::string_view line = log.substr(0, end);
    log = end == std::string_view::npos ? std::string_view() : log.substr(end + 1);
    if (auto error = error_in(line)) {
      if (error->line != 0) return std::move(*error);
      if (without_place.text.empty()) without_place = std::move(*error);
    }
  }
  return without_place;
}

std::string cleaned_log(std::string_view log, std::string_view file) {
  while (!log.empty() && (log.back() == '\0' || std::isspace(static_cast<unsigned char>(log.back()))))
    log.remove_suffix(1);
  while (!log.empty() && std::isspace(static_cast<unsigned char>(log.front()))) log.remove_prefix(1);
  std::string cleaned;
  while (!log.empty()) {
    const size_t end = log.find('\n');
    std::string_view line = log.substr(0, end);
    log = end == std::string_view::npos ? std::string_view() : log.substr(end + 1);
    if (!cleaned.empty()) cleaned += '\n';
    std::string_view lead;
    for (const std::string_view mark : {"error: ", "warning: ", "note: "})
      if (line.starts_with(mark)) lead = line.substr(0, mark.size());
    const auto place = place_in(line.substr(lead.size()));
    if (place && is_temporary(place->file)) {
      cleaned += lead;
      cleaned += file;
      cleaned += line.substr(lead.size() + place->file.size());
    } else {
      cleaned += line;
    }
  }
  return cleaned;
}

CompileError compile_error(std::string_view log, std::string_view file) {
  const std::string message = cleaned_log(log, file);
  FirstError first = first_error(message);
  if (first.file.empty()) first.file = file;
  return CompileError(message, std::move(first.file), first.line, first.column, std::move(first.text));
}

}  // namespace kymo::device::opencl
