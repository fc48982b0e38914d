#include "convert/chrome.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "convert/chrome_header.h"
#include "convert/chrome_writer.h"
#include "convert/events.h"
#include "convert/flows.h"
#include "convert/json_args.h"
#include "convert/json_field.h"

namespace kymo::convert {

namespace {

constexpr std::string_view kDefaultCategory = "user_annotation";

// Times of events are signed, times in the file are not.
uint64_t since_1970(int64_t ns) { return static_cast<uint64_t>(std::max<int64_t>(ns, 0)); }

class ChromeExport : public EventVisitor {
 public:
  ChromeExport(const trace::Reader& reader, ExportStream& sink)
      : reader_(reader),
        places_(reader),
        flows_(reader),
        writer_(sink, chrome_start_ns(reader)),
        rows_(places_.all().size()) {}

  WalkReport write() {
    write_chrome_header(writer_, reader_, places_);
    writer_.begin_events();
    write_chrome_rows(writer_, places_);
    WalkReport report = visit_events(reader_, places_, TimeBase::Realtime, *this);
    writer_.end_events();
    write_chrome_trailer(writer_, report, flows_);
    writer_.finish();
    return report;
  }

  void range(const Range& range) override {
    const std::string& row = row_of(*range.place, range.lane);
    const Head head = head_of(range);
    writer_.complete(head.category, head.name, row, since_1970(range.start_ns), since_1970(range.end_ns));
    end_event(range);
    if (range.correlation != 0) correlation_flow(range, row);
  }

  void point(const Point& point) override {
    const trace::WriterId& writer = point.place->writer->id;
    switch (point.kind) {
      case trace::PointKind::Counter:
        return counter(point);
      case trace::PointKind::FlowBegin:
        return flow(&CompactChromeWriter::flow_start, point.enclosed ? flows_.claim_begin(writer, point.id) : 0, point);
      case trace::PointKind::FlowStep:
        return flow(&CompactChromeWriter::flow_step, point.enclosed ? flows_.step(writer, point.id) : 0, point);
      case trace::PointKind::FlowEnd:
        return flow(&CompactChromeWriter::flow_end, point.enclosed ? flows_.claim_end(writer, point.id) : 0, point);
      default:
        return instant(point);
    }
  }

  void async_range(const AsyncRange& range) override {
    // The id is local to a pid, so both ends must have the same pid.
    const Place& end_place = range.end_place->group == range.place->group ? *range.end_place : *range.place;
    const Head head = head_of(range);
    writer_.async_begin(head.category, head.name, row_of(*range.place, 0), since_1970(range.start_ns), range.id);
    end_event(range);
    writer_.async_end(head.category, head.name, row_of(end_place, 0), since_1970(range.end_ns), range.id);
    writer_.end_event();
  }

 private:
  using WriteFlow = void (CompactChromeWriter::*)(std::string_view name, uint64_t id, std::string_view row,
                                                  uint64_t ns);

  void instant(const Point& point) {
    const Head head = head_of(point);
    writer_.instant(head.category, head.name, row_of(*point.place, 0), since_1970(point.time_ns));
    end_event(point);
  }

  void counter(const Point& point) {
    const Head head = head_of(point);
    writer_.counter(head.category, head.name, row_of(*point.place, 0), since_1970(point.time_ns));
    JsonObject args = writer_.args();
    TextBuffer& value = args.key("value");
    if (point.values.empty()) {
      value.push_back('0');
    } else {
      append_json_field(value, point.values[0]);
    }
    args.close();
    writer_.end_event();
  }

  // Viewers connect the ends of a flow by category, name and id. So all flows have one name, and their own names are in
  // args.
  void flow(WriteFlow write_flow, uint32_t number, const Point& point) {
    if (number == 0) return;
    // Viewers do not count the end time of a slice as part of the slice.
    const bool at_end = point.time_ns >= point.within_end_ns && point.within_start_ns < point.within_end_ns;
    const int64_t inside = at_end ? point.within_end_ns - 1 : std::max(point.time_ns, point.within_start_ns);
    (writer_.*write_flow)("flow", number, row_of(*point.place, 0), since_1970(inside));
    JsonObject args = writer_.args();
    append_json_string(args.key("flow"), point.name);
    args.close();
    writer_.end_event();
  }

  void correlation_flow(const Range& range, const std::string& row) {
    const bool on_device = range.place->track->kind == trace::TrackKind::DeviceQueue;
    const trace::WriterId& writer = range.place->writer->id;
    const uint32_t number =
        on_device ? flows_.claim_execution(writer, range.correlation) : flows_.claim_launch(writer, range.correlation);
    if (number == 0) return;
    const WriteFlow write_flow = on_device ? &CompactChromeWriter::flow_end : &CompactChromeWriter::flow_start;
    (writer_.*write_flow)("ac2g", number, row, since_1970(range.start_ns));
    writer_.end_event();
  }

  template <typename AnyEvent>
  void end_event(const AnyEvent& event) {
    JsonObject args = writer_.args();
    args_.append(args, event);
    args.close();
    writer_.end_event();
  }

  // Category and name of an event, as JSON. Valid until the next call.
  struct Head {
    std::string_view category, name;
  };
  Head head_of(const Event& event) {
    const ClassInfo& info = *event.event_class;
    if (info.index >= heads_.size()) heads_.resize(info.index + size_t{1});
    ClassHead& head = heads_[info.index];
    if (head.category.empty()) {
      const std::string& category = info.event_class.category;
      head.category = base::json_string(category.empty() ? kDefaultCategory : category);
      if (!info.has_places) head.name = base::json_string(info.event_class.name);
    }
    if (!info.has_places) return {head.category, head.name};
    name_.clear();
    append_json_string(name_, event.name);
    return {head.category, name_.view()};
  }

  // A lane gets its name when it first appears.
  const std::string& row_of(const Place& place, uint16_t lane) {
    std::string& row = lane == 0 ? rows_[place.index] : lane_rows_[{place.index, lane}];
    if (!row.empty()) return row;
    const uint64_t tid = places_.lane_tid(place, lane);
    if (lane != 0) write_chrome_row(writer_, place, lane, tid);
    return row = writer_.row(place.group->pid, tid);
  }

  // The text is escaped once. The name is empty if it differs from event to event.
  struct ClassHead {
    std::string category, name;
  };

  const trace::Reader& reader_;
  Places places_;
  Flows flows_;
  CompactChromeWriter writer_;
  JsonArgs args_{true};
  std::vector<ClassHead> heads_;   // by ClassInfo::index
  std::vector<std::string> rows_;  // by Place::index
  std::map<std::pair<uint32_t, uint16_t>, std::string> lane_rows_;
  TextBuffer name_;
};

}  // namespace

WalkReport write_chrome(const trace::Reader& reader, ExportStream& sink) { return ChromeExport(reader, sink).write(); }

}  // namespace kymo::convert
