#include "wire/config.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/printable.h"
#include "base/text.h"

namespace kymo::wire {
namespace {

using R = TraceRequest;

// PROFILE_MEMORY comes before ACTIVITIES_LOG_FILE, because it resets the path.
constexpr ConfigKey kConfigKeys[] = {
    {"PROFILE_MEMORY", &R::memory_snapshot},
    {"PROFILE_MEMORY_DURATION_MSECS", &R::memory_duration_ms},
    {"ACTIVITIES_LOG_FILE", &R::output},
    {"ACTIVITIES_ENABLED", &R::enabled},
    {"PROFILE_START_TIME", &R::start_ms, INT64_MAX},
    {"ACTIVITIES_DURATION_MSECS", &R::duration_ms, uint64_t{INT32_MAX} * 1000},
    {"ACTIVITIES_DURATION_SECS", &R::duration_ms, INT32_MAX, 1000, true},
    {"ACTIVITIES_WARMUP_PERIOD_SECS", &R::warmup_s},
    {"PROFILE_START_ITERATION", &R::start_iteration},
    {"PROFILE_START_ITERATION_ROUNDUP", &R::iteration_roundup},
    {"ACTIVITIES_ITERATIONS", &R::iterations},
    {"PROFILE_REPORT_INPUT_SHAPES", &R::shapes},
    {"CLIENT_INTERFACE_ENABLE_OP_INPUTS_COLLECTION", &R::shapes, 0, 1, true},
    {"PROFILE_PROFILE_MEMORY", &R::memory_events},
    {"PROFILE_WITH_STACK", &R::stack},
    {"PYTHON_STACK_TRACE", &R::stack, 0, 1, true},
    {"PROFILE_WITH_FLOPS", &R::flops},
    {"PROFILE_WITH_MODULES", &R::modules},
    {"ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS", &R::poll_interval_s},
    {"REQUEST_TRACE_ID", &R::trace_id},
    {"REQUEST_GROUP_TRACE_ID", &R::group_trace_id},
};

// For what a recording of Kymo always has or never has, and for single backends.
constexpr std::string_view kIgnoredKeys[] = {
    "ACTIVITIES_WARMUP_ITERATIONS",
    "ACTIVITY_TYPES",
    "ACTIVITIES_DISPLAY_CUDA_SYNC_WAIT_EVENTS",
    "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB",
    "CUPTI_PER_THREAD_BUFFER_ENABLED",
    "CUPTI_PM_SAMPLING_METRICS",
    "CUPTI_PM_SAMPLING_DEVICE_ID",
    "ROCTRACER_MAX_EVENTS",
    "CUSTOM_CONFIG",
    "ENABLE_IPC_FABRIC",
    "VERBOSE_LOG_LEVEL",
    "VERBOSE_LOG_MODULES",
};

const ConfigKey* find_config_key(std::string_view name) {
  const auto* found = std::ranges::find(kConfigKeys, name, &ConfigKey::name);
  return found == std::end(kConfigKeys) ? nullptr : found;
}

bool is_retired_config_key(std::string_view name) { return name.starts_with("EVENTS_") || name == "ENABLE_SIGUSR2"; }

constexpr std::string_view kConfigBlanks = " \t\r";
constexpr size_t kLongestQuote = 80;  // max length of an invalid text in an error message

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kConfigBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kConfigBlanks) - begin + 1);
}

// For a log: on one line, and truncated if it is long.
std::string shown(std::string_view text) {
  return "\"" + base::without_controls(text.substr(0, kLongestQuote)) + (text.size() > kLongestQuote ? "…\"" : "\"");
}

std::optional<bool> truth_of(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const char* yes : {"y", "yes", "t", "true", "1"})
    if (lower == yes) return true;
  for (const char* no : {"n", "no", "f", "false", "0"})
    if (lower == no) return false;
  return std::nullopt;
}

std::optional<uint64_t> number_of(std::string_view text, uint64_t most) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

// Reads one text. Values are set as they come. The request is returned only if all of them are valid.
class ConfigReader {
 public:
  ConfigReading read(std::string_view text) {
    if (text.size() > kConfigLargest) {
      error(base::format("a config of {} bytes is longer than {}", text.size(), kConfigLargest));
      return std::move(reading_);
    }
    for (const std::string& line : base::split(text, '\n')) {
      ++line_;
      read_line(line);
    }
    line_ = 0;
    finish();
    if (reading_.errors.empty()) reading_.request = std::move(request_);
    return std::move(reading_);
  }

 private:
  void error(std::string text) { note(reading_.errors, std::move(text)); }
  void warn(std::string text) { note(reading_.warnings, std::move(text)); }
  void note(std::vector<ConfigNote>& notes, std::string text) {
    if (notes.size() + 1 < kConfigMaxNotes) {
      notes.push_back({line_, std::move(text)});
    } else if (notes.size() < kConfigMaxNotes) {
      notes.push_back({0, "and more"});
    }
  }

