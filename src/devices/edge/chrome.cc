#include "edge/chrome.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "convert/chrome_writer.h"
#include "convert/kineto.h"
#include "convert/places.h"
#include "edge/inputs.h"
#include "edge/rows.h"

namespace kymo::edge {
namespace {

using SequenceAndThread = std::pair<int64_t, uint64_t>;
using EventOf = std::map<SequenceAndThread, uint32_t>;

// kNone: no event matches, or several do.
uint32_t find_forward(const EventOf& forward, const SequenceAndThread& backward) {
  if (const auto named = forward.find(backward); named != forward.end()) return named->second;
  const auto first = forward.lower_bound({backward.first, 0});
  if (first == forward.end() || first->first.first != backward.first) return EdgeEvent::kNone;
  const auto next = std::next(first);
  const bool is_only = next == forward.end() || next->first.first != backward.first;
  return is_only ? first->second : EdgeEvent::kNone;
}

}  // namespace

std::vector<BackwardLink> link_backward(const ResultData& result) {
  EventOf backward;
  for (uint32_t i = 0; i < result.events.size(); ++i) {
    const EdgeEvent& event = result.events[i];
    if (event.kind != EdgeKind::Backward || event.sequence < 0) continue;
    const auto [entry, is_new] = backward.try_emplace({event.sequence, event.forward_thread}, i);
    if (!is_new && event.start_ns < result.events[entry->second].start_ns) entry->second = i;
  }
  if (backward.empty()) return {};

  EventOf forward;
  for (uint32_t i = 0; i < result.events.size(); ++i) {
    const EdgeEvent& event = result.events[i];
    if (event.kind != EdgeKind::Operator || event.sequence < 0 || event.forward_thread != 0) continue;
    const auto [entry, is_new] = forward.try_emplace({event.sequence, event.thread}, i);
    if (!is_new && event.start_ns >= result.events[entry->second].start_ns) entry->second = i;
  }
  std::vector<BackwardLink> links;
  for (const auto& [key, event] : backward) {
    const uint32_t cause = find_forward(forward, key);
    if (cause == EdgeEvent::kNone || result.events[cause].start_ns > result.events[event].start_ns) continue;
    links.push_back({cause, event});
  }
  std::sort(links.begin(), links.end(), [](const auto& a, const auto& b) { return a.forward < b.forward; });
  return links;
}

namespace {

using base::TextBuffer;
using convert::KinetoChromeWriter;
using convert::RowNumbers;
using Args = KinetoChromeWriter::Args;

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

void put_number(Args& args, std::string_view key, std::integral auto value) { args.key(key).append_number(value); }

// Texts of a result in quotes, each escaped once: events share them.
class QuotedTexts {
 public:
  // `text` must stay at its address while this object lives.
  const std::string& of(std::string_view text) {
    std::string& quoted = quoted_[TextKey{text.data(), text.size()}];
    if (quoted.empty()) quoted = base::json_string(text);
    return quoted;
  }

 private:
  std::unordered_map<TextKey, std::string, TextKey::Hash> quoted_;
};

// The arguments of an event, besides its name and times, with Kineto's keys. docs/edge.md lists them.
class ChromeArgs {
 public:
  // `base_ns` is the start of the times in the file.
  ChromeArgs(const ResultData& result, uint64_t base_ns) : result_(result), base_ns_(base_ns) {
    for (const std::string& name : result.event_names) {
      counter_keys_.push_back(
          {without_quotes(name), without_quotes(name + " (exclusive)"), without_quotes(name + " (scaled)")});
    }
    stacks_.resize(result.stacks.size());
  }

  void append(Args& args, const EdgeEvent& event, uint32_t index, bool on_device, uint64_t device_pid) {
    append_identity(args, event, index, on_device, device_pid);
    append_inputs(args, event);
    append_place(args, event);
    append_counts(args, event);
    append_stack(args, event);
    append_times(args, event);
  }

