#include "base/utf8.h"

#include <gtest/gtest.h>

namespace kymo::base {
namespace {

using namespace std::string_view_literals;

TEST(Utf8Test, ValidTextIsNotCopied) {
  std::string buffer;
  const std::string_view text = "däta \U0001F600";
  EXPECT_EQ(valid_utf8(text, buffer).data(), text.data());
}

TEST(Utf8Test, ReadableTextHasNoInvalidBytesAndNoZeros) {
  EXPECT_EQ(readable_text("däta"), "däta");
  EXPECT_EQ(readable_text("a\0b"sv), "a\uFFFDb");
  EXPECT_EQ(readable_text("a\xFF"sv), "a\uFFFD");
  EXPECT_EQ(readable_text(""), "");
}

}  // namespace
}  // namespace kymo::base
