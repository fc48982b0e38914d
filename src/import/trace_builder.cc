#include "import/trace_builder.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/version.h"
#include "import/track_writer.h"
#include "import/value_bytes.h"
#include "kymo/error.h"
#include "trace/random_id.h"

namespace kymo::import {
namespace {

using trace::FieldType;

constexpr size_t kMostClasses = 1 << 18;  // beyond, events carry their names
constexpr size_t kLongestName = 1 << 16;
constexpr size_t kLongestText = 1 << 20;
constexpr size_t kMostFields = 255;

// Times beyond this cannot be added up.
constexpr int64_t kLatest = std::numeric_limits<int64_t>::max() / 4;
int64_t bounded(int64_t time) { return std::clamp(time, -kLatest, kLatest); }

}  // namespace

uint32_t Texts::number_of(std::string_view text) {
  text = text.substr(0, kLongestText);
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  numbers_.emplace(texts_.emplace_back(text), number);
  return number;
}

uint32_t TraceBuilder::add_process(ImportedProcess process) {
  processes_.push_back(std::move(process));
  return static_cast<uint32_t>(processes_.size() - 1);
}

uint32_t TraceBuilder::add_track(ImportedTrack track) {
  tracks_.push_back(std::move(track));
  events_.emplace_back();
  return static_cast<uint32_t>(tracks_.size() - 1);
}

void TraceBuilder::range(uint32_t track, int64_t start, int64_t end, const ImportedEvent& event, uint64_t correlation) {
  ImportedRecord& record = append(track, event, correlation);
  record.kind = ImportedRecord::Kind::Range;
  record.start = bounded(start);
  record.end = std::max(record.start, bounded(end));
}

void TraceBuilder::open_range(uint32_t track, int64_t start, const ImportedEvent& event, uint64_t correlation) {
  ImportedRecord& record = append(track, event, correlation);
  record.kind = ImportedRecord::Kind::Range;
  record.start = bounded(start);
  record.end = ImportedRecord::kNever;
}

void TraceBuilder::begin(uint32_t track, int64_t time, const ImportedEvent& event, uint64_t correlation) {
  ImportedRecord& record = append(track, event, correlation);
  record.kind = ImportedRecord::Kind::Begin;
  record.start = bounded(time);
}

void TraceBuilder::end(uint32_t track, int64_t time) {
  ImportedRecord& record = events_[track].records.emplace_back();
  record.kind = ImportedRecord::Kind::End;
  record.start = bounded(time);
}

void TraceBuilder::point(uint32_t track, int64_t time, trace::PointKind kind, uint64_t id, const ImportedEvent& event) {
  ImportedRecord& record = append(track, event, 0);
  record.kind = ImportedRecord::Kind::Point;
  record.start = bounded(time);
  record.end = static_cast<int64_t>(id);
  record.point = static_cast<uint8_t>(kind);
}

void TraceBuilder::mark() {
  marks_.clear();
  for (const TrackEvents& events : events_) marks_.push_back({events.records.size(), events.bytes.size()});
  marked_count_ = event_count_;
}

void TraceBuilder::rollback() {
  for (size_t track = 0; track < events_.size(); ++track) {
    const Mark mark = track < marks_.size() ? marks_[track] : Mark{};
    events_[track].records.resize(mark.records);
    events_[track].bytes.resize(mark.bytes);
  }
  event_count_ = marked_count_;
}

void TraceBuilder::lose(std::string detail, uint64_t count) {
  if (count == 0) return;
  losses_[std::move(detail)] += count;
  lost_count_ += count;
}

ImportedRecord& TraceBuilder::append(uint32_t track, const ImportedEvent& event, uint64_t correlation) {
  ++event_count_;
  TrackEvents& events = events_[track];
  bool name_in_value = false;
  const uint32_t class_id = class_of(event, name_in_value);
  ImportedRecord& record = events.records.emplace_back();
  record.class_id = class_id;
  record.values = events.bytes.size();
  record.has_correlation = correlation != 0;
  append_values(events.bytes, event, name_in_value, correlation);
  return record;
}

// Classes are equal if name, category and fields are.
uint32_t TraceBuilder::class_of(const ImportedEvent& event, bool& name_in_value) {
  const auto key_of = [&](std::string_view name) {
    key_.clear();
    put_varint(key_, name.size());
    key_ += name;
    put_varint(key_, event.category.size());
    key_ += event.category;
    put_varint(key_, event.colour);
    if (event.values == nullptr) return;
    for (const ImportedValue& value : *event.values) {
      put_varint(key_, value.name.size());
      key_ += value.name;
      key_ += static_cast<char>(value.type);
    }
  };
  const std::string_view name = event.name.substr(0, kLongestName);
  key_of(name);
  if (const auto known = class_ids_.find(key_); known != class_ids_.end()) return known->second;
  name_in_value = classes_.size() >= kMostClasses;
  if (name_in_value) {
    key_of("{}");
    key_ += '+';
    if (const auto known = class_ids_.find(key_); known != class_ids_.end()) return known->second;
  }
  trace::EventClass& made = classes_.emplace_back();
  made.id = static_cast<uint32_t>(classes_.size());
  made.name = name_in_value ? "{}" : std::string(name);
  made.category = std::string(event.category.substr(0, kLongestName));
  made.colour = event.colour;
  if (name_in_value) made.fields.push_back({"", FieldType::String});
  if (event.values != nullptr) {
    for (const ImportedValue& value : *event.values) {
      if (made.fields.size() == kMostFields) break;
      // A field without a name would fill a "{}" of the class's name.
      const std::string_view field = value.name.empty() ? std::string_view("value") : value.name;
      made.fields.push_back({std::string(field.substr(0, kMostFields)), value.type});
    }
  }
  class_ids_.emplace(key_, made.id);
  return made.id;
}

void TraceBuilder::append_values(std::string& to, const ImportedEvent& event, bool name_in_value,
                                 uint64_t correlation) {
  if (correlation != 0) put_varint(to, correlation);
  if (name_in_value) put_varint(to, texts_.number_of(event.name));
  if (event.values == nullptr) return;
  size_t left = kMostFields - (name_in_value ? 1 : 0);
  for (const ImportedValue& value : *event.values) {
    if (left-- == 0) break;
    switch (value.type) {
      case FieldType::Double:
        put_double(to, value.real);
        break;
      case FieldType::String:
        put_varint(to, texts_.number_of(value.text));
        break;
      case FieldType::Int:
        put_varint(to, to_zigzag(value.bits));
        break;
      default:
        put_varint(to, value.bits);
    }
  }
}

void TraceBuilder::write(trace::Writer& writer, int64_t realtime_base_ns, const std::string& source) {
  int64_t earliest = 0;
  for (const TrackEvents& events : events_)
    for (const ImportedRecord& record : events.records) earliest = std::min(earliest, record.start);
  const int64_t shift = -earliest;  // ticks are not negative
  if (processes_.empty()) add_process({});
  merge_lanes();
  for (uint32_t process = 0; process < processes_.size(); ++process)
    write_process(writer, process, bounded(realtime_base_ns), shift, source);
}

// Gives the ranges of lanes to the tracks that they are lanes of.
void TraceBuilder::merge_lanes() {
  for (uint32_t track = 0; track < tracks_.size(); ++track) {
    const std::optional<uint32_t> of = tracks_[track].lane_of;
    if (!of || *of == track || tracks_[*of].lane_of) continue;
    TrackEvents lane = std::exchange(events_[track], {});
    TrackEvents& to = events_[*of];
    TrackWriter::pair_ends(lane.records);
    for (ImportedRecord& record : lane.records) {
      record.values = record.values + to.bytes.size();
      if (record.kind == ImportedRecord::Kind::Range) record.point = tracks_[track].lane;
      to.records.push_back(record);
    }
    to.bytes += lane.bytes;
  }
}

void TraceBuilder::write_process(trace::Writer& writer, uint32_t number, int64_t realtime_base_ns, int64_t shift,
                                 const std::string& source) {
  const bool is_first = number == 0;
  std::vector<uint32_t> own;
  for (uint32_t track = 0; track < tracks_.size(); ++track)
    if (tracks_[track].process == number && !events_[track].records.empty()) own.push_back(track);
  if (own.empty() && !is_first) return;

  const ImportedProcess& process = processes_[number];
  const trace::WriterId id = trace::random_writer_id();
  trace::Origin origin;
  origin.session = id.hex();
  origin.pid = process.pid;
  origin.executable = process.name;
  origin.start_realtime_ns = static_cast<uint64_t>(std::max<int64_t>(realtime_base_ns, 0));
  origin.kymo_version = base::kVersion;
  origin.metadata.emplace_back("imported from", source);
  for (const auto& one : process.metadata) origin.metadata.push_back(one);
  writer.origin(id, origin);

  // One clock for all tracks. The times of the file are taken as they are.
  trace::ClockDomain clock;
  clock.id = TrackWriter::kClock;
  const uint64_t zero = static_cast<uint64_t>(std::max<int64_t>(realtime_base_ns - shift, 0));
  clock.pairs = {{0, 0, zero, 0}, {1'000'000'000, 1'000'000'000, zero + 1'000'000'000, 0}};
  writer.clock(id, clock);

  std::vector<trace::Track> tracks;
  for (const uint32_t at : own) {
    const ImportedTrack& from = tracks_[at];
    trace::Track& track = tracks.emplace_back();
    track.id = at + 1;
    track.kind = from.kind;
    track.clock = TrackWriter::kClock;
    track.tid = from.tid;
    track.name = from.name;
    track.device_uuid = from.device;
    track.context = from.context;
    track.queue = from.queue;
  }
  constexpr size_t kPerChunk = 512;
  for (size_t at = 0; at < tracks.size(); at += kPerChunk)
    writer.tracks(id, std::span(tracks).subspan(at, std::min(kPerChunk, tracks.size() - at)));

  if (is_first && !losses_.empty()) {
    std::vector<trace::Loss> losses;
    for (const auto& [detail, count] : losses_)
      losses.push_back({trace::LossCause::NotImported, 0, count, 0, 0, detail});
    writer.losses(id, losses);
  }

  stacks_.write(writer, id, own);
  TrackWriter::Target target{writer, id, classes_, texts_, shift, {}};
  for (const uint32_t at : own) {
    TrackWriter(target, at + 1).write(events_[at]);
    events_[at] = {};
  }
}

}  // namespace kymo::import