  void append(Args& args, const EdgeAllocation& allocation, uint64_t index) {
    put_number(args, "Device Type", allocation.device.type);
    put_number(args, "Device Id", allocation.device.index);
    if (!allocation.out_of_memory) put_number(args, "Addr", allocation.address);
    put_number(args, "Bytes", allocation.bytes);
    put_number(args, "Total Allocated", allocation.total_allocated);
    put_number(args, "Total Reserved", allocation.total_reserved);
    put_number(args, "Ev Idx", index);
  }

  const std::string& in_quotes(std::string_view text) { return quoted_.of(text); }

 private:
  // Kineto's numbers of the event, and of the event it belongs to.
  void append_identity(Args& args, const EdgeEvent& event, uint32_t index, bool on_device, uint64_t device_pid) {
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

  void append_inputs(Args& args, const EdgeEvent& event) {
    const std::span<const std::byte> inputs = result_.inputs_of(event);
    if (inputs.empty()) return;
    const InputTexts& texts = inputs_.of(inputs);
    args.key("Input Dims").append(texts.sizes);
    args.key("Input Strides").append(texts.strides);
    args.key("Input type").append(texts.types);
    args.key("Concrete Inputs").append(texts.values);
  }

  void append_place(Args& args, const EdgeEvent& event) {
    if (!event.call_stack.empty()) args.key("Call stack").append(quoted_.of(event.call_stack));
    if (!event.module_hierarchy.empty()) {
      const std::string& quoted = quoted_.of(event.module_hierarchy);
      // Kineto puts a dot after every part.
      args.key("Module Hierarchy").append(std::string_view(quoted.data(), quoted.size() - 1), ".\"");
    }
    if (event.kind == EdgeKind::Backend) args.key("Backend").append(quoted_.of(event.backend));
    if (event.flops != 0) put_number(args, "Flops", event.flops);
  }

  void append_counts(Args& args, const EdgeEvent& event) {
    const std::span<const EdgeCount> counts = result_.counts_of(event);
    for (size_t i = 0; i < counts.size(); ++i) {
      const EdgeCount& counted = counts[i];
      if (!counted.known) continue;
      append_count(args.key(counter_keys_[i].inclusive), counted.inclusive);
      append_count(args.key(counter_keys_[i].exclusive), counted.exclusive);
      if (counted.scaled) args.key(counter_keys_[i].scaled).append("true");
    }
  }

  void append_stack(Args& args, const EdgeEvent& event) {
    if (event.stack >= stacks_.size()) return;
    std::string& line = stacks_[event.stack];
    if (line.empty()) line = stack_line(result_.stacks[event.stack]);
    args.key("C++ stack").append(line);
  }

  void append_times(Args& args, const EdgeEvent& event) {
    if (!event.finished) args.key("finished").append("false");
    const bool moved = event.raw_start_ns != event.start_ns || event.raw_end_ns != event.end_ns;
    if (!moved || event.raw_end_ns == 0) return;
    convert::append_microseconds(args.key("Raw start"), event.raw_start_ns - std::min(base_ns_, event.raw_start_ns));
    convert::append_microseconds(args.key("Raw duration"),
                                 event.raw_end_ns - std::min(event.raw_start_ns, event.raw_end_ns));
  }

  const ResultData& result_;
  const uint64_t base_ns_;
  QuotedTexts quoted_;
  InputTextCache inputs_;
  struct CounterKeys {
    std::string inclusive, exclusive, scaled;  // escaped, without quotes
  };
  std::vector<CounterKeys> counter_keys_;
  std::vector<std::string> stacks_;  // by EdgeEvent::stack, in quotes; empty: not created yet
};

std::string track_text(const RowTrack& track) {
  if (track.on_device) return base::format("stream {} ", track.queue);
  return track.name.empty() ? base::format("thread {}", track.thread)
                            : base::format("thread {} ({})", track.thread, track.name);
}

// The rows of the file, each with a pid, a tid and names. They are the same as Kineto's: threads of the process have
// the system's ids; devices are separate processes, with their queues as threads.
class ChromeRows {
 public:
  ChromeRows(const ResultData& result, const Rows& rows) {
    struct Group {
      uint64_t pid = 0;
      RowNumbers tids;
    };
    RowNumbers pids;
    Group process{pids.claim(result.pid), {}};
    const bool is_this = result.pid == static_cast<uint64_t>(getpid());
    processes_.push_back({process.pid, is_this ? program_invocation_short_name : "process", "CPU", process.pid});

    // Threads get their numbers first; numbers for other rows are made up afterwards.
    std::map<std::pair<int32_t, int32_t>, Group> devices;
    for (const RowTrack& track : rows.tracks) {
      Group* group = &process;
      if (track.on_device) {
        const auto [entry, is_new] = devices.try_emplace({track.device.type, track.device.index});
        group = &entry->second;
        if (is_new) {
          group->pid = pids.claim_from(static_cast<uint64_t>(std::max(track.device.index, 0)));
          const std::string name = device_text(track.device);
          processes_.push_back({group->pid, name, name, convert::kFirstDeviceOrder + devices.size() - 1});
        }
      }
      const uint64_t tid = group->tids.claim(track.on_device ? track.queue : track.thread);
      tracks_.push_back({group->pid, {{KinetoChromeWriter::row(group->pid, tid), track_text(track), tid}}});
    }
    for (size_t i = 0; i < rows.tracks.size(); ++i) {
      const RowTrack& track = rows.tracks[i];
      Group& group = track.on_device ? devices.at({track.device.type, track.device.index}) : process;
      const uint64_t order = std::min(track.on_device ? track.queue : track.thread, RowNumbers::kLargest);
      for (uint32_t lane = 1; lane < track.lanes; ++lane) {
        const std::string row = KinetoChromeWriter::row(group.pid, group.tids.invent());
        tracks_[i].lanes.push_back({row, base::format("{}, overlapping {}", track_text(track), lane), order});
      }
    }
  }

