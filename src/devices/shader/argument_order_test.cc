#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

using ::testing::ElementsAre;

Kernel kernel_with_indices(std::initializer_list<std::pair<KernelParameter::Kind, uint32_t>> parameters) {
  Kernel kernel;
  for (const auto& [kind, index] : parameters) {
    KernelParameter& parameter = kernel.parameters.emplace_back();
    parameter.kind = kind;
    parameter.index = index;
  }
  return kernel;
}

constexpr auto kOrderBuffer = KernelParameter::Kind::Buffer, kOrderValue = KernelParameter::Kind::Value,
               kOrderGroup = KernelParameter::Kind::Threadgroup;

TEST(ArgumentOrderTest, WithoutIndicesTheOrderIsThatOfTheSource) {
  EXPECT_THAT(argument_order(kernel_with_indices({{kOrderBuffer, 0}, {kOrderValue, 1}, {kOrderGroup, 0}})),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(argument_order(kernel_with_indices({})), ElementsAre());
}

TEST(ArgumentOrderTest, BuffersAndValuesAreSortedByIndex) {
  EXPECT_THAT(argument_order(kernel_with_indices({{kOrderBuffer, 2}, {kOrderValue, 0}, {kOrderBuffer, 1}})),
              ElementsAre(1, 2, 0));
}

TEST(ArgumentOrderTest, GroupMemoryIsCountedSeparately) {
  EXPECT_THAT(
      argument_order(kernel_with_indices({{kOrderBuffer, 1}, {kOrderGroup, 1}, {kOrderBuffer, 0}, {kOrderGroup, 0}})),
      ElementsAre(2, 3, 0, 1));
}

TEST(ArgumentOrderTest, TexturesAndSamplersAreCountedSeparately) {
  constexpr auto kTexture = KernelParameter::Kind::Texture, kSampler = KernelParameter::Kind::Sampler;
  EXPECT_THAT(argument_order(kernel_with_indices(
                  {{kTexture, 1}, {kOrderBuffer, 0}, {kTexture, 0}, {kSampler, 1}, {kOrderValue, 1}, {kSampler, 0}})),
              ElementsAre(2, 1, 0, 5, 4, 3));
}

TEST(ArgumentOrderTest, IndicesMayHaveGaps) {
  EXPECT_THAT(argument_order(kernel_with_indices({{kOrderBuffer, 30}, {kOrderBuffer, 4}})), ElementsAre(1, 0));
}

}  // namespace
}  // namespace kymo::shader
