#include "convert/formats/chrome.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "convert/chrome_writer.h"
#include "convert/event_note.h"
#include "convert/flows.h"
#include "convert/formats/point_notes.h"
#include "convert/json_args.h"
#include "convert/kineto.h"
#include "convert/launches.h"
#include "convert/places.h"
#include "convert/recording_parts.h"
#include "trace/clock.h"
#include "trace/device_range.h"
#include "trace/loss_words.h"

namespace kymo::convert {
namespace {

constexpr size_t kMostStreams = 64;  // of one queue; more operations at once share the last one
constexpr size_t kRemembered = 1 << 16;

// The streams of Kineto's traces: a stream is busy with one operation at a time, as tools such as HTA expect.
//
// A queue is a stream. An operation that overlaps an earlier one of its queue, as Vulkan's commands do, is on another
// stream.
//
// The operations of a queue come in any order, because its lanes come one after the other. The latest 65,536 of each
// stream are remembered.
class DeviceStreams {
 public:
  explicit DeviceStreams(Places& places) : places_(places) {}

  uint64_t take(const Range& range) {
    if (queues_.size() <= range.place->index) queues_.resize(range.place->index + size_t{1});
    Queue& queue = queues_[range.place->index];
    size_t at = 0;
    for (;; ++at) {
      if (at == queue.streams.size()) queue.streams.emplace_back();
      if (queue.streams[at].take(range.start_ns, range.end_ns) || at + 1 == kMostStreams) break;
    }
    return places_.lane_tid(*range.place, static_cast<uint16_t>(at));
  }

 private:
  struct Stream {
    // false: it is busy then
    bool take(int64_t start_ns, int64_t end_ns) {
      if (start_ns < forgotten_until_ns) return false;
      const auto next = busy.lower_bound(start_ns);
      if (next != busy.end() && (next->first == start_ns || next->first < end_ns)) return false;
      if (next != busy.begin() && std::prev(next)->second > start_ns) return false;
      busy.emplace_hint(next, start_ns, end_ns);
      if (busy.size() > kRemembered) {
        forgotten_until_ns = busy.begin()->second;
        busy.erase(busy.begin());
      }
      return true;
    }

    std::map<int64_t, int64_t> busy;         // the latest operations: their ends by their starts
    int64_t forgotten_until_ns = INT64_MIN;  // the others
  };
  struct Queue {
    std::vector<Stream> streams;
  };