  // For the events of ChromeWriter.
  const std::string& of(uint32_t track, uint32_t lane) const { return tracks_[track].lanes[lane].text; }
  const std::string& of(const RowPlace& place) const { return of(place.track, place.lane); }
  uint64_t pid(uint32_t track) const { return tracks_[track].pid; }

  // The names and the order of all rows.
  void write(KinetoChromeWriter& writer) const {
    for (const Process& process : processes_)
      writer.name_process(process.pid, process.name, process.label, process.order);
    for (const Track& track : tracks_)
      for (const Row& row : track.lanes) writer.name_row(row.text, row.name, row.order);
  }

 private:
  struct Process {
    uint64_t pid = 0;
    std::string name, label;
    uint64_t order = 0;
  };
  struct Row {
    std::string text, name;
    uint64_t order = 0;
  };
  struct Track {
    uint64_t pid = 0;
    std::vector<Row> lanes;
  };

  std::vector<Process> processes_;
  std::vector<Track> tracks_;  // as in Rows
};

// Of an event on a device, as the writer of trace exports names it.
convert::kineto::Names names_of(const EdgeEvent& event, bool on_device) {
  if (on_device) return convert::kineto::device_work(event.name);
  return {event.kind == EdgeKind::User ? convert::kineto::kAnnotation : convert::kineto::kOperator, {}};
}

// One end of an arrow between two events.
struct FlowEnd {
  uint32_t event = 0;
  uint64_t id = 0;
  bool is_start = false;
};

std::vector<FlowEnd> backward_flows(const ResultData& result) {
  std::vector<FlowEnd> ends;
  uint64_t id = 0;
  for (const BackwardLink& link : link_backward(result)) {
    ends.push_back({link.forward, ++id, true});
    ends.push_back({link.backward, id, false});
  }
  std::stable_sort(ends.begin(), ends.end(), [](const FlowEnd& a, const FlowEnd& b) { return a.event < b.event; });
  return ends;
}

class ChromeFile {
 public:
  ChromeFile(const ResultData& result, convert::ExportStream& sink)
      : result_(result),
        writer_(sink, result.start_ns),
        places_(arrange_rows(result)),
        rows_(result, places_),
        args_(result, writer_.base_ns()) {}

