#include "convert/chrome.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "convert/chrome_header.h"
#include "convert/events.h"
#include "convert/flows.h"
#include "convert/json_args.h"

namespace kymo::convert {

namespace {

constexpr std::string_view kDefaultCategory = "user_annotation";

class ChromeWriter : public EventVisitor {
 public:
  ChromeWriter(const trace::Reader& reader, ExportStream& sink)
      : reader_(reader),
        sink_(sink),
        places_(reader),
        flows_(reader),
        base_ns_(chrome_base_ns(reader)),
        rows_(places_.all().size()) {}

  void write() {
    append_chrome_header(out_, reader_, places_, base_ns_);
    JsonArray events(out_);
    events_ = &events;
    append_chrome_rows(events, places_);
    const WalkReport report = visit_events(reader_, places_, TimeBase::Realtime, *this);
    events.close();
    append_chrome_trailer(out_, report, flows_);
    flush();
  }

  void range(const Range& range) override {
    const std::string& row = row_of(*range.place, range.lane);
    begin_event(R"({"ph":"X",)", range, row, range.start_ns);
    append(out_, ",\"dur\":");
    append_microseconds(elapsed_ns(std::max(range.start_ns, base_ns_), range.end_ns));
    append(out_, ",\"args\":");
    args_.append(out_, range);
    end_event();
    if (range.correlation != 0) correlation_flow(range, row);
  }

  void point(const Point& point) override {
    const trace::WriterId& writer = point.place->writer->id;
    switch (point.kind) {
      case trace::PointKind::Counter:
        return counter(point);
      case trace::PointKind::FlowBegin:
        return flow("s", point.enclosed ? flows_.claim_begin(writer, point.id) : 0, point);
      case trace::PointKind::FlowStep:
        return flow("t", point.enclosed ? flows_.step(writer, point.id) : 0, point);
      case trace::PointKind::FlowEnd:
        return flow("f", point.enclosed ? flows_.claim_end(writer, point.id) : 0, point);
      default:
        return instant(point);
    }
  }

  void async_range(const AsyncRange& range) override {
    // The id is local to a pid, so both ends must have the same.
    const Place& end_place = range.end_place->group == range.place->group ? *range.end_place : *range.place;
    begin_event(R"({"ph":"b",)", range, row_of(*range.place, 0), range.start_ns);
    append_async_id(range.id);
    append(out_, ",\"args\":");
    args_.append(out_, range);
    end_event();
    begin_event(R"({"ph":"e",)", range, row_of(end_place, 0), range.end_ns);
    append_async_id(range.id);
    end_event();
  }

 private:
  void instant(const Point& point) {
    begin_event(R"({"ph":"i","s":"t",)", point, row_of(*point.place, 0), point.time_ns);
    append(out_, ",\"args\":");
    args_.append(out_, point);
    end_event();
  }

  void counter(const Point& point) {
    begin_event(R"({"ph":"C",)", point, row_of(*point.place, 0), point.time_ns);
    append(out_, ",\"args\":{\"value\":");
    if (point.values.empty()) {
      out_.push_back('0');
    } else {
      append_json_field(out_, point.values[0]);
    }
    out_.push_back('}');
    end_event();
  }

  // Viewers tie the ends of a flow together by category, name and id, so all flows have one name and say theirs in
  // args.
  void flow(std::string_view phase, uint32_t number, const Point& point) {
    if (number == 0) return;
    // For a viewer a slice does not hold the moment of its end.
    const bool at_end = point.time_ns >= point.within_end_ns && point.within_start_ns < point.within_end_ns;
    const int64_t inside = at_end ? point.within_end_ns - 1 : std::max(point.time_ns, point.within_start_ns);
    begin_flow(phase, "flow", number, row_of(*point.place, 0), inside);
    append(out_, ",\"args\":{\"flow\":");
    append_json_string(out_, point.name);
    out_.push_back('}');
    end_event();
  }

