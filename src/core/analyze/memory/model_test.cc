// Compares the profiles of random programs with a simple model: a list of all allocations with their lifetimes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "analyze/memory/export.h"
#include "analyze/memory/profile.h"
#include "analyze/memory/test_trace.h"
#include "base/test_tree.h"

namespace kymo::memory {
namespace {

using namespace kymo::memory::tests;
using ::testing::HasSubstr;

constexpr uint32_t kThreads = 4;
constexpr uint64_t kTick = 1'003;  // more than a microsecond, and not a whole number of them

struct Life {
  uint64_t taken = 0;                // time in ticks of kTick; no two changes have the same time
  std::optional<uint64_t> returned;  // time
  uint64_t bytes = 0;
  std::string memory, range, stack;
  Category category = Category::Unknown;
  int outermost = 0, returned_in = 0;  // the number of the outermost range; 0: none
};

// A program with four threads. They allocate and free memory of three kinds in ranges. A thread also frees memory of
// the other threads.
class RandomProgram {
 public:
  RandomProgram(const std::string& path, unsigned seed) : trace_(path), random_(seed) {
    trace_.add_thread(3, 103, "third");
    trace_.add_thread(4, 104, "fourth");
    trace_.module(1, "/nowhere/libgone.so", 0x1000, 0x10000, "");
    for (uint32_t thread = 1; thread <= kThreads; ++thread)
      for (int64_t i = 0; i < kStacks; ++i)
        trace_.node(thread, 16 + i, i % 3 == 0 ? 1 : 15 + i, 0x1000 + 0x10 * (i + 1));
  }

  void run(uint64_t changes) {
    for (uint64_t i = 0; i < changes; ++i) {
      ++now_;
      const auto thread = static_cast<uint32_t>(1 + random_() % kThreads);
      if (random_() % 3 == 0) change_range(thread);
      ++now_;
      // The program alternates between growing and shrinking, so that the peak can be anywhere.
      const bool grows = random_() % 100 < ((i / 400) % 2 == 0 ? 65 : 40);
      if (grows || alive_.empty())
        take(thread);
      else
        give_back(thread);
      if (random_() % 50 == 0) trace_.cut(thread);
    }
    for (uint32_t thread = 1; thread <= kThreads; ++thread)
      while (!open_[thread].empty()) end_range(thread);
    trace_.close();
  }

  const std::vector<Life>& lives() const { return lives_; }

 private:
  static constexpr int64_t kStacks = 9;
  static constexpr uint64_t kApart = 1 << 17;  // distance of addresses: more than the largest block

  void change_range(uint32_t thread) {
    if (!open_[thread].empty() && random_() % 2 == 0) return end_range(thread);
    if (open_[thread].size() > 4) return;
    if (open_[thread].empty()) outermost_[thread] = ++outermosts_;
    const bool step = random_() % 2 == 0;
    if (step)
      trace_.begin(thread, now_ * kTick, kStep, {static_cast<int64_t>(now_)});
    else
      trace_.begin(thread, now_ * kTick, kInner);
    open_[thread].push_back(step ? "step {}" : "inner");
  }
  void end_range(uint32_t thread) {
    trace_.end(thread, now_++ * kTick);
    open_[thread].pop_back();
    if (open_[thread].empty()) outermost_[thread] = 0;
  }

  void take(uint32_t thread) {
    // Freed addresses are used again soon, as allocators do.
    uint64_t address = 0;
    do address = kApart * (1 + random_() % 400);
    while (alive_.contains(address));
    Life life;
    life.taken = now_;
    life.bytes = random_() % 20 == 0 ? 0 : random_() % 100'000;
    life.range = open_[thread].empty() ? "" : open_[thread].back();
    life.outermost = outermost_[thread];
    const auto bytes = static_cast<int64_t>(life.bytes);
    switch (random_() % 3) {
      case 0:
        life.memory = "cuda:1";
        trace_.take(thread, now_ * kTick, address, bytes, life.memory);
        break;
      case 1: {
        life.memory = "host";
        life.category = static_cast<Category>(random_() % kCategories);
        const bool says = life.category != Category::Unknown;
        trace_.told(thread, now_ * kTick, address, bytes, says ? std::string(category_name(life.category)) : "");
        break;
      }
      default: {
        life.memory = "heap";
        const auto stack = static_cast<int64_t>(random_() % kStacks);
        for (int64_t i = stack;; --i) {
          char frame[32];
          std::snprintf(frame, sizeof frame, "libgone.so+%#lx;", static_cast<unsigned long>(0x10 * (i + 1)));
          life.stack += frame;
          if (i % 3 == 0) break;
        }
        trace_.malloc(thread, now_ * kTick, address, bytes, 16 + stack);
      }
    }
    alive_[address] = lives_.size();
    lives_.push_back(std::move(life));
  }

