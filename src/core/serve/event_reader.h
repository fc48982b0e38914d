// Finds single events in a file: by their place, by what launched them, and by their flow. Reads chunks until a time
// limit, nearest first, because the other end of a launch is usually near.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "serve/view.h"

namespace kymo::serve {

// Enough to draw an event and to ask for its details.
struct EventRef {
  uint32_t track = 0;  // id
  uint32_t chunk = kNoChunk, index = kNoIndex;
  std::string name;
  int64_t start_ns = 0, end_ns = 0;
  struct Row {
    uint16_t depth = 0, lane = 0;
  };
  std::optional<Row> row = std::nullopt;  // of tracks that may be higher than the screen: the page scrolls to it
};

// In an array, if needed with its category; or as the member of an object.
void write_event(base::JsonWriter& json, const EventRef& event, const std::optional<std::string>& category = {});
void write_event(base::JsonWriter& json, std::string_view member, const EventRef& event);
// The member "stack", if there are frames. Their names are as short as everywhere on the page.
void write_frames(base::JsonWriter& json, const std::vector<symbols::Frame>& frames);

class EventReader {
 public:
  // With the view's lock held.
  EventReader(View& view, uint32_t file) : view_(view), file_(file), source_(*view.sources()[file]) {}

  // The ranges of other tracks of the process with this correlation: those on devices, or those on threads.
  std::vector<EventRef> launches(const trace::WriterId& writer, uint64_t correlation, bool on_device, int64_t near_ns);
  struct FlowPoint {
    int64_t time_ns = 0;
    EventRef event;  // the innermost range around it, or the point itself
  };
  std::vector<FlowPoint> flow(const trace::WriterId& writer, uint64_t id, int64_t near_ns);

  // The last range of a track that ends at this time or before. It is looked for in a few chunks only.
  std::optional<EventRef> last_before(uint32_t track, int64_t time_ns) const;
  // What a call on a thread waited for, from `start` to `end`: the last work of each queue of its process that it may
  // wait for. The one that ended last is the first; work that had ended before the call is not in it.
  std::vector<EventRef> waited_for(const trace::WriterId& writer, bool whole_device, int64_t start, int64_t end) const;

  // A range of a batch that was read with everything.
  EventRef range(uint32_t chunk, const trace::EventBatch& batch, size_t index) const;
  // The innermost range of lane 0 around a time, if the batch has one.
  std::optional<size_t> around(uint32_t chunk, const trace::EventBatch& batch, int64_t time_ns) const;
  std::string class_name(const trace::WriterId& writer, uint32_t class_id) const;

 private:
  static constexpr size_t kMaxFound = 64;
  std::vector<uint32_t> nearest_chunks(const trace::WriterId& writer, std::optional<bool> on_device, int64_t near_ns,
                                       bool with_points) const;

  View& view_;
  const uint32_t file_;
  const Source& source_;
  const std::chrono::steady_clock::time_point deadline_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
};

}  // namespace kymo::serve