  void correlation_flow(const Range& range, const std::string& row) {
    const bool on_device = range.place->track->kind == trace::TrackKind::DeviceQueue;
    const trace::WriterId& writer = range.place->writer->id;
    const uint32_t number =
        on_device ? flows_.claim_execution(writer, range.correlation) : flows_.claim_launch(writer, range.correlation);
    if (number == 0) return;
    begin_flow(on_device ? "f" : "s", "ac2g", number, row, range.start_ns);
    end_event();
  }

  void begin_flow(std::string_view phase, std::string_view name, uint32_t number, const std::string& row, int64_t ns) {
    append(events_->next(), R"({"ph":")");
    append(out_, phase);
    append(out_, R"(","cat":")");
    append(out_, name);
    append(out_, R"(","name":")");
    append(out_, name);
    append(out_, R"(","id":)");
    append_integer(out_, number);
    append(out_, row);
    append_microseconds(elapsed_ns(base_ns_, ns));
    if (phase == "f") append(out_, ",\"bp\":\"e\"");
  }

  // Up to the time; what follows is the caller's.
  void begin_event(std::string_view phase, const Event& event, const std::string& row, int64_t ns) {
    append(events_->next(), phase);
    append(out_, head_of(*event.event_class));
    if (event.event_class->has_places) append_json_string(out_, event.name);
    append(out_, row);
    append_microseconds(elapsed_ns(base_ns_, ns));
  }

  void append_async_id(uint64_t id) {
    append(out_, R"(,"id2":{"local":"0x)");
    out_.append_number(id, 16);
    append(out_, R"("})");
  }

  void end_event() {
    out_.push_back('}');
    if (out_.size() >= kFlushAt) flush();
  }

  // With exactly three decimals.
  void append_microseconds(uint64_t ns) {
    append_integer(out_, ns / 1000);
    const auto digit = [](uint64_t number) { return static_cast<char>('0' + number % 10); };
    const char decimals[] = {'.', digit(ns / 100), digit(ns / 10), digit(ns)};
    append(out_, {decimals, sizeof decimals});
  }

  // Category and name of a class, escaped once; without the name where that differs from event to event.
  const std::string& head_of(const ClassInfo& info) {
    if (info.index >= heads_.size()) heads_.resize(info.index + size_t{1});
    std::string& head = heads_[info.index];
    if (!head.empty()) return head;
    TextBuffer text;
    append(text, "\"cat\":");
    append_json_string(text, info.event_class.category.empty() ? kDefaultCategory : info.event_class.category);
    append(text, ",\"name\":");
    if (!info.has_places) append_json_string(text, info.event_class.name);
    return head = text.string();
  }

  // The pid, the tid and the key of the time. A lane is given its name when it first appears.
  const std::string& row_of(const Place& place, uint16_t lane) {
    std::string& row = lane == 0 ? rows_[place.index] : lane_rows_[{place.index, lane}];
    if (!row.empty()) return row;
    const uint64_t tid = places_.lane_tid(place, lane);
    if (lane != 0) append_chrome_row(*events_, place, lane, tid);
    return row = base::format(R"(,"pid":{},"tid":{},"ts":)", place.group->pid, tid);
  }

  void flush() {
    sink_.write({out_.data(), out_.size()});
    out_.clear();
  }

  const trace::Reader& reader_;
  ExportStream& sink_;
  Places places_;
  Flows flows_;
  const int64_t base_ns_;
  JsonArgs args_{true};
  std::vector<std::string> heads_;  // by ClassInfo::index
  std::vector<std::string> rows_;   // by Place::index
  std::map<std::pair<uint32_t, uint16_t>, std::string> lane_rows_;
  TextBuffer out_;
  JsonArray* events_ = nullptr;
};

}  // namespace

void write_chrome(const trace::Reader& reader, ExportStream& sink) { ChromeWriter(reader, sink).write(); }

}  // namespace kymo::convert
