#include "cli/trigger_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "base/quantity.h"
#include "base/text.h"
#include "cli/start_time.h"
#include "wire/output_pattern.h"

namespace kymo::cli {
namespace {

using wire::TraceFormat;

constexpr uint64_t kUsualDuration = 1'000'000'000;

struct OutputEnding {
  std::string_view ending;
  TraceFormat format;
};
constexpr std::array kTraceEndings = {
    OutputEnding{".kymo", TraceFormat::Kymo},
    OutputEnding{".json", TraceFormat::KinetoJson},
    OutputEnding{".json.gz", TraceFormat::KinetoJson},
    OutputEnding{".pftrace", TraceFormat::Perfetto},
    OutputEnding{".pftrace.gz", TraceFormat::Perfetto},
    OutputEnding{".perfetto-trace", TraceFormat::Perfetto},
    OutputEnding{".perfetto-trace.gz", TraceFormat::Perfetto},
    OutputEnding{".csv", TraceFormat::Kymo},
    OutputEnding{".csv.gz", TraceFormat::Kymo},
};
constexpr std::array kMemoryEndings = {
    OutputEnding{".html", TraceFormat::Kymo},         OutputEnding{".kymo", TraceFormat::Kymo},
    OutputEnding{".json", TraceFormat::KinetoJson},   OutputEnding{".json.gz", TraceFormat::KinetoJson},
    OutputEnding{".pickle", TraceFormat::KinetoJson},
};

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
    format_of_output(options.output, options.trigger.kind);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("trigger", base::format("-o: {}", error.what()));
  }
  const auto example = wire::output_from_pattern(options.output, {.pid = 1});
  if (!example) throw options::UsageError("trigger", base::format("-o: {}", example.reason()));
}

bool is_below(const std::string& path, const std::string& folder) {
  if (!path.starts_with(folder)) return false;
  return path.size() == folder.size() || folder.ends_with('/') || path[folder.size()] == '/';
}

// Escapes the braces in a folder's name: they are not placeholders.
std::string with_plain_braces(const std::string& folder) {
  std::string text;
  for (const char c : folder) text.append(c == '{' || c == '}' ? 2 : 1, c);
  return text;
}

}  // namespace

wire::TraceFormat format_of_output(std::string_view output, wire::RequestKind kind) {
  const bool is_memory_profile = kind == wire::RequestKind::Memory;
  const auto endings = is_memory_profile ? std::span<const OutputEnding>(kMemoryEndings) : std::span(kTraceEndings);
  std::string good;
  for (const auto& [ending, format] : endings) {
    if (output.ends_with(ending)) return format;
    good.append(good.empty() ? "" : ", ").append(ending);
  }
  throw InvalidArgument(base::format("'{}' does not have the file extension of a {}; use one of {}", output,
                                     is_memory_profile ? "memory profile" : "trace", good));
}

std::optional<TriggerOptions> read_trigger_options(const Arguments& arguments, uint64_t now_ns) {
  TriggerOptions options;
  SelectionOptions which;
  TriggerFlags flags;
  bool no_wait = false, is_memory_profile = false;
  wire::TraceOptions& window = options.trigger.options;
  options::CommandLine line(
      "trigger", "kymo trigger --pid PID|--name NAME|--job ID|--all [options]",
      "Requests a trace from running programs, through kymod: programs that link kymo::ondemand and were\n"
      "started with KYMO_DAEMON=1, and with 'kymod --dynolog' also programs that use libkineto. Waits\n"
      "until all traces are written and lists the files. Ctrl-C stops the recordings and keeps what they\n"
      "have; a second Ctrl-C discards it. Exits with 1 if a program failed, and with 3 if no program\n"
      "matched; 'kymo doctor PID' shows why.",
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
             ".pickle. Default: {name}-{pid}-{time}.kymo");
  line.flag("--no-wait", no_wait, "do not wait for the traces; 'kymo status' shows the\noutcome");
  add_hosts(line, options.hosts);
  line.value("--fetch", "DIR", options.fetch,
             "copy the files of the hosts to DIR/HOST; 'kymo merge'\nuses the clocks that were measured");
  add_socket(line, options.socket);
  line.flag("--quiet", options.quiet, "no progress; print only problems");
  line.flag("--json", options.json, "as JSON");
  if (!line.read(arguments)) return std::nullopt;

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
      allowed.empty() || std::ranges::any_of(allowed, [&](const auto& one) { return is_below(folder, one); });
  return (fs::path(with_plain_braces(is_allowed ? folder : allowed[0])) / "{name}-{pid}-{time}.kymo").string();
}

}  // namespace kymo::cli
