#include "questions/text_name.h"

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
    EXPECT_EQ(name_of_text(shown_name(name)), name);
    names.insert(name);
    texts.insert(text);
  }
  EXPECT_EQ(names.size(), texts.size());
}

TEST(TextNameTest, WhatIsShownIsSafeForATerminalAndCanBeGivenBack) {
  EXPECT_EQ(shown_name("a\tb\n\x1b[1m"), "a\\x09b\\x0A\\x1B[1m");
  EXPECT_EQ(shown_name("\xe2\x80\xae größe"), "\\xE2\\x80\\xAE größe");
  EXPECT_EQ(shown_name(" a b "), "\\x20a b\\x20");
  EXPECT_EQ(shown_name(" "), "\\x20");
  EXPECT_EQ(name_of_text(shown_name("  ")), "  ");
  std::string every;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name(1, static_cast<char>(byte));
    EXPECT_EQ(name_of_text(shown_name(name)), name);
    every += name;
  }
  EXPECT_EQ(name_of_text(shown_name(every)), every);
}

TEST(TextNameTest, AnOperationIsTheOneThatIsListed) {
  for (const std::string name : {"", "gemm", "gemm (device)", "gemm (device) (device)", "a\n\\x41"}) {
    for (const bool on_device : {false, true}) {
      const Operation operation = parse_operation(operation_text(name, on_device));
      EXPECT_EQ(operation.name, name);
      EXPECT_EQ(operation.only_on_device, on_device) << name;
    }
  }
}

}  // namespace
}  // namespace kymo::fleet
