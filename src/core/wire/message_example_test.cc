// The example in docs/wire.md has the bytes that are written.
#include <gtest/gtest.h>

#include <string>

#include "base/test_document.h"
#include "base/test_tree.h"
#include "wire/message.h"

namespace kymo::wire {
namespace {

TEST(MessageExampleTest, ExampleInTheDocumentationIsCorrect) {
  Start start;
  start.id = 7;
  start.options.duration_ns = 2'000'000'000;
  start.options.output = "/tmp/{pid}.kymo";
  start.options.flags = kWithStack;
  const auto packet = message_packet(start, 3);
  ASSERT_TRUE(packet) << packet.reason();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(packet->data()), packet->size()),
            base::bytes_of_example(kymo::base::in_tree("docs/wire.md")));
}

}  // namespace
}  // namespace kymo::wire
