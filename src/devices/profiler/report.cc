#include "profiler/report.h"

#include <stdio.h>

#include <exception>

#include "kymo/sink.h"
#include "profiler/masks.h"
#include "profiler/text.h"

namespace kymo::profiler {
namespace {

static_assert(Entries::kMax <= 1 << 20, "an index has 20 bits in execution_number()");

enum Which : int { kBegin = 0, kEnd = 1, kEvent = 2 };

uint32_t signpost_kind(EntryKind kind) {
  switch (kind) {
    case EntryKind::Kernel:
      return KYMO_SIGNPOST_KERNEL;
    case EntryKind::Operation:
      return KYMO_SIGNPOST_OPERATION;
    case EntryKind::Copy:
      return KYMO_SIGNPOST_COPY;
    case EntryKind::Fallback:
      return KYMO_SIGNPOST_FALLBACK;
  }
  return 0;
}

std::string message_of(const Execution& execution, const MessageTimes& times) {
  const Entry& entry = *execution.entry;
  switch (entry.kind) {
    case EntryKind::Copy:
      return copy_message(execution.key, execution.bytes, times);
    case EntryKind::Fallback:
      return fallback_message(execution.key, entry.number, execution.run, execution.bytes, times);
    default:
      return operation_message(execution.key, entry.id(), execution.run, times);
  }
}

void send(const Execution& execution, Which which, const std::string& message, const ExecutionTimes& times) noexcept {
  const Entry& entry = *execution.entry;
  kymo_signpost signpost{};
  signpost.id = uint64_t{entry.index} + 1;
  signpost.name = entry.name.data();
  signpost.name_length = static_cast<uint32_t>(entry.name.size());
  signpost.kind = signpost_kind(entry.kind);
  signpost.run = execution.run;
  signpost.message = message.data();
  signpost.message_length = static_cast<uint32_t>(message.size());
  signpost.start_ns = times.start_ns;
  signpost.end_ns = times.end_ns;
  signpost.execution = execution_number(entry.index, execution.run);
  kymo_send_signpost(&signpost, which);
}

std::string message_or_nothing(const Execution& execution, const ReportOptions& report,
                               const MessageTimes& times) noexcept {
  if (!report.message) return {};
  try {
    return message_of(execution, times);
  } catch (const std::exception&) {
    return {};  // no memory for a text: the signpost has none
  }
}

void print_message(const Execution& execution, const MessageTimes& times) noexcept {
  try {
    print_line(message_of(execution, times));
  } catch (const std::exception&) {
    // No memory for a line of the log: the line is dropped, and the program continues.
  }
}

}  // namespace

Wanted Wanted::from(uint32_t signposts, uint32_t started, uint32_t log) {
  uint32_t bits = 0;
  for (unsigned subject = 0; subject < 3; ++subject) {
    const auto set = [&](unsigned at) { bits |= 1u << (at + subject); };
    const uint32_t type = kTraceOperations << subject;
    uint32_t modes = 0;
    for (const uint32_t mask : {signposts, started})
      if ((mask & type) != 0) modes |= mask & (kIntervals | kEvents);
    if ((modes & kIntervals) != 0) set(kIntervalsAt);
    if ((modes & kEvents) != 0) set(kEventsAt);
    const bool lines = (log & (kLogOperations << subject)) != 0;
    const bool statistics = (log & (kOperationStatistics << subject)) != 0;
    if (lines) set(kLinesAt);
    if (modes != 0 || lines || statistics) set(kWatchedAt);
  }
  if (((signposts | started) & kWait) != 0) bits |= kWaitBit;
  if ((log & kLogGpuTime) != 0) bits |= kGpuTimeBit;
  if ((log & kLogCallTime) != 0) bits |= kCallTimeBit;
  if ((log & kLogBuffers) != 0) bits |= kBuffersBit;
  return Wanted(bits);
}

ReportOptions ReportOptions::of(Wanted wanted, Subject subject) {
  ReportOptions report;
  report.interval = wanted.intervals(subject);
  report.event = wanted.events(subject);
  if (wanted.lines(subject)) {
    report.line_at_end = wanted.gpu_time() || wanted.call_time();
    report.line_at_begin = !report.line_at_end;
    report.line_gpu = wanted.gpu_time();
    report.line_cpu = wanted.call_time();
  }
  report.message = (report.interval || report.event) && kymo_sinks_want_messages() != 0;
  return report;
}

void report_begin(const Execution& execution, const ReportOptions& report) noexcept {
  if (report.line_at_begin) print_message(execution, {});
  if (report.interval) send(execution, kBegin, message_or_nothing(execution, report, {}), {});
}

void report_end(const Execution& execution, const ReportOptions& report, const ExecutionTimes* known) noexcept {
  const ExecutionTimes times = known != nullptr ? *known : ExecutionTimes{};
  if (report.line_at_end) {
    const bool cpu = report.line_cpu || execution.entry->kind == EntryKind::Fallback;  // a fallback has no other time
    print_message(execution, {report.line_gpu ? times.gpu_ns : 0, cpu ? times.cpu_ns : 0});
  }
  if (!report.interval && !report.event) return;
  const std::string message = message_or_nothing(execution, report, {times.gpu_ns, times.cpu_ns});
  if (report.interval) send(execution, kEnd, message, times);
  if (report.event && known != nullptr) send(execution, kEvent, message, times);
}

void print_line(std::string line) noexcept {
  try {
    line += '\n';
  } catch (const std::exception&) {
    // No memory: the line is printed without its newline.
  }
  fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace kymo::profiler