  Places& places_;
  std::vector<Queue> queues_;  // by Place::index
};

// ---- What is not an event: the origin of the trace, the losses, the names of its rows ------------------------------

void append_string(JsonObject& object, std::string_view key, std::string_view value) {
  append_json_string(object.key(key), value);
}
void append_number(JsonObject& object, std::string_view key, uint64_t value) {
  base::format_to(object.key(key), "{}", value);
}

template <typename Items, typename AppendItem>
void append_array(TextBuffer& out, const Items& items, AppendItem&& append_item) {
  JsonArray array(out);
  for (const auto& item : items) append_item(array.next(), item);
  array.close();
}

void append_losses(TextBuffer& out, const trace::WriterInfo& writer) {
  append_array(out, writer.losses, [&](TextBuffer& item, const trace::Loss& loss) {
    JsonObject object(item);
    append_string(object, "cause", trace::loss_words(loss.cause).key);
    append_number(object, "count", loss.count);
    if (const auto track = writer.tracks.find(loss.track); track != writer.tracks.end()) {
      append_string(object, "thread", track->second.name);
      append_number(object, "tid", track->second.tid);
    }
    if (!loss.detail.empty()) append_string(object, "detail", loss.detail);
    object.close();
  });
}

void append_cost(TextBuffer& out, const trace::WriterInfo& writer) {
  constexpr double kPicosecondsPerNanosecond = 1000;
  double recording_ns = 0;
  uint64_t events = 0, blocked_ns = 0, collector_ns = 0;
  for (const auto& [track, cost] : writer.costs) {
    events += cost.events;
    recording_ns +=
        static_cast<double>(cost.events) * static_cast<double>(cost.picoseconds_per_event) / kPicosecondsPerNanosecond;
    blocked_ns += cost.blocked_ns;
    collector_ns += cost.collector_cpu_ns;
  }
  JsonObject object(out);
  append_number(object, "events", events);
  append_number(object, "recording_ns", static_cast<uint64_t>(recording_ns));
  append_number(object, "blocked_ns", blocked_ns);
  append_number(object, "collector_cpu_ns", collector_ns);
  object.close();
}

// `pid` is that of its events in the file: two processes of different hosts may have the same one.
void append_process(TextBuffer& out, const trace::WriterInfo& writer, uint64_t pid, const std::string& recording) {
  const trace::Origin& origin = writer.origin;
  JsonObject object(out);
  append_number(object, "pid", origin.pid);
  if (pid != origin.pid) append_number(object, "pid_of_events", pid);
  append_number(object, "parent_pid", origin.parent_pid);
  append_string(object, "host", origin.host);
  append_string(object, "executable", origin.executable);
  append_array(object.key("command_line"), origin.command_line,
               [](TextBuffer& item, const std::string& argument) { append_json_string(item, argument); });
  append_number(object, "start_ns", origin.start_realtime_ns);
  append_string(object, "policy", origin.policy);
  append_string(object, "kymo_version", origin.kymo_version);
  append_string(object, "recording", recording);
  JsonObject metadata(object.key("metadata"));
  for (const auto& [key, value] : origin.metadata) {
    append_json_string(metadata.escaped_key(base::json_string(key) + ':'), value);
  }
  metadata.close();
  append_cost(object.key("cost"), writer);
  append_losses(object.key("losses"), writer);
  object.close();
}

}  // namespace

std::string processes_json(const trace::Reader& reader, const Places& places, const Group* group) {
  const std::map<trace::WriterId, std::string> recordings = recording_parts(reader);
  std::vector<const trace::WriterInfo*> chosen;
  for (const auto& [id, writer] : reader.writers())
    if (group == nullptr || &places.process(writer) == group) chosen.push_back(&writer);
  TextBuffer out;
  append(out, "{\"processes\": ");
  append_array(out, chosen, [&](TextBuffer& item, const trace::WriterInfo* writer) {
    const auto recording = recordings.find(writer->id);
    append_process(item, *writer, places.process(*writer).pid, recording == recordings.end() ? "" : recording->second);
  });
  append(out, "}");
  return std::string(out.view());
}

namespace {

// The value of a numeric metadata entry. Distributed launchers store their numbers there.
std::optional<uint64_t> metadata_number(const trace::Reader& reader, std::string_view upper, std::string_view lower) {
  for (const auto& [id, writer] : reader.writers()) {
    for (const auto& [key, value] : writer.origin.metadata) {
      uint64_t number = 0;
      const char* const end = value.data() + value.size();
      const bool is_number = std::from_chars(value.data(), end, number).ptr == end && !value.empty();
      if ((key == upper || key == lower) && is_number) return number;
    }
  }
  return std::nullopt;
}

// How often CPU samples were taken, for readers that see only one process. Empty: there are none.
std::string sampling_of(const trace::Reader& reader) {
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [key, value] : writer.origin.metadata)
      if (key == "sampling") return value;
  return {};
}

// The program that requested the trace may have given it an id.
const std::string& trace_id_of(const trace::Origin& origin) {
  for (const auto& [key, value] : origin.metadata)
    if (key == "trace_id") return value;
  return origin.session;
}

// The earliest time in the trace, in nanoseconds since 1970; 0 if there are no events.
uint64_t chrome_start_ns(const trace::Reader& reader) {
  std::map<trace::WriterId, trace::TrackClocks> clocks;
  for (const auto& [id, writer] : reader.writers()) clocks.emplace(id, trace::TrackClocks(writer));
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const trace::ClockMap* const clock = clocks.at(chunk.writer).find(chunk.track);
    if (clock != nullptr) earliest = std::min(earliest, clock->to_realtime_ns(chunk.first));
  }
  if (earliest == std::numeric_limits<int64_t>::max() || earliest < 0) return 0;
  return static_cast<uint64_t>(earliest);
}

