// Reads a trace file: by its index if there is one, otherwise by its chunk headers. Events are read only on request.
//
// If a writer states a window (model.h), the reader shows only what is inside: its chunks, counts, events and losses.
//
// All data is untrusted: lengths are checked against the file and against fixed limits, damaged chunks are skipped and
// listed in problems(), and a torn end is not an error. Several threads may read events from one Reader at the same
// time; no other thread may use it during refresh().
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trace/model.h"
#include "trace/values.h"

namespace kymo::trace {

// The content of a chunk header. If a window cuts the chunk, counts and times are those of the part inside.
struct EventChunk {
  uint64_t offset = 0;  // in the file
  uint64_t length = 0;  // with the header
  WriterId writer;
  uint32_t track = 0;
  uint32_t ring = 0;
  uint64_t sequence_begin = 0, sequence_end = 0;
  uint64_t first = 0, last = 0;  // the earliest and latest time in it, in ticks
  uint32_t range_count = 0, point_count = 0;
};

// The complete description of one writer, merged from its chunks.
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
  std::optional<Window> window;  // the window that it stated, reduced by Reader::narrow()

  // Null if the trace does not describe it.
  const EventClass* find_class(uint32_t class_id) const {
    const auto found = classes.find(class_id);
    return found == classes.end() ? nullptr : &found->second;
  }
  // The size of a table by class id. Ids are assigned in order, so it is nearly full. A forged id must not make it
  // huge: classes beyond it need another place.
  size_t class_table_size() const {
    const size_t wanted = classes.empty() ? 1 : classes.rbegin()->first + size_t{1};
    return std::min(wanted, 1024 + 4 * classes.size());
  }
  // True if data is missing: its process still records, or the data is still in shared memory.
  bool lacks_ending() const { return origin.announces_ending != 0 && !ending; }
};

struct Problem {
  uint64_t offset = 0, length = 0;
  std::string what;  // one line, human-readable
};

// The parts of a chunk to decode. The rest of the batch stays empty.
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

// Recorded: also what is outside of the windows, for code that continues a recording.
enum class Extent : uint8_t { Windows, Recorded };

class Reader {
 public:
  // Throws kymo::Error: file not found, not a trace (with what it looks like), or nothing readable in it.
  explicit Reader(const std::string& path);
  // Reads `path`, but uses `name` in messages and for path().
  Reader(const std::string& path, const std::string& name, Extent extent = Extent::Windows);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  // Reads what was appended since. True if there is more.
  bool refresh();

  // From now on, shows only what is also inside these windows of these writers.
  void narrow(const std::map<WriterId, Window>& windows);

  // From now on, shows only these writers: their descriptions, events and losses. What is about the whole file stays:
  // its sizes, sessions and problems. An empty set shows all writers again. Takes time for each chunk of the file.
  void show_only(std::set<WriterId> writers);

  const std::string& path() const;
  uint64_t file_size() const;
  uint64_t trace_size() const;  // bytes in complete chunks; less than file_size() if the end is torn
  bool indexed() const;         // opened by index only
  const std::map<WriterId, WriterInfo>& writers() const;  // with the writers of all event chunks
  const std::set<std::string>& sessions() const;          // in the trace; a session may have no writer yet
  // A recording whose collector has not written its end. With show_only(): one of these writers.
  bool has_unended_session() const;
  const std::vector<EventChunk>& event_chunks() const;  // in file order; per track this is also sorted by time
  const std::vector<Problem>& problems() const;

  // Set by the program that opened it: more data will come, so nothing is missing yet.
  bool is_being_written() const;
  void set_being_written(bool is);
  // Set in the same way: why data that dead processes left in shared memory could not be added. Empty: nothing is known
  // to be there.
  const std::string& unrecovered() const;
  void set_unrecovered(std::string why);

  // Throws kymo::Error if the chunk is damaged; the caller may continue with the next one. The content of `into` is
  // then undefined. Otherwise its vectors are reused, so that reading many chunks into one batch normally does not
  // allocate.
  void read(const EventChunk&, EventBatch& into, unsigned parts = kEverything) const;
  // Reads only the head of the chunk, like read() of only kOpenStacks. Throws like read().
  std::vector<DepthSummary> summaries(const EventChunk&) const;

  // Called before each read() of a chunk, by the thread that reads: several may call it at the same time. It shows
  // progress, so it must be fast. An empty function ends the calls. Not during read(). An exception ends the read(), so
  // that an analysis can be cancelled: not a kymo::Error, which stands for a damaged chunk.
  using OnRead = std::function<void(const EventChunk&)>;
  void on_read(OnRead call) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::trace
