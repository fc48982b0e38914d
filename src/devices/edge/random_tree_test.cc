// 200,000 random events (fewer with a sanitizer), compared with a simple reference implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/test_size.h"
#include "edge/flops.h"
#include "edge/test_log.h"

namespace kymo::edge {
namespace {

class RandomTreeTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kThreads = 3, kOperations = base::test_size(60'000),
                            kBackendEvents = base::test_size(6'000);

  // A random walk that opens and closes operations. Some allocate memory, some have inputs.
  void SetUp() override {
    std::vector<Inputs> inputs(5);
    for (int64_t size = 0; size < 5; ++size) {
      const std::vector<int64_t> sizes = {size, size};
      for (int i = 0; i < 2; ++i) inputs[static_cast<size_t>(size)].tensor(Element::Float, sizes, {});
    }
    const std::vector<std::string> names = {"aten::mm", "aten::add", "aten::view", "aten::linear", "step", "call"};
    uint64_t end = 0;
    for (uint64_t number = 1; number <= kThreads; ++number) {
      MadeThread& thread = log_.thread(number);
      uint64_t now = 1000, open = 0;
      for (uint32_t left = kOperations; left != 0;) {
        now += random_() % 2000;
        const uint64_t what = random_() % 8;
        if (what < 4 && open < 40) {
          const Inputs* const given = random_() % 3 == 0 ? nullptr : &inputs[random_() % inputs.size()];
          thread.begin(names[random_() % names.size()], now, -1, given);
          ++open, --left;
        } else if (what < 7 && open > 0) {
          thread.end(now);
          --open;
        } else {
          thread.memory(now, random_() % 3000, static_cast<int64_t>(random_() % 2000) - 1000);
        }
      }
      while (open-- != 0) thread.end(++now);
      for (uint32_t left = kBackendEvents; left != 0; --left) {
        const auto start = static_cast<int64_t>(random_() % (now / 1000));
        thread.backend_event("layer", MadeLog::kOriginUs + start,
                             MadeLog::kOriginUs + start + static_cast<int64_t>(random_() % 20), random_() % now);
      }
      end = std::max(end, now);
    }
    log_.contents.end = {end, end, MadeLog::kOrigin + end};
    result_ = log_.build({.flops = true});
  }

  const EdgeEvent& event(uint32_t at) const { return result_->events[at]; }
  bool is_root(uint32_t at) const { return event(at).parent == EdgeEvent::kNone; }

  std::mt19937_64 random_{17};
  MadeLog log_{0};
  std::shared_ptr<const ResultData> result_;
};

TEST_F(RandomTreeTest, AgreesWithTheReference) {
  ASSERT_EQ(result_->events.size(), kThreads * (kOperations + kBackendEvents));
  const auto count = static_cast<uint32_t>(result_->events.size());

  // Order: by begin, but no event comes before its parent.
  std::vector<uint64_t> places(count);
  for (const ThreadInfo& thread : result_->threads) {
    uint64_t latest = 0;
    for (uint32_t at = thread.first_event; at < thread.first_event + thread.event_count; ++at) {
      places[at] = event(at).start_ns;
      if (!is_root(at)) {
        ASSERT_LT(event(at).parent, at);
        ASSERT_GE(event(at).parent, thread.first_event);
        places[at] = std::max(places[at], places[event(at).parent]);
      }
      ASSERT_GE(places[at], latest);
      latest = places[at];
      ASSERT_EQ(event(at).depth, is_root(at) ? 0 : event(event(at).parent).depth + 1);
    }
  }

  // Self times: the time that no child covers, found by marking the ends.
  std::vector<std::vector<uint32_t>> children(count);
  for (uint32_t at = 0; at < count; ++at)
    if (!is_root(at)) children[event(at).parent].push_back(at);
  for (uint32_t at = 0; at < count; ++at) {
    std::map<uint64_t, int> ends;
    for (const uint32_t child : children[at]) {
      const uint64_t from = std::clamp(event(child).start_ns, event(at).start_ns, event(at).end_ns);
      const uint64_t until = std::clamp(event(child).end_ns, event(at).start_ns, event(at).end_ns);
      ++ends[from], --ends[until];
    }
    uint64_t covered = 0, since = 0;
    int open = 0;
    for (const auto& [time, change] : ends) {
      if (open > 0) covered += time - since;
      open += change;
      since = time;
    }
    ASSERT_EQ(event(at).self_ns, event(at).duration_ns() - covered) << at;
    // Links.
    std::vector<uint32_t> linked;
    for (uint32_t child = event(at).first_child; child != EdgeEvent::kNone; child = event(child).next_sibling)
      linked.push_back(child);
    ASSERT_EQ(linked, children[at]);
  }

  // Memory and FLOPs.
  std::vector<int64_t> self(count), inclusive(count);
  for (const EdgeAllocation& allocation : result_->allocations) {
    if (allocation.event == EdgeEvent::kNone) continue;
    self[allocation.event] += allocation.bytes;
    for (uint32_t at = allocation.event; at != EdgeEvent::kNone; at = event(at).parent)
      inclusive[at] += allocation.bytes;
  }
  for (uint32_t at = 0; at < count; ++at) {
    ASSERT_EQ(event(at).self_memory_bytes, self[at]);
    ASSERT_EQ(event(at).memory_bytes, inclusive[at]);
    bool inside_counted = false;
    for (uint32_t up = event(at).parent; up != EdgeEvent::kNone && !inside_counted; up = event(up).parent)
      inside_counted = count_flops(event(up).name, result_->inputs_of(event(up))).has_value();
    const uint64_t expected =
        inside_counted ? 0 : count_flops(event(at).name, result_->inputs_of(event(at))).value_or(0);
    ASSERT_EQ(event(at).flops, expected) << event(at).name;
  }
}

TEST_F(RandomTreeTest, BackendEventsFollowThePlacementRule) {
  constexpr uint64_t kUs = 1000;
  for (const ThreadInfo& thread : result_->threads) {
    std::vector<uint32_t> operations;
    for (uint32_t at = thread.first_event; at < thread.first_event + thread.event_count; ++at)
      if (event(at).kind != EdgeKind::Backend) operations.push_back(at);
    for (uint32_t at = thread.first_event; at < thread.first_event + thread.event_count; at += 1 + random_() % 199) {
      if (event(at).kind != EdgeKind::Backend) continue;
      uint32_t innermost = EdgeEvent::kNone;  // of the operations that contain it, the last one that began
      for (const uint32_t operation : operations)
        if (event(operation).start_ns <= event(at).start_ns + kUs && event(at).end_ns <= event(operation).end_ns + kUs)
          innermost = operation;
      uint32_t parent = event(at).parent;
      while (parent != EdgeEvent::kNone && event(parent).kind == EdgeKind::Backend) {
        ASSERT_LE(event(parent).start_ns, event(at).start_ns);
        ASSERT_GE(event(parent).end_ns, event(at).end_ns);
        parent = event(parent).parent;
      }
      if (innermost != EdgeEvent::kNone) {
        ASSERT_EQ(parent, innermost);
      } else if (parent != EdgeEvent::kNone) {
        ASSERT_LT(event(parent).start_ns, event(at).end_ns);
        ASSERT_LT(event(at).start_ns, event(parent).end_ns);
      }
    }
  }
}

TEST_F(RandomTreeTest, AveragesAgreeWithTheReference) {
  const EdgeResult result(result_);
  for (const EdgeGroup by : {EdgeGroup::Name, EdgeGroup::Shape}) {
    struct Sum {
      uint64_t calls = 0, total_ns = 0, self_ns = 0, flops = 0;
      int64_t memory = 0;
    };
    const auto key = [&](const EdgeEvent& of) {
      std::string text(of.name);
      if (by == EdgeGroup::Name) return text;
      for (const EdgeInput& input : result.inputs(of)) text += "/" + std::to_string(input.sizes.at(0));
      return text;
    };
    std::vector<std::string> keys;
    for (const EdgeEvent& of : result.events()) keys.push_back(key(of));
    std::map<std::string, Sum> sums;
    for (uint32_t at = 0; at < keys.size(); ++at) {
      Sum& sum = sums[keys[at]];
      ++sum.calls;
      sum.self_ns += event(at).self_ns;
      sum.flops += event(at).flops;
      bool inside = false;
      for (uint32_t up = event(at).parent; up != EdgeEvent::kNone && !inside; up = event(up).parent)
        inside = keys[up] == keys[at];
      if (inside) continue;
      sum.total_ns += event(at).duration_ns();
      sum.memory += event(at).memory_bytes;
    }
    const std::vector<EdgeAverage> averages = result.key_averages(by);
    ASSERT_EQ(averages.size(), sums.size());
    std::map<std::vector<uint64_t>, int> expected, found;  // groups by all their numbers
    for (const auto& [name, sum] : sums)
      ++expected[{sum.calls, sum.total_ns, sum.self_ns, sum.flops, static_cast<uint64_t>(sum.memory)}];
    for (const EdgeAverage& one : averages)
      ++found[{one.calls, one.total_ns, one.self_ns, one.flops, static_cast<uint64_t>(one.memory_bytes)}];
    EXPECT_EQ(expected, found);
  }
}

}  // namespace
}  // namespace kymo::edge
