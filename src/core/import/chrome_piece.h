// The events of a piece of a Chrome trace, by one thread, without anything that the pieces before it say.
//
// What depends on other pieces is left open: rows have keys and no tracks yet, and the ids of flows and of ranges
// across threads are texts. ChromeImport resolves them, one piece after the other.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/builder/event_tables.h"
#include "import/exported.h"
#include "import/json_events.h"
#include "import/json_pieces.h"

namespace kymo::import {

// The stream and context of a device's row, by the key of the row. The first event of the row in the file says them.
struct ChromeQueue {
  uint64_t queue = 0, context = 0;
  bool operator==(const ChromeQueue&) const = default;
};
using ChromeQueues = std::unordered_map<std::string, ChromeQueue>;

// "pid\ntid", as JsonId::key() writes them.
std::string chrome_row_key(const JsonId& pid, const JsonId& tid);

struct ChromePiece {
  struct Row {
    std::string pid, tid;  // JsonId::key()
    EventBlock block;
    std::optional<ChromeQueue> queue;  // it is the stream of a device
  };
  // A metadata event.
  struct Name {
    size_t rows_before = 0;  // rows that events before it are on
    std::string what, pid, tid, text;
    std::optional<uint64_t> number;
    ChromeQueue queue;  // of Kymo's exports
  };
  // A point whose number is not known yet.
  struct Open {
    enum class Kind : uint8_t { Flow, Async, UnfinishedAsync, UnfinishedRange, Sample };
    Kind kind = Kind::Flow;
    uint32_t row = 0, record = 0;
    std::string key;  // of an id; the frames of a stack
  };
  struct Counts {
    uint64_t without_time = 0, without_phase = 0, bad = 0, bad_durations = 0;
    std::array<uint64_t, 128> phases{};  // of kinds that are not imported
  };

  std::vector<Row> rows;
  std::vector<Name> names;
  std::vector<Open> open;
  Counts counts;
  std::optional<uint32_t> launching_row;  // the first row that launched work of a device
  bool ends_inside_event = false;         // the piece was cut at the wrong place; nothing else is valid

  void clear();
};

// Reads pieces. One for each thread.
class ChromePieceReader {
 public:
  // Without `range_values`, ranges have no values.
  explicit ChromePieceReader(EventTables& tables, bool range_values = true)
      : tables_(tables), range_values_(range_values) {
    if (!range_values) json_.skip_range_values();
  }

  // Replaces the content of `to`. `queues`: what is known about rows.
  void read(JsonPiece& piece, const ChromeQueues& queues, ChromePiece& to);

  JsonEvents& json() { return json_; }

 private:
  // A place to return to.
  struct Mark {
    std::vector<EventBlock::Size> rows;
    size_t names = 0, open = 0;
    ChromePiece::Counts counts;
    std::optional<uint32_t> launching_row;
  };

  bool try_read(char* text, size_t size);
  void read_part(std::string_view text, size_t bytes);
  void read_bad(std::string_view text);
  void visit(const JsonEvent& event);
  void range(const JsonEvent& event);
  void instant(const JsonEvent& event);
  void sample(const JsonEvent& event);
  void counter(const JsonEvent& event);
  void flow(const JsonEvent& event, trace::PointKind kind);
  void async(const JsonEvent& event, trace::PointKind kind);
  void name(const JsonEvent& event);
  uint32_t row(const JsonEvent& event);
  uint32_t queue(const JsonEvent& event);
  bool is_known(const JsonEvent& event, uint32_t row, const JsonArgument& argument) const;
  // The last point of the row has a number that is not known yet.
  void add_open(ChromePiece::Open::Kind kind, uint32_t row, std::string key);
  void point(uint32_t row, int64_t time, trace::PointKind kind, uint64_t id, const ImportedEvent& event) {
    blocks_[row].point(tables_, time, kind, id, event);
  }
  void prepare(const JsonEvent& event);
  ImportedEvent head(const JsonEvent& event);
  Mark mark() const;
  void return_to(const Mark& mark);

  EventTables& tables_;
  const bool range_values_;
  JsonEvents json_;
  const ChromeQueues* queues_ = nullptr;
  ChromePiece* to_ = nullptr;
  std::unordered_map<std::string, uint32_t> rows_;  // of this piece
  std::deque<EventBlock> blocks_;                   // of its rows; their memory is used again
  // Most events are on one of the last rows.
  struct Recent {
    JsonId pid, tid;
    std::string pid_text, tid_text;
    uint32_t row = 0;
    bool is_set = false;
    bool is(const JsonEvent& event) const;
  };
  std::array<Recent, 2> recent_;
  size_t next_recent_ = 0;
  std::vector<ImportedValue> values_;
  Additions additions_;
  std::string name_, part_;
};

}  // namespace kymo::import
