#include "analyze/diff/diff.h"

#include <gtest/gtest.h>

#include <random>

#include "trace/test_wild_trace.h"

namespace kymo::analyze {
namespace {

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

// `steps` iterations: forward with a matrix product inside, whose kernel runs on a device, and loading.
IterationSums sums(unsigned steps, uint64_t load, uint64_t kernel, unsigned seed, bool extra = false) {
  const TemporaryFolder folder;
  TestRecorder recorder(folder / "t.kymo");
  recorder.add_class(1, "step {}", "", {{"", trace::FieldType::Int}});
  recorder.add_class(2, "forward");
  recorder.add_class(3, "aten::mm", "cpu_op");
  recorder.add_class(4, "cudaLaunchKernel", "cuda_runtime");
  recorder.add_class(5, "gemm", "kernel");
  recorder.add_class(6, "load");
  recorder.add_class(7, "extra");
  recorder.add_thread(1, 1, "main");
  trace::Track queue;
  queue.id = 2;
  queue.kind = trace::TrackKind::DeviceQueue;
  queue.clock = TestRecorder::kClock;
  queue.device_uuid = "gpu";
  recorder.add_track(queue);
  std::mt19937 random(seed);
  uint64_t now = 0;
  for (unsigned i = 0; i < steps; ++i) {
    recorder.begin(1, now, 1, {static_cast<int64_t>(i)});
    recorder.begin(1, now += 10, 6);
    recorder.end(1, now += load + random() % 20);
    recorder.begin(1, now += 10, 2);
    recorder.begin(1, now += 5, 3);
    recorder.begin(1, now += 5, 4, {}, i + 1);
    recorder.end(1, now += 20);
    recorder.complete(2, now, now + kernel, 5, 0, 0, i + 1);
    recorder.end(1, now += 5);
    recorder.end(1, now += 5);
    if (extra) recorder.begin(1, now, 7), recorder.end(1, now += 100);
    recorder.end(1, now += 10 + kernel);
    now += 50;
    if (i % 7 == 3) recorder.cut(1);
  }
  recorder.close();
  return iteration_sums(trace::Reader(folder / "t.kymo"));
}

const KeySums* find(const IterationSums& sums, const std::string& key) {
  for (const KeySums& one : sums.keys)
    if (one.key == key) return &one;
  return nullptr;
}

TEST(IterationSumsTest, KeysArePathsWithSelfTime) {
  const IterationSums found = sums(30, 1000, 500, 1);
  EXPECT_EQ(found.wall_ns.size(), 30u);
  const KeySums* const product = find(found, "step {}/forward/aten::mm");
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(product->count, 30u);
  for (const double ns : product->ns) EXPECT_DOUBLE_EQ(ns, 10);
  const KeySums* const kernel = find(found, "step {}/forward/aten::mm/cudaLaunchKernel > gemm");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->on_device);
  for (const double ns : kernel->ns) EXPECT_DOUBLE_EQ(ns, 500);
  // The host paths of an iteration sum to its length.
  for (size_t i = 0; i < found.wall_ns.size(); ++i) {
    double sum = 0;
    for (const KeySums& key : found.keys)
      if (!key.on_device) sum += key.ns[i];
    EXPECT_DOUBLE_EQ(sum, found.wall_ns[i]);
  }
}

// Three iterations; in each, the second range begins a nanosecond before the first one ends, and has one inside.
TEST(IterationSumsTest, RangesThatOverlapHaveKeys) {
  const TemporaryFolder folder;
  TestRecorder recorder(folder / "t.kymo");
  recorder.add_class(1, "first");
  recorder.add_class(2, "second");
  recorder.add_class(3, "inside");
  recorder.add_thread(1, 1, "main");
  for (uint32_t i = 0; i < 3; ++i) {
    const uint64_t at = 1000 * i;
    recorder.add_class(10 + i, "step " + std::to_string(i));
    recorder.complete(1, at + 10, at + 100, 1, 1);
    recorder.complete(1, at + 120, at + 130, 3, 1, 1);
    recorder.complete(1, at + 99, at + 200, 2, 0, 1);
    recorder.complete(1, at, at + 500, 10 + i);
  }
  recorder.close();
  const IterationSums found = iteration_sums(trace::Reader(folder / "t.kymo"));
  ASSERT_EQ(found.wall_ns.size(), 3u);
  const auto expect = [&](const std::string& key, double ns) {
    const KeySums* const sums = find(found, key);
    ASSERT_NE(sums, nullptr) << key;
    EXPECT_EQ(sums->ns, std::vector<double>(3, ns)) << key;
    EXPECT_EQ(sums->count, 3u) << key;
  };
  expect("step {}", 310);
  expect("step {}/first", 89);
  expect("step {}/second", 91);
  expect("step {}/second/inside", 10);
  EXPECT_EQ(found.keys.size(), 4u);
}

// Each step ends a nanosecond after the next one has begun, and a range inside ends a nanosecond after its step.
TEST(IterationSumsTest, EndsThatAreOffByANanosecondDoNotChangeAPath) {
  const TemporaryFolder folder;
  TestRecorder recorder(folder / "t.kymo");
  recorder.add_class(1, "child");
  recorder.add_class(2, "tail");
  recorder.add_thread(1, 1, "main");
  for (uint32_t i = 0; i < 6; ++i) {
    const uint64_t at = 1000 * i;
    const bool is_even = i % 2 == 0;
    recorder.add_class(10 + i, "step " + std::to_string(i));
    recorder.complete(1, at, at + 600, 1, is_even ? 1 : 0, is_even ? 0 : 2);
    recorder.complete(1, at + 700, at + 1000 + (i == 5 ? 1 : 0), 2, is_even ? 1 : 0, is_even ? 0 : 2);
    recorder.complete(1, at, at + 1000 + (i < 5 ? 1 : 0), 10 + i, 0, is_even ? 0 : 1);
  }
  recorder.close();
  const IterationSums found = iteration_sums(trace::Reader(folder / "t.kymo"));
  ASSERT_EQ(found.wall_ns.size(), 6u);
  ASSERT_EQ(found.keys.size(), 3u);
  EXPECT_EQ(found.keys[0].key, "step {}");
  EXPECT_EQ(found.keys[1].key, "step {}/child");
  EXPECT_EQ(found.keys[1].ns, std::vector<double>(6, 600));
  EXPECT_EQ(found.keys[2].key, "step {}/tail");
  EXPECT_EQ(found.keys[2].ns, std::vector<double>(6, 300));
}

// The time of ranges that are too deep for a path of their own is in the range around them.
TEST(IterationSumsTest, VeryDeepRecursionKeepsAllOfItsTime) {
  const TemporaryFolder folder;
  TestRecorder recorder(folder / "t.kymo");
  recorder.add_class(1, "f");
  recorder.add_thread(1, 1, "main");
  constexpr uint64_t kLevels = 70'000;
  for (uint64_t level = 0; level < kLevels; ++level) recorder.begin(1, 10 * level, 1);
  for (uint64_t level = kLevels; level-- > 0;) recorder.end(1, 30 * kLevels - 10 * level);
  recorder.close();
  const IterationSums found = iteration_sums(trace::Reader(folder / "t.kymo"));
  ASSERT_EQ(found.wall_ns.size(), 1u);
  double sum = 0;
  for (const KeySums& key : found.keys) sum += key.ns[0];
  EXPECT_DOUBLE_EQ(sum, found.wall_ns[0]);
  EXPECT_EQ(found.keys.size(), 1'024u);
  EXPECT_EQ(found.left_out, kLevels - 1'024);
}

TEST(IterationSumsTest, HandleAnyTrace) {
  const TemporaryFolder folder;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    trace::testing::write_wild_trace(folder / "t.kymo", seed);
    const IterationSums found = iteration_sums(trace::Reader(folder / "t.kymo"));
    for (size_t i = 0; i < found.wall_ns.size(); ++i) {
      double sum = 0;
      for (const KeySums& key : found.keys) sum += key.on_device ? 0 : key.ns[i];
      EXPECT_LE(sum, std::max(found.wall_ns[i], 0.0) * 1.000001);
    }
  }
}

TEST(DiffTest, ATraceAndItselfAreTheSame) {
  const IterationSums one = sums(30, 1000, 500, 1);
  const Diff diff = compare(std::vector{one}, std::vector{one});
  EXPECT_TRUE(diff.enough);
  for (const DiffRow& row : diff.rows) EXPECT_FALSE(row.significant) << row.key;
}

// However much its iterations differ, and however rare a range is.
TEST(DiffTest, ATraceAndItselfAreNeverUndecided) {
  IterationSums one = sums(30, 1000, 500, 1);
  for (size_t i = 0; i < one.wall_ns.size(); ++i) one.wall_ns[i] *= 1 + static_cast<double>(i % 5);
  one.keys.push_back({"rare", false, std::vector<double>(one.wall_ns.size()), 1});
  one.keys.back().ns[7] = 1e6;
  for (const Diff& diff :
       {compare(std::vector{one}, std::vector{one}), compare(std::vector(4, one), std::vector(4, one))}) {
    EXPECT_TRUE(diff.enough);
    EXPECT_FALSE(diff.iteration.undecided);
    for (const DiffRow& row : diff.rows) {
      EXPECT_TRUE(row.change.enough) << row.key;
      EXPECT_FALSE(row.undecided || row.significant) << row.key;
    }
  }
}

// The iteration is the first question: it does not pay for the number of paths.
TEST(DiffTest, FourRunsCanShowThatAnIterationChanged) {
  std::vector<IterationSums> a, b;
  for (unsigned i = 0; i < 4; ++i) a.push_back(sums(10, 1000, 500, i)), b.push_back(sums(10, 1500, 500, 10 + i));
  std::mt19937 random(1);
  for (auto* const side : {&a, &b})
    for (IterationSums& run : *side)
      for (int key = 0; key < 100; ++key)
        run.keys.push_back({"path " + std::to_string(key), false, std::vector<double>(10, random() % 1000), 10});
  const Diff diff = compare(a, b);
  EXPECT_TRUE(diff.iteration.significant);
  EXPECT_NEAR(diff.iteration.q, 2.0 / 70, 1e-12);
  for (const DiffRow& row : diff.rows) EXPECT_FALSE(row.significant) << row.key;
  EXPECT_EQ(diff.tested, 101u);  // the load; other paths have the same time in all runs
}

TEST(DiffTest, FindsWhatBecameSlowerAndWhatIsNew) {
  const Diff diff = compare(std::vector{sums(30, 1000, 500, 1)}, std::vector{sums(30, 1000, 800, 2, true)});
  EXPECT_TRUE(diff.iteration.significant);
  EXPECT_NEAR(diff.iteration.change.shift, 400, 10);
  std::vector<std::string> changed;
  for (const DiffRow& row : diff.rows)
    if (row.significant) changed.push_back(row.key);
  EXPECT_EQ(changed,
            (std::vector<std::string>{"step {}", "step {}/forward/aten::mm/cudaLaunchKernel > gemm", "step {}/extra"}));
  for (const DiffRow& row : diff.rows) EXPECT_EQ(row.only_b, row.key == "step {}/extra");
}

TEST(DiffTest, RunsAreReplicatesOfLists) {
  std::vector<IterationSums> a, b;
  for (unsigned i = 0; i < 5; ++i) a.push_back(sums(10, 1000, 500, i)), b.push_back(sums(10, 1500, 500, 10 + i));
  const Diff diff = compare(a, b);
  EXPECT_EQ(diff.replicate, Replicate::Run);
  EXPECT_EQ(diff.replicates_a, 5u);
  EXPECT_TRUE(diff.iteration.significant);
  EXPECT_EQ(diff.rows[0].key, "step {}/load");
  EXPECT_TRUE(diff.rows[0].significant);
}

TEST(DiffTest, AWholeTraceIsTooFewSamples) {
  const Diff diff = compare(std::vector{sums(1, 10, 10, 1)}, std::vector{sums(1, 10, 10, 1)});
  EXPECT_FALSE(diff.enough);
}

}  // namespace
}  // namespace kymo::analyze
