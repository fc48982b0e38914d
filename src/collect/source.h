// One segment being drained: a recording process as the collector sees it.
//
// Reading order is what makes nothing get lost or counted twice: a chunk says which cells of which ring it holds, it
// goes into the file, and only then the ring's tail moves. A write that fails is tried again with the same chunk.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/class_table.h"
#include "collect/ring_decoder.h"
#include "record/segment.h"
#include "trace/writer.h"

namespace kymo::collect {

// What the file already holds of a process whose collector stopped before its end.
struct Resume {
  struct Ring {
    uint64_t sequence_end = 0;
    trace::Track track;
    std::vector<trace::OpenRange> open;
    uint64_t beyond_limit = 0;  // RingDecoder::kMostNested
  };
  std::map<uint32_t, Ring> rings;
  std::map<uint32_t, trace::ClockDomain> clocks;
  uint32_t next_track = 1;
};

class Source {
 public:
  enum class From { Now, Beginning };  // records made before the session do not belong to it

  // Takes no ownership of the mapping. `geometry`: as it was checked when another process's segment was mapped.
  Source(record::SegmentHeader& header, trace::Origin origin, From from,
         const std::optional<record::Geometry>& geometry = std::nullopt);
  void resume(const Resume& state);

  // Says who this is. First of all, and again in each file that is to stand alone.
  void introduce(trace::Writer& writer);

  // One look at every ring: those worth a chunk are read, all of them when `everything`. True: something was read.
  // Throws kymo::Error when the file takes no more; nothing is lost by that, the next call goes on.
  bool drain(trace::Writer& writer, bool everything);

  // How full the fullest ring is by now: 0 to 1.
  double fullest() const;

  // Now and then: a clock pair, the tool's own cost, ends that had no start.
  void note(trace::Writer& writer);
  bool is_own() const { return is_own_; }  // of the process that collects

  // Its process runs: the time goes into the segment, for whoever has to tell how long what is open has lasted.
  void saw_alive();
  trace::Ending ending_now() const;

  // The segment was cut short by somebody: what it held and was not read is lost.
  void lose_segment();

  // At the end, after a last drain: what no thread will write any more, and that this is all.
  void finish(trace::Writer& writer, uint64_t collector_cpu_ns);

  const trace::WriterId& id() const { return id_; }
  uint64_t events() const { return events_; }
  uint64_t lost() const { return lost_; }
  uint64_t unfinished() const;  // ranges that have begun and not ended
  uint32_t threads() const { return next_track_ - 1 - queues_; }
  record::SegmentHeader& header() { return header_; }

 private:
  struct Ring {
    RingDecoder decoder;
    uint64_t position = 0;  // cells before it are in the file
    uint64_t decoded = 0;   // cells before it are in the decoder's batch; more than position: to be written
    std::chrono::steady_clock::time_point waiting_since{};  // there was something small to read
    uint64_t records = 0;                                   // of the thread that has it
  };
  Ring& ring(uint32_t index);
  bool worth_reading(Ring& ring, const record::Slot& slot, uint64_t head, uint32_t state, bool everything);
  bool drain_ring(trace::Writer& writer, uint32_t index, bool everything);
  // `head` is where to read to; it moves on where the thread has overwritten everything before it.
  void decode_next(Ring& ring, record::Slot& slot, uint32_t index, uint64_t& head);
  void write_decoded(trace::Writer& writer, Ring& ring);
  void write_events(trace::Writer& writer, const trace::EventBatch& batch);
  void drain_side(trace::Writer& writer, Ring& ring, uint32_t index);
  void flush_catalog(trace::Writer& writer);
  void account(const Ring& ring, uint64_t cells);
  void flush_clocks(trace::Writer& writer);
  void keep_losses(std::vector<trace::Loss> losses);
  void take_slot_losses(record::Slot& slot, uint32_t track);
  void keep_unknown_ends();
  void add_pair();

  record::SlotPage* slot_page(uint32_t index) const { return record::slot_page(&header_, geometry_, index); }

  record::SegmentHeader& header_;
  const record::Geometry geometry_;
  trace::WriterId id_;
  trace::Origin origin_;
  ClassTable classes_;
  OpenHandles handles_;
  QueueClocks queue_clocks_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::map<uint32_t, trace::Track> tracks_;  // of threads and queues that live, for restating
  trace::ClockDomain clock_;
  std::map<uint32_t, trace::Cost> costs_;  // by track, for threads that live
  std::vector<record::Cell> copy_;         // of a ring that its thread may be overwriting

  std::vector<trace::EventClass> new_classes_;  // not in the file yet
  std::vector<trace::Track> new_tracks_;
  std::vector<trace::Loss> new_losses_;
  std::vector<trace::Cost> new_costs_;
  bool is_own_ = false;
  bool is_cut_ = false;
  bool introduced_ = false;
  uint64_t notes_ = 0;
  uint32_t next_track_ = 1;
  uint32_t queues_ = 0;  // of those tracks
  uint64_t events_ = 0;
  uint64_t lost_ = 0;
  uint64_t dropped_ = 0;    // of those: records
  uint64_t explained_ = 0;  // of those: starts, whose ends came without them
};

// What the segment's header says of its process, and what /proc still knows of it.
trace::Origin origin_of(const record::SegmentHeader& header);

}  // namespace kymo::collect
