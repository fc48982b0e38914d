// The texts of a chunk's events that depend on their values: the complete name, and the values as JSON.
//
// Belongs to one thread. load() reads the values of a chunk; the events can then be asked in any order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convert/events.h"
#include "convert/json_args.h"
#include "query/loaded_traces.h"
#include "query/table.h"

namespace kymo::query {

class EventTexts {
 public:
  // Keeps views into both.
  void load(const trace::WriterInfo& writer, const trace::Values& values, std::span<const uint32_t> class_ids);

  // Sets place, class, name and values of an event. The name is valid until the next call.
  void describe(size_t event, const convert::Place& place, convert::Event& into);
  // A JSON object with valid UTF-8, valid until the next call.
  template <typename AnyEvent>
  std::string_view args(const AnyEvent& event) {
    text_.clear();
    convert::JsonObject object(text_);
    args_.append(object, event);
    object.close();
    return text_.view();
  }

 private:
  std::map<const trace::WriterInfo*, std::unique_ptr<convert::Classes>> all_classes_;
  uint32_t class_count_ = 0;
  convert::Classes* classes_ = nullptr;
  std::span<const uint32_t> class_ids_;
  convert::ValueRows rows_;
  std::vector<convert::Value> row_;
  std::string name_;
  convert::JsonArgs args_{convert::JsonArgs::Form::Plain};
  convert::TextBuffer text_;
};

// The number of an event's name: of its class ("step {}"), or of the name that is stored with it.
uint32_t name_number(const convert::Event& event, const LoadedTraces& traces);

// The columns that all rows of a thread or queue have in common.

inline constexpr Column kTrackColumns[] = {
    {"process", ColumnType::Process, "the name of the program"},
    {"pid", ColumnType::UInt64, "its process id"},
    {"thread", ColumnType::Thread, "the name of the thread or queue"},
    {"tid", ColumnType::UInt64, "the thread id; NULL on a device"},
    {"device", ColumnType::Device, "the device; NULL on a thread"},
    {"track", ColumnType::UInt32, "the number of the thread or queue: threads.track"},
    {"file", ColumnType::File, "the file of the trace"},
};

// Writes them, where the table has them from the column `first` on, into `count` rows.
inline void fill_track(Output& output, size_t first, size_t row, size_t count, const TrackInfo& track) {
  const auto fill_enum = [&](size_t column, uint32_t number) {
    output.set_enums(first + column, row, count, [number](size_t) { return number; });
  };
  const auto fill_number = [&]<typename Number>(size_t column, Number number) {
    if (auto* const to = output.values<Number>(first + column)) std::fill_n(to + row, count, number);
  };
  fill_enum(0, track.process);
  fill_number(1, track.place->writer->origin.pid);
  fill_enum(2, track.thread);
  fill_number(3, track.place->track->tid);
  if (track.on_device() && output.wants(first + 3))
    for (size_t i = 0; i < count; ++i) output.set_null(first + 3, row + i);
  fill_enum(4, track.device);
  fill_number(5, track.number);
  fill_enum(6, track.file);
}

// The chunks of a scan, given out one by one to the threads that read them.
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
