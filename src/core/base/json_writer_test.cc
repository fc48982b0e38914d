#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace kymo::base {
namespace {

std::string json(std::string_view text) {
  TextBuffer out;
  append_json_string(out, text);
  return out.string();
}

std::string json(double number) {
  TextBuffer out;
  append_json_number(out, number);
  return out.string();
}

TEST(TextBufferTest, SeveralTextsAreAppendedInOrder) {
  TextBuffer out;
  for (int i = 0; i < 100; ++i) out.append("<", std::string_view(), std::string("a long enough text to grow"), ">");
  EXPECT_EQ(out.size(), 100 * sizeof "<a long enough text to grow>" - 100);
  EXPECT_EQ(out.string().substr(0, 30), "<a long enough text to grow><a");
}

TEST(JsonTextTest, PlainTextIsUnchanged) { EXPECT_EQ(json("a b/c"), R"("a b/c")"); }

TEST(JsonTextTest, QuotesBackslashesAndControlsAreEscaped) {
  EXPECT_EQ(json("say \"hi\" \\ \n\t\r"), R"("say \"hi\" \\ \n\t\r")");
  EXPECT_EQ(json(std::string_view("\0\x01\x1f", 3)), R"("\u0000\u0001\u001f")");
}

TEST(JsonTextTest, Utf8IsKeptAndInvalidBytesAreReplaced) {
  EXPECT_EQ(json("größe 測 🚀"), "\"größe 測 🚀\"");
  EXPECT_EQ(json("\xFF"), "\"\uFFFD\"");
  EXPECT_EQ(json("a\xC3"), "\"a\uFFFD\"") << "truncated";
  EXPECT_EQ(json("\xC0\xAF"), "\"\uFFFD\uFFFD\"") << "overlong";
  EXPECT_EQ(json("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"") << "a surrogate";
  EXPECT_EQ(json("\xF4\x90\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"") << "beyond the last code point";
}

TEST(JsonTextTest, NumbersRoundTrip) {
  EXPECT_EQ(json(0.1), "0.1");
  EXPECT_EQ(std::stod(json(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(std::stod(json(std::numeric_limits<double>::max())), std::numeric_limits<double>::max());
}

TEST(JsonTextTest, NonFiniteNumbersAreStrings) {
  EXPECT_EQ(json(std::nan("")), R"("NaN")");
  EXPECT_EQ(json(HUGE_VAL), R"("Infinity")");
  EXPECT_EQ(json(-HUGE_VAL), R"("-Infinity")");
}

TEST(JsonTextTest, ObjectsAndArraysAddCommas) {
  TextBuffer out;
  JsonObject object(out);
  append(object.key("a"), "1");
  JsonArray array(object.key("b"));
  append(array.next(), "2");
  append(array.next(), "3");
  array.close();
  object.close();
  EXPECT_EQ(out.string(), "{\"a\":1,\"b\":[\n2,\n3\n]}");
}

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

TEST(JsonWriterTest, RowsOfATableAreOnALineEach) {
  JsonWriter json;
  json.begin_object();
  json.begin_array("rows");
  for (const int row : {1, 2}) {
    json.begin_line();
    json.field("row", row);
    json.begin_array("cells");
    json.value("a");
    json.value("b");
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.field("count", 2);
  json.end_object();
  EXPECT_EQ(
      json.text(),
      "{\n  \"rows\": [\n    {\"row\": 1, \"cells\": [\"a\", \"b\"]},\n    {\"row\": 2, \"cells\": [\"a\", \"b\"]}\n"
      "  ],\n  \"count\": 2\n}\n");
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
