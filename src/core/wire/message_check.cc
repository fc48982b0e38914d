#include "wire/message_check.h"

#include <string_view>

#include "base/text.h"
#include "wire/message.h"

namespace kymo::wire {
namespace {

using base::Check;
using base::first_refusal;
using base::Refusal;

Check check_id(uint64_t id) {
  if (id != 0) return {};
  return Refusal{"a request's id is not 0"};
}

Check check_progress(uint32_t progress) {
  if (progress <= kWholeProgress) return {};
  return Refusal{base::format("a progress of {} is more than {} thousandths", progress, kWholeProgress)};
}

Check check_path(const std::string& path) {
  if (path.starts_with('/')) return {};
  return Refusal{base::format("the output is an absolute path, not \"{}\"", path)};
}

Check check_span(std::string_view what, uint64_t ns) {
  if (ns <= kLongestTraceNs) return {};
  return Refusal{base::format("{} of {} ns is more than {}, seven days", what, ns, kLongestTraceNs)};
}

// Only the receiver knows which kinds it supports.
Check check_kind(RequestKind kind, const TraceOptions& options) {
  if (kind != RequestKind::Memory || options.duration_ns != 0) return {};
  return Refusal{"a timeline of memory has a duration; give one"};
}

Check check_final(RequestState state) {
  if (is_final(state)) return {};
  return Refusal{base::format("a request does not end as {} ({})", name_of(state), static_cast<uint32_t>(state))};
}

}  // namespace

Check check_options(const TraceOptions& options) {
  const int windows = (options.duration_ns != 0) + (options.iterations != 0) + (options.last_ns != 0);
  if (windows != 1) return Refusal{base::format("{} of duration, iterations and last are given; give one", windows)};
  if (options.iteration_roundup != 0 && options.iterations == 0)
    return Refusal{"a roundup is for iterations; give their number"};
  if (options.last_ns != 0 && options.start_at_ns != 0)
    return Refusal{"what is past has no time to start at; leave it out"};
  return first_refusal({check_span("a duration", options.duration_ns), check_span("a past", options.last_ns),
                        check_span("a warm-up", options.warmup_ns), check_path(options.output)});
}

Check check_message(const Hello& message) {
  if (message.oldest_version > message.version) return Refusal{"its oldest version is newer than its newest"};
  if (message.pid <= 0) return Refusal{base::format("{} is no process", message.pid)};
  return {};
}

Check check_message(const Start& message) {
  return first_refusal(
      {check_id(message.id), check_kind(message.kind, message.options), check_options(message.options)});
}

Check check_message(const Cancel& message) { return check_id(message.id); }

Check check_message(const Stop& message) { return check_id(message.id); }

Check check_message(const Status& message) {
  return first_refusal({check_id(message.id), check_progress(message.progress)});
}

Check check_message(const Done& message) { return first_refusal({check_id(message.id), check_final(message.state)}); }

Check check_message(const Trigger& message) {
  return first_refusal({check_kind(message.kind, message.options), check_options(message.options)});
}

Check check_message(const TriggerUpdate& message) {
  return first_refusal({check_id(message.trigger_id), check_progress(message.progress)});
}

}  // namespace kymo::wire
