// CPU samples that were exported and imported again have the same functions, and heaps the same allocations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/functions/functions.h"
#include "analyze/functions/locks.h"
#include "analyze/memory/profile.h"
#include "base/text.h"
#include "convert/export_stream.h"
#include "convert/formats/chrome.h"
#include "convert/formats/perfetto.h"
#include "import/import.h"
#include "trace/test_recorder.h"

namespace kymo::functions {
namespace {

using ::testing::ElementsAre;
using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

constexpr int64_t kKernel = INT64_MIN + 0x1000;  // as an address: in the upper half
constexpr int64_t kComplete = 1, kNoTables = 2;

class ImportedSamplesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TestRecorder recorder(path_);
    trace::Origin origin;
    origin.pid = 100;
    origin.metadata = {{"sampling", "10 kHz"}};
    recorder.file().origin(recorder.id(), origin);
    recorder.add_class(1, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder.add_class(2, "stack node", "kymo.stack",
                       {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    recorder.add_class(3, "module", "kymo.stack",
                       {{"path", FieldType::String},
                        {"base", FieldType::Pointer},
                        {"size", FieldType::ByteCount},
                        {"build_id", FieldType::String}});
    recorder.add_class(4, "symbol", "kymo.stack", {{"address", FieldType::Pointer}, {"name", FieldType::String}});
    recorder.add_class(5, "off CPU", "cpu", {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}});
    recorder.add_class(6, "off CPU", "cpu",
                       {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}, {"node", FieldType::UInt}});
    recorder.add_thread(1, 100, "main");
    recorder.add_thread(2, 101, "worker");
    for (const uint32_t track : {1u, 2u}) {
      recorder.point(track, 0, PointKind::Instant, 3, 0,
                     {std::string("/gone/lib.so"), int64_t{0x1000}, int64_t{0x1000}, std::string()});
      recorder.point(track, 0, PointKind::Instant, 4, 0, {kKernel, std::string("(anonymous namespace)::read")});
      recorder.point(track, 0, PointKind::Instant, 2, 0,
                     {int64_t{16}, track == 1 ? kComplete : kNoTables, int64_t{0x1101}});
      recorder.point(track, 0, PointKind::Instant, 2, 0, {int64_t{17}, int64_t{16}, int64_t{0x1201}});
      recorder.point(track, 0, PointKind::Instant, 2, 0, {int64_t{18}, int64_t{17}, kKernel});
      recorder.point(track, 0, PointKind::Instant, 2, 0, {int64_t{19}, int64_t{18}, kKernel});
    }
    for (const uint64_t time : {100, 200, 300}) recorder.point(1, time, PointKind::Sample, 1, 0, {int64_t{17}});
    recorder.point(1, 400, PointKind::Sample, 1, 0, {int64_t{19}});
    recorder.point(2, 400, PointKind::Sample, 1, 0, {int64_t{16}});
    recorder.point(2, 500, PointKind::Sample, 5, 0, {int64_t{70}, int64_t{1}});
    recorder.point(1, 600, PointKind::Sample, 6, 0, {int64_t{30}, int64_t{0}, int64_t{18}});
    recorder.close();
  }

  using Export = convert::WalkReport (*)(const trace::Reader&, convert::ExportStream&);
  std::string round_trip(const std::string& from, Export write, const std::string& extension) {
    const std::string exported = from + "." + extension, imported = exported + ".kymo";
    {
      const trace::Reader reader(from);
      convert::FileStream sink(exported);
      write(reader, sink);
      sink.finish();
    }
    import::import_trace(exported, imported);
    return imported;
  }

