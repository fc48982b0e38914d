#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "edge/inputs.h"
#include "kymo/edge_engine.h"

namespace kymo::edge {
namespace {

TEST(InputTextsTest, TextsContainSizesStridesTypesAndValues) {
  Inputs inputs;
  const int64_t sizes[] = {64, 32}, strides[] = {32, 1}, padding[] = {1, 2};
  inputs.tensor(Element::Float, sizes, strides);
  inputs.integer(7);
  inputs.none();
  inputs.integers(padding);
  inputs.boolean(true);
  inputs.text("same \"as\"");
  const InputTexts texts = input_texts(inputs.bytes());
  EXPECT_EQ(texts.sizes, "[[64, 32], [], [], [], [], []]");
  EXPECT_EQ(texts.strides, "[[32, 1], [], [], [], [], []]");
  EXPECT_TRUE(texts.types.starts_with(R"(["float", "Scalar", "", "ScalarList", "Scalar", )")) << texts.types;
  EXPECT_TRUE(texts.values.starts_with(R"(["", "7", "", "[1, 2]", "True", )")) << texts.values;
}

TEST(InputTextsTest, ListOfTensorsIsOneInput) {
  Inputs inputs;
  const int64_t four[] = {4}, one[] = {1};
  inputs.tensor_list(2);
  inputs.tensor(Element::Float, four, one);
  inputs.tensor(Element::Float, one, one);
  inputs.tensor_list(0);
  inputs.integer(0);
  const InputTexts texts = input_texts(inputs.bytes());
  EXPECT_EQ(texts.sizes, "[[[4], [1]], [], []]");
  EXPECT_EQ(texts.strides, "[[[1], [1]], [], []]");
  EXPECT_EQ(texts.types, R"(["TensorList", "TensorList", "Scalar"])");
  EXPECT_EQ(texts.values, R"(["", "", "0"])");
}

TEST(InputTextsTest, ListThatEndsTooEarlyIsClosed) {
  Inputs inputs;
  const int64_t four[] = {4};
  inputs.tensor_list(1000);
  inputs.tensor(Element::Float, four, {});
  const InputTexts texts = input_texts(inputs.bytes());
  EXPECT_EQ(texts.sizes, "[[[4]]]");
  EXPECT_EQ(texts.strides, "[[[]]]");
  EXPECT_EQ(texts.types, R"(["TensorList"])");
}

TEST(InputTextsTest, CacheReturnsTheSameTexts) {
  std::vector<Inputs> all(40'000);  // more than the cache keeps
  for (size_t i = 0; i < all.size(); ++i) all[i].integer(static_cast<int64_t>(i));
  InputTextCache cache;
  for (int round = 0; round < 2; ++round)
    for (size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(cache.of(all[i].bytes()).values, "[\"" + std::to_string(i) + "\"]");
  EXPECT_EQ(cache.of({}).sizes, "[]");
}

TEST(InputTextsTest, HostileBytesAreHarmless) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(random() % 64);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 3 == 0 ? random() : random() % 12);
    const InputTexts texts = input_texts(bytes);
    for (const std::string* text : {&texts.sizes, &texts.strides, &texts.types, &texts.values}) {
      ASSERT_EQ(text->front(), '[');
      ASSERT_EQ(text->back(), ']');
    }
    const auto count = [&](char c) { return std::count(texts.sizes.begin(), texts.sizes.end(), c); };
    ASSERT_EQ(count('['), count(']'));
  }
}

}  // namespace
}  // namespace kymo::edge
