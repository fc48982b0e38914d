#include "wire/output_pattern.h"

#include <optional>

#include "base/text.h"
#include "wire/message.h"

namespace kymo::wire {
namespace {

constexpr size_t kLongestPart = 128;  // max length of an inserted value
constexpr std::string_view kKinetoEnding = ".pt.trace.json";

std::string path_part(std::string_view text) {
  if (text.empty()) return "none";
  std::string part(text.substr(0, kLongestPart));
  for (char& c : part)
    if (!base::is_word(c) && c != '.' && c != '-' && c != '+') c = '_';
  if (part[0] == '.') part[0] = '_';
  return part;
}

std::optional<std::string> name_for(std::string_view place, const OutputNames& names) {
  if (place == "pid") return std::to_string(names.pid);
  if (place == "request") return std::to_string(names.request);
  if (place == "name") return path_part(names.name);
  if (place == "host") return path_part(names.host);
  if (place == "job") return path_part(names.job);
  if (place == "time") return path_part(names.time);
  return std::nullopt;
}

// Inserts the pid before the extension: "run-v1.2_77.json.gz". A leading dot is part of the name.
std::string with_own_pid(const std::string& path, int64_t pid) {
  const size_t name = path.rfind('/') + 1;  // 0 if there is none
  const std::string_view plain = std::string_view(path).substr(0, path.size() - (path.ends_with(".gz") ? 3 : 0));
  size_t dot = plain.ends_with(kKinetoEnding) ? plain.size() - kKinetoEnding.size() : plain.rfind('.');
  if (dot == plain.npos || dot <= name) dot = plain.size();
  return base::format("{}_{}{}", path.substr(0, dot), pid, path.substr(dot));
}

}  // namespace

base::Result<std::string> output_from_pattern(std::string_view pattern, const OutputNames& names) {
  if (pattern.size() > kLongestText)
    return base::Refusal{base::format("a path of {} bytes is too long", pattern.size())};
  std::string path;
  bool is_own = false;  // the path is unique to one process
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c != '{' && c != '}') {
      path += c;
    } else if (pattern.substr(at + 1, 1) == std::string_view(&c, 1)) {
      path += c;
      ++at;
    } else {
      const size_t end = pattern.find('}', at);
      const std::string_view place = pattern.substr(at + 1, end == pattern.npos || end == at ? 0 : end - at - 1);
      const auto name = name_for(place, names);
      if (!name) {
        return base::Refusal{
            base::format("\"{{{}}}\" in an output is no place; {{pid}}, {{request}}, {{name}}, {{host}}, {{job}} "
                         "and {{time}} are, and {{{{ is a brace",
                         place.substr(0, kLongestPart))};
      }
      path += *name;
      is_own = is_own || place == "pid" || place == "request";
      at = end;
    }
  }
  if (!is_own) path = with_own_pid(path, names.pid);
  if (path.size() > kLongestText) return base::Refusal{base::format("a path of {} bytes is too long", path.size())};
  return path;
}

}  // namespace kymo::wire