  // With the files of functions, except those that only a text names.
  enum class Modules : uint8_t { None, OfSamples, OfAll };
  static std::vector<std::string> rows(const std::string& path, Modules modules) {
    std::vector<std::string> lines;
    for (const What what : {What::Cpu, What::Waits}) {
      Samples samples = read_samples(trace::Reader(path), what);
      const FunctionTable table = count_functions(samples);
      lines.push_back(base::format("{} samples {}, {} incomplete, {} threads, off {} preempted {}", table.samples,
                                   table.time_ns, table.incomplete, table.threads, table.off_ns, table.preempted_ns));
      // Texts do not say which functions of a wait are of the kernel.
      if (what == What::Waits && modules != Modules::OfAll) continue;
      const bool with_module = modules == Modules::OfAll || (modules == Modules::OfSamples && what == What::Cpu);
      for (const FunctionRow& row : table.rows)
        lines.push_back(base::format("{} {} {}{}", row.function, row.self_samples, row.total_samples,
                                     with_module ? " " + row.module : ""));
    }
    return lines;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.kymo";
};

TEST_F(ImportedSamplesTest, FirstOfAllTheRecordedOnes) {
  EXPECT_THAT(
      rows(path_, Modules::OfAll),
      ElementsAre("5 samples 500000, 1 incomplete, 2 threads, off 100 preempted 70", "lib.so+0x201 3 4 /gone/lib.so",
                  "lib.so+0x101 1 5 /gone/lib.so", "(anonymous namespace)::read 1 1 [kernel]",
                  "1 samples 30, 0 incomplete, 2 threads, off 100 preempted 70", "lib.so+0x201 1 1 /gone/lib.so",
                  "lib.so+0x101 0 1 /gone/lib.so"));
}

TEST_F(ImportedSamplesTest, PerfettoKeepsFunctionsAndFiles) {
  const std::string once = round_trip(path_, convert::write_perfetto, "pftrace");
  EXPECT_EQ(rows(once, Modules::OfSamples), rows(path_, Modules::OfSamples));
  EXPECT_EQ(rows(round_trip(once, convert::write_perfetto, "pftrace"), Modules::OfSamples),
            rows(path_, Modules::OfSamples));
}

TEST_F(ImportedSamplesTest, ChromeKeepsFunctions) {
  const std::string once = round_trip(path_, convert::write_chrome, "json");
  EXPECT_EQ(rows(once, Modules::None), rows(path_, Modules::None));
  EXPECT_EQ(rows(round_trip(once, convert::write_chrome, "json"), Modules::None), rows(path_, Modules::None));
}

TEST_F(ImportedSamplesTest, HeapIsOneMemory) {
  const std::string path = folder_ / "heap.kymo";
  TestRecorder recorder(path);
  recorder.add_class(1, "malloc", "memory", {{"bytes", FieldType::ByteCount}, {"node", FieldType::UInt}});
  recorder.add_class(2, "free", "memory");
  recorder.add_class(3, "stack node", "kymo.stack",
                     {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
  recorder.add_thread(1, 100, "main");
  recorder.point(1, 0, PointKind::Instant, 3, 0, {int64_t{16}, kComplete, int64_t{0x1101}});
  recorder.point(1, 10, PointKind::Allocation, 1, 0x100, {int64_t{1000}, int64_t{16}});
  recorder.point(1, 20, PointKind::Allocation, 1, 0x200, {int64_t{50}, int64_t{16}});
  recorder.point(1, 30, PointKind::Allocation, 1, 0x300, {int64_t{7}, int64_t{0}});  // without a stack
  recorder.point(1, 40, PointKind::Free, 2, 0x100);
  recorder.point(1, 50, PointKind::Free, 2, 0x300);
  recorder.close();
  const auto summary = [](const std::string& file) {
    const memory::Profile profile = memory::read_profile(trace::Reader(file));
    std::string text;
    for (size_t i = 0; i < profile.tables.memories.size(); ++i)
      text += base::format("{}: peak {}, end {}, {} allocations, {} frees\n", profile.tables.memories[i].device,
                           profile.memories[i].peak_bytes, profile.memories[i].in_use, profile.memories[i].taken.count,
                           profile.memories[i].returns);
    return text;
  };
  EXPECT_EQ(summary(path), "heap: peak 1057, end 50, 3 allocations, 2 frees\n");
  EXPECT_EQ(summary(round_trip(path, convert::write_chrome, "json")), summary(path));
  EXPECT_EQ(summary(round_trip(path, convert::write_perfetto, "pftrace")), summary(path));
}

// Without the stacks of the waits.
TEST_F(ImportedSamplesTest, LocksKeepTheirWaitsAndHolders) {
  const std::string path = folder_ / "waits.kymo";
  TestRecorder recorder(path);
  recorder.add_class(1, "wait for mutex", "wait",
                     {{"object", FieldType::Pointer}, {"node", FieldType::UInt}, {"holder", FieldType::UInt}});
  recorder.add_thread(1, 100, "main");
  recorder.add_thread(2, 101, "worker");
  recorder.begin(1, 100'000, 1, {int64_t{0x7f00}, int64_t{16}, int64_t{101}});
  recorder.end(1, 400'000);
  recorder.begin(2, 500'000, 1, {int64_t{0x7f00}, int64_t{16}, int64_t{100}});
  recorder.end(2, 600'000);
  recorder.close();
  for (const std::string& imported :
       {round_trip(path, convert::write_chrome, "json"), round_trip(path, convert::write_perfetto, "pftrace")}) {
    const WaitedLocks all = read_locks(trace::Reader(imported));
    ASSERT_EQ(all.locks.size(), 1u) << imported;
    EXPECT_EQ(all.locks[0].object, 0x7f00u);
    EXPECT_EQ(all.locks[0].total_ns, 400'000u);
    ASSERT_EQ(all.locks[0].holding.size(), 2u);
    EXPECT_EQ(all.locks[0].holding[0].thread, "worker");
    EXPECT_EQ(all.locks[0].holding[0].ns, 300'000u);
  }
}

}  // namespace
}  // namespace kymo::functions
