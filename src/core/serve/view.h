// Everything that a viewer shows: one or more files, their tracks, and the caches.
//
// After the start a thread builds the sketches of all chunks, as far as the cache has room, so that moving around has
// to decode little. Memory: the two caches, the names, and about 150 bytes for each chunk. Any thread may call
// anything.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "serve/chunk_data.h"
#include "serve/derived.h"
#include "serve/names.h"
#include "serve/source.h"

namespace kymo::serve {

// Values by number, limited by the bytes that they need together: the one that was not used for the longest time goes
// first. Any thread may call anything; a value stays valid as long as somebody has it.
template <typename Value>
class ByteCache {
 public:
  explicit ByteCache(size_t limit) : limit_(limit) {}

  std::shared_ptr<const Value> find(uint64_t key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  // A value that is larger than the limit is not kept.
  void put(uint64_t key, std::shared_ptr<const Value> value, size_t bytes) {
    const std::lock_guard lock(mutex_);
    erase(key);
    if (bytes > limit_) return;
    entries_.push_front({key, std::move(value), bytes});
    by_key_[key] = entries_.begin();
    used_ += bytes;
    while (used_ > limit_) erase(entries_.back().key);
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    by_key_.clear();
    used_ = 0;
  }

  size_t used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }
  size_t limit() const { return limit_; }

 private:
  struct Entry {
    uint64_t key;
    std::shared_ptr<const Value> value;
    size_t bytes;
  };
  void erase(uint64_t key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    used_ -= found->second->bytes;
    entries_.erase(found->second);
    by_key_.erase(found);
  }

  const size_t limit_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the last used one first
  std::unordered_map<uint64_t, typename std::list<Entry>::iterator> by_key_;
  size_t used_ = 0;
};

struct ViewLimits {
  size_t sketch_bytes = size_t{64} << 20;
  size_t decoded_bytes = size_t{40} << 20;
  std::chrono::milliseconds budget{80};  // for the chunks of one request; beyond it the answer is preliminary
  bool build_ahead = true;
};

// What an id of a track means.
struct TrackRef {
  uint32_t file = 0;
  enum class Kind : uint8_t { Track, Counter, Derived } kind = Kind::Track;
  uint32_t position = 0;  // in Source::tracks(), of the counter, or of the derived track
};

struct Counter {
  uint32_t id = 0;  // of its track
  uint32_t file = 0;
  trace::WriterId writer;
  std::vector<uint32_t> classes;  // several if some of its values are whole numbers and others are not
  uint32_t group = 0;
  std::string name, category;
  uint64_t values = 0;
  std::vector<uint32_t> chunks;  // that have values of it, ascending

  bool has(const CounterBin& value) const {
    return std::find(classes.begin(), classes.end(), value.class_id) != classes.end();
  }
};

class View {
 public:
  // `reopen` gives another reader of a file; without it, the file is opened by its path. Derived tracks are read with
  // it, because that takes long.
  using Reopen = std::function<trace::Reader(uint32_t file)>;
  explicit View(std::vector<trace::Reader> readers, const ViewLimits& limits = {}, Reopen reopen = {});
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  // While somebody has it, files do not change.
  using Lock = std::shared_lock<std::shared_mutex>;
  Lock lock() const { return Lock(mutex_); }

  // With the lock.
  const std::vector<std::unique_ptr<Source>>& sources() const { return sources_; }
  std::optional<TrackRef> find_track(uint32_t id) const;
  uint32_t track_id(uint32_t file, size_t track) const;
  std::vector<Counter> counters() const;
  std::optional<Counter> counter(uint32_t position) const;
  std::vector<std::shared_ptr<const DerivedTrack>> derived() const;
  std::shared_ptr<const DerivedTrack> derived(uint32_t position) const;  // null: there is none
  std::shared_ptr<const Sketch> cached_sketch(uint32_t file, uint32_t chunk);
  std::shared_ptr<const Sketch> sketch(uint32_t file, uint32_t chunk);  // builds it if needed; never null
  std::shared_ptr<const DecodedChunk> decoded(uint32_t file, uint32_t chunk);
  std::vector<Item> unfinished(uint32_t file, size_t track);

