// Both files that a real profiler writes in one run, as their readers see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "convert/events.h"
#include "convert/export.h"
#include "edge/test_chrome_reader.h"
#include "edge/test_module.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"

namespace kymo::edge {
namespace {

using testing::ChromeLines;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestModule;

int64_t unix_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void put_inputs(Inputs& inputs) {
  const int64_t sizes[] = {64, 64}, strides[] = {64, 1};
  inputs.tensor(Element::Float, sizes, strides);
  inputs.integer(1);
}

// A forward pass with one event of every kind.
void run_everything(EdgeProfiler& profiler) {
  Log* const log = current_log();
  const int64_t began = unix_us();
  {
    const Operation linear("aten::linear", 1, put_inputs);
    const Operation addmm("aten::addmm", 1, put_inputs);
    static char memory_of_test[64];
    memory(*log, {memory_of_test, 16384, 16384, 49152, {}});
    memory(*log, {memory_of_test, -16384, 0, 49152, {}});
    out_of_memory(*log, {nullptr, int64_t{1} << 40, 0, 49152, {}});
  }
  std::thread([&] {
    const AdoptedLog adopted(log);
    const Operation moved("aten::moved \"elsewhere\"", 2);
  }).join();
  // An event that is longer than everything around it, and one that overlaps it.
  profiler.record_backend_event(began, began + 500, 3, "npu::add", "npu");
  profiler.record_backend_event(began + 250, began + 900, 3, "npu::mul", "npu");
  profiler.record_backend_event(began + 100, began, 3, "npu::reversed", "npu");
  profiler.record_backend_memory_event(log, 16384, 16384, 49152);
}

TEST(EdgeRunFilesTest, BothFilesContainTheWholeRun) {
  const trace::testing::TemporaryFolder folder;
  const std::string json = folder / "run.json", kymo = folder / "run.kymo";
  size_t events = 0;
  {
    const TestModule module;
    EdgeProfiler profiler(module, {.trace_file = json,
                                   .report_input_shapes = true,
                                   .profile_memory = true,
                                   .with_stack = true,
                                   .with_flops = true,
                                   .with_modules = true,
                                   .kymo_file = kymo});
    run_everything(profiler);
    const Operation never_ended("never ended");
    events = profiler.disable_profiler().events().size();
    profiler.close();
  }
  EXPECT_EQ(events, 7u);

  EXPECT_EQ(testing::chrome_faults(json), "");
  ChromeLines lines = ChromeLines::of_file(json);
  EXPECT_TRUE(lines.find("aten::addmm", "Module Hierarchy", "top(Test)::<unknown>.part1.aten::addmm"));
  for (const auto& [operation, key, value] :
       {std::tuple("aten::linear", "Input Dims", "[[64, 64], []]"), std::tuple("npu::add", "Backend", "npu"),
        std::tuple("[memory]", "Bytes", "16384"), std::tuple("[memory]", "Total Reserved", "49152"),
        std::tuple("never ended", "finished", "false")}) {
    lines.rewind();
    EXPECT_TRUE(lines.find(operation, key, value)) << operation;
  }

  const trace::Reader reader(kymo);
  EXPECT_THAT(reader.problems(), IsEmpty());
  class Names : public convert::EventVisitor {
   public:
    void range(const convert::Range& range) override { all.insert(std::string(range.name)); }
    std::multiset<std::string> all;
  } names;
  const convert::Places places(reader);
  EXPECT_THAT(visit_events(reader, places, convert::TimeBase::Realtime, names).problems, IsEmpty());
  EXPECT_EQ(names.all.size(), events);
  EXPECT_TRUE(names.all.contains("aten::moved \"elsewhere\""));
  EXPECT_TRUE(names.all.contains("npu::reversed"));
  EXPECT_FALSE(reader.writers().begin()->second.losses.empty()) << "one event ended before it began";
}

TEST(EdgeRunFilesTest, GzipFileHasTheSameContent) {
  const trace::testing::TemporaryFolder folder;
  const std::string path = folder / "run.json.gz";
  {
    const TestModule module;
    EdgeProfiler profiler(module, {.trace_file = path});
    const Operation operation("aten::add", 1);
  }
  ASSERT_EQ(std::system(("gzip -d " + path).c_str()), 0);
  EXPECT_EQ(testing::chrome_faults(folder / "run.json"), "");
  EXPECT_THAT(testing::file_text(folder / "run.json"), HasSubstr("aten::add"));
}

}  // namespace
}  // namespace kymo::edge
