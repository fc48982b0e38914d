#include "edge/adjust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <utility>

#include "edge/result.h"

namespace kymo::edge {
namespace {

using ::testing::ElementsAre;

constexpr uint32_t kNoCause = EdgeEvent::kNone;
constexpr uint64_t kAdjustEpoch = 1'700'000'000'000'000'000;

// A result built by hand: the events of the threads one thread after the other, then those of the devices.
class AdjustSubject {
 public:
  ResultData result;

  void thread(uint64_t id) {
    result.threads.push_back({id, "thread " + std::to_string(id), static_cast<uint32_t>(result.events.size()), 0});
  }
  uint32_t host(uint64_t start, uint64_t end, uint32_t parent = kNoCause) {
    EdgeEvent event = make("host", start, end);
    event.thread = result.threads.back().thread;
    event.parent = parent;
    result.events.push_back(event);
    ++result.threads.back().event_count;
    result.first_device_event = static_cast<uint32_t>(result.events.size());
    return result.first_device_event - 1;
  }
  // Call it after all events of threads.
  void device(uint64_t thread, uint32_t cause, uint64_t queued, uint64_t start, uint64_t length,
              int32_t type = kVulkan) {
    EdgeEvent event = make("device", start, start + length);
    event.kind = EdgeKind::Device;
    event.thread = thread;
    event.queued_ns = kAdjustEpoch + queued;
    event.device = {type, 0};
    event.caused_by = cause;
    result.events.push_back(event);
  }
  void adjust() {
    link_tree(result.events);
    adjust_vulkan_timestamps(result);
  }

  // "start-end" of each event. Device events are marked with a star.
  std::vector<std::string> spans() const {
    std::vector<std::string> texts;
    for (const EdgeEvent& event : result.events)
      texts.push_back(std::string(event.kind == EdgeKind::Device ? "*" : "") +
                      std::to_string(event.start_ns - kAdjustEpoch) + "-" +
                      std::to_string(event.end_ns - kAdjustEpoch));
    return texts;
  }

