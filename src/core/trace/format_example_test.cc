// The example in docs/format.md must be what the writer writes.
#include <gtest/gtest.h>

#include <string>

#include "base/test_document.h"
#include "base/test_tree.h"
#include "trace/test_support.h"
#include "trace/writer.h"

namespace kymo::trace {
namespace {

TEST(FormatExampleTest, DocumentShowsWhatIsWritten) {
  WriterId id;
  for (size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<uint8_t>(0xa0 + i);
  EventBatch batch;
  batch.track = 1;
  batch.ring = 2;
  batch.sequence_begin = 10;
  batch.sequence_end = 16;
  batch.ranges.end = {110, 130, 140};
  batch.ranges.duration = {5, 15, 40};
  batch.ranges.depth = {1, 1, 0};
  batch.ranges.class_id = {1, 1, 2};
  testing::TemporaryPath path;
  Writer writer(path, Writer::Mode::Create);
  writer.events(id, batch);
  EXPECT_EQ(path.contents(), base::bytes_of_example(kymo::base::in_tree("docs/format.md")));
}

}  // namespace
}  // namespace kymo::trace
