// list_sinks, set_sinks and KYMO_SINKS: which built-in sinks of Kymo are on.
#include "record/sinks.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/sink.h"
#include "record/process.h"
#include "sink/builtin.h"

namespace kymo {
namespace sink {
namespace {

std::mutex sinks_mutex;  // for set_sinks: it reads the state and changes it later

std::array<BuiltinSink, 4> builtin_sinks() { return {usdt(), lttng(), trace_marker(), nvtx()}; }

std::string trimmed_lower(std::string_view text) {
  while (!text.empty() && base::is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && base::is_space(text.back())) text.remove_suffix(1);
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return lower;
}

BuiltinSink builtin_named(const std::string& name) {
  std::string known;
  for (const BuiltinSink& builtin : builtin_sinks()) {
    if (name == builtin.name) return builtin;
    known += (known.empty() ? "" : ", ") + std::string(builtin.name);
  }
  throw InvalidArgument(base::format("\"{}\" is no sink; there are: {}", name, known));
}

std::vector<BuiltinSink> parse_sinks(std::string_view names) {
  std::vector<BuiltinSink> found;
  if (trimmed_lower(names).empty()) return found;
  for (const std::string& name : base::split(names, ',')) found.push_back(builtin_named(trimmed_lower(name)));
  return found;
}

// Another copy of the library in this process may have the sink already: one is enough.
const kymo_sink& sink_to_add(const BuiltinSink& builtin) {
  bool on = false;
  const kymo_sink* known = record::sink_named(builtin.name, on);
  return known != nullptr ? *known : builtin.open();
}

// The copy that is loaded first reads the variable, for all copies of the library. Later changes by the program are
// kept.
__attribute__((constructor(103))) void sinks_from_environment() {
  const char* wanted = base::environment("KYMO_SINKS");
  if (wanted == nullptr || *wanted == '\0') return;
  record::Process* shared = record::process();
  if (shared == nullptr || shared->sinks_asked.exchange(true)) return;
  try {
    set_sinks(wanted);
  } catch (const std::exception& error) {
    // The user asked for a sink that is not available. The program continues, and the user gets a message.
    fprintf(stderr, "kymo: KYMO_SINKS: %s\n", error.what());
  }
}

}  // namespace
}  // namespace sink

std::vector<SinkReport> list_sinks() {
  std::vector<SinkReport> reports;
  for (const sink::BuiltinSink& builtin : sink::builtin_sinks()) {
    SinkReport& report = reports.emplace_back();
    report.name = builtin.name;
    if (record::sink_named(builtin.name, report.on) == nullptr) report.absent = builtin.absent();
  }
  return reports;
}

void set_sinks(std::string_view names) {
  const std::lock_guard lock(sink::sinks_mutex);
  std::vector<const kymo_sink*> wanted;
  for (const sink::BuiltinSink& builtin : sink::parse_sinks(names)) wanted.push_back(&sink::sink_to_add(builtin));
  std::vector<const kymo_sink*> added;
  for (const kymo_sink* sink : wanted) {
    bool was_on = false;
    record::sink_named(sink->name, was_on);
    if (kymo_add_sink(sink) != 0) {
      if (!was_on) added.push_back(sink);
      continue;
    }
    for (const kymo_sink* other : added) kymo_remove_sink(other);
    throw Error(base::format("no room for the sink \"{}\": a process has {}, and the program has added as many",
                             sink->name, record::kMaxSinks));
  }
  for (const sink::BuiltinSink& builtin : sink::builtin_sinks()) {
    bool on = false;
    const kymo_sink* known = record::sink_named(builtin.name, on);
    if (on && std::find(wanted.begin(), wanted.end(), known) == wanted.end()) kymo_remove_sink(known);
  }
}

}  // namespace kymo

extern "C" void kymo_link_sinks(void) {}
