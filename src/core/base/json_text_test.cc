#include "base/json_text.h"

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

}  // namespace
}  // namespace kymo::base
