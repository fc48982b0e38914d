#include "commands/ondemand/trigger_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/output_path.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"
#include "wire/message.h"
#include "wire/output_pattern.h"

namespace kymo::cli {
namespace {

template <class Value>
void add_value(std::vector<Value>& values, Value value) {
  if (values.size() >= wire::kMaxItems)
    throw InvalidArgument("more than " + std::to_string(wire::kMaxItems) +
                          " values are given; use --name, --job or --all");
  values.push_back(std::move(value));
}

std::string checked_text(const std::string& text) {
  if (text.size() > wire::kLongestText) throw InvalidArgument("the text is too long; max: 4096 bytes");
  return text;
}

std::string checked_name(const std::string& text) {
  if (text.empty()) throw InvalidArgument("'' is not a program name; 'kymo ps' lists the names");
  return checked_text(text);
}

}  // namespace

int32_t parse_pid(const std::string& text) {
  int32_t pid = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (failure != std::errc() || rest != text.data() + text.size() || pid <= 0)
    throw InvalidArgument("'" + text + "' is not a process id; give a number, such as 4711");
  return pid;
}

uint64_t parse_trigger(const std::string& text) {
  try {
    return base::parse_count(text);
  } catch (const InvalidArgument&) {
    throw InvalidArgument("'" + text + "' is not the number of a trigger; 'kymo trigger --status' lists them");
  }
}

bool SelectionOptions::is_empty() const {
  return !all && selection.pids.empty() && selection.names.empty() && !selection.job;
}

void add_selection(options::CommandLine& line, SelectionOptions& options, bool offers_all) {
  wire::Selection& selection = options.selection;
  line.text(
      "--pid", "PID", [&selection](const std::string& text) { add_value(selection.pids, parse_pid(text)); },
      "this process and its descendants; can be repeated");
  line.text(
      "--name", "NAME", [&selection](const std::string& text) { add_value(selection.names, checked_name(text)); },
      "programs with this name or pattern, such as 'train*';\ncan be repeated");
  line.text(
      "--job", "ID", [&selection](const std::string& text) { selection.job = checked_text(text); },
      "programs of this scheduler job; '' for programs\nwithout a job");
  if (offers_all) line.flag("--all", options.all, "all your connected programs");
}

void add_socket(options::CommandLine& line, std::string& socket) {
  line.value("--socket", "PATH", socket, "only the daemon with this socket; default: your own\nand the host's");
}

std::string selection_text(const SelectionOptions& options) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const int32_t pid : options.selection.pids) add("pid " + std::to_string(pid));
  for (const std::string& name : options.selection.names) add("name '" + base::printable(name) + "'");
  if (options.selection.job)
    add(options.selection.job->empty() ? "no job" : "job '" + base::printable(*options.selection.job) + "'");
  return text;
}

namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kFarthestSecond = 1ull << 33;  // the year 2242

// ".25" as ns; 0 if there is no fraction.
std::optional<uint64_t> take_fraction(std::string_view& text) {
  if (!text.starts_with('.')) return 0;
  text.remove_prefix(1);
  uint64_t ns = 0, scale = kSecondNs;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9' && scale > 1) {
    scale /= 10;
    ns += static_cast<uint64_t>(text[0] - '0') * scale;
    text.remove_prefix(1);
  }
  if (scale == kSecondNs) return std::nullopt;
  return ns;
}

std::optional<uint64_t> unix_time(std::string_view text) {
  uint64_t seconds = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (failure != std::errc() || seconds > kFarthestSecond) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  const auto fraction = take_fraction(text);
  if (!fraction || !text.empty()) return std::nullopt;
  return seconds * kSecondNs + *fraction;
}

