#include "cli/record_options.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include "base/quantity.h"
#include "heap/heap_mode.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

constexpr uint64_t kMostSizeToRound = uint64_t{1} << 62;  // beyond, there is no next power of two

void take_flight(RecordOptions& options, const std::string& text) {
  const base::Flight flight = base::parse_flight(text);
  options.flight = true;
  if (flight.seconds > 0) options.session.flight_seconds = flight.seconds;
  if (flight.bytes > 0) options.session.flight_bytes = flight.bytes;
}

void check_memory(const std::string& text) {
  heap::HeapMode mode;
  if (!text.empty() && (!heap::parse_heap_mode(text.c_str(), mode) || !mode.on))
    throw options::UsageError("record", "--memory: '" + text + "' is neither all nor sample:BYTES, as in sample:512k");
}

void add_options(options::CommandLine& line, RecordOptions& options) {
  line.value("-o,--output", "FILE", options.output, "the trace to write; PROGRAM.kymo in this folder\nunless given");
  line.flag("--append", options.append, "add to the trace instead of replacing it");
  line.choice("--policy", options.session.policy,
              {{"block", Policy::Block}, {"drop", Policy::Drop}, {"overwrite", Policy::Overwrite}},
              "what a thread does when its ring is full: wait\n"
              "(unless given), drop what is new, or overwrite\n"
              "what is old");
  line.text(
      "--flight", "TIME|SIZE", [&options](const std::string& text) { take_flight(options, text); },
      "keep only the last part, in memory, and write it\n"
      "at the end or on SIGUSR2: 30s, 2m, 500ms, 64MB,\n"
      "1GiB; give it twice for a time and a size");
  line.text(
      "--ring-size", "SIZE",
      [&options](const std::string& text) {
        options.session.ring_bytes = std::bit_ceil(std::min(base::parse_bytes(text), kMostSizeToRound));
      },
      "memory for each thread, rounded up to a power of\n"
      "two; 1MiB unless given");
  line.optional_value("--memory", "[=sample:SIZE]", "all", options.memory,
                      "record the heap too, also of programs that know\n"
                      "nothing of Kymo: each allocation with its stack,\n"
                      "or with sample:512k one in so many bytes");
  line.flag("--strict", options.strict, "exit with 3 when anything was lost");
  line.flag("--quiet", options.quiet, "say only what went wrong");
  line.flag("--json", options.json, "the summary as a line of JSON, on standard error");
}

}  // namespace

std::optional<RecordOptions> read_record_options(Arguments arguments) {
  RecordOptions options;
  options::CommandLine line(
      "record", "kymo record [options] [--] PROGRAM [ARGUMENTS…]",
      "Runs a program and records what it, and every program it starts, annotates with Kymo.\n"
      "The program keeps its terminal, its signals and its exit code. Ctrl-C goes to it, a second\n"
      "one kills it; the file is complete either way.",
      "kymo record -o run.kymo -- ./train --epochs 2\n"
      "kymo record --flight 30s -- ./server    # kill -USR2 KYMO writes the last 30 s");
  add_options(line, options);
  line.stop_at_first_argument();

  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const Arguments from_dashes(dashes, arguments.end());
  arguments.erase(dashes, arguments.end());
  if (!line.read(arguments)) return std::nullopt;
  check_memory(options.memory);

  options.program = line.remaining();
  if (!options.program.empty() && options.program[0].starts_with('-'))
    throw options::UsageError("record", line.unexpected(options.program[0]));
  // Behind the program's name, "--" is an argument of its own.
  const size_t skipped = options.program.empty() && !from_dashes.empty() ? 1 : 0;
  options.program.insert(options.program.end(), from_dashes.begin() + skipped, from_dashes.end());
  if (options.program.empty()) throw options::UsageError("record", "which program?");
  if (options.session.policy == Policy::Overwrite) options.flight = true;
  if (options.output.empty()) options.output = std::filesystem::path(options.program[0]).filename().string() + ".kymo";
  return options;
}

}  // namespace kymo::cli
