// Both files that a real profiler writes in one run, as their readers see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "base/clock.h"
#include "convert/events.h"
#include "convert/formats/export.h"
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

// The events of a Chrome file that a query in Python selects, one per line.
std::string select_events(const std::string& path, const std::string& query) {
  const std::string script = "import json\nevents = json.load(open('" + path +
                             "'))['traceEvents']\n"
                             "for found in " +
                             query + ": print(found)";
  std::string text;
  FILE* const output = popen(("python3 -c \"" + script + "\" 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), output)) != 0;) text.append(buffer.data(), got);
  pclose(output);
  return text;
}

TEST(EdgeRunFilesTest, DeviceOperationsBelongToTheirOperator) {
  const trace::testing::TemporaryFolder folder;
  const std::string json = folder / "run.json", kymo = folder / "run.kymo", exported = folder / "exported.json";
  {
    const TestModule module;
    EdgeProfiler profiler(module, {.trace_file = json, .kymo_file = kymo});
    Log* const log = current_log();
    const Operation linear("aten::linear", 1);
    const Operation addmm("aten::addmm", 2);
    uint64_t at = base::monotonic_ns();
    while (base::monotonic_ns() < at + 20'000) continue;  // all of them were queued before the operators end
    for (const char* const name : {"first_kernel", "second_kernel", "copy device to host"}) {
      device_operation(*log, {name, {1, 0}, 7, at, at + 1000, at + 2000});
      at += 5000;
    }
  }
  EXPECT_EQ(testing::chrome_faults(json), "");
  EXPECT_EQ(select_events(json,
                          "[(e['name'], e['args']['External id']) for e in events if 'args' in e and "
                          "e['args'].get('External id', 1) != 1]"),
            "('aten::addmm', 2)\n('first_kernel', 2)\n('second_kernel', 2)\n('Memcpy DtoH (Device -> Host)', 2)\n");
  // Each arrow leads from the operator to one of its operations.
  const std::string arrows = "sorted({(e['id'], e['ph'], e['tid'] == 7) for e in events if e.get('cat') == 'ac2g'})";
  EXPECT_EQ(select_events(json, arrows),
            "(3, 'f', True)\n(3, 's', False)\n(4, 'f', True)\n(4, 's', False)\n(5, 'f', True)\n(5, 's', False)\n");
  convert::export_trace(trace::Reader(kymo), exported);
  EXPECT_EQ(select_events(exported, arrows),
            "(1, 'f', True)\n(1, 's', False)\n(2, 'f', True)\n(2, 's', False)\n(3, 'f', True)\n(3, 's', False)\n");
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
