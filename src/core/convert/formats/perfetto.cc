#include "convert/formats/perfetto.h"

#include <algorithm>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "convert/event_note.h"
#include "convert/events.h"
#include "convert/flows.h"
#include "convert/formats/memory_notes.h"
#include "convert/formats/perfetto_event.h"
#include "convert/formats/perfetto_samples.h"
#include "convert/formats/perfetto_sequence.h"
#include "convert/formats/perfetto_tracks.h"
#include "convert/formats/sample_notes.h"
#include "convert/json_args.h"
#include "convert/launches.h"
#include "convert/perfetto_fields.h"
#include "convert/places.h"
#include "convert/stack_text.h"

namespace kymo::convert {

using namespace perfetto;

namespace {

constexpr uint32_t kFirstSequence = 2;  // sequence 1 describes tracks and clocks

bool has_one_boot(const trace::Reader& reader) {
  const auto& writers = reader.writers();
  return std::all_of(writers.begin(), writers.end(), [&](const auto& writer) {
    return writer.second.origin.boot_id == writers.begin()->second.origin.boot_id;
  });
}

bool is_unsigned(trace::FieldType type) {
  return type == trace::FieldType::UInt || type == trace::FieldType::ByteCount;
}

double as_double(const Value& value) {
  if (value.type == trace::FieldType::Double) return value.real;
  return is_unsigned(value.type) ? static_cast<double>(value.bits)
                                 : static_cast<double>(static_cast<int64_t>(value.bits));
}

class PerfettoWriter : public EventVisitor {
 public:
  PerfettoWriter(const trace::Reader& reader, ExportStream& sink)
      : reader_(reader),
        sink_(sink),
        places_(reader),
        flows_(reader),
        launches_(reader, flows_.arrows() + 1),
        notes_(reader),
        sample_notes_(reader),
        time_base_(has_one_boot(reader) ? TimeBase::Monotonic : TimeBase::Realtime),
        tracks_(reader, out_),
        samples_(static_cast<uint32_t>(kFirstSequence + places_.all().size()), clock_id(), sample_notes_.period_ns()) {
    for (const Place& place : places_.all()) add_sequence(PerfettoTracks::uuid_of(place));
  }

  WalkReport write() {
    append_clocks();
    tracks_.describe_all(places_);
    WalkReport report = visit_events(reader_, places_, time_base_, *this);
    flush();
    return report;
  }

  bool wants_moments() const override { return true; }

  void range_begin(const Range& range) override {
    PerfettoSequence& sequence = threads_[range.place->index];
    event_.start(event::kSliceBegin, sequence, range);
    if (range.lane != 0) event_.message().add_uint64(event::kTrackUuid, tracks_.lane(*range.place, range.lane));
    if (range.place->track->kind == trace::TrackKind::DeviceQueue) add_place(sequence, range);
    if (range.correlation != 0) add_correlation(sequence, range);
    append_event(sequence, range.start_ns);
  }

  void range_end(const Place& place, uint16_t lane, int64_t end_ns) override {
    event_.start(event::kSliceEnd);
    if (lane != 0) event_.message().add_uint64(event::kTrackUuid, tracks_.lane(place, lane));
    append_event(threads_[place.index], end_ns);
  }

  void point(const Point& point) override {
    if (point.kind == trace::PointKind::Counter) return counter(point);
    const SampleNotes::Note* const sampled =
        point.kind == trace::PointKind::Sample ? sample_notes_.find(point.number) : nullptr;
    if (sampled != nullptr && sampled->is_of_clock) return sample(point, sampled->stack);
    PerfettoSequence& sequence = threads_[point.place->index];
    event_.start(event::kInstant, sequence, point);
    annotate_note(sequence, point.kind, point.id);
    switch (point.kind) {
      case trace::PointKind::FlowBegin:
      case trace::PointKind::FlowStep:
        add_flow(event::kFlowIds, point);
        break;
      case trace::PointKind::FlowEnd:
        add_flow(event::kTerminatingFlowIds, point);
        break;
      case trace::PointKind::Allocation:
      case trace::PointKind::Free:
        event_.annotate(sequence, "address",
                        {.type = trace::FieldType::Pointer, .bits = point.id, .real = 0, .text = {}});
        add_note(sequence, point);
        break;
      case trace::PointKind::Sample: {
        const std::string stack = sampled != nullptr && point.id == 0 ? sample_notes_.text(sampled->stack)
                                                                      : stack_text(*point.place->writer, point.id);
        event_.annotate(sequence, "stack", {.type = trace::FieldType::String, .bits = 0, .real = 0, .text = stack});
        break;
      }
      default:
        break;
    }
    append_event(sequence, point.time_ns);
    if (point.kind == trace::PointKind::Allocation || point.kind == trace::PointKind::Free) memory_counter(point);
  }

