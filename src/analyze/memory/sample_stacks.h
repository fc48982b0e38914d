// The stacks of CPU samples (docs/sampling.md): from the definitions in a trace to Stacks.
//
// Pass all points of the writers that have samples, in the order of the file. Nothing in them is trusted.
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
  enum class Kind : uint8_t { Other, Sample, OnCpu, OffCpu };
  struct Taken {
    Kind kind = Kind::Other;
    StackId stack = 0;  // of a Sample
    uint64_t ns = 0;    // of OnCpu and OffCpu
    bool is_preempted = false;
  };

  explicit SampleStacks(Stacks& stacks) : stacks_(stacks) {}

  // True if the writer has a class of CPU samples.
  static bool are_in(const trace::WriterInfo& writer);

  // The next point of a track. `row` has its values.
  Taken take(const trace::WriterInfo& writer, uint32_t track, const trace::EventClass& event_class, const Row& row);

 private:
  enum class Meaning : uint8_t { None, Sample, OnCpu, OffCpu, Node, Module, Symbol };
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

  Stacks& stacks_;
  std::map<trace::WriterId, Writer> writers_;
  std::map<std::pair<trace::WriterId, uint32_t>, Nodes> nodes_;
};

}  // namespace kymo::memory
