#include "edge/chrome.h"

#include <algorithm>

#include "edge/backward_links.h"
#include "edge/chrome_args.h"
#include "edge/chrome_rows.h"
#include "edge/rows.h"

namespace kymo::edge {
namespace {

using base::append;
using base::append_integer;

// Kineto's quarter of a year: every trace of a job falls into the same one, and a double still holds nanoseconds.
constexpr uint64_t kBaseStepNs = 7'889'238ull * 1'000'000'000;

std::string_view category_of(const EdgeEvent& event, bool on_device) {
  switch (event.kind) {
    case EdgeKind::User:
      return "user_annotation";
    case EdgeKind::Device:
      return on_device ? "kernel" : "cpu_op";
    default:
      return "cpu_op";
  }
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

class EdgeChromeWriter {
 public:
  EdgeChromeWriter(const ResultData& result, convert::ExportStream& sink)
      : result_(result),
        sink_(sink),
        base_ns_(result.start_ns / kBaseStepNs * kBaseStepNs),
        places_(arrange_rows(result)),
        rows_(result, places_),
        args_(result, base_ns_) {}

  void write(const std::string& trace_name) {
    append_header();
    append_events();
    append_allocations();
    append_rows();
    append_trailer(trace_name);
    flush();
  }

 private:
  void append_header() {
    append(out_, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [],\n");
    const auto asked_for = [&](std::string_view key, bool it_was) {
      if (it_was) base::format_to(out_, "  \"{}\": 1,\n", key);
    };
    asked_for("record_shapes", result_.inputs_wanted);
    asked_for("profile_memory", result_.memory_wanted);
    asked_for("with_stack", result_.stack_wanted);
    asked_for("with_flops", result_.flops_wanted);
    asked_for("with_modules", result_.modules_wanted);
    asked_for("adjust_vulkan_timestamps", result_.adjusted);
    base::format_to(out_, "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": {},\n  \"traceEvents\": [",
                    base_ns_);
  }

  void append_events() {
    const std::vector<FlowEnd> flows = backward_flows(result_);
    auto flow = flows.begin();
    for (uint32_t i = 0; i < result_.events.size(); ++i) {
      append_event(i);
      for (; flow != flows.end() && flow->event == i; ++flow) append_flow("fwdbwd", flow->id, flow->is_start, i);
      flush_if_large();
    }
  }

  void append_event(uint32_t index) {
    const EdgeEvent& event = result_.events[index];
    const RowPlace& place = places_.places[index];
    const bool on_device = places_.tracks[place.track].on_device;
    begin_event();
    append(out_, "    \"ph\": \"X\", \"cat\": \"");
    append(out_, category_of(event, on_device));
    append(out_, "\", \"name\": ");
    append(out_, args_.in_quotes(event.name));
    append(out_, ", ");
    append(out_, rows_.of(place));
    append(out_, ",\n    \"ts\": ");
    append_time(event.start_ns);
    append(out_, ", \"dur\": ");
    const uint64_t start = std::max(event.start_ns, base_ns_);
    append_microseconds(out_, event.end_ns > start ? event.end_ns - start : 0);
    append(out_, ",\n    \"args\": {");
    args_.append(out_, event, index, on_device, rows_.pid(place.track));
    append(out_, "\n    }\n  }");
    // The device operations that a thread requested.
    const bool is_launched = on_device && event.parent < result_.events.size();
    if (!is_launched || result_.events[event.parent].start_ns > event.start_ns) return;
    const uint64_t id = index + uint64_t{1};
    append_flow("ac2g", id, true, event.parent);
    append_flow("ac2g", id, false, index);
  }

  void append_flow(std::string_view name, uint64_t id, bool is_start, uint32_t at) {
    begin_event();
    append(out_, is_start ? "    \"ph\": \"s\", \"id\": " : "    \"ph\": \"f\", \"id\": ");
    append_integer(out_, id);
    append(out_, ", ");
    append(out_, rows_.of(places_.places[at]));
    append(out_, ", \"ts\": ");
    append_time(result_.events[at].start_ns);
    base::format_to(out_, ",\n    \"cat\": \"{}\", \"name\": \"{}\"{}\n  }}", name, name,
                    is_start ? "" : ", \"bp\": \"e\"");
  }

  void append_allocations() {
    uint64_t index = result_.events.size();
    for (const EdgeAllocation& allocation : result_.allocations) {
      begin_event();
      append(out_, "    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": ");
      append(out_, allocation.out_of_memory ? "\"[OutOfMemory]\",\n    " : "\"[memory]\",\n    ");
      append(out_, rows_.of(places_.of_threads.at(allocation.thread), 0));
      append(out_, ",\n    \"ts\": ");
      append_time(allocation.time_ns);
      append(out_, ",\n    \"args\": {");
      args_.append(out_, allocation, index++);
      append(out_, "\n    }\n  }");
      flush_if_large();
    }
  }

  void append_rows() {
    rows_.describe([&](const char* what, const std::string& row, const std::string& arg) {
      begin_event();
      base::format_to(out_, "    \"name\": \"{}\", \"ph\": \"M\", \"ts\": ", what);
      append_time(result_.start_ns);
      append(out_, ", ");
      append(out_, row);
      append(out_, ",\n    \"args\": {\n      ");
      append(out_, arg);
      append(out_, "\n    }\n  }");
      flush_if_large();
    });
    begin_event();
    append(out_, "    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n");
    append(out_, "    \"pid\": \"\", \"tid\": \"\", \"ts\": ");
    append_time(result_.end_ns);
    append(out_, "\n  }");
  }

  void append_trailer(const std::string& trace_name) {
    append(out_, "\n  ],\n");
    if (!result_.losses.empty()) {
      append(out_, "  \"losses\": [");
      for (size_t i = 0; i < result_.losses.size(); ++i) {
        append(out_, i == 0 ? "\n    " : ",\n    ");
        base::append_json_string(out_, result_.losses[i]);
      }
      append(out_, "\n  ],\n");
    }
    append(out_, "  \"traceName\": ");
    base::append_json_string(out_, trace_name);
    append(out_, "\n}\n");
  }

  void begin_event() {
    append(out_, first_ ? "\n  {\n" : ",\n  {\n");
    first_ = false;
  }
  // What lies before the beginning of the file's time is at its beginning.
  void append_time(uint64_t ns) { append_microseconds(out_, ns - std::min(base_ns_, ns)); }

  void flush_if_large() {
    if (out_.size() >= convert::kFlushAt) flush();
  }
  void flush() {
    sink_.write({out_.data(), out_.size()});
    out_.clear();
  }

  const ResultData& result_;
  convert::ExportStream& sink_;
  const uint64_t base_ns_;
  const Rows places_;
  const ChromeRows rows_;
  ChromeArgs args_;
  base::TextBuffer out_;
  bool first_ = true;
};

}  // namespace

void write_chrome(const ResultData& result, const std::string& trace_name, convert::ExportStream& sink) {
  EdgeChromeWriter(result, sink).write(trace_name);
}

}  // namespace kymo::edge