  void give_back(uint32_t thread) {
    auto chosen = alive_.lower_bound(kApart * (random_() % 400));
    if (chosen == alive_.end()) chosen = alive_.begin();
    Life& life = lives_[chosen->second];
    life.returned = now_;
    life.returned_in = outermost_[thread];
    if (life.memory == "heap")
      trace_.free(thread, now_ * kTick, chosen->first);
    else if (life.memory == "host")
      trace_.reported_free(thread, now_ * kTick, chosen->first);
    else
      trace_.give_back(thread, now_ * kTick, chosen->first, 0, life.memory);
    alive_.erase(chosen);
  }

  MemoryTrace trace_;
  std::mt19937_64 random_;
  uint64_t now_ = 1;
  int outermosts_ = 0;
  std::map<uint32_t, std::vector<std::string>> open_;
  std::map<uint32_t, int> outermost_;
  std::map<uint64_t, size_t> alive_;  // index in lives_ by address
  std::vector<Life> lives_;
};

// Computes the expected results by going through all lives for each question.
class Truth {
 public:
  explicit Truth(std::vector<Life> lives) : lives_(std::move(lives)) {
    for (Life& life : lives_)
      if (life.category == Category::Unknown && life.returned && life.outermost != 0 &&
          life.outermost == life.returned_in)
        life.category = Category::Temporary;
    std::map<uint64_t, int64_t> changes;
    for (const Life& life : lives_) {
      changes[life.taken] = static_cast<int64_t>(life.bytes);
      if (life.returned) changes[*life.returned] = -static_cast<int64_t>(life.bytes);
    }
    uint64_t sum = 0;
    for (const auto& [time, bytes] : changes) {
      in_use[time] = sum += static_cast<uint64_t>(bytes);
      if (sum <= peak) continue;
      peak = sum;
      peak_at = time;
    }
  }

  using Which = std::function<bool(const Life&)>;
  Which at(uint64_t time) const {
    return [=](const Life& life) { return life.taken <= time && (!life.returned || *life.returned > time); };
  }
  static bool never_returned(const Life& life) { return !life.returned; }
  static bool any(const Life&) { return true; }

  std::map<std::string, std::pair<uint64_t, uint64_t>> by(std::string Life::*key, const Which& which) const {
    std::map<std::string, std::pair<uint64_t, uint64_t>> sums;
    for (const Life& life : lives_) {
      if (!which(life)) continue;
      auto& [bytes, count] = sums[life.*key];
      bytes += life.bytes;
      ++count;
    }
    return sums;
  }
  BytesByCategory by_category(const Which& which) const {
    BytesByCategory sums{};
    for (const Life& life : lives_)
      if (which(life)) sums[static_cast<size_t>(life.category)] += life.bytes;
    return sums;
  }
  const std::vector<Life>& lives() const { return lives_; }

  std::map<uint64_t, uint64_t> in_use;  // after each change
  uint64_t peak = 0, peak_at = 0;