// strptime() also takes fewer digits, so the length says which form it is.
std::optional<uint64_t> clock_time(std::string_view given, uint64_t now_ns) {
  const bool is_utc = given.ends_with('Z');
  if (is_utc) given.remove_suffix(1);
  std::string text(given.substr(0, given.find('.')));
  given.remove_prefix(text.size());
  const auto fraction = take_fraction(given);
  constexpr size_t kDateEnds = 10;
  if (text.size() > kDateEnds && text[kDateEnds] == 'T') text[kDateEnds] = ' ';
  const char* const form = text.size() == 5    ? "%H:%M"
                           : text.size() == 8  ? "%H:%M:%S"
                           : text.size() == 16 ? "%Y-%m-%d %H:%M"
                           : text.size() == 19 ? "%Y-%m-%d %H:%M:%S"
                                               : nullptr;
  const auto now = static_cast<std::time_t>(now_ns / kSecondNs);
  std::tm moment{};
  if ((is_utc ? ::gmtime_r(&now, &moment) : ::localtime_r(&now, &moment)) == nullptr) return std::nullopt;
  moment.tm_sec = 0;
  const char* const end = form != nullptr ? ::strptime(text.c_str(), form, &moment) : nullptr;
  if (end == nullptr || *end != '\0' || moment.tm_sec > 59 || !fraction || !given.empty()) return std::nullopt;
  moment.tm_isdst = -1;
  const int day = moment.tm_mday;
  const std::time_t seconds = is_utc ? ::timegm(&moment) : ::mktime(&moment);
  if (seconds < 0 || moment.tm_mday != day) return std::nullopt;  // "2026-02-30" would become the 2nd of March
  return static_cast<uint64_t>(seconds) * kSecondNs + *fraction;
}

}  // namespace

uint64_t parse_start_time(std::string_view text, uint64_t now_ns) {
  if (text.starts_with('+')) return now_ns + base::parse_duration_ns(text.substr(1));
  const auto at = text.starts_with('@') ? unix_time(text.substr(1)) : clock_time(text, now_ns);
  if (!at)
    throw InvalidArgument(
        base::format("'{}' is not a time; use +10s, 14:30:05, '2026-01-31 14:30:05' or @UNIX-SECONDS", text));
  if (*at <= now_ns)
    throw InvalidArgument(
        base::format("'{}' is in the past; give a future time, with its date if it is not today", text));
  return *at;
}

namespace {

constexpr uint64_t kUsualDuration = 1'000'000'000;

constexpr std::string_view kTraceEndings[] = {".kymo",       ".json",           ".json.gz",           ".pftrace",
                                              ".pftrace.gz", ".perfetto-trace", ".perfetto-trace.gz", ".csv",
                                              ".csv.gz"};
constexpr std::string_view kMemoryEndings[] = {".html", ".kymo", ".json", ".json.gz", ".pickle"};

// 0 would mean that no duration was given.
uint64_t some_time(const std::string& text) {
  const uint64_t ns = base::parse_duration_ns(text);
  if (ns == 0)
    throw InvalidArgument(base::format("'{}' is not a duration; give one that is not 0, such as 500ms", text));
  return ns;
}

void add_window(options::CommandLine& line, wire::TraceOptions& window, uint64_t now_ns) {
  line.text(
      "--duration", "TIME", [&](const std::string& text) { window.duration_ns = some_time(text); },
      "how long to record: 500ms, 2s, 1m; default: 1s");
  line.text(
      "--iterations", "N", [&](const std::string& text) { window.iterations = base::parse_count(text); },
      "record N iterations instead: kymo::step() or\nranges named step, iteration, ProfilerStep");
  line.text(
      "--roundup", "N", [&](const std::string& text) { window.iteration_roundup = base::parse_count(text); },
      "start at an iteration that is a multiple of N, the\nsame in every process");
  line.text(
      "--last", "TIME", [&](const std::string& text) { window.last_ns = some_time(text); },
      "record the past instead: the last 30s, for example,\nfrom programs with KYMO_FLIGHT");
  line.text(
      "--start-at", "TIME",
      [&window, now_ns](const std::string& text) { window.start_at_ns = parse_start_time(text, now_ns); },
      "start at this time in every process: +10s, 14:30:05,\n'2026-01-31 14:30:05', @UNIX-SECONDS");
}

struct TriggerFlags {
  bool shapes = false, memory = false, stack = false, flops = false, modules = false;

