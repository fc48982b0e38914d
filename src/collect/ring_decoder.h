// From the cells of one ring to batches of events: pairs beginnings with ends, gives ranges their depth, takes
// arguments apart by their class.
//
// A ring serves one thread or device's queue after another. A batch holds one's events, so the decoder stops where the
// next one begins; call it again from there. Times on a queue are those of its device's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/class_table.h"
#include "collect/lanes.h"
#include "collect/open_handles.h"
#include "collect/queue_clocks.h"
#include "collect/queue_order.h"
#include "record/layout.h"
#include "trace/format.h"
#include "trace/model.h"

namespace kymo::collect {

// The range that shows a thread waiting for the collector; beyond the ids a registry gives.
inline constexpr uint32_t kBlockedClass = record::kMaxClasses + 1;
trace::EventClass blocked_class();

class RingDecoder {
 public:
  // What the rings of a process share; it outlives them.
  struct Shared {
    const ClassTable& classes;
    OpenHandles& handles;
    QueueClocks& clocks;
    uint32_t& next_track;  // numbers threads and queues
  };
  RingDecoder(uint32_t ring, const Shared& shared);

  // A chunk states all ranges that are open at its ends, so there is a limit to how many nest: those beyond it, or
  // beyond what their values may take, go into the file as asynchronous ranges, each at once. A program that never ends
  // its ranges costs the collector no more memory than that.
  static constexpr size_t kMostNested = 8192;  // or chunks would say little else
  static constexpr size_t kMostNestedValueBytes = 1'500'000;
  // How many of those are open after these points of this track; nothing: the points do not say.
  static std::optional<uint64_t> beyond_limit_after(const trace::Points& points, uint32_t track);

  // Continues where an earlier collector stopped: with this track and these open ranges, and so many beyond the limit.
  void resume(const trace::Track& track, std::vector<trace::OpenRange> open, uint64_t beyond_limit = 0);

  // Decodes cells [from, to) of a ring (mask = cells - 1) into batch() and returns where it stopped: at `to`, or in
  // front of the cells of the next thread.
  uint64_t decode(const record::Cell* cells, uint64_t mask, uint64_t from, uint64_t to);

  // The same for what was left aside, and for ends that found no room even there; comes after cell `sequence` of the
  // ring.
  void decode_aside(const record::Cell* cells, uint32_t count, uint64_t lost_ends, uint64_t sequence);

  // What the last decode() made. Valid until the next.
  const trace::EventBatch& batch() const { return batch_; }
  bool batch_has_events() const;

  // Since the last call: what was lost, and the track where a thread or a queue has begun or was named. A thread's
  // clock is for the caller to fill in.
  std::vector<trace::Loss> take_losses();
  bool take_changed_track(trace::Track& track);

  uint32_t track() const { return track_.id; }
  uint64_t open_count() const { return stack_.size() + beyond_limit_; }  // ranges begun and not ended
  uint64_t blocked_ticks() const { return blocked_ticks_; }              // of this thread so far

  // Cells were overwritten before they were read: what was open is unknown now, and perhaps whose they were. A `tid` of
  // 0: a queue has the ring, and says in what follows which.
  void lose_cells(uint64_t count, uint32_t tid, std::string name);
  bool track_changed() const { return track_changed_; }

 private:
  struct Open {
    uint64_t start;
    uint32_t class_id;
    uint32_t values;  // index + 1 into open_values_; 0: none
  };
  void begin(uint64_t time, uint32_t class_id);
  void end(uint64_t time);
  void begin_beyond_limit(uint64_t time, uint32_t class_id);
  void end_beyond_limit(uint64_t time);
  void add_range(uint64_t start, uint64_t end, uint32_t class_id);
  void span(uint64_t time, uint32_t class_id);
  void span_on_queue(uint64_t start, uint64_t end, uint32_t class_id, uint64_t correlation);
  void span_on_thread(uint64_t start, uint64_t end, uint32_t class_id, uint64_t correlation);
  bool put_inside_span(uint64_t start);
  void correlate(uint64_t correlation);
  void begin_queue(uint64_t time);
  void begin_track(trace::Track track);
  void point(record::Kind kind, uint64_t time, uint32_t class_id);
  void add_point(trace::PointKind kind, uint64_t time, uint32_t class_id, uint64_t id, size_t skip_words);
  void special(record::Kind kind, uint64_t time);
  bool put_values(const trace::EventClass& event_class, trace::Values& into, size_t skip_words) const;
  uint64_t word_at(size_t i) const { return i < words_.size() ? words_[i] : 0; }
  void damaged(uint64_t time);
  trace::Values& next_open_values();
  void forget_open_ranges();
  void size_ranges(size_t size);
  std::vector<trace::OpenRange> open_ranges() const;

  const ClassTable& classes_;
  OpenHandles& handles_;
  QueueClocks& clocks_;
  const trace::EventClass inline_name_{trace::kInlineName, "", "", 0, {{"", trace::FieldType::String}}};
  trace::EventBatch batch_;
  std::vector<Open> stack_;
  std::vector<trace::Values>
      open_values_;  // of open ranges; longer than their number, because the memory is used again
  uint32_t open_values_count_ = 0;
  size_t open_value_bytes_ = 0;  // what they take in a chunk, at most
  uint64_t beyond_limit_ = 0;    // ranges open within the innermost of stack_
  std::vector<uint64_t> words_;  // of the record at hand
  std::vector<trace::Loss> losses_;
  uint32_t& next_track_;
  trace::Track track_;
  bool track_changed_ = false;
  uint64_t blocked_ticks_ = 0;
  size_t range_count_ = 0;     // the arrays of batch_.ranges are longer while decoding
  uint64_t ended_before_ = 0;  // the end of the last range of the batch before

  QueueClock* clock_ = nullptr;  // of the queue that has the ring; null: a thread has it
  QueueOrder order_;             // of the queue's spans
  Lanes lanes_;                  // of a thread's spans that fit nowhere else
  bool new_owner_ = true;        // what comes next says whose the ring is now
  bool cells_lost_ = false;      // and it may be another's without having said so
  uint64_t overwritten_ = 0;     // cells of a queue not known yet
};

}  // namespace kymo::collect