  void read_line(std::string_view line) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) return;
    const size_t equals = line.find('=');
    if (equals == line.npos) return error(base::format("{} has no \"=\"; write KEY=value", shown(line)));
    const std::string_view name = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
    if (name.empty()) return error(base::format("{} has no key; write KEY=value", shown(line)));
    if (value.find('=') != value.npos) return error(base::format("{} has more than one \"=\"", shown(line)));
    if (std::ranges::any_of(line, base::is_control)) {
      return error(base::format("{} has a control character in it", shown(line)));
    }
    const ConfigKey* key = find_config_key(name);
    if (std::ranges::find(kIgnoredKeys, name) != std::end(kIgnoredKeys)) return;
    if (!key) {
      const char* why = is_retired_config_key(name) ? "has no meaning any more" : "is no key that is known";
      return warn(base::format("{} {}", shown(name), why));
    }
    const auto index = static_cast<size_t>(key - config_keys().data());
    if (seen_[index]) warn(base::format("{} is said twice; the last one counts", key->name));
    seen_[index] = true;
    std::visit([&](auto member) { set(*key, request_.*member, value); }, key->member);
  }

  void set(const ConfigKey& key, bool& member, std::string_view value) {
    const auto truth = truth_of(value);
    if (!truth) return error(base::format("{} is {}; it is true or false", key.name, shown(value)));
    member = *truth;
    // Resets a path that was given before; a path that is given afterwards is used.
    if (&member == &request_.memory_snapshot && *truth) request_.output.clear();
  }
  void set(const ConfigKey& key, uint64_t& member, std::string_view value) {
    const auto number = number_of(value, key.most);
    if (!number) return error(base::format("{} is {}; it is a number from 0 to {}", key.name, shown(value), key.most));
    member = *number * key.scale;
  }
  void set(const ConfigKey& key, std::optional<uint64_t>& member, std::string_view value) {
    uint64_t number = 0;
    set(key, number, value);
    member = number;
  }
  void set(const ConfigKey& key, std::string& member, std::string_view value) {
    if (value.empty() && &member == &request_.output) return error(base::format("{} has no value", key.name));
    member = value;
  }
  void finish() {
    if (request_.iteration_roundup == uint64_t{0}) request_.iteration_roundup.reset();
    if (request_.iteration_roundup && !request_.start_iteration) request_.start_iteration = 0;
    if (request_.start_iteration && request_.iterations == 0) {
      error("a start by iterations needs ACTIVITIES_ITERATIONS, the number of them");
    }
  }

  ConfigReading reading_;
  TraceRequest request_;
  size_t line_ = 0;
  std::vector<bool> seen_ = std::vector<bool>(config_keys().size());  // by key
};

std::string value_text(bool value) { return value ? "true" : "false"; }
std::string value_text(uint64_t value) { return std::to_string(value); }
std::string value_text(const std::optional<uint64_t>& value) { return value ? std::to_string(*value) : ""; }
std::string value_text(const std::string& value) { return value; }

bool fits_a_line(std::string_view value) {
  return trimmed(value) == value && value.find_first_of("#=") == value.npos &&
         !std::ranges::any_of(value, base::is_control);
}

}  // namespace

std::span<const ConfigKey> config_keys() { return kConfigKeys; }

std::string ConfigReading::reason() const {
  std::string text;
  for (const ConfigNote& note : errors) {
    if (!text.empty()) text += "; ";
    text += note.line == 0 ? note.text : base::format("line {}: {}", note.line, note.text);
  }
  return text;
}

ConfigReading read_config(std::string_view untrusted) { return ConfigReader().read(untrusted); }

base::Result<std::string> config_text(const TraceRequest& request) {
  const TraceRequest defaults;
  std::string text;
  for (const ConfigKey& key : config_keys()) {
    if (key.is_alias) continue;
    const auto [value, standard] = std::visit(
        [&](auto member) { return std::pair(value_text(request.*member), value_text(defaults.*member)); }, key.member);
    if (value == standard) continue;
    if (!fits_a_line(value)) {
      return base::Refusal{
          base::format("{} cannot be {}: a config has no way to say \"#\", \"=\", blanks at its ends or control "
                       "characters",
                       key.name, shown(value))};
    }
    text += base::format("{}={}\n", key.name, value);
  }
  const ConfigReading again = read_config(text);
  if (!again.request) return base::Refusal{again.reason()};
  if (*again.request != request) return base::Refusal{"a config has no way to say this request"};
  return text;
}

base::Check check_start(const TraceRequest& request, uint64_t now_ms) {
  if (request.by_iterations() || request.start_ms == 0) return {};
  if (request.start_ms >= now_ms || now_ms - request.start_ms <= kConfigOldestStartMs) return {};
  return base::Refusal{base::format("PROFILE_START_TIME {} is {} ms ago; at most {} are good", request.start_ms,
                                    now_ms - request.start_ms, kConfigOldestStartMs)};
}

std::string path_with_pid(std::string_view path, int64_t pid) {
  for (const std::string_view ending : {".pt.trace.json", ".json"}) {
    const size_t at = path.find(ending);
    if (at != path.npos) return base::format("{}_{}{}", path.substr(0, at), pid, path.substr(at));
  }
  return std::string(path);
}

std::string output_path(const TraceRequest& request, int64_t pid) {
  if (request.memory_snapshot) {
    return request.output.empty() ? base::format("/tmp/memory_snapshot_{}.pickle", pid) : request.output;
  }
  if (request.output.empty()) return base::format("/tmp/libkineto_activities_{}.json", pid);
  return path_with_pid(request.output, pid);
}

}  // namespace kymo::wire