  uint64_t bits() const {
    return (shapes ? wire::kWithShapes : 0) | (memory ? wire::kWithMemory : 0) | (stack ? wire::kWithStack : 0) |
           (flops ? wire::kWithFlops : 0) | (modules ? wire::kWithModules : 0);
  }
};

void add_flags(options::CommandLine& line, TriggerFlags& flags) {
  line.flag("--shapes", flags.shapes, "with the shapes of the inputs of operators");
  line.flag("--memory", flags.memory, "with allocations");
  line.flag("--stack", flags.stack, "with call stacks");
  line.flag("--flops", flags.flops, "with the number of operations of operators");
  line.flag("--modules", flags.modules, "with the modules that operators belong to");
}

// The number of a trigger; 0: all.
uint64_t parse_triggers(const std::string& text) { return text == "all" ? 0 : parse_trigger(text); }

void add_requests(options::CommandLine& line, std::string& status, TriggerOptions& options) {
  line.optional_value("--status", "[=ID]", "all", status,
                      "show recent triggers and what became of them, or\nonly the one with this number");
  line.text(
      "--cancel", "ID|all", [&](const std::string& text) { options.cancel = parse_triggers(text); },
      "cancel a trigger: pending recordings do not start,\nrunning ones stop, and their traces are discarded");
  line.flag("--keep", options.keep, "with --cancel: keep what was recorded so far");
}

void check_window(wire::TraceOptions& window, wire::RequestKind kind) {
  const auto fail = [](const std::string& why) { throw options::UsageError("trigger", why); };
  const int given = (window.duration_ns != 0) + (window.iterations != 0) + (window.last_ns != 0);
  if (given > 1) fail("give only one of --duration, --iterations and --last");
  if (window.iteration_roundup != 0 && window.iterations == 0)
    fail("--roundup needs --iterations; give the number of iterations");
  if (window.last_ns != 0 && window.start_at_ns != 0)
    fail("--last cannot be used with --start-at; it records the past");
  if (kind == wire::RequestKind::Memory && (window.iterations != 0 || window.last_ns != 0))
    fail("--memory-profile works only with --duration, not with --iterations or --last");
  if (given == 0) window.duration_ns = kUsualDuration;
  for (const uint64_t span : {window.duration_ns, window.last_ns})
    if (span > wire::kLongestTraceNs) fail("the max duration is seven days (168h)");
}

// Also checks the placeholders, so that the error comes from here and not from every process.
void check_output(const TriggerOptions& options) {
  if (options.output.empty()) return;
  try {
    check_ending(options.output, options.trigger.kind);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("trigger", base::format("-o: {}", error.what()));
  }
  const auto example = wire::output_from_pattern(options.output, {.pid = 1});
  if (!example) throw options::UsageError("trigger", base::format("-o: {}", example.reason()));
}

// Escapes the braces in a folder's name: they are not placeholders.
std::string with_plain_braces(const std::string& folder) {
  std::string text;
  for (const char c : folder) text.append(c == '{' || c == '}' ? 2 : 1, c);
  return text;
}

}  // namespace

void check_ending(std::string_view output, wire::RequestKind kind) {
  const bool is_memory_profile = kind == wire::RequestKind::Memory;
  const auto endings = is_memory_profile ? std::span<const std::string_view>(kMemoryEndings) : std::span(kTraceEndings);
  if (std::ranges::any_of(endings, [&](std::string_view ending) { return output.ends_with(ending); })) return;
  throw InvalidArgument(base::format("'{}' does not have the file extension of a {}; use one of {}", output,
                                     is_memory_profile ? "memory profile" : "trace", base::join(endings, ", ")));
}

