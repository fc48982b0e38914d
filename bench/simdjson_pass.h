// What any reader of a Kineto file must do at least: simdjson finds name and duration of each range, in windows of 4
// MB, and the durations are added up by name. On one core.
#pragma once

#include <fcntl.h>
#include <simdjson.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <unordered_map>

#include "measure.h"

namespace bench {

struct SimdjsonPass {
  double seconds = 0, processor_seconds = 0;
  uint64_t ranges = 0;
  bool well = false;
};

// For files of kineto_file.h: every event begins with "ph" on a line of its own.
inline SimdjsonPass simdjson_pass(const std::string& path) {
  constexpr size_t kWindow = 4 << 20;
  constexpr std::string_view kList = "\"traceEvents\": [", kEvent = ",\n  {\n    \"ph\"";
  SimdjsonPass pass;
  const auto processor_seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const uint64_t began = host_ns();
  const double processor_began = processor_seconds();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return pass;
  simdjson::ondemand::parser parser;
  std::unordered_map<std::string, double> totals;
  std::string window(kWindow + simdjson::SIMDJSON_PADDING, '\0');
  size_t have = 0;
  bool is_first = true, is_last = false;
  while (!is_last) {
    while (have < kWindow) {
      const ssize_t count = read(file, window.data() + have, kWindow - have);
      if (count <= 0) break;
      have += static_cast<size_t>(count);
    }
    is_last = have < kWindow;
    const std::string_view text(window.data(), have);
    const size_t list = is_first ? text.find(kList) : 0;
    const size_t end = is_last ? text.rfind(']') : text.rfind(kEvent);
    if (list == text.npos || end == text.npos) break;
    const size_t begin = is_first ? list + kList.size() - 1 : 0;
    window[begin] = '[';  // over the bracket, or the comma before an event
    window[end] = ']';
    simdjson::ondemand::document events;
    if (parser.iterate(window.data() + begin, end + 1 - begin, window.size() - begin).get(events) != simdjson::SUCCESS)
      break;
    for (auto event : events.get_array()) {
      std::string_view phase, name;
      double duration = 0;
      simdjson::ondemand::object fields;
      if (event.get_object().get(fields) != simdjson::SUCCESS) break;
      if (fields["ph"].get(phase) != simdjson::SUCCESS || phase != "X") continue;
      if (fields["name"].get(name) != simdjson::SUCCESS || fields["dur"].get(duration) != simdjson::SUCCESS) continue;
      totals.try_emplace(std::string(name), 0).first->second += duration;
      ++pass.ranges;
    }
    std::memmove(window.data(), window.data() + end, have - end);
    have -= end;
    is_first = false;
  }
  close(file);
  pass.seconds = static_cast<double>(host_ns() - began) / 1e9;
  pass.processor_seconds = processor_seconds() - processor_began;
  pass.well = is_last && !totals.empty();
  return pass;
}

}  // namespace bench
