#include "edge/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace kymo::edge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Inputs inputs_of_every_kind() {
  Inputs inputs;
  const std::vector<int64_t> sizes = {2, 3}, strides = {3, 1}, pair = {1, -1};
  const std::vector<double> reals = {0.5, 1};
  const std::vector<uint8_t> truths = {1, 0};
  inputs.tensor(Element::Float, sizes, strides);
  inputs.tensor(Element::Half, sizes, {});
  inputs.integer(-7);
  inputs.real(0.5);
  inputs.boolean(true);
  inputs.text("same");
  inputs.integers(pair);
  inputs.reals(reals);
  inputs.booleans(truths);
  inputs.tensor_list(2);
  inputs.tensor(Element::Long, pair, pair);
  inputs.none();
  inputs.none();
  inputs.other();
  return inputs;
}

TEST(InputsTest, EveryKindIsDecodedUnchanged) {
  const std::vector<EdgeInput> decoded = decode_inputs(inputs_of_every_kind().bytes());
  ASSERT_THAT(decoded, SizeIs(12));
  EXPECT_EQ(decoded[0].type, "float");
  EXPECT_THAT(decoded[0].sizes, ElementsAre(2, 3));
  EXPECT_THAT(decoded[0].strides, ElementsAre(3, 1));
  EXPECT_EQ(decoded[0].value, "");
  EXPECT_EQ(decoded[1].type, "c10::Half");
  EXPECT_THAT(decoded[1].strides, IsEmpty());
  const auto expect = [&](size_t at, std::string_view type, std::string_view value) {
    EXPECT_EQ(decoded[at].type, type) << at;
    EXPECT_EQ(decoded[at].value, value) << at;
  };
  expect(2, "Scalar", "-7");
  expect(3, "Scalar", "0.5");
  expect(4, "Scalar", "True");
  expect(5, "", "same");
  expect(6, "ScalarList", "[1, -1]");
  expect(7, "ScalarList", "[0.5, 1.]");
  expect(8, "ScalarList", "[True, False]");
  expect(9, "TensorList", "");
  ASSERT_THAT(decoded[9].tensors, SizeIs(2));
  EXPECT_EQ(decoded[9].tensors[0].type, "long int");
  EXPECT_THAT(decoded[9].tensors[0].sizes, ElementsAre(1, -1));
  EXPECT_EQ(decoded[9].tensors[1].type, "");
  expect(10, "", "");
  expect(11, "", "");
}

TEST(InputsTest, TypesHaveTheNamesOfKineto) {
  const std::vector<std::string_view> expected = {"",
                                                  "bool",
                                                  "unsigned char",
                                                  "signed char",
                                                  "short int",
                                                  "int",
                                                  "long int",
                                                  "c10::Half",
                                                  "c10::BFloat16",
                                                  "float",
                                                  "double",
                                                  "c10::complex<c10::Half>",
                                                  "c10::complex<float>",
                                                  "c10::complex<double>",
                                                  "c10::qint8",
                                                  "c10::quint8",
                                                  "c10::qint32"};
  for (uint8_t element = 0; element < expected.size(); ++element)
    EXPECT_EQ(type_text(static_cast<Element>(element)), expected[element]);
  EXPECT_EQ(type_text(static_cast<Element>(200)), "");
}

TEST(InputsTest, RealNumbersDifferFromIntegers) {
  const std::vector<std::pair<double, std::string>> expected = {
      {0, "0."},    {-0.0, "-0."},   {1, "1."},         {-3, "-3."},
      {0.1, "0.1"}, {1e-5, "1e-05"}, {1e300, "1e+300"}, {std::numeric_limits<double>::infinity(), "inf"}};
  for (const auto& [value, text] : expected) {
    Inputs inputs;
    inputs.real(value);
    EXPECT_EQ(decode_inputs(inputs.bytes()).at(0).value, text);
  }
}

TEST(InputsTest, ShapesAreWrittenAsOneText) {
  EXPECT_EQ(input_texts(inputs_of_every_kind().bytes()).sizes,
            "[[2, 3], [2, 3], [], [], [], [], [], [], [], [[1, -1], []], [], []]");
  EXPECT_EQ(input_texts({}).sizes, "[]");
}

TEST(InputsTest, InputsLargerThanTheStackBufferAreKept) {
  Inputs inputs;
  const std::vector<int64_t> sizes(200, 3);
  for (int i = 0; i < 10; ++i) inputs.tensor(Element::Float, sizes, sizes);
  const std::vector<EdgeInput> decoded = decode_inputs(inputs.bytes());
  ASSERT_THAT(decoded, SizeIs(10));
  EXPECT_EQ(decoded[9].strides, sizes);
}

TEST(InputsTest, TruncatedBytesGiveTheInputsBeforeTheEnd) {
  const Inputs inputs = inputs_of_every_kind();
  size_t before = 0;
  for (size_t size = 0; size <= inputs.bytes().size(); ++size) {
    const size_t count = decode_inputs(inputs.bytes().first(size)).size();
    EXPECT_GE(count, before) << size;
    EXPECT_LE(count, before + 1) << size;
    before = count;
  }
  EXPECT_EQ(before, 12u);
}

TEST(InputsTest, ListsWithTooLargeCountsAreRejected) {
  for (const Inputs::Tag tag : {Inputs::Tag::Text, Inputs::Tag::Integers, Inputs::Tag::Reals, Inputs::Tag::Booleans}) {
    const std::vector<std::byte> bytes = {
        static_cast<std::byte>(tag), std::byte{255}, std::byte{255}, std::byte{255}, std::byte{255}, std::byte{0}};
    EXPECT_THAT(decode_inputs(bytes), IsEmpty());
  }
  const std::vector<std::byte> list(5, std::byte{9});
  EXPECT_THAT(decode_inputs(list), SizeIs(1));
}

TEST(InputsTest, RandomBytesAreHarmless) {
  std::mt19937 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(random() % 80);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 3 != 0 ? random() % 13 : random());
    EXPECT_LE(decode_inputs(bytes).size(), bytes.size());
    EXPECT_FALSE(input_texts(bytes).sizes.empty());
  }
}

}  // namespace
}  // namespace kymo::edge
