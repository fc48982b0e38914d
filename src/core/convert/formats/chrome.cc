#include "convert/formats/chrome.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "convert/chrome_writer.h"
#include "convert/device_types.h"
#include "convert/event_note.h"
#include "convert/events.h"
#include "convert/flows.h"
#include "convert/formats/chrome_header.h"
#include "convert/formats/memory_notes.h"
#include "convert/formats/sample_notes.h"
#include "convert/json_args.h"
#include "convert/json_field.h"
#include "convert/kineto.h"
#include "convert/launches.h"

namespace kymo::convert {

namespace {

// Times of events are signed, times in the file are not.
uint64_t since_1970(int64_t ns) { return static_cast<uint64_t>(std::max<int64_t>(ns, 0)); }

class ChromeExport : public EventVisitor {
 public:
  ChromeExport(const trace::Reader& reader, ExportStream& sink)
      : reader_(reader),
        places_(reader),
        flows_(reader),
        launches_(reader, flows_.arrows() + 1),
        notes_(reader),
        samples_(reader),
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
    const Head head = head_of(range, on_device(range) ? Role::DeviceWork : Role::OfThread);
    writer_.complete(head.category, head.name, row, since_1970(range.start_ns), since_1970(range.end_ns));
    JsonObject args = writer_.args();
    const uint64_t number = operation_of(range, head);
    args_.append(args, range, number != 0 || head.is_renamed || head.has_other_category);
    if (number != 0) append_integer(args.key("External id"), number);
    if (head.is_renamed) append_json_string(args.key(kOwnName), range.name);
    if (head.has_other_category) append_json_string(args.key(kOwnCategory), range.event_class->event_class.category);
    args.close();
    writer_.end_event();
    if (range.correlation != 0) launch_arrows(range, row);
  }

  void point(const Point& point) override {
    switch (point.kind) {
      case trace::PointKind::Counter:
        return counter(point);
      case trace::PointKind::FlowBegin:
        return flow(&CompactChromeWriter::flow_start, point);
      case trace::PointKind::FlowStep:
        return flow(&CompactChromeWriter::flow_step, point);
      case trace::PointKind::FlowEnd:
        return flow(&CompactChromeWriter::flow_end, point);
      case trace::PointKind::Allocation:
      case trace::PointKind::Free:
        return memory(point);
      case trace::PointKind::Sample:
        return sample(point);
      default:
        return instant(point);
    }
  }

  void async_range(const AsyncRange& range) override {
    // The id is local to a pid, so both ends must have the same pid.
    const Place& end_place = range.end_place->group == range.place->group ? *range.end_place : *range.place;
    const Head head = head_of(range, on_device(range) ? Role::DeviceAnnotation : Role::OfThread);
    writer_.async_begin(head.category, head.name, row_of(*range.place, 0), since_1970(range.start_ns), range.id);
    end_event(range);
    writer_.async_end(head.category, head.name, row_of(end_place, 0), since_1970(range.end_ns), range.id);
    writer_.end_event();
  }

 private:
  using WriteFlow = void (CompactChromeWriter::*)(std::string_view name, uint64_t id, std::string_view row,
                                                  uint64_t ns);

  void instant(const Point& point) {
    const Head head = head_of(point, Role::OfThread);
    writer_.instant(head.category, head.name, row_of(*point.place, 0), since_1970(point.time_ns));
    end_event(point);
  }

  // A CPU sample, a wait or a page fault has its functions.
  void sample(const Point& point) {
    const SampleNotes::Note* const note = samples_.find(point.number);
    if (note == nullptr) return instant(point);
    const Head head = head_of(point, Role::OfThread);
    writer_.instant(head.category, head.name, row_of(*point.place, 0), since_1970(point.time_ns));
    JsonObject args = writer_.args();
    args_.append(args, point);
    if (point.id == 0) append_json_string(args.key("stack"), samples_.text(note->stack));  // otherwise it has its own
    args.close();
    writer_.end_event();
  }

  void memory(const Point& point) {
    const MemoryNotes::Note* const note = notes_.find(point.number);
    if (note == nullptr) return instant(point);
    const ClassInfo& info = *point.event_class;
    const std::string& row = row_of(*point.place, 0);
    const std::string& memory = notes_.device(*note);
    writer_.instant(R"("cpu_instant_event")", R"("[memory]")", row, since_1970(point.time_ns));
    JsonObject args = writer_.args();
    args_.append(args, point);
    const auto number = [&](std::string_view key, int64_t value) {
      if (!has_field(info, key)) args.key(key).append_number(value);
    };
    const DeviceNumbers device = device_numbers(memory);
    number("Device Type", device.type);
    number("Device Id", device.index);
    if (!has_field(info, "bytes")) number("Bytes", note->bytes);
    if (!has_field(info, "Total Allocated")) append_integer(args.key("Total Allocated"), note->bytes_in_use);
    if (point.name != "[memory]") append_json_string(args.key("name"), point.name);
    if (!info.event_class.category.empty()) append_json_string(args.key(kOwnCategory), info.event_class.category);
    if (!has_field(info, "device")) append_json_string(args.key("device"), memory);
    if (const std::string& stack = notes_.stack(*note); !stack.empty()) append_json_string(args.key("stack"), stack);
    args.close();
    writer_.end_event();
    if (has_field(info, "Total Allocated")) return;  // such traces have their own counter
    writer_.counter(base::json_string(kDerivedCategory), base::json_string("memory in use, " + memory), row,
                    since_1970(point.time_ns));
    JsonObject value = writer_.args();
    append_integer(value.key("value"), note->bytes_in_use);
    value.close();
    writer_.end_event();
  }

