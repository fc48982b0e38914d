// Reads a trace file: by its index where there is one, by its chunk headers otherwise; events only when asked for.
//
// Everything read is untrusted: lengths are checked against the file and against fixed caps, damaged chunks are skipped
// and listed in problems(), a torn end ends the trace cleanly. One Reader may be used by several threads at once for
// reading events; refresh() needs it alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model.h"

namespace kymo::trace {

// What a chunk header tells.
struct EventChunk {
  uint64_t offset = 0;  // in the file
  uint64_t length = 0;  // header included
  WriterId writer;
  uint32_t track = 0;
  uint32_t ring = 0;
  uint64_t sequence_begin = 0, sequence_end = 0;
  uint64_t first = 0, last = 0;  // ticks: earliest and latest time in it
  uint32_t range_count = 0, point_count = 0;
};

// Everything one writer said about itself, merged from its chunks.
struct WriterInfo {
  WriterId id;
  Origin origin;
  std::map<uint32_t, EventClass> classes;
  std::map<uint32_t, Track> tracks;
  std::map<uint32_t, ClockDomain> clocks;
  std::map<uint32_t, Module> modules;
  std::map<uint32_t, Frame> frames;
  std::map<uint32_t, Stack> stacks;
  std::vector<Loss> losses;  // merged by cause, track and detail
  std::map<uint32_t, Cost> costs;
  std::optional<Ending> ending;

  // Is there more that this trace should hold? Its process still records, or has left it in shared memory.
  bool lacks_ending() const { return origin.announces_ending != 0 && !ending; }
};

struct Problem {
  uint64_t offset = 0, length = 0;
  std::string what;  // one line, for people
};

// Which parts of a chunk to decode; the rest of the batch stays empty.
enum Part : unsigned {
  kRangeTimes = 1,
  kRangeClasses = 2,
  kRangeDepths = 4,  // and lanes
  kRangeValues = 8,
  kRangeCorrelations = 16,
  kPoints = 32,
  kPointValues = 64,
  kOpenStacks = 128,
  kEverything = ~0u,
};

class Reader {
 public:
  // Throws kymo::Error: no such file, not a trace (says what it looks like), nothing readable in it.
  explicit Reader(const std::string& path);
  // What is in `path`, called `name` in messages and by path().
  Reader(const std::string& path, const std::string& name);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  // Looks for what was appended since; true when there is more.
  bool refresh();

  const std::string& path() const;
  uint64_t file_size() const;
  uint64_t trace_size() const;  // bytes in whole chunks; less than file_size() when the end is torn
  bool indexed() const;         // opened by index alone
  const std::map<WriterId, WriterInfo>& writers() const;  // every event chunk's is among them
  const std::set<std::string>& sessions() const;          // that the trace names; one may have no writer yet
  bool has_unended_session() const;                       // a recording whose collector did not say that it was done
  const std::vector<EventChunk>& event_chunks() const;    // in file order: per track also in time order
  const std::vector<Problem>& problems() const;

  // For whoever opened it to say, and others to know: more is to come, and nothing is missing yet.
  bool is_being_written() const;
  void set_being_written(bool is);

  // Throws kymo::Error when the chunk is damaged: the caller decides whether to go on with the next. What `into` then
  // holds is not specified; otherwise its vectors are used again, so that reading many chunks into one batch allocates
  // nothing in the long run.
  void read(const EventChunk&, EventBatch& into, unsigned parts = kEverything) const;
  // Reads only the front of the chunk, as does read() of kOpenStacks alone. Throws as read() does.
  std::vector<DepthSummary> summaries(const EventChunk&) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The name of an event with its places filled: "step {}" and 7 give "step 7". `cursor` walks the values of a batch in
// event order; call it for every event of the batch, or skip() it.
class ValueCursor {
 public:
  explicit ValueCursor(const Values& values) : values_(values) {}
  struct Value {
    FieldType type;
    uint64_t bits = 0;
    double real = 0;
    std::string_view text;
  };
  // The values of the next event, which has this class (null: class 0, an inline name). Bounds-checked: a batch whose
  // streams are too short gives zeros and empty strings.
  const std::vector<Value>& next(const EventClass* event_class);
  // Did a stream end before the events did? From there on the values mean nothing.
  bool is_short() const { return is_short_; }

 private:
  const Values& values_;
  size_t int_ = 0, double_ = 0, text_ = 0;
  bool is_short_ = false;
  std::vector<Value> row_;
};

std::string full_name(const EventClass* event_class, const std::vector<ValueCursor::Value>& row);
std::string to_text(const ValueCursor::Value&);

}  // namespace kymo::trace
