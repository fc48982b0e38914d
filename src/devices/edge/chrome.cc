#include "edge/chrome.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.h"
#include "base/text.h"
#include "convert/chrome_writer.h"
#include "convert/kineto.h"
#include "edge/backward_links.h"
#include "edge/chrome_args.h"
#include "edge/chrome_rows.h"
#include "edge/rows.h"

namespace kymo::edge {
namespace {

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
    const auto asked_for = [&](std::string_view key, bool it_was) {
      if (it_was) writer_.member(key).push_back('1');
    };
    asked_for("record_shapes", result_.inputs_wanted);
    asked_for("profile_memory", result_.memory_wanted);
    asked_for("with_stack", result_.stack_wanted);
    asked_for("with_flops", result_.flops_wanted);
    asked_for("with_modules", result_.modules_wanted);
    asked_for("adjust_vulkan_timestamps", result_.adjusted);
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
