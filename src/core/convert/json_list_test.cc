#include "convert/json_list.h"

#include <gtest/gtest.h>

#include <string>

namespace kymo::convert {
namespace {

TEST(JsonListTest, ListsOfInputsPass) {
  for (const char* const text :
       {"[]", "[[64, 64], []]", R"(["float", "", "a\\\"b\\u00e9"])", "[-1, 0, 2.5, 1e+9, true, null]", " [ 1 , 2 ] "})
    EXPECT_TRUE(is_json_list(text)) << text;
}

TEST(JsonListTest, AnythingThatWouldBreakTheFileIsRefused) {
  for (const char* const text :
       {"",           "1",    "[",     "[1",    "[1,]",  "[,1]",      "[1 2]",         "[01]",
        "[1.]",       "[1e]", "[-]",   "[nan]", "[\"a]", "[\"\\x\"]", "[\"\\u12g4\"]", "[\"a\nb\"]",
        "[\"\xff\"]", "[]]",  "[], 1", "[{}]",  "{}"})
    EXPECT_FALSE(is_json_list(text)) << text;
  EXPECT_FALSE(is_json_list(std::string(100'000, '[')));
}

}  // namespace
}  // namespace kymo::convert