 private:
  static EdgeEvent make(std::string_view name, uint64_t start, uint64_t end) {
    EdgeEvent event;
    event.name = name;
    event.start_ns = event.raw_start_ns = kAdjustEpoch + start;
    event.end_ns = event.raw_end_ns = kAdjustEpoch + end;
    return event;
  }
};

TEST(AdjustTest, OperationIsAsLongAsTheDeviceWorkItRequested) {
  AdjustSubject subject;
  subject.thread(1);
  const uint32_t conv = subject.host(0, 10), add = subject.host(10, 20);
  subject.device(1, conv, 5, 100, 50);
  subject.device(1, add, 15, 150, 30);
  subject.adjust();
  EXPECT_THAT(subject.spans(), ElementsAre("0-50", "*0-50", "50-80", "*50-80"));
  EXPECT_EQ(subject.result.first_device_event, 4u);
  EXPECT_EQ(subject.result.threads[0].event_count, 4u);
  EXPECT_EQ(subject.result.events[1].parent, 0u);
  EXPECT_EQ(subject.result.events[3].parent, 2u);
  EXPECT_EQ(subject.result.events[3].depth, 1u);
  EXPECT_EQ(subject.result.events[2].self_ns, 0u);
  EXPECT_EQ(subject.result.events[3].raw_start_ns, kAdjustEpoch + 150);
  EXPECT_EQ(subject.result.events[3].raw_end_ns, kAdjustEpoch + 180);
  EXPECT_EQ(subject.result.events[0].raw_end_ns, kAdjustEpoch + 10);
  EXPECT_TRUE(subject.result.adjusted);
}

TEST(AdjustTest, OperationsThatFitAreNotMoved) {
  AdjustSubject subject;
  subject.thread(1);
  const uint32_t top = subject.host(0, 1000);
  subject.host(10, 20, top);
  const uint32_t asks = subject.host(100, 200, top);
  subject.host(300, 350, top);
  subject.device(1, asks, 120, 5000, 40);
  subject.device(1, top, 250, 6000, 30);
  subject.adjust();
  EXPECT_THAT(subject.spans(), ElementsAre("0-1000", "10-20", "100-200", "*120-160", "*250-280", "300-350"));
}

TEST(AdjustTest, ChildrenLeaveSpaceForLaterSiblings) {
  AdjustSubject subject;
  subject.thread(1);
  const uint32_t top = subject.host(0, 100), first = subject.host(40, 60, top);
  subject.host(80, 100, top);
  subject.device(1, first, 50, 900, 70);
  subject.adjust();
  // 70 and 20 fit into 100: the first begins earlier than before, so that the second still ends with its parent.
  EXPECT_THAT(subject.spans(), ElementsAre("0-100", "10-80", "*10-80", "80-100"));
}

TEST(AdjustTest, DeviceOperationWithoutCauseBecomesARootOfItsThread) {
  AdjustSubject subject;
  subject.thread(1);
  subject.host(0, 10);
  subject.host(20, 30);
  subject.device(1, kNoCause, 12, 400, 25);
  subject.device(77, kNoCause, 12, 500, 25);  // a thread that recorded nothing
  subject.adjust();
  EXPECT_THAT(subject.spans(), ElementsAre("0-10", "*12-37", "37-47", "*500-525"));
  EXPECT_EQ(subject.result.first_device_event, 3u);
  EXPECT_EQ(subject.result.events[1].parent, kNoCause);
}

TEST(AdjustTest, OtherDevicesKeepTheirRowsAndTimes) {
  AdjustSubject subject;
  subject.thread(1);
  const uint32_t top = subject.host(0, 10);
  subject.device(1, top, 1, 100, 50, 1);
  subject.device(1, top, 2, 100, 50, kVulkan);
  subject.adjust();
  EXPECT_THAT(subject.spans(), ElementsAre("0-50", "*0-50", "*100-150"));
  EXPECT_EQ(subject.result.events[2].device.type, 1);
}

TEST(AdjustTest, AllocationsFollowTheirEvents) {
  AdjustSubject subject;
  subject.thread(1);
  const uint32_t first = subject.host(0, 10), second = subject.host(20, 30);
  subject.device(1, first, 5, 100, 5);
  for (const uint32_t event : {first, second, kNoCause, uint32_t{4000}})
    subject.result.allocations.emplace_back().event = event;
  subject.adjust();
  std::vector<uint32_t> events;
  for (const EdgeAllocation& allocation : subject.result.allocations) events.push_back(allocation.event);
  EXPECT_THAT(events, ElementsAre(0u, 2u, kNoCause, kNoCause));
}

TEST(AdjustTest, TableSharesIncludeTheDeviceTimeInsideOperations) {
  AdjustSubject subject;
  subject.thread(1);
  const uint32_t first = subject.host(0, 10);
  subject.host(20, 45);
  subject.device(1, first, 5, 100, 75);
  subject.adjust();
  const std::string table = EdgeResult(std::make_shared<ResultData>(std::move(subject.result))).table();
  EXPECT_THAT(table, testing::HasSubstr("25.00%"));   // the host's own time
  EXPECT_THAT(table, testing::HasSubstr("100.00%"));  // 75 and 25
}

TEST(AdjustTest, ImpossibleTimesDoNotFail) {
  AdjustSubject subject;
  subject.thread(1);
  const uint32_t top = subject.host(0, 10);
  for (int i = 0; i < 3; ++i) subject.device(1, top, 5, 100, uint64_t{1} << 63);
  subject.device(1, 4000, 0, 100, 5);
  subject.result.events.back().end_ns = 7;  // before it began
  subject.adjust();
  ASSERT_EQ(subject.result.events.size(), 5u);
  for (const EdgeEvent& event : subject.result.events) EXPECT_LE(event.start_ns, event.end_ns);
}

TEST(AdjustTest, DeepTreeDoesNotOverflowTheStack) {
  constexpr uint32_t kDepth = 200'000;
  AdjustSubject subject;
  subject.thread(1);
  uint32_t parent = kNoCause;
  for (uint32_t i = 0; i < kDepth; ++i) parent = subject.host(i, 2 * kDepth - i, parent);
  subject.device(1, parent, kDepth, 1, 10 * kDepth);
  subject.adjust();
  ASSERT_EQ(subject.result.events.size(), kDepth + 1);
  EXPECT_EQ(subject.result.events.back().duration_ns(), 10 * kDepth);
  EXPECT_EQ(subject.result.events.front().duration_ns(), 10 * kDepth);
}

// ---- Random trees -----------------------------------------------------------------------------------------------

class RandomSubjects {
 public:
  explicit RandomSubjects(unsigned seed) : random_(seed) {}

  AdjustSubject make();

 private:
  uint64_t number(uint64_t below) { return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_); }

  // Adds operations within [start, end), one after the other, each with some operations inside it.
  void grow(AdjustSubject& subject, uint64_t start, uint64_t end, uint32_t parent, int depth) {
    while (end - start > 10 && number(6) != 0) {
      start += number((end - start) / 2);
      const uint64_t stop = start + number(end - start);
      const uint32_t event = subject.host(start, stop, parent);
      if (depth < 6) grow(subject, start, stop, event, depth + 1);
      start = stop;
    }
  }