  void async_range(const AsyncRange& range) override {
    const uint64_t uuid = tracks_.async(range);
    // On the sequences of its threads, so that a reader knows them.
    PerfettoSequence& sequence = threads_[range.place->index];
    event_.start(event::kSliceBegin, sequence, range);
    event_.message().add_uint64(event::kTrackUuid, uuid);
    annotate_note(sequence, trace::PointKind::AsyncBegin, range.id);
    append_event(sequence, range.start_ns);
    if (!range.finished) return;
    event_.start(event::kSliceEnd);
    event_.message().add_uint64(event::kTrackUuid, uuid);
    append_event(threads_[range.end_place->index], range.end_ns);
  }

 private:
  void add_sequence(uint64_t track_uuid) {
    const auto id = static_cast<uint32_t>(kFirstSequence + threads_.size());
    threads_.emplace_back(id, clock_id(), track_uuid);
  }

  uint32_t clock_id() const { return time_base_ == TimeBase::Monotonic ? clock::kMonotonic : clock::kRealtime; }

  void sample(const Point& point, memory::StackId stack) {
    samples_.append(out_, *point.place, point.time_ns, stack, sample_notes_);
    if (out_.size() >= kFlushAt) flush();
  }

  // Relates the clocks by the first time at which all were read, and states which clock the trace's times use. Perfetto
  // converts all times to CLOCK_BOOTTIME.
  void append_clocks() {
    protozero::pbf_writer trace(out_);
    protozero::pbf_writer written(trace, kPacket);
    written.add_uint32(packet::kSequenceId, 1);
    protozero::pbf_writer snapshot(written, packet::kClockSnapshot);
    const auto add_clock = [&](uint32_t id, uint64_t ns) {
      protozero::pbf_writer message(snapshot, clock_snapshot::kClocks);
      message.add_uint32(clock::kId, id);
      message.add_uint64(clock::kTimestamp, ns);
    };
    const bool monotonic = time_base_ == TimeBase::Monotonic;
    const trace::ClockPair pair = first_pair();
    if (monotonic) add_clock(clock::kMonotonic, pair.monotonic_ns);
    add_clock(clock::kBoottime, pair.boottime_ns());
    add_clock(clock::kRealtime, pair.realtime_ns);
    snapshot.add_enum(clock_snapshot::kPrimaryClock, monotonic ? clock::kMonotonic : clock::kRealtime);
  }

  trace::ClockPair first_pair() const {
    for (const auto& [id, writer] : reader_.writers()) {
      for (const auto& [clock_id, domain] : writer.clocks) {
        if (!domain.pairs.empty()) return domain.pairs.front();
      }
    }
    return {};
  }

  void counter(const Point& point) {
    event_.start(event::kCounter);
    protozero::pbf_writer message = event_.message();
    const PerfettoTracks::Counter track = tracks_.counter(point);
    message.add_uint64(event::kTrackUuid, track.uuid);
    const Value value = point.values.empty() ? Value{} : point.values[0];
    const bool fits = !is_unsigned(value.type) || value.bits <= uint64_t{std::numeric_limits<int64_t>::max()};
    if (track.is_double || !fits) {
      message.add_double(event::kDoubleCounterValue, as_double(value));
    } else {
      message.add_int64(event::kCounterValue, static_cast<int64_t>(value.bits));
    }
    append_event(threads_[point.place->index], point.time_ns);
  }

