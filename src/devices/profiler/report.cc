#include "profiler/report.h"

#include <stdio.h>

#include <array>
#include <exception>

#include "base/text.h"
#include "device/storage.h"
#include "kymo/accelerator.h"
#include "kymo/shader.h"
#include "kymo/sink.h"
#include "profiler/masks.h"

namespace kymo::profiler {
namespace {

using device::KernelArgument;
using device::OperationKind;
using device::Tensor;

static_assert(Entries::kMax <= 1 << 20, "an index has 20 bits in execution_number()");

enum Which : int { kBegin = 0, kEnd = 1, kEvent = 2 };

// By EntryKind.
constexpr uint32_t kSignpostKinds[] = {KYMO_SIGNPOST_KERNEL, KYMO_SIGNPOST_OPERATION, KYMO_SIGNPOST_COPY,
                                       KYMO_SIGNPOST_FALLBACK};

void send(const Execution& execution, Which which, const std::string& message, const ExecutionTimes& times) noexcept {
  const Entry& entry = *execution.entry;
  kymo_signpost signpost{};
  signpost.id = uint64_t{entry.index} + 1;
  signpost.name = entry.name.data();
  signpost.name_length = static_cast<uint32_t>(entry.name.size());
  signpost.kind = kSignpostKinds[static_cast<size_t>(entry.kind)];
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
    const std::string line = message_of(execution, times) + '\n';
    fwrite(line.data(), 1, line.size(), stderr);  // in one piece
  } catch (const std::exception&) {
    // No memory for a line of the log: the line is dropped, and the program continues.
  }
}

void append_tensor(std::string& text, const Tensor& tensor, bool with_buffer) {
  text += ':';
  text += tensor_text(tensor, with_buffer);
}

// One side of a copy: a tensor on the device, or memory of the host.
std::string copy_side(const Tensor* tensor, bool on_device, const void* host, std::string_view device,
                      bool with_buffers) {
  if (tensor != nullptr) return tensor_text(*tensor, with_buffers);
  if (on_device) return std::string(device);
  return base::format("host:{}", host);
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

// ---- Names ----------------------------------------------------------------------------------------------------------

std::string size_text(uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes <= 1024) return base::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; size > 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return base::format("{:.2f} {}", size, kUnits[unit]);
}

std::string tensor_text(const Tensor& tensor, bool with_buffer) {
  if (!tensor.is_defined()) return "undefined";
  const device::Storage& storage = *tensor.storage();
  std::string text = storage.device().name();
  if (with_buffer) base::format_to(text, "(buf#{}:{})", storage.id(), tensor.storage().use_count());
  text += ':';
  text += name_of(tensor.dtype());
  text += tensor.shape().text();
  return text;
}

uint64_t bytes_of(std::span<const Tensor* const> tensors) {
  uint64_t bytes = 0;
  for (const Tensor* tensor : tensors)
    if (tensor != nullptr && tensor->is_defined()) bytes += tensor->bytes();
  return bytes;
}

std::string kernel_key(const device::Operation& operation, bool with_buffers) {
  if (operation.kind == OperationKind::Fill) {
    std::string key = "fill";
    if (operation.to != nullptr) append_tensor(key, *operation.to, with_buffers);
    return key;
  }
  std::string key(operation.name);
  for (const KernelArgument& argument : operation.arguments) {
    if (argument.kind() == KernelArgument::Kind::Tensor) append_tensor(key, argument.tensor(), with_buffers);
    if (argument.kind() == KernelArgument::Kind::Tensors)
      for (const Tensor& tensor : argument.tensors()) append_tensor(key, tensor, with_buffers);
  }
  return key;
}

std::string copy_key(const device::Operation& operation, std::string_view device, bool with_buffers) {
  return base::format(
      "BlitCopy{}: {} --> {}", operation.blocking ? "Sync" : "",
      copy_side(operation.from, operation.kind != OperationKind::CopyHostToDevice, operation.host, device,
                with_buffers),
      copy_side(operation.to, operation.kind != OperationKind::CopyDeviceToHost, operation.host, device, with_buffers));
}

std::string scope_key(std::string_view name, std::span<const Tensor* const> tensors, bool with_buffers) {
  std::string key(name);
  for (const Tensor* tensor : tensors)
    if (tensor != nullptr) append_tensor(key, *tensor, with_buffers);
  return key;
}

std::string message_of(const Execution& execution, const MessageTimes& times) {
  const Entry& entry = *execution.entry;
  std::string text;
  switch (entry.kind) {
    case EntryKind::Copy:
      base::format_to(text, "{} (len={}", execution.key, size_text(execution.bytes));
      break;
    case EntryKind::Fallback:
      base::format_to(text, "Host Fallback::{} (id={}, run={}, CopyOverhead={}", execution.key, entry.id(),
                      execution.run, size_text(execution.bytes));
      break;
    default:
      base::format_to(text, "{} (id={}, run={}", execution.key, entry.id(), execution.run);
  }
  if (times.gpu_ns != 0) base::format_to(text, ", gpu={:.3f} ms", static_cast<double>(times.gpu_ns) / 1e6);
  if (times.cpu_ns != 0) base::format_to(text, ", cpu={:.3f} ms", static_cast<double>(times.cpu_ns) / 1e6);
  text += ')';
  return text;
}

}  // namespace kymo::profiler
