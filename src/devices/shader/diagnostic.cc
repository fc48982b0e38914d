#include "shader/diagnostic.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace kymo::shader {

namespace {

constexpr size_t kShownWidth = 160;
constexpr size_t kLongestText = 1000;
constexpr std::string_view kCut = "...";

// Texts come from sources and go to terminals and to programs that expect one clean line.
void make_printable(std::string& text) {
  for (char& c : text) {
    if (c == '\t') c = ' ';
    if (c < ' ' || c > '~') c = '?';
  }
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Note:
      return "note";
  }
  return "";
}

// The line with a mark below it. A byte is one column. A long line is cut around the mark.
std::string show_marked_line(std::string_view line, uint32_t column) {
  size_t mark = std::min<size_t>(std::max(column, 1u) - 1, line.size());
  std::string shown;
  if (line.size() <= kShownWidth) {
    shown = line;
  } else {
    const size_t begin = std::min(mark - std::min(mark, kShownWidth / 2), line.size() - kShownWidth);
    const bool cut_before = begin > 0, cut_behind = begin + kShownWidth < line.size();
    mark -= begin;
    if (cut_before) {
      shown += kCut;
      mark += kCut.size();
    }
    shown += line.substr(begin, kShownWidth);
    if (cut_behind) shown += kCut;
  }
  make_printable(shown);
  return base::format("  {}\n  {:{}}^\n", shown, "", mark);
}

}  // namespace

uint32_t SourceFiles::add(std::string name, std::string_view text) {
  File& file = files_.emplace_back();
  file.name = std::move(name);
  file.text = text;
  file.starts.push_back(0);
  const char* const begin = file.text.data();
  const char* const end = begin + file.text.size();
  for (const char* at = begin; (at = static_cast<const char*>(std::memchr(at, '\n', end - at))) != nullptr;) {
    file.starts.push_back(static_cast<uint32_t>(++at - begin));
  }
  return static_cast<uint32_t>(size() - 1);
}

void SourceFiles::renumber(uint32_t file, uint32_t after, uint32_t line, std::string_view name) {
  if (file < first_) return;
  const std::string_view before = shown({file, after, 0}).name;
  files_[file - first_].renumbered.push_back({after, line, std::string(name.empty() ? before : name)});
}

SourceFiles::Shown SourceFiles::shown(const Location& at) const {
  const File& file = this->at(at.file);
  const auto next = std::ranges::lower_bound(file.renumbered, at.line, {}, &Renumbered::after);
  if (next == file.renumbered.begin()) return {file.name, at.line};
  const Renumbered& last = *std::prev(next);
  return {last.name, at.line - last.after - 1 + last.line};
}

std::string_view SourceFiles::line(const Location& at) const {
  if (at.file >= size()) return {};
  const File& file = this->at(at.file);
  if (at.line == 0 || at.line > file.starts.size()) return {};
  const size_t begin = file.starts[at.line - 1];
  const size_t end = at.line < file.starts.size() ? file.starts[at.line] - 1 : file.text.size();
  std::string_view line = std::string_view(file.text).substr(begin, end - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void Diagnostics::error(const Location& at, std::string text) {
  ++errors_;
  add(Severity::Error, at, std::move(text), errors_ <= kMaxErrors);
}

void Diagnostics::warning(const Location& at, std::string text) {
  add(Severity::Warning, at, std::move(text), list_.size() < kMaxEntries);
}

void Diagnostics::note(const Location& at, std::string text) {
  add(Severity::Note, at, std::move(text), last_was_kept_ && list_.size() < kMaxEntries);
}

void Diagnostics::add(Severity severity, const Location& at, std::string text, bool keep) {
  last_was_kept_ = keep;
  if (!keep) return;
  if (text.size() > kLongestText) text.replace(kLongestText, std::string::npos, kCut);
  make_printable(text);
  list_.push_back({severity, at, std::move(text)});
}

std::string Diagnostics::render(const Report& report) const {
  const Location& at = report.at;
  const std::string_view severity = severity_name(report.severity);
  if (at.line == 0 || at.file >= files_.size()) return base::format("{}: {}\n", severity, report.text);
  const SourceFiles::Shown shown = files_.shown(at);
  std::string text = base::format("{}:{}:{}: {}: {}\n", shown.name, shown.line, at.column, severity, report.text);
  const std::string_view line = files_.line(at);
  if (!line.empty()) text += show_marked_line(line, at.column);
  return text;
}

std::string Diagnostics::render() const {
  std::string text;
  for (const Report& report : list_) text += render(report);
  if (errors_ > kMaxErrors) {
    const size_t more = errors_ - kMaxErrors;
    text += base::format("{} more error{} not shown\n", more, more == 1 ? " is" : "s are");
  }
  return text;
}

}  // namespace kymo::shader
