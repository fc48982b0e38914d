#include "json/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/json_writer.h"
#include "kymo/error.h"

namespace kymo::json {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view text) {
  try {
    const Document document(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DocumentTest, RepeatedNameIsAllowedOnRequestAndTheLastCounts) {
  const Document document(R"({"a": 1, "b": {"c": 2, "c": 3}, "a": 4})", RepeatedNames::LastCounts);
  EXPECT_EQ(document.root()["a"].number("a"), 4u);
  EXPECT_EQ(document.root()["b"]["c"].number("c"), 3u);
}

TEST(DocumentTest, ReadsNumbersTextsListsAndObjects) {
  const Document document(R"( {"a": 12, "b": ["x", "y\n\"\u0041"], "c": {"d": true}, "e": -1.5e3} )");
  const Value json = document.root();
  EXPECT_EQ(json["a"].number("a"), 12u);
  EXPECT_EQ(json["b"].list("b").size(), 2u);
  EXPECT_EQ(json["b"].list("b")[1].text("text"), "y\n\"A");
  EXPECT_THROW(json["e"].number("e"), Error);
  EXPECT_THROW(json["a"].text("a"), Error);
  EXPECT_THROW(json["c"].list("c"), Error);
  EXPECT_THROW(json["z"], Error);
}

TEST(DocumentTest, ReadsNegativeNumbersBooleansAndMissingMembers) {
  const Document document(R"({"a": -5, "b": true, "c": false, "d": null, "e": -9223372036854775808})");
  const Value json = document.root();
  EXPECT_EQ(json["a"].integer("a"), -5);
  EXPECT_EQ(json["e"].integer("e"), INT64_MIN);
  EXPECT_TRUE(json["b"].boolean("b"));
  EXPECT_FALSE(json["c"].boolean("c"));
  EXPECT_THROW(json["a"].number("a"), Error);
  EXPECT_THROW(json["d"].boolean("d"), Error);
  EXPECT_FALSE(json.find("z"));
  EXPECT_FALSE(json["a"].find("z"));
  EXPECT_EQ(Document("18446744073709551615").root().number("n"), UINT64_MAX);
  EXPECT_THROW(Document("9223372036854775808").root().integer("n"), Error);
}

TEST(DocumentTest, ListsTheMembersOfAnObjectInOrder) {
  const Document document(R"({"b": 1, "a": "x"})");
  const auto members = document.root().members("it");
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].first, "b");
  EXPECT_EQ(members[0].second.number("b"), 1u);
  EXPECT_EQ(members[1].first, "a");
  EXPECT_EQ(members[1].second.text("a"), "x");
  EXPECT_THROW(members[1].second.members("a"), Error);
}

TEST(DocumentTest, ErrorsNameTheMember) {
  const Document document(R"({"a": "x"})");
  const auto message = [](auto read) {
    try {
      read();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([&] { document.root()["a"].number("a"); }), "a is no whole number");
  EXPECT_EQ(message([&] { document.root()["a"].list("a"); }), "a is no list");
  EXPECT_EQ(message([&] { document.root()["b"]; }), "there is no \"b\"");
  EXPECT_EQ(error_of(R"({"a": {"b": 1, "b": 2}})"), "this is no JSON: \"b\" is named twice");
}

TEST(DocumentTest, ValuesStayValidWhenTheirDocumentIsMoved) {
  Document document(R"({"a": ["x"]})");
  const Value list = document.root()["a"];
  const Document moved = std::move(document);
  EXPECT_EQ(list.list("a")[0].text("item"), "x");
  EXPECT_EQ(moved.root()["a"].list("a").size(), 1u);
}

TEST(DocumentTest, EscapesAreDecodedToUtf8) {
  EXPECT_EQ(Document(R"("\u00e4\u20ac\ud83d\ude00")").root().text("it"), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(Document(R"({"a\u0041\n": "b\u0000c"})").root()["aA\n"].text("it"), std::string("b\0c", 3));
  for (const char* text : {R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("\ud83d\u0041")", R"("\ud83d\u")",
                           R"({"\ude00": 1})", R"([{"a": "\udc00"}])"}) {
    EXPECT_THROW(Document{text}, Error) << text;
  }
}

TEST(DocumentTest, InvalidUtf8IsRefused) {
  for (const char* text : {"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"",
                           "{\"\x80\": 1}", "\xef\xbb"}) {
    EXPECT_THROW(Document{text}, Error) << text;
  }
  EXPECT_THROW(Document{std::string_view("\"a\0b\"", 5)}, Error);
  EXPECT_THROW(Document{std::string_view("1\0", 2)}, Error);
}

TEST(DocumentTest, OnlyNumbersInStandardFormAreAccepted) {
  for (const char* text : {"0", "-0", "10", "1.5", "-1.25e-3", "1E+9"}) EXPECT_EQ(error_of(text), "") << text;
  for (const char* text : {"01", "-", "+1", ".5", "1.", "1e", "1e+", "--1", "1-2", "0x10"}) {
    EXPECT_THROW(Document{text}, Error) << text;
  }
}

TEST(DocumentTest, NumbersBeyond64BitsAreRefused) {
  for (const char* text : {"18446744073709551616", "-9223372036854775809", "99999999999999999999999", "1e400"})
    EXPECT_THROW(Document{text}, Error) << text;
}

TEST(DocumentTest, QuotedTextRoundTrips) {
  const std::string text("a\"b\\c\n\x01\x7f\xc3\xa4", 10);
  EXPECT_EQ(Document(base::json_string(text)).root().text("it"), text);
  EXPECT_EQ(Document(base::json_string("a\xff")).root().text("it"), "a\xEF\xBF\xBD");
}

TEST(DocumentTest, InvalidJsonIsRefused) {
  for (const char* text : {"", " ", "{", "[1,", "[1 2]", "{\"a\"}", "{\"a\":}", "\"abc", "\"\\u12\"", "\"\\x\"", "tru",
                           "1 2", "{a: 1}", "[1,]", "[1,]x", "\"\n\"", "{\"a\":1,\"b\":2,\"a\":3}", "{} {}", "nul"}) {
    EXPECT_THAT(error_of(text), HasSubstr("this is no JSON: ")) << text;
  }
}

TEST(DocumentTest, DepthIsLimited) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + "1" + std::string(depth, ']'); };
  EXPECT_EQ(error_of(nested(kDeepest)), "");
  EXPECT_NE(error_of(nested(kDeepest + 1)), "");
  EXPECT_NE(error_of(std::string(100, '[')), "");
  EXPECT_NE(error_of(std::string(1 << 20, '[')), "");
}

TEST(DocumentTest, LengthIsLimited) {
  EXPECT_EQ(error_of(std::string(100'000, ' ') + "1"), "");
  EXPECT_EQ(error_of(std::string(kLongestText + 1, ' ')), "this is no JSON: 67108865 bytes are more than 67108864");
}

}  // namespace
}  // namespace kymo::json
