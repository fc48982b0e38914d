// The worked example of docs/format.md is what the writer writes.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "trace/test_support.h"
#include "trace/writer.h"

namespace kymo::trace {
namespace {

// The bytes of the last block of the document, of lines like "0040  01 00 00 00  | what they are".
std::string bytes_of_example() {
  std::ifstream document(KYMO_SOURCE_DIR "/docs/format.md");
  std::string line, bytes;
  bool in_block = false;
  while (std::getline(document, line)) {
    if (line.starts_with("```")) {
      in_block = !in_block;
      if (in_block) bytes.clear();
    } else if (in_block) {
      std::istringstream columns(line.substr(0, line.find('|')));
      std::string offset, byte;
      columns >> offset;
      while (columns >> byte) bytes.push_back(static_cast<char>(std::strtol(byte.c_str(), nullptr, 16)));
    }
  }
  return bytes;
}

TEST(FormatExampleTest, TheDocumentShowsWhatIsWritten) {
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
  EXPECT_EQ(path.contents(), bytes_of_example());
}

}  // namespace
}  // namespace kymo::trace
