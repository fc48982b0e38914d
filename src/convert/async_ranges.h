// Brings the two ends of ranges across threads together.
//
// The ends are on different tracks, whose chunks lie in the file in any order, so whichever is read first waits for the
// other. At most a million wait; more are counted as unmatched or handed out as unfinished.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"
#include "convert/events.h"

namespace kymo::convert {

class AsyncRanges {
 public:
  explicit AsyncRanges(EventVisitor& visitor) : visitor_(visitor) {}

  // `writer` is a number for the process, whose handles are its own.
  void begin(uint32_t writer, const Point& point);
  void end(uint32_t writer, const Point& point);

  // Hands out all that have no end, each as lasting until end_of(its place).
  template <typename EndOf>
  void finish(EndOf&& end_of) {
    for (const auto& [handle, begin] : begins_) hand_out(handle.id, *begin, end_of(*begin->place), nullptr);
    unmatched_ends_ += ends_.size();
    begins_.clear();
    ends_.clear();
  }

  uint64_t unmatched_ends() const { return unmatched_ends_; }

 private:
  struct Handle {
    uint32_t writer;
    uint64_t id;
    bool operator==(const Handle&) const = default;
  };
  struct HashHandle {
    size_t operator()(const Handle& handle) const noexcept { return base::SeededHash::of(handle.id, handle.writer); }
  };
  // A beginning that outlives its chunk, with its own copy of the texts.
  struct Begin {
    explicit Begin(const Point& point);
    const Place* place;
    const ClassInfo* event_class;
    int64_t start_ns;
    std::string name;
    std::vector<std::string> texts;
    std::vector<Value> values;
  };
  struct End {
    const Place* place;
    int64_t end_ns;
  };

  void hand_out(uint64_t id, const Begin& begin, int64_t end_ns, const Place* end_place);

  EventVisitor& visitor_;
  std::unordered_map<Handle, std::unique_ptr<Begin>, HashHandle> begins_;
  std::unordered_map<Handle, End, HashHandle> ends_;
  uint64_t unmatched_ends_ = 0;
};

}  // namespace kymo::convert
