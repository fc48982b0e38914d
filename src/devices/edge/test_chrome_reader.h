// Reads Chrome files for tests: line by line, as PyTorch's tests of its edge profiler do, and as a whole, to check what
// viewers need.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace kymo::edge::testing {

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Searches a text from top to bottom. Each search continues where the previous one ended, until rewind().
class ChromeLines {
 public:
  explicit ChromeLines(std::string text) : text_(std::move(text)) {}
  static ChromeLines of_file(const std::string& path) { return ChromeLines(file_text(path)); }

  // Moves to a line with `operation`, then from the next line on to a line with `key` and `value`.
  bool find(std::string_view operation, std::string_view key, std::string_view value = {}) {
    std::string_view line;
    while (next(line))
      if (contains(line, operation)) break;
    while (next(line))
      if (contains(line, key) && contains(line, value)) return true;
    return false;
  }
  void rewind() { at_ = 0; }
  const std::string& text() const { return text_; }

 private:
  static bool contains(std::string_view line, std::string_view what) {
    return line.find(what) != std::string_view::npos;
  }
  bool next(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    line = std::string_view(text_).substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  std::string text_;
  size_t at_ = 0;
};

// The errors that prevent viewers from reading the file, one per line; empty: none. It checks: the file is valid JSON
// in UTF-8; every event has ph, ts, pid, tid and name; events of one row nest; an arrow has both ends, inside events;
// the window's end is last.
inline std::string chrome_faults(const std::string& path) {
  static constexpr const char* kScript = R"PY(
import collections, decimal, json, sys
with open(sys.argv[1], encoding="utf-8", errors="strict", newline="") as file:
    trace = json.load(file, parse_float=decimal.Decimal, parse_constant=lambda word: print("not JSON:", word))
def ns(value):
    return int(value * 1000)
rows, arrows, names = collections.defaultdict(list), collections.defaultdict(list), set()
events = trace["traceEvents"]
for event in events:
    for key in ("ph", "ts", "pid", "tid", "name"):
        if key not in event: print("without", key + ":", event)
    row = (event["pid"], event["tid"])
    if event["ph"] == "X": rows[row].append((ns(event["ts"]), -ns(event["dur"])))
    if event["ph"] in "sf": arrows[event["cat"], event["id"]].append((event["ph"], row, ns(event["ts"])))
    if event["name"] == "thread_name" and event["ph"] == "M": names.add(row)
    if ns(event["ts"]) < 0 or ns(event.get("dur", 0)) < 0: print("negative:", event)
for row, slices in rows.items():
    if row not in names: print("a row without a name:", row)
    open_ends = []
    for start, minus_duration in sorted(slices):
        end = start - minus_duration
        while open_ends and open_ends[-1] <= start: open_ends.pop()
        if open_ends and open_ends[-1] < end: print("does not nest:", row, start, end)
        open_ends.append(end)
for arrow, ends in arrows.items():
    if sorted(phase for phase, row, time in ends) != ["f", "s"]: print("half an arrow:", arrow, ends)
    for phase, row, time in ends:
        if not any(start <= time <= start - minus for start, minus in rows[row]): print("an arrow from nowhere:", arrow)
if events[-1]["name"] != "Record Window End": print("ends with", events[-1])
if list(trace)[-1] != "traceName": print("the last key is", list(trace)[-1])
)PY";
  char script[] = "/tmp/kymo-chrome-XXXXXX";
  const int fd = mkstemp(script);
  if (fd < 0) return "no place for a script";
  const bool written = write(fd, kScript, std::string_view(kScript).size()) > 0;
  close(fd);
  std::string faults;
  if (FILE* const output = popen(("python3 " + std::string(script) + " '" + path + "' 2>&1").c_str(), "r")) {
    std::array<char, 4096> buffer;
    for (size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), output)) != 0;)
      faults.append(buffer.data(), got);
    const int status = pclose(output);
    if (status != 0 && faults.empty()) faults = "python3 failed";
  } else {
    faults = "no python3";
  }
  unlink(script);
  return written ? faults : "no place for a script";
}

}  // namespace kymo::edge::testing