  void add_note(PerfettoSequence& sequence, const Point& point) {
    const MemoryNotes::Note* const note = notes_.find(point.number);
    if (note == nullptr) return;
    const auto annotate = [&](const std::string& key, trace::FieldType type, uint64_t bits, std::string_view text) {
      if (!has_field(*point.event_class, key))
        event_.annotate(sequence, key, {.type = type, .bits = bits, .real = 0, .text = text});
    };
    if (!has_field(*point.event_class, "Bytes"))
      annotate("bytes", trace::FieldType::Int, static_cast<uint64_t>(note->bytes), {});
    annotate("bytes_in_use", trace::FieldType::UInt, note->bytes_in_use, {});
    if (const std::string& stack = notes_.stack(*note); !stack.empty())
      annotate("stack", trace::FieldType::String, 0, stack);
  }

  void memory_counter(const Point& point) {
    const MemoryNotes::Note* const note = notes_.find(point.number);
    if (note == nullptr || has_field(*point.event_class, "Total Allocated")) return;  // it has its own counter
    const uint64_t track = tracks_.bytes_in_use(*point.place->group, "memory in use, " + notes_.device(*note));
    event_.start(event::kCounter);
    protozero::pbf_writer message = event_.message();
    message.add_uint64(event::kTrackUuid, track);
    message.add_int64(event::kCounterValue, static_cast<int64_t>(std::min<uint64_t>(note->bytes_in_use, INT64_MAX)));
    append_event(threads_[point.place->index], point.time_ns);
  }

  void add_place(PerfettoSequence& sequence, const Range& range) {
    const auto number = [&](const std::string& key, uint64_t value) {
      if (!has_field(*range.event_class, key))
        event_.annotate(sequence, key, {.type = trace::FieldType::UInt, .bits = value, .real = 0, .text = {}});
    };
    number("device", range.place->group->pid);
    number("stream", range.place->track->queue);
  }

  void add_correlation(PerfettoSequence& sequence, const Range& range) {
    const bool on_device = range.place->track->kind == trace::TrackKind::DeviceQueue;
    const trace::WriterId& writer = range.place->writer->id;
    event_.message().add_uint64(event::kCorrelationId, range.correlation);
    event_.annotate(sequence, "correlation",
                    {.type = trace::FieldType::UInt, .bits = range.correlation, .real = 0, .text = {}});
    if (on_device) {
      if (const uint32_t arrow = launches_.claim_execution(writer, range.correlation))
        event_.message().add_fixed64(event::kTerminatingFlowIds, arrow);
    } else {
      const Launches::Arrows arrows = launches_.claim_launch(writer, range.correlation);
      for (uint32_t i = 0; i < arrows.count; ++i) event_.message().add_fixed64(event::kFlowIds, arrows.first + i);
    }
  }

  // What follows it is not part of the event (event_note.h).
  void annotate_note(PerfettoSequence& sequence, trace::PointKind kind, uint64_t id) {
    const std::string note = note_of(kind, id);
    if (note.empty()) return;
    event_.annotate(sequence, std::string(kNoteKey),
                    {.type = trace::FieldType::String, .bits = 0, .real = 0, .text = note});
  }

  void add_flow(uint32_t field, const Point& point) {
    if (!point.enclosed) return;
    const Flows::Part part = flows_.part(point.number);
    for (uint32_t i = 0; i < part.count; ++i) event_.message().add_fixed64(field, part.first + i);
  }

  void append_event(PerfettoSequence& sequence, int64_t time_ns) {
    sequence.append_event(out_, time_ns, event_.bytes());
    if (out_.size() >= kFlushAt) flush();
  }

  void flush() {
    sink_.write(out_);
    out_.clear();
  }

  const trace::Reader& reader_;
  ExportStream& sink_;
  Places places_;
  const Flows flows_;
  Launches launches_;
  MemoryNotes notes_;
  SampleNotes sample_notes_;
  const TimeBase time_base_;
  std::string out_;
  PerfettoTracks tracks_;
  PerfettoSamples samples_;
  std::vector<PerfettoSequence> threads_;  // by Place::index
  PerfettoEvent event_;
};

}  // namespace

WalkReport write_perfetto(const trace::Reader& reader, ExportStream& sink) {
  return PerfettoWriter(reader, sink).write();
}

}  // namespace kymo::convert
