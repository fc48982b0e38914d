#include "wire/message_check.h"

#include <initializer_list>

#include "base/text.h"
#include "wire/message.h"

namespace kymo::wire {
namespace {

std::string id_problem(uint64_t id) { return id == 0 ? "a request's id is not 0" : ""; }

std::string progress_problem(uint32_t progress) {
  if (progress <= kWholeProgress) return {};
  return base::format("a progress of {} is more than {} thousandths", progress, kWholeProgress);
}

std::string path_problem(const std::string& path) {
  return path.starts_with('/') ? "" : base::format("the output is an absolute path, not \"{}\"", path);
}

std::string span_problem(std::string_view what, uint64_t ns) {
  if (ns <= kLongestTraceNs) return {};
  return base::format("{} of {} ns is more than {}, seven days", what, ns, kLongestTraceNs);
}

// Only the receiver knows which kinds it supports.
std::string kind_problem(RequestKind kind, const TraceOptions& options) {
  if (kind != RequestKind::Memory || options.duration_ns != 0) return {};
  return "a timeline of memory has a duration; give one";
}

std::string final_problem(RequestState state) {
  if (is_final(state)) return {};
  return base::format("a request does not end as {} ({})", name_of(state), static_cast<uint32_t>(state));
}

std::string first_of(std::initializer_list<std::string> problems) {
  for (const std::string& problem : problems)
    if (!problem.empty()) return problem;
  return {};
}

}  // namespace

std::string options_problem(const TraceOptions& options) {
  const int windows = (options.duration_ns != 0) + (options.iterations != 0) + (options.last_ns != 0);
  if (windows != 1) return base::format("{} of duration, iterations and last are given; give one", windows);
  if (options.iteration_roundup != 0 && options.iterations == 0)
    return "a roundup is for iterations; give their number";
  if (options.last_ns != 0 && options.start_at_ns != 0) return "what is past has no time to start at; leave it out";
  return first_of({span_problem("a duration", options.duration_ns), span_problem("a past", options.last_ns),
                   span_problem("a warm-up", options.warmup_ns), path_problem(options.output)});
}

std::string message_problem(const Hello& message) {
  if (message.oldest_version > message.version) return "its oldest version is newer than its newest";
  if (message.pid <= 0) return base::format("{} is no process", message.pid);
  return {};
}

std::string message_problem(const Start& message) {
  return first_of(
      {id_problem(message.id), kind_problem(message.kind, message.options), options_problem(message.options)});
}

std::string message_problem(const Cancel& message) { return id_problem(message.id); }

std::string message_problem(const Status& message) {
  return first_of({id_problem(message.id), progress_problem(message.progress)});
}

std::string message_problem(const Done& message) {
  return first_of({id_problem(message.id), final_problem(message.state)});
}

std::string message_problem(const Trigger& message) {
  return first_of({kind_problem(message.kind, message.options), options_problem(message.options)});
}

std::string message_problem(const TriggerUpdate& message) {
  return first_of({id_problem(message.trigger_id), progress_problem(message.progress)});
}

}  // namespace kymo::wire