  void write(const std::string& trace_name) {
    write_options();
    writer_.begin_events();
    write_events();
    write_allocations();
    rows_.write(writer_);
    writer_.global_instant(R"("Record Window End")", result_.end_ns);
    writer_.end_event();
    writer_.end_events();
    if (!result_.losses.empty()) write_losses();
    base::append_json_string(writer_.member("traceName"), trace_name);
    writer_.finish();
  }

 private:
  void write_options() {
    writer_.member("deviceProperties").append("[]");
    for (const std::string_view option : result_.options()) writer_.member(option).push_back('1');
    if (!result_.without_flops.empty()) write_uncounted();
  }

  void write_uncounted() {
    base::TextBuffer& list = writer_.member("flops_not_counted");
    list.push_back('{');
    for (const EdgeUncounted& uncounted : result_.without_flops) {
      if (&uncounted != result_.without_flops.data()) list.append(", ");
      base::append_json_string(list, uncounted.name);
      list.append(base::format(": {}", uncounted.calls));
    }
    list.push_back('}');
  }

  void write_events() {
    const std::vector<FlowEnd> flows = backward_flows(result_);
    auto flow = flows.begin();
    for (uint32_t i = 0; i < result_.events.size(); ++i) {
      write_event(i);
      for (; flow != flows.end() && flow->event == i; ++flow) write_flow(R"("fwdbwd")", flow->id, flow->is_start, i);
    }
  }

  void write_event(uint32_t index) {
    const EdgeEvent& event = result_.events[index];
    const RowPlace& place = places_.places[index];
    const bool on_device = places_.tracks[place.track].on_device;
    const convert::kineto::Names names = names_of(event, on_device);
    writer_.complete(args_.in_quotes(names.category), args_.in_quotes(names.name.empty() ? event.name : names.name),
                     rows_.of(place), event.start_ns, event.end_ns);
    auto args = writer_.args();
    args_.append(args, event, index, on_device, rows_.pid(place.track));
    args.close();
    writer_.end_event();
    // The device operations that a thread requested.
    const bool is_launched = on_device && event.caused_by < result_.events.size();
    if (!is_launched || result_.events[event.caused_by].start_ns > event.start_ns) return;
    const uint64_t id = index + uint64_t{1};
    write_flow(R"("ac2g")", id, true, event.caused_by);
    write_flow(R"("ac2g")", id, false, index);
  }

  void write_flow(std::string_view name, uint64_t id, bool is_start, uint32_t at) {
    const std::string& row = rows_.of(places_.places[at]);
    const uint64_t time = result_.events[at].start_ns;
    if (is_start) {
      writer_.flow_start(name, id, row, time);
    } else {
      writer_.flow_end(name, id, row, time);
    }
    writer_.end_event();
  }

  void write_allocations() {
    uint64_t index = result_.events.size();
    for (const EdgeAllocation& allocation : result_.allocations) {
      const std::string& row = rows_.of(places_.of_threads.at(allocation.thread), 0);
      writer_.instant(R"("cpu_instant_event")", allocation.out_of_memory ? R"("[OutOfMemory]")" : R"("[memory]")", row,
                      allocation.time_ns);
      auto args = writer_.args();
      args_.append(args, allocation, index++);
      args.close();
      writer_.end_event();
    }
  }

  void write_losses() {
    base::TextBuffer& list = writer_.member("losses");
    for (size_t i = 0; i < result_.losses.size(); ++i) {
      list.append(i == 0 ? "[\n    " : ",\n    ");
      base::append_json_string(list, result_.losses[i]);
    }
    list.append("\n  ]");
  }

  const ResultData& result_;
  convert::KinetoChromeWriter writer_;
  const Rows places_;
  const ChromeRows rows_;
  ChromeArgs args_;
};

}  // namespace

void write_chrome(const ResultData& result, const std::string& trace_name, convert::ExportStream& sink) {
  ChromeFile(result, sink).write(trace_name);
}

}  // namespace kymo::edge
