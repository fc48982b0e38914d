#include "convert/formats/csv.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/printable.h"
#include "base/text.h"
#include "convert/formats/point_notes.h"
#include "convert/json_args.h"
#include "convert/places.h"

namespace kymo::convert {

namespace {

constexpr std::string_view kHeader =
    "kind,name,category,pid,tid,thread,device,start_ns,duration_ns,depth,lane,id,args\n";

class CsvWriter : public EventVisitor {
 public:
  CsvWriter(const trace::Reader& reader, ExportStream& sink)
      : reader_(reader), sink_(sink), places_(reader), notes_(reader), samples_(reader) {}

  WalkReport write() {
    append(out_, kHeader);
    WalkReport report = visit_events(reader_, places_, TimeBase::Realtime, *this);
    flush();
    return report;
  }

  void range(const Range& range) override {
    append_beginning("range", range, range.start_ns);
    append_integer(out_, range.duration_ns);
    out_.push_back(',');
    append_integer(out_, range.depth);
    out_.push_back(',');
    append_integer(out_, range.lane);
    out_.push_back(',');
    if (range.correlation != 0) append_integer(out_, range.correlation);
    append_args(range);
  }

  void point(const Point& point) override {
    append_beginning(trace::name_of(point.kind), point, point.time_ns);
    append(out_, ",,,");
    if (point.id != 0) append_integer(out_, point.id);
    append_args(point);
  }

  void async_range(const AsyncRange& range) override {
    append_beginning("async", range, range.start_ns);
    append_integer(out_, elapsed_ns(range.start_ns, range.end_ns));
    append(out_, ",,,");
    append_integer(out_, range.id);
    append_args(range);
  }

 private:
  // Appends the columns before the duration.
  void append_beginning(std::string_view kind, const Event& event, int64_t start_ns) {
    const Place& place = *event.place;
    append(out_, kind);
    out_.push_back(',');
    append_field(event.name);
    out_.push_back(',');
    append_field(event.event_class->event_class.category);
    out_.push_back(',');
    append_integer(out_, place.writer->origin.pid);
    out_.push_back(',');
    // For a queue, the thread column contains the queue number.
    const bool on_device = place.track->kind == trace::TrackKind::DeviceQueue;
    append_integer(out_, on_device ? place.track->queue : place.track->tid);
    out_.push_back(',');
    append_field(place.name);
    out_.push_back(',');
    append_field(place.track->device());
    out_.push_back(',');
    out_.append_number(start_ns);
    out_.push_back(',');
  }

  template <typename AnyEvent>
  void append_args(const AnyEvent& event) {
    args_text_.clear();
    JsonObject args(args_text_);
    args_.append(args, event);
    if constexpr (std::is_same_v<AnyEvent, Point>) append_note(args, event);
    args.close();
    out_.push_back(',');
    append_field({args_text_.data(), args_text_.size()});
    out_.push_back('\n');
    if (out_.size() >= kFlushAt) flush();
  }

  void append_note(JsonObject& args, const Point& point) {
    const SampleNotes::Note* const sampled = point.id == 0 ? samples_.find(point.number) : nullptr;
    if (sampled != nullptr) append_json_string(args.key("stack"), samples_.text(sampled->stack));
    const MemoryNotes::Note* const note = notes_.find(point.number);
    if (note == nullptr) return;
    if (!has_field(*point.event_class, "bytes")) args.key("bytes").append_number(note->bytes);
    append_integer(args.key("bytes_in_use"), note->bytes_in_use);
    if (const std::string& stack = notes_.stack(*note); !stack.empty()) append_json_string(args.key("stack"), stack);
  }

  // Quotes the text only if necessary. Quotes inside are doubled.
  void append_field(std::string_view untrusted) {
    const std::string_view text = base::valid_utf8(untrusted, valid_);
    const auto is_special = [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; };
    if (std::none_of(text.begin(), text.end(), is_special)) return append(out_, text);
    out_.push_back('"');
    for (const char c : text) {
      if (c == '"') out_.push_back('"');
      out_.push_back(c);
    }
    out_.push_back('"');
  }

  void flush() {
    sink_.write({out_.data(), out_.size()});
    out_.clear();
  }

  const trace::Reader& reader_;
  ExportStream& sink_;
  Places places_;
  MemoryNotes notes_;
  SampleNotes samples_;
  JsonArgs args_{JsonArgs::Form::Plain};
  TextBuffer out_, args_text_;
  std::string valid_;
};

}  // namespace

WalkReport write_csv(const trace::Reader& reader, ExportStream& sink) { return CsvWriter(reader, sink).write(); }

}  // namespace kymo::convert
