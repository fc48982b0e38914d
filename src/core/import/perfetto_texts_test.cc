// Long texts, which a Perfetto trace contains once: an export of Kymo has them for stacks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "convert/export_stream.h"
#include "convert/formats/perfetto.h"
#include "import/import.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"

namespace kymo::import {
namespace {

using trace::FieldType;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

TEST(PerfettoTextsTest, RepeatedLongTextsOfAnExportAreImported) {
  const TemporaryFolder folder;
  const std::string stack = "memcpy < load_batch < train_one_epoch < main";
  {
    TestRecorder recorder(folder / "a.kymo");
    recorder.add_thread(1, 101, "main");
    recorder.add_class(1, "load", "", {{"stack", FieldType::String}});
    for (uint64_t i = 0; i < 3; ++i) {
      recorder.begin(1, 100 * i, 1, {stack});
      recorder.end(1, 100 * i + 50);
    }
    recorder.close();
    convert::FileStream sink(folder / "a.pftrace");
    convert::write_perfetto(trace::Reader(folder / "a.kymo"), sink);
    sink.finish();
  }
  import_trace(folder / "a.pftrace", folder / "b.kymo");
  const trace::Reader reader(folder / "b.kymo");
  std::string texts;
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    reader.read(chunk, batch);
    texts += batch.ranges.values.text;
  }
  EXPECT_EQ(texts, stack + stack + stack);
}

}  // namespace
}  // namespace kymo::import