std::optional<TriggerOptions> read_trigger_options(const Arguments& arguments, uint64_t now_ns) {
  TriggerOptions options;
  SelectionOptions which;
  TriggerFlags flags;
  bool no_wait = false, is_memory_profile = false;
  std::string status;
  wire::TraceOptions& window = options.trigger.options;
  options::CommandLine line(
      "trigger",
      "kymo trigger --pid PID|--name NAME|--job ID|--all [options]\n"
      "       kymo trigger --status[=ID] | --cancel ID|all [--keep]",
      "Requests a trace from running programs, through kymod: programs that link kymo::ondemand and were\n"
      "started with KYMO_DAEMON=1, and with 'kymod --dynolog' also programs that use libkineto. Waits\n"
      "until all traces are written and lists the files. Ctrl-C stops the recordings and keeps what they\n"
      "have; a second Ctrl-C discards it. Exits with 1 if a program failed, and with 3 if no program\n"
      "or trigger matched; 'kymo doctor PID' shows why.",
      "kymo trigger --name train --duration 2s -o '/data/{name}-{pid}.json.gz'\n"
      "kymo trigger --all --start-at +5s --duration 500ms --stack\n"
      "kymo trigger --pid 4711 --last 30s\n"
      "kymo trigger --all --hosts node[001-128] --duration 5s --fetch traces");
  add_selection(line, which, true);
  line.text(
      "--limit", "N",
      [&](const std::string& text) {
        options.trigger.process_limit = static_cast<uint32_t>(std::min<uint64_t>(base::parse_count(text), UINT32_MAX));
      },
      "max number of processes");
  add_window(line, window, now_ns);
  add_flags(line, flags);
  line.flag("--memory-profile", is_memory_profile, "a memory profile instead of a trace");
  line.value("-o,--output", "PATTERN", options.output,
             "the file to write, relative to this folder, with {pid},\n"
             "{name}, {host}, {job}, {time}, {request}. The extension\n"
             "is the format: .kymo, .json, .pftrace, .csv, or one of\n"
             "the last three with .gz;\n"
             "for memory profiles .html, .kymo, .json, .json.gz,\n"
             ".pickle. Default: {name}-{host}-{pid}-{time}.kymo");
  line.flag("--no-wait", no_wait, "do not wait for the traces; --status shows the outcome");
  add_requests(line, status, options);
  add_hosts(line, options.hosts);
  line.value("--fetch", "DIR", options.fetch,
             "copy the files of the hosts to DIR/HOST; 'kymo merge'\nuses the clocks that were measured");
  add_socket(line, options.socket);
  line.flag("-q,--quiet", options.quiet, "no progress; print only problems");
  line.flag("--json", options.json, "as JSON");
  if (!line.read(arguments)) return std::nullopt;

  try {
    if (!status.empty()) options.status = parse_triggers(status);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("trigger", base::format("--status: {}", error.what()));
  }
  if (options.keep && !options.cancel)
    throw options::UsageError("trigger", "--keep needs --cancel; a trace that ends by itself is kept");
  if (options.status && options.cancel)
    throw options::UsageError("trigger", "--status cannot be used with --cancel; give one of them");
  if (options.status || options.cancel) {
    if (!which.is_empty() || !options.output.empty())
      throw options::UsageError("trigger",
                                "--status and --cancel take the number of a trigger, and not --pid, --name, "
                                "--job, --all or --output");
    return options;
  }
  if (which.is_empty()) throw options::UsageError("trigger", "no processes given; use --pid, --name, --job or --all");
  if (which.all && !selection_text(which).empty())
    throw options::UsageError("trigger", "--all cannot be used with --pid, --name or --job");
  if (!options.fetch.empty() && !options.hosts.is_given)
    throw options::UsageError("trigger", "--fetch needs --hosts; without it the files are here");
  if (no_wait && options.hosts.is_given)
    throw options::UsageError("trigger", "--no-wait cannot be used with --hosts; a common start needs the connections");
  options.trigger.selection = which.selection;
  options.wait = !no_wait;
  window.flags = flags.bits();
  if (is_memory_profile) options.trigger.kind = wire::RequestKind::Memory;
  check_window(window, options.trigger.kind);
  check_output(options);
  return options;
}

std::string output_pattern(const TriggerOptions& options, const std::string& folder,
                           const std::vector<std::string>& allowed) {
  namespace fs = std::filesystem;
  if (options.output.starts_with('/')) return options.output;
  if (!options.output.empty())
    return (fs::path(with_plain_braces(folder)) / options.output).lexically_normal().string();
  const bool is_allowed =
      allowed.empty() || std::ranges::any_of(allowed, [&](const auto& one) { return base::is_below(folder, one); });
  return (fs::path(with_plain_braces(is_allowed ? folder : allowed[0])) / "{name}-{host}-{pid}-{time}.kymo").string();
}

}  // namespace kymo::cli
