// The names, categories, fields and texts of imported events, with a number each. Equal ones are kept once.
//
// Each thread that reads events has its own tables. A block of events (EventBlock) refers to the tables that it was
// made with; the numbers of the trace are given when it is written (ClassNumbers). So threads share nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/model.h"

namespace kymo::import {

// The values of an event as bytes, in the order of the fields of its class: numbers with as few bytes as they need.

inline constexpr size_t kLongestVarint = 10;

// Returns the end of what it wrote.
inline char* put_varint(char* to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}
inline void put_varint(std::string& to, uint64_t value) {
  char buffer[kLongestVarint];
  to.append(buffer, static_cast<size_t>(put_varint(buffer, value) - buffer));
}
inline uint64_t take_varint(const char*& at) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at++);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}
// Small negative numbers are small too.
inline uint64_t to_zigzag(uint64_t bits) {
  return (bits << 1) ^ static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63);
}
inline uint64_t from_zigzag(uint64_t value) { return (value >> 1) ^ (~(value & 1) + 1); }

inline double take_double(const char*& at) {
  double value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

// A named value of an event.
struct ImportedValue {
  std::string_view name;
  trace::FieldType type = trace::FieldType::Int;
  uint64_t bits = 0;
  double real = 0;
  std::string_view text;
};

struct ImportedEvent {
  std::string_view name, category;
  const std::vector<ImportedValue>* values = nullptr;
  uint32_t colour = 0;  // as in trace::EventClass
  uint8_t lane = 0;     // of a range: the first lane that it may be on
};

// Texts with a number each. Texts longer than kLongest are cut off.
class Texts {
 public:
  static constexpr size_t kLongest = 1 << 20;

  Texts();
  uint32_t number_of(std::string_view text);
  std::string_view operator[](uint32_t number) const { return texts_[number]; }
  size_t size() const { return texts_.size(); }

 private:
  struct Slot {
    uint32_t hash = 0, number = kFree;
  };
  static constexpr uint32_t kFree = UINT32_MAX;

  void grow();
  std::string_view keep(std::string_view text);

  std::vector<Slot> slots_;  // the number is a power of two
  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> memory_;
  char* free_ = nullptr;  // in the last block for short texts
  size_t left_ = 0;
};

class EventTables {
 public:
  // Events are of one class if their names, categories, colours and fields are equal.
  struct Class {
    uint32_t name = 0, category = 0;  // texts
    uint32_t fields = 0;              // a list of fields
    uint32_t colour = 0;
    uint32_t hash = 0;
  };
  static constexpr size_t kMostFields = 254;  // of an event; one more may be its name
  static constexpr size_t kLongestName = 1 << 16;

  EventTables();
  uint32_t class_of(const ImportedEvent& event);
  const Class& at(uint32_t number) const { return classes_[number]; }
  size_t class_count() const { return classes_.size(); }
  std::vector<trace::Field> fields(uint32_t list) const;

  Texts texts;

 private:
  // A list of fields is another one plus a field. List 0 is empty.
  struct FieldList {
    uint32_t before = 0;
    uint32_t name = 0;  // a text
    trace::FieldType type = trace::FieldType::Int;
    struct Next {
      uint32_t name = 0, list = 0;
      trace::FieldType type = trace::FieldType::Int;
    };
    std::vector<Next> next;  // some of the lists that begin with this one
  };

  uint32_t longer_list(uint32_t list, std::string_view name, trace::FieldType type);
  uint32_t number_of_category(std::string_view category);
  void grow();

  std::vector<uint32_t> slots_;  // classes by hash: the number plus 1; 0: free
  std::vector<Class> classes_;
  std::vector<FieldList> lists_;
  std::unordered_map<std::string, uint32_t> more_lists_;  // that are not in `next`
  std::string key_;
  static constexpr size_t kRecent = 4;
  uint32_t recent_categories_[kRecent] = {};
  size_t next_recent_ = 0;
};

struct ImportedRecord {
  enum class Kind : uint8_t { Range, Begin, End, Point, Dropped };
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t start = 0;
  int64_t end = 0;        // of a range, or kNever; of a point: the id
  uint32_t values = 0;    // where its values begin, in the bytes of its block
  uint32_t class_id = 0;  // in the tables of its block
  uint32_t block = 0;     // its block, while a track is written
  Kind kind = Kind::Range;
  uint8_t point = 0;  // trace::PointKind; of a range: ImportedEvent::lane
  bool has_correlation = false;
};
static_assert(sizeof(ImportedRecord) == 32);

// The order of the records of a track: by their starts; outer ranges before inner ones, and a range before the points
// at its start.
inline bool comes_first(const ImportedRecord& a, const ImportedRecord& b) {
  if (a.start != b.start) return a.start < b.start;
  const bool a_is_range = a.kind == ImportedRecord::Kind::Range, b_is_range = b.kind == ImportedRecord::Kind::Range;
  if (a_is_range != b_is_range) return a_is_range;
  return a_is_range && a.end > b.end;
}

// A block of events of one track, as a reader adds them: 32 bytes for each, plus their values.
//
// A track is a list of blocks (trace_builder.h). Blocks of one track may have different tables, because several threads
// read a file. Not thread-safe.
struct EventBlock {
  const EventTables* tables = nullptr;
  std::vector<ImportedRecord> records;
  std::string bytes;       // the values of all records
  bool has_parts = false;  // begins, ends or dropped records
  bool has_async = false;  // begins or ends of ranges across threads
  uint64_t events = 0;     // records that are not ends
  uint64_t reversed = 0;   // ranges that ended before they began, and are empty now
  uint64_t beyond = 0;     // events whose times were out of range
  int64_t earliest = 0;    // time, or 0 if none is negative
  bool is_sorted = false;  // known by check_order()

  // Times are in nanoseconds and may be negative. `correlation` is a number of the process; 0: none.
  void range(EventTables& with, int64_t start, int64_t end, const ImportedEvent& event, uint64_t correlation);
  // A range without an end.
  void open_range(EventTables& with, int64_t start, const ImportedEvent& event, uint64_t correlation);
  // A range in two parts. The innermost open range of the track ends.
  void begin(EventTables& with, int64_t time, const ImportedEvent& event, uint64_t correlation);
  void end(int64_t time);
  void point(EventTables& with, int64_t time, trace::PointKind kind, uint64_t id, const ImportedEvent& event);
  // Takes back a record.
  void drop(ImportedRecord& record);
  // Finds out whether the records are sorted, so that the thread that writes them need not.
  void check_order();

  // Forgets what was added after size() was that. Keeps the memory.
  struct Size {
    size_t records = 0, bytes = 0;
    bool has_parts = false;
    uint64_t events = 0, reversed = 0, beyond = 0;
  };
  Size size() const { return {records.size(), bytes.size(), has_parts, events, reversed, beyond}; }
  void resize(const Size& size);

 private:
  ImportedRecord& add(EventTables& with, int64_t time, const ImportedEvent& event, uint64_t correlation);
  int64_t bounded(int64_t time);
};

// The event classes of the trace that is written, numbered in the order of their first event, whatever tables the
// events come from.
class ClassNumbers {
 public:
  static constexpr size_t kMost = 1 << 18;  // beyond, events carry their names

  struct Known {
    uint32_t id = 0;  // 0: not known yet
    bool has_name_in_value = false;
    uint32_t written_by = 0;                               // the last process that has written it; 0: none
    const std::vector<trace::FieldType>* types = nullptr;  // of the values in the block, without the name
  };

  Known& of(const EventTables& tables, uint32_t class_id) {
    if (&tables != last_tables_) select(tables);
    if (class_id >= last_->known.size()) last_->known.resize(tables.class_count());
    Known& known = last_->known[class_id];
    return known.id != 0 ? known : add(tables, class_id);
  }
  const trace::EventClass& at(uint32_t id) const { return classes_[id - 1]; }
  size_t size() const { return classes_.size(); }

 private:
  struct OfTables {
    std::vector<Known> known;  // by the class of the tables
    std::unordered_map<uint32_t, std::vector<trace::FieldType>> types;
  };

  void select(const EventTables& tables);
  Known& add(const EventTables& tables, uint32_t class_id);

  std::deque<trace::EventClass> classes_;  // the id is the index plus 1
  std::unordered_map<std::string, uint32_t> ids_;
  std::unordered_map<const EventTables*, OfTables> of_tables_;
  const EventTables* last_tables_ = nullptr;
  OfTables* last_ = nullptr;
};

}  // namespace kymo::import
