#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/loaded_traces.h"

namespace kymo::query {
namespace {

TEST(DictionaryTest, TextsAreSortedAndUnique) {
  Dictionary dictionary;
  for (const char* text : {"b", "a", "b", ""}) dictionary.add(text);
  dictionary.finish();
  EXPECT_THAT(dictionary.texts(), ::testing::ElementsAre("", "a", "b"));
  EXPECT_EQ(dictionary.find("b"), 2u);
  EXPECT_EQ(dictionary.find("c"), Dictionary::kNull);
}

// DuckDB takes the texts of an ENUM as C strings in UTF-8, and refuses two that are equal.
TEST(DictionaryTest, TextsThatDuckDbDoesNotAcceptAreCleaned) {
  Dictionary dictionary;
  dictionary.add(std::string_view("a\0b", 3));
  dictionary.add(
      "a\xff"
      "b");
  dictionary.finish();
  EXPECT_THAT(dictionary.texts(), ::testing::ElementsAre("a\xEF\xBF\xBD"
                                                         "b"));
  EXPECT_EQ(dictionary.find(std::string_view("a\0b", 3)), 0u);
}

}  // namespace
}  // namespace kymo::query
