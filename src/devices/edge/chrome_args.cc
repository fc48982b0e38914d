#include "edge/chrome_args.h"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "base/json_writer.h"

namespace kymo::edge {
namespace {

using base::TextBuffer;

// A count is a whole number unless it was extrapolated.
void append_count(TextBuffer& out, double count) {
  constexpr double kExact = 9007199254740992;  // above this a double cannot represent every integer
  if (count >= 0 && count < kExact && count == std::trunc(count)) {
    base::append_integer(out, static_cast<uint64_t>(count));
  } else {
    base::append_json_number(out, count);
  }
}

std::string without_quotes(std::string_view text) {
  const std::string quoted = base::json_string(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string stack_line(const std::vector<EdgeFrame>& frames) {
  std::string line;
  for (const EdgeFrame& frame : frames) {
    if (!line.empty()) line += ';';
    line += frame.function;
    if (!frame.file.empty()) base::format_to(line, " ({}:{})", frame.file, frame.line);
  }
  return base::json_string(line);
}

void put_number(ChromeArgs::Args& args, std::string_view key, std::integral auto value) {
  args.key(key).append_number(value);
}

}  // namespace

void QuotedTexts::quote(std::string& quoted, std::string_view text) { quoted = base::json_string(text); }

ChromeArgs::ChromeArgs(const ResultData& result, uint64_t base_ns) : result_(result), base_ns_(base_ns) {
  for (const std::string& name : result.event_names) {
    counter_keys_.push_back(
        {without_quotes(name), without_quotes(name + " (exclusive)"), without_quotes(name + " (scaled)")});
  }
  stacks_.resize(result.stacks.size());
}

void ChromeArgs::append(Args& args, const EdgeEvent& event, uint32_t index, bool on_device, uint64_t device_pid) {
  append_identity(args, event, index, on_device, device_pid);
  append_inputs(args, event);
  append_place(args, event);
  append_counts(args, event);
  append_stack(args, event);
  append_times(args, event);
}

void ChromeArgs::append(Args& args, const EdgeAllocation& allocation, uint64_t index) {
  put_number(args, "Device Type", allocation.device.type);
  put_number(args, "Device Id", allocation.device.index);
  if (!allocation.out_of_memory) put_number(args, "Addr", allocation.address);
  put_number(args, "Bytes", allocation.bytes);
  put_number(args, "Total Allocated", allocation.total_allocated);
  put_number(args, "Total Reserved", allocation.total_reserved);
  put_number(args, "Ev Idx", index);
}

// Kineto's numbers of the event, and of the event it belongs to.
void ChromeArgs::append_identity(Args& args, const EdgeEvent& event, uint32_t index, bool on_device,
                                 uint64_t device_pid) {
  const bool is_device = event.kind == EdgeKind::Device;
  if (is_device) {
    // The event that requested it, if it is known.
    if (event.caused_by < result_.events.size()) put_number(args, "External id", event.caused_by + uint64_t{1});
  } else if (event.kind != EdgeKind::Backend) {
    put_number(args, "External id", index + uint64_t{1});
    put_number(args, "Record function id", event.engine_id);
  }
  put_number(args, "Ev Idx", index);
  if (is_device && on_device) {
    put_number(args, "device", device_pid);
    put_number(args, "stream", event.queue);
  } else if (is_device) {
    put_number(args, "Device Type", event.device.type);
    put_number(args, "Device Id", event.device.index);
    put_number(args, "stream", event.queue);
  }
  if (event.sequence >= 0) {
    put_number(args, "Sequence number", event.sequence);
    put_number(args, "Fwd thread id", event.forward_thread);
  }
}

void ChromeArgs::append_inputs(Args& args, const EdgeEvent& event) {
  if (event.inputs_size == 0 || uint64_t{event.inputs_at} + event.inputs_size > result_.inputs.size()) return;
  const InputTexts& texts = inputs_.of({result_.inputs.data() + event.inputs_at, event.inputs_size});
  args.key("Input Dims").append(texts.sizes);
  args.key("Input Strides").append(texts.strides);
  args.key("Input type").append(texts.types);
  args.key("Concrete Inputs").append(texts.values);
}

void ChromeArgs::append_place(Args& args, const EdgeEvent& event) {
  if (!event.call_stack.empty()) args.key("Call stack").append(quoted_.of(event.call_stack));
  if (!event.module_hierarchy.empty()) {
    const std::string& quoted = quoted_.of(event.module_hierarchy);
    // Kineto puts a dot after every part.
    args.key("Module Hierarchy").append(std::string_view(quoted.data(), quoted.size() - 1), ".\"");
  }
  if (event.kind == EdgeKind::Backend) args.key("Backend").append(quoted_.of(event.backend));
  if (event.flops != 0) put_number(args, "Flops", event.flops);
}

void ChromeArgs::append_counts(Args& args, const EdgeEvent& event) {
  const size_t count = counter_keys_.size();
  if (event.counts == EdgeEvent::kNone || event.counts + count > result_.counts.size()) return;
  for (size_t i = 0; i < count; ++i) {
    const EdgeCount& counted = result_.counts[event.counts + i];
    if (!counted.known) continue;
    append_count(args.key(counter_keys_[i].inclusive), counted.inclusive);
    append_count(args.key(counter_keys_[i].exclusive), counted.exclusive);
    if (counted.scaled) args.key(counter_keys_[i].scaled).append("true");
  }
}

void ChromeArgs::append_stack(Args& args, const EdgeEvent& event) {
  if (event.stack >= stacks_.size()) return;
  std::string& line = stacks_[event.stack];
  if (line.empty()) line = stack_line(result_.stacks[event.stack]);
  args.key("C++ stack").append(line);
}

void ChromeArgs::append_times(Args& args, const EdgeEvent& event) {
  if (!event.finished) args.key("finished").append("false");
  const bool moved = event.raw_start_ns != event.start_ns || event.raw_end_ns != event.end_ns;
  if (!moved || event.raw_end_ns == 0) return;
  convert::append_microseconds(args.key("Raw start"), event.raw_start_ns - std::min(base_ns_, event.raw_start_ns));
  convert::append_microseconds(args.key("Raw duration"),
                               event.raw_end_ns - std::min(event.raw_start_ns, event.raw_end_ns));
}

}  // namespace kymo::edge
