#include "base/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::base {
namespace {

TEST(JsonValueTest, ReadsWhatAManifestHas) {
  const JsonValue json = JsonValue::parse(R"( {"a": 12, "b": ["x", "y\n\"\u0041"], "c": {"d": true}, "e": -1.5e3} )");
  EXPECT_EQ(json["a"].number("a"), 12u);
  EXPECT_EQ(json["b"].list("b").size(), 2u);
  EXPECT_EQ(json["b"].list("b")[1].text("text"), "y\n\"A");
  EXPECT_THROW(json["e"].number("e"), Error);
  EXPECT_THROW(json["a"].text("a"), Error);
  EXPECT_THROW(json["c"].list("c"), Error);
  EXPECT_THROW(json["z"], Error);
}

TEST(JsonValueTest, ReadsSignsTruthAndWhatMayBeMissing) {
  const JsonValue json = JsonValue::parse(R"({"a": -5, "b": true, "c": false, "d": null, "e": -9223372036854775808})");
  EXPECT_EQ(json["a"].integer("a"), -5);
  EXPECT_EQ(json["e"].integer("e"), INT64_MIN);
  EXPECT_TRUE(json["b"].boolean("b"));
  EXPECT_FALSE(json["c"].boolean("c"));
  EXPECT_THROW(json["a"].number("a"), Error);
  EXPECT_THROW(json["d"].boolean("d"), Error);
  EXPECT_EQ(json.find("z"), nullptr);
  EXPECT_EQ(json["a"].find("z"), nullptr);
  EXPECT_TRUE(json.is_object());
  EXPECT_THROW(JsonValue::parse("9223372036854775808").integer("n"), Error);
}

TEST(JsonValueTest, EscapesAreReadAsUtf8) {
  EXPECT_EQ(JsonValue::parse(R"("\u00e4\u20ac\ud83d\ude00")").text("it"), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  for (const char* text : {R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("\ud83d\u0041")", R"("\ud83d\u")"}) {
    EXPECT_THROW(JsonValue::parse(text), Error) << text;
  }
}

TEST(JsonValueTest, NumbersAreWrittenAsTheStandardSays) {
  for (const char* text : {"0", "-0", "10", "1.5", "-1.25e-3", "1E+9"}) EXPECT_NO_THROW(JsonValue::parse(text)) << text;
  for (const char* text : {"01", "-", "+1", ".5", "1.", "1e", "1e+", "--1", "1-2", "0x10"}) {
    EXPECT_THROW(JsonValue::parse(text), Error) << text;
  }
}

TEST(JsonValueTest, WhatIsWrittenIsRead) {
  const std::string text("a\"b\\c\n\x01\x7f\xc3\xa4", 10);
  EXPECT_EQ(JsonValue::parse(json_quoted(text)).text("it"), text);
}

TEST(JsonValueTest, OtherTextIsRefused) {
  for (const char* text : {"", "{", "[1,", "[1 2]", "{\"a\"}", "{\"a\":}", "\"abc", "\"\\u12\"", "\"\\x\"", "tru",
                           "1 2", "{a: 1}", "[1,]x", "\"\n\"", "{\"a\":1,\"b\":2,\"a\":3}"}) {
    EXPECT_THROW(JsonValue::parse(text), Error) << text;
  }
  EXPECT_THROW(JsonValue::parse(std::string(100, '[')), Error);
  EXPECT_THROW(JsonValue::parse("18446744073709551616").number("n"), Error);
}

}  // namespace
}  // namespace kymo::base