  // False: the chunk has no event with a name of these bits (chunk_data.h). True until the chunk was read once.
  bool may_have(uint32_t file, uint32_t chunk, uint64_t name_bits) const;

  NameTable& names() { return names_; }
  const ViewLimits& limits() const { return limits_; }
  bool is_scanned() const { return scanned_; }  // the points of all chunks were read: all counters are known
  bool is_built() const { return built_; }      // the thread has finished
  void wait_until_built();

  // Takes the lock itself. Reads what was appended to the files. True if something has changed. `is_being_written` says
  // whether more will come; without it, that stays as it is.
  using IsBeingWritten = std::function<bool(uint32_t file)>;
  bool refresh(const IsBeingWritten& is_being_written = {});
  uint32_t version() const { return version_; }

  // What happened to a file since it was opened, for people; empty: nothing. These take the lock themselves.
  void set_trouble(uint32_t file, const std::string& text);
  std::vector<std::string> troubles() const;  // by file
  uint64_t file_size(uint32_t file) const;
  // Chunks that could not be read so far, at most kMaxProblems of a file.
  static constexpr size_t kMaxProblems = 100;
  std::vector<std::string> problems(uint32_t file) const;
  // Files that could not be shown, and why. Before the first request.
  void set_left_out(std::vector<std::string> reasons) { left_out_ = std::move(reasons); }
  const std::vector<std::string>& left_out() const { return left_out_; }

  // A request is being answered: the thread that builds sketches waits.
  class Busy {
   public:
    explicit Busy(View& view) : view_(view) { ++view_.busy_; }
    ~Busy() { --view_.busy_; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    View& view_;
  };

 private:
  static uint64_t key(uint32_t file, uint32_t chunk) { return event_key(file, chunk); }
  void add_tracks();
  void note_chunk(uint32_t file, uint32_t chunk, const Sketch& sketch);
  void note_problem(uint32_t file, uint32_t chunk, const std::string& what);
  void build();
  bool build_one(uint32_t file, uint32_t chunk);
  bool has_points(uint32_t file, uint64_t kind_bit) const;
  void derive_all();
  void derive(uint32_t file);
  void set_derived(uint32_t file, std::vector<DerivedTrack> tracks);

  const ViewLimits limits_;
  const Reopen reopen_;
  NameTable names_;
  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Source>> sources_;
  ByteCache<Sketch> sketches_;
  ByteCache<DecodedChunk> decoded_;

  mutable std::mutex track_mutex_;
  std::vector<TrackRef> tracks_;
  std::vector<std::vector<uint32_t>> ids_;  // by file, then position
  std::vector<Counter> counters_;
  std::vector<std::shared_ptr<const DerivedTrack>> derived_;
  std::map<std::tuple<uint32_t, trace::WriterId, uint32_t>, uint32_t> by_counter_;  // by file, writer and name
  std::vector<std::vector<uint64_t>> name_bits_;           // by file and chunk; 0: it was not read yet
  std::vector<std::string> troubles_;                      // by file
  std::vector<std::map<uint32_t, std::string>> problems_;  // by file and chunk
  std::vector<std::string> left_out_;
  std::map<uint64_t, std::vector<Item>> unfinished_;

  std::atomic<bool> scanned_ = false, built_ = false, stopping_ = false;
  std::atomic<uint32_t> busy_ = 0, version_ = 1;
  std::mutex build_mutex_;
  std::condition_variable build_wake_;
  bool more_to_build_ = true;
  std::atomic<bool> to_derive_ = true;
  std::chrono::steady_clock::time_point next_derive_{};  // only the builder uses it
  std::thread builder_;
};

}  // namespace kymo::serve