// The members before the events.
void write_chrome_header(CompactChromeWriter& writer, const trace::Reader& reader, const Places& places) {
  // Early in the file and with a blank after the colon, because HTA searches for exactly this text to find the rank.
  if (const auto rank = metadata_number(reader, "RANK", "rank")) {
    const uint64_t world_size = metadata_number(reader, "WORLD_SIZE", "world_size").value_or(*rank + 1);
    base::format_to(writer.member("distributedInfo"), "{{\"rank\": {}, \"world_size\": {}}}", *rank, world_size);
  }
  std::vector<const Group*> devices;
  for (const Group& group : places.groups()) {
    if (group.writer == nullptr) devices.push_back(&group);
  }
  append_array(writer.member("deviceProperties"), devices, [](TextBuffer& item, const Group* device) {
    JsonObject object(item);
    append_number(object, "id", device->pid);
    append_string(object, "name", device->name);
    append_string(object, "uuid", device->device_uuid);
    object.close();
  });
  const trace::Origin* const origin = reader.writers().empty() ? nullptr : &reader.writers().begin()->second.origin;
  append_json_string(writer.member("host_name"), origin == nullptr ? "" : origin->host);
  append_json_string(writer.member("trace_id"), origin == nullptr ? "" : trace_id_of(*origin));
  if (const std::string rate = sampling_of(reader); !rate.empty()) append_json_string(writer.member("sampling"), rate);
  append(writer.member("kymo"), processes_json(reader, places, nullptr));
  append_json_string(writer.member("traceName"), reader.path());
}

void write_chrome_row(CompactChromeWriter& writer, const Place& place, uint16_t lane, uint64_t tid) {
  constexpr uint64_t kLanesInOrder = 256;
  const uint64_t order = place.index * kLanesInOrder + std::min<uint64_t>(lane, kLanesInOrder - 1);
  writer.name_row(writer.row(place.group->pid, tid), lane == 0 ? place.name : lane_name(place, lane), order);
  if (lane == 0 && place.track->kind == trace::TrackKind::DeviceQueue)
    writer.describe_queue(writer.row(place.group->pid, tid), place.process->pid, place.track->device_uuid,
                          place.track->queue, place.track->context);
}

// Names and order of all processes and threads.
void write_chrome_rows(CompactChromeWriter& writer, const Places& places) {
  for (const Group& group : places.groups()) writer.name_process(group.pid, group.name, group.label, group.sort_index);
  for (const Place& place : places.all()) write_chrome_row(writer, place, 0, place.tid);
}

