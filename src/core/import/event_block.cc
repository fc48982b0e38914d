#include "import/event_block.h"

#include <algorithm>
#include <cstring>

#include "import/value_bytes.h"

namespace kymo::import {
namespace {

using trace::FieldType;
using Kind = ImportedRecord::Kind;

// Times beyond this cannot be added up. It is a number that a double has exactly, because viewers use doubles: rounded
// up, an event would be after the end of its trace.
constexpr int64_t kLatest = 2'300'000'000'000'000'000;

constexpr size_t kMostBytes = (EventTables::kMostFields + 1) * kLongestVarint;

char* put_values(char* to, EventTables& tables, const std::vector<ImportedValue>& values) {
  size_t left = EventTables::kMostFields;
  for (const ImportedValue& value : values) {
    if (left-- == 0) break;
    switch (value.type) {
      case FieldType::Double:
        std::memcpy(to, &value.real, sizeof value.real);
        to += sizeof value.real;
        break;
      case FieldType::String:
        to = put_varint(to, tables.texts.number_of(value.text));
        break;
      case FieldType::Int:
        to = put_varint(to, to_zigzag(value.bits));
        break;
      default:
        to = put_varint(to, value.bits);
    }
  }
  return to;
}

}  // namespace

int64_t EventBlock::bounded(int64_t time) {
  beyond += time < -kLatest || time > kLatest;
  time = std::clamp(time, -kLatest, kLatest);
  earliest = std::min(earliest, time);
  return time;
}

ImportedRecord& EventBlock::add(EventTables& with, int64_t time, const ImportedEvent& event, uint64_t correlation) {
  char buffer[kMostBytes];
  char* end = buffer;
  if (correlation != 0) end = put_varint(end, correlation);
  if (event.values != nullptr) end = put_values(end, with, *event.values);
  tables = &with;
  ++events;
  ImportedRecord& record = records.emplace_back();
  record.start = bounded(time);
  record.values = static_cast<uint32_t>(bytes.size());
  record.class_id = with.class_of(event);
  record.has_correlation = correlation != 0;
  bytes.append(buffer, static_cast<size_t>(end - buffer));
  return record;
}

void EventBlock::range(EventTables& with, int64_t start, int64_t end, const ImportedEvent& event,
                       uint64_t correlation) {
  reversed += end < start;
  const bool is_beyond = start < -kLatest || start > kLatest;
  ImportedRecord& record = add(with, start, event, correlation);
  record.kind = Kind::Range;
  record.end = std::max(record.start, is_beyond ? std::clamp(end, -kLatest, kLatest) : bounded(end));
}

void EventBlock::open_range(EventTables& with, int64_t start, const ImportedEvent& event, uint64_t correlation) {
  ImportedRecord& record = add(with, start, event, correlation);
  record.kind = Kind::Range;
  record.end = ImportedRecord::kNever;
}

void EventBlock::begin(EventTables& with, int64_t time, const ImportedEvent& event, uint64_t correlation) {
  add(with, time, event, correlation).kind = Kind::Begin;
  has_parts = true;
}

void EventBlock::end(int64_t time) {
  ImportedRecord& record = records.emplace_back();
  record.kind = Kind::End;
  record.start = bounded(time);
  has_parts = true;
}

void EventBlock::point(EventTables& with, int64_t time, trace::PointKind kind, uint64_t id,
                       const ImportedEvent& event) {
  ImportedRecord& record = add(with, time, event, 0);
  record.kind = Kind::Point;
  record.end = static_cast<int64_t>(id);
  record.point = static_cast<uint8_t>(kind);
}

void EventBlock::drop(ImportedRecord& record) {
  record.kind = Kind::Dropped;
  has_parts = true;
  --events;
}

void EventBlock::check_order() { is_sorted = std::is_sorted(records.begin(), records.end(), comes_first); }

void EventBlock::resize(const Size& size) {
  records.resize(size.records);
  bytes.resize(size.bytes);
  has_parts = size.has_parts;
  events = size.events;
  reversed = size.reversed;
  beyond = size.beyond;
}

}  // namespace kymo::import
