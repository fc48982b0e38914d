// The traces of a query, opened once: what the rows of their tables refer to.
//
// Everything is read-only after the constructor, except problems() and what is computed on request. Several threads may
// use it at the same time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/summary.h"
#include "convert/places.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::query {

// The texts of an ENUM column: sorted, unique, and numbered in this order, so that ORDER BY sorts them as texts.
class Dictionary {
 public:
  static constexpr uint32_t kNull = UINT32_MAX;

  // Adds a text; the numbers are valid only after finish(). It becomes base::readable_text(), which DuckDB accepts.
  void add(std::string_view untrusted);
  void finish();

  // The number of a text, as in add(); kNull if it was not added.
  uint32_t find(std::string_view untrusted) const;
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

// Opens a trace of any format. Throws kymo::Error if it cannot be read.
using OpenTrace = std::function<trace::Reader(const std::string& path)>;

// The numbers of the names of a writer's classes, in the dictionaries of names and categories.
class ClassNumbers {
 public:
  struct Entry {
    uint32_t name = Dictionary::kNull, category = Dictionary::kNull;
    bool is_definition = false;  // its events are not shown (trace/model.h)
  };

  ClassNumbers(const trace::WriterInfo& writer, const Dictionary& names, const Dictionary& categories);

  // Class 0, whose events carry their names, has the empty name.
  const Entry& find(uint32_t class_id) const {
    if (class_id < dense_.size()) return dense_[class_id];
    const auto found = sparse_.find(class_id);
    return found == sparse_.end() ? unknown_ : found->second;
  }

 private:
  std::vector<Entry> dense_;
  std::unordered_map<uint32_t, Entry> sparse_;  // ids that are too large for a table
  Entry unknown_;
};

// A thread or queue of a trace: the values that all its rows have in common.
struct TrackInfo {
  const convert::Place* place = nullptr;
  const trace::ClockMap* clock = nullptr;  // null: unknown, so its events have no times
  const ClassNumbers* classes = nullptr;
  uint32_t number = 0;  // the column "track", the same in all tables
  uint32_t writer = 0;  // the number of its process, for handles
  uint32_t process = Dictionary::kNull, thread = Dictionary::kNull, device = Dictionary::kNull,
           file = Dictionary::kNull;
  bool on_device() const { return place->track->kind == trace::TrackKind::DeviceQueue; }
};

class RangeIds;
class Nesting;
class IterationOfRange;
class SampleFunctions;
struct LoadedStates;

struct LoadedTrace {
  LoadedTrace(trace::Reader opened, uint64_t number);
  ~LoadedTrace();

  // Null if the trace does not describe the track, or its clock.
  const TrackInfo* find(const trace::EventChunk& chunk) const {
    const auto found = tracks.find({chunk.writer, chunk.track});
    return found == tracks.end() || found->second.clock == nullptr ? nullptr : &found->second;
  }

  // query/range_facts.h. The first call reads the trace; any thread may call them.
  const RangeIds& ids() const;
  const Nesting& nesting() const;
  const IterationOfRange& iterations() const;
  const SampleFunctions& sample_functions() const;
  const LoadedStates& states() const;

  const trace::Reader reader;
  const convert::Places places;
  const uint64_t number;  // of the file
  std::string path;
  std::map<std::pair<trace::WriterId, uint32_t>, TrackInfo> tracks;
  std::map<trace::WriterId, ClassNumbers> classes;
  std::map<std::pair<trace::WriterId, uint32_t>, trace::ClockMap> clocks;
  std::vector<bool> has_inline_names;  // by chunk: it has events of class 0 with a name

 private:
  template <typename Fact>
  const Fact& fact(std::unique_ptr<const Fact>& known) const {
    const std::lock_guard lock(mutex_);
    if (known == nullptr) known = std::make_unique<const Fact>(*this);
    return *known;
  }
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const RangeIds> ids_;
  mutable std::unique_ptr<const Nesting> nesting_;
  mutable std::unique_ptr<const IterationOfRange> iterations_;
  mutable std::unique_ptr<const SampleFunctions> sample_functions_;
  mutable std::unique_ptr<const LoadedStates> states_;
};

class LoadedTraces {
 public:
  // Reads the catalogs, and the names that are stored with events. `paths` is not empty.
  LoadedTraces(const std::vector<std::string>& paths, const OpenTrace& open);

  const std::deque<LoadedTrace>& all() const { return traces_; }

  Dictionary names, categories, processes, threads, devices, files;

  // Chunks that could not be read. May be called by several threads.
  void add_problem(const LoadedTrace& trace, const trace::EventChunk& chunk, const std::string& what);
  std::vector<trace::Problem> problems(const LoadedTrace& trace) const;

 private:
  void find_inline_names(LoadedTrace& trace);
  void add_texts(const LoadedTrace& trace);
  void add_tracks(LoadedTrace& trace);

  std::deque<LoadedTrace> traces_;
  uint32_t track_count_ = 0, writer_count_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<const LoadedTrace*, uint64_t>, trace::Problem> problems_;  // by offset of the chunk
};

inline constexpr std::string_view kUnknownClass = "(unknown class)";
inline constexpr std::string_view kOtherNames = "(other names)";  // beyond the limit of names stored with events

}  // namespace kymo::query
