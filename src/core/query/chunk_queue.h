// The chunks of a scan, given out one by one to the threads that read them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "query/loaded_traces.h"

namespace kymo::query {

class ChunkQueue {
 public:
  struct Item {
    const LoadedTrace* trace;
    size_t index;  // of the chunk
    const trace::EventChunk& chunk() const { return trace->reader.event_chunks()[index]; }
  };

  // Only chunks that `belongs` accepts.
  template <typename Belongs>
  ChunkQueue(const LoadedTraces& traces, Belongs&& belongs) {
    for (const LoadedTrace& trace : traces.all()) {
      const std::vector<trace::EventChunk>& chunks = trace.reader.event_chunks();
      for (size_t i = 0; i < chunks.size(); ++i)
        if (belongs(chunks[i])) items_.push_back({&trace, i});
    }
  }

  // Any thread may call it.
  std::optional<Item> take() {
    const size_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= items_.size()) return std::nullopt;
    return items_[index];
  }

 private:
  std::vector<Item> items_;
  std::atomic<size_t> next_{0};
};

}  // namespace kymo::query
