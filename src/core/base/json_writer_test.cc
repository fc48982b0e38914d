#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace kymo::base {
namespace {

TEST(JsonWriterTest, QuotesBackslashesAndControlsAreEscaped) {
  EXPECT_EQ(json_string("plain"), R"("plain")");
  EXPECT_EQ(json_string(R"(say "hi" \o/)"), R"("say \"hi\" \\o/")");
  EXPECT_EQ(json_string("a\nb\tc\x01"), R"("a\nb\tc\u0001")");
  EXPECT_EQ(json_string(std::string_view("nul\0nul", 7)), R"("nul\u0000nul")");
}

TEST(JsonWriterTest, UnicodeIsKeptAndInvalidBytesAreReplaced) {
  EXPECT_EQ(json_string("größe 🙂"), "\"größe 🙂\"");
  EXPECT_EQ(json_string("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
}

TEST(JsonWriterTest, ObjectsAndArraysNest) {
  JsonWriter json;
  json.begin_object();
  json.field("name", "step {}");
  json.field("count", uint64_t{18446744073709551615u});
  json.begin_array("rows");
  json.begin_object();
  json.field("ok", true);
  json.end_object();
  json.value(-1);
  json.end_array();
  json.begin_array("none");
  json.end_array();
  json.end_object();
  EXPECT_EQ(json.text(), R"({
  "name": "step {}",
  "count": 18446744073709551615,
  "rows": [
    {
      "ok": true
    },
    -1
  ],
  "none": []
}
)");
}

TEST(JsonWriterTest, OneLineLayoutHasNoLineBreaks) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.begin_object();
  json.field("events", 12);
  json.begin_array("losses");
  json.value("a");
  json.value("b");
  json.end_array();
  json.end_object();
  EXPECT_EQ(json.text(), "{\"events\": 12, \"losses\": [\"a\", \"b\"]}\n");
}

TEST(JsonWriterTest, NumbersRoundTripAndNonFiniteNumbersAreNull) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.begin_array();
  json.value(0.1);
  json.value(1e300);
  json.value(std::numeric_limits<double>::infinity());
  json.value(std::numeric_limits<double>::quiet_NaN());
  json.end_array();
  EXPECT_EQ(json.text(), "[0.1, 1e+300, null, null]\n");
}

TEST(JsonWriterTest, FinishedJsonBecomesAMember) {
  JsonWriter inner;
  inner.begin_object();
  inner.field("text", "a\nb");
  inner.end_object();
  JsonWriter json;
  json.begin_object();
  json.json_field("inner", inner.text());
  json.field("after", 1);
  json.end_object();
  EXPECT_EQ(json.text(), "{\n  \"inner\": {\n    \"text\": \"a\\nb\"\n  },\n  \"after\": 1\n}\n");
}

}  // namespace
}  // namespace kymo::base
