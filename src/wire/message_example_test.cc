// The worked example of docs/wire.md is what is written.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "wire/message.h"

namespace kymo::wire {
namespace {

// The bytes of the last block of the document, of lines like "0010  01 00 08 00 | what they are".
std::string bytes_of_wire_example() {
  std::ifstream document(KYMO_SOURCE_DIR "/docs/wire.md");
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

TEST(MessageExampleTest, TheDocumentShowsWhatIsWritten) {
  Start start;
  start.id = 7;
  start.options.duration_ns = 2'000'000'000;
  start.options.output = "/tmp/{pid}.kymo";
  start.options.flags = kWithStack;
  const auto packet = message_packet(start, 3);
  ASSERT_TRUE(packet) << packet.reason();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(packet->data()), packet->size()), bytes_of_wire_example());
}

}  // namespace
}  // namespace kymo::wire