// The members after the events.
void write_chrome_trailer(CompactChromeWriter& writer, const WalkReport& report, const Flows& flows) {
  JsonObject object(writer.member("kymo_export"));
  append_number(object, "incomplete_flows", flows.incomplete());
  append_number(object, "unmatched_ends", report.unmatched_ends);
  append_array(object.key("problems"), report.problems, [](TextBuffer& item, const trace::Problem& problem) {
    JsonObject entry(item);
    append_number(entry, "offset", problem.offset);
    append_number(entry, "length", problem.length);
    append_string(entry, "what", problem.what);
    entry.close();
  });
  object.close();
}

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
    const Head head = head_of(range, on_device(range) ? Role::OfDevice : Role::OfThread);
    JsonArgs::RangeForm form;
    if (head.is_work) {
      form.stream = static_cast<int64_t>(streams_.take(range));
    } else if (on_device(range) && head.has_place) {
      form.stream = static_cast<int64_t>(range.place->track->queue);
    }
    form.with_correlation = !on_device(range) || form.stream;
    const uint64_t number = operation_of(range, head);
    writer_.complete(head.category, head.name, row, since_1970(range.start_ns), since_1970(range.end_ns));
    JsonObject args = writer_.args();
    args_.append(args, range, form);
    if (number != 0) append_integer(args.key("External id"), number);
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
    if (on_device(range)) return annotation(range);
    // The id is local to a pid, so both ends must have the same pid.
    const Place& end_place = range.end_place->group == range.place->group ? *range.end_place : *range.place;
    const Head head = head_of(range, Role::AsItIs);
    writer_.async_begin(head.category, head.name, row_of(*range.place, 0), since_1970(range.start_ns), range.id);
    end_event(range);
    writer_.async_end(head.category, head.name, row_of(end_place, 0), since_1970(range.end_ns), range.id);
    writer_.end_event();
  }

 private:
  using WriteFlow = void (CompactChromeWriter::*)(std::string_view name, uint64_t id, std::string_view row,
                                                  uint64_t ns);

  // Of a queue, as Kineto has it.
  void annotation(const AsyncRange& range) {
    const Head head = head_of(range, Role::DeviceAnnotation);
    const std::string& row = row_of(*range.place, 0);
    writer_.complete(head.category, head.name, row, since_1970(range.start_ns), since_1970(range.end_ns));
    end_event(range);
  }

  void instant(const Point& point) {
    const Head head = head_of(point, Role::AsItIs);
    writer_.instant(head.category, head.name, row_of(*point.place, 0), since_1970(point.time_ns));
    end_event(point);
  }

  // A CPU sample or a wait has its functions.
  void sample(const Point& point) {
    const SampleNotes::Note* const note = samples_.find(point.number);
    if (note == nullptr) return instant(point);
    const Head head = head_of(point, Role::AsItIs);
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
    const Head head = head_of(point, Role::AsItIs);
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
      end_event(point);
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

  // What all events of a class have in the same role.
  struct HeadFacts {
    bool is_operation = false;
    bool is_work = false, has_place = false;  // of a device
  };
  // Category and name of an event, as JSON. Valid until the next call.
  struct Head : HeadFacts {
    std::string_view category, name;
  };
  // Kineto has names for ranges only.
  enum class Role : uint8_t { OfThread, OfDevice, DeviceAnnotation, AsItIs };
  static constexpr size_t kRoles = 4;
  Head head_of(const Event& event, Role role) {
    const ClassInfo& info = *event.event_class;
    const size_t place = kRoles * info.index + static_cast<size_t>(role);
    if (place >= heads_.size()) heads_.resize(place + size_t{1});
    ClassHead& head = heads_[place];
    if (head.category.empty()) make_head(head, info, role);
    if (!head.name.empty()) return {head, head.category, head.name};
    name_.clear();
    append_json_string(name_, event.name);
    return {head, head.category, name_.view()};
  }

  // The text is escaped once. The name is empty if it differs from event to event.
  struct ClassHead : HeadFacts {
    std::string category, name;
  };
  static kineto::Names names_of(const trace::EventClass& own, Role role) {
    switch (role) {
      case Role::OfDevice:
        return kineto::device_range(own.name, own.category);
      case Role::DeviceAnnotation:
        return {kineto::kDeviceAnnotation, {}};
      case Role::OfThread:
        return kineto::device_call(own.name, own.category);
      case Role::AsItIs:
        break;
    }
    return {};
  }
  static void make_head(ClassHead& head, const ClassInfo& info, Role role) {
    const trace::EventClass& own = info.event_class;
    const kineto::Names names = names_of(own, role);
    const std::string_view category = !names.category.empty() ? names.category : std::string_view(own.category);
    const bool is_of_thread = role == Role::OfThread;
    head.category = base::json_string(is_of_thread && category.empty() ? kineto::kAnnotation : category);
    head.is_operation = is_of_thread && kineto::is_operation(category);
    if (role == Role::OfDevice) {
      head.is_work = trace::is_work(trace::device_range(own.category));
      head.has_place = own.category == "cuda_sync" || own.category == "cuda_event";  // so Kineto writes them
    }
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
  DeviceStreams streams_{places_};
  std::vector<ClassHead> heads_;   // by ClassInfo::index and Role
  std::vector<std::string> rows_;  // by Place::index
  std::map<std::pair<uint32_t, uint16_t>, std::string> lane_rows_;
  TextBuffer name_;
};

}  // namespace

WalkReport write_chrome(const trace::Reader& reader, ExportStream& sink) { return ChromeExport(reader, sink).write(); }

}  // namespace kymo::convert
