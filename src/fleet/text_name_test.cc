#include "fleet/text_name.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace kymo::fleet {
namespace {

TEST(TextNameTest, AUsualNameIsUnchanged) {
  for (const std::string name : {"", "gemm", "C:\\x\\files", "größe", "\\", "a\tb\n'\"", "\\x4g"})
    EXPECT_EQ(text_of_name(name), name);
}

TEST(TextNameTest, BytesThatAreNotUtf8AreVisible) {
  EXPECT_EQ(text_of_name("\xff\x80z"), "\\xFF\\x80z");
  EXPECT_EQ(text_of_name(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(text_of_name("\xc3"), "\\xC3");
}

TEST(TextNameTest, TwoNamesNeverBecomeTheSameText) {
  EXPECT_EQ(text_of_name("\\xFF"), "\\x5CxFF");
  std::mt19937 random(7);
  const std::string letters("\\xF5C\xff\xc3\x9f\0a", 10);
  std::set<std::string> names, texts;
  for (int i = 0; i < 20'000; ++i) {
    std::string name;
    for (size_t left = random() % 8; left > 0; --left) name += letters[random() % letters.size()];
    const std::string text = text_of_name(name);
    EXPECT_EQ(name_of_text(text), name);
    names.insert(name);
    texts.insert(text);
  }
  EXPECT_EQ(names.size(), texts.size());
}

}  // namespace
}  // namespace kymo::fleet
