// A segment that is being drained: one recording process from the collector's side.
//
// The order of steps prevents loss and double counting: a chunk says which cells of which ring it has, it goes into the
// file, and only then the ring's tail moves. A failed write is repeated with the same chunk.
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
#include "record/interfaces.h"
#include "record/segment.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::collect {

// What the file already contains of a process whose collector stopped before its end.
struct Resume {
  struct Ring {
    uint64_t sequence_end = 0;
    trace::Track track;
    bool is_described = true;  // false: the file has lost the description of the track
    std::vector<trace::OpenRange> open;
    uint64_t beyond_limit = 0;  // RingDecoder::kMaxNested
  };
  std::map<uint32_t, Ring> rings;
  std::map<uint32_t, trace::ClockDomain> clocks;
  uint32_t next_track = 1;
};

// The positions of a writer's rings when its collector stopped, from its last chunks.
Resume resume_of(const trace::Reader& reader, const trace::WriterId& writer);

class Source {
 public:
  enum class From { Now, Beginning };  // records from before the session do not belong to it

  // Does not own the mapping. `geometry` was checked when another process's segment was mapped.
  Source(record::SegmentHeader& header, trace::Origin origin, From from,
         const std::optional<record::Geometry>& geometry = std::nullopt);
  void resume(const Resume& state);

  // Writes the description of the process. Call it first, and again for each file that must be complete on its own.
  void introduce(trace::Writer& writer);

  // One pass over all rings. Reads the rings that have enough data for a chunk, or all of them if `everything`. True:
  // something was read. Throws kymo::Error if the file cannot be written; nothing is lost then, and the next call
  // continues.
  bool drain(trace::Writer& writer, bool everything);

  // How full the fullest ring is now, from 0 to 1.
  double fullest() const;

  // Call it repeatedly. Writes a clock pair, the tool's own cost, and ends without a start.
  void note(trace::Writer& writer);
  bool is_own() const { return is_own_; }  // it is the process of the collector

  // The process is alive. Stores the time in the segment; recovery uses it to know how long open ranges have lasted.
  void saw_alive();
  trace::Ending ending_now() const;

  // At the end, after a last drain: writes the remaining side areas and losses, and the end of the process.
  void finish(trace::Writer& writer, uint64_t collector_cpu_ns);

  const trace::WriterId& id() const { return id_; }
  uint64_t events() const { return events_; }
  uint64_t lost() const { return lost_; }
  uint64_t unfinished() const;  // ranges that have started and not ended
  uint32_t threads() const { return next_track_ - 1 - queues_; }
  record::SegmentHeader& header() { return header_; }

 private:
  static constexpr uint32_t kClockId = 1;  // of the threads; queues have other clocks

  struct Ring {
    RingDecoder decoder;
    uint64_t position = 0;  // cells before it are in the file
    uint64_t decoded = 0;   // cells before it are in the decoder's batch; if > position: not written yet
    std::chrono::steady_clock::time_point waiting_since{};  // since then there is a little data to read
    uint32_t owner = 0;                                     // the track of its last events
  };
  Ring& ring(uint32_t index);
  bool worth_reading(Ring& ring, const record::Slot& slot, uint64_t head, uint32_t state, bool everything);
  bool drain_ring(trace::Writer& writer, uint32_t index, bool everything);
  void read_until(trace::Writer& writer, Ring& ring, uint32_t index, uint64_t head);
  // Reads up to `head`. It moves forward if the thread has overwritten everything before it.
  void decode_next(Ring& ring, record::Slot& slot, uint32_t index, uint64_t& head);
  void write_decoded(trace::Writer& writer, Ring& ring);
  void write_events(trace::Writer& writer, const trace::EventBatch& batch);
  void free_retired(trace::Writer& writer, Ring& ring, uint32_t index);
  void drain_side(trace::Writer& writer, Ring& ring, uint32_t index);
  void open_wait(trace::Writer& writer, Ring& ring, uint32_t index);
  void end_track(uint32_t track);
  void state_classes(const trace::EventBatch& batch);
  void count_interfaces(const trace::EventBatch& batch);
  void flush_catalog(trace::Writer& writer);
  void account(const Ring& ring, uint64_t cells);
  void flush_clocks(trace::Writer& writer);
  void keep_losses(std::vector<trace::Loss> losses);
  void take_slot_losses(record::Slot& slot, uint32_t track);
  void keep_unknown_ends();
  void add_pair();
  void state_interfaces(trace::Writer& writer) const;

  record::SlotPage* slot_page(uint32_t index) const { return record::slot_page(&header_, geometry_, index); }

  record::SegmentHeader& header_;
  const record::Geometry geometry_;
  trace::WriterId id_;
  trace::Origin origin_;
  ClassTable classes_;
  OpenHandles handles_;
  QueueClocks queue_clocks_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::map<uint32_t, trace::Track> tracks_;  // of live threads and queues, to write them again
  trace::ClockDomain clock_;
  std::map<uint32_t, trace::Cost> costs_;  // by track, for live threads
  std::vector<record::Cell> copy_;         // of a ring that its thread may overwrite during the read

  std::vector<uint8_t> stated_classes_;         // by id: not 0 if it is in the file, or in new_classes_
  std::vector<trace::EventClass> new_classes_;  // not in the file yet
  std::vector<trace::Track> new_tracks_;
  std::vector<trace::Loss> new_losses_;
  std::vector<trace::Cost> new_costs_;
  bool has_interfaces_ = false;  // a class in the file belongs to an interface of other tools
  bool is_own_ = false;
  bool introduced_ = false;
  uint64_t notes_ = 0;
  uint32_t next_track_ = 1;
  uint32_t queues_ = 0;  // the number of tracks that are queues
  uint64_t events_ = 0;
  uint64_t lost_ = 0;
  uint64_t dropped_ = 0;                                             // of lost_: records
  record::InterfaceCounts counted_before_[record::kInterfaceCount];  // in earlier sessions
  uint64_t events_by_interface_[256] = {};                           // by Registry::interface
  uint64_t explained_ = 0;  // of dropped_: starts whose ends were read, so the ends are not counted again
};

// The description of the process, from the segment's header and from /proc, if it is still there.
trace::Origin origin_of(const record::SegmentHeader& header);

}  // namespace kymo::collect
