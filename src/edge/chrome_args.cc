#include "edge/chrome_args.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "edge/rows.h"

namespace kymo::edge {
namespace {

using base::TextBuffer;

// A count is a whole number unless it was extrapolated.
void append_count(TextBuffer& out, double count) {
  constexpr double kExact = 9007199254740992;  // beyond this a double has no ones
  if (count >= 0 && count < kExact && count == std::trunc(count)) {
    base::append_integer(out, static_cast<uint64_t>(count));
  } else {
    base::append_json_number(out, count);
  }
}

std::string without_quotes(std::string_view text) {
  TextBuffer quoted;
  base::append_json_string(quoted, text);
  return {quoted.data() + 1, quoted.size() - 2};
}

std::string stack_line(const std::vector<EdgeFrame>& frames) {
  std::string line;
  for (const EdgeFrame& frame : frames) {
    if (!line.empty()) line += ';';
    line += frame.function;
    if (!frame.file.empty()) base::format_to(line, " ({}:{})", frame.file, frame.line);
  }
  TextBuffer quoted;
  base::append_json_string(quoted, line);
  return quoted.string();
}

}  // namespace

void append_microseconds(TextBuffer& out, uint64_t ns) {
  constexpr size_t kDecimals = 3;
  constexpr size_t kLongest = std::numeric_limits<uint64_t>::digits10 + 1;
  char digits[kLongest];
  std::string_view text(digits, std::to_chars(digits, digits + kLongest, ns).ptr);
  char padded[] = "000";
  if (text.size() <= kDecimals) {
    out.push_back('0');
    text.copy(padded + kDecimals - text.size(), text.size());
    text = {padded, kDecimals};
  }
  const size_t whole = text.size() - kDecimals;
  char* const to = out.extend(text.size() + 1);
  std::memcpy(to, text.data(), whole);
  to[whole] = '.';
  std::memcpy(to + whole + 1, text.data() + whole, kDecimals);
}

void QuotedTexts::quote(std::string& quoted, std::string_view text) {
  TextBuffer buffer;
  base::append_json_string(buffer, text);
  quoted.assign(buffer.data(), buffer.size());
}

ChromeArgs::ChromeArgs(const ResultData& result, uint64_t base_ns) : result_(result), base_ns_(base_ns) {
  for (const std::string& name : result.event_names) {
    counter_keys_.push_back(
        {without_quotes(name), without_quotes(name + " (exclusive)"), without_quotes(name + " (scaled)")});
  }
  stacks_.resize(result.stacks.size());
}

void ChromeArgs::append(TextBuffer& out, const EdgeEvent& event, uint32_t index, bool on_device, uint64_t device_pid) {
  out_ = &out;
  first_ = true;
  append_identity(event, index, on_device, device_pid);
  append_inputs(event);
  append_place(event);
  append_counts(event);
  append_stack(event);
  append_times(event);
}

void ChromeArgs::append(TextBuffer& out, const EdgeAllocation& allocation, uint64_t index) {
  out_ = &out;
  first_ = true;
  signed_number("Device Type", allocation.device.type);
  signed_number("Device Id", allocation.device.index);
  if (!allocation.out_of_memory) number("Addr", allocation.address);
  signed_number("Bytes", allocation.bytes);
  number("Total Allocated", allocation.total_allocated);
  number("Total Reserved", allocation.total_reserved);
  number("Ev Idx", index);
}

// Kineto's numbers of the event, and of the event it belongs to.
void ChromeArgs::append_identity(const EdgeEvent& event, uint32_t index, bool on_device, uint64_t device_pid) {
  const bool is_device = event.kind == EdgeKind::Device;
  if (is_device) {
    // The event that requested it, if it is known.
    if (event.parent < result_.events.size()) number("External id", event.parent + uint64_t{1});
  } else if (event.kind != EdgeKind::Backend) {
    number("External id", index + uint64_t{1});
    number("Record function id", event.engine_id);
  }
  number("Ev Idx", index);
  if (is_device && on_device) {
    number("device", device_pid);
    number("stream", event.queue);
  } else if (is_device) {
    signed_number("Device Type", event.device.type);
    signed_number("Device Id", event.device.index);
    number("stream", event.queue);
  }
  if (event.sequence >= 0) {
    signed_number("Sequence number", event.sequence);
    number("Fwd thread id", event.forward_thread);
  }
}

void ChromeArgs::append_inputs(const EdgeEvent& event) {
  if (event.inputs_size == 0 || uint64_t{event.inputs_at} + event.inputs_size > result_.inputs.size()) return;
  const InputTexts& texts = inputs_.of({result_.inputs.data() + event.inputs_at, event.inputs_size});
  key("Input Dims");
  base::append(*out_, texts.sizes);
  key("Input Strides");
  base::append(*out_, texts.strides);
  key("Input type");
  base::append(*out_, texts.types);
  key("Concrete Inputs");
  base::append(*out_, texts.values);
}

void ChromeArgs::append_place(const EdgeEvent& event) {
  if (!event.call_stack.empty()) text("Call stack", event.call_stack);
  if (!event.module_hierarchy.empty()) {
    key("Module Hierarchy");
    const std::string& quoted = quoted_.of(event.module_hierarchy);
    base::append(*out_, {quoted.data(), quoted.size() - 1});
    base::append(*out_, ".\"");  // Kineto puts one behind every part
  }
  if (event.kind == EdgeKind::Backend) text("Backend", event.backend);
  if (event.flops != 0) number("Flops", event.flops);
}

void ChromeArgs::append_counts(const EdgeEvent& event) {
  const size_t count = counter_keys_.size();
  if (event.counts == EdgeEvent::kNone || event.counts + count > result_.counts.size()) return;
  for (size_t i = 0; i < count; ++i) {
    const EdgeCount& counted = result_.counts[event.counts + i];
    if (!counted.known) continue;
    key(counter_keys_[i].inclusive);
    append_count(*out_, counted.inclusive);
    key(counter_keys_[i].exclusive);
    append_count(*out_, counted.exclusive);
    if (!counted.scaled) continue;
    key(counter_keys_[i].scaled);
    base::append(*out_, "true");
  }
}

void ChromeArgs::append_stack(const EdgeEvent& event) {
  if (event.stack >= stacks_.size()) return;
  std::string& line = stacks_[event.stack];
  if (line.empty()) line = stack_line(result_.stacks[event.stack]);
  key("C++ stack");
  base::append(*out_, line);
}

void ChromeArgs::append_times(const EdgeEvent& event) {
  if (!event.finished) {
    key("finished");
    base::append(*out_, "false");
  }
  const bool moved = event.raw_start_ns != event.start_ns || event.raw_end_ns != event.end_ns;
  if (!moved || event.raw_end_ns == 0) return;
  key("Raw start");
  append_microseconds(*out_, event.raw_start_ns - std::min(base_ns_, event.raw_start_ns));
  key("Raw duration");
  append_microseconds(*out_, event.raw_end_ns - std::min(event.raw_start_ns, event.raw_end_ns));
}

void ChromeArgs::key(std::string_view key) {
  base::append(*out_, first_ ? "\n      \"" : ",\n      \"");
  first_ = false;
  base::append(*out_, key);
  base::append(*out_, "\": ");
}

void ChromeArgs::number(std::string_view name, uint64_t value) {
  key(name);
  base::append_integer(*out_, value);
}

void ChromeArgs::signed_number(std::string_view name, int64_t value) {
  key(name);
  out_->append_number(value);
}

void ChromeArgs::text(std::string_view name, std::string_view value) {
  key(name);
  base::append(*out_, quoted_.of(value));
}

}  // namespace kymo::edge