 private:
  std::vector<Life> lives_;
};

std::map<std::string, std::pair<uint64_t, uint64_t>> found_by(Profile& profile, GroupBy by, Holding Group::*which) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> sums;
  for (const Group& group : groups_by(profile, by)) {
    std::string name;
    if (by == GroupBy::Range)
      name = profile.tables.ranges[group.key];
    else
      for (const symbols::Frame& frame : profile.tables.stacks.frames(static_cast<StackId>(group.key)))
        name += frame.function + ";";
    const Holding& holding = group.*which;
    if (holding.count != 0) sums[name] = {holding.bytes, holding.count};
  }
  return sums;
}

int64_t realtime(uint64_t time) { return static_cast<int64_t>(kRealtimeZero + time * kTick); }

void expect_holders(Profile& profile, const Truth& truth) {
  const struct {
    Holding Group::*found;
    Truth::Which which;
  } questions[] = {{&Group::at_peak, truth.at(truth.peak_at)},
                   {&Group::left, Truth::never_returned},
                   {&Group::taken, Truth::any},
                   {&Group::temporary, [](const Life& life) { return life.category == Category::Temporary; }}};
  for (const auto& [found, which] : questions) {
    EXPECT_EQ(found_by(profile, GroupBy::Stack, found), truth.by(&Life::stack, which));
    EXPECT_EQ(found_by(profile, GroupBy::Range, found), truth.by(&Life::range, which));
  }
}

void expect_timeline(const Profile& profile, const Truth& truth) {
  ASSERT_EQ(profile.timeline.size(), truth.in_use.size());
  auto expected = truth.in_use.begin();
  for (const TimelinePoint& point : profile.timeline) {
    ASSERT_EQ(point.time_ns, realtime(expected->first));
    uint64_t categories = 0, stacks = 0, ranges = 0;
    for (size_t i = 0; i < point.bytes.size(); ++i) {
      categories += point.bytes[i];
      stacks += point.by_stack[i];
      ranges += point.by_range[i];
    }
    ASSERT_EQ(categories, expected->second);
    ASSERT_EQ(stacks, expected->second);
    ASSERT_EQ(ranges, expected->second);
    ++expected;
  }
}

void expect_memories(const Profile& profile, const Truth& truth) {
  for (size_t i = 0; i < profile.memories.size(); ++i) {
    std::vector<Life> own;
    for (const Life& life : truth.lives())
      if (life.memory == profile.tables.memories[i].device) own.push_back(life);
    const Truth alone(own);
    EXPECT_EQ(profile.memories[i].peak_bytes, alone.peak);
    EXPECT_EQ(profile.memories[i].peak_ns, realtime(alone.peak_at));
    EXPECT_EQ(profile.memories[i].in_use, alone.in_use.rbegin()->second);
    EXPECT_EQ(profile.memories[i].taken.count, own.size());
  }
}

class ModelTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(ModelTest, PeakHoldersLeaksAndTimelineMatchTheModel) {
  const TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
  RandomProgram program(path, GetParam());
  program.run(2'000);
  const Truth truth(program.lives());
  const trace::Reader reader(path);
  Profile profile = read_profile(reader, {"", 100'000});

  EXPECT_EQ(profile.counts.unknown_returns + profile.counts.lost_returns, 0u);
  EXPECT_EQ(profile.peak_bytes, truth.peak);
  EXPECT_EQ(profile.peak_ns, realtime(truth.peak_at));
  EXPECT_EQ(profile.end_bytes, truth.in_use.rbegin()->second);
  EXPECT_EQ(profile.at_peak, truth.by_category(truth.at(truth.peak_at)));
  EXPECT_EQ(profile.memories.size(), 3u);
  expect_memories(profile, truth);
  expect_holders(profile, truth);
  expect_timeline(profile, truth);
  size_t checked = 0;
  for (const auto& [time, bytes] : truth.in_use) {
    if (checked++ % 97 != 0) continue;
    EXPECT_EQ(profile.timeline[checked - 1].bytes, truth.by_category(truth.at(time))) << time;
  }
}
INSTANTIATE_TEST_SUITE_P(Random, ModelTest, ::testing::Range(1u, 7u));

TEST(ModelFormsTest, EveryFormMatchesTheModel) {
  if (std::system("python3 -c 'import pickle' 2>/dev/null") != 0) GTEST_SKIP() << "no python3 here";
  const TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
  RandomProgram program(path, 77);
  program.run(1'500);
  const Truth truth(program.lives());
  const trace::Reader reader(path);
  for (const char* const name : {"m.json", "m.json.gz", "m.raw.json", "m.raw.json.gz", "m.pickle"})
    export_profile(reader, folder / name);
  std::string said;
  FILE* const pipe = ::popen(
      ("python3 " + kymo::base::in_tree("src/core/analyze/memory/test_forms.py") + " '" + folder / "m" + "' 2>&1")
          .c_str(),
      "r");
  for (int letter; (letter = std::fgetc(pipe)) != EOF;) said += static_cast<char>(letter);
  EXPECT_EQ(::pclose(pipe), 0) << said;
  const std::string left = std::to_string(truth.in_use.rbegin()->second);
  EXPECT_THAT(said, HasSubstr("timeline: " + std::to_string(truth.in_use.size()) + " rows, peak " +
                              std::to_string(truth.peak) + "\n"));
  EXPECT_THAT(said, HasSubstr("rows of categories 0 1 2 3 4 5 6 7 left " + left + "\n"));
}

}  // namespace
}  // namespace kymo::memory
