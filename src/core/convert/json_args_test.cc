#include "convert/json_args.h"

#include <gtest/gtest.h>

#include <string>

namespace kymo::convert {
namespace {

std::string json(trace::FieldType type, uint64_t bits) {
  TextBuffer out;
  append_json_field(out, {.type = type, .bits = bits, .real = 0, .text = "t"});
  return out.string();
}

TEST(JsonFieldTest, ValuesAreWrittenByType) {
  EXPECT_EQ(json(trace::FieldType::Int, static_cast<uint64_t>(-5)), "-5");
  EXPECT_EQ(json(trace::FieldType::UInt, UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(json(trace::FieldType::ByteCount, 4096), "4096");
  EXPECT_EQ(json(trace::FieldType::Pointer, 0xbeef), R"("0xbeef")");
  EXPECT_EQ(json(trace::FieldType::Bool, 1), "true");
  EXPECT_EQ(json(trace::FieldType::String, 0), R"("t")");
  EXPECT_EQ(json(static_cast<trace::FieldType>(200), 0), "null") << "a type of a newer Kymo's";
}

}  // namespace
}  // namespace kymo::convert
