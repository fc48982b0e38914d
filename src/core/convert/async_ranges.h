// Reports ranges across threads, whose two ends trace/async_pairs.h has matched.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "convert/events.h"
#include "trace/async_pairs.h"

namespace kymo::convert {

class AsyncRanges {
 public:
  explicit AsyncRanges(EventVisitor& visitor)
      : visitor_(visitor), pairs_([this](uint64_t id, const std::unique_ptr<Begin>& begin, const End& end) {
          hand_out(id, *begin, end.ns, end.place);
        }) {}

  // `writer` is the number of the process; handles are unique within it.
  void begin(uint32_t writer, const Point& point);
  void end(uint32_t writer, const Point& point) { pairs_.end({writer, point.id}, {point.place, point.time_ns}); }

  // Reports the remaining ranges. A range without an end lasts until end_of(its place).
  template <typename EndOf>
  void finish(EndOf&& end_of) {
    pairs_.finish([&](const trace::AsyncHandle& handle, const std::unique_ptr<Begin>& begin) {
      hand_out(handle.id, *begin, end_of(*begin->place), nullptr);
    });
  }

  uint64_t unmatched_ends() const { return pairs_.unmatched_ends(); }

 private:
  // A start that is kept after its chunk, with its own copy of the texts.
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
    int64_t ns;
  };

  void hand_out(uint64_t id, const Begin& begin, int64_t end_ns, const Place* end_place);

  EventVisitor& visitor_;
  trace::AsyncPairs<std::unique_ptr<Begin>, End> pairs_;
};

}  // namespace kymo::convert
