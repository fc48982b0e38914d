#include "capture/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::capture {
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

TEST(JsonValueTest, WhatIsWrittenIsRead) {
  const std::string text("a\"b\\c\n\x01\x7f\xc3\xa4", 10);
  EXPECT_EQ(JsonValue::parse(json_quoted(text)).text("it"), text);
}

TEST(JsonValueTest, OtherTextIsRefused) {
  for (const char* text : {"", "{", "[1,", "[1 2]", "{\"a\"}", "{\"a\":}", "\"abc", "\"\\u12\"", "\"\\x\"", "tru",
                           "1 2", "{a: 1}", "[1,]x", "\"\n\""}) {
    EXPECT_THROW(JsonValue::parse(text), Error) << text;
  }
  EXPECT_THROW(JsonValue::parse(std::string(100, '[')), Error);
  EXPECT_THROW(JsonValue::parse("18446744073709551616").number("n"), Error);
}

}  // namespace
}  // namespace kymo::capture
