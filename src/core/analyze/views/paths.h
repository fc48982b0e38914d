// Where the time went, by path: process, thread or queue, range, range inside, …
//
// The paths are summed up while chunks stream by. All cores decode. Memory depends on the number of distinct paths, not
// of events, and is limited: PathOptions. Ranges that were started and ended by handle are in no path, because they are
// inside of nothing. Where ranges overlap, the time belongs to the one that began last, as in all commands (nesting.h).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "convert/events.h"
#include "convert/places.h"
#include "trace/model.h"
#include "trace/reader.h"

namespace kymo::views {

struct PathOptions {
  bool full_text = false;     // paths of "step 7" and "step 8" instead of "step {}"
  bool without_pids = false;  // all processes with one name are one, to compare them with those of another trace
  // Ranges beyond these limits have no path of their own. Their time stays in the range around them.
  uint64_t max_paths = 1 << 20;
  uint16_t max_depth = 1'024;
};

// The name of a process in a path, or of a device.
std::string process_label(const convert::Group& group, const PathOptions& options);

enum class FrameKind : uint8_t {
  All,         // the root
  Process,     // or a device
  Track,       // a thread or queue: all with this name in the process
  Range,       // on a thread
  Work,        // a range on a queue of a device
  Function,    // that was running, or called one, when a sample was taken
  Unfinished,  // the self time of ranges whose end is not in the trace, until their process was last seen alive
};

struct PathFrame {
  std::string_view name;  // one of Paths::names
  FrameKind kind = FrameKind::All;
  uint32_t depth = 0;     // of the root: 0
  uint64_t count = 0;     // ranges; 0 for the root, processes and tracks
  uint64_t total_ns = 0;  // with all that is inside
  uint64_t self_ns = 0;   // without: the self times of all frames sum to the total of the root
  uint64_t before_total_ns = 0, before_self_ns = 0;  // of the trace before
};

struct Paths {
  Paths() = default;
  Paths(Paths&&) = default;  // names stay where they are
  Paths& operator=(Paths&&) = default;

  std::deque<std::string> names;  // each once: kernels have long names
  std::vector<PathFrame> frames;  // each is followed by its children, sorted by name; the root is the first
  bool is_compared = false;       // with those of a trace before
  std::string of = "of ranges";   // what the times are: "of samples", …
  uint64_t unfinished = 0;        // ranges
  uint64_t over_limit = 0;        // ranges that have no path of their own
  std::vector<trace::Problem> problems;
};

// Never throws for a damaged trace.
Paths collect_paths(const trace::Reader& reader, const PathOptions& options = {});

// The paths of both: those of `after`, with the times before. Both were collected without pids.
Paths compare_paths(const Paths& before, const Paths& after);

// Paths of numbers: a tree in which each node has at most one child for each number.
//
// Nodes have numbers too, in the order of their creation: a parent comes before its children. Finding a child is one
// lookup in a hash table whose order a forged file cannot predict. Uses about 50 bytes for each node.
class PathTrie {
 public:
  struct Node {
    uint32_t parent = 0, number = 0;
    uint64_t count = 0, ticks = 0;
  };
  static constexpr uint32_t kRoot = 0;

  PathTrie() : nodes_(1), slots_(kFirstSlots), multiplier_(base::SeededHash()(1) | 1) {}

  // The child, or kRoot if there is none.
  uint32_t find(uint32_t parent, uint32_t number) const { return slots_[slot_of(parent, number)].node; }

  // The child. It is created if there is none.
  uint32_t child(uint32_t parent, uint32_t number) {
    if (const uint32_t found = find(parent, number); found != kRoot) return found;
    const auto node = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({parent, number});
    if (nodes_.size() > slots_.size() / 2) grow();
    slots_[slot_of(parent, number)] = {key_of(parent, number), node};
    return node;
  }

  Node& operator[](uint32_t node) { return nodes_[node]; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  static constexpr size_t kFirstSlots = 64;  // a power of two
  struct Slot {
    uint64_t key = 0;
    uint32_t node = kRoot;  // kRoot: free
  };

  static uint64_t key_of(uint32_t parent, uint32_t number) { return uint64_t{parent} << 32 | number; }

  // Where the child is, or the free slot for it.
  size_t slot_of(uint32_t parent, uint32_t number) const {
    const uint64_t key = key_of(parent, number);
    const size_t mask = slots_.size() - 1;
    size_t at = ((key ^ key >> 29) * multiplier_ >> 20) & mask;
    while (slots_[at].node != kRoot && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& slot : old) {
      if (slot.node != kRoot)
        slots_[slot_of(static_cast<uint32_t>(slot.key >> 32), static_cast<uint32_t>(slot.key))] = slot;
    }
  }

  std::vector<Node> nodes_;  // [0] is the root
  std::vector<Slot> slots_;
  uint64_t multiplier_;
};

// Paths of names from several sources, summed up: what a flame graph shows.
class MergedPaths {
 public:
  // The path with one more name, created if it is new. The first parent is PathTrie::kRoot.
  uint32_t child(uint32_t parent, const std::string& name, FrameKind kind);
  void count(uint32_t path, uint64_t count, uint64_t self_ns) {
    sums_[path].count += count;
    sums_[path].self_ns += self_ns;
  }
  void count_before(uint32_t path, uint64_t self_ns) { sums_[path].before_self_ns += self_ns; }
  size_t size() const { return sums_.size(); }

  // Moves the names to the result.
  void finish(Paths& into);

 private:
  struct Sums {
    FrameKind kind = FrameKind::All;
    uint64_t count = 0, self_ns = 0, before_self_ns = 0;
  };
  std::deque<std::string> names_;  // by number; a deque does not move them
  std::unordered_map<std::string_view, uint32_t> numbers_;
  PathTrie trie_;
  std::vector<Sums> sums_{1};  // by path
};

// The names of the ranges of one process, as small numbers: a class, or a text that is stored with the range.
//
// By default the ranges of a class have one name, with its "{}", and so have all iterations: "step {}". With full text,
// "step 7" and "step 8" are two names.
// At most 65,536 texts have their own number. Ranges with other texts are "(other names)".
class RangeNames {
 public:
  static constexpr uint32_t kMaxTexts = 1 << 16;

  // The writer must outlive this object.
  RangeNames(const trace::WriterInfo& writer, bool full_text) : full_text_(full_text), classes_(writer, next_class_) {}

  // The class, for trace::ValueCursor.
  const trace::EventClass& event_class(uint32_t class_id) { return classes_.find(class_id).event_class; }
  // The number of the name of a range with these values. If no range of a chunk has a text, the class id is the number.
  uint32_t number(uint32_t class_id, const std::vector<trace::ValueCursor::Value>& row);
  uint32_t number(const trace::OpenRange& range);
  // Of the ranges of a chunk; valid until the next call.
  std::span<const uint32_t> numbers(const trace::Ranges& ranges);

  std::string name(uint32_t number);
  // With the number of an iteration: "step 7" of a class that has it in its name.
  std::string text(uint32_t number);

 private:
  static constexpr uint32_t kText = uint32_t{1} << 31;  // the number is an index into texts_

  bool full_text_;
  uint32_t next_class_ = 0;
  convert::Classes classes_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
  std::vector<uint32_t> of_chunk_;
};

}  // namespace kymo::views
