// Traces that no recorder wrote: any times, depths, lanes, classes and values in any order. Exporters must handle them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "convert/formats/chrome.h"
#include "convert/formats/csv.h"
#include "convert/formats/perfetto.h"
#include "convert/formats/test_perfetto_decoder.h"
#include "trace/test_recorder.h"
#include "trace/test_support.h"

namespace kymo::convert {
namespace {

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

void write_wild_trace(const std::string& path, uint64_t seed) {
  std::mt19937_64 random(seed);
  TestRecorder recorder(path);
  recorder.add_thread(1, 101, "main");
  recorder.add_thread(2, UINT64_MAX, "\xff\"");
  recorder.add_queue(3, "", "");
  for (uint32_t id = 1; id < 4; ++id) {
    trace::EventClass event_class{id, "{} and {}", "c", 0xFFFFFFFF, {}};
    for (size_t field = random() % 5; field > 0; --field) {
      const auto type = static_cast<trace::FieldType>(1 + random() % 8);
      event_class.fields.push_back({random() % 2 == 0 ? "" : "colour", type});
    }
    recorder.add_class(event_class);
  }
  for (int chunk = 0; chunk < 20; ++chunk) {
    trace::EventBatch batch = trace::testing::wild_batch(random, 60);
    batch.track = 1 + random() % 3;
    for (uint32_t& class_id : batch.ranges.class_id) class_id = random() % 8 == 0 ? class_id : random() % 4;
    for (trace::OpenRange& open : batch.closing) open.class_id = random() % 4;
    if (random() % 2 == 0) {
      for (uint16_t& depth : batch.ranges.depth) depth %= 4;
    }
    recorder.file().events(recorder.id(), batch);
  }
  recorder.close();
}

TEST(HostileTest, EveryExporterHandlesAnyTrace) {
  TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    write_wild_trace(path, seed);
    const trace::Reader reader(path);
    StringStream chrome, perfetto, csv;
    write_chrome(reader, chrome);
    write_csv(reader, csv);
    write_perfetto(reader, perfetto);
    testing::PerfettoDecoder(perfetto.text(), testing::PerfettoDecoder::Times::Any);
    std::ofstream(folder / "t.json", std::ios::app) << chrome.text() << "\x1e";
  }
  if (std::system("python3 -c 'import json' 2>/dev/null") != 0) return;
  std::ofstream(folder / "check.py") << "import json, sys\n"
                                        "for text in open(sys.argv[1], encoding='utf-8').read().split('\\x1e')[:-1]:\n"
                                        "    json.loads(text)\n";
  EXPECT_EQ(std::system(("python3 " + (folder / "check.py") + " " + (folder / "t.json")).c_str()), 0);
}

}  // namespace
}  // namespace kymo::convert
