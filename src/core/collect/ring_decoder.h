// Decodes the cells of one ring to batches of events: matches begins with ends, computes the depth of ranges, and reads
// arguments by their class.
//
// A ring is used by one thread or device queue after another. A batch has the events of only one of them, so the
// decoder stops where the next one starts. Call it again from there. Times on a queue are times of its device's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "collect/class_table.h"
#include "collect/queue_clocks.h"
#include "collect/queue_order.h"
#include "record/layout.h"
#include "trace/format.h"
#include "trace/model.h"

namespace kymo::collect {

// The handles of open ranges across threads, for all rings of a process: finds ends without a start.
class OpenHandles {
 public:
  void begin(uint64_t handle);
  void end(uint64_t handle, uint32_t track, uint64_t time);
  size_t open_count() const { return open_.size(); }
  // An earlier collector has read some starts, which are not known here. From now on no end counts as unknown.
  void accept_unknown_ends() { accepts_unknown_ends_ = true; }
  // Call it after each pass over all rings. Returns the ends without a start. An end may be read before its start, so
  // it is reported only after the next pass.
  std::vector<trace::Loss> unknown_ends();

 private:
  struct LateEnd {
    uint64_t handle;
    uint32_t track;
    uint64_t time;
    bool old;
  };
  std::unordered_set<uint64_t, base::SeededHash> open_;
  std::vector<LateEnd> late_;
  bool accepts_unknown_ends_ = false;
};

// The class of the range that shows a thread waiting for the collector. Its id is above all ids of a registry.
inline constexpr uint32_t kBlockedClass = record::kMaxClasses + 1;
trace::EventClass blocked_class();

class RingDecoder {
 public:
  // Shared by all rings of a process. It must outlive them.
  struct Shared {
    const ClassTable& classes;
    OpenHandles& handles;
    QueueClocks& clocks;
    uint32_t& next_track;  // numbers threads and queues
  };
  RingDecoder(uint32_t ring, const Shared& shared);

  // A chunk lists all ranges that are open at its ends, so nesting has a limit. Ranges above the limit, or above the
  // limit for the size of their values, go into the file immediately as asynchronous ranges. So a program that never
  // ends its ranges does not cost the collector more memory.
  static constexpr size_t kMaxNested = 8192;  // with more, the list would be most of a chunk
  static constexpr size_t kMaxNestedValueBytes = 1'500'000;
  // How many ranges above the limit are open after these points of this track; nothing: the points do not show it.
  static std::optional<uint64_t> beyond_limit_after(const trace::Points& points, uint32_t track);

  // Continues where an earlier collector stopped: with this track, these open ranges, and this number above the limit.
  void resume(const trace::Track& track, std::vector<trace::OpenRange> open, uint64_t beyond_limit = 0);

  // Decodes cells [from, to) of a ring (mask = cells - 1) into batch(). Returns where it stopped: at `to`, or before
  // the cells of the next thread.
  uint64_t decode(const record::Cell* cells, uint64_t mask, uint64_t from, uint64_t to);

  // The same for the records in the side area, and for ends that did not fit even there. They come after cell
  // `sequence` of the ring.
  void decode_aside(const record::Cell* cells, uint32_t count, uint64_t lost_ends, uint64_t sequence);

  // The call that blocks the thread after cell `sequence` becomes an open range.
  void open_wait(uint32_t class_id, uint64_t start, std::vector<uint64_t> words, uint64_t sequence);

  // The result of the last decode(). Valid until the next one.
  const trace::EventBatch& batch() const { return batch_; }
  bool batch_has_events() const;

  // Since the last call: the losses, and the track if a thread or queue has started or got a name. The caller must fill
  // in the clock of a thread.
  std::vector<trace::Loss> take_losses();
  bool take_changed_track(trace::Track& track);

  uint32_t track() const { return track_.id; }
  uint64_t open_count() const { return stack_.size() + beyond_limit_; }  // ranges that have started and not ended
  uint64_t blocked_ticks() const { return blocked_ticks_; }              // of this thread so far

  // Cells were overwritten before they were read. So the open ranges are unknown, and perhaps also the owner of the
  // cells. The begins of open ranges and the ends of ranges that began in these cells are lost with them. If `tid` is
  // 0, a queue owns the ring, and the following cells say which.
  void lose_cells(uint64_t count, uint32_t tid, std::string name);
  bool track_changed() const { return track_changed_; }

 private:
  static constexpr const char* kCellsLost = "cells of a ring; a range takes two";  // the text of such a loss

  struct Open {
    uint64_t start;
    uint32_t class_id;
    uint32_t values;  // index + 1 into open_values_; 0: none
    uint16_t stack;   // record::stack_of
  };
  // If more ranges of other stacks are inside a range that ends, the innermost of them ends instead of it: every split
  // costs as many ranges.
  static constexpr size_t kMaxSplit = 64;
  void begin(uint64_t time, uint32_t class_id, uint16_t stack);
  void end(uint64_t time, uint16_t stack);
  void end_innermost(uint64_t time);
  void end_below(uint64_t time, size_t index);
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
  // The values of open ranges. It has spare entries, whose memory is reused.
  std::vector<trace::Values> open_values_;
  uint32_t open_values_count_ = 0;
  size_t open_value_bytes_ = 0;  // their max size in a chunk
  uint64_t beyond_limit_ = 0;    // open ranges inside the innermost of stack_
  std::vector<uint64_t> words_;  // of the current record
  std::vector<trace::Loss> losses_;
  uint32_t& next_track_;
  trace::Track track_;
  bool track_changed_ = false;
  uint64_t blocked_ticks_ = 0;
  size_t range_count_ = 0;     // the arrays of batch_.ranges are longer while decoding
  uint64_t ended_before_ = 0;  // the end of the last range in the previous batch

  QueueClock* clock_ = nullptr;  // of the queue that owns the ring; null: a thread owns it
  QueueOrder order_;             // of the queue's spans
  Lanes lanes_;                  // for a thread's spans that do not nest
  bool new_owner_ = true;        // the next records say who owns the ring now
  bool cells_lost_ = false;      // the owner may have changed without a record
  bool begins_lost_ = false;     // ranges may have started in lost cells: an end without a begin is a part of that loss
  uint64_t overwritten_ = 0;     // cells of a queue that is not known yet, and ends whose begin was overwritten
};

}  // namespace kymo::collect
