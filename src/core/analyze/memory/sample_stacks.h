// The stacks of CPU samples (docs/sampling.md): from the definitions in a trace to Stacks.
//
// Pass all points of the writers that have samples, in the order of the file. Nothing in them is trusted. A recorded
// sample names a node of the tree of its thread; an imported one has a stack with names in the tables of the file.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/memory/stacks.h"
#include "base/seeded_hash.h"
#include "trace/reader.h"

namespace kymo::memory {

class SampleStacks {
 public:
  using Row = std::vector<trace::ValueCursor::Value>;
  enum class Kind : uint8_t { Other, Sample, OnCpu, OffCpu, PageFault };
  struct Taken {
    Kind kind = Kind::Other;
    StackId stack = 0;       // of a Sample, a PageFault, and an OffCpu that has one
    bool has_stack = false;  // of an OffCpu
    uint64_t ns = 0;         // of OnCpu and OffCpu
    uint64_t count = 0;      // of PageFault
    bool is_preempted = false;
  };

  explicit SampleStacks(Stacks& stacks) : stacks_(stacks) {}

  // True if the writer has a class of CPU samples, which may have no events.
  static bool are_in(const trace::WriterInfo& writer);

  // The next point of a track. `id` is that of the point, `row` has its values.
  Taken take(const trace::WriterInfo& writer, uint32_t track, const trace::EventClass& event_class, uint64_t id,
             const Row& row);

 private:
  enum class Meaning : uint8_t { None, Sample, OnCpu, OffCpu, Wait, PageFault, Node, Module, Symbol };
  static Meaning meaning_of(const trace::EventClass& event_class);

  struct Writer {
    uint32_t number = 0;
    struct Class {  // not the enumeration itself: a container of that would be exported by our libraries
      Meaning meaning = Meaning::None;
    };
    std::map<uint32_t, Class> classes;
  };
  using Nodes = std::unordered_map<uint64_t, StackId, base::SeededHash>;
  StackId stack_of(const Nodes& nodes, uint64_t node);
  StackId stack_of_point(const trace::WriterInfo& info, const Writer& writer, uint32_t track, uint64_t id,
                         uint64_t node);

  Stacks& stacks_;
  std::map<trace::WriterId, Writer> writers_;
  std::map<std::pair<trace::WriterId, uint32_t>, Nodes> nodes_;
};

// The time that a sample of this writer stands for. An imported file may say it only once.
uint64_t sample_period_ns(const trace::Reader& reader, const trace::WriterInfo& writer);

}  // namespace kymo::memory