  void counter(const Point& point) {
    const Head head = head_of(point, Role::OfThread);
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

  // Viewers connect the ends of a flow by category, name and id. So all of its points have the name of its beginning.
  void flow(WriteFlow write_flow, const Point& point) {
    const Flows::Part part = point.enclosed ? flows_.part(point.number) : Flows::Part{};
    if (part.count == 0) return instant(point);  // without an arrow
    // Viewers do not count the end time of a slice as part of the slice.
    const bool at_end = point.time_ns >= point.within_end_ns && point.within_start_ns < point.within_end_ns;
    const int64_t inside = at_end ? point.within_end_ns - 1 : std::max(point.time_ns, point.within_start_ns);
    const std::string quoted = base::json_string(*part.name);
    for (uint32_t arrow = part.first; arrow < part.first + part.count; ++arrow) {
      (writer_.*write_flow)(quoted, arrow, row_of(*point.place, 0), since_1970(inside));
      JsonObject args = writer_.args();
      args_.append(args, point);
      const std::string& category = point.event_class->event_class.category;
      if (point.name != *part.name) append_json_string(args.key("flow"), point.name);
      if (!category.empty()) append_json_string(args.key(kOwnCategory), category);
      if (inside < point.time_ns) base::append(args.key("at_end"), "true");
      args.close();
      writer_.end_event();
    }
  }

  void launch_arrows(const Range& range, const std::string& row) {
    const trace::WriterId& writer = range.place->writer->id;
    const auto arrow = [&](WriteFlow write_flow, uint32_t number) {
      (writer_.*write_flow)(R"("ac2g")", number, row, since_1970(range.start_ns));
      writer_.end_event();
    };
    if (on_device(range)) {
      if (const uint32_t number = launches_.claim_execution(writer, range.correlation))
        arrow(&CompactChromeWriter::flow_end, number);
      return;
    }
    const Launches::Arrows arrows = launches_.claim_launch(writer, range.correlation);
    for (uint32_t i = 0; i < arrows.count; ++i) arrow(&CompactChromeWriter::flow_start, arrows.first + i);
  }

  static bool on_device(const Event& event) { return event.place->track->kind == trace::TrackKind::DeviceQueue; }

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
    bool is_operation = false, is_renamed = false, has_other_category = false;
  };
  enum class Role : uint8_t { OfThread, DeviceWork, DeviceAnnotation };
  static constexpr size_t kRoles = 3;
  Head head_of(const Event& event, Role role) {
    const ClassInfo& info = *event.event_class;
    const size_t place = kRoles * info.index + static_cast<size_t>(role);
    if (place >= heads_.size()) heads_.resize(place + size_t{1});
    ClassHead& head = heads_[place];
    if (head.category.empty()) make_head(head, info, role);
    if (!head.name.empty())
      return {head.category, head.name, head.is_operation, head.is_renamed, head.has_other_category};
    name_.clear();
    append_json_string(name_, event.name);
    return {head.category, name_.view(), head.is_operation, false, head.has_other_category};
  }

  // The text is escaped once. The name is empty if it differs from event to event.
  struct ClassHead {
    std::string category, name;
    bool is_operation = false, is_renamed = false, has_other_category = false;
  };
  static kineto::Names names_of(const trace::EventClass& own, Role role) {
    switch (role) {
      case Role::DeviceWork:
        return kineto::device_work(own.name, own.category);
      case Role::DeviceAnnotation:
        return {kineto::kDeviceAnnotation, {}};
      case Role::OfThread:
        break;
    }
    return kineto::launch(own.name, own.category);
  }
  static void make_head(ClassHead& head, const ClassInfo& info, Role role) {
    const trace::EventClass& own = info.event_class;
    const kineto::Names names = names_of(own, role);
    const std::string_view category = !names.category.empty() ? names.category : std::string_view(own.category);
    head.category = base::json_string(category.empty() ? kineto::kAnnotation : category);
    head.is_operation = role == Role::OfThread && kineto::is_operation(category);
    head.has_other_category = category != own.category;
    head.is_renamed = !names.name.empty();
    if (!names.name.empty()) {
      head.name = base::json_string(names.name);
    } else if (!info.has_places) {
      head.name = base::json_string(own.name);
    }
  }

  // The number of the operation that a range is, or that a launch and its work belong to; 0: none.
  uint64_t operation_of(const Range& range, const Head& head) const {
    if (has_field(*range.event_class, "External id")) return 0;  // an imported trace has its own numbers
    if (head.is_operation) return range.number;
    return range.correlation == 0 ? 0 : launches_.operation_of(range.place->writer->id, range.correlation);
  }

  // A lane gets its name when it first appears.
  const std::string& row_of(const Place& place, uint16_t lane) {
    std::string& row = lane == 0 ? rows_[place.index] : lane_rows_[{place.index, lane}];
    if (!row.empty()) return row;
    const uint64_t tid = places_.lane_tid(place, lane);
    if (lane != 0) write_chrome_row(writer_, place, lane, tid);
    return row = writer_.row(place.group->pid, tid);
  }

  const trace::Reader& reader_;
  Places places_;
  const Flows flows_;
  Launches launches_;
  MemoryNotes notes_;
  SampleNotes samples_;
  CompactChromeWriter writer_;
  JsonArgs args_{JsonArgs::Form::Kineto};
  std::vector<ClassHead> heads_;   // by ClassInfo::index and Role
  std::vector<std::string> rows_;  // by Place::index
  std::map<std::pair<uint32_t, uint16_t>, std::string> lane_rows_;
  TextBuffer name_;
};

}  // namespace

WalkReport write_chrome(const trace::Reader& reader, ExportStream& sink) { return ChromeExport(reader, sink).write(); }

}  // namespace kymo::convert