  std::mt19937_64 random_;
};

AdjustSubject RandomSubjects::make() {
  AdjustSubject subject;
  const uint64_t threads = 1 + number(4);
  for (uint64_t i = 0; i < threads; ++i) {
    subject.thread(100 + i);
    grow(subject, number(1000), 2'000'000, kNoCause, 0);
  }
  constexpr uint64_t kLongest[] = {1, 50, 10'000, 3'000'000, 5'000'000'000};  // the last one needs more than 32 bits
  for (uint64_t i = number(60); i > 0; --i) {
    const size_t at = number(threads);
    const bool idle_thread = threads > 1 && at == 0;
    const ThreadInfo& thread = subject.result.threads[at];
    const uint64_t length = number(kLongest[number(5)]);
    const int32_t type = idle_thread || number(5) == 0 ? 1 : kVulkan;
    if (thread.event_count == 0 || number(8) == 0) {
      subject.device(thread.thread, kNoCause, number(2'000'000), number(9'000'000), length, type);
    } else {
      const auto cause = static_cast<uint32_t>(thread.first_event + number(thread.event_count));
      const EdgeEvent& by = subject.result.events[cause];
      const uint64_t queued = by.start_ns - kAdjustEpoch + number(by.duration_ns() + 1);
      subject.device(thread.thread, cause, queued, queued + number(9'000'000), length, type);
    }
  }
  return subject;
}

void expect_what_is_promised(AdjustSubject subject) {
  link_tree(subject.result.events);
  // Each event stores its old index.
  for (size_t i = 0; i < subject.result.events.size(); ++i) subject.result.events[i].engine_id = i + 1;
  const ResultData before = subject.result;
  adjust_vulkan_timestamps(subject.result);
  const ResultData& after = subject.result;

  ASSERT_EQ(after.events.size(), before.events.size());
  std::vector<uint32_t> now_at(before.events.size(), kNoCause);
  for (uint32_t i = 0; i < after.events.size(); ++i) now_at[after.events[i].engine_id - 1] = i;

  uint64_t device_before = 0, device_after = 0;
  for (size_t i = 0; i < before.events.size(); ++i) {
    ASSERT_NE(now_at[i], kNoCause) << "event " << i << " is gone";
    const EdgeEvent &was = before.events[i], &is = after.events[now_at[i]];
    EXPECT_EQ(is.raw_start_ns, was.raw_start_ns);
    EXPECT_EQ(is.raw_end_ns, was.raw_end_ns);
    EXPECT_EQ(is.thread, was.thread);
    EXPECT_GE(is.duration_ns(), was.duration_ns());
    if (was.kind == EdgeKind::Device) {
      device_before += was.duration_ns();
      device_after += is.duration_ns();
    }
    // The tree is unchanged, except that it now contains the Vulkan operations.
    uint32_t parent = was.parent;
    if (was.kind == EdgeKind::Device && was.device.type == kVulkan) parent = was.caused_by;
    EXPECT_EQ(is.caused_by, was.caused_by == kNoCause ? kNoCause : now_at[was.caused_by]);
    EXPECT_EQ(is.parent, parent == kNoCause ? kNoCause : now_at[parent]);
  }
  EXPECT_EQ(device_after, device_before);

  uint32_t next = 0;
  for (size_t t = 0; t < after.threads.size(); ++t) {
    const ThreadInfo& thread = after.threads[t];
    ASSERT_EQ(thread.first_event, next);
    next += thread.event_count;
    const bool untouched = thread.event_count == before.threads[t].event_count;
    std::map<uint32_t, uint64_t> inside;             // total duration of each event's children
    std::map<uint32_t, const EdgeEvent*> neighbour;  // the last visited child of each event
    uint64_t last_host = 0, last_start = 0;
    for (uint32_t i = thread.first_event; i < next; ++i) {
      const EdgeEvent& event = after.events[i];
      EXPECT_GE(event.start_ns, std::exchange(last_start, event.start_ns));
      if (event.kind != EdgeKind::Device) {
        EXPECT_LT(std::exchange(last_host, event.engine_id), event.engine_id);
      }
      if (untouched) {
        EXPECT_EQ(event.start_ns, event.raw_start_ns);
        EXPECT_EQ(event.end_ns, event.raw_end_ns);
      }
      if (event.parent != kNoCause) {
        const EdgeEvent& parent = after.events[event.parent];
        EXPECT_LT(event.parent, i);
        EXPECT_GE(event.start_ns, parent.start_ns);
        EXPECT_LE(event.end_ns, parent.end_ns);
        inside[event.parent] += event.duration_ns();
      }
      const EdgeEvent*& sibling = neighbour[event.parent];
      EXPECT_GE(event.start_ns, sibling == nullptr ? 0 : sibling->end_ns);
      sibling = &event;
    }
    for (uint32_t i = thread.first_event; i < next; ++i) {
      const EdgeEvent& event = after.events[i];
      if (event.kind == EdgeKind::Device) continue;
      EXPECT_EQ(event.duration_ns(), std::max(event.raw_end_ns - event.raw_start_ns, inside[i]));
      EXPECT_EQ(event.self_ns, event.duration_ns() - inside[i]);
    }
  }
  ASSERT_EQ(after.first_device_event, next);
  for (uint32_t i = next; i < after.events.size(); ++i) {
    EXPECT_EQ(after.events[i].device.type, 1);
    EXPECT_EQ(after.events[i].start_ns, after.events[i].raw_start_ns);
    EXPECT_EQ(after.events[i].end_ns, after.events[i].raw_end_ns);
  }
}

TEST(AdjustTest, RandomTreesKeepTheirOrderAndContainTheDeviceWorkTheyRequested) {
  for (unsigned seed = 0; seed < 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_what_is_promised(RandomSubjects(seed).make());
  }
}

}  // namespace
}  // namespace kymo::edge
