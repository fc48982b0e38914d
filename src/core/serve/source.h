// One file of a viewer: its tracks, and its chunks with times in nanoseconds since the start of the file.
//
// Opening reads no events: it needs the index and the descriptions. Chunks are decoded on request. Several threads may
// use a Source at the same time, but none during refresh().
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "convert/places.h"
#include "convert/trace_times.h"
#include "serve/chunk_data.h"
#include "serve/names.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::serve {

// From the ticks of a clock to nanoseconds since the start of the file.
class FileClock {
 public:
  FileClock(trace::ClockMap clock, int64_t zero_realtime) : clock_(std::move(clock)), zero_(zero_realtime) {}
  // Never negative: what a damaged file has before its start is at the start.
  int64_t ns(uint64_t ticks) const { return relative(clock_.to_realtime_ns(ticks)); }
  int64_t of_realtime(int64_t realtime_ns) const { return relative(realtime_ns); }
  void ns(std::span<const uint64_t> ticks, std::vector<int64_t>& into) const;
  const trace::ClockMap& map() const { return clock_; }

 private:
  int64_t relative(int64_t realtime) const;
  trace::ClockMap clock_;
  int64_t zero_;
};

// A thread or a queue of a device.
struct SourceTrack {
  trace::WriterId writer;
  uint32_t track = 0;
  uint32_t group = 0;  // Source::groups()
  std::string name;
  uint64_t tid = 0;
  bool is_queue = false;
  std::string device;
  FileClock clock;
  std::vector<uint32_t> chunks;  // in the order of the file
  int64_t start_ns = INT64_MAX, end_ns = 0;
  uint64_t ranges = 0, points = 0;
  uint32_t rows = 0;     // that are known from the heads of chunks
  uint64_t busy_ns = 0;  // in ranges: an estimate, from the same heads
};

struct SourceGroup {
  uint64_t pid = 0;
  std::string name, label, host;
  bool is_device = false;
};

struct SourceLoss {
  uint32_t group = 0;
  std::optional<size_t> track;
  std::string key, text;
  uint64_t count = 0;
  std::optional<std::pair<int64_t, int64_t>> time;
};

class Source {
 public:
  static constexpr uint32_t kNoTrack = UINT32_MAX;
  struct ChunkTimes {
    int64_t first = 0, last = 0;
    uint32_t track = kNoTrack;  // of tracks(); kNoTrack: it has no usable clock, and is not shown
  };
  struct ClassName {
    uint32_t name = 0;
    uint64_t bit = 0;  // name_bit() of the name
    bool has_places = false, is_inline = false, is_definition = false;
    const trace::EventClass* event_class = nullptr;  // null: not known, or inline
  };

  Source(trace::Reader reader, NameTable& names);

  const trace::Reader& reader() const { return reader_; }
  const std::vector<SourceGroup>& groups() const { return groups_; }
  const std::deque<SourceTrack>& tracks() const { return tracks_; }  // positions do not change
  const std::vector<ChunkTimes>& chunks() const { return chunks_; }  // as reader().event_chunks()
  const std::vector<SourceLoss>& losses() const { return losses_; }
  std::optional<size_t> find_track(const trace::WriterId& writer, uint32_t track) const;
  // The tracks of the same thread, with this one: the ranges of a program and its CPU samples are of different writers.
  const std::vector<size_t>& same_thread(size_t track) const { return threads_.at(thread_key(tracks_[track])); }
  // The one of them that stands for the thread: the first with ranges, or the one with the most samples.
  size_t main_track(size_t track) const;
  int64_t duration_ns() const { return duration_ns_; }
  uint64_t event_count() const;
  int64_t start_realtime_ns() const { return start_realtime_ns_; }
  uint64_t clock_error_ns() const { return clock_error_ns_; }
  // Changes when chunks that were seen before are not valid any more.
  uint32_t generation() const { return generation_; }
  // The windows that are between two times of the file, for Reader::narrow().
  std::map<trace::WriterId, trace::Window> between(int64_t from_ns, int64_t to_ns) const;

  const ClassName& class_of(const trace::WriterId& writer, uint32_t class_id) const {
    return class_in(names_of(writer), class_id);
  }
  template <typename Visit>
  void each_class(Visit&& visit) const {
    for (const auto& [writer, names] : classes_) {
      for (const ClassName& known : names.dense) visit(known);
      for (const auto& [id, known] : names.sparse) visit(known);
    }
  }

  // Reads what was appended. True if there is more. `being_written`: more will come.
  bool refresh(bool being_written);

  // Both throw kymo::Error if the chunk is damaged.
  DecodedChunk decode(uint32_t chunk) const;
  Sketch sketch(uint32_t chunk) const;
  // The depths of a chunk as items, without names.
  std::vector<Item> summary(uint32_t chunk) const;
  // The ranges of a track that have not ended.
  std::vector<Item> unfinished(size_t track) const;
  // The open ranges themselves, for details.
  std::vector<trace::OpenRange> open_ranges(uint32_t chunk) const;

 private:
  struct WriterNames {
    std::vector<ClassName> dense;
    std::map<uint32_t, ClassName> sparse;
  };
  struct Decoding;
  struct Scratch;

  using ThreadKey = std::tuple<uint32_t, uint64_t, trace::WriterId, uint32_t>;
  static ThreadKey thread_key(const SourceTrack& track);
  int64_t offset_ns(const trace::WriterId& writer, int64_t monotonic_ns) const;
  int64_t earliest_open_ns() const;
  void count_rows(size_t from);
  void describe();
  void add_chunks();
  void describe_losses();
  const WriterNames* names_of(const trace::WriterId& writer) const;  // null: there are none
  const ClassName& class_in(const WriterNames* names, uint32_t class_id) const {
    return names != nullptr && class_id < names->dense.size() ? names->dense[class_id] : rare_class(names, class_id);
  }
  const ClassName& rare_class(const WriterNames* names, uint32_t class_id) const;
  void decode(uint32_t chunk, std::optional<unsigned> sketch_level, Scratch& scratch, DecodedChunk& into) const;
  void add_ranges(const Decoding& decoding) const;
  void add_names(const Decoding& decoding) const;
  void add_points(const Decoding& decoding) const;

  // Memory for decoding, which is used again: getting it from the system takes a third of the time otherwise. There are
  // as many as threads that decode at a time.
  struct Scratch {
    trace::EventBatch batch;
    std::vector<uint64_t> ticks;
    DecodedChunk decoded;
  };
  class ScratchPool {
   public:
    std::unique_ptr<Scratch> take();
    void give_back(std::unique_ptr<Scratch> scratch);

   private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> free_;
  };

  trace::Reader reader_;
  NameTable& names_;
  mutable ScratchPool scratch_;
  std::optional<convert::TraceTimes> times_;
  std::vector<SourceGroup> groups_;
  std::deque<SourceTrack> tracks_;
  std::map<std::pair<trace::WriterId, uint32_t>, uint32_t> by_track_;
  std::map<ThreadKey, std::vector<size_t>> threads_;
  std::vector<ChunkTimes> chunks_;
  std::vector<SourceLoss> losses_;
  std::map<trace::WriterId, WriterNames> classes_;
  std::map<trace::WriterId, int64_t> alive_ns_;
  ClassName unknown_, inline_;
  int64_t duration_ns_ = 0, start_realtime_ns_ = 0;
  uint64_t clock_error_ns_ = 0;
  uint32_t generation_ = 0;
  std::optional<std::pair<trace::WriterId, int64_t>> reference_;  // a writer, and where its clock's zero was at first
  int64_t shift_ns_ = 0;
};

}  // namespace kymo::serve
